// Reported points as columns for a chart. Pure.

/** @typedef {{batches: number, time: string, epoch?: number | null, values?: Record<string, any> | null}} Point */
/** @typedef {"batches" | "time" | "relative" | "epoch"} Across */
/** @typedef {{label: string, points: Point[], name: string}} Curve */

/** @param {Point} point @param {Across} across @param {number} start seconds */
function x(point, across, start) {
  if (across === "batches") return point.batches;
  if (across === "epoch") return point.epoch ?? null;
  return Date.parse(point.time) / 1000 - (across === "relative" ? start : 0);
}

/** What stands in the table of a chart: an x for each point that any curve has, and each curve's value there.
 * Values that are no numbers are gaps, and so is what is not above zero on a logarithmic axis.
 * @param {Curve[]} curves @param {Across} across @param {boolean} log @returns {(number | null)[][]} */
export function table(curves, across, log) {
  /** @type {Map<number, (number | null)[]>} */
  const rows = new Map();
  for (const [index, { points, name }] of curves.entries()) {
    const start = points.length ? Date.parse(points[0].time) / 1000 : 0;
    for (const point of points) {
      const value = Number(point.values?.[name]);
      const at = x(point, across, start);
      if (at === null || !Number.isFinite(at) || !(name in (point.values ?? {}))) continue;
      let row = rows.get(at);
      if (!row) rows.set(at, (row = /** @type {any[]} */ (Array.from({ length: curves.length }))));
      row[index] = Number.isFinite(value) && (!log || value > 0) ? value : null;
    }
  }
  const sorted = [...rows.keys()].sort((a, b) => a - b);
  return [sorted, ...curves.map((_, index) => sorted.map((at) => /** @type {any} */ (rows.get(at)?.[index])))];
}

/** Adds points that came later; where a step was reported again the later report counts.
 * @param {Point[]} before @param {Point[]} more @returns {Point[]} */
export function appended(before, more) {
  if (before.length === 0 || more.length === 0) return before.length ? before : more;
  if (more[0].batches > before[before.length - 1].batches) return [...before, ...more];
  const by = new Map([...before, ...more].map((point) => [point.batches, point]));
  return [...by.values()].sort((a, b) => a.batches - b.batches);
}

/** The exponential average of a curve, each value weighed by how far it is from the one before; nulls stay.
 * @param {(number | null | undefined)[]} values @param {number} weight from 0 to below 1 */
export function smoothed(values, weight) {
  let sum = 0;
  let total = 0;
  return values.map((value) => {
    if (typeof value !== "number") return value;
    sum = sum * weight + value * (1 - weight);
    total = total * weight + (1 - weight);
    return sum / total;
  });
}

/** Metrics that belong on one chart: training and validation of one name. @param {{group: string, name: string}[]} names */
export function together(names) {
  /** @type {Map<string, {group: string, name: string}[]>} */
  const charts = new Map();
  for (const one of names) {
    const bare = one.name.replace(/^(train|training|val|valid|validation|test|eval)[_./-]/i, "").toLowerCase();
    charts.set(bare, [...(charts.get(bare) ?? []), one]);
  }
  return [...charts.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, metrics]) => ({ name, metrics }));
}
