// One experiment: how far it is, its trials and their curves, its configuration, checkpoints and history.
import { html, useEffect, useMemo, useSignal } from "../core/dom.js";
import { get, lines } from "../core/client.js";
import { ask, here, query } from "../core/place.js";
import { gathered, useLoaded } from "../core/load.js";
import { bareState, between, bytes, hasEnded, number, plain, yaml } from "../core/format.js";
import { appended } from "../core/series.js";
import { listen } from "../live/stream.js";
import { master, user } from "../state/session.js";
import { useMetricNames } from "../state/metrics.js";
import { ACTIONS, begin } from "../components/actions.js";
import { beginMove } from "../components/move.js";
import { CodeBrowser } from "../components/code_browser.js";
import { EditExperiment } from "../components/edit_experiment.js";
import { Chart } from "../components/chart.js";
import { ChartBar, shown } from "../components/chart_bar.js";
import { Hyperparameters } from "../components/hyperparameters.js";
import { TrialCharts } from "../components/trial_charts.js";
import { Ago, Busy, Button, Command, Empty, Failed, Message, nowOf, Progress, Select, State, Tabs } from "../components/parts.js";
import { Why } from "./home.js";

/** @typedef {import("../wire").v1Experiment} Told */
/** @typedef {import("../wire").trialv1Trial} Trial */
/** @typedef {import("../core/series.js").Curve} Curve */

const TABS = /** @type {const} */ ([["overview", "Overview"], ["trials", "Trials"], ["hyperparameters", "Hyperparameters"], ["configuration", "Configuration"], ["code", "Code"], ["checkpoints", "Checkpoints"], ["history", "History"]]);

/** Tabs of old links. @type {Record<string, string>} */
const OLD = { visualization: "overview", runs: "trials", metrics: "overview", notes: "overview", logs: "trials", profiler: "overview" };

