// Hyperparameters of trials as axes of charts. Pure.

/** @typedef {{id: number, metric: number, values: Record<string, unknown>}} Tried */
/** @typedef {{name: string, kind: "linear" | "log" | "words", low: number, high: number, words: string[]}} Axis */

/** Those within others get names such as `optimizer.lr`. @param {Record<string, any>} values @param {string} [before] @returns {[string, unknown][]} */
export const flat = (values, before = "") => Object.entries(values).flatMap(([name, value]) => (value && typeof value === "object" && !Array.isArray(value) ? flat(value, `${before}${name}.`) : [/** @type {[string, unknown]} */ ([`${before}${name}`, value])]));

/** Which of them were drawn on a logarithmic scale, by the configuration. @param {Record<string, any>} hyperparameters @param {string} [before] @returns {Set<string>} */
export function logarithmic(hyperparameters, before = "") {
  return new Set(Object.entries(hyperparameters).flatMap(([name, one]) => {
    if (!one || typeof one !== "object" || Array.isArray(one)) return [];
    if (typeof one.type === "string") return one.type === "log" ? [`${before}${name}`] : [];
    return [...logarithmic(one, `${before}${name}.`)];
  }));
}

const numeric = (/** @type {unknown} */ value) => typeof value === "number" && Number.isFinite(value);

/** One axis for each hyperparameter that differs among the trials. @param {readonly Tried[]} tried @param {ReadonlySet<string>} logs @returns {Axis[]} */
export function axesOf(tried, logs) {
  const names = [...new Set(tried.flatMap((one) => Object.keys(one.values)))].sort();
  return names.flatMap((name) => {
    const values = tried.filter((one) => name in one.values).map((one) => one.values[name]);
    if (new Set(values.map((value) => JSON.stringify(value))).size < 2) return [];
    return [axis(name, values, logs.has(name))];
  });
}

/** @param {string} name @param {readonly unknown[]} values @param {boolean} log @returns {Axis} */
export function axis(name, values, log) {
  if (!values.every(numeric)) {
    const words = [...new Set(values.map(wordOf))].sort();
    return { name, kind: "words", low: 0, high: Math.max(1, words.length - 1), words };
  }
  const numbers = /** @type {number[]} */ (values);
  const low = numbers.reduce((a, b) => Math.min(a, b), Infinity);
  const high = numbers.reduce((a, b) => Math.max(a, b), -Infinity);
  return { name, kind: log && low > 0 ? "log" : "linear", low, high, words: [] };
}

/** @param {unknown} value */
export const wordOf = (value) => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

/** Where a value stands on an axis, from 0 to 1; null where it has none. @param {Axis} axis @param {unknown} value @returns {number | null} */
export function place({ kind, low, high, words }, value) {
  if (value === undefined) return null;
  if (kind === "words") {
    const at = words.indexOf(wordOf(value));
    return at < 0 ? null : words.length === 1 ? 0.5 : at / (words.length - 1);
  }
  if (!numeric(value) || (kind === "log" && Number(value) <= 0)) return null;
  const of = kind === "log" ? Math.log10 : (/** @type {number} */ x) => x;
  return of(high) === of(low) ? 0.5 : (of(Number(value)) - of(low)) / (of(high) - of(low));
}

/** The value at a place, for what is written beside an axis. @param {Axis} axis @param {number} at */
export const valueAt = ({ kind, low, high }, at) => (kind === "log" ? 10 ** (Math.log10(low) + at * (Math.log10(high) - Math.log10(low))) : low + at * (high - low));

/** How good each trial is among all of them, from 0 (the best) to 1. @param {readonly Tried[]} tried @param {boolean} smallerIsBetter @returns {Map<number, number>} */
export function ranks(tried, smallerIsBetter) {
  const sorted = tried.toSorted((a, b) => (smallerIsBetter ? a.metric - b.metric : b.metric - a.metric));
  return new Map(sorted.map((one, index) => [one.id, sorted.length < 2 ? 0 : index / (sorted.length - 1)]));
}

/** @typedef {Record<string, [number, number]>} Brushes from and to on an axis, from 0 to 1 */

/** Whether a trial lies within all that was marked. @param {readonly Axis[]} axes @param {Tried} one @param {Brushes} brushes @param {(one: Tried, name: string) => unknown} value */
export const isWithin = (axes, one, brushes, value) => axes.every((line) => {
  const brush = brushes[line.name];
  if (!brush) return true;
  const at = place(line, value(one, line.name));
  return at !== null && at >= brush[0] - 1e-9 && at <= brush[1] + 1e-9;
});
