import assert from "node:assert/strict";
import { test } from "node:test";
import { appended, smoothed, table, together } from "../../services/api/resolute/api/web/page/app/core/series.js";

const at = (batches, loss) => ({ batches, time: new Date(1.7e12 + batches * 1000).toISOString(), epoch: batches / 10, values: { loss } });

test("curves share one table; where one has no point there is none", () => {
  const found = table([{ label: "a", name: "loss", points: [at(10, 1), at(20, 2)] }, { label: "b", name: "loss", points: [at(20, 3)] }], "batches", false);
  assert.deepEqual(found, [[10, 20], [1, 2], [undefined, 3]]);
});

test("the axis may be time, time since the start, or epochs", () => {
  const curve = [{ label: "a", name: "loss", points: [at(10, 1), at(20, 2)] }];
  assert.deepEqual(table(curve, "relative", false)[0], [0, 10]);
  assert.deepEqual(table(curve, "time", false)[0], [1.7e9 + 10, 1.7e9 + 20]);
  assert.deepEqual(table(curve, "epoch", false)[0], [1, 2]);
});

test("what is no number, or not above zero on a logarithmic axis, is a gap", () => {
  const points = [at(1, "NaN"), at(2, -1), at(3, 5), { ...at(4, 0), values: { other: 1 } }];
  assert.deepEqual(table([{ label: "a", name: "loss", points }], "batches", true), [[1, 2, 3], [null, null, 5]]);
  assert.deepEqual(table([{ label: "a", name: "loss", points }], "batches", false)[1], [null, -1, 5]);
});

test("later points are added, and a step that is reported again counts anew", () => {
  assert.deepEqual(appended([at(1, 1)], [at(2, 2)]).map((one) => one.batches), [1, 2]);
  assert.deepEqual(appended([at(1, 1), at(2, 2)], [at(2, 9), at(3, 3)]).map((one) => one.values.loss), [1, 9, 3]);
  assert.deepEqual(appended([], [at(2, 2)]).length, 1);
});

test("smoothing begins at the first value and leaves gaps", () => {
  assert.deepEqual(smoothed([4, null, 4], 0.9), [4, null, 4]);
  const found = smoothed([0, 10], 0.5);
  assert.ok(found[0] === 0 && found[1] > 5 && found[1] < 10);
});

test("training and validation of one name are on one chart", () => {
  const charts = together([{ group: "training", name: "loss" }, { group: "validation", name: "val_loss" }, { group: "validation", name: "accuracy" }]);
  assert.deepEqual(charts.map((chart) => [chart.name, chart.metrics.length]), [["accuracy", 1], ["loss", 2]]);
});
