import assert from "node:assert/strict";
import { test } from "node:test";
import { beside, dropped, looksAt, updatesOf } from "../../services/api/resolute/api/web/page/app/core/queue.js";

const job = (jobId, resourcePool = "a", more = {}) => ({ jobId, resourcePool, priority: 42, weight: 1, ...more });
const JOBS = [job("1"), job("2", "b"), job("3"), job("4")];

test("a job moves beside the jobs of its own pool", () => {
  assert.deepEqual(beside(JOBS, JOBS[2]), { before: JOBS[0], after: JOBS[3] });
  assert.deepEqual(beside(JOBS, JOBS[0]), { before: null, after: JOBS[2] });
  assert.deepEqual(beside(JOBS, JOBS[1]), { before: null, after: null });
  assert.deepEqual(dropped(JOBS, JOBS[3], JOBS[0]), { jobId: "4", aheadOf: "1" });
  assert.deepEqual(dropped(JOBS, JOBS[0], JOBS[3]), { jobId: "1", behindOf: "4" });
  assert.equal(dropped(JOBS, JOBS[0], JOBS[1]), null);
  assert.equal(dropped(JOBS, JOBS[0], JOBS[0]), null);
});

test("only what was changed is asked for, and only what the pool looks at", () => {
  assert.deepEqual(updatesOf(JOBS[0], { priority: "42", pool: "a" }), []);
  assert.deepEqual(updatesOf(JOBS[0], { priority: " 7 ", pool: "b" }), [{ jobId: "1", priority: 7 }, { jobId: "1", resourcePool: "b" }]);
  assert.deepEqual(updatesOf(JOBS[0], { weight: "2.5" }), [{ jobId: "1", weight: 2.5 }]);
  for (const weight of ["", "0", "-1", "x"]) assert.throws(() => updatesOf(JOBS[0], { weight }), /Weight: expected a number above 0/, weight);
  assert.deepEqual(looksAt("SCHEDULER_TYPE_FAIR_SHARE"), { moves: false, setting: "weight" });
  assert.deepEqual(looksAt("SCHEDULER_TYPE_PRIORITY"), { moves: true, setting: "priority" });
  assert.deepEqual(looksAt("SCHEDULER_TYPE_ROUND_ROBIN"), { moves: true, setting: null });
});
