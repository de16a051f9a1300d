// What of mine runs, what waits and why, what failed lately; and the cluster at a glance.
import { html, useEffect } from "../core/dom.js";
import { ApiError, get } from "../core/client.js";
import { gathered, useLoaded } from "../core/load.js";
import { asked, field, group } from "../core/filters.js";
import { between, number } from "../core/format.js";
import { shownTasks, standing } from "../core/tasks.js";
import { useFollowing } from "../live/again.js";
import { listen } from "../live/stream.js";
import { followExperiments, search } from "../state/experiments.js";
import { tasks, TYPES } from "../state/tasks.js";
import { user } from "../state/session.js";
import { Ago, Busy, Command, Empty, Failed, nowOf, Progress, State } from "../components/parts.js";

/** @typedef {import("../wire").v1SearchExperimentExperiment} Found */
/** @typedef {import("../wire").ExplainJobResponse} Explained */

/** @param {AbortSignal} aborted */
async function read(aborted) {
  const mine = field("user", "=", user.value?.id ?? 0);
  const of = (/** @type {string} */ state, /** @type {string} */ sort, /** @type {number} */ limit) =>
    search({ filter: asked(group("and", [mine, field("state", "=", state)]), false), sort, limit }, aborted);
  const [active, failed, ended, pools, visited, all] = await Promise.all([
    of("ACTIVE", "id=desc", 50),
    of("ERROR", "endTime=desc", 6),
    of("COMPLETED", "endTime=desc", 6),
    /** @type {Promise<import("../wire").v1GetResourcePoolsResponse>} */ (get("/api/v1/resource-pools", {}, aborted)),
    /** @type {Promise<import("../wire").v1GetProjectsByUserActivityResponse>} */ (get("/api/v1/user/projects/activity", { limit: 5 }, aborted)),
    // Where roles decide, one may see experiments and no tasks.
    tasks(aborted).catch((refused) => { if (refused instanceof ApiError && refused.status === 403) return []; throw refused; }),
  ]);
  const waiting = active.experiments.filter(({ experiment }) => experiment.state === "STATE_QUEUED");
  const reasons = await Promise.all(
    waiting.slice(0, 20).map(({ experiment }) => /** @type {Promise<Explained | null>} */ (get(`/api/v1/jobs/${experiment.jobId}/explain`, {}, aborted).catch(() => null))),
  );
  return { running: active.experiments.filter((one) => !waiting.includes(one)), waiting, reasons, failed: failed.experiments, ended: ended.experiments, pools: pools.resourcePools ?? [], projects: visited.projects ?? [], tasks: shownTasks(all, { text: "", kind: "", state: "", user: user.value?.username ?? "", workspace: "" }).filter((one) => standing(one.state) !== "ended") };
}

