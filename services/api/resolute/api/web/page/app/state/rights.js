// What whoever is signed in may do: which buttons a page shows.
import { get } from "../core/client.js";
import { signal } from "../core/dom.js";
import { allows, allowsOwner } from "../core/rights.js";
import { master, user } from "./session.js";

const summary = signal(/** @type {import("../wire").v1GetPermissionsSummaryResponse | null} */ (null));
/** Of whom it was read. */
let whose = 0;

/** Reads the roles, where the cluster has them and they were not read yet. */
export async function learn() {
  const id = user.value?.id ?? 0;
  if (!master.value?.rbacEnabled || whose === id) return;
  whose = id;
  summary.value = null;
  try {
    summary.value = await get("/api/v1/permissions/summary");
  } catch {
    whose = 0;
  }
}

const holder = () => ({ admin: Boolean(user.value?.admin), id: user.value?.id ?? 0, byRoles: Boolean(master.value?.rbacEnabled), summary: summary.value });

/** @param {string} permission @param {number | null} [workspaceId] */
export const may = (permission, workspaceId) => allows(holder(), permission, workspaceId);
/** Whether there is anything that only those see who administer. */
export const administers = () => ["ADMINISTRATE_USER", "UPDATE_GROUP", "ASSIGN_ROLES"].some((permission) => may(permission));
/** @param {string} permission @param {{ownerIds: (number | null | undefined)[], workspaceId?: number | null}} thing */
export const mayOwner = (permission, thing) => allowsOwner(holder(), permission, thing);
