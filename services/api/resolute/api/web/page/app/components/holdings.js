// Who holds which role where: of one user, of one group, or on one workspace.
import { html } from "../core/dom.js";
import { change, get } from "../core/client.js";
import { useLoaded } from "../core/load.js";
import { assignmentOf, heldByGroup, heldIn } from "../core/people.js";
import { inWords } from "../core/rights.js";
import { groups, roles, users } from "../state/people.js";
import { workspaces } from "../state/places.js";
import { may } from "../state/rights.js";
import { master } from "../state/session.js";
import { attempt, fill } from "./forms.js";
import { Listing } from "./listing.js";
import { Busy, Button, confirm, Failed } from "./parts.js";

/** @typedef {import("../core/people.js").Held} Held */
/** @typedef {{userId?: number, groupId?: number, workspaceId?: number}} Whose */

/** @param {Whose} whose @param {AbortSignal} aborted @returns {Promise<Held[]>} */
async function held({ userId, groupId, workspaceId }, aborted) {
  if (workspaceId) return heldIn(/** @type {import("../wire").v1GetGroupsAndUsersAssignedToWorkspaceResponse} */ (await get(`/api/v1/roles/workspace/${workspaceId}`, {}, aborted)).assignments);
  if (groupId) return heldByGroup(await get(`/api/v1/roles/search/by-group/${groupId}`, {}, aborted), groupId);
  return heldIn(/** @type {import("../wire").v1GetRolesAssignedToUserResponse} */ (await get(`/api/v1/roles/search/by-user/${userId}`, {}, aborted)).roles);
}

/** @param {Whose} whose exactly one of them */
export function Holdings(whose) {
  const { userId, groupId, workspaceId } = whose;
  const { value, error, again } = useLoaded(async (aborted) => {
    const [holdings, people, teams, places] = await Promise.all([held(whose, aborted), users(aborted), groups(aborted), workspaces(aborted)]);
    return { holdings, people, teams, places };
  }, [userId, groupId, workspaceId]);
  if (!value) return error ? html`<${Failed} error=${error} retry=${again} />` : html`<${Busy} what="Reading roles" />`;
  const { holdings, people, teams, places } = value;
  const nameOf = (/** @type {Held} */ one) => (one.userId === null ? `group ${teams.find((team) => team.group?.groupId === one.groupId)?.group?.name ?? one.groupId}` : (people.find((person) => person.id === one.userId)?.username ?? `user ${one.userId}`));
  const placeOf = (/** @type {Held} */ one) => (one.workspaceId ? (places.find((place) => place.id === one.workspaceId)?.name ?? `workspace ${one.workspaceId}`) : "the whole cluster");
  const gives = may("ASSIGN_ROLES", workspaceId);
  const give = () => attempt(async () => {
    const offered = (await roles()).filter((role) => !workspaceId || role.scopeTypeMask?.workspace);
    const who = [...teams.map((team) => /** @type {[string, string]} */ ([`g${team.group?.groupId}`, `group ${team.group?.name}`])), ...people.filter((one) => one.active).map((one) => /** @type {[string, string]} */ ([`u${one.id}`, one.username]))];
    fill({
      title: "Assign a role",
      action: "Assign",
      fields: [
        ...(workspaceId ? [{ key: "who", label: "To", kind: /** @type {"select"} */ ("select"), options: who }] : []),
        { key: "role", label: "Role", kind: "select", options: offered.map((role) => /** @type {[string, string]} */ ([String(role.roleId), inWords(role.name)])) },
        ...(workspaceId ? [] : [{ key: "where", label: "On", kind: /** @type {"select"} */ ("select"), options: /** @type {[string, string][]} */ ([["", "the whole cluster"], ...places.filter((place) => !place.archived).map((place) => [String(place.id), `workspace ${place.name}`])]) }]),
      ],
      save: async ({ who: to, role, where }) => {
        const user = to ? (to.startsWith("u") ? Number(to.slice(1)) : null) : (userId ?? null);
        const group = to ? (to.startsWith("g") ? Number(to.slice(1)) : null) : (groupId ?? null);
        await change("POST", "/api/v1/roles/add-assignments", assignmentOf({ roleId: Number(role), workspaceId: workspaceId ?? (Number(where) || null), userId: user, groupId: group }));
        again();
      },
      done: "Role assigned",
    });
  });
  const take = (/** @type {Held} */ one) => confirm({
    title: `Take away ${inWords(one.role)}?`,
    text: `${nameOf(one)} loses what this role permits on ${placeOf(one)}.`,
    action: "Take the role away",
    run: async () => { await attempt(() => change("POST", "/api/v1/roles/remove-assignments", assignmentOf(one)), "Role taken away"); again(); },
  });
  return html`${master.value?.rbacEnabled ? null : html`<p class="small muted">This cluster goes by administrators and owners. Roles are kept, and count when the master's configuration has <code>security.authz.type: rbac</code>.</p>`}
    ${gives ? html`<div class="row"><${Button} onClick=${() => void give()}>Assign a role<//></div>` : null}
    ${holdings.length ? html`<${Listing} label="Roles that are held" heads=${["Role", "Holder", "On", ["Actions", "only-read"]]}>${holdings.map((one) => html`<tr key=${`${one.roleId} ${one.workspaceId} ${one.userId} ${one.groupId}`}><td>${inWords(one.role)}</td><td>${nameOf(one)}</td><td>${placeOf(one)}</td><td>${gives && (!userId || one.userId === userId) ? html`<${Button} kind="danger" label=${`Take away ${inWords(one.role)} from ${nameOf(one)}`} onClick=${() => take(one)}>Take away<//>` : null}</td></tr>`)}<//>` : html`<p class="muted">No roles are held here.</p>`}`;
}
