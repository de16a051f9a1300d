import assert from "node:assert/strict";
import { test } from "node:test";
import { Known, pauseMs, subscription, understood } from "../../services/api/resolute/api/web/page/app/live/following.js";
import { read, written } from "../../services/api/resolute/api/web/page/app/live/ranges.js";
import { lineReader } from "../../services/api/resolute/api/web/page/app/core/lines.js";

test("ranges are written short and read again", () => {
  assert.equal(written([7, 3, 1, 2, 2]), "1-3,7");
  assert.equal(written([]), "");
  assert.deepEqual(read("1-3,7"), [1, 2, 3, 7]);
  assert.deepEqual(read(""), []);
  assert.deepEqual(read(["a"]), ["a"]);
});

test("a connection that comes again says what it has, and since when", () => {
  const known = new Map([["experiments", new Known()]]);
  known.get("experiments").ids.add(4);
  assert.deepEqual(subscription("1", { experiments: { all: true } }, known), { sync_id: "1", known: { experiments: "4" }, subscribe: { experiments: { all: true } } });
  assert.deepEqual(understood({ sync_id: "1", complete: false }, known), { begins: "1" });
  const told = understood({ experiment: { id: 5, state: "ACTIVE", seq: 90 } }, known);
  assert.deepEqual(told.change, { kind: "experiments", object: { id: 5, state: "ACTIVE", seq: 90 } });
  assert.deepEqual(understood({ experiments_deleted: "4" }, known).change, { kind: "experiments", gone: [4] });
  assert.deepEqual(understood({ experiments_deleted: "" }, known), {});
  assert.deepEqual(understood({ sync_id: "1", complete: true }, known), { complete: "1" });
  assert.deepEqual(subscription("2", { experiments: { all: true } }, known), { sync_id: "2", known: { experiments: "5" }, subscribe: { experiments: { all: true, since: 90 } } });
});

test("ids that are texts are said as a list", () => {
  const known = new Map();
  understood({ task: { id: "1.a", seq: 3 } }, known);
  assert.deepEqual(subscription("1", { tasks: { all: true } }, known).known, { tasks: ["1.a"] });
});

test("pauses grow to a bound, and differ from page to page", () => {
  assert.ok(pauseMs(0, 0) < pauseMs(3, 0));
  assert.ok(pauseMs(50, 1) <= 15_000);
  assert.ok(pauseMs(4, 0) < pauseMs(4, 1));
});

test("lines are cut wherever the bytes break, within letters too", () => {
  const bytes = new TextEncoder().encode('{"a":"é"}\n\n{"b":2}\nrest');
  for (let cut = 0; cut <= bytes.length; cut += 1) {
    const reader = lineReader();
    assert.deepEqual([...reader.more(bytes.slice(0, cut)), ...reader.more(bytes.slice(cut)), ...reader.end()], ['{"a":"é"}', '{"b":2}', "rest"]);
  }
});
