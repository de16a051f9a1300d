import assert from "node:assert/strict";
import { test } from "node:test";
import { axesOf, axis, flat, isWithin, logarithmic, place, ranks, valueAt } from "../../services/api/resolute/api/web/page/app/core/hyperparameters.js";
import { acrossOf, charted, POINTS_MOST, taken } from "../../services/api/resolute/api/web/page/app/core/profile.js";

const tried = (id, metric, values) => ({ id, metric, values: Object.fromEntries(flat(values)) });
const ALL = [tried(1, 0.3, { lr: 0.001, net: { kind: "wide", depth: 2 }, fixed: 1 }), tried(2, 0.1, { lr: 0.1, net: { kind: "deep", depth: 8 }, fixed: 1 }), tried(3, 0.2, { lr: 0.01, net: { kind: "deep" }, fixed: 1 })];
const LOGS = logarithmic({ lr: { type: "log", minval: -3, maxval: -1 }, net: { depth: { type: "int" } }, fixed: 1 });
const AXES = axesOf(ALL, LOGS);

test("hyperparameters that differ are axes, each of its kind", () => {
  assert.deepEqual(AXES.map(({ name, kind }) => [name, kind]), [["lr", "log"], ["net.depth", "linear"], ["net.kind", "words"]]);
  assert.equal(place(AXES[0], 0.01)?.toFixed(6), "0.500000");
  assert.equal(place(AXES[1], 8), 1);
  assert.equal(place(AXES[1], undefined), null);
  assert.equal(place(AXES[2], "wide"), 1);
  assert.equal(place(AXES[2], "other"), null);
  assert.equal(place(axis("one", [5, 5], false), 5), 0.5);
  assert.equal(place(axis("below", [-1, 1], true), 0), 0.5);
  assert.equal(valueAt(AXES[0], 0.5).toFixed(6), "0.010000");
  assert.deepEqual(axesOf([], LOGS), []);
});

test("trials have ranks, and lie within what was marked", () => {
  assert.deepEqual([...ranks(ALL, true)], [[2, 0], [3, 0.5], [1, 1]]);
  assert.deepEqual([...ranks(ALL, false)], [[1, 0], [3, 0.5], [2, 1]]);
  const value = (one, name) => one.values[name];
  assert.deepEqual(ALL.filter((one) => isWithin(AXES, one, { lr: [0.4, 1] }, value)).map((one) => one.id), [2, 3]);
  assert.deepEqual(ALL.filter((one) => isWithin(AXES, one, { "net.depth": [0, 1] }, value)).map((one) => one.id), [1, 2]);
});

test("system metrics are charts by name, with a curve for each machine", () => {
  const held = new Map();
  const batch = (name, agentId, values, batches) => ({ labels: { trialId: 1, name, agentId }, values, batches, timestamps: values.map((_, i) => `2026-01-31T15:00:0${i}Z`) });
  taken(held, batch("cpu_util_simple", "b", [1, 2], [0, 0]));
  taken(held, batch("cpu_util_simple", "a", [3], [0]));
  taken(held, batch("cpu_util_simple", "b", [4], [0]));
  const charts = charted(held);
  assert.deepEqual(charts.map((one) => [one.title, one.curves.map((curve) => [curve.label, curve.points.length])]), [["CPU (%)", [["a", 1], ["b", 3]]]]);
  assert.equal(acrossOf(charts, "batches"), "relative");
  assert.equal(acrossOf(charts, "time"), "time");
  taken(held, batch("other", "a", [1], [5]));
  assert.equal(acrossOf(charted(held), "batches"), "batches");
});

test("a series that grows without end is thinned", () => {
  const held = new Map();
  const many = Array.from({ length: POINTS_MOST + 10 }, (_, i) => i);
  taken(held, { labels: { trialId: 1, name: "x" }, values: many, batches: many, timestamps: many.map(() => "2026-01-31T15:00:00Z") });
  const { points } = charted(held)[0].curves[0];
  assert.ok(points.length <= POINTS_MOST);
  assert.equal(points.at(-1)?.values?.x, POINTS_MOST + 9);
});