export function Experiment() {
  const id = Number(here.value.params.experiment);
  const wanted = here.value.params.tab ?? "overview";
  const tab = TABS.some(([key]) => key === wanted) ? wanted : wanted === "visualization" && here.value.params.view?.startsWith("hp-") ? "hyperparameters" : (OLD[wanted] ?? "overview");
  const { value, error, again } = useLoaded(async (aborted) => {
    const answer = /** @type {import("../wire").v1GetExperimentResponse} */ (await get(`/api/v1/experiments/${id}`, {}, aborted));
    const explained = bareState(answer.experiment.state) === "QUEUED" ? await get(`/api/v1/jobs/${answer.experiment.jobId}/explain`, {}, aborted).catch(() => null) : null;
    return { experiment: answer.experiment, explained: /** @type {any} */ (explained) };
  }, [id]);
  const editing = useSignal(false);
  /** Raised when a trial or a checkpoint of it changes. */
  const version = useSignal(0);
  useEffect(() => {
    const soon = gathered(again, 400);
    const trials = gathered(() => (version.value += 1), 700);
    const stop = listen({ experiments: { experiment_ids: [id] }, trials: { experiment_ids: [id] }, tasks: { experiment_ids: [id] } }, {
      changed: (changes) => {
        if (changes.some((one) => one.kind !== "trials")) soon();
        if (changes.some((one) => one.kind === "trials")) trials();
      },
    });
    return () => { stop(); soon.stop(); trials.stop(); };
  }, [id]);
  useEffect(() => {
    document.title = `${value?.experiment.name ?? "Experiment"} #${id} · Resolute`;
  }, [value?.experiment.name, id]);
  if (!value) return error ? html`<${Failed} heading=${`Experiment ${id}`} error=${error} retry=${again} />` : html`<h1>Experiment ${id}</h1><${Busy} what="Reading it" />`;
  const { experiment, explained } = value;
  const to = (/** @type {string} */ key) => `/det/experiments/${id}${key === "overview" ? "" : `/${key}`}`;
  return html`<div class="page-head">
      <nav class="crumbs" aria-label="Where this is"><a href="/det/experiments">Experiments</a> / <a href=${`/det/projects/${experiment.projectId}`}>${experiment.projectName}</a></nav>
      <div class="row apart"><h1>${experiment.name} <span class="muted numbers">#${id}</span></h1><div class="row"><${Button} onClick=${() => (editing.value = true)}>Edit<//><${Button} onClick=${() => void beginMove([id])}>Move<//>${experiment.unmanaged ? null : html`<a class="button" href=${`/det/experiments/${id}/fork`}>Fork</a>${hasEnded(experiment.state) && !experiment.archived ? html`<a class="button" href=${`/det/experiments/${id}/continue`}>Continue</a>` : null}`}${ACTIONS.filter((action) => action.fits(experiment)).map(
        (action) => html`<${Button} key=${action.word} kind=${action.danger ? "danger" : ""} onClick=${() => begin(action, [id])}>${action.text}<//>`)}</div></div>
      <div class="row"><${State} state=${experiment.state} />${experiment.archived ? html`<span class="label">archived</span>` : null}${(experiment.labels ?? []).map((label) => html`<span class="label" key=${label}>${label}</span>`)}<span class="muted">${experiment.username}, <${Ago} at=${experiment.startTime} />, ${between(experiment.startTime, experiment.endTime, nowOf(experiment.state))}</span></div>
      ${experiment.description ? html`<p class="muted wrap">${experiment.description}</p>` : null}
    </div>
    ${experiment.stateReason ? html`<${Message} tone=${bareState(experiment.state) === "ERROR" ? "bad" : ""}>${experiment.stateReason}<//>` : null}
    ${explained ? html`<${Message} tone="warn"><strong>Why it waits: </strong><${Why} explained=${explained} />${waitsFor(explained)}<//>` : null}
    ${error ? html`<${Failed} error=${error} retry=${again} />` : null}
    <${Tabs} label="About this experiment" at=${tab} tabs=${TABS.map(([key, text]) => [key, key === "trials" ? `${text} ${experiment.numTrials}` : text, to(key)])} />
    ${editing.value ? html`<${EditExperiment} experiment=${experiment} onClose=${() => (editing.value = false)} onDone=${again} />` : null}
    ${tab === "overview" ? html`<${Overview} experiment=${experiment} version=${version.value} />` : null}
    ${tab === "trials" ? html`<${Trials} experiment=${experiment} version=${version.value} />` : null}
    ${tab === "configuration" ? html`<${Configuration} experiment=${experiment} />` : null}
    ${tab === "hyperparameters" ? html`<${Hyperparameters} experiment=${experiment} />` : null}
    ${tab === "code" ? html`<${CodeBrowser} experiment=${experiment} />` : null}
    ${tab === "checkpoints" ? html`<${Checkpoints} path=${`/api/v1/experiments/${id}/checkpoints`} version=${version.value} />` : null}
    ${tab === "history" ? html`<${History} id=${id} version=${version.value} />` : null}`;
}

/** Who holds the slots that it waits for. @param {any} explained */
function waitsFor(explained) {
  const holders = explained.allocations?.flatMap((/** @type {any} */ one) => one.waits?.holders ?? []) ?? [];
  if (!holders.length) return null;
  return html`<p class="small">Slots are held by ${holders.map((/** @type {any} */ one, /** @type {number} */ i) => html`${i ? ", " : ""}<a key=${one.jobId} href=${one.experimentId ? `/det/experiments/${one.experimentId}` : "/det/clusters"}>${one.name}</a> (${one.username}, ${one.slots})`)}.</p>`;
}

/** @param {Told} experiment */
const smallerIsBetter = (experiment) => experiment.config?.searcher?.smaller_is_better !== false;

/** @param {{experiment: Told, version: number}} props */
function Overview({ experiment, version }) {
  const { value } = useLoaded((aborted) => trialsOf(experiment, { limit: 1, sortBy: "SORT_BY_BEST_VALIDATION_METRIC", orderBy: smallerIsBetter(experiment) ? "ORDER_BY_ASC" : "ORDER_BY_DESC" }, aborted), [experiment.id, version]);
  const best = value?.trials[0];
  const found = best && best.searcherMetricValue !== null && best.searcherMetricValue !== undefined ? best : null;
  return html`<div class="stack">
    <div class="columns">
      <section class="card"><h2>Progress</h2><${Progress} value=${typeof experiment.progress === "number" ? experiment.progress : null} name="Progress of the search" /><dl class="facts">
        <dt>Search</dt><dd>${experiment.searcherType}</dd><dt>Trials</dt><dd class="numbers"><a href=${`/det/experiments/${experiment.id}/trials`}>${experiment.numTrials}</a></dd><dt>Pool</dt><dd>${experiment.resourcePool}</dd>
        <dt>Checkpoints</dt><dd class="numbers">${experiment.checkpointCount} (${bytes(experiment.checkpointSize)})</dd>${experiment.forkedFrom ? html`<dt>Forked from</dt><dd><a href=${`/det/experiments/${experiment.forkedFrom}`}>experiment ${experiment.forkedFrom}</a></dd>` : null}</dl></section>
      <section class="card"><h2>Best trial so far</h2>${found ? html`<dl class="facts"><dt>Trial</dt><dd><a href=${`/det/experiments/${experiment.id}/trials/${found.id}`}>${found.id}</a></dd><dt>${experiment.searcherMetric}</dt><dd class="numbers"><strong>${number(found.searcherMetricValue)}</strong></dd>
        ${Object.entries(found.hparams ?? {}).map(([name, one]) => html`<dt key=${name}>${name}</dt><dd class="numbers">${plain(one)}</dd>`)}</dl>` : html`<p class="muted">No trial has reported ${experiment.searcherMetric} yet.</p>`}</section>
      ${experiment.notes ? html`<section class="card"><h2>Notes</h2><p class="notes">${experiment.notes}</p></section>` : null}
    </div>
    ${experiment.searcherType === "single" && experiment.trialIds?.length === 1 ? html`<${TrialCharts} experiment=${experiment.id} trial=${experiment.trialIds[0]} version=${version} running=${!hasEnded(experiment.state)} />` : html`<${Curves} experiment=${experiment} />`}
  </div>`;
}

/** The curves of the best trials, which grow while trials report. @param {{experiment: Told}} props */
function Curves({ experiment }) {
  const curves = useSignal(/** @type {Map<number, {hparams: any, points: any[]}>} */ (new Map()));
  const at = query.value;
  const most = Number(at.get("top") ?? 20) || 20;
  const metric = at.get("metric") ?? `validation.${experiment.searcherMetric}`;
  const dot = metric.indexOf(".");
  const [group, name] = [metric.slice(0, dot), metric.slice(dot + 1)];
  const running = !hasEnded(experiment.state);
  const { names } = useMetricNames(experiment.id, [running]);

  useEffect(() => {
    const gone = new AbortController();
    curves.value = new Map();
    void (async () => {
      for await (const some of lines(`/api/v1/experiments/${experiment.id}/metrics-stream/trials-sample`, { metricName: name, group, maxTrials: most, maxDatapoints: 500, periodSeconds: 2 }, gone.signal)) {
        const next = new Map(curves.peek());
        for (const told of /** @type {import("../wire").v1TrialsSampleResponse[]} */ (some)) {
          for (const id of told.demotedTrials) next.delete(id);
          for (const one of told.trials) next.set(one.trialId, { hparams: one.hparams, points: appended(next.get(one.trialId)?.points ?? [], /** @type {any} */ (one.data)) });
        }
        curves.value = next;
      }
    })().catch(() => {});
    return () => gone.abort();
  }, [experiment.id, metric, most, running]);

  const drawn = useMemo(() => [...curves.value.entries()].filter(([, one]) => one.points.length).sort(([a], [b]) => a - b).map(([id, { points }]) => ({ label: `trial ${id}`, points, name })), [curves.value]);
  /** @type {[string, string][]} */
  const options = names.map((one) => ([`${one.group}.${one.name}`, `${one.name} (${one.group})`]));
  if (!options.some(([key]) => key === metric)) options.unshift([metric, `${name} (${group})`]);
  return html`<section class="stack tight"><div class="row apart"><h2>Learning curves</h2><div class="row">
      <${Select} label="Metric" value=${metric} options=${options} onChange=${(/** @type {string} */ next) => ask({ metric: next })} />
      <${Select} label="Trials" value=${String(most)} options=${[1, 10, 20, 50, 100].map((count) => [String(count), count === 1 ? "the best" : `the best ${count}`])} onChange=${(/** @type {string} */ next) => ask({ top: next === "20" ? "" : next })} /></div></div>
    <${ChartBar} epochs=${drawn.some((one) => one.points.some((point) => point.epoch !== null && point.epoch !== undefined))} />
    ${drawn.length ? html`<${Chart} title=${`${name} (${group})`} curves=${drawn} height=${340} ...${shown()} />` : html`<div class="card muted">${running ? "Nothing was reported yet: curves appear with the first report." : "Nothing was reported under this name."}</div>`}</section>`;
}

/** @param {Told} experiment @param {Record<string, any>} wanted @param {AbortSignal} aborted @returns {Promise<import("../wire").v1GetExperimentTrialsResponse>} */
const trialsOf = (experiment, wanted, aborted) => get(`/api/v1/experiments/${experiment.id}/trials`, wanted, aborted);

const SORTS = /** @type {const} */ ([["ID", "Trial"], ["STATE", "State"], ["BEST_VALIDATION_METRIC", "Best"], ["LATEST_VALIDATION_METRIC", "Latest"], ["BATCHES_PROCESSED", "Batches"], ["RESTARTS", "Restarts"], ["DURATION", "Duration"]]);
const PAGE = 100;

/** @param {{experiment: Told, version: number}} props */
function Trials({ experiment, version }) {
  const at = query.value;
  const by = SORTS.some(([key]) => key === at.get("by")) ? String(at.get("by")) : "ID";
  const desc = at.has("desc");
  const offset = Number(at.get("from") ?? 0) || 0;
  const { value, error, again } = useLoaded((aborted) => trialsOf(experiment, { limit: PAGE, offset, sortBy: `SORT_BY_${by}`, orderBy: desc ? "ORDER_BY_DESC" : "ORDER_BY_ASC" }, aborted), [experiment.id, version, by, desc, offset]);
  if (!value) return error ? html`<${Failed} error=${error} retry=${again} />` : html`<${Busy} what="Reading trials" />`;
  const total = Number(value.pagination.total);
  if (total === 0) return html`<${Empty} title="No trials yet">The search creates them when the experiment is active.<//>`;
  const tried = [...new Set(value.trials.flatMap((trial) => Object.keys(trial.hparams ?? {})))].filter((name) => value.trials.length === 1 || new Set(value.trials.map((trial) => JSON.stringify(trial.hparams?.[name]))).size > 1);
  const metric = experiment.searcherMetric ?? "";
  return html`<div class="scroll"><table class="plain"><thead><tr>${SORTS.map(([key, text]) => html`<th key=${key} class=${/BEST|LATEST|BATCH|RESTART|DURATION/.test(key) ? "number" : ""} aria-sort=${by === key ? (desc ? "descending" : "ascending") : undefined}>
      <button class="button quiet small" onClick=${() => ask({ by: key === "ID" ? "" : key, desc: by === key ? !desc : false, from: "" })}>${/BEST|LATEST/.test(key) ? `${text} ${metric}` : text}${by === key ? (desc ? " ▼" : " ▲") : ""}</button></th>`)}${tried.map((name) => html`<th key=${name} class="number">${name}</th>`)}<th>Why it ended</th><th><span class="only-read">More</span></th></tr></thead>
    <tbody>${value.trials.map((trial) => html`<tr key=${trial.id}><td><a href=${`/det/experiments/${experiment.id}/trials/${trial.id}`}>Trial ${trial.id}</a></td><td><${State} state=${trial.state} /></td>
      <td class="number">${number(valueOf(trial.bestValidation, metric))}</td><td class="number">${number(valueOf(trial.latestValidation, metric))}</td><td class="number">${number(trial.totalBatchesProcessed)}</td><td class="number">${trial.restarts}</td><td class="number">${between(trial.startTime, trial.endTime, nowOf(trial.state))}</td>
      ${tried.map((name) => html`<td key=${name} class="number">${plain(trial.hparams?.[name])}</td>`)}<td class="small muted reason">${trial.stateReason}</td><td><a href=${`/det/experiments/${experiment.id}/trials/${trial.id}/logs`}>Logs</a></td></tr>`)}</tbody></table></div>
    ${total > PAGE ? html`<div class="row"><${Button} disabled=${offset === 0} onClick=${() => ask({ from: Math.max(0, offset - PAGE) || "" })}>Before<//><span class="numbers">${offset + 1} to ${Math.min(total, offset + PAGE)} of ${total}</span><${Button} disabled=${offset + PAGE >= total} onClick=${() => ask({ from: offset + PAGE })}>After<//></div>` : null}`;
}

