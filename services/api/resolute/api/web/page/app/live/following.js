// What one page follows, and how a connection that came again asks for what it missed. Pure: `stream.js` has the socket.
import { read, written } from "./ranges.js";

/** @typedef {"experiments" | "trials" | "checkpoints" | "tasks" | "agents" | "models" | "modelversions" | "projects"} Kind */
/** @typedef {Record<string, (number | string)[] | boolean | undefined>} Wanted */
/** @typedef {{kind: Kind, object?: Record<string, any>, gone?: (number | string)[]}} Change */

/** @type {Record<string, Kind>} */
const ONE = { experiment: "experiments", trial: "trials", checkpoint: "checkpoints", task: "tasks", agent: "agents", model: "models", modelversion: "modelversions", project: "projects" };

/** What is known of one kind, and up to where in the log. */
export class Known {
  constructor() {
    /** @type {Set<number | string>} */
    this.ids = new Set();
    this.seq = 0;
  }

  /** The text, or the list, of `known`. */
  shown() {
    const ids = [...this.ids];
    return ids.some((id) => typeof id === "string") ? ids : written(/** @type {number[]} */ (ids));
  }
}

/** The message that subscribes. `beforehand`: ids that the page has from elsewhere, by kind.
 * @param {string} syncId @param {Partial<Record<Kind, Wanted>>} wanted @param {Map<Kind, Known>} known */
export function subscription(syncId, wanted, known) {
  /** @type {Record<string, any>} */
  const subscribe = {};
  /** @type {Record<string, any>} */
  const had = {};
  for (const [kind, lists] of /** @type {[Kind, Wanted][]} */ (Object.entries(wanted))) {
    const here = known.get(kind);
    subscribe[kind] = here?.seq ? { ...lists, since: here.seq } : { ...lists };
    if (here?.ids.size) had[kind] = here.shown();
  }
  return { sync_id: syncId, known: had, subscribe };
}

/** What a message of the stream says; it is added to what is known.
 * @param {Record<string, any>} message @param {Map<Kind, Known>} known @returns {{change?: Change, complete?: string, begins?: string}} */
export function understood(message, known) {
  if ("sync_id" in message) return message.complete ? { complete: message.sync_id } : { begins: message.sync_id };
  for (const [name, told] of Object.entries(message)) {
    if (name.endsWith("_deleted")) {
      const kind = /** @type {Kind} */ (name.slice(0, -"_deleted".length));
      const gone = read(told);
      for (const id of gone) known.get(kind)?.ids.delete(id);
      return gone.length ? { change: { kind, gone } } : {};
    }
    const kind = ONE[name];
    if (kind) {
      const here = known.get(kind) ?? new Known();
      known.set(kind, here);
      here.ids.add(told.id);
      here.seq = Math.max(here.seq, told.seq ?? 0);
      return { change: { kind, object: told } };
    }
  }
  return {};
}

/** How long to wait before the next attempt: twice as long each time, up to 15 s, and never two pages at once.
 * @param {number} attempt @param {number} chance from 0 to 1 */
export const pauseMs = (attempt, chance) => Math.min(15_000, 250 * 2 ** Math.min(attempt, 10)) * (0.5 + chance / 2);
