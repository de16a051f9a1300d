import assert from "node:assert/strict";
import { test } from "node:test";
import { lacks, refused } from "../../services/api/resolute/api/web/page/app/core/passwords.js";
import { allows, allowsOwner, inWords } from "../../services/api/resolute/api/web/page/app/core/rights.js";
import { PLACE, understood, written } from "../../services/api/resolute/api/web/page/app/core/settings.js";

test("a new password has letters of both kinds and digits, and is typed twice alike", () => {
  assert.deepEqual(lacks("Passw0rd"), []);
  assert.deepEqual(lacks(""), ["at least 8 characters", "a capital letter", "a small letter", "a digit"]);
  assert.deepEqual(lacks("Šifra123"), []);
  assert.equal(refused("Passw0rd", "Passw0rd"), "");
  assert.equal(refused("Passw0rd", "Passw0rt"), "The two passwords differ.");
  assert.equal(refused("passw0rd", "passw0rd"), "A password needs a capital letter.");
});

test("settings are read back as they were written, and what is unknown is left out", () => {
  assert.deepEqual(understood(written({ theme: "dark", times: "exact" })), { theme: "dark", times: "exact" });
  const kept = [["theme", PLACE, '"purple"'], ["theme", "elsewhere", '"dark"'], ["times", PLACE, "no JSON"], ["constructor", PLACE, '"x"'], ["times", PLACE, null]].map(([key, storagePath, value]) => ({ key, storagePath, value }));
  assert.deepEqual(understood(kept), {});
});

const role = (roleId, ...ids) => ({ roleId, permissions: ids.map((id) => ({ id: `PERMISSION_TYPE_${id}` })) });

test("without roles administrators may do everything, and owners change what is theirs", () => {
  const admin = { admin: true, id: 1, byRoles: false, summary: null };
  const ada = { ...admin, admin: false, id: 2 };
  assert.ok(allows(admin, "CREATE_TOKEN") && !allows(ada, "CREATE_TOKEN"));
  assert.ok(allowsOwner(ada, "UPDATE_WORKSPACE", { ownerIds: [2] }) && !allowsOwner(ada, "UPDATE_WORKSPACE", { ownerIds: [3, null] }));
});

test("roles hold on the cluster or on a workspace", () => {
  const who = { admin: true, id: 1, byRoles: true, summary: { roles: [role(1, "CREATE_TOKEN"), role(2, "UPDATE_PROJECT")], assignments: [{ roleId: 1, scopeCluster: true }, { roleId: 2, scopeWorkspaceIds: [7] }] } };
  assert.ok(allows(who, "CREATE_TOKEN") && allows(who, "CREATE_TOKEN", 3));
  assert.ok(allows(who, "UPDATE_PROJECT", 7) && !allows(who, "UPDATE_PROJECT", 8) && !allows(who, "UPDATE_PROJECT"));
  assert.ok(!allowsOwner(who, "UPDATE_WORKSPACE", { ownerIds: [1], workspaceId: 7 }));
  assert.ok(!allows({ ...who, summary: null }, "CREATE_TOKEN"));
});

test("names of permissions and roles as words", () => {
  assert.equal(inWords("PERMISSION_TYPE_CREATE_OTHER_TOKEN"), "Create other token");
  assert.equal(inWords("WorkspaceAdmin"), "Workspace admin");
  assert.equal(inWords("GenAIUser"), "Gen AI user");
});
