// All metrics of one trial: training and validation of one name together, zoomed together.
import { html, useEffect, useMemo, useSignal } from "../core/dom.js";
import { get, lines } from "../core/client.js";
import { gathered, useLoaded } from "../core/load.js";
import { together } from "../core/series.js";
import { useMetricNames } from "../state/metrics.js";
import { Chart } from "./chart.js";
import { ChartBar, shown } from "./chart_bar.js";
import { Busy, Empty, Failed } from "./parts.js";

/** @typedef {import("../core/series.js").Curve} Curve */

const POINTS = 1500;

/** @param {{experiment: number, trial: number, version: number, running: boolean}} props */
export function TrialCharts({ experiment, trial, version, running }) {
  const { names, told } = useMetricNames(experiment);
  const { zoom, ...how } = shown();
  const turn = useSignal(0);
  // Reports of training are no events: the stream of batches of one of its metrics says when there are more.
  const clock = names.find((one) => one.group === "training");
  useEffect(() => {
    if (!clock || !running) return;
    const gone = new AbortController();
    const soon = gathered(() => (turn.value += 1), 500);
    void (async () => {
      for await (const _ of lines(`/api/v1/experiments/${experiment}/metrics-stream/batches`, { metricName: clock.name, group: clock.group, periodSeconds: 2 }, gone.signal)) soon();
    })().catch(() => {});
    return () => { gone.abort(); soon.stop(); };
  }, [clock?.name, running, experiment]);

  const within = zoom && how.across === "batches" ? { startBatches: Math.max(0, Math.floor(zoom[0])), endBatches: Math.max(1, Math.ceil(zoom[1])) } : {};
  const ids = names.map((one) => `${one.group}.${one.name}`);
  const { value, error, again } = useLoaded(async (aborted) => {
    if (ids.length === 0) return null;
    return /** @type {Promise<import("../wire").v1CompareTrialsResponse>} */ (get("/api/v1/trials/time-series", { trialIds: [trial], metricIds: ids, maxDatapoints: POINTS, ...within }, aborted));
  }, [trial, ids.join("\n"), version, turn.value, JSON.stringify(within)]);

  const charts = useMemo(() => {
    /** @type {Map<string, any[]>} */
    const points = new Map();
    for (const one of value?.trials?.[0]?.metrics ?? []) points.set(one.group, one.data);
    return together(names).map(({ name, metrics }) => ({
      name, curves: metrics.map((one) => /** @type {Curve} */ ({ label: `${one.name} (${one.group})`, name: one.name, points: (points.get(one.group) ?? []).filter((/** @type {any} */ point) => one.name in (point.values ?? {})) })).filter((one) => one.points.length),
    })).filter((one) => one.curves.length);
  }, [value, names]);
  if (error) return html`<${Failed} error=${error} retry=${again} />`;
  if (!told || (ids.length && !value)) return html`<${Busy} what="Reading metrics" />`;
  if (charts.length === 0) return html`<${Empty} title="No metrics yet">Charts appear with the first report, which training code makes by itself with the Trainer, or with <code>core_context.train.report_training_metrics</code>.<//>`;
  const epochs = charts.some((chart) => chart.curves.some((curve) => curve.points.some((point) => point.epoch !== null && point.epoch !== undefined)));
  return html`<${ChartBar} epochs=${epochs} /><h2 class="only-read">Charts</h2><div class="charts">${charts.map((chart) => html`<${Chart} key=${chart.name} title=${chart.curves.length === 1 ? chart.curves[0].label : chart.name} curves=${chart.curves} sync=${`trial-${trial}`} zoom=${zoom} ...${how} />`)}</div>`;
}
