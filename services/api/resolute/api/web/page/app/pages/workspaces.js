// Workspaces, and one workspace with its projects.
import { html, useEffect } from "../core/dom.js";
import { change, get } from "../core/client.js";
import { useLoaded } from "../core/load.js";
import { shown } from "../core/places.js";
import { go, here } from "../core/place.js";
import { useFollowing } from "../live/again.js";
import { placesAmong, projectsOf, workspaces } from "../state/places.js";
import { mayOwner } from "../state/rights.js";
import { master, user } from "../state/session.js";
import { attempt, fill } from "../components/forms.js";
import { Holdings } from "../components/holdings.js";
import { Listing } from "../components/listing.js";
import { PlaceBar, wantedPlaces } from "../components/place_bar.js";
import { Policies } from "../components/policies.js";
import { Templates } from "../components/templates.js";
import { Ago, Busy, Button, Empty, Failed, Message, Tabs } from "../components/parts.js";
import { Models } from "./models.js";

/** @typedef {import("../wire").v1Workspace} Workspace */
/** @typedef {import("../wire").v1Project} Project */

const creates = () => !master.value?.rbacEnabled || Boolean(user.value?.admin) || mayOwner("CREATE_WORKSPACE", { ownerIds: [] });

/** What may be done to either of the two; `again` reads what is shown once more. */
/** @param {Workspace} one @param {() => void} again */
export function pin(one, again) {
  return attempt(() => change("POST", `/api/v1/workspaces/${one.id}/${one.pinned ? "unpin" : "pin"}`), undefined).then(again);
}

/** @param {"workspaces" | "projects"} kind @param {{id: number, name: string, archived: boolean}} one @param {() => void} again @returns {Promise<void>} */
export async function archive(kind, one, again) {
  const turn = (/** @type {boolean} */ back) => change("POST", `/api/v1/${kind}/${one.id}/${one.archived === back ? "archive" : "unarchive"}`);
  await attempt(() => turn(false), `${one.name} is ${one.archived ? "no longer archived" : "archived"}`, { undo: () => void attempt(() => turn(true)).then(again) });
  again();
}

/** Asks for the name, because nothing brings back what is in it. @param {"workspaces" | "projects"} kind @param {{id: number, name: string}} one @param {string} to */
export const remove = (kind, one, to) => fill({
  title: `Delete ${one.name}?`,
  text: "Its experiments are deleted for good, with their checkpoints, metrics and logs.",
  action: "Delete for good",
  fields: [{ key: "name", label: `Type its name: ${one.name}` }],
  save: async ({ name }) => {
    if (name !== one.name) throw new Error(`This is not its name. Expected: ${one.name}`);
    await change("DELETE", `/api/v1/${kind}/${one.id}`);
    go(to, { replace: true });
  },
  done: `${one.name} is being deleted`,
});

/** @param {() => void} again */
const createWorkspace = (again) => fill({
  title: "New workspace",
  action: "Create workspace",
  fields: [{ key: "name", label: "Name", hint: "No two workspaces have the same." }],
  save: async ({ name }) => {
    const { workspace } = await change("POST", "/api/v1/workspaces", { name });
    again();
    go(`/det/workspaces/${workspace.id}`);
  },
});

