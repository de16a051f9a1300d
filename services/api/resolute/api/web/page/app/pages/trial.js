// One trial: its metrics, its log, its hyperparameters, its checkpoints.
import { html, useEffect, useSignal } from "../core/dom.js";
import { get, send } from "../core/client.js";
import { here } from "../core/place.js";
import { gathered, useLoaded } from "../core/load.js";
import { bareState, between, bytes, hasEnded, number, plain } from "../core/format.js";
import { flat } from "../core/hyperparameters.js";
import { listen } from "../live/stream.js";
import { LogView } from "../components/log_view.js";
import { Profiler } from "../components/profiler.js";
import { TrialCharts } from "../components/trial_charts.js";
import { Ago, Busy, Button, confirm, Empty, Failed, Message, nowOf, State, Tabs, toast } from "../components/parts.js";
import { Checkpoints } from "./experiment.js";

const TABS = /** @type {const} */ ([["metrics", "Metrics"], ["logs", "Log"], ["hyperparameters", "Hyperparameters"], ["checkpoints", "Checkpoints"], ["profiler", "Profiler"]]);

export function Trial() {
  const id = Number(here.value.params.trial);
  const wanted = here.value.params.tab ?? "metrics";
  const tab = TABS.some(([key]) => key === wanted) ? wanted : "metrics";
  const { value: trial, error, again } = useLoaded(async (aborted) => /** @type {import("../wire").v1GetTrialResponse} */ (await get(`/api/v1/trials/${id}`, {}, aborted)).trial, [id]);
  const version = useSignal(0);
  useEffect(() => {
    const soon = gathered(() => { again(); version.value += 1; }, 500);
    const stop = listen({ trials: { trial_ids: [id] } }, { has: { trials: [id] }, changed: soon, ready: soon });
    return () => { stop(); soon.stop(); };
  }, [id]);
  useEffect(() => {
    document.title = `Trial ${id} · Resolute`;
  }, [id]);
  if (!trial) return error ? html`<${Failed} heading=${`Trial ${id}`} error=${error} retry=${again} />` : html`<h1>Trial ${id}</h1><${Busy} what="Reading it" />`;
  const experiment = trial.experimentId;
  const to = (/** @type {string} */ key) => `/det/experiments/${experiment}/trials/${id}${key === "metrics" ? "" : `/${key}`}`;
  const ended = hasEnded(trial.state);
  const kill = () => confirm({ title: `Kill trial ${id}?`, text: "It ends at once. What was trained since the last checkpoint is lost.", action: "Kill the trial", run: async () => {
    await send("POST", `/api/v1/trials/${id}/kill`, { body: {} }).then(() => toast(`Trial ${id} killed`), (refused) => toast(refused.message, { tone: "bad" }));
  } });
  return html`<div class="page-head">
      <nav class="crumbs" aria-label="Where this is"><a href="/det/experiments">Experiments</a> / <a href=${`/det/experiments/${experiment}`}>Experiment ${experiment}</a> / <a href=${`/det/experiments/${experiment}/trials`}>Trials</a></nav>
      <div class="row apart"><h1>Trial ${id}</h1><div class="row"><a class="button" href=${`/det/experiments/${experiment}/trials/${id}/fork`}>Fork</a>${ended ? null : html`<${Button} kind="danger" onClick=${kill}>Kill<//>`}</div></div>
      <div class="row"><${State} state=${trial.state} /><span class="muted numbers">started <${Ago} at=${trial.startTime} />, ${between(trial.startTime, trial.endTime, nowOf(trial.state))}, ${number(trial.totalBatchesProcessed)} batches, ${trial.restarts} restarts${trial.searcherMetricValue === null || trial.searcherMetricValue === undefined ? "" : `, searcher's metric ${number(trial.searcherMetricValue)}`}, ${trial.checkpointCount} checkpoints (${bytes(trial.totalCheckpointSize)})</span></div></div>
    ${trial.stateReason ? html`<${Message} tone=${bareState(trial.state) === "ERROR" ? "bad" : ""}>${trial.stateReason}<//>` : null}
    ${error ? html`<${Failed} error=${error} retry=${again} />` : null}
    <${Tabs} label="About this trial" at=${tab} tabs=${TABS.map(([key, text]) => [key, text, to(key)])} />
    ${tab === "metrics" ? html`<${TrialCharts} experiment=${experiment} trial=${id} version=${version.value} running=${!ended} />` : null}
    ${tab === "logs" ? html`<${LogView} path=${`/api/v1/trials/${id}/logs`} label=${`Log of trial ${id}`} file=${`trial-${id}-log.json`} />` : null}
    ${tab === "hyperparameters" ? html`<${Hyperparameters} values=${trial.hparams ?? {}} />` : null}
    ${tab === "checkpoints" ? html`<${Checkpoints} path=${`/api/v1/trials/${id}/checkpoints`} version=${version.value} />` : null}
    ${tab === "profiler" ? html`<${Profiler} trial=${id} running=${!ended} />` : null}`;
}

/** @param {{values: Record<string, any>}} props */
function Hyperparameters({ values }) {
  const rows = flat(values);
  if (rows.length === 0) return html`<${Empty} title="No hyperparameters">The configuration names none under <code>hyperparameters</code>.<//>`;
  return html`<div class="card scroll"><table class="plain"><thead><tr><th>Name</th><th>Value</th></tr></thead><tbody>${rows.map(([name, value]) => html`<tr key=${name}><td class="mono">${name}</td><td class="numbers wrap">${plain(value)}</td></tr>`)}</tbody></table></div>`;
}
