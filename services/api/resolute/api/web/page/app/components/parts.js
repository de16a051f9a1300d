// The small parts that pages are made of. `/det/design` shows each of them in each of its states.
import { Fragment, html, signal, useEffect, useId, useRef, useSignal } from "../core/dom.js";
import { go } from "../core/place.js";
import { ago, hasEnded, stateOf } from "../core/format.js";
import { times } from "../state/settings.js";

/** @typedef {import("../core/dom.js").Children} Children */

/** @param {{state: string, hint?: string}} props */
export function State({ state, hint }) {
  const { text, tone, sign } = stateOf(state);
  return html`<span class=${`state ${tone}`} title=${hint}><span class="sign" aria-hidden="true">${sign}</span>${text}</span>`;
}

/** From 0 to 1; nothing where it is not known. @param {{value: number | null | undefined, name: string}} props */
export function Progress({ value, name }) {
  if (typeof value !== "number") return null;
  const percent = Math.floor(value * 100);
  return html`<span class="progress"><progress aria-label=${name} max="100" value=${percent}></progress><span class="numbers small">${percent} %</span></span>`;
}

/** @param {{children?: Children, onClick?: (event: MouseEvent) => void, kind?: "" | "main-action" | "danger" | "quiet", disabled?: boolean, busy?: boolean, type?: string, label?: string, pressed?: boolean, expanded?: boolean}} props */
export function Button({ children, onClick, kind = "", disabled, busy, type = "button", label, pressed, expanded }) {
  return html`<button type=${type} class=${`button ${kind}`} disabled=${disabled || busy} onClick=${onClick} aria-label=${label} title=${label} aria-pressed=${pressed} aria-expanded=${expanded}>
    ${busy ? html`<span class="spinner" aria-hidden="true"></span>` : null}${children}</button>`;
}

/** A field with its label. @param {{label: string, value: string, onInput: (value: string) => void, type?: string, error?: string, hint?: string, name?: string, autocomplete?: string, autofocus?: boolean, placeholder?: string}} props */
export function Field({ label, value, onInput, type = "text", error, hint, name, autocomplete, autofocus, placeholder }) {
  const id = useId();
  const box = useRef(/** @type {HTMLInputElement | null} */ (null));
  useEffect(() => {
    if (autofocus) box.current?.focus();
  }, []);
  return html`<div class="field"><label for=${id}>${label}</label>
    <input ref=${box} id=${id} class="input wide" type=${type} name=${name} autocomplete=${autocomplete} placeholder=${placeholder} value=${value} aria-invalid=${error ? "true" : undefined} aria-describedby=${error || hint ? `${id}-note` : undefined}
      onInput=${(/** @type {any} */ event) => onInput(event.target.value)} />
    ${error || hint ? html`<span id=${`${id}-note`} class="small muted">${error || hint}</span>` : null}</div>`;
}

/** @param {{label: string, value: string, options: readonly (readonly [string, string])[], onChange: (value: string) => void, hideLabel?: boolean}} props */
export function Select({ label, value, options, onChange, hideLabel }) {
  const id = useId();
  return html`<span class="row"><label for=${id} class=${hideLabel ? "only-read" : "small muted"}>${label}</label>
    <select id=${id} class="input" onChange=${(/** @type {any} */ event) => onChange(event.target.value)}>
      ${options.map(([key, text]) => html`<option key=${key} value=${key} selected=${key === value}>${text}</option>`)}</select></span>`;
}

/** @param {{tone?: "" | "bad" | "warn", children?: Children}} props */
export const Message = ({ tone = "", children }) => html`<div class=${`message ${tone}`} role=${tone === "bad" ? "alert" : "status"}><div class="grow">${children}</div></div>`;

/** What went wrong, and a way to try again. `heading`: the page's, where nothing else of it can be shown.
 * @param {{error: unknown, retry?: () => void, heading?: string}} props */
export function Failed({ error, retry, heading }) {
  const text = error instanceof Error ? error.message : String(error);
  return html`${heading ? html`<h1>${heading}</h1>` : null}<div class="message bad" role="alert"><div class="grow">${text}</div>${retry ? html`<${Button} onClick=${retry}>Try again<//>` : null}</div>`;
}

/** @param {{what: string}} props */
export const Busy = ({ what }) => html`<div class="busy-line" role="status"><span class="spinner" aria-hidden="true"></span>${what}</div>`;

/** Where there is nothing yet: what would be here, and the command that begins. `whole`: the page is nothing else.
 * @param {{title: string, children?: Children, command?: string, whole?: boolean}} props */
export const Empty = ({ title, children, command, whole }) => html`<div class="empty">${whole ? html`<h1>${title}</h1>` : html`<h2>${title}</h2>`}${children ? html`<p class="muted">${children}</p>` : null}${command ? html`<${Command} text=${command} />` : null}</div>`;

/** A command with a button that copies it. @param {{text: string}} props */
export function Command({ text }) {
  const done = useSignal(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(text).catch(() => {});
    done.value = true;
    setTimeout(() => (done.value = false), 1500);
  };
  return html`<div class="command"><code tabindex="0">${text}</code><${Button} kind="quiet" onClick=${copy} label="Copy the command">${done.value ? "Copied" : "Copy"}<//></div>`;
}

