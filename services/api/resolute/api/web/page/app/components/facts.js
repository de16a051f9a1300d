// What is known of a thing, and editing of its texts: labels, metadata, notes.
import { html } from "../core/dom.js";
import { plain } from "../core/format.js";

/** @param {{facts: readonly (readonly [string, unknown])[]}} props */
export const Facts = ({ facts }) => html`<dl class="facts">${facts.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([name, value]) => html`<dt key=${name}>${name}</dt><dd>${value}</dd>`)}</dl>`;

/** @param {{of: Record<string, unknown> | null | undefined, none: string}} props */
export function Metadata({ of, none }) {
  const entries = Object.entries(of ?? {});
  return entries.length ? html`<dl class="facts">${entries.map(([name, value]) => html`<dt key=${name} class="wrap">${name}</dt><dd>${plain(value)}</dd>`)}</dl>` : html`<p class="muted">${none}</p>`;
}

/** @param {{of: readonly string[] | null | undefined}} props */
export const Labels = ({ of }) => html`${(of ?? []).map((label) => html`<span class="label" key=${label} title=${label}>${label}</span> `)}`;