/** @param {any} validation @param {string} metric */
const valueOf = (validation, metric) => validation?.metrics?.avgMetrics?.[metric];

/** @param {{experiment: Told}} props */
function Configuration({ experiment }) {
  const at = query.value;
  const raw = at.has("submitted");
  return html`<div class="stack tight"><div class="row"><${Button} pressed=${!raw} onClick=${() => ask({ submitted: "" })}>As it runs<//><${Button} pressed=${raw} onClick=${() => ask({ submitted: true })}>As it was submitted<//></div>
    <pre class="code" tabindex="0" aria-label="Configuration">${raw ? experiment.originalConfig : yaml(experiment.config).trim()}</pre>
    <p class="muted">The same from the command line, and the code:</p><${Command} text=${`det experiment config ${experiment.id}`} /><${Command} text=${`det experiment download-model-def ${experiment.id}`} /></div>`;
}

/** @param {{path: string, version: number}} props */
export function Checkpoints({ path, version }) {
  const at = query.value;
  const deleted = at.has("deleted");
  const { value, error, again } = useLoaded((aborted) => /** @type {Promise<import("../wire").v1GetExperimentCheckpointsResponse>} */ (get(path, { limit: 200, sortByAttr: "SORT_BY_END_TIME", orderBy: "ORDER_BY_DESC", states: deleted ? [] : ["STATE_COMPLETED", "STATE_ACTIVE", "STATE_PARTIALLY_DELETED"] }, aborted)), [path, version, deleted]);
  if (!value) return error ? html`<${Failed} error=${error} retry=${again} />` : html`<${Busy} what="Reading checkpoints" />`;
  return html`<label class="check"><input type="checkbox" checked=${deleted} onChange=${() => ask({ deleted: !deleted })} />Deleted ones too</label>
    ${value.checkpoints.length ? html`<div class="scroll"><table class="plain"><thead><tr><th>Checkpoint</th><th>State</th><th>Trial</th><th class="number">Batches</th><th class="number">Metric</th><th class="number">Size</th><th>Saved</th></tr></thead><tbody>${value.checkpoints.map((one) => html`<tr key=${one.uuid}><td class="mono">${one.uuid}</td><td><${State} state=${one.state} /></td>
      <td>${one.training?.trialId ? html`<a href=${`/det/trials/${one.training.trialId}`}>${one.training.trialId}</a>` : null}</td><td class="number">${plain(one.metadata?.steps_completed)}</td><td class="number">${number(one.training?.searcherMetric)}</td>
      <td class="number">${bytes(Object.values(one.resources ?? {}).reduce((sum, size) => sum + Number(size), 0))}</td><td><${Ago} at=${one.reportTime} /></td></tr>`)}</tbody></table></div>
      <${Command} text=${`det checkpoint download ${value.checkpoints[0].uuid}`} />` : html`<${Empty} title="No checkpoints">Training code saves them: by itself with the Trainer, or with <code>core_context.checkpoint.store_path</code>.<//>`}`;
}

