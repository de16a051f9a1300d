// What somebody may do, as far as the page decides which buttons it shows. The gateway decides about each request. Pure.

/** @typedef {import("../wire").v1GetPermissionsSummaryResponse} Summary */
/** @typedef {{admin: boolean, id: number, byRoles: boolean, summary: Summary | null}} Holder */

/** By roles where the cluster has them; without them administrators may do everything.
 * @param {Holder} who @param {string} permission the name without its prefix @param {number | null} [workspaceId] */
export function allows({ admin, byRoles, summary }, permission, workspaceId) {
  if (!byRoles) return admin;
  const roles = new Set((summary?.roles ?? []).filter((role) => (role.permissions ?? []).some((one) => one.id === `PERMISSION_TYPE_${permission}`)).map((role) => role.roleId));
  return (summary?.assignments ?? []).some((one) => roles.has(one.roleId) && (one.scopeCluster || (workspaceId !== null && workspaceId !== undefined && (one.scopeWorkspaceIds ?? []).includes(workspaceId))));
}

/** As `allows`; without roles the owner of a thing may change it as well.
 * @param {Holder} who @param {string} permission @param {{ownerIds: (number | null | undefined)[], workspaceId?: number | null}} thing */
export const allowsOwner = (who, permission, { ownerIds, workspaceId }) => allows(who, permission, workspaceId) || (!who.byRoles && ownerIds.includes(who.id));

/** Letters for letters: `WorkspaceAdmin` and `CREATE_OTHER_TOKEN` as words. @param {string | null | undefined} name */
export const inWords = (name) => {
  const text = String(name ?? "").replace(/^PERMISSION_TYPE_/, "");
  const words = /^[A-Z_\d]+$/.test(text) ? text.toLowerCase().split("_") : text.replace(/([a-z])([A-Z])|([A-Z])([A-Z][a-z])/g, "$1$3 $2$4").split(" ").map((word) => (/^[A-Z]{2,}$/.test(word) ? word : word.toLowerCase()));
  return words.join(" ").replace(/^./, (letter) => letter.toUpperCase());
};
