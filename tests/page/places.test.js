import assert from "node:assert/strict";
import { test } from "node:test";
import { shown, withNote } from "../../services/api/resolute/api/web/page/app/core/places.js";

const place = (name, rest = {}) => ({ name, archived: false, userId: 1, username: "ada", ...rest });
const names = (all, asked) => shown(all, { text: "", archived: false, mine: 0, ...asked }).map((one) => one.name);

test("pinned ones come first, then by name", () => {
  assert.deepEqual(names([place("b"), place("c", { pinned: true }), place("A")]), ["c", "A", "b"]);
});

test("a part of a name or of an owner's, one's own, and archived ones", () => {
  const all = [place("Vision"), place("speech", { userId: 2, username: "Grace" }), place("old", { archived: true })];
  assert.deepEqual(names(all, { text: " visi " }), ["Vision"]);
  assert.deepEqual(names(all, { text: "grace" }), ["speech"]);
  assert.deepEqual(names(all, { mine: 2 }), ["speech"]);
  assert.deepEqual(names(all, { archived: true }), ["old"]);
});

test("a note is changed, added or taken away, and the others stay", () => {
  assert.deepEqual(withNote(["a", "b"], 1, "c"), ["a", "c"]);
  assert.deepEqual(withNote(["a", "b"], 2, "c"), ["a", "b", "c"]);
  assert.deepEqual(withNote(["a", "b"], 0, null), ["b"]);
});
