// The part of a log that the page holds: lines in order, without repetition, and not too many. Pure.

/** @typedef {import("../wire").v1TrialLogsResponse} Line */

export class Lines {
  /** @param {number} most how many lines are held */
  constructor(most) {
    this.most = most;
    /** @type {Line[]} */
    this.lines = [];
    this.ids = new Set();
    /** Whether the log has nothing before the first line, and nothing after the last one. */
    this.atStart = false;
    this.atEnd = false;
  }

  /** @param {Line[]} lines */
  #fresh(lines) {
    const fresh = lines.filter((line) => !this.ids.has(line.id));
    for (const line of fresh) this.ids.add(line.id);
    return fresh;
  }

  /** Lines are in the order in which they were stored, which is nearly that of their times: a bound by which all lines
   * after (-1) or before (1) those that are held are read, with some of those again. @param {1 | -1} side */
  edge(side) {
    const near = side === 1 ? this.lines.slice(0, 100) : this.lines.slice(-100);
    return near.map((line) => line.timestamp).reduce((a, b) => (a > b === (side === 1) ? a : b));
  }

  /** Lines that come after all others. @param {Line[]} lines @returns {number} by how many lines the others moved up */
  append(lines) {
    const last = Number(this.lines.at(-1)?.id ?? 0);
    for (const line of this.#fresh(lines.filter((one) => Number(one.id) > last))) this.lines.push(line);
    const over = this.lines.length - this.most;
    if (over <= 0) return 0;
    for (const line of this.lines.splice(0, over)) this.ids.delete(line.id);
    this.atStart = false;
    return over;
  }

  /** Lines that come before all others, in order. @param {Line[]} lines @returns {number} by how many lines the others moved down */
  prepend(lines) {
    const first = Number(this.lines[0]?.id ?? Infinity);
    const fresh = this.#fresh(lines.filter((one) => Number(one.id) < first));
    this.lines = [...fresh, ...this.lines];
    const over = this.lines.length - this.most;
    if (over > 0) {
      for (const line of this.lines.splice(-over)) this.ids.delete(line.id);
      this.atEnd = false;
    }
    return fresh.length;
  }
}

/** An instant a microsecond later or earlier: bounds of the API leave the instant itself out, and lines may share one.
 * @param {string} instant such as 2026-01-31T10:00:00.123456Z @param {1 | -1} by */
export function beside(instant, by) {
  const [, second, fraction = ""] = instant.match(/^(.*?:\d\d)(?:\.(\d+))?Z$/) ?? [];
  if (second === undefined) return instant;
  const micros = Number(fraction.padEnd(6, "0").slice(0, 6)) + by;
  if (micros >= 0 && micros < 1_000_000) return `${second}.${String(micros).padStart(6, "0")}Z`;
  const moved = new Date(Date.parse(`${second}Z`) + by * 1000).toISOString().slice(0, 19);
  return `${moved}.${micros < 0 ? "999999" : "000000"}Z`;
}
