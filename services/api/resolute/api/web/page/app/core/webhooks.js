// What a webhook waits for: as the wire has it, as a form has it, and in words. Pure.

/** @typedef {import("../wire").v1Trigger} Trigger */

/** The states whose beginning a form offers. */
export const STATES = ["COMPLETED", "ERROR", "CANCELED", "ACTIVE", "PAUSED"];

/** @param {Trigger} trigger */
export function described({ triggerType, condition }) {
  const word = String(triggerType ?? "").replace("TRIGGER_TYPE_", "");
  if (word === "EXPERIMENT_STATE_CHANGE") return `an experiment becomes ${String(condition?.state ?? "")}`;
  if (word === "TASK_LOG") return `a line of a log fits ${String(condition?.regex ?? "")}`;
  if (word === "CUSTOM") return "training code raises an alert";
  return word.toLowerCase().replaceAll("_", " ");
}

/** What was chosen and typed. @param {Record<string, any>} values @returns {Trigger[]} */
export function triggersOf(values) {
  /** @type {Trigger[]} */
  const found = STATES.filter((state) => values[state]).map((state) => ({ triggerType: "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE", condition: { state } }));
  if (values.regex?.trim()) found.push({ triggerType: "TRIGGER_TYPE_TASK_LOG", condition: { regex: values.regex.trim() } });
  if (values.custom) found.push({ triggerType: "TRIGGER_TYPE_CUSTOM", condition: {} });
  if (found.length === 0) throw new Error("Choose what the webhook waits for: a state, a line of the log, or alerts.");
  return found;
}
