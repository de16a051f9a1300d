// What can be done to a task that is no trial: its priority, and its end.
import { html } from "../core/dom.js";
import { standing, wholeNumber } from "../core/tasks.js";
import { may } from "../state/rights.js";
import { master } from "../state/session.js";
import { kill, setPriority } from "../state/tasks.js";
import { attempt, fill } from "./forms.js";
import { Button, confirm } from "./parts.js";

/** @typedef {import("../core/tasks.js").Task} Task */

/** @param {Task} task */
export const mayEdit = (task) => !master.value?.rbacEnabled || may("UPDATE_NSC", task.workspaceId);

/** @param {{task: Task, again: () => void, named?: boolean}} props `named`: in a list, where each button says whose it is */
export function TaskActions({ task, again, named = false }) {
  if (standing(task.state) === "ended" || !mayEdit(task)) return null;
  const prioritise = () => fill({
    title: `Priority of ${task.name}`,
    action: "Set priority",
    fields: [{ key: "priority", label: "Priority", hint: "From 1 to 99. In pools that serve by priority, the smallest number is served first." }],
    save: async ({ priority }) => { await setPriority(task, wholeNumber(priority, "Priority", 1, 99)); again(); },
    done: "Priority set",
  });
  const end = () => confirm({ title: `Kill ${task.name}?`, text: "It ends at once. What it keeps only within its container is lost.", action: `Kill ${task.kind.name}`, run: async () => { await attempt(() => kill(task), `${task.name} is killed`); again(); } });
  const of = (/** @type {string} */ word) => (named ? `${word} of ${task.name}` : undefined);
  return html`<${Button} label=${of("Priority")} onClick=${prioritise}>Priority<//><${Button} kind="danger" label=${named ? `Kill ${task.name}` : undefined} onClick=${end}>Kill<//>`;
}
