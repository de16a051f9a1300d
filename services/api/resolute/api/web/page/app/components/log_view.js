// The log of a trial or of another task: any number of lines, read in windows, followed at the end, filtered by the gateway.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useSignal } from "../core/dom.js";
import { address, AGAIN_MS, get, lines as streamed, passes } from "../core/client.js";
import { pieces } from "../core/ansi.js";
import { beside, Lines } from "../core/log_lines.js";
import { ask, query } from "../core/place.js";
import { pauseMs } from "../live/following.js";
import { drawn } from "./window.js";
import { Button, Failed, Select } from "./parts.js";

/** @typedef {import("../wire").v1TrialLogsResponse} Line */

const ROW = 24;
const CHUNK = 2000;
const MOST = 300_000;
const LEVELS = ["TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"];

/** Reads windows of one log under one filter. */
class Reader {
  /** @param {string} path @param {Record<string, any>} filter @param {() => void} changed */
  constructor(path, filter, changed) {
    this.path = path;
    this.filter = filter;
    this.changed = changed;
    this.held = new Lines(MOST);
    this.gone = new AbortController();
    this.asking = false;
    this.first = true;
    /** @type {unknown} */
    this.error = null;
    /** By how many lines the view has to move to stay where it is. */
    this.shift = 0;
    this.following = false;
  }

  /** @param {Record<string, any>} more @returns {Promise<Line[]>} */
  async #read(more) {
    /** @type {Line[]} */
    const found = [];
    for await (const some of streamed(this.path, { ...this.filter, limit: CHUNK, ...more }, this.gone.signal)) found.push(.../** @type {Line[]} */ (some));
    return found;
  }

  /** @param {() => Promise<void>} work */
  async #turn(work) {
    if (this.asking || this.gone.signal.aborted) return;
    this.asking = true;
    try {
      await work();
      this.error = null;
    } catch (error) {
      if (!this.gone.signal.aborted) {
        this.error = error;
        if (passes(error)) setTimeout(() => void this.#turn(work), AGAIN_MS);
      }
    }
    this.asking = false;
    this.first = false;
    if (!this.gone.signal.aborted) this.changed();
  }

  end = () => this.#turn(async () => {
    const lines = (await this.#read({ orderBy: "ORDER_BY_DESC" })).toReversed();
    this.held = new Lines(MOST);
    this.held.append(lines);
    this.held.atStart = lines.length < CHUNK;
    this.held.atEnd = true;
    void this.follow();
  });

  start = () => this.#turn(async () => {
    const lines = await this.#read({ orderBy: "ORDER_BY_ASC" });
    this.held = new Lines(MOST);
    this.held.append(lines);
    this.held.atStart = true;
    this.held.atEnd = lines.length < CHUNK;
    if (this.held.atEnd) void this.follow();
  });

  /** @param {string} instant */
  at = (instant) => this.#turn(async () => {
    const [before, after] = await Promise.all([this.#read({ orderBy: "ORDER_BY_DESC", timestampBefore: instant, limit: 200 }), this.#read({ orderBy: "ORDER_BY_ASC", timestampAfter: beside(instant, -1) })]);
    this.held = new Lines(MOST);
    this.held.append(before.toReversed());
    this.held.append(after);
    this.held.atStart = before.length < 200;
    this.held.atEnd = after.length < CHUNK;
    if (this.held.atEnd) void this.follow();
  });

  older = () => this.#turn(async () => {
    const first = this.held.lines[0];
    if (!first || this.held.atStart) return;
    const lines = (await this.#read({ orderBy: "ORDER_BY_DESC", timestampBefore: beside(this.held.edge(1), 1) })).toReversed();
    const moved = this.held.prepend(lines);
    this.shift += moved;
    if (lines.length < CHUNK || moved === 0) this.held.atStart = true;
  });

  newer = () => this.#turn(async () => {
    const last = this.held.lines.at(-1);
    if (!last || this.held.atEnd) return;
    const lines = await this.#read({ orderBy: "ORDER_BY_ASC", timestampAfter: beside(this.held.edge(-1), -1) });
    const before = this.held.lines.length;
    this.shift -= this.held.append(lines);
    if (lines.length < CHUNK || this.held.lines.length === before) {
      this.held.atEnd = true;
      void this.follow();
    }
  });

  /** Takes lines as they are printed, until the task has ended; goes on after a break. */
  async follow() {
    if (this.following) return;
    this.following = true;
    for (let attempt = 0; !this.gone.signal.aborted; attempt += 1) {
      const last = this.held.lines.at(-1);
      try {
        for await (const some of streamed(this.path, { ...this.filter, follow: true, limit: 0, orderBy: "ORDER_BY_ASC", timestampAfter: last ? beside(this.held.edge(-1), -1) : undefined }, this.gone.signal)) {
          if (!this.held.atEnd) { this.following = false; return; }
          this.shift -= this.held.append(/** @type {Line[]} */ (some));
          attempt = 0;
          this.changed();
        }
        return; // the task has ended
      } catch {
        if (this.gone.signal.aborted) return;
        await new Promise((done) => setTimeout(done, pauseMs(attempt + 2, Math.random())));
      }
    }
  }

  close() {
    this.gone.abort();
  }
}

