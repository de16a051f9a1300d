// Which users a list shows; who holds which role, from the forms of the wire. Pure.

/** @typedef {import("../wire").v1User} User */
/** @typedef {{roleId: number, role: string, workspaceId: number | null, userId: number | null, groupId: number | null}} Held a role that somebody holds somewhere */

/** @param {readonly User[]} users @param {{text: string, inactive: boolean}} asked */
export function shownUsers(users, { text, inactive }) {
  const part = text.trim().toLowerCase();
  return users.filter((one) => (inactive || one.active) && (!part || one.username.toLowerCase().includes(part) || (one.displayName ?? "").toLowerCase().includes(part))).sort((a, b) => a.username.localeCompare(b.username));
}

/** @param {readonly import("../wire").v1RoleWithAssignments[]} told @returns {Held[]} */
export const heldIn = (told) => told.flatMap(({ role, userRoleAssignments, groupRoleAssignments }) => {
  const one = { roleId: role?.roleId ?? 0, role: role?.name ?? "" };
  return [
    ...(userRoleAssignments ?? []).map((held) => ({ ...one, workspaceId: held.roleAssignment.scopeWorkspaceId ?? null, userId: held.userId, groupId: null })),
    ...(groupRoleAssignments ?? []).map((held) => ({ ...one, workspaceId: held.roleAssignment.scopeWorkspaceId ?? null, userId: null, groupId: held.groupId })),
  ];
});

/** @param {import("../wire").v1GetRolesAssignedToGroupResponse} told @param {number} groupId @returns {Held[]} */
export const heldByGroup = (told, groupId) => told.assignments.flatMap(({ roleId, scopeCluster, scopeWorkspaceIds }) => {
  const one = { roleId, role: told.roles.find((role) => role.roleId === roleId)?.name ?? "", userId: null, groupId };
  return [...(scopeCluster ? [{ ...one, workspaceId: null }] : []), ...(scopeWorkspaceIds ?? []).map((workspaceId) => ({ ...one, workspaceId }))];
});

/** What is sent to give or to take a role. @param {Omit<Held, "role">} held */
export function assignmentOf({ roleId, workspaceId, userId, groupId }) {
  const roleAssignment = { role: { roleId }, ...(workspaceId ? { scopeWorkspaceId: workspaceId } : { scopeCluster: true }) };
  return userId === null ? { userRoleAssignments: [], groupRoleAssignments: [{ groupId: groupId ?? 0, roleAssignment }] } : { userRoleAssignments: [{ userId, roleAssignment }], groupRoleAssignments: [] };
}
