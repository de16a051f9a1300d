// Forms whose fields are data: on a page, or in a dialog that any page opens with `fill`.
import { html, signal, useEffect, useId, useRef, useSignal } from "../core/dom.js";
import { said } from "../core/typed.js";
import { Button, Dialog, Message, toast } from "./parts.js";

/** @typedef {string | boolean} Value */
/** @typedef {{key: string, label: string, kind?: "text" | "password" | "area" | "code" | "select" | "check", value?: Value, hint?: string, options?: readonly (readonly [string, string])[], rows?: number, autocomplete?: string, disabled?: boolean}} Input */
/** @typedef {(values: Record<string, any>) => Promise<unknown>} Save */

/** Does something and says what came of it; whether it worked.
 * @param {() => Promise<unknown>} run @param {string} [done] @param {{undo?: () => void}} [how] */
export async function attempt(run, done, how) {
  try {
    await run();
  } catch (error) {
    toast(said(error), { tone: "bad" });
    return false;
  }
  if (done) toast(done, how);
  return true;
}

/** One field with its label. @param {{input: Input, value: Value, onInput: (value: Value) => void, first: boolean}} props */
function One({ input, value, onInput, first }) {
  const id = useId();
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (first) box.current?.focus();
  }, []);
  const { kind = "text", label, hint, disabled } = input;
  const note = hint ? `${id}-note` : undefined;
  const common = { ref: box, id, disabled, "aria-describedby": note };
  const typed = (/** @type {any} */ event) => onInput(event.target.value);
  const below = hint ? html`<span id=${note} class="small muted">${hint}</span>` : null;
  if (kind === "check") return html`<div class="field"><label class="check"><input ...${common} type="checkbox" checked=${Boolean(value)} onChange=${(/** @type {any} */ event) => onInput(event.target.checked)} />${label}</label>${below}</div>`;
  return html`<div class="field"><label for=${id}>${label}</label>
    ${kind === "select" ? html`<select ...${common} class="input wide" onChange=${typed}>${(input.options ?? []).map(([key, text]) => html`<option key=${key} value=${key} selected=${key === value}>${text}</option>`)}</select>`
      : kind === "area" || kind === "code" ? html`<textarea ...${common} class=${`input wide ${kind === "code" ? "mono" : ""}`} spellcheck=${kind !== "code"} rows=${input.rows ?? 5} value=${value} onInput=${typed}></textarea>`
        : html`<input ...${common} class="input wide" type=${kind} autocomplete=${input.autocomplete ?? "off"} value=${value} onInput=${typed} />`}
    ${below}</div>`;
}

/** @param {{fields: readonly Input[], action: string, save: Save, onDone?: () => void, onCancel?: () => void, focus?: boolean, other?: {action: string, run: Save} | null, children?: import("../core/dom.js").Children}} props */
export function Form({ fields, action, save, onDone, onCancel, focus = false, other, children }) {
  const values = useSignal(/** @type {Record<string, Value>} */ (Object.fromEntries(fields.map((one) => [one.key, one.value ?? (one.kind === "check" ? false : one.kind === "select" ? (one.options?.[0]?.[0] ?? "") : "")]))));
  const busy = useSignal(false);
  const error = useSignal("");
  const turn = async (/** @type {Save} */ run, /** @type {(() => void) | undefined} */ after) => {
    busy.value = true;
    error.value = "";
    try {
      await run(values.value);
      after?.();
    } catch (refused) {
      error.value = said(refused);
    }
    busy.value = false;
  };
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    void turn(save, onDone);
  };
  return html`<form class="stack" onSubmit=${submit}>${children}
    ${fields.map((input, index) => html`<${One} key=${input.key} input=${input} first=${focus && index === 0} value=${values.value[input.key]} onInput=${(/** @type {Value} */ value) => (values.value = { ...values.value, [input.key]: value })} />`)}
    ${error.value ? html`<${Message} tone="bad">${error.value}<//>` : null}
    <div class="row"><${Button} type="submit" kind="main-action" busy=${busy.value}>${action}<//>${other ? html`<${Button} disabled=${busy.value} onClick=${() => void turn(other.run, undefined)}>${other.action}<//>` : null}${onCancel ? html`<${Button} onClick=${onCancel}>Leave as it is<//>` : null}</div></form>`;
}

/** @typedef {{title: string, text?: import("../core/dom.js").Children, fields: readonly Input[], action: string, save: Save, done?: string}} Asked */
const asked = signal(/** @type {Asked | null} */ (null));
/** Opens a dialog with a form; it stays open with the reason while the gateway refuses. @param {Asked} form */
export const fill = (form) => {
  asked.value = form;
};

/** The dialog of `fill`; the shell has one. */
export function Filling() {
  const form = asked.value;
  if (!form) return null;
  const close = () => (asked.value = null);
  const done = () => {
    // What was saved may have opened the next dialog.
    if (asked.peek() === form) close();
    if (form.done) toast(form.done);
  };
  return html`<${Dialog} key=${form.title} title=${form.title} onClose=${close}>${form.text ? html`<p class="wrap">${form.text}</p>` : null}<${Form} focus fields=${form.fields} action=${form.action} save=${form.save} onDone=${done} onCancel=${close} /><//>`;
}
