import assert from "node:assert/strict";
import { test } from "node:test";
import { assignmentOf, heldByGroup, heldIn, shownUsers } from "../../services/api/resolute/api/web/page/app/core/people.js";
import { changedOf } from "../../services/api/resolute/api/web/page/app/core/typed.js";
import { described, triggersOf } from "../../services/api/resolute/api/web/page/app/core/webhooks.js";

test("deactivated users are shown when asked for, and found by a part of either name", () => {
  const all = [{ username: "grace", displayName: "Admiral", active: true }, { username: "ada", displayName: "", active: true }, { username: "old", active: false }];
  const names = (asked) => shownUsers(all, { text: "", inactive: false, ...asked }).map((one) => one.username);
  assert.deepEqual(names({}), ["ada", "grace"]);
  assert.deepEqual(names({ inactive: true }), ["ada", "grace", "old"]);
  assert.deepEqual(names({ text: "ADMIR" }), ["grace"]);
});

test("roles that are held are read in both forms of the wire, and written as the wire takes them", () => {
  const role = { roleId: 5, name: "Editor" };
  const inUse = heldIn([{ role, userRoleAssignments: [{ userId: 2, roleAssignment: { role, scopeWorkspaceId: 7 } }], groupRoleAssignments: [{ groupId: 3, roleAssignment: { role, scopeCluster: true } }] }]);
  assert.deepEqual(inUse, [{ roleId: 5, role: "Editor", workspaceId: 7, userId: 2, groupId: null }, { roleId: 5, role: "Editor", workspaceId: null, userId: null, groupId: 3 }]);
  assert.deepEqual(heldByGroup({ roles: [role], assignments: [{ roleId: 5, scopeCluster: true, scopeWorkspaceIds: [7] }] }, 3).map((one) => one.workspaceId), [null, 7]);
  assert.deepEqual(assignmentOf(inUse[0]), { userRoleAssignments: [{ userId: 2, roleAssignment: { role: { roleId: 5 }, scopeWorkspaceId: 7 } }], groupRoleAssignments: [] });
  assert.deepEqual(assignmentOf(inUse[1]), { userRoleAssignments: [], groupRoleAssignments: [{ groupId: 3, roleAssignment: { role: { roleId: 5 }, scopeCluster: true } }] });
});

test("only what was changed is sent", () => {
  assert.deepEqual(changedOf({ username: "ada", displayName: "", admin: true }, { username: "ada", displayName: null, admin: false }), { admin: true });
});

test("what a webhook waits for", () => {
  const triggers = triggersOf({ COMPLETED: true, ERROR: false, regex: " Traceback ", custom: true });
  assert.deepEqual(triggers.map(described), ["an experiment becomes COMPLETED", "a line of a log fits Traceback", "training code raises an alert"]);
  assert.throws(() => triggersOf({ regex: "" }), /Choose what the webhook waits for/);
});
