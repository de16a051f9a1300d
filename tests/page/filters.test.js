import assert from "node:assert/strict";
import { test } from "node:test";
import { asked, FilterError, parsed } from "../../services/api/resolute/api/web/page/app/core/filters.js";

const field = (columnName, location, type, operator, value) => ({ kind: "field", columnName, location: `LOCATION_TYPE_${location}`, type: `COLUMN_TYPE_${type}`, operator, value });

test("an empty text is no filter", () => {
  assert.equal(parsed("  "), null);
  assert.equal(asked(null, false), '{"showArchived":false,"filterGroup":{"kind":"group","conjunction":"and","children":[]}}');
});

test("a word alone is looked for in names, quoted or not", () => {
  assert.deepEqual(parsed('digits "two words"')?.children, [field("name", "EXPERIMENT", "TEXT", "contains", "digits"), field("name", "EXPERIMENT", "TEXT", "contains", "two words")]);
});

test("conditions take columns, metrics and hyperparameters with the type of each", () => {
  assert.deepEqual(parsed("state=completed validation.loss.min < 1e-1 hp.lr>=0.5 training.acc.last != 2")?.children, [
    field("state", "EXPERIMENT", "TEXT", "=", "COMPLETED"),
    field("validation.loss.min", "VALIDATIONS", "NUMBER", "<", 0.1),
    field("hp.lr", "HYPERPARAMETERS", "NUMBER", ">=", 0.5),
    field("training.acc.last", "TRAINING", "NUMBER", "!=", 2),
  ]);
});

test("or binds less than and, and brackets bind most", () => {
  const found = parsed("a and b or (c or d) e");
  assert.equal(found?.conjunction, "or");
  assert.deepEqual(found?.children.map((one) => one.kind === "group" && one.conjunction), ["and", "and"]);
});

test("short names, contains and empty", () => {
  assert.deepEqual(parsed("tag ~ base pool !~ gpu labels = empty metric < 3")?.children, [
    field("tags", "EXPERIMENT", "TEXT", "contains", "base"),
    field("resourcePool", "EXPERIMENT", "TEXT", "notContains", "gpu"),
    field("tags", "EXPERIMENT", "TEXT", "isEmpty", null),
    field("searcherMetricsVal", "EXPERIMENT", "NUMBER", "<", 3),
  ]);
});

test("instants have colons in them", () => {
  assert.deepEqual(parsed("started > 2026-01-31T10:00:00Z")?.children, [field("startTime", "EXPERIMENT", "DATE", ">", "2026-01-31T10:00:00Z")]);
});

test("users are named, and sent as their ids", () => {
  assert.deepEqual(parsed("user = ada", { userIds: new Map([["ada", 3]]) })?.children, [field("user", "EXPERIMENT", "TEXT", "=", 3)]);
  assert.throws(() => parsed("user = nobody"), /there is no user "nobody"/);
});

test("what cannot be read is named, with its place", () => {
  for (const [text, message, at] of [["(a", /bracket is missing/, 0], ["a )", /"\)" cannot stand here/, 2], ["x.y = 3", /no column "x.y"/, 0], ["id <", /value is missing/, 0], ["id = ten", /takes a number, not "ten"/, 5], ["a or", /ends where a condition/, 4], ["= 3", /"=" cannot stand here/, 0]]) {
    assert.throws(() => parsed(text), (error) => error instanceof FilterError && message.test(error.message) && error.at === at, text);
  }
});

test("any text is a filter or a named error", () => {
  const letters = ['a', ' ', '(', ')', '"', '<', '=', '~', '!', ':', 'or', ' and ', 'id', '3', '\\', 'é', 'hp.x'];
  let seed = 7;
  for (let turn = 0; turn < 5000; turn += 1) {
    let text = "";
    for (let i = 0; i < 12; i += 1) text += letters[(seed = (seed * 1103515245 + 12345) % 2147483648) % letters.length];
    try {
      parsed(text);
    } catch (error) {
      assert.ok(error instanceof FilterError, `${text}: ${error}`);
    }
  }
});
