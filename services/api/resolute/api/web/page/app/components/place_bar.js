// The fields above a list of things that have names and owners: all of it stands in the address.
import { html, useId } from "../core/dom.js";
import { ask, query } from "../core/place.js";
import { user } from "../state/session.js";
import { Select } from "./parts.js";

/** What the address asks for. */
export const wantedPlaces = () => ({ text: query.value.get("q") ?? "", archived: query.value.has("archived"), mine: query.value.has("mine") ? Number(user.value?.id ?? 0) : 0 });

/** @param {{what: string, filters?: readonly [string, string, readonly (readonly [string, string])[]][], children?: import("../core/dom.js").Children}} props */
export function PlaceBar({ what, filters = [], children }) {
  const { text, archived, mine } = wantedPlaces();
  const id = useId();
  return html`<div class="bar" role="search"><label class="only-read" for=${id}>${`Find ${what}`}</label>
    <input id=${id} class="input grow" type="search" spellcheck="false" autocomplete="off" placeholder="a part of a name, or of an owner's" value=${text} onInput=${(/** @type {any} */ event) => ask({ q: event.target.value })} />
    <label class="check"><input type="checkbox" checked=${Boolean(mine)} onChange=${() => ask({ mine: !mine })} />Mine</label>
    <label class="check"><input type="checkbox" checked=${archived} onChange=${() => ask({ archived: !archived })} />Archived</label>${filters.map(([key, label, options]) => html`<${Select} key=${key} label=${label} value=${query.value.get(key) ?? ""} options=${options} onChange=${(/** @type {string} */ value) => ask({ [key]: value })} />`)}${children}</div>`;
}
