// Administration: users, groups, roles, the cluster's message; and what is shared: webhooks, templates, policies.
import { html, useEffect } from "../core/dom.js";
import { change, get } from "../core/client.js";
import { useLoaded } from "../core/load.js";
import { lacks } from "../core/passwords.js";
import { shownUsers } from "../core/people.js";
import { ask, go, here, query } from "../core/place.js";
import { inWords } from "../core/rights.js";
import { changedOf } from "../core/typed.js";
import { groups, roles, users } from "../state/people.js";
import { administers, may } from "../state/rights.js";
import { user } from "../state/session.js";
import { attempt, fill, Form } from "../components/forms.js";
import { Holdings } from "../components/holdings.js";
import { Listing } from "../components/listing.js";
import { Policies } from "../components/policies.js";
import { Templates } from "../components/templates.js";
import { Webhooks } from "../components/webhooks.js";
import { Ago, Busy, Button, confirm, Empty, Failed, Message, Tabs, toast } from "../components/parts.js";

/** @typedef {import("../wire").v1User} User */

/** Key, name, address, and whether it is for everybody. @type {readonly (readonly [string, string, string, boolean])[]} */
const TABS = [
  ["users", "Users", "/det/admin/user-management", false],
  ["groups", "Groups", "/det/admin/group-management", false],
  ["roles", "Roles", "/det/admin/roles", false],
  ["message", "Message", "/det/admin/message", false],
  ["templates", "Templates", "/det/templates", true],
  ["webhooks", "Webhooks", "/det/webhooks", true],
  ["policies", "Policies", "/det/policies", true],
];

