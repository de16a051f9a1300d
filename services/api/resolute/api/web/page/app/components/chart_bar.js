// How charts are shown: what goes across, which scale, how smooth. All of it stands in the address.
import { html } from "../core/dom.js";
import { ask, query } from "../core/place.js";
import { Button, Select } from "./parts.js";

/** @returns {{across: import("../core/series.js").Across, log: boolean, smooth: number, zoom: [number, number] | null, onZoom: (zoom: [number, number] | null) => void}} */
export function shown() {
  const at = query.value;
  const wanted = at.get("x") ?? "batches";
  const [low, high] = (at.get("zoom") ?? "").split("..").map(Number);
  const across = /** @type {import("../core/series.js").Across} */ (["time", "relative", "epoch"].includes(wanted) ? wanted : "batches");
  return {
    across, log: at.get("y") === "log", smooth: Math.min(0.99, Math.max(0, Number(at.get("smooth") ?? 0) || 0)),
    zoom: at.has("zoom") && high > low ? [low, high] : null,
    onZoom: (zoom) => ask({ zoom: zoom ? zoom.map((value) => Number(value.toPrecision(8))).join("..") : "" }),
  };
}

/** `only`: what goes across where nothing else can. @param {{epochs?: boolean, only?: import("../core/series.js").Across}} props */
export function ChartBar({ epochs, only }) {
  const { across: wanted, log, smooth, zoom } = shown();
  const across = only ?? wanted;
  return html`<div class="bar">
    <${Select} label="Across" value=${across} onChange=${(/** @type {string} */ x) => ask({ x: x === "batches" || x === only ? "" : x, zoom: "" })} options=${[...(only ? [] : [["batches", "Batches"]]), ["relative", "Time since start"], ["time", "Time"], ...(epochs || across === "epoch" ? [["epoch", "Epoch"]] : [])]} />
    <${Select} label="Up" value=${log ? "log" : "linear"} onChange=${(/** @type {string} */ y) => ask({ y: y === "log" ? y : "" })} options=${[["linear", "Linear"], ["log", "Logarithmic"]]} />
    <${Select} label="Smoothing" value=${String(smooth)} onChange=${(/** @type {string} */ weight) => ask({ smooth: weight === "0" ? "" : weight })} options=${[["0", "None"], ["0.6", "Some"], ["0.9", "Much"], ["0.97", "Most"]]} />
    ${zoom ? html`<${Button} onClick=${() => ask({ zoom: "" })}>Show all<//>` : html`<span class="small muted">Drag over a chart to zoom; a double click shows all.</span>`}</div>`;
}
