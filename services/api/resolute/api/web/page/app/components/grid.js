// A table of any length that draws only the rows in view. Arrow keys move, Space chooses, Enter opens.
import { Component, h } from "../../vendor/preact/index.js";
import { html, useEffect, useLayoutEffect, useRef, useSignal } from "../core/dom.js";
import { drawn } from "./window.js";

/** @template T @typedef {{key: string, name: string, width: number, number?: boolean, sort?: string, cell: (row: T) => any}} Column */

const ROW = 36;

/**
 * @template T
 * @param {{label: string, columns: Column<T>[], total: number, row: (index: number) => T | undefined, id: (row: T) => number,
 *   need: (first: number, last: number) => void, version: number, sort: string, onSort: (key: string, add: boolean) => void,
 *   chosen: ReadonlySet<number>, onChoose: (ids: number[], on: boolean) => void, open: (row: T) => void, onWidth: (key: string, width: number) => void}} props
 */
export function Grid({ label, columns, total, row, id, need, version, sort, onSort, chosen, onChoose, open, onWidth }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const view = useSignal({ first: 0, last: 0 });
  const cursor = useSignal(0);
  const anchor = useRef(0);

  const look = () => {
    const at = box.current;
    if (!at) return;
    const next = drawn({ top: at.scrollTop, height: at.clientHeight - ROW, row: ROW, total, over: 8 });
    const now = view.peek();
    if (Math.abs(next.first - now.first) >= 4 || Math.abs(next.last - now.last) >= 4 || next.last > now.last - 2 || next.first < now.first) {
      if (next.first !== now.first || next.last !== now.last) view.value = next;
    }
  };
  useLayoutEffect(() => {
    const at = /** @type {HTMLElement} */ (box.current);
    const observer = new ResizeObserver(look);
    observer.observe(at);
    at.addEventListener("scroll", look, { passive: true });
    look();
    return () => {
      observer.disconnect();
      at.removeEventListener("scroll", look);
    };
  }, [total]);
  useEffect(() => need(view.value.first, view.value.last), [view.value, total, version]);

  const template = `36px ${columns.map((column) => `${column.width}px`).join(" ")}`;
  const width = 36 + columns.reduce((sum, column) => sum + column.width, 0);
  const { first, last } = view.value;

  const choose = (/** @type {number} */ index, /** @type {boolean} */ range) => {
    const here = row(index);
    if (!here) return;
    const from = range ? Math.min(anchor.current, index) : index;
    const to = range ? Math.max(anchor.current, index) : index;
    const ids = [];
    for (let i = from; i <= to; i += 1) {
      const one = row(i);
      if (one) ids.push(id(one));
    }
    onChoose(ids, range || !chosen.has(id(here)));
    anchor.current = index;
  };
  // Rows that did not change keep what they were given, so that is one function which calls the newest.
  const newest = useRef(choose);
  newest.current = choose;
  const chooseRow = useRef((/** @type {number} */ index, /** @type {boolean} */ range) => newest.current(index, range)).current;
  const move = (/** @type {number} */ index) => {
    cursor.value = Math.max(0, Math.min(total - 1, index));
    const at = box.current;
    if (!at) return;
    const top = cursor.value * ROW;
    if (top < at.scrollTop) at.scrollTop = top;
    else if (top + 2 * ROW > at.scrollTop + at.clientHeight) at.scrollTop = top + 2 * ROW - at.clientHeight;
  };
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    if (event.target !== box.current) return;
    const page = Math.max(1, Math.floor((box.current?.clientHeight ?? 0) / ROW) - 2);
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowDown: () => move(cursor.value + 1), j: () => move(cursor.value + 1),
      ArrowUp: () => move(cursor.value - 1), k: () => move(cursor.value - 1),
      PageDown: () => move(cursor.value + page), PageUp: () => move(cursor.value - page),
      Home: () => move(0), End: () => move(total - 1),
      " ": () => choose(cursor.value, event.shiftKey), x: () => choose(cursor.value, event.shiftKey),
      Enter: () => { const here = row(cursor.value); if (here) open(here); },
    };
    const run = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
    if (!run) return;
    event.preventDefault();
    run();
  };
  const resize = (/** @type {PointerEvent} */ event, /** @type {Column<T>} */ column) => {
    const from = event.clientX;
    const move = (/** @type {PointerEvent} */ moved) => onWidth(column.key, Math.max(56, Math.round(column.width + moved.clientX - from)));
    const end = () => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", end);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
    event.preventDefault();
  };

  const order = sort.split(",").filter(Boolean).map((one) => one.split("="));
  const rows = [];
  for (let index = first; index < last; index += 1) {
    const one = row(index);
    rows.push(h(/** @type {any} */ (Row), { key: index, index, row: one, columns, template, width, chosen: one ? chosen.has(id(one)) : false, here: index === cursor.value, choose: chooseRow }));
  }
  return html`<div class="grid" ref=${box} tabindex="0" role="grid" aria-label=${label} aria-rowcount=${total + 1} aria-colcount=${columns.length + 1} aria-multiselectable="true"
      aria-activedescendant=${total ? `grid-row-${cursor.value}` : undefined} onKeyDown=${onKeyDown}>
    <div class="g-head" role="rowgroup" style=${{ width: `${width}px` }}><div class="g-row" role="row" aria-rowindex="1" style=${{ gridTemplateColumns: template }}>
      <div class="g-cell" role="columnheader"><span class="only-read">Chosen</span></div>
      ${columns.map((column) => {
        const at = order.find(([key]) => key === column.sort);
        return html`<div key=${column.key} role="columnheader" class=${`g-cell ${column.number ? "number" : ""}`} aria-sort=${at ? (at[1] === "asc" ? "ascending" : "descending") : undefined}>
          ${column.sort ? html`<button tabindex="-1" onClick=${(/** @type {MouseEvent} */ event) => onSort(/** @type {string} */ (column.sort), event.shiftKey)} title="Sort; with Shift, sort further">${column.name}${at ? html`<span aria-hidden="true">${at[1] === "asc" ? "▲" : "▼"}</span>` : null}</button>` : html`<button tabindex="-1" disabled>${column.name}</button>`}
          <span class="edge" aria-hidden="true" onPointerDown=${(/** @type {PointerEvent} */ event) => resize(event, column)}></span></div>`;
      })}</div></div>
    <div class="g-body" role="rowgroup" style=${{ height: `${total * ROW}px`, width: `${width}px` }}>${rows}</div>
  </div>`;
}

