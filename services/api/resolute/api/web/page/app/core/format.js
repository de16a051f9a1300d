// Numbers, times and states as people read them. Pure; everything takes `now` as an argument where it needs it.

/** @typedef {"good" | "bad" | "warn" | "busy" | "calm"} Tone */

/** @type {Record<string, [string, Tone, string]>} */
const STATES = {
  ACTIVE: ["Active", "busy", "●"],
  RUNNING: ["Running", "busy", "▶"],
  STARTING: ["Starting", "busy", "▷"],
  PULLING: ["Pulling image", "busy", "▷"],
  QUEUED: ["Waits", "warn", "◔"],
  PENDING: ["Waits", "warn", "◔"],
  PAUSED: ["Paused", "calm", "❚❚"],
  ASSIGNED: ["Starting", "busy", "▷"],
  TERMINATING: ["Ending", "warn", "…"],
  TERMINATED: ["Ended", "calm", "■"],
  COMPLETED: ["Completed", "good", "✓"],
  CANCELED: ["Stopped", "calm", "■"],
  ERROR: ["Failed", "bad", "✕"],
  DELETED: ["Deleted", "calm", "–"],
  DELETING: ["Deleting", "calm", "…"],
  DELETE_FAILED: ["Deletion failed", "bad", "✕"],
  PARTIALLY_DELETED: ["Partly deleted", "calm", "–"],
  STOPPING_CANCELED: ["Stopping", "warn", "…"],
  STOPPING_KILLED: ["Being killed", "warn", "…"],
  STOPPING_COMPLETED: ["Completing", "busy", "…"],
  STOPPING_ERROR: ["Failing", "bad", "…"],
};

/** Of experiments, trials, checkpoints, jobs: with or without the prefix of the wire.
 * @param {string} state @returns {{text: string, tone: Tone, sign: string}} */
export function stateOf(state) {
  const bare = bareState(state);
  const [text, tone, sign] = STATES[bare] ?? [bare.replaceAll("_", " ").toLowerCase().replace(/^./, (c) => c.toUpperCase()), "calm", "○"];
  return { text, tone, sign };
}

/** @param {string | null | undefined} state */
export const bareState = (state) => String(state ?? "").replace(/^STATE_/, "");

/** @param {string} state */
export const hasEnded = (state) => /^(COMPLETED|CANCELED|ERROR|DELETED|DELETE_FAILED)$/.test(bareState(state));

/** Five significant digits, with few characters. @param {unknown} value */
export function number(value) {
  if (typeof value === "string" && value !== "" && !Number.isNaN(Number(value))) value = Number(value);
  if (typeof value !== "number") return value === null || value === undefined ? "" : String(value);
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return value.toLocaleString("en");
  const size = Math.abs(value);
  return size >= 1e6 || size < 1e-4 ? value.toExponential(3) : String(Number(value.toPrecision(5)));
}

/** @param {number | string | null | undefined} count */
export function bytes(count) {
  let size = Number(count ?? 0);
  for (const unit of ["B", "KiB", "MiB", "GiB", "TiB"]) {
    if (size < 1024 || unit === "TiB") return `${unit === "B" ? size : size.toFixed(1)} ${unit}`;
    size /= 1024;
  }
  return "";
}

/** @param {number | null | undefined} seconds */
export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "";
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3600)} h`;
}

/** @param {string | null | undefined} instant @param {number} now */
export function ago(instant, now) {
  if (!instant) return "";
  const seconds = (now - Date.parse(instant)) / 1000;
  if (seconds < 45) return "just now";
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min ago`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86_400)} d ago`;
}

/** From the start to the end, or to now while it goes on. @param {string | null | undefined} start @param {string | null | undefined} end @param {number} now */
export function between(start, end, now) {
  return start ? duration(((end ? Date.parse(end) : now) - Date.parse(start)) / 1000) : "";
}

/** @param {unknown} value */
export function plain(value) {
  if (typeof value === "number") return number(value);
  return typeof value === "string" ? value : JSON.stringify(value) ?? "";
}

/** A configuration as YAML-like text. @param {unknown} value @param {number} [depth] @returns {string} */
export function yaml(value, depth = 0) {
  const pad = "  ".repeat(depth);
  if (Array.isArray(value)) return value.length ? value.map((one) => `\n${pad}- ${yaml(one, depth + 1).trimStart()}`).join("") : " []";
  if (value && typeof value === "object") {
    const fields = Object.entries(value);
    return fields.length ? fields.map(([name, one]) => `\n${pad}${key(name)}:${yaml(one, depth + 1)}`).join("") : " {}";
  }
  return ` ${scalar(value)}`;
}

/** @param {string} name */
const key = (name) => (/^[\w.-]+$/.test(name) ? name : JSON.stringify(name));
/** @param {unknown} value */
const scalar = (value) =>
  typeof value !== "string" ? String(value) : /^[\w./ ()%+-]*$/.test(value) && value.trim() === value && !/^(|true|false|null|yes|no|on|off|~|[-+.\d].*|- .*)$/i.test(value) ? value : JSON.stringify(value);
