// Ctrl+K: goes to a page, an experiment by name or number, or a trial by number. `?` shows the keys.
import { html, signal, useEffect, useRef, useSignal } from "../core/dom.js";
import { asked, field, group } from "../core/filters.js";
import { go } from "../core/place.js";
import { search } from "../state/experiments.js";
import { chooseTheme } from "../state/session.js";
import { leave } from "./actions.js";
import { Button, Dialog } from "./parts.js";

/** @typedef {{key: string, text: string, about: string, run: () => void}} Entry */

const shown = signal(/** @type {"" | "palette" | "keys"} */ (""));

/** @type {[string, string, () => void][]} */
const FIXED = [
  ["Home", "page", () => go("/det/")],
  ["Experiments", "page", () => go("/det/experiments")],
  ["Experiments that failed", "page", () => go(`/det/experiments?q=${encodeURIComponent("state = ERROR")}`)],
  ["Experiments that are active", "page", () => go(`/det/experiments?q=${encodeURIComponent("state = ACTIVE")}`)],
  ["New experiment", "action", () => go("/det/experiments/new")],
  ["Tasks: notebooks, commands", "page", () => go("/det/tasks")],
  ["New notebook", "action", () => go("/det/tasks/new/notebook")],
  ["New command", "action", () => go("/det/tasks/new/command")],
  ["New shell", "action", () => go("/det/tasks/new/shell")],
  ["Workspaces", "page", () => go("/det/workspaces")],
  ["Models", "page", () => go("/det/models")],
  ["Templates", "page", () => go("/det/templates")],
  ["Webhooks", "page", () => go("/det/webhooks")],
  ["Configuration policies", "page", () => go("/det/policies")],
  ["Administration: users", "page", () => go("/det/admin/user-management")],
  ["Administration: groups", "page", () => go("/det/admin/group-management")],
  ["Administration: roles", "page", () => go("/det/admin/roles")],
  ["Cluster: pools", "page", () => go("/det/clusters")],
  ["Cluster: queue", "page", () => go("/det/clusters/queue")],
  ["Cluster: agents", "page", () => go("/det/clusters/agents")],
  ["Account: profile, password, access tokens", "page", () => go("/det/settings")],
  ["Components", "page", () => go("/det/design")],
  ["Theme: light", "action", () => chooseTheme("light")],
  ["Theme: dark", "action", () => chooseTheme("dark")],
  ["Theme: system", "action", () => chooseTheme("system")],
  ["Keys", "action", () => (shown.value = "keys")],
  ["Sign out", "action", () => void leave()],
];

const KEYS = [["Ctrl+K", "find a page, an experiment or a trial"], ["?", "these keys"], ["↑ ↓ j k", "move in the table of experiments"], ["Space x", "choose a row; with Shift, all rows from the last one"], ["Enter", "open"], ["Esc", "close a dialog or a sheet"], ["Drag, double click", "on a chart: see a part of it, and all again"]];

/** The fixed entries in which all words occur. @param {string} text @returns {Entry[]} */
function fixed(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return FIXED.filter(([name]) => words.every((word) => name.toLowerCase().includes(word))).map(([name, about, run]) => ({ key: name, text: name, about, run }));
}

export function Palette() {
  useEffect(() => {
    const open = (/** @type {KeyboardEvent} */ event) => {
      if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k") {
        event.preventDefault();
        shown.value = "palette";
      } else if (event.key === "?" && !(event.target instanceof Element && event.target.closest("input, textarea, select"))) shown.value = "keys";
    };
    addEventListener("keydown", open);
    return () => removeEventListener("keydown", open);
  }, []);
  const close = () => (shown.value = "");
  if (shown.value === "keys") return html`<${Dialog} title="Keys" onClose=${close}><dl class="facts">${KEYS.map(([key, text]) => html`<dt key=${key}><code>${key}</code></dt><dd>${text}</dd>`)}</dl><div class="row"><${Button} onClick=${close}>Close<//></div><//>`;
  return shown.value ? html`<${Finder} onClose=${close} />` : null;
}

/** @param {{onClose: () => void}} props */
function Finder({ onClose }) {
  const text = useSignal("");
  const at = useSignal(0);
  const found = useSignal(/** @type {Entry[]} */ ([]));
  const box = useRef(/** @type {HTMLInputElement | null} */ (null));
  useEffect(() => box.current?.focus(), []);
  useEffect(() => {
    const words = text.value.trim();
    found.value = [];
    if (!words) return;
    const gone = new AbortController();
    const timer = setTimeout(() => {
      const number = /^#?([1-9]\d{0,8})$/.exec(words)?.[1];
      const byName = field("name", "contains", words);
      search({ filter: asked(group("or", number ? [field("id", "=", Number(number)), byName] : [byName]), true), limit: 8, sort: "id=desc" }, gone.signal).then((answer) => {
        const experiments = answer.experiments.map(({ experiment }) => ({ key: `e${experiment.id}`, text: experiment.name, about: `experiment ${experiment.id}, ${experiment.username}`, run: () => go(`/det/experiments/${experiment.id}`) }));
        found.value = number ? [...experiments, { key: `t${number}`, text: `Trial ${number}`, about: "trial", run: () => go(`/det/trials/${number}`) }] : experiments;
      }).catch(() => {});
    }, 120);
    return () => { clearTimeout(timer); gone.abort(); };
  }, [text.value]);
  const entries = [...fixed(text.value), ...found.value];
  const here = Math.min(at.value, entries.length - 1);
  const run = (/** @type {Entry | undefined} */ entry) => {
    if (!entry) return;
    onClose();
    entry.run();
  };
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "ArrowDown") at.value = Math.min(here + 1, entries.length - 1);
    else if (event.key === "ArrowUp") at.value = Math.max(here - 1, 0);
    else if (event.key === "Enter") run(entries[here]);
    else return;
    event.preventDefault();
  };
  return html`<${Dialog} title="Go to" onClose=${onClose}>
    <input ref=${box} class="input wide" role="combobox" aria-label="Page, experiment or number" aria-expanded="true" aria-controls="palette-list" aria-activedescendant=${entries[here] ? `palette-${entries[here].key}` : undefined} autocomplete="off" spellcheck="false" placeholder="a page, the name or the number of an experiment or a trial"
      value=${text.value} onInput=${(/** @type {any} */ event) => { text.value = event.target.value; at.value = 0; }} onKeyDown=${onKeyDown} />
    <ul id="palette-list" role="listbox" aria-label="Found" class="palette">${entries.map((entry, index) => html`<li key=${entry.key} id=${`palette-${entry.key}`} role="option" aria-selected=${index === here} onClick=${() => run(entry)} onPointerMove=${() => (at.value = index)}><span class="ellipsis">${entry.text}</span><span class="small muted">${entry.about}</span></li>`)}</ul>
    ${entries.length ? null : html`<p class="muted">Nothing is found.</p>`}<//>`;
}
