// What of a job's place in the queue may be changed, and how it is asked for. Pure.
import { wholeNumber } from "./tasks.js";

/** @typedef {import("../wire").v1Job} Job */
/** @typedef {{jobId: string, aheadOf?: string, behindOf?: string, priority?: number, weight?: number, resourcePool?: string}} Update */

/** What the scheduler of a pool looks at. @param {string | null | undefined} schedulerType @returns {{moves: boolean, setting: "priority" | "weight" | null}} */
export function looksAt(schedulerType) {
  const bare = String(schedulerType ?? "").replace("SCHEDULER_TYPE_", "");
  if (bare === "FAIR_SHARE") return { moves: false, setting: "weight" };
  if (bare === "PRIORITY") return { moves: true, setting: "priority" };
  return { moves: true, setting: null };
}

/** The jobs of the same pool next to one, as they are served. @param {readonly Job[]} jobs @param {Job} job */
export function beside(jobs, job) {
  const line = jobs.filter((one) => one.resourcePool === job.resourcePool);
  const at = line.findIndex((one) => one.jobId === job.jobId);
  return { before: at > 0 ? line[at - 1] : null, after: at >= 0 ? (line[at + 1] ?? null) : null };
}

/** What is asked when a job is put where another one is; null where that changes nothing.
 * @param {readonly Job[]} jobs @param {Job} job @param {Job} target @returns {Update | null} */
export function dropped(jobs, job, target) {
  if (job.jobId === target.jobId || job.resourcePool !== target.resourcePool) return null;
  const from = jobs.findIndex((one) => one.jobId === job.jobId);
  const to = jobs.findIndex((one) => one.jobId === target.jobId);
  return from > to ? { jobId: job.jobId, aheadOf: target.jobId } : { jobId: job.jobId, behindOf: target.jobId };
}

/** What was changed in the form, one change each. @param {Job} job @param {Record<string, any>} values @returns {Update[]} */
export function updatesOf(job, { priority, weight, pool }) {
  /** @type {Update[]} */
  const found = [];
  if (priority !== undefined && priority.trim() !== String(job.priority)) found.push({ jobId: job.jobId, priority: wholeNumber(priority, "Priority", 1, 99) });
  if (weight !== undefined && Number(weight) !== job.weight) {
    if (!weight.trim() || !(Number(weight) > 0)) throw new Error(`Weight: expected a number above 0; found ${JSON.stringify(weight)}`);
    found.push({ jobId: job.jobId, weight: Number(weight) });
  }
  if (pool !== undefined && pool !== job.resourcePool) found.push({ jobId: job.jobId, resourcePool: pool });
  return found;
}