/** @param {{tabs: readonly (readonly [string, string, string])[], at: string, label: string}} props */
export const Tabs = ({ tabs, at, label }) => html`<nav class="tabs" aria-label=${label}>${tabs.map(([key, text, href]) => html`<a key=${key} href=${href} aria-current=${key === at ? "page" : undefined}>${text}</a>`)}</nav>`;

// ---------------------------------------------------------------- time

const clock = signal(Date.now());
setInterval(() => {
  if (!document.hidden) clock.value = Date.now();
}, 1000);

/** How long ago, kept current; or exactly, for who chose that. @param {{at: string | null | undefined}} props */
export function Ago({ at }) {
  return at ? html`<time datetime=${at} title=${new Date(at).toLocaleString()}>${times.value === "exact" ? new Date(at).toLocaleString(undefined, { dateStyle: "short", timeStyle: "short" }) : ago(at, clock.value)}</time>` : null;
}

export const now = () => clock.value;
/** @param {string} state */
export const nowOf = (state) => (hasEnded(state) ? 0 : clock.value);

// ---------------------------------------------------------------- dialogs, menus, toasts

/** @param {{title: string, onClose: () => void, children?: Children}} props */
export function Dialog({ title, onClose, children }) {
  const box = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const id = useId();
  useEffect(() => {
    box.current?.showModal();
    return () => box.current?.close();
  }, []);
  return html`<dialog class="dialog" ref=${box} aria-labelledby=${id} onCancel=${(/** @type {Event} */ event) => { event.preventDefault(); onClose(); }}>
    <div class="stack"><h2 id=${id}>${title}</h2>${children}</div></dialog>`;
}

/** @typedef {{title: string, text: Children, action: string, run: () => Promise<void> | void}} Question */
const question = signal(/** @type {Question | null} */ (null));
/** @param {Question} asked */
export const confirm = (asked) => {
  question.value = asked;
};

/** The dialog of `confirm`; the shell has one. */
export function Confirmation() {
  const asked = question.value;
  const busy = useSignal(false);
  if (!asked) return null;
  const close = () => (question.value = null);
  const run = async () => {
    busy.value = true;
    await asked.run();
    busy.value = false;
    close();
  };
  return html`<${Dialog} title=${asked.title} onClose=${close}><div class="wrap">${asked.text}</div>
    <div class="row"><${Button} kind="danger" busy=${busy.value} onClick=${run}>${asked.action}<//><${Button} onClick=${close}>Leave as it is<//></div><//>`;
}

/** A button that opens a sheet; Escape and a click elsewhere close it. @param {{text: string, label?: string, children?: Children}} props */
export function Popup({ text, label, children }) {
  const open = useSignal(false);
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (!open.value) return;
    const close = (/** @type {Event} */ event) => {
      if (event instanceof KeyboardEvent ? event.key === "Escape" : !box.current?.contains(/** @type {Node} */ (event.target))) open.value = false;
    };
    addEventListener("pointerdown", close);
    addEventListener("keydown", close);
    return () => {
      removeEventListener("pointerdown", close);
      removeEventListener("keydown", close);
    };
  }, [open.value]);
  return html`<span class="popup" ref=${box}><${Button} label=${label} expanded=${open.value} onClick=${() => (open.value = !open.value)}>${text} ▾<//>
    ${open.value ? html`<div class="sheet">${children}</div>` : null}</span>`;
}

/** @typedef {{id: number, tone: "" | "bad", text: string, undo?: () => void}} Toast */
const toasts = signal(/** @type {Toast[]} */ ([]));
let toastId = 0;
/** @param {string} text @param {{tone?: "" | "bad", undo?: () => void}} [how] */
export function toast(text, { tone = "", undo } = {}) {
  const id = (toastId += 1);
  toasts.value = [...toasts.value.slice(-3), { id, tone, text, undo }];
  setTimeout(() => drop(id), undo || tone === "bad" ? 12_000 : 5_000);
}
/** @param {number} id */
const drop = (id) => (toasts.value = toasts.value.filter((one) => one.id !== id));

export const Toasts = () => html`<div class="toasts" role="status" aria-live="polite">${toasts.value.map(
  (one) => html`<div key=${one.id} class=${`message ${one.tone}`}><div class="grow">${one.text}</div>
    ${one.undo ? html`<${Button} onClick=${() => { drop(one.id); one.undo?.(); }}>Undo<//>` : null}
    <${Button} kind="quiet" label="Dismiss" onClick=${() => drop(one.id)}>✕<//></div>`,
)}</div>`;

/** @param {{experiment: number, trial?: number, children?: Children}} props */
export const To = ({ experiment, trial, children }) => html`<a href=${`/det/experiments/${experiment}${trial ? `/trials/${trial}` : ""}`}>${children ?? (trial ? `Trial ${trial}` : `Experiment ${experiment}`)}</a>`;

export { Fragment, go };
