import assert from "node:assert/strict";
import { test } from "node:test";
import { pieces } from "../../services/api/resolute/api/web/page/app/core/ansi.js";
import { beside, Lines } from "../../services/api/resolute/api/web/page/app/core/log_lines.js";

const line = (id, second = id) => ({ id: String(id), timestamp: `2026-01-31T10:${String(Math.floor(second / 60)).padStart(2, "0")}:${String(second % 60).padStart(2, "0")}.000000Z`, message: "", level: "LOG_LEVEL_INFO", trialId: 1 });

test("colours become classes, and the text stays text", () => {
  assert.deepEqual(pieces("plain <b>text</b>\n"), [{ text: "plain <b>text</b>", style: "" }]);
  assert.deepEqual(pieces("\u001b[1;31mbold red\u001b[0m then"), [{ text: "bold red", style: "ansi-1 ansi-31" }, { text: " then", style: "" }]);
  assert.deepEqual(pieces("\u001b[32mgreen\u001b[91mred\u001b[39mnone"), [{ text: "green", style: "ansi-32" }, { text: "red", style: "ansi-91" }, { text: "none", style: "" }]);
  assert.deepEqual(pieces("\u001b[38;5;200mmany colours\u001b[m"), [{ text: "many colours", style: "" }]);
});

test("what moves a cursor or sets a title is left out, and a progress bar shows its last state", () => {
  assert.deepEqual(pieces("a\u001b[2K\u001b]0;title\u0007b"), [{ text: "a", style: "" }, { text: "b", style: "" }]);
  assert.deepEqual(pieces("10%\r50%\r100%\r\n"), [{ text: "100%", style: "" }]);
  assert.deepEqual(pieces("torn \u001b"), [{ text: "torn ", style: "" }]);
});

test("lines are held in order, once each, and not more than so many", () => {
  const held = new Lines(6);
  held.append([3, 4, 5].map((id) => line(id)));
  assert.equal(held.append([4, 5, 6].map((id) => line(id))), 0);
  assert.deepEqual(held.lines.map((one) => one.id), ["3", "4", "5", "6"]);
  assert.equal(held.prepend([1, 2, 3].map((id) => line(id))), 2);
  assert.deepEqual(held.lines.map((one) => one.id), ["1", "2", "3", "4", "5", "6"]);
  held.atStart = held.atEnd = true;
  assert.equal(held.append([line(7)]), 1);
  assert.equal(held.atStart, false);
  assert.equal(held.prepend([line(1)]), 1);
  assert.equal(held.atEnd, false);
  assert.deepEqual(held.lines.map((one) => one.id), ["1", "2", "3", "4", "5", "6"]);
});

test("a window begins a little early where lines were stored out of order", () => {
  const held = new Lines(100);
  held.append([line(1, 5), line(2, 3), line(3, 8), line(4, 6)]);
  assert.equal(held.edge(1), line(0, 8).timestamp);
  assert.equal(held.edge(-1), line(0, 3).timestamp);
});

test("an instant beside another is a microsecond away, over the borders of seconds too", () => {
  assert.equal(beside("2026-01-31T10:00:00.123456Z", 1), "2026-01-31T10:00:00.123457Z");
  assert.equal(beside("2026-01-31T10:00:00.5Z", -1), "2026-01-31T10:00:00.499999Z");
  assert.equal(beside("2026-01-31T10:00:59.999999Z", 1), "2026-01-31T10:01:00.000000Z");
  assert.equal(beside("2026-01-31T10:00:00Z", -1), "2026-01-31T09:59:59.999999Z");
});
