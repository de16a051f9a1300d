// Tasks that are no trials: their kinds, and which of them a list shows. Pure.
import { bareState } from "./format.js";

/** `here`: whether this release has the operations of the kind. `serves`: whether one opens it in the browser. `runs`: whether one says what it runs. `opened`: the word of `det` that opens it. `view`: what addresses of Determined call it.
 * @typedef {{name: string, plural: string, text: string, type: string, one: string, many: string, path: string, here: boolean, serves: boolean, starts: boolean, previews: boolean, runs: boolean, opened: string, view: string, command: string}} Kind */

/** @type {readonly Kind[]} */
const ALL = [
  { name: "notebook", plural: "notebooks", text: "Notebook", type: "NOTEBOOK", one: "notebook", many: "notebooks", path: "/api/v1/notebooks", here: true, serves: true, starts: true, previews: true, runs: false, opened: "", view: "jupyter-lab", command: "det notebook start" },
  { name: "command", plural: "commands", text: "Command", type: "COMMAND", one: "command", many: "commands", path: "/api/v1/commands", here: true, serves: false, starts: true, previews: false, runs: true, opened: "", view: "command", command: "det cmd run COMMAND" },
  { name: "shell", plural: "shells", text: "Shell", type: "SHELL", one: "shell", many: "shells", path: "/api/v1/shells", here: true, serves: false, starts: true, previews: false, runs: false, opened: "det shell open", view: "shell", command: "det shell start" },
  { name: "tensorboard", plural: "tensorboards", text: "TensorBoard", type: "TENSORBOARD", one: "tensorboard", many: "tensorboards", path: "/api/v1/tensorboards", here: false, serves: true, starts: false, previews: false, runs: false, opened: "", view: "tensorboard", command: "det tensorboard start EXPERIMENT" },
];

/** The kinds that this release has. */
export const KINDS = ALL.filter((kind) => kind.here);

/** @param {string | null | undefined} word a name, or what an address of Determined or the wire calls it */
export const kindOf = (word) => {
  const bare = String(word ?? "").replace(/^TASK_TYPE_/, "");
  return KINDS.find((kind) => [kind.name, kind.plural, kind.view, kind.type].includes(bare));
};

/** @typedef {{id: string, kind: Kind, name: string, state: string, owner: string, ownerId: number, workspaceId: number, pool: string, started: string, exit: string, address: string, terminal: {path: string, token: string} | null}} Task
 * `terminal`: how the terminal of a shell is reached; its owner alone is told. */

/** What the lists of all kinds have in common. @param {Kind} kind @param {Record<string, any>} told @returns {Task} */
export const taskOf = (kind, told) => ({
  id: told.id, kind, name: told.description, state: bareState(told.state), owner: told.username, ownerId: told.userId ?? 0, workspaceId: told.workspaceId, pool: told.resourcePool, started: told.startTime, exit: told.exitStatus ?? "", address: told.serviceAddress ?? "", terminal: serviceOf(told.addresses?.[0]?.path ?? "") ? told.addresses[0] : null,
});

/** Where a task stands, for the filter of the list. @param {string} state @returns {"waits" | "runs" | "ended"} */
export const standing = (state) => (state === "TERMINATED" ? "ended" : /^(QUEUED|WAITING)$/.test(state) ? "waits" : "runs");

/** @param {readonly Task[]} all @param {{text: string, kind: string, state: string, user: string, workspace: string}} asked @returns {Task[]} the youngest first */
export function shownTasks(all, { text, kind, state, user, workspace }) {
  const part = text.trim().toLowerCase();
  return all
    .filter((one) => (!kind || one.kind.name === kind) && (!state || standing(one.state) === state) && (!user || one.owner === user) && (!workspace || String(one.workspaceId) === workspace) && (!part || one.name.toLowerCase().includes(part) || one.id.startsWith(part)))
    .sort((a, b) => b.started.localeCompare(a.started) || a.id.localeCompare(b.id));
}

/** What was chosen in the form takes the place of what the configuration says.
 * @param {Record<string, any>} config @param {{name: string, pool: string, slots: string, run?: string}} chosen @returns {Record<string, any>} */
export function launched(config, { name, pool, slots, run = "" }) {
  const resources = { ...config.resources, ...(pool ? { resource_pool: pool } : {}), ...(slots.trim() ? { slots: wholeNumber(slots, "Slots", 0, 10_000) } : {}) };
  return { ...config, ...(name.trim() ? { description: name.trim() } : {}), ...(run.trim() ? { entrypoint: ["sh", "-c", run] } : {}), ...(Object.keys(resources).length ? { resources } : {}) };
}

/** @param {string} text @param {string} what @param {number} least @param {number} most */
export function wholeNumber(text, what, least, most) {
  const found = Number(text.trim());
  if (!text.trim() || !Number.isInteger(found) || found < least || found > most) throw new Error(`${what}: expected a whole number from ${least} to ${most}; found ${JSON.stringify(text)}`);
  return found;
}

/** The service of a task, only on this gateway and below its proxy. @param {string} address @returns {string} empty where it is none */
export const serviceOf = (address) => (/^\/proxy\/[\w.:-]+\//.test(address) && !/[\\\s]/.test(address) ? address : "");
