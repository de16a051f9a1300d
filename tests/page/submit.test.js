import assert from "node:assert/strict";
import { test } from "node:test";
import { base64, CONTEXT_BYTES_MOST, filesOf, isSent, listed, pathOf, textOf } from "../../services/api/resolute/api/web/page/app/core/context.js";
import { fromTrial, hidesSecrets } from "../../services/api/resolute/api/web/page/app/core/forks.js";
import { yaml } from "../../services/api/resolute/api/web/page/app/core/format.js";
import { route } from "../../services/api/resolute/api/web/page/app/core/routes.js";
import { configOf } from "../../services/api/resolute/api/web/page/app/core/yaml.js";

test("what is shown as YAML reads as the same", () => {
  const config = { name: "a: b # c", on: "yes", no: null, deep: { list: [1, [2, 3], { a: "x\ny", b: [] }, {}], empty: {}, number: "1e3", date: "2026-01-31", tilde: "~" }, text: "שלום 🚀 \"quoted\"", dash: "- x", bool: true, float: 0.001, "odd key:": 1 };
  assert.deepEqual(configOf(yaml(config), "it"), config);
});

test("a fork of a trial has its hyperparameters, and begins from it", () => {
  const config = { name: "search", hyperparameters: { lr: { type: "log", minval: -4, maxval: -1, base: 10 } }, searcher: { name: "random", metric: "loss", smaller_is_better: false, max_trials: 7 }, max_restarts: 2 };
  assert.deepEqual(configOf(fromTrial(config, { id: 9, hparams: { lr: 0.01, net: { depth: 3 } } }), "it"), { name: "search from trial 9", hyperparameters: { lr: 0.01, net: { depth: 3 } }, searcher: { name: "single", metric: "loss", smaller_is_better: false, source_trial_id: 9 }, max_restarts: 2 });
  assert.equal(hidesSecrets("password: ********"), true);
});

test("a folder is sent without byte code and repositories, and not when it is too large", () => {
  assert.equal(pathOf({ name: "train.py", webkitRelativePath: "code/net/train.py" }), "net/train.py");
  for (const path of [".git/HEAD", "a/__pycache__/b.py", "a.pyc", ".idea/x"]) assert.equal(isSent(path), false, path);
  for (const path of ["train.py", "gitlike/a", ".detignore"]) assert.equal(isSent(path), true, path);
  assert.deepEqual(filesOf([{ path: "a.py", content: new TextEncoder().encode("hi"), modified: 5000 }]), [{ path: "a.py", content: "aGk=", type: 48, mode: 0o644, mtime: "5", uid: 0, gid: 0 }]);
  assert.throws(() => filesOf([{ path: "data", content: new Uint8Array(CONTEXT_BYTES_MOST + 1), modified: 0 }]), /99,614,721 bytes/);
  assert.equal(base64(new Uint8Array(100_000).fill(255)), Buffer.alloc(100_000, 255).toString("base64"));
});

test("a tree of files is a list with folders first, and what is no text is not shown", () => {
  const tree = [{ path: "b.py", name: "b.py", contentLength: 3 }, { path: "a", name: "a", isDir: true, files: [{ path: "a/c.py", name: "c.py", contentLength: 4 }] }];
  assert.deepEqual(listed(tree).map((one) => [one.path, one.depth, one.folder]), [["a", 0, true], ["a/c.py", 1, false], ["b.py", 0, false]]);
  assert.equal(textOf(new TextEncoder().encode("שלום")), "שלום");
  assert.equal(textOf(new Uint8Array([0, 1])), null);
  assert.equal(textOf(new Uint8Array([255])), null);
});

test("addresses of forms", () => {
  assert.equal(route("/det/experiments/new").name, "submit");
  assert.deepEqual(route("/det/experiments/7/trials/9/fork"), { name: "submit", params: { experiment: "7", trial: "9" } });
  assert.deepEqual(route("/det/experiments/7/continue"), { name: "continueExperiment", params: { experiment: "7" } });
});