/** `path`: of the operation that answers the lines; `file`: the name of the download. @param {{path: string, label: string, file: string}} props */
export function LogView({ path, label, file }) {
  const at = query.value;
  const text = at.get("text") ?? "";
  const regex = at.has("regex");
  const level = at.get("level") ?? "";
  const rank = at.get("rank") ?? "";
  const source = at.get("source") ?? "";
  const instant = at.get("t") ?? "";
  const marked = at.get("line") ?? "";
  const filter = useMemo(() => ({
    searchText: text, enableRegex: regex && text ? true : undefined, rankIds: rank === "" ? undefined : [Number(rank)], sources: source ? [source] : undefined,
    levels: level ? LEVELS.slice(LEVELS.indexOf(level)).map((name) => `LOG_LEVEL_${name}`) : undefined,
  }), [text, regex, level, rank, source]);
  const fields = useSignal(/** @type {import("../wire").v1TrialLogsFieldsResponse} */ ({}));
  const typed = useSignal(text);
  const follows = useSignal(!instant);
  const version = useSignal(0);
  const reader = useSignal(/** @type {Reader | null} */ (null));
  const view = useSignal({ first: 0, last: 0 });
  const box = useRef(/** @type {HTMLElement | null} */ (null));

  useEffect(() => {
    get(`${path}/fields`).then((told) => (fields.value = /** @type {any} */ (told).result ?? {})).catch(() => {});
  }, [path]);
  useEffect(() => {
    let due = false;
    const next = new Reader(path, filter, () => {
      if (due) return;
      due = true;
      requestAnimationFrame(() => { due = false; version.value += 1; });
    });
    reader.value = next;
    if (instant) void next.at(instant);
    else void next.end();
    return () => next.close();
  }, [path, filter]);

  const held = reader.value?.held.lines ?? [];
  const look = () => {
    const element = box.current;
    const now = reader.peek();
    if (!element || !now) return;
    const next = drawn({ top: element.scrollTop, height: element.clientHeight, row: ROW, total: now.held.lines.length, over: 20 });
    if (next.first !== view.peek().first || next.last !== view.peek().last) view.value = next;
    if (element.scrollTop < 200 * ROW && !now.held.atStart && !now.first) void now.older();
    if (element.scrollTop + element.clientHeight > (now.held.lines.length - 200) * ROW && !now.held.atEnd && !now.first) void now.newer();
  };
  useLayoutEffect(() => {
    const element = box.current;
    const now = reader.value;
    if (!element || !now) return;
    const end = now.held.lines.length * ROW;
    if (follows.value && now.held.atEnd) element.scrollTop = end;
    else if (now.shift) element.scrollTop += now.shift * ROW;
    else if (instant && !now.first && !jumped.current) {
      const index = now.held.lines.findIndex((line) => (marked ? line.id === marked : line.timestamp >= instant));
      if (index >= 0) element.scrollTop = Math.max(0, (index - 4) * ROW);
      jumped.current = true;
    }
    now.shift = 0;
    look();
  }, [version.value, reader.value]);
  const jumped = useRef(false);
  const onScroll = () => {
    const element = box.current;
    if (element) {
      const atFoot = element.scrollTop + element.clientHeight >= element.scrollHeight - 2 * ROW;
      if (follows.peek() && !atFoot && element.scrollTop < lastTop.current) follows.value = false;
      else if (!follows.peek() && atFoot && reader.peek()?.held.atEnd) follows.value = true;
      lastTop.current = element.scrollTop;
    }
    look();
  };
  const lastTop = useRef(0);

  const { first, last } = view.value;
  const state = reader.value;
  return html`<form class="bar" role="search" onSubmit=${(/** @type {Event} */ event) => { event.preventDefault(); ask({ text: typed.value, t: "", line: "" }); }}>
      <label class="only-read" for="log-text">Lines with</label><input id="log-text" class="input grow" type="search" placeholder="lines with this text" value=${typed.value} spellcheck="false" onInput=${(/** @type {any} */ event) => (typed.value = event.target.value)} />
      <label class="check"><input type="checkbox" checked=${regex} onChange=${() => ask({ regex: !regex })} />Regular expression</label><${Button} type="submit">Find<//>
      <${Select} label="Level" value=${level} options=${[["", "all"], ...LEVELS.map((name) => [name, `${name.toLowerCase()} and above`])]} onChange=${(/** @type {string} */ next) => ask({ level: next })} />
      ${(fields.value.rankIds ?? []).length > 1 ? html`<${Select} label="Rank" value=${rank} options=${[["", "all"], ...(fields.value.rankIds ?? []).map((one) => [String(one), String(one)])]} onChange=${(/** @type {string} */ next) => ask({ rank: next })} />` : null}
      ${(fields.value.sources ?? []).length > 1 ? html`<${Select} label="Source" value=${source} options=${[["", "all"], ...(fields.value.sources ?? []).map((one) => [one, one])]} onChange=${(/** @type {string} */ next) => ask({ source: next })} />` : null}
      <${Button} onClick=${() => { follows.value = false; void state?.start().then(() => box.current?.scrollTo({ top: 0 })); }}>Beginning<//>
      <${Button} pressed=${follows.value} onClick=${() => { follows.value = true; if (state?.held.atEnd) version.value += 1; else void state?.end(); }}>Follow the end<//>
      <a class="button" href=${address(path, { ...filter, limit: 0 })} download=${file}>Download</a>
    </form>
    ${state?.error ? html`<${Failed} error=${state.error} retry=${() => void state.end()} />` : null}
    <div class="log" ref=${box} tabindex="0" role="log" aria-live="off" aria-label=${label} onScroll=${onScroll}>
      <div class="l-body" style=${{ height: `${held.length * ROW}px` }}>${held.slice(first, last).map((line, index) => html`<${LogLine} key=${line.id} line=${line} top=${(first + index) * ROW} marked=${line.id === marked} />`)}</div></div>
    <p class="small muted numbers" role="status">${state?.error ? "" : state?.first ? "Reading…" : held.length === 0 ? (text || level || rank || source ? "No line fits." : "Nothing was printed yet: lines appear as they are printed.") : `${held.length === 1 ? "1 line" : `${held.length.toLocaleString("en")} lines`}${state?.held.atStart ? "" : "; more above"}${state?.held.atEnd ? "" : "; more below"}`}</p>`;
}

/** @param {{line: Line, top: number, marked: boolean}} props */
function LogLine({ line, top, marked }) {
  const tone = /ERROR|CRITICAL/.test(line.level) ? "bad" : line.level === "LOG_LEVEL_WARNING" ? "warn" : "";
  const link = `?${new URLSearchParams({ t: line.timestamp, line: line.id })}`;
  return html`<div class=${`l-line ${tone}`} style=${{ transform: `translateY(${top}px)`, outline: marked ? "1px solid var(--accent)" : "" }}><a class="l-time" href=${link} title="Link to this line">${line.timestamp.slice(5, 23).replace("T", " ")}</a>${line.rankId ? html`<span class="muted">[${line.rankId}]</span>` : null}<span>${pieces(line.log || line.message).map((piece) => (piece.style ? html`<span class=${piece.style}>${piece.text}</span>` : piece.text))}</span></div>`;
}
