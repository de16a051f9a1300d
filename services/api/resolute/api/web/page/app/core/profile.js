// System metrics of a trial as charts: one for each name, with a curve for each machine and GPU. Pure.

/** @typedef {import("../wire").v1TrialProfilerMetricsBatch} Batch */
/** @typedef {import("./series.js").Curve} Curve */

/** How many points of one series are held; where there are more, every second one is let go. */
export const POINTS_MOST = 20_000;

/** Names as they are shown, with their units. @type {Record<string, string>} */
const TEXTS = {
  cpu_util_simple: "CPU (%)", memory_free: "Free memory (bytes)", net_throughput_sent: "Network: sent (bytes/s)", net_throughput_recv: "Network: received (bytes/s)",
  disk_throughput_read: "Disk: read (bytes/s)", disk_throughput_write: "Disk: written (bytes/s)", disk_iops: "Disk: operations per second", disk_util: "Disk: space used (%)", gpu_util: "GPU (%)", gpu_memory_util: "GPU: memory used (%)", gpu_free_memory: "GPU: free memory (bytes)",
};

/** @param {string} name */
export const titleOf = (name) => TEXTS[name] ?? name;

/** @param {Batch["labels"]} labels */
const machine = (labels) => [labels?.agentId, labels?.gpuUuid].filter(Boolean).join(", ") || "the trial";

/** Adds a message of the stream to what is held: by name of the metric and by machine.
 * @param {Map<string, Map<string, Curve>>} held @param {Batch} batch */
export function taken(held, batch) {
  const name = batch.labels?.name ?? "";
  const curves = held.get(name) ?? new Map();
  held.set(name, curves);
  const label = machine(batch.labels);
  const more = (batch.values ?? []).map((value, index) => ({ batches: Number(batch.batches?.[index] ?? 0), time: String(batch.timestamps?.[index] ?? ""), values: { [name]: value } }));
  let points = [...(curves.get(label)?.points ?? []), ...more];
  while (points.length > POINTS_MOST) points = points.filter((_, index) => index % 2 === 0 || index === points.length - 1);
  curves.set(label, { label, name, points });
}

/** @param {Map<string, Map<string, Curve>>} held @returns {{name: string, title: string, curves: Curve[]}[]} */
export const charted = (held) => [...held.entries()].map(([name, curves]) => ({ name, title: titleOf(name), curves: [...curves.values()].sort((a, b) => a.label.localeCompare(b.label)) })).sort((a, b) => a.title.localeCompare(b.title));

/** What goes across: system metrics know batches only where reports said them. @param {readonly {curves: readonly Curve[]}[]} charts @param {import("./series.js").Across} wanted */
export const acrossOf = (charts, wanted) => (wanted === "relative" || wanted === "time" || charts.some(({ curves }) => curves.some(({ points }) => points.some((point) => point.batches > 0))) ? wanted : "relative");
