// What can be done to experiments: each word with whom it fits, what takes it back, and what is asked before.
import { html } from "../core/dom.js";
import { bareState, hasEnded } from "../core/format.js";
import { act } from "../state/experiments.js";
import { signOut } from "../state/session.js";
import { confirm, toast } from "./parts.js";

/** @typedef {{state: string, archived?: boolean}} Actable */
/** @typedef {{word: string, text: string, done: string, fits: (experiment: Actable) => boolean, undo?: string, asks?: string, danger?: boolean}} Action */

/** @param {Actable} one */
const active = (one) => /^(ACTIVE|RUNNING|QUEUED|PULLING|STARTING)$/.test(bareState(one.state));

/** @type {Action[]} */
export const ACTIONS = [
  { word: "pause", text: "Pause", done: "paused", fits: active, undo: "activate" },
  { word: "activate", text: "Activate", done: "activated", fits: (one) => bareState(one.state) === "PAUSED", undo: "pause" },
  { word: "cancel", text: "Stop", done: "stopping", fits: (one) => !hasEnded(one.state), asks: "Trials save a checkpoint, and end. A stopped experiment can be continued, not activated." },
  { word: "kill", text: "Kill", done: "killed", fits: (one) => !hasEnded(one.state), danger: true, asks: "Trials end at once. What was trained since the last checkpoint is lost." },
  { word: "archive", text: "Archive", done: "archived", fits: (one) => hasEnded(one.state) && !one.archived, undo: "unarchive" },
  { word: "unarchive", text: "Unarchive", done: "unarchived", fits: (one) => Boolean(one.archived), undo: "archive" },
  { word: "delete", text: "Delete", done: "being deleted", fits: (one) => hasEnded(one.state), danger: true, asks: "Checkpoints, metrics and logs are deleted for good." },
];

/** @param {number} count */
const experiments = (count) => (count === 1 ? "1 experiment" : `${count} experiments`);

/** Acts on exactly these, and says of how many it came true.
 * @param {string} word @param {number[]} ids */
export async function run(word, ids) {
  const action = ACTIONS.find((one) => one.word === word);
  if (!action || ids.length === 0) return;
  try {
    const results = await act(word, ids);
    const failed = results.filter((one) => one.error);
    const worked = results.filter((one) => !one.error).map((one) => one.id);
    const { undo } = action;
    if (worked.length) toast(`${experiments(worked.length)} ${action.done}`, { undo: undo ? () => void run(undo, worked) : undefined });
    if (failed.length) toast(`Not done for ${experiments(failed.length)}. Experiment ${failed[0].id}: ${failed[0].error}`, { tone: "bad" });
  } catch (error) {
    toast(error instanceof Error ? error.message : String(error), { tone: "bad" });
  }
}

/** Asks first where the action cannot be taken back.
 * @param {Action} action @param {number[]} ids */
export function begin(action, ids) {
  if (!action.asks) return void run(action.word, ids);
  const named = ids.length <= 12 ? ` (${ids.join(", ")})` : "";
  confirm({
    title: `${action.text} ${experiments(ids.length)}?`,
    text: html`<p>${action.asks}</p><p class="muted">${experiments(ids.length)}${named}</p>`,
    action: `${action.text} ${experiments(ids.length)}`,
    run: () => run(action.word, ids),
  });
}

/** Sign out; where that fails, say that the session goes on. */
export const leave = () =>
  signOut().catch((error) => toast(`You are still signed in. ${error instanceof Error ? error.message : String(error)}`, { tone: "bad" }));
