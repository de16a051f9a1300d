import assert from "node:assert/strict";
import { test } from "node:test";
import { labelsOf, objectOf } from "../../services/api/resolute/api/web/page/app/core/typed.js";

test("labels are parted by commas, each once", () => {
  assert.deepEqual(labelsOf(" a, b ,,a, with a space"), ["a", "b", "with a space"]);
});

test("an object in JSON; nothing is an empty one; anything else is named", () => {
  assert.deepEqual(objectOf('{"a": [1]}', "Metadata"), { a: [1] });
  assert.deepEqual(objectOf("  ", "Metadata"), {});
  assert.throws(() => objectOf("{a: 1}", "Metadata"), /^Error: Metadata: this is not JSON/);
  for (const text of ["[1]", "3", "null"]) assert.throws(() => objectOf(text, "Metadata"), /expected an object in braces/);
});
