// Tasks that are no trials, of all kinds together.
import { change, get } from "../core/client.js";
import { KINDS, taskOf } from "../core/tasks.js";

/** @typedef {import("../core/tasks.js").Task} Task */
/** @typedef {import("../core/tasks.js").Kind} Kind */

/** What `/stream` is asked for, to hear of all of them. */
export const TYPES = KINDS.map((kind) => kind.type);

/** @param {AbortSignal} [aborted] @returns {Promise<Task[]>} */
export async function tasks(aborted) {
  const lists = await Promise.all(KINDS.map(async (kind) => {
    const told = /** @type {Record<string, any[]>} */ (await get(kind.path, { limit: -1 }, aborted));
    return told[kind.many].map((one) => taskOf(kind, one));
  }));
  return lists.flat();
}

/** @param {Kind} kind @param {string} id @param {AbortSignal} [aborted] @returns {Promise<{task: Task, config: Record<string, any>}>} */
export async function taskNamed(kind, id, aborted) {
  const told = /** @type {Record<string, any>} */ (await get(`${kind.path}/${encodeURIComponent(id)}`, {}, aborted));
  return { task: taskOf(kind, told[kind.one]), config: told.config ?? {} };
}

/** @param {Task} task */
export const kill = (task) => change("POST", `${task.kind.path}/${encodeURIComponent(task.id)}/kill`);
/** @param {Task} task @param {number} priority */
export const setPriority = (task, priority) => change("POST", `${task.kind.path}/${encodeURIComponent(task.id)}/set_priority`, { priority });

/** @param {Kind} kind @param {Record<string, any>} wanted */
export const launch = async (kind, wanted) => {
  const told = /** @type {Record<string, any>} */ (await change("POST", kind.path, wanted));
  return { task: told[kind.one] ? taskOf(kind, told[kind.one]) : null, config: /** @type {Record<string, any>} */ (told.config ?? {}), warnings: /** @type {string[]} */ (told.warnings ?? []) };
};
