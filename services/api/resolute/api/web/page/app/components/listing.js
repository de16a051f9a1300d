// A table of things that fit on a page.
import { html } from "../core/dom.js";

/** @typedef {string | readonly [string, "number" | "only-read"]} Head */

/** @param {{label: string, heads: readonly Head[], children?: import("../core/dom.js").Children}} props */
export const Listing = ({ label, heads, children }) => html`<div class="scroll" role="region" aria-label=${label} tabindex="0"><table class="plain things"><thead><tr>${heads.map((head) => {
  const [text, kind] = typeof head === "string" ? [head, ""] : head;
  return html`<th key=${text} scope="col" class=${kind === "only-read" ? "narrow" : kind}>${kind === "only-read" ? html`<span class="only-read">${text}</span>` : text}</th>`;
})}</tr></thead><tbody>${children}</tbody></table></div>`;
