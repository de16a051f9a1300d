// Curves by uPlot. Drag to zoom, double click to see all again; the zoom is the caller's, so that charts share it.
import uPlot from "../../vendor/uplot/uPlot.js";
import { html, useEffect, useMemo, useRef, useSignal } from "../core/dom.js";
import { number } from "../core/format.js";
import { smoothed, table } from "../core/series.js";

/** @typedef {import("../core/series.js").Curve} Curve */
/** @typedef {import("../core/series.js").Across} Across */

const styles = new URL("../../vendor/uplot/uPlot.css", import.meta.url).href;
if (!document.querySelector(`link[href="${styles}"]`)) {
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = styles;
  document.head.append(link);
}

const themed = () => {
  const css = getComputedStyle(document.documentElement);
  const of = (/** @type {string} */ name) => css.getPropertyValue(name).trim();
  return { text: of("--muted"), line: of("--line"), series: Array.from({ length: 8 }, (_, i) => of(`--series-${i + 1}`)) };
};

const DASHES = [[], [6, 4], [2, 3]];

/** @type {Record<Across, string>} */
const ACROSS = { batches: "batches", time: "time", relative: "seconds since the first report", epoch: "epoch" };

/** @param {{title: string, curves: Curve[], across?: Across, log?: boolean, smooth?: number, zoom?: [number, number] | null, onZoom?: (zoom: [number, number] | null) => void, sync?: string, height?: number}} props */
export function Chart({ title, curves, across = "batches", log = false, smooth = 0, zoom = null, onZoom, sync, height = 260 }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const plot = useRef(/** @type {any} */ (null));
  const turn = useSignal(0);
  const zoomed = useRef(onZoom);
  zoomed.current = onZoom;
  const data = useMemo(() => {
    const [xs, ...ys] = table(curves, across, log);
    return smooth ? [xs, ...ys.flatMap((values) => [smoothed(values, smooth), values])] : [xs, ...ys];
  }, [curves, across, log, smooth]);
  const labels = curves.map((curve) => curve.label).join("\n");

  useEffect(() => {
    const again = () => setTimeout(() => (turn.value += 1));
    addEventListener("resolute-theme", again);
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", again);
    return () => { removeEventListener("resolute-theme", again); system.removeEventListener("change", again); };
  }, []);

  useEffect(() => {
    const at = /** @type {HTMLElement} */ (box.current);
    const theme = themed();
    const curveOf = (/** @type {string} */ label, /** @type {number} */ index, /** @type {boolean} */ behind) => ({
      label: behind ? `${label} (as reported)` : label, class: behind ? "behind" : undefined, spanGaps: false, width: behind ? 1 : 1.5, alpha: behind ? 0.3 : 1,
      stroke: theme.series[index % 8], dash: DASHES[Math.floor(index / 8) % 3], points: { size: 5, show: behind ? false : undefined },
      value: (/** @type {any} */ _, /** @type {number | null} */ value) => number(value),
    });
    const axis = { stroke: theme.text, grid: { stroke: theme.line, width: 1 }, ticks: { stroke: theme.line, width: 1 } };
    const made = new uPlot(
      /** @type {any} */ ({
        width: Math.max(200, at.clientWidth), height,
        scales: { x: { time: across === "time" }, y: log ? { distr: 3 } : { range: (/** @type {any} */ _, /** @type {number} */ low, /** @type {number} */ high) => (low === null ? [0, 1] : uPlot.rangeNum(low, high, 0.08, false)) } },
        axes: [{ ...axis, label: ACROSS[across], labelSize: 20, labelFont: "12px system-ui", values: across === "time" ? undefined : (/** @type {any} */ _, /** @type {number[]} */ ticks) => ticks.map(number) }, { ...axis, size: 64, values: (/** @type {any} */ _, /** @type {(number | null)[]} */ ticks) => ticks.map((tick) => (tick === null ? "" : number(tick))) }],
        series: [{ label: across === "time" ? "time" : ACROSS[across], value: across === "time" ? undefined : (/** @type {any} */ _, /** @type {number | null} */ value) => number(value) }, ...curves.flatMap((curve, index) => (smooth ? [curveOf(curve.label, index, false), curveOf(curve.label, index, true)] : [curveOf(curve.label, index, false)]))],
        cursor: { drag: { x: true, y: false, setScale: false }, sync: sync ? { key: sync, setSeries: false } : undefined, focus: { prox: 24 } },
        focus: { alpha: 0.35 }, legend: { live: true },
        hooks: {
          setSelect: [(/** @type {any} */ u) => {
            if (u.select.width < 6) return;
            zoomed.current?.([u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")]);
            u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          }],
        },
      }),
      /** @type {any} */ (data), at,
    );
    plot.current = made;
    made.over.addEventListener("dblclick", () => zoomed.current?.(null));
    const observer = new ResizeObserver(() => { if (at.clientWidth > 0) made.setSize({ width: at.clientWidth, height }); });
    observer.observe(at);
    return () => { observer.disconnect(); made.destroy(); plot.current = null; };
  }, [labels, across, log, Boolean(smooth), turn.value, height]);
  useEffect(() => {
    const made = plot.current;
    if (!made || made.data === data) return;
    made.setData(data, !zoom);
  }, [data]);
  useEffect(() => {
    const made = plot.current;
    const xs = data[0];
    if (!made || xs.length === 0) return;
    if (zoom) made.setScale("x", { min: zoom[0], max: zoom[1] });
    else made.setData(data, true);
  }, [zoom?.[0], zoom?.[1], labels, across, log, Boolean(smooth), turn.value]);

  const save = () => {
    const canvas = /** @type {HTMLCanvasElement | null} */ (box.current?.querySelector("canvas"));
    canvas?.toBlob((blob) => { if (blob) download(blob, `${title}.png`); });
  };
  const csv = () => {
    const [xs, ...ys] = table(curves, across, false);
    const cell = (/** @type {string} */ text) => `"${text.replaceAll('"', '""').replace(/^[=+@-]/, "'$&")}"`;
    const lines = [[ACROSS[across], ...curves.map((curve) => curve.label)].map(cell).join(","), ...xs.map((at, i) => [at, ...ys.map((values) => values[i] ?? "")].join(","))];
    download(new Blob([lines.join("\n")], { type: "text/csv" }), `${title}.csv`);
  };
  return html`<figure class="card stack tight"><figcaption class="row apart"><h3 class="wrap">${title}</h3><span>
      <button class="button quiet small" onClick=${save} aria-label=${`Download ${title} as PNG`}>PNG</button><button class="button quiet small" onClick=${csv} aria-label=${`Download ${title} as CSV`}>CSV</button></span></figcaption>
    <div class="chart" ref=${box} role="img" aria-label=${`Chart of ${title} by ${ACROSS[across]}. Its values are in the table below.`}></div>
    <details class="small"><summary>Values</summary><${Values} curves=${curves} /></details></figure>`;
}

/** @param {{curves: Curve[]}} props */
function Values({ curves }) {
  return html`<div class="scroll"><table class="plain"><thead><tr><th>Curve</th><th class="number">Points</th><th class="number">Lowest</th><th class="number">Highest</th><th class="number">Last</th></tr></thead><tbody>${curves.map(({ label, points, name }) => {
    const values = points.map((point) => Number(point.values?.[name])).filter((value) => Number.isFinite(value));
    const lowest = values.reduce((a, b) => Math.min(a, b), Infinity);
    const highest = values.reduce((a, b) => Math.max(a, b), -Infinity);
    return html`<tr key=${label}><td class="wrap">${label}</td><td class="number">${values.length}</td><td class="number">${values.length ? number(lowest) : ""}</td><td class="number">${values.length ? number(highest) : ""}</td><td class="number">${values.length ? number(values[values.length - 1]) : ""}</td></tr>`;
  })}</tbody></table></div>`;
}

/** @param {Blob} blob @param {string} name */
function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name.replace(/[^\w. -]/g, "_");
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
