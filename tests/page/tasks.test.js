import assert from "node:assert/strict";
import { test } from "node:test";
import { route } from "../../services/api/resolute/api/web/page/app/core/routes.js";
import { kindOf, KINDS, launched, serviceOf, shownTasks, taskOf, wholeNumber } from "../../services/api/resolute/api/web/page/app/core/tasks.js";
import { configOf } from "../../services/api/resolute/api/web/page/app/core/yaml.js";

const NOTEBOOK = KINDS[0];
const COMMAND = KINDS[1];
const task = (kind, id, more = {}) => taskOf(kind, { id, description: id, state: "STATE_RUNNING", username: "ada", userId: 2, workspaceId: 1, resourcePool: "default", startTime: "2026-01-31T15:00:00Z", ...more });
const ALL = [task(NOTEBOOK, "a"), task(COMMAND, "b", { state: "STATE_TERMINATED", startTime: "2026-02-01T00:00:00Z" }), task(COMMAND, "c", { state: "STATE_QUEUED", username: "ben", workspaceId: 2 })];
const NONE = { text: "", kind: "", state: "", user: "", workspace: "" };
const ids = (asked) => shownTasks(ALL, { ...NONE, ...asked }).map((one) => one.id);

test("a list shows the tasks that were asked for, the youngest first", () => {
  assert.deepEqual(ids({}), ["b", "a", "c"]);
  assert.deepEqual(ids({ kind: "command" }), ["b", "c"]);
  assert.deepEqual(ids({ state: "waits" }), ["c"]);
  assert.deepEqual(ids({ state: "runs" }), ["a"]);
  assert.deepEqual(ids({ state: "ended" }), ["b"]);
  assert.deepEqual(ids({ user: "ben" }), ["c"]);
  assert.deepEqual(ids({ workspace: "2" }), ["c"]);
  assert.deepEqual(ids({ text: "A" }), ["a"]);
});

test("a kind is known by all its names", () => {
  for (const word of ["notebook", "notebooks", "jupyter-lab", "TASK_TYPE_NOTEBOOK"]) assert.equal(kindOf(word), NOTEBOOK, word);
  assert.equal(kindOf("TASK_TYPE_TRIAL"), undefined);
});

test("what is chosen counts before the configuration, and what is left out does not", () => {
  assert.deepEqual(launched({ resources: { slots: 4, weight: 2 }, work_dir: "/w" }, { name: " mine ", pool: "gpu", slots: "0" }), { description: "mine", resources: { slots: 0, weight: 2, resource_pool: "gpu" }, work_dir: "/w" });
  assert.deepEqual(launched({ entrypoint: ["x"] }, { name: "", pool: "", slots: "", run: "echo hi" }), { entrypoint: ["sh", "-c", "echo hi"] });
  assert.deepEqual(launched({}, { name: "", pool: "", slots: "" }), {});
  assert.throws(() => launched({}, { name: "", pool: "", slots: "two" }), /Slots: expected a whole number from 0/);
  for (const wrong of ["", "0", "100", "1.5", "x"]) assert.throws(() => wholeNumber(wrong, "Priority", 1, 99), /Priority: expected a whole number from 1 to 99/);
});

test("a configuration is YAML, and what is wrong with it is said by its line", () => {
  assert.deepEqual(configOf("resources:\n  slots: 2\n", "Configuration"), { resources: { slots: 2 } });
  assert.deepEqual(configOf("# nothing\n", "Configuration"), {});
  assert.throws(() => configOf("a: [1,\nb: }", "Configuration"), /Configuration: this is not YAML, in line 2/);
  assert.throws(() => configOf("- a", "Configuration"), /expected names with values/);
});

test("a service is opened below the gateway's proxy only", () => {
  assert.equal(serviceOf("/proxy/abc-1/?token=x"), "/proxy/abc-1/?token=x");
  for (const foreign of ["https://example.org/proxy/a/", "//example.org", "/det/", "/proxy/a\\b/", "javascript:alert(1)", ""]) assert.equal(serviceOf(foreign), "", foreign);
});

test("addresses of tasks, also those of Determined, resolve", () => {
  for (const [path, name, params] of [
    ["/det/tasks", "tasks", {}],
    ["/det/tasks/new/notebook", "newTask", { kind: "notebook" }],
    ["/det/tasks/abc/logs", "task", { task: "abc", tab: "logs" }],
    ["/det/notebooks/abc/logs", "task", { task: "abc", tab: "logs" }],
    ["/det/interactive/abc/jupyter-lab/a%20name/default/%2Fwait%2Fabc", "waitForTask", { task: "abc", kind: "jupyter-lab", name: "a name", pool: "default", url: "/wait/abc" }],
    ["/det/wait/notebook/abc", "waitForTask", { kind: "notebook", task: "abc" }],
  ]) assert.deepEqual(route(path), { name, params }, path);
});
