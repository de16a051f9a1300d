import { html } from "../core/dom.js";
export const Experiment = () => html`<p>soon</p>`;
