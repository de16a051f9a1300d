import assert from "node:assert/strict";
import { test } from "node:test";
import { differences, leaves } from "../../services/api/resolute/api/web/page/app/core/differences.js";

test("documents are compared by their leaves", () => {
  assert.deepEqual([...leaves({ a: { b: 1, c: [1, 2] }, d: {} })], [["a.b", 1], ["a.c", [1, 2]], ["d", {}]]);
  assert.deepEqual(differences([{ a: 1, b: { c: [1] } }, { a: 1, b: { c: [2] }, e: null }]), [{ path: "b.c", values: [[1], [2]] }, { path: "e", values: [undefined, null] }]);
  assert.deepEqual(differences([{ a: 1 }, { a: 1 }]), []);
});
