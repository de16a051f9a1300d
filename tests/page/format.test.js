import assert from "node:assert/strict";
import { test } from "node:test";
import { ago, between, bytes, duration, hasEnded, number, stateOf, yaml } from "../../services/api/resolute/api/web/page/app/core/format.js";
import { drawn, pagesOf } from "../../services/api/resolute/api/web/page/app/components/window.js";

test("numbers keep five digits", () => {
  for (const [value, text] of [[0, "0"], [0.123456789, "0.12346"], [12345678, "12,345,678"], [1e-7, "1.000e-7"], [NaN, "NaN"], ["Infinity", "∞"], ["-Infinity", "−∞"], ["NaN", "NaN"], [null, ""], ["text", "text"], [1.5, "1.5"]]) assert.equal(number(value), text);
});

test("times and sizes", () => {
  assert.equal(duration(59.6), "1 min 0 s");
  assert.equal(duration(3700), "1 h 1 min");
  assert.equal(duration(90_000), "1 d 1 h");
  assert.equal(duration(null), "");
  assert.equal(bytes("1536"), "1.5 KiB");
  assert.equal(bytes(12), "12 B");
  const now = Date.parse("2026-01-31T10:00:00Z");
  assert.equal(ago("2026-01-31T09:59:50Z", now), "just now");
  assert.equal(ago("2026-01-31T09:50:00Z", now), "10 min ago");
  assert.equal(between("2026-01-31T09:00:00Z", "2026-01-31T09:00:05Z", now), "5 s");
});

test("states have words, with or without a prefix", () => {
  assert.deepEqual(stateOf("STATE_ERROR"), { text: "Failed", tone: "bad", sign: "✕" });
  assert.deepEqual(stateOf("QUEUED"), stateOf("STATE_QUEUED"));
  assert.equal(stateOf("STATE_SOMETHING_NEW").text, "Something new");
  assert.ok(hasEnded("STATE_COMPLETED") && !hasEnded("ACTIVE"));
});

test("configurations are shown as YAML that reads back", () => {
  assert.equal(yaml({ a: 1, b: ["x", { c: null }], d: {}, e: "yes", f: "two\nlines", g: [] }).trim(), 'a: 1\nb:\n  - x\n  - c: null\nd: {}\ne: "yes"\nf: "two\\nlines"\ng: []');
});

test("only the rows in view are drawn", () => {
  assert.deepEqual(drawn({ top: 0, height: 360, row: 36, total: 10_000, over: 6 }), { first: 0, last: 16 });
  assert.deepEqual(drawn({ top: 36_000, height: 360, row: 36, total: 10_000, over: 6 }), { first: 994, last: 1016 });
  assert.deepEqual(drawn({ top: 900, height: 360, row: 36, total: 3 }), { first: 2, last: 3 });
  assert.deepEqual(pagesOf(48, 101, 50), [0, 1, 2]);
});