export function Admin() {
  const { name, params } = here.value;
  const tab = name === "admin" ? (TABS.find(([, , address]) => address.endsWith(`/${params.tab}`))?.[0] ?? "users") : name;
  const known = TABS.find(([key]) => key === tab);
  useEffect(() => {
    document.title = `${known?.[1] ?? "Administration"} · Resolute`;
  }, [tab]);
  const all = administers();
  return html`<h1>${all ? "Administration" : "Shared"}</h1>
    <${Tabs} label="What is administered" at=${tab} tabs=${TABS.filter(([, , , everybody]) => all || everybody).map(([key, text, address]) => [key, text, address])} />
    ${!all && !known?.[3] ? html`<${Empty} title="This is for administrators">Ask an administrator of the cluster to add users and groups, or to give you a role that permits it.<//>`
      : tab === "users" ? html`<${Users} />` : tab === "groups" ? html`<${Groups} />` : tab === "roles" ? html`<${Roles} />` : tab === "message" ? html`<${ClusterMessage} />` : tab === "templates" ? html`<${Templates} />` : tab === "webhooks" ? html`<${Webhooks} />` : html`<${Policies} />`}`;
}

// ---------------------------------------------------------------- users

/** Throws where a new password is weak. @param {string} password */
function strong(password) {
  const missing = lacks(password);
  if (missing.length) throw new Error(`A password needs ${missing.join(", ")}.`);
}
const PASSWORD_HINT = "8 characters or more, with capital letters, small letters and digits.";

function Users() {
  const { value, error, again } = useLoaded(users, []);
  if (!value) return error ? html`<${Failed} error=${error} retry=${again} />` : html`<${Busy} what="Reading users" />`;
  const at = query.value;
  const text = at.get("q") ?? "";
  const inactive = at.has("inactive");
  const rows = shownUsers(value, { text, inactive });
  const open = value.find((one) => String(one.id) === at.get("user"));
  const create = () => fill({
    title: "New user",
    action: "Add user",
    fields: [
      { key: "username", label: "User name" },
      { key: "displayName", label: "Display name" },
      { key: "password", label: "Password", kind: "password", autocomplete: "new-password", hint: `${PASSWORD_HINT} The user can change it.` },
      { key: "admin", label: "Administrator", kind: "check" },
      { key: "remote", label: "Signs in through another system, without a password here", kind: "check" },
    ],
    save: async ({ password, ...values }) => {
      if (!values.remote) strong(password);
      await change("POST", "/api/v1/users", { user: { ...values, active: true }, password: values.remote ? "" : password, isHashed: false });
      again();
    },
    done: "User added",
  });
  const edit = (/** @type {User} */ one) => fill({
    title: `Edit ${one.username}`,
    action: "Save",
    fields: [
      { key: "username", label: "User name", value: one.username },
      { key: "displayName", label: "Display name", value: one.displayName ?? "" },
      { key: "admin", label: "Administrator", kind: "check", value: one.admin },
      { key: "agentUser", label: "User on agents", value: one.agentUserGroup?.agentUser ?? "", hint: "As whom tasks of this user run on agents. Empty: as the cluster says. All four go together." },
      { key: "agentUid", label: "Number of that user", value: String(one.agentUserGroup?.agentUid ?? "") },
      { key: "agentGroup", label: "Group on agents", value: one.agentUserGroup?.agentGroup ?? "" },
      { key: "agentGid", label: "Number of that group", value: String(one.agentUserGroup?.agentGid ?? "") },
    ],
    save: async ({ agentUser, agentUid, agentGroup, agentGid, ...values }) => {
      const on = agentUser || agentGroup || agentUid || agentGid;
      await change("PATCH", `/api/v1/users/${one.id}`, { ...changedOf(values, { ...one }), ...(on ? { agentUserGroup: { agentUser, agentUid: Number(agentUid), agentGroup, agentGid: Number(agentGid) } } : {}) });
      again();
    },
    done: "User saved",
  });
  const renew = (/** @type {User} */ one) => fill({
    title: `New password for ${one.username}`,
    text: "All sessions of the user end.",
    action: "Set password",
    fields: [{ key: "password", label: "New password", kind: "password", autocomplete: "new-password", hint: PASSWORD_HINT }],
    save: async ({ password }) => { strong(password); await change("PATCH", `/api/v1/users/${one.id}`, { password, isHashed: false }); },
    done: `${one.username} has a new password`,
  });
  const turn = (/** @type {User} */ one) => attempt(() => change("PATCH", `/api/v1/users/${one.id}`, { active: !one.active }), `${one.username} is ${one.active ? "deactivated" : "active again"}`).then(again);
  const deactivate = (/** @type {User} */ one) => confirm({ title: `Deactivate ${one.username}?`, text: "The user cannot sign in any more. What belongs to the user stays. This can be taken back.", action: "Deactivate user", run: async () => { await turn(one); } });
  const edits = may("ADMINISTRATE_USER");
  return html`<div class="bar" role="search"><label class="only-read" for="find-users">Find users</label><input id="find-users" class="input grow" type="search" autocomplete="off" spellcheck="false" placeholder="a part of a name" value=${text} onInput=${(/** @type {any} */ event) => ask({ q: event.target.value })} />
      <label class="check"><input type="checkbox" checked=${inactive} onChange=${() => ask({ inactive: !inactive })} />Also deactivated ones</label>${edits ? html`<${Button} kind="main-action" onClick=${create}>New user<//>` : null}</div>
    ${error ? html`<${Failed} error=${error} retry=${again} />` : null}
    <${Listing} label="Users" heads=${["User name", "Display name", "Kind", "Last signed in", "Changed", ["Actions", "only-read"]]}>${rows.map((one) => html`<tr key=${one.id}><td class="wrap">${one.username}${one.active ? null : html` <span class="label">deactivated</span>`}</td><td class="wrap">${one.displayName}</td><td>${one.admin ? "administrator" : "user"}${one.remote ? ", remote" : ""}</td><td>${one.lastAuthAt ? html`<${Ago} at=${one.lastAuthAt} />` : "never"}</td><td><${Ago} at=${one.modifiedAt} /></td>
      <td><span class="row"><${Button} pressed=${open === one} label=${`Roles of ${one.username}`} onClick=${() => ask({ user: open === one ? "" : Number(one.id) })}>Roles<//>${edits ? html`<${Button} label=${`Edit ${one.username}`} onClick=${() => edit(one)}>Edit<//>${one.remote ? null : html`<${Button} label=${`New password for ${one.username}`} onClick=${() => renew(one)}>Password<//>`}${one.id === user.value?.id ? null : one.active ? html`<${Button} kind="danger" label=${`Deactivate ${one.username}`} onClick=${() => deactivate(one)}>Deactivate<//>` : html`<${Button} label=${`Activate ${one.username}`} onClick=${() => void turn(one)}>Activate<//>`}` : null}</span></td></tr>`)}<//>
    ${open ? html`<section class="card stack" key=${open.id}><h2>Roles of ${open.username}</h2><${Holdings} userId=${Number(open.id)} /></section>` : null}`;
}

// ---------------------------------------------------------------- groups

function Groups() {
  const { value, error, again } = useLoaded(groups, []);
  if (!value) return error ? html`<${Failed} error=${error} retry=${again} />` : html`<${Busy} what="Reading groups" />`;
  const edits = may("UPDATE_GROUP");
  const chosen = query.value.get("group");
  const create = () => fill({
    title: "New group",
    action: "Add group",
    fields: [{ key: "name", label: "Name", hint: "No two groups have the same." }],
    save: async ({ name }) => { const { group } = await change("POST", "/api/v1/groups", { name }); again(); ask({ group: group.groupId }); },
    done: "Group added",
  });
  return html`${edits ? html`<div class="row"><${Button} kind="main-action" onClick=${create}>New group<//></div>` : null}
    ${error ? html`<${Failed} error=${error} retry=${again} />` : null}
    ${value.length ? html`<${Listing} label="Groups" heads=${["Name", ["Members", "number"], ["Actions", "only-read"]]}>${value.map(({ group, numMembers }) => html`<tr key=${group?.groupId}><td class="wrap">${group?.name}</td><td class="number">${numMembers}</td><td><${Button} pressed=${chosen === String(group?.groupId)} label=${`Open ${group?.name}`} onClick=${() => ask({ group: chosen === String(group?.groupId) ? "" : (group?.groupId ?? "") })}>Open<//></td></tr>`)}<//>`
      : html`<${Empty} title="No groups yet" command="det user-group create NAME">A group has users as members, and they hold what roles the group holds.<//>`}
    ${value.some(({ group }) => String(group?.groupId) === chosen) ? html`<${Group} key=${chosen} id=${Number(chosen)} edits=${edits} changed=${again} />` : null}`;
}

/** @param {{id: number, edits: boolean, changed: () => void}} props */
function Group({ id, edits, changed }) {
  const { value, error, again } = useLoaded(async (aborted) => {
    const [told, all] = await Promise.all([/** @type {Promise<import("../wire").v1GetGroupResponse>} */ (get(`/api/v1/groups/${id}`, {}, aborted)), users(aborted)]);
    return { group: told.group, all };
  }, [id]);
  const group = value?.group;
  if (!value || !group) return error ? html`<${Failed} error=${error} retry=${again} />` : html`<${Busy} what="Reading the group" />`;
  const members = group.users ?? [];
  const put = async (/** @type {object} */ body) => { await change("PUT", `/api/v1/groups/${id}`, { groupId: id, ...body }); again(); changed(); };
  const others = value.all.filter((one) => one.active && !members.some((member) => member.id === one.id));
  const add = () => fill({ title: `New member of ${group.name}`, action: "Add member", fields: [{ key: "who", label: "User", kind: "select", options: others.map((one) => [String(one.id), one.username]) }], save: ({ who }) => put({ addUsers: [Number(who)] }) });
  const rename = () => fill({ title: `Rename ${group.name}`, action: "Rename", fields: [{ key: "name", label: "Name", value: group.name }], save: ({ name }) => put({ name }) });
  const drop = () => confirm({ title: `Delete ${group.name}?`, text: "Its members lose the roles that they hold by it.", action: "Delete group", run: async () => { if (await attempt(() => change("DELETE", `/api/v1/groups/${id}`), `${group.name} is deleted`)) go("/det/admin/group-management", { replace: true }); changed(); } });
  return html`<section class="card stack"><div class="row apart"><h2 class="wrap">${group.name}</h2>${edits ? html`<span class="row">${others.length ? html`<${Button} onClick=${add}>Add member<//>` : null}<${Button} onClick=${rename}>Rename<//><${Button} kind="danger" onClick=${drop}>Delete<//></span>` : null}</div>
    ${error ? html`<${Failed} error=${error} retry=${again} />` : null}
    ${members.length ? html`<ul class="list">${members.map((one) => html`<li key=${one.id}><span class="row apart"><span>${one.username} <span class="muted">${one.displayName}</span></span>${edits ? html`<${Button} label=${`Remove ${one.username}`} onClick=${() => void attempt(() => put({ removeUsers: [one.id] }), `${one.username} is no longer a member`)}>Remove<//>` : null}</span></li>`)}</ul>` : html`<p class="muted">No members yet.</p>`}
    <h3>Roles</h3><${Holdings} groupId=${id} /></section>`;
}

// ---------------------------------------------------------------- roles

function Roles() {
  const { value, error, again } = useLoaded(roles, []);
  if (!value) return error ? html`<${Failed} error=${error} retry=${again} />` : html`<${Busy} what="Reading roles" />`;
  return html`<p class="muted">Roles are fixed. <a href="/det/admin/user-management">Users</a> and <a href="/det/admin/group-management">groups</a> hold them on the whole cluster, or on one workspace, whose page lists its members.</p>
    <div class="columns">${value.map((role) => html`<section class="card" key=${role.roleId}><h2>${inWords(role.name)}</h2><p class="small muted">${role.scopeTypeMask?.workspace ? "on the cluster or on a workspace" : "on the cluster"}</p><details><summary>${role.permissions?.length ?? 0} permissions</summary><ul>${(role.permissions ?? []).map((one) => html`<li key=${one.id}>${inWords(one.id)}</li>`)}</ul></details></section>`)}</div>`;
}

// ---------------------------------------------------------------- the cluster's message

function ClusterMessage() {
  const { value, error, again } = useLoaded((aborted) => /** @type {Promise<import("../wire").v1GetClusterMessageResponse>} */ (get("/api/v1/master/cluster_message", {}, aborted)), []);
  if (!value) return error ? html`<${Failed} error=${error} retry=${again} />` : html`<${Busy} what="Reading the message" />`;
  const said = value.clusterMessage;
  const save = async (/** @type {Record<string, any>} */ { message, duration }) => {
    await change("PUT", "/api/v1/master/cluster_message", { message, startTime: new Date().toISOString(), ...(duration ? { duration } : {}) });
    toast("Everybody sees the message when a page is loaded");
    again();
  };
  const clear = () => attempt(() => change("DELETE", "/api/v1/master/cluster_message"), "The message is cleared").then(again);
  return html`<p class="muted">A message stands above every page.</p>${said ? html`<${Message} tone="warn">${said.message}<p class="small">Since <${Ago} at=${said.startTime} />${said.endTime ? `, until ${new Date(said.endTime).toLocaleString()}` : ""}</p><//><div class="row"><${Button} onClick=${() => void clear()}>Clear it<//></div>` : null}
    <section class="card"><h2>New message</h2><${Form} action="Show it" save=${save} fields=${[{ key: "message", label: "Message", hint: "250 characters at most." }, { key: "duration", label: "For", kind: "select", options: [["", "until it is cleared"], ["1h", "an hour"], ["24h", "a day"], ["168h", "a week"]] }]} /></section>`;
}

