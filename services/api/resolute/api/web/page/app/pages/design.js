import { html } from "../core/dom.js";
export const Design = () => html`<p>soon</p>`;
