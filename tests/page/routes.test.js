import assert from "node:assert/strict";
import { test } from "node:test";
import { ownAddress, route } from "../../services/api/resolute/api/web/page/app/core/routes.js";

test("links that are printed elsewhere resolve", () => {
  for (const [path, name, params] of [
    ["/det", "home", {}],
    ["/det/", "home", {}],
    ["/det/dashboard", "home", {}],
    ["/det/experiments/7", "experiment", { experiment: "7" }],
    ["/det/experiments/7/overview", "experiment", { experiment: "7", tab: "overview" }],
    ["/det/searches/7/runs", "experiment", { experiment: "7", tab: "runs" }],
    ["/det/experiments/7/trials/9/logs", "trial", { experiment: "7", trial: "9", tab: "logs" }],
    ["/det/trials/9", "trial", { trial: "9" }],
    ["/det/workspaces/1/projects", "workspace", { workspace: "1", tab: "projects" }],
    ["/det/workspaces", "workspaces", {}],
    ["/det/admin/user-management", "admin", { tab: "user-management" }],
    ["/det/webhooks", "webhooks", {}],
    ["/det/models/digits%20net", "model", { model: "digits net" }],
    ["/det/models/3/versions/2/notes", "modelVersion", { model: "3", version: "2", tab: "notes" }],
    ["/det/projects/3", "project", { project: "3" }],
    ["/det/resourcepool/gpu%2Fa", "cluster", { pool: "gpu/a" }],
    ["/det/login", "signIn", {}],
    ["/det/settings", "account", {}],
  ]) assert.deepEqual(route(path), { name, params }, path);
});

test("an address of nothing is missing", () => {
  for (const path of ["/det/experiments/x", "/det/experiments/0", "/det/experiments/1/2/3/4/5", "/det/%zz", "/det/trials/-1"]) assert.equal(route(path).name, "missing", path);
});

test("after signing in the page goes to its own addresses only", () => {
  assert.equal(ownAddress("/det/experiments/3?q=x"), "/det/experiments/3?q=x");
  assert.equal(ownAddress("/proxy/abc/"), "/proxy/abc/");
  for (const foreign of ["https://example.org", "//example.org", "/\\example.org", "/det//example.org", "javascript:alert(1)", "/detour", "", null]) assert.equal(ownAddress(foreign), "/det/", String(foreign));
});
