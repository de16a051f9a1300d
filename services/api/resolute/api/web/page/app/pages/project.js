// One project: its experiments, and notes about them.
import { html, useEffect } from "../core/dom.js";
import { change, get } from "../core/client.js";
import { useLoaded } from "../core/load.js";
import { withNote } from "../core/places.js";
import { here } from "../core/place.js";
import { useFollowing } from "../live/again.js";
import { mayOwner } from "../state/rights.js";
import { attempt, fill } from "../components/forms.js";
import { Busy, Button, confirm, Empty, Failed, Message, Tabs } from "../components/parts.js";
import { Experiments } from "./experiments.js";
import { archive, changesProject, going, moveProject, remove } from "./workspaces.js";

/** @typedef {import("../wire").v1Project} Told */
/** @typedef {import("../wire").v1Note} Note */

export function Project() {
  const id = Number(here.value.params.project);
  const tab = here.value.params.tab === "notes" ? "notes" : "experiments";
  const { value: project, error, again } = useLoaded(async (aborted) => /** @type {import("../wire").v1GetProjectResponse} */ (await get(`/api/v1/projects/${id}`, {}, aborted)).project, [id]);
  useFollowing(again, { projects: { project_ids: [id] } }, [id]);
  useEffect(() => {
    document.title = `${project?.name ?? "Project"} · Resolute`;
  }, [project?.name]);
  useEffect(() => {
    // For the list of projects on Home. Reading the project matters more than noting that it was read.
    if (project) change("POST", "/api/v1/users/activity", { activityType: "ACTIVITY_TYPE_GET", entityType: "ENTITY_TYPE_PROJECT", entityId: project.id }).catch(() => {});
  }, [project?.id]);
  if (!project) return error ? html`<${Failed} heading=${`Project ${id}`} error=${error} retry=${again} />` : html`<h1>Project ${id}</h1><${Busy} what="Reading it" />`;
  const edit = () => fill({
    title: `Edit ${project.name}`,
    action: "Save",
    fields: [{ key: "name", label: "Name", value: project.name }, { key: "description", label: "Description", value: project.description ?? "" }, { key: "key", label: "Key", value: project.key, hint: "Up to 5 letters and digits." }],
    save: async (values) => {
      // A key that did not change is left out: it is not for everybody to set.
      await change("PATCH", `/api/v1/projects/${id}`, { name: values.name, description: values.description, ...(values.key === project.key ? {} : { key: values.key }) });
      again();
    },
    done: "Project saved",
  });
  const open = changesProject(project) && !project.archived;
  return html`<div class="page-head"><nav class="crumbs" aria-label="Where this is"><a href="/det/workspaces">Workspaces</a> / <a href=${`/det/workspaces/${project.workspaceId}`}>${project.workspaceName}</a></nav>
      <div class="row apart"><h1>${project.name}</h1><div class="row">${open ? html`<${Button} onClick=${edit}>Edit<//><${Button} onClick=${() => void moveProject(project, again)}>Move<//>` : null}
        ${changesProject(project) ? html`<${Button} onClick=${() => void archive("projects", project, again)}>${project.archived ? "Unarchive" : "Archive"}<//>` : null}
        ${!project.immutable && mayOwner("DELETE_PROJECT", { ownerIds: [project.userId], workspaceId: project.workspaceId }) ? html`<${Button} kind="danger" onClick=${() => remove("projects", project, `/det/workspaces/${project.workspaceId}`)}>Delete<//>` : null}</div></div>
      <div class="row">${project.archived ? html`<span class="label">archived</span>` : null}${going(project)}<span class="muted">of ${project.username}</span>${project.key ? html`<span class="label" title="The key of the project">${project.key}</span>` : null}</div>
      ${project.description ? html`<p class="muted wrap">${project.description}</p>` : null}</div>
    ${project.errorMessage ? html`<${Message} tone="bad">${project.errorMessage}<//>` : null}
    ${error ? html`<${Failed} error=${error} retry=${again} />` : null}
    <${Tabs} label="About this project" at=${tab} tabs=${[["experiments", `Experiments ${project.numExperiments}`, `/det/projects/${id}`], ["notes", `Notes ${project.notes.length}`, `/det/projects/${id}/notes`]]} />
    ${tab === "notes" ? html`<${Notes} project=${project} again=${again} />` : html`<${Experiments} project=${project} />`}`;
}

/** @param {{project: Told, again: () => void}} props */
function Notes({ project, again }) {
  const put = async (/** @type {Note[]} */ notes) => {
    await change("PUT", `/api/v1/projects/${project.id}/notes`, { projectId: project.id, notes });
    again();
  };
  const write = (/** @type {number} */ at) => {
    const note = project.notes[at];
    fill({
      title: note ? `Edit ${note.name || "a note"}` : "New note",
      action: "Save note",
      fields: [{ key: "name", label: "Title", value: note?.name ?? "" }, { key: "contents", label: "Text", kind: "area", rows: 12, value: note?.contents ?? "" }],
      save: ({ name, contents }) => put(withNote(project.notes, at, { name, contents })),
      done: "Note saved",
    });
  };
  const drop = (/** @type {number} */ at) => confirm({ title: `Delete ${project.notes[at].name || "this note"}?`, text: "This cannot be taken back.", action: "Delete note", run: async () => { await attempt(() => put(withNote(project.notes, at, null)), "Note deleted"); } });
  return html`${project.archived ? null : html`<div class="row"><${Button} onClick=${() => write(project.notes.length)}>New note<//></div>`}
    ${project.notes.length ? project.notes.map((note, at) => html`<section class="card stack tight" key=${at}><div class="row apart"><h2 class="wrap">${note.name || "A note"}</h2>${project.archived ? null : html`<span class="row"><${Button} label=${`Edit note ${at + 1}`} onClick=${() => write(at)}>Edit<//><${Button} kind="danger" label=${`Delete note ${at + 1}`} onClick=${() => drop(at)}>Delete<//></span>`}</div><p class="notes">${note.contents}</p></section>`)
      : html`<${Empty} title="No notes yet">What a project is for, what was found out, what comes next: everybody who sees the project reads its notes.<//>`}`;
}
