// How the hyperparameters of a search bear on a metric: parallel coordinates, and a scatter plot of each.
import { html, useEffect, useMemo, useRef, useSignal } from "../core/dom.js";
import { lines } from "../core/client.js";
import { axesOf, axis, flat, isWithin, logarithmic, place, ranks, valueAt } from "../core/hyperparameters.js";
import { hasEnded, number, plain } from "../core/format.js";
import { ask, query } from "../core/place.js";
import { useMetricNames } from "../state/metrics.js";
import { Canvas } from "./canvas.js";
import { Button, Empty, Message, Select } from "./parts.js";

/** @typedef {import("../core/hyperparameters.js").Tried} Tried */
/** @typedef {import("../core/hyperparameters.js").Axis} Axis */
/** @typedef {import("../core/hyperparameters.js").Brushes} Brushes */

/** Behind all batches: the report nearest to it is the last one. */
const LAST = 2_147_483_647;
const TOP = 28;
const FOOT = 24;
const SIDE = 60;
const ROWS = 100;

/** @param {{experiment: import("../wire").v1Experiment}} props */
export function Hyperparameters({ experiment }) {
  const running = !hasEnded(experiment.state);
  const { names } = useMetricNames(experiment.id, [running]);
  const tried = useSignal(/** @type {Map<number, Tried>} */ (new Map()));
  const brushes = useSignal(/** @type {Brushes} */ ({}));
  const error = useSignal("");
  const at = query.value;
  const metric = at.get("metric") ?? `validation.${experiment.searcherMetric}`;
  const dot = metric.indexOf(".");
  const [group, name] = [metric.slice(0, dot), metric.slice(dot + 1)];
  const smaller = experiment.config?.searcher?.smaller_is_better !== false;
  useEffect(() => {
    const gone = new AbortController();
    tried.value = new Map();
    brushes.value = {};
    error.value = "";
    void (async () => {
      for await (const some of lines(`/api/v1/experiments/${experiment.id}/metrics-stream/trials-snapshot`, { metricName: name, group, batchesProcessed: LAST, batchesMargin: LAST, periodSeconds: 2 }, gone.signal)) {
        const next = new Map(tried.peek());
        for (const one of /** @type {import("../wire").v1TrialsSnapshotResponse[]} */ (some).flatMap((told) => told.trials)) next.set(one.trialId, { id: one.trialId, metric: Number(one.metric), values: Object.fromEntries(flat(one.hparams ?? {})) });
        tried.value = next;
      }
    })().catch((failed) => { if (!gone.signal.aborted) error.value = failed instanceof Error ? failed.message : String(failed); });
    return () => gone.abort();
  }, [experiment.id, metric, running]);
  const all = useMemo(() => [...tried.value.values()].filter((one) => Number.isFinite(one.metric)).sort((a, b) => a.id - b.id), [tried.value]);
  const axes = useMemo(() => axesOf(all, logarithmic(experiment.config?.hyperparameters ?? {})), [all]);
  const result = useMemo(() => axis(name, all.map((one) => one.metric), false), [all, name]);
  const rank = useMemo(() => ranks(all, smaller), [all, smaller]);
  /** @type {[string, string][]} */
  const options = names.map((one) => [`${one.group}.${one.name}`, `${one.name} (${one.group})`]);
  if (!options.some(([key]) => key === metric)) options.unshift([metric, `${name} (${group})`]);
  const view = at.get("view") === "scatter" ? "scatter" : "parallel";
  const within = all.filter((one) => isWithin([...axes, result], one, brushes.value, (trial, key) => valueOf(trial, key, name)));
  const best = within.toSorted((a, b) => (rank.get(a.id) ?? 0) - (rank.get(b.id) ?? 0)).slice(0, ROWS);
  return html`<div class="stack"><div class="bar"><${Button} pressed=${view === "parallel"} onClick=${() => ask({ view: "" })}>Parallel coordinates<//><${Button} pressed=${view === "scatter"} onClick=${() => ask({ view: "scatter" })}>Scatter<//>
      <${Select} label="Metric" value=${metric} options=${options} onChange=${(/** @type {string} */ next) => ask({ metric: next })} />${Object.keys(brushes.value).length ? html`<${Button} onClick=${() => (brushes.value = {})}>Show all trials<//>` : view === "parallel" && axes.length ? html`<span class="small muted">Drag along an axis to choose trials.</span>` : null}</div>
    ${error.value ? html`<${Message} tone="bad">${error.value}<//>` : null}
    ${all.length === 0 ? html`<${Empty} title="Nothing to compare yet">Charts appear when trials have reported ${name}.<//>`
      : axes.length === 0 ? html`<${Empty} title="No hyperparameter differs">All trials that have reported ${name} have the same hyperparameters.<//>`
        : view === "parallel" ? html`<${Parallel} trials=${all} axes=${axes} result=${result} rank=${rank} brushes=${brushes} />`
          : html`<div class="charts">${axes.map((one) => html`<${Scatter} key=${one.name} trials=${all} across=${one} result=${result} rank=${rank} />`)}</div>`}
    ${axes.length ? html`<section class="card stack tight"><h2>${within.length === all.length ? `${all.length} trials` : `${within.length} of ${all.length} trials`}, the best first</h2><p class="small muted">${name}: the last value that each reported. ${smaller ? "Smaller is better." : "Larger is better."}${within.length > ROWS ? ` The first ${ROWS} are listed.` : ""}</p>
      <div class="scroll" tabindex="0" role="region" aria-label="Trials and their hyperparameters"><table class="plain"><thead><tr><th>Trial</th><th class="number">${name}</th>${axes.map((one) => html`<th key=${one.name} class="number">${one.name}</th>`)}</tr></thead><tbody>${best.map((one) => html`<tr key=${one.id}><td><a href=${`/det/experiments/${experiment.id}/trials/${one.id}`}>Trial ${one.id}</a></td><td class="number">${number(one.metric)}</td>${axes.map(({ name: key }) => html`<td key=${key} class="number">${plain(one.values[key])}</td>`)}</tr>`)}</tbody></table></div></section>` : null}</div>`;
}

/** @param {Tried} one @param {string} key @param {string} metric */
const valueOf = (one, key, metric) => (key === metric && !(key in one.values) ? one.metric : one.values[key]);

/** From the best to the worst: the colour of a trial. @param {import("./canvas.js").Sheet["colour"]} colour @param {number} rank */
const shade = (colour, rank) => colour(rank < 0.1 ? "--series-3" : rank < 0.4 ? "--series-1" : rank < 0.7 ? "--series-4" : "--series-2");

/** @param {Axis} axis @returns {[number, string][]} */
const marks = (axis) => (axis.kind === "words" ? axis.words.map((word, i) => [axis.words.length === 1 ? 0.5 : i / (axis.words.length - 1), word]) : [0, 0.25, 0.5, 0.75, 1].map((at) => [at, number(Number(valueAt(axis, at).toPrecision(3)))]));

/** @param {string} text @param {number} most */
const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** @param {{trials: Tried[], axes: Axis[], result: Axis, rank: Map<number, number>, brushes: {value: Brushes}}} props */
function Parallel({ trials, axes, result, rank, brushes }) {
  const lines_ = [...axes, result];
  const height = 380;
  const across = (/** @type {number} */ width, /** @type {number} */ index) => SIDE + (index * (width - 2 * SIDE)) / Math.max(1, lines_.length - 1);
  const up = (/** @type {number} */ at) => height - FOOT - at * (height - TOP - FOOT);
  const back = (/** @type {number} */ y) => Math.min(1, Math.max(0, (height - FOOT - y) / (height - TOP - FOOT)));
  const begun = useRef(/** @type {{name: string, from: number} | null} */ (null));
  const draw = (/** @type {import("./canvas.js").Sheet} */ { pen, width, colour }) => {
    pen.clearRect(0, 0, width, height);
    pen.lineJoin = "round";
    const ordered = trials.toSorted((a, b) => (rank.get(b.id) ?? 0) - (rank.get(a.id) ?? 0));
    for (const one of ordered) {
      const chosen = isWithin(lines_, one, brushes.value, (trial, key) => valueOf(trial, key, result.name));
      pen.strokeStyle = chosen ? shade(colour, rank.get(one.id) ?? 0) : colour("--line-strong");
      pen.globalAlpha = chosen ? Math.max(0.25, Math.min(0.9, 40 / trials.length)) : 0.12;
      pen.lineWidth = (rank.get(one.id) ?? 1) === 0 ? 2.5 : 1.25;
      pen.beginPath();
      let drawing = false;
      for (const [index, line] of lines_.entries()) {
        const at = place(line, line === result ? one.metric : one.values[line.name]);
        if (at === null) { drawing = false; continue; }
        if (drawing) pen.lineTo(across(width, index), up(at));
        else pen.moveTo(across(width, index), up(at));
        drawing = true;
      }
      pen.stroke();
    }
    pen.globalAlpha = 1;
    pen.font = "12px system-ui";
    for (const [index, line] of lines_.entries()) {
      const x = across(width, index);
      pen.strokeStyle = colour("--line-strong");
      pen.lineWidth = 1;
      pen.beginPath();
      pen.moveTo(x, up(0));
      pen.lineTo(x, up(1));
      pen.stroke();
      pen.fillStyle = colour("--text");
      pen.textAlign = "center";
      pen.fillText(cut(line === result ? `${line.name} (metric)` : line.kind === "log" ? `${line.name} (log)` : line.name, Math.max(8, Math.floor(width / lines_.length / 7))), x, 14);
      pen.textAlign = index === 0 ? "right" : "left";
      for (const [at, text] of marks(line)) {
        const short = cut(text, index === 0 || index === lines_.length - 1 ? 8 : 14);
        const size = pen.measureText(short).width;
        pen.globalAlpha = 0.75;
        pen.fillStyle = colour("--surface");
        pen.fillRect(index === 0 ? x - 8 - size : x + 4, up(at) - 8, size + 4, 16);
        pen.globalAlpha = 1;
        pen.fillStyle = colour("--muted");
        pen.fillText(short, x + (index === 0 ? -6 : 6), up(at) + 4);
      }
      const brush = brushes.value[line.name];
      if (brush) {
        pen.fillStyle = colour("--accent");
        pen.globalAlpha = 0.3;
        pen.fillRect(x - 7, up(brush[1]), 14, Math.max(2, up(brush[0]) - up(brush[1])));
        pen.globalAlpha = 1;
      }
    }
  };
  const press = (/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ width) => {
    const index = lines_.reduce((nearest, _, i) => (Math.abs(across(width, i) - x) < Math.abs(across(width, nearest) - x) ? i : nearest), 0);
    begun.current = Math.abs(across(width, index) - x) < 24 ? { name: lines_[index].name, from: back(y) } : null;
  };
  const drag = (/** @type {number} */ _, /** @type {number} */ y) => {
    if (begun.current) brushes.value = { ...brushes.value, [begun.current.name]: [Math.min(begun.current.from, back(y)), Math.max(begun.current.from, back(y))] };
  };
  const release = (/** @type {number} */ _, /** @type {number} */ y) => {
    if (begun.current && Math.abs(back(y) - begun.current.from) < 0.01) {
      const { [begun.current.name]: __, ...rest } = brushes.value;
      brushes.value = rest;
    }
    begun.current = null;
  };
  return html`<figure class="card scroll" tabindex="0" aria-label="Parallel coordinates"><div style=${{ minWidth: `${Math.max(320, lines_.length * 110)}px` }}><${Canvas} label=${`Parallel coordinates of ${trials.length} trials over ${axes.map((one) => one.name).join(", ")}, and ${result.name}. The values are in the table below.`} height=${height} draw=${draw} of=${[trials, axes, result, rank, brushes.value]} onPress=${press} onDrag=${drag} onRelease=${release} /></div>
    <p class="small muted row"><${Key} token="--series-3" /> the best tenth <${Key} token="--series-1" /> to 40 % <${Key} token="--series-4" /> to 70 % <${Key} token="--series-2" /> the rest</p></figure>`;
}

/** @param {{token: string}} props */
const Key = ({ token }) => html`<span class="slot" aria-hidden="true" style=${{ background: `var(${token})`, width: "14px", height: "14px" }}></span>`;

/** @param {{trials: Tried[], across: Axis, result: Axis, rank: Map<number, number>}} props */
function Scatter({ trials, across, result, rank }) {
  const height = 260;
  const draw = (/** @type {import("./canvas.js").Sheet} */ { pen, width, colour }) => {
    pen.clearRect(0, 0, width, height);
    const x = (/** @type {number} */ at) => SIDE + 8 + at * (width - SIDE - 24);
    const y = (/** @type {number} */ at) => height - FOOT - 8 - at * (height - TOP - FOOT);
    pen.font = "12px system-ui";
    pen.lineWidth = 1;
    pen.strokeStyle = colour("--line");
    pen.fillStyle = colour("--muted");
    for (const [at, text] of marks(across)) {
      pen.beginPath();
      pen.moveTo(x(at), y(0) + 4);
      pen.lineTo(x(at), y(1));
      pen.stroke();
      pen.textAlign = "center";
      pen.fillText(cut(text, 10), x(at), height - 6);
    }
    for (const [at, text] of marks(result)) {
      pen.beginPath();
      pen.moveTo(x(0) - 4, y(at));
      pen.lineTo(x(1), y(at));
      pen.stroke();
      pen.textAlign = "right";
      pen.fillText(text, SIDE, y(at) + 4);
    }
    pen.globalAlpha = trials.length > 500 ? 0.4 : 0.8;
    for (const one of trials.toSorted((a, b) => (rank.get(b.id) ?? 0) - (rank.get(a.id) ?? 0))) {
      const [left, over] = [place(across, one.values[across.name]), place(result, one.metric)];
      if (left === null || over === null) continue;
      pen.fillStyle = shade(colour, rank.get(one.id) ?? 0);
      pen.beginPath();
      pen.arc(x(left), y(over), (rank.get(one.id) ?? 1) === 0 ? 5 : 3, 0, 7);
      pen.fill();
    }
    pen.globalAlpha = 1;
  };
  return html`<figure class="card stack tight"><figcaption><h3 class="wrap">${across.name}${across.kind === "log" ? " (log)" : ""}</h3></figcaption><${Canvas} label=${`Scatter plot of ${result.name} by ${across.name}, of ${trials.length} trials. The values are in the table below.`} height=${height} draw=${draw} of=${[trials, across, result, rank]} /></figure>`;
}
