// Experiments beside each other: the curves of the best trial of each, and where hyperparameters and configurations differ.
import { html, useEffect, useMemo } from "../core/dom.js";
import { get, lines } from "../core/client.js";
import { differences, leaves } from "../core/differences.js";
import { asked, field, group } from "../core/filters.js";
import { between, number, plain } from "../core/format.js";
import { useLoaded } from "../core/load.js";
import { query } from "../core/place.js";
import { together } from "../core/series.js";
import { read } from "../live/ranges.js";
import { search } from "../state/experiments.js";
import { Chart } from "../components/chart.js";
import { ChartBar, shown } from "../components/chart_bar.js";
import { Busy, Empty, Failed, Message, nowOf, State, Tabs } from "../components/parts.js";

/** @typedef {import("../wire").v1SearchExperimentExperiment} Found */

const MOST = 200;
const TABS = /** @type {const} */ ([["metrics", "Metrics"], ["hyperparameters", "Hyperparameters"], ["configuration", "Configuration"]]);

/** @param {number[]} ids @param {AbortSignal} aborted */
async function found(ids, aborted) {
  const answer = await search({ filter: asked(group("or", ids.map((id) => field("id", "=", id))), true), limit: MOST, sort: "id=asc" }, aborted);
  const trials = answer.experiments.flatMap(({ bestTrial }) => (bestTrial ? [bestTrial.id] : []));
  /** @type {{group: string, name: string}[]} */
  let names = [];
  for await (const some of lines("/api/v1/experiments/metrics-stream/metric-names", { ids, periodSeconds: 60 }, aborted)) {
    names = /** @type {import("../wire").v1ExpMetricNamesResponse[]} */ (some).flatMap((one) => one.metricNames ?? []);
    break;
  }
  const series = trials.length && names.length
    ? /** @type {import("../wire").v1CompareTrialsResponse} */ (await get("/api/v1/trials/time-series", { trialIds: trials, metricIds: names.map((one) => `${one.group}.${one.name}`), maxDatapoints: trials.length > 50 ? 150 : 500 }, aborted)).trials
    : [];
  return { experiments: answer.experiments, names, series };
}