export function Home() {
  const { value, error, again } = useLoaded(read, []);
  useEffect(() => {
    document.title = "Home · Resolute";
    const soon = gathered(again, 300);
    const stop = listen({ agents: { all: true } }, { changed: soon, ready: (repeated) => repeated && soon() });
    const stopMine = followExperiments({ user_ids: [user.value?.id ?? 0] }, soon);
    return () => { stop(); stopMine(); soon.stop(); };
  }, []);
  useFollowing(again, { tasks: { task_types: TYPES } }, []);
  // What is active changes between waiting and running with its tasks.
  const active = [...(value?.running ?? []), ...(value?.waiting ?? [])].filter(({ experiment }) => experiment.numTrials <= 500).map(({ experiment }) => experiment.id).sort((a, b) => a - b);
  useEffect(() => {
    if (active.length === 0) return;
    const soon = gathered(again, 300);
    let synced = false;
    const stop = listen({ tasks: { experiment_ids: active } }, { changed: () => synced && soon(), ready: () => (synced = true) });
    return () => { stop(); soon.stop(); };
  }, [active.join()]);
  if (!value) return error ? html`<${Failed} error=${error} retry=${again} />` : html`<h1>Home</h1><${Busy} what="Reading what is yours" />`;
  const nothing = !value.running.length && !value.waiting.length && !value.failed.length && !value.ended.length;
  return html`<h1>Home</h1>
    ${error ? html`<${Failed} error=${error} retry=${again} />` : null}
    ${nothing ? html`<${Empty} title="Nothing of yours yet" command="det experiment create examples/mnist_pytorch/const.yaml examples/mnist_pytorch -f">Train a first model: this sends a configuration and the folder with the model's code, and follows the log.<//>` : null}
    <div class="columns">
      <${Part} title="Running" rows=${value.running} none="None of your experiments runs." more="state = ACTIVE"
        about=${(/** @type {Found} */ { experiment }) => html`<${Progress} value=${experiment.progress} name=${`Progress of experiment ${experiment.id}`} /><span class="small muted">for ${between(experiment.startTime, null, nowOf(experiment.state))}</span>`} />
      <${Part} title="Waiting" rows=${value.waiting} none="None of your experiments waits." more="state = ACTIVE"
        about=${(/** @type {Found} */ _, /** @type {number} */ index) => html`<${Why} explained=${value.reasons[index]} />`} />
      <${Part} title="Failed lately" rows=${value.failed} none="None failed." more="state = ERROR"
        about=${(/** @type {Found} */ { experiment }) => html`<span class="wrap">${experiment.stateReason}</span><span class="small muted"><${Ago} at=${experiment.endTime} /></span>`} />
      <${Part} title="Completed lately" rows=${value.ended} none="None completed yet." more="state = COMPLETED"
        about=${(/** @type {Found} */ { experiment, bestTrial }) => html`<span>${experiment.searcherMetric} <strong class="numbers">${number(bestTrial?.searcherMetricValue)}</strong></span><span class="small muted"><${Ago} at=${experiment.endTime} /></span>`} />
      ${value.tasks.length ? html`<section class="card"><h2>Tasks</h2><ul class="list">${value.tasks.slice(0, 12).map((one) => html`<li key=${one.id}><span class="row apart"><a class="wrap" href=${`/det/tasks/${one.id}`}>${one.name}</a><${State} state=${one.state} /></span><span class="small muted">${one.kind.text}, started <${Ago} at=${one.started} /></span></li>`)}</ul><p class="small"><a href=${`/det/tasks?user=${encodeURIComponent(user.value?.username ?? "")}`}>All of them</a></p></section>` : null}
      ${value.projects.length ? html`<section class="card"><h2>Projects visited last</h2><ul class="list">${value.projects.map(
        (project) => html`<li key=${project.id}><a class="wrap" href=${`/det/projects/${project.id}`}>${project.name}</a><span class="small muted">${project.workspaceName}, ${project.numExperiments} ${project.numExperiments === 1 ? "experiment" : "experiments"}</span></li>`,
      )}</ul></section>` : null}
      <section class="card"><h2>Cluster</h2><ul class="list">${value.pools.map(
        (pool) => html`<li key=${pool.name}><span class="row apart"><a href="/det/clusters">${pool.name}</a><span class="numbers small">${pool.slotsUsed} of ${pool.slotsAvailable} slots used</span></span>
          <span class="progress"><progress aria-label=${`Slots used of ${pool.name}`} max=${Math.max(1, pool.slotsAvailable)} value=${pool.slotsUsed}></progress></span>
          <span class="small muted">${pool.numAgents} ${pool.numAgents === 1 ? "agent" : "agents"}; ${pool.stats?.queuedCount ?? 0} waiting</span></li>`,
      )}</ul>${value.pools.some((pool) => pool.numAgents > 0) ? null : html`<p>No agent has joined. An agent brings slots:</p><${Command} text="det deploy local agent-up MASTER_HOST" />`}</section>
    </div>`;
}

/** @param {{explained: Explained | null | undefined}} props */
export function Why({ explained }) {
  if (!explained) return null;
  const waits = explained.allocations?.map((one) => one.waits).find(Boolean);
  return html`<span class="wrap block">${waits?.reason ?? explained.says}</span>${waits?.help ? html`<span class="small muted wrap block">What would help: ${waits.help}</span>` : null}`;
}

/** @param {{title: string, rows: Found[], none: string, more: string, about: (row: Found, index: number) => any}} props */
function Part({ title, rows, none, more, about }) {
  const mine = `${more} user = ${user.value?.username}`;
  return html`<section class="card"><h2>${title}</h2>${rows.length ? html`<ul class="list">${rows.map(
    (row, index) => html`<li key=${row.experiment.id}><span class="row apart"><a class="wrap" href=${`/det/experiments/${row.experiment.id}`}>${row.experiment.name} <span class="muted numbers">#${row.experiment.id}</span></a><${State} state=${row.experiment.state} /></span>${about(row, index)}</li>`,
  )}</ul><p class="small"><a href=${`/det/experiments?q=${encodeURIComponent(mine)}`}>All of them</a></p>` : html`<p class="muted">${none}</p>`}</section>`;
}
