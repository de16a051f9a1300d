// Users, groups, roles.
import { change, get } from "../core/client.js";

/** @param {AbortSignal} [aborted] @returns {Promise<import("../wire").v1User[]>} */
export async function users(aborted) {
  const answer = /** @type {import("../wire").v1GetUsersResponse} */ (await get("/api/v1/users", { limit: -1 }, aborted));
  return answer.users ?? [];
}

/** @param {AbortSignal} [aborted] @returns {Promise<import("../wire").v1GroupSearchResult[]>} */
export async function groups(aborted) {
  const limit = 500;
  /** @type {import("../wire").v1GroupSearchResult[]} */
  const found = [];
  for (;;) {
    const answer = /** @type {import("../wire").v1GetGroupsResponse} */ (await change("POST", "/api/v1/groups/search", { limit, offset: found.length }, aborted));
    found.push(...answer.groups);
    if (answer.groups.length < limit) return found;
  }
}

/** @param {AbortSignal} [aborted] @returns {Promise<import("../wire").v1Role[]>} */
export async function roles(aborted) {
  const answer = /** @type {import("../wire").v1ListRolesResponse} */ (await change("POST", "/api/v1/roles/search", { limit: 100 }, aborted));
  return answer.roles;
}