export function Compare() {
  const at = query.value;
  const text = at.get("sel") ?? "";
  const ids = useMemo(() => /** @type {number[]} */ (read(text)).slice(0, MOST), [text]);
  const tab = TABS.some(([key]) => key === at.get("tab")) ? String(at.get("tab")) : "metrics";
  const { value, error, again } = useLoaded(async (aborted) => (ids.length ? found(ids, aborted) : null), [text]);
  useEffect(() => {
    document.title = "Comparison · Resolute";
  }, []);
  const to = (/** @type {string} */ key) => `/det/compare?sel=${encodeURIComponent(text)}${key === "metrics" ? "" : `&tab=${key}`}`;
  return html`<div class="page-head"><nav class="crumbs" aria-label="Where this is"><a href=${`/det/experiments?sel=${encodeURIComponent(text)}`}>Experiments</a></nav><h1>Comparison of ${ids.length} experiments</h1></div>
    ${read(text).length > MOST ? html`<${Message} tone="warn">The first ${MOST} are compared.<//>` : null}
    <${Tabs} label="About these experiments" at=${tab} tabs=${TABS.map(([key, name]) => [key, name, to(key)])} />
    ${error ? html`<${Failed} error=${error} retry=${again} />` : null}
    ${ids.length === 0 ? html`<${Empty} title="Nothing is chosen">Choose experiments in <a href="/det/experiments">the table</a>, and then Compare.<//>` : value ? html`<${Shown} tab=${tab} value=${value} />` : error ? null : html`<${Busy} what="Reading" />`}`;
}

/** @param {{tab: string, value: NonNullable<Awaited<ReturnType<typeof found>>>}} props */
function Shown({ tab, value }) {
  if (tab === "configuration") return html`<${Table} rows=${value.experiments} documents=${value.experiments.map((one) => one.experiment.config)} none="The configurations do not differ." />`;
  if (tab === "hyperparameters") return html`<${Table} rows=${value.experiments} documents=${value.experiments.map((one) => one.bestTrial?.hparams ?? {})} none="The hyperparameters of the best trials do not differ." />`;
  return html`<${Metrics} ...${value} />`;
}

/** @param {Found} row */
const named = ({ experiment }) => `#${experiment.id} ${experiment.name}`;

/** @param {{experiments: Found[], names: {group: string, name: string}[], series: NonNullable<import("../wire").v1CompareTrialsResponse["trials"]>}} props */
function Metrics({ experiments, names, series }) {
  const { zoom, ...how } = shown();
  const charts = useMemo(() => {
    const byTrial = new Map(experiments.flatMap((row) => (row.bestTrial ? [[row.bestTrial.id, row]] : [])));
    return together(names).map(({ name, metrics }) => ({
      name,
      curves: series.flatMap(({ trial, metrics: told }) => metrics.flatMap((metric) => {
        const row = byTrial.get(trial.id);
        const points = (told.find((one) => one.group === metric.group)?.data ?? []).filter((/** @type {any} */ point) => metric.name in (point.values ?? {}));
        return row && points.length ? [{ label: metrics.length > 1 ? `${named(row)} ${metric.group}` : named(row), name: metric.name, points: /** @type {any} */ (points) }] : [];
      })),
    })).filter((one) => one.curves.length);
  }, [experiments, names, series]);
  return html`<div class="scroll"><table class="plain"><thead><tr><th>Experiment</th><th>State</th><th>Best trial</th><th>Metric</th><th class="number">Best</th><th class="number">Duration</th></tr></thead><tbody>${experiments.map((row) => html`<tr key=${row.experiment.id}><td class="wrap"><a href=${`/det/experiments/${row.experiment.id}`}>${named(row)}</a></td><td><${State} state=${row.experiment.state} /></td>
      <td>${row.bestTrial ? html`<a href=${`/det/experiments/${row.experiment.id}/trials/${row.bestTrial.id}`}>${row.bestTrial.id}</a>` : null}</td><td>${row.experiment.searcherMetric}</td><td class="number">${number(row.bestTrial?.searcherMetricValue)}</td><td class="number">${between(row.experiment.startTime, row.experiment.endTime, nowOf(row.experiment.state))}</td></tr>`)}</tbody></table></div>
    ${charts.length ? html`<${ChartBar} /><h2 class="only-read">Charts</h2><div class="charts">${charts.map((chart) => html`<${Chart} key=${chart.name} title=${chart.name} curves=${chart.curves} sync="compare" zoom=${zoom} ...${how} />`)}</div>` : html`<${Empty} title="No metrics yet">None of these experiments has a trial that reported a validation.<//>`}`;
}

/** @param {{rows: Found[], documents: any[], none: string}} props */
function Table({ rows, documents, none }) {
  const found = useMemo(() => differences(documents), [documents]);
  const same = useMemo(() => documents.reduce((most, one) => Math.max(most, leaves(one).size), 0), [documents]);
  if (found.length === 0) return html`<${Empty} title=${none} />`;
  return html`<p class="small muted">${found.length} of ${Math.max(same, found.length)} values differ, and are shown.</p><div class="scroll"><table class="plain"><thead><tr><th>Value</th>${rows.map((row) => html`<th key=${row.experiment.id}><a href=${`/det/experiments/${row.experiment.id}`}>${named(row)}</a></th>`)}</tr></thead>
    <tbody>${found.map(({ path, values }) => html`<tr key=${path}><th scope="row" class="mono">${path}</th>${values.map((value, index) => html`<td key=${index} class="wrap numbers">${value === undefined ? html`<span class="muted">–</span>` : plain(value)}</td>`)}</tr>`)}</tbody></table></div>`;
}
