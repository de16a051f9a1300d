// Tasks that are no trials: notebooks, commands and so on; and the start of one.
import { html, useEffect, useId, useSignal } from "../core/dom.js";
import { get } from "../core/client.js";
import { ask, go, here, query } from "../core/place.js";
import { useLoaded } from "../core/load.js";
import { yaml } from "../core/format.js";
import { kindOf, KINDS, launched, shownTasks, standing } from "../core/tasks.js";
import { configOf } from "../core/yaml.js";
import { useFollowing } from "../live/again.js";
import { placesAmong, workspaces } from "../state/places.js";
import { launch, tasks, TYPES } from "../state/tasks.js";
import { user } from "../state/session.js";
import { Form } from "../components/forms.js";
import { Listing } from "../components/listing.js";
import { TaskActions } from "../components/task_actions.js";
import { Ago, Busy, Empty, Failed, Message, Select, State, toast } from "../components/parts.js";

/** @typedef {import("../core/tasks.js").Task} Task */

/** @param {Task} task */
export const addressOf = (task) => `/det/tasks/${task.id}`;
/** @param {Task} task */
const waitingFor = (task) => `/det/interactive/${task.id}/${task.kind.view}`;

export function Tasks() {
  const { value, error, again } = useLoaded(async (aborted) => {
    const [all, places] = await Promise.all([tasks(aborted), workspaces(aborted)]);
    return { all, places };
  }, []);
  useFollowing(again, { tasks: { task_types: TYPES } }, []);
  useEffect(() => {
    document.title = "Tasks · Resolute";
  }, []);
  const id = useId();
  const at = query.value;
  const asked = { text: at.get("q") ?? "", kind: at.get("kind") ?? "", state: at.get("state") ?? "", user: at.get("user") ?? "", workspace: at.get("workspace") ?? "" };
  const all = value?.all ?? [];
  const rows = shownTasks(all, asked);
  const owners = [...new Set([...all.map((one) => one.owner), user.value?.username ?? "", asked.user].filter(Boolean))].sort();
  const placeName = (/** @type {number} */ workspaceId) => value?.places.find((one) => one.id === workspaceId)?.name ?? `workspace ${workspaceId}`;
  return html`<div class="row apart"><h1>Tasks</h1><div class="row">${KINDS.filter((kind) => kind.starts).map((kind) => html`<a key=${kind.name} class=${`button ${kind === KINDS[0] ? "main-action" : ""}`} href=${`/det/tasks/new/${kind.name}`}>New ${kind.name}</a>`)}</div></div>
    <div class="bar" role="search"><label class="only-read" for=${id}>Find tasks</label><input id=${id} class="input grow" type="search" spellcheck="false" autocomplete="off" placeholder="a part of a name, or the beginning of an id" value=${asked.text} onInput=${(/** @type {any} */ event) => ask({ q: event.target.value })} />
      <${Select} label="Kind" value=${asked.kind} options=${[["", "all"], ...KINDS.map((kind) => [kind.name, kind.plural])]} onChange=${(/** @type {string} */ next) => ask({ kind: next })} />
      <${Select} label="State" value=${asked.state} options=${[["", "any"], ["runs", "run"], ["waits", "wait"], ["ended", "ended"]]} onChange=${(/** @type {string} */ next) => ask({ state: next })} />
      <${Select} label="User" value=${asked.user} options=${[["", "all"], ...owners.map((one) => [one, one])]} onChange=${(/** @type {string} */ next) => ask({ user: next })} />
      <${Select} label="Workspace" value=${asked.workspace} options=${[["", "all"], ...(value?.places ?? []).map((one) => [String(one.id), one.name])]} onChange=${(/** @type {string} */ next) => ask({ workspace: next })} /></div>
    ${error ? html`<${Failed} error=${error} retry=${again} />` : null}
    ${!value ? error ? null : html`<${Busy} what="Reading tasks" />` : rows.length ? html`<${Listing} label="Tasks" heads=${["Task", "Kind", "State", "Owner", "Workspace", "Pool", "Started", "Ended with", ["Actions", "only-read"]]}>${rows.map((one) => html`<tr key=${one.id}><td class="wrap"><a href=${addressOf(one)}>${one.name}</a> <span class="mono small muted" title=${one.id}>${one.id.slice(0, 8)}</span></td><td>${one.kind.text}</td><td><${State} state=${one.state} /></td><td>${one.owner}</td><td>${placeName(one.workspaceId)}</td><td>${one.pool}</td><td><${Ago} at=${one.started} /></td><td class="wrap small">${one.exit}</td>
        <td><span class="row"><${OpenTask} task=${one} /><${TaskActions} task=${one} again=${again} named /></span></td></tr>`)}<//>`
      : html`<${Empty} title=${all.length ? "No task fits" : "No tasks yet"} command="det notebook start">${all.length ? "Choose other filters above." : "Notebooks and commands run on the cluster's slots, beside experiments. The list has what waits and runs, and what ended within the last day."}<//>`}`;
}

/** The way into a task that serves people: straight when it runs, by the page that waits until it does. @param {{task: Task}} props */
export function OpenTask({ task }) {
  if (!task.kind.serves || standing(task.state) === "ended") return null;
  return html`<a class="button" href=${waitingFor(task)} target="_blank" rel="noopener" aria-label=${`Open ${task.name}`}>Open</a>`;
}

export function NewTask() {
  const kind = kindOf(here.value.params.kind);
  useEffect(() => {
    document.title = `New ${kind?.name ?? "task"} · Resolute`;
  }, [kind]);
  const { value, error, again } = useLoaded(async (aborted) => {
    const [told, pools, places] = await Promise.all([
      /** @type {Promise<import("../wire").v1GetTemplatesResponse>} */ (get("/api/v1/templates", { limit: -1, sortBy: "SORT_BY_NAME" }, aborted)),
      /** @type {Promise<import("../wire").v1GetResourcePoolsResponse>} */ (get("/api/v1/resource-pools", {}, aborted)),
      workspaces(aborted),
    ]);
    return { templates: told.templates, pools: pools.resourcePools ?? [], places };
  }, []);
  const preview = useSignal(/** @type {Record<string, any> | null} */ (null));
  if (!kind?.starts) return html`<${Empty} whole title="Tasks of this kind are not started here" command=${kind?.command}><a href="/det/tasks">All tasks</a><//>`;
  if (!value) return error ? html`<${Failed} heading=${`New ${kind.name}`} error=${error} retry=${again} />` : html`<h1>New ${kind.name}</h1><${Busy} what="Reading pools and templates" />`;
  const at = query.value;
  const wanted = (/** @type {Record<string, any>} */ values) => ({
    config: launched(configOf(values.config, "Configuration"), { name: values.name, pool: values.pool, slots: values.slots, run: values.run }),
    templateName: values.template,
    workspaceId: Number(values.workspace),
  });
  const start = async (/** @type {Record<string, any>} */ values) => {
    const { task, warnings } = await launch(kind, wanted(values));
    if (warnings.length) toast("The pool has fewer slots than this needs: it starts when agents bring more.");
    if (task) go(kind.serves ? waitingFor(task) : addressOf(task));
  };
  /** @type {import("../components/forms.js").Input[]} */
  const fields = [
    ...(kind.runs ? [{ key: "run", label: "What to run", kind: /** @type {"area"} */ ("area"), rows: 3, value: at.get("run") ?? "", hint: "A command line for sh. Empty: the entrypoint of the configuration." }] : []),
    { key: "name", label: "Name", value: at.get("name") ?? "", hint: "Empty: a name is made up." },
    { key: "workspace", label: "Workspace", kind: "select", value: at.get("workspace") ?? "1", options: placesAmong(value.places) },
    { key: "template", label: "Template", kind: "select", value: at.get("template") ?? "", options: [["", "none"], ...value.templates.map((one) => /** @type {[string, string]} */ ([one.name, one.name]))] },
    { key: "pool", label: "Resource pool", kind: "select", value: at.get("pool") ?? "", options: [["", "the default"], ...value.pools.map((one) => /** @type {[string, string]} */ ([one.name, `${one.name} (${one.slotsAvailable - one.slotsUsed} of ${one.slotsAvailable} slots free)`]))] },
    { key: "slots", label: "Slots", value: at.get("slots") ?? "", hint: "How many GPUs or CPU slots. Empty: what the configuration says, or 1. With 0 it needs no free slot." },
    { key: "config", label: "Configuration", kind: "code", rows: 8, value: at.get("config") ?? "", hint: "YAML, as in a file for the command line. What is chosen above counts before it." },
  ];
  return html`<div class="page-head"><nav class="crumbs" aria-label="Where this is"><a href="/det/tasks">Tasks</a></nav><h1>New ${kind.name}</h1></div>
    <div class="columns"><section class="card"><h2>What to start</h2><${Form} focus fields=${fields} action=${`Start ${kind.name}`} save=${start} other=${kind.previews ? { action: "Preview", run: async (/** @type {Record<string, any>} */ values) => (preview.value = (await launch(kind, { ...wanted(values), preview: true })).config) } : null} /></section>
      ${preview.value ? html`<section class="card stack"><h2>What would be started</h2><p class="muted">With the template, the policies and the defaults of the cluster. Nothing was started.</p><pre class="code" tabindex="0" aria-label="Preview of the configuration">${yaml(preview.value).trim()}</pre></section>` : html`<${Message}>${kind.previews ? "Preview shows the whole configuration, completed by the template, the policies and the cluster's defaults. " : ""}${kind.opened ? "Its page has its terminal; det opens it on any machine. " : ""}The same from the command line: <code>${kind.command}</code><//>`}</div>`;
}