export function Workspaces() {
  const { value, error, again } = useLoaded(workspaces, []);
  useEffect(() => {
    document.title = "Workspaces · Resolute";
  }, []);
  const rows = shown(value ?? [], wantedPlaces());
  return html`<div class="row apart"><h1>Workspaces</h1>${creates() ? html`<${Button} kind="main-action" onClick=${() => createWorkspace(again)}>New workspace<//>` : null}</div>
    <${PlaceBar} what="workspaces" />${error ? html`<${Failed} error=${error} retry=${again} />` : null}
    ${!value ? error ? null : html`<${Busy} what="Reading workspaces" />` : rows.length ? html`<${Listing} label="Workspaces" heads=${[["Pinned", "only-read"], "Name", "Owner", ["Projects", "number"], ["Experiments", "number"], ["Actions", "only-read"]]}>${rows.map((one) => html`<tr key=${one.id}>
      <td><${Button} kind="quiet" pressed=${one.pinned} label=${`${one.pinned ? "Unpin" : "Pin"} ${one.name}`} onClick=${() => void pin(one, again)}>${one.pinned ? "★" : "☆"}<//></td><td class="wrap"><a href=${`/det/workspaces/${one.id}`}>${one.name}</a>${going(one)}</td><td>${one.username}</td><td class="number">${one.numProjects}</td><td class="number">${one.numExperiments}</td>
      <td>${changes(one) ? html`<${Button} label=${`${one.archived ? "Unarchive" : "Archive"} ${one.name}`} onClick=${() => void archive("workspaces", one, again)}>${one.archived ? "Unarchive" : "Archive"}<//>` : null}</td></tr>`)}<//>`
      : html`<${Empty} title="No workspace fits" command="det workspace create NAME">A workspace holds projects, models and templates of a team. Archived ones are shown only when asked for.<//>`}`;
}

/** @param {Workspace} one */
const changes = (one) => !one.immutable && mayOwner("UPDATE_WORKSPACE", { ownerIds: [one.userId], workspaceId: one.id });

/** Where a deletion stands. @param {Workspace | Project} one */
export const going = (one) => (one.state === "WORKSPACE_STATE_DELETING" ? html` <span class="label">being deleted</span>` : one.state === "WORKSPACE_STATE_DELETE_FAILED" ? html` <span class="label" title=${one.errorMessage}>deletion failed</span>` : null);

/** @type {readonly (readonly [string, string])[]} */
const TABS = [["projects", "Projects"], ["models", "Models"], ["members", "Members"], ["templates", "Templates"], ["policies", "Policies"]];

export function OneWorkspace() {
  const id = Number(here.value.params.workspace);
  const { value, error, again } = useLoaded(async (aborted) => {
    const [told, projects] = await Promise.all([/** @type {Promise<import("../wire").v1GetWorkspaceResponse>} */ (get(`/api/v1/workspaces/${id}`, {}, aborted)), projectsOf(id, aborted)]);
    return { workspace: told.workspace, projects };
  }, [id]);
  useFollowing(again, { projects: { workspace_ids: [id] } }, [id]);
  useEffect(() => {
    document.title = `${value?.workspace.name ?? "Workspace"} · Resolute`;
  }, [value?.workspace.name]);
  if (!value) return error ? html`<${Failed} heading=${`Workspace ${id}`} error=${error} retry=${again} />` : html`<h1>Workspace ${id}</h1><${Busy} what="Reading it" />`;
  const { workspace, projects } = value;
  const tab = TABS.some(([key]) => key === here.value.params.tab) ? here.value.params.tab : "projects";
  const edit = () => fill({
    title: `Edit ${workspace.name}`,
    action: "Save",
    fields: [
      { key: "name", label: "Name", value: workspace.name },
      { key: "defaultComputePool", label: "Pool of new experiments", value: workspace.defaultComputePool ?? "", hint: "Used where a configuration names none. Empty: the pool of the cluster." },
      { key: "defaultAuxPool", label: "Pool of new notebooks and commands without slots", value: workspace.defaultAuxPool ?? "" },
    ],
    save: async (values) => { await change("PATCH", `/api/v1/workspaces/${id}`, values); again(); },
    done: "Workspace saved",
  });
  return html`<div class="page-head"><nav class="crumbs" aria-label="Where this is"><a href="/det/workspaces">Workspaces</a></nav>
      <div class="row apart"><h1>${workspace.name}</h1><div class="row"><${Button} pressed=${workspace.pinned} onClick=${() => void pin(workspace, again)}>${workspace.pinned ? "★ Pinned" : "☆ Pin"}<//>
        ${changes(workspace) ? html`${workspace.archived ? null : html`<${Button} onClick=${edit}>Edit<//>`}<${Button} onClick=${() => void archive("workspaces", workspace, again)}>${workspace.archived ? "Unarchive" : "Archive"}<//>` : null}
        ${!workspace.immutable && mayOwner("DELETE_WORKSPACE", { ownerIds: [workspace.userId], workspaceId: id }) ? html`<${Button} kind="danger" onClick=${() => remove("workspaces", workspace, "/det/workspaces")}>Delete<//>` : null}</div></div>
      <div class="row">${workspace.archived ? html`<span class="label">archived</span>` : null}${going(workspace)}<span class="muted">of ${workspace.username}; ${workspace.numExperiments} ${workspace.numExperiments === 1 ? "experiment" : "experiments"}</span></div></div>
    ${workspace.errorMessage ? html`<${Message} tone="bad">${workspace.errorMessage}<//>` : null}
    ${error ? html`<${Failed} error=${error} retry=${again} />` : null}
    <${Tabs} label="About this workspace" at=${tab} tabs=${TABS.map(([key, text]) => [key, key === "projects" ? `${text} ${projects.length}` : text, `/det/workspaces/${id}/${key}`])} />
    ${tab === "projects" ? html`<${Projects} workspace=${workspace} projects=${projects} again=${again} />` : null}
    ${tab === "models" ? html`<${Models} within=${workspace} />` : null}
    ${tab === "members" ? html`<${Holdings} workspaceId=${id} />` : null}
    ${tab === "templates" ? html`<${Templates} workspace=${workspace} />` : null}
    ${tab === "policies" ? html`<${Policies} workspace=${workspace} />` : null}`;
}

/** @param {{workspace: Workspace, projects: Project[], again: () => void}} props */
function Projects({ workspace, projects, again }) {
  const rows = shown(projects, wantedPlaces());
  const create = () => fill({
    title: `New project in ${workspace.name}`,
    action: "Create project",
    fields: [{ key: "name", label: "Name" }, { key: "description", label: "Description" }],
    save: async ({ name, description }) => {
      const { project } = await change("POST", `/api/v1/workspaces/${workspace.id}/projects`, { workspaceId: workspace.id, name, description });
      go(`/det/projects/${project.id}`);
    },
  });
  const creates = !workspace.archived && !workspace.immutable && (!master.value?.rbacEnabled || mayOwner("CREATE_PROJECT", { ownerIds: [], workspaceId: workspace.id }));
  return html`<${PlaceBar} what="projects">${creates ? html`<${Button} kind="main-action" onClick=${create}>New project<//>` : null}<//>
    ${rows.length ? html`<${Listing} label="Projects" heads=${["Name", "Description", "Owner", ["Experiments", "number"], ["Active", "number"], "Last started", ["Actions", "only-read"]]}>${rows.map((one) => html`<tr key=${one.id}><td class="wrap"><a href=${`/det/projects/${one.id}`}>${one.name}</a>${going(one)}</td><td class="wrap">${one.description}</td><td>${one.username}</td><td class="number">${one.numExperiments}</td><td class="number">${one.numActiveExperiments}</td><td><${Ago} at=${one.lastExperimentStartedAt} /></td>
      <td>${changesProject(one) ? html`<${Button} label=${`${one.archived ? "Unarchive" : "Archive"} ${one.name}`} onClick=${() => void archive("projects", one, again)}>${one.archived ? "Unarchive" : "Archive"}<//>` : null}</td></tr>`)}<//>`
      : html`<${Empty} title="No project fits" command=${`det project create ${JSON.stringify(workspace.name)} NAME`}>A project holds experiments that belong together, with notes about them. Archived ones are shown only when asked for.<//>`}`;
}

/** @param {Project} one */
export const changesProject = (one) => !one.immutable && mayOwner("UPDATE_PROJECT", { ownerIds: [one.userId], workspaceId: one.workspaceId });

/** @param {Project} project @param {() => void} again */
export const moveProject = (project, again) => attempt(async () => {
  const options = placesAmong(await workspaces(), project.workspaceId);
  if (!options.length) throw new Error("There is no other workspace that it could move to. Create one first.");
  fill({
    title: `Move ${project.name}`,
    action: "Move project",
    fields: [{ key: "to", label: "To the workspace", kind: "select", options }],
    save: async ({ to }) => { await change("POST", `/api/v1/projects/${project.id}/move`, { projectId: project.id, destinationWorkspaceId: Number(to) }); again(); },
    done: `${project.name} is moved`,
  });
});