/** Everything that was decided about it, from the log of the cluster. @param {{id: number, version: number}} props */
function History({ id, version }) {
  // Without roles, administrators alone may read the log; where roles decide, the gateway says it.
  const may = user.value?.admin || master.value?.rbacEnabled;
  const { value, error } = useLoaded(async (aborted) => {
    if (!may) throw new Error("Administrators alone may read the log of events.");
    const found = [];
    let after = 0;
    for (let page = 0; page < 20; page += 1) {
      const answer = /** @type {import("../wire").GetLogEventsResponse} */ (await get("/api/v1/log/events", { stream: `experiment-${id}`, after, limit: 1000 }, aborted));
      found.push(...answer.events);
      if (!answer.more || answer.events.length === 0) break;
      after = Number(answer.events[answer.events.length - 1].position);
    }
    return found;
  }, [id, version]);
  const at = query.value;
  const type = at.get("type") ?? "";
  const limit = Number(at.get("show") ?? 200) || 200;
  if (!value) return error ? html`<${Message} tone="warn">${error instanceof Error ? error.message : String(error)} With the rights to it, the command line shows the same:<//><${Command} text=${`resolute log show experiment-${id}`} />` : html`<${Busy} what="Reading the log" />`;
  const types = [...new Set(value.map((event) => event.type))].sort();
  const fitting = value.filter((event) => !type || event.type === type).toReversed();
  return html`<div class="bar"><${Select} label="Events" value=${type} options=${[["", `all ${value.length}`], ...types.map((name) => [name, name])]} onChange=${(/** @type {string} */ next) => ask({ type: next })} /><span class="small muted">The newest first. Recorded facts of <code>experiment-${id}</code>; ${master.value?.clusterName ?? "the cluster"} computes all it shows from them.</span></div>
    <div class="scroll"><table class="plain"><thead><tr><th class="number">Position</th><th>When</th><th>What</th><th>By</th><th>Details</th></tr></thead><tbody>${fitting.slice(0, limit).map((event) => html`<tr key=${event.position}><td class="number">${event.position}</td><td>${new Date(event.recordedAt).toLocaleString()}</td><td>${event.type}</td><td>${event.actor}</td><td class="small wrap"><${Details} data=${event.data} /></td></tr>`)}</tbody></table></div>
    ${fitting.length > limit ? html`<${Button} onClick=${() => ask({ show: limit * 4 })}>Show more<//>` : null}`;
}

/** @param {{data: any}} props */
function Details({ data }) {
  const text = yaml(data).trim();
  if (text === "{}") return null;
  return text.length < 160 ? html`<span class="mono">${text.replaceAll("\n", "; ")}</span>` : html`<details><summary>${Object.keys(data).join(", ")}</summary><pre class="code">${text}</pre></details>`;
}
