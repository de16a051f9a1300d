import { html } from "../core/dom.js";
export const Trial = () => html`<p>soon</p>`;
