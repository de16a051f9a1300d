// One task that is no trial: where it stands, why it waits, its log, its configuration; and the page that waits until it can be opened.
import { html, useEffect } from "../core/dom.js";
import { ApiError, get } from "../core/client.js";
import { here } from "../core/place.js";
import { useLoaded } from "../core/load.js";
import { bareState, between, yaml } from "../core/format.js";
import { kindOf, serviceOf, standing } from "../core/tasks.js";
import { useFollowing } from "../live/again.js";
import { taskNamed } from "../state/tasks.js";
import { Facts } from "../components/facts.js";
import { Listing } from "../components/listing.js";
import { LogView } from "../components/log_view.js";
import { TaskActions } from "../components/task_actions.js";
import { Ago, Busy, Command, Empty, Failed, Message, now, State, Tabs } from "../components/parts.js";
import { Why } from "./home.js";
import { OpenTask } from "./tasks.js";

const TABS = /** @type {const} */ ([["overview", "Overview"], ["terminal", "Terminal"], ["logs", "Log"], ["configuration", "Configuration"]]);

/** @param {string} id @param {AbortSignal} aborted */
async function read(id, aborted) {
  const about = /** @type {import("../wire").v1GetTaskResponse} */ (await get(`/api/v1/tasks/${encodeURIComponent(id)}`, {}, aborted)).task;
  const kind = kindOf(about.taskType);
  if (!kind) throw new ApiError(404, `Task ${id} is of a kind that has no page of its own: ${String(about.taskType).replace("TASK_TYPE_", "").toLowerCase()}.`);
  const { task, config } = await taskNamed(kind, id, aborted);
  const explained = standing(task.state) === "waits" ? await get(`/api/v1/jobs/${encodeURIComponent(id)}/explain`, {}, aborted).catch(() => null) : null;
  return { about, task, config, explained: /** @type {any} */ (explained) };
}

/** @param {string} id */
function useTask(id) {
  const loaded = useLoaded((aborted) => read(id, aborted), [id]);
  useFollowing(loaded.again, { tasks: { task_ids: [id] } }, [id]);
  const name = loaded.value?.task.name;
  useEffect(() => {
    document.title = `${name ?? "Task"} · Resolute`;
  }, [name]);
  return loaded;
}

/** It is loaded when it is first shown: it is large. @param {{address: {path: string, token: string}, label: string}} props */
function Terminal({ address, label }) {
  const { value, error } = useLoaded(async () => ({ View: (await import("../components/terminal.js")).TerminalView }), []);
  if (!value) return error ? html`<${Failed} error=${error} />` : html`<${Busy} what="Opening the terminal" />`;
  return html`<${value.View} address=${address} label=${label} />`;
}

/** @param {{id: string}} props */
const Log = ({ id }) => html`<${LogView} path=${`/api/v1/tasks/${encodeURIComponent(id)}/logs`} label=${`Log of task ${id}`} file=${`task-${id}-log.json`} />`;