/** One row; drawn again only when something of it changed. */
class Row extends Component {
  /** @override @param {any} next */
  shouldComponentUpdate(next) {
    const now = /** @type {any} */ (this.props);
    return next.row !== now.row || next.chosen !== now.chosen || next.here !== now.here || next.template !== now.template || next.columns !== now.columns;
  }

  /** @override @param {any} props */
  render({ index, row, columns, template, width, chosen, here, choose }) {
    const style = { gridTemplateColumns: template, transform: `translateY(${index * ROW}px)`, width: `${width}px` };
    return html`<div class=${here ? "g-row here" : "g-row"} role="row" id=${`grid-row-${index}`} aria-rowindex=${index + 2} aria-selected=${chosen} style=${style}>
      <div class="g-cell" role="gridcell"><input type="checkbox" tabindex="-1" checked=${chosen} disabled=${!row} aria-label=${`Choose row ${index + 1}`}
        onClick=${(/** @type {MouseEvent} */ event) => choose(index, event.shiftKey)} /></div>
      ${columns.map((/** @type {any} */ column) => html`<div key=${column.key} role="gridcell" class=${`g-cell ${column.number ? "number" : ""} ${row ? "" : "waiting"}`}>${row ? column.cell(row) : "…"}</div>`)}
    </div>`;
  }
}
