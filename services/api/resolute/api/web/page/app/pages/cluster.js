import { html } from "../core/dom.js";
export const Cluster = () => html`<p>soon</p>`;