export function OneTask() {
  const { task: id, tab: wanted = "overview" } = here.value.params;
  const { value, error, again } = useTask(id);
  if (!value) return error ? html`<${Failed} heading=${`Task ${id.slice(0, 8)}`} error=${error} retry=${again} />` : html`<h1>Task ${id.slice(0, 8)}</h1><${Busy} what="Reading it" />`;
  const { about, task, config, explained } = value;
  const ended = standing(task.state) === "ended";
  const allocations = about.allocations ?? [];
  const enters = !ended && task.terminal && allocations.some((one) => one.isReady) ? task.terminal : null;
  const tabs = TABS.filter(([key]) => key !== "terminal" || enters);
  const tab = tabs.some(([key]) => key === wanted) ? wanted : "overview";
  const to = (/** @type {string} */ key) => `/det/tasks/${id}${key === "overview" ? "" : `/${key}`}`;
  return html`<div class="page-head"><nav class="crumbs" aria-label="Where this is"><a href="/det/tasks">Tasks</a> / <a href=${`/det/tasks?kind=${task.kind.name}`}>${task.kind.text}s</a></nav>
      <div class="row apart"><h1 class="wrap">${task.name}</h1><div class="row"><${OpenTask} task=${task} />${enters && tab !== "terminal" ? html`<a class="button main-action" href=${to("terminal")}>Open terminal</a>` : null}<${TaskActions} task=${task} again=${again} /></div></div>
      <div class="row"><${State} state=${task.state} /><span class="muted">${task.kind.text} of ${task.owner}, started <${Ago} at=${task.started} />, ${between(task.started, about.endTime, ended ? 0 : now())}</span></div></div>
    ${explained ? html`<${Message} tone="warn"><strong>Why it waits: </strong><${Why} explained=${explained} /><//>` : null}
    ${task.kind.opened && !ended ? html`<${Command} text=${`${task.kind.opened} ${task.id}`} />` : null}
    ${task.exit ? html`<${Message}>${task.exit}<//>` : null}
    ${error ? html`<${Failed} error=${error} retry=${again} />` : null}
    <${Tabs} label="About this task" at=${tab} tabs=${tabs.map(([key, text]) => [key, text, to(key)])} />
    ${tab === "overview" ? html`<div class="stack"><section class="card"><h2>What it is</h2><${Facts} facts=${[["Id", html`<code class="wrap">${task.id}</code>`], ["Kind", task.kind.text], ["Owner", task.owner], ["Workspace", html`<a href=${`/det/workspaces/${task.workspaceId}`}>${task.workspaceId}</a>`], ["Pool", html`<a href=${`/det/clusters/queue?pool=${encodeURIComponent(task.pool)}`}>${task.pool}</a>`], ["Slots", String(config.resources?.slots ?? "")], ["Priority", String(config.resources?.priority ?? "")], ["Runs", Array.isArray(config.entrypoint) && config.entrypoint.length ? html`<code class="wrap">${config.entrypoint.join(" ")}</code>` : null]]} /></section>
      <section class="card stack"><h2>Allocations</h2>${allocations.length ? html`<${Listing} label="Allocations" heads=${["Allocation", "State", ["Slots", "number"], "Began", "Ended", "Why it ended", ["Exit code", "number"]]}>${allocations.map((one) => html`<tr key=${one.allocationId}><td class="mono small wrap">${one.allocationId}</td><td><${State} state=${bareState(one.state)} />${one.isReady && task.kind.serves ? html` <span class="label">ready</span>` : null}</td><td class="number">${one.slots}</td><td><${Ago} at=${one.startTime} /></td><td><${Ago} at=${one.endTime} /></td><td class="wrap small">${one.exitReason}</td><td class="number">${one.statusCode}</td></tr>`)}<//>` : html`<p class="muted">None was asked for yet.</p>`}</section></div>` : null}
    ${tab === "terminal" && enters ? html`<${Terminal} address=${enters} label=${`Terminal of ${task.name}`} />` : null}
    ${tab === "logs" ? html`<${Log} id=${id} />` : null}
    ${tab === "configuration" ? html`<pre class="code" tabindex="0" aria-label="Configuration">${yaml(config).trim()}</pre>` : null}`;
}

/** The place in the queue and the log until the task is ready; then its service. */
export function WaitForTask() {
  const { task: id } = here.value.params;
  const { value, error, again } = useTask(id);
  const about = value?.about;
  const task = value?.task;
  const ready = Boolean(task && standing(task.state) === "runs" && about?.allocations?.some((one) => one.isReady));
  const address = task ? serviceOf(task.address) : "";
  useEffect(() => {
    if (ready && address) location.replace(address);
  }, [ready, address]);
  if (!value || !task) return error ? html`<${Failed} heading="Opening the task" error=${error} retry=${again} />` : html`<h1>Opening the task</h1><${Busy} what="Reading it" />`;
  const ended = standing(task.state) === "ended";
  return html`<div class="page-head"><nav class="crumbs" aria-label="Where this is"><a href="/det/tasks">Tasks</a> / <a href=${`/det/tasks/${id}`}>${task.name}</a></nav>
      <div class="row apart"><h1 class="wrap">${ended ? `${task.name} has ended` : `Opening ${task.name}`}</h1><div class="row"><${TaskActions} task=${task} again=${again} /></div></div>
      <div class="row"><${State} state=${task.state} />${ended ? null : html`<span class="muted">waiting for <${Ago} at=${task.started} /></span>`}</div></div>
    ${error ? html`<${Failed} error=${error} retry=${again} />` : null}
    ${ended ? html`<${Message} tone="warn">${task.exit || "It cannot be opened any more."}<//>`
      : !task.kind.serves ? html`<${Empty} title="This kind of task is not opened in a browser"><a href=${`/det/tasks/${id}`}>Its page</a> has its log.<//>`
        : ready ? html`<${Message}>It is ready. <a href=${address} target="_self">Open it</a><//>`
          : html`<${Busy} what=${{ waits: "Waits in the queue", runs: task.state === "RUNNING" ? "Runs, and is not ready yet" : "Starts", ended: "" }[standing(task.state)]} />`}
    ${value.explained ? html`<${Message} tone="warn"><strong>Why it waits: </strong><${Why} explained=${value.explained} />${value.explained.job?.summary?.jobsAhead ? html`<p class="small">Jobs ahead in the queue: ${value.explained.job.summary.jobsAhead}</p>` : null}<//>` : null}
    <h2>Its log</h2><${Log} id=${id} />`;
}
