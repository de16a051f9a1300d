// What may be changed of an experiment at any time: its name, description, labels and notes.
import { html, useId, useSignal } from "../core/dom.js";
import { change } from "../core/client.js";
import { Button, Dialog, Field, Message } from "./parts.js";

/** @param {{experiment: import("../wire").v1Experiment, onClose: () => void, onDone: () => void}} props */
export function EditExperiment({ experiment, onClose, onDone }) {
  const name = useSignal(experiment.name);
  const description = useSignal(experiment.description ?? "");
  const labels = useSignal((experiment.labels ?? []).join(", "));
  const notes = useSignal(experiment.notes ?? "");
  const busy = useSignal(false);
  const error = useSignal("");
  const id = useId();
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    busy.value = true;
    error.value = "";
    try {
      await change("PATCH", `/api/v1/experiments/${experiment.id}`, {
        id: experiment.id, name: name.value, description: description.value, notes: notes.value, labels: [...new Set(labels.value.split(",").map((one) => one.trim()).filter(Boolean))],
      });
      onDone();
      onClose();
    } catch (refused) {
      error.value = refused instanceof Error ? refused.message : String(refused);
    }
    busy.value = false;
  };
  return html`<${Dialog} title=${`Edit experiment ${experiment.id}`} onClose=${onClose}><form class="stack" onSubmit=${save}>
    <${Field} label="Name" value=${name.value} autofocus onInput=${(/** @type {string} */ text) => (name.value = text)} />
    <${Field} label="Description" value=${description.value} onInput=${(/** @type {string} */ text) => (description.value = text)} />
    <${Field} label="Labels" value=${labels.value} hint="Separated by commas." onInput=${(/** @type {string} */ text) => (labels.value = text)} />
    <div class="field"><label for=${id}>Notes</label><textarea id=${id} class="input wide" rows="6" value=${notes.value} onInput=${(/** @type {any} */ event) => (notes.value = event.target.value)}></textarea></div>
    ${error.value ? html`<${Message} tone="bad">${error.value}<//>` : null}
    <div class="row"><${Button} type="submit" kind="main-action" busy=${busy.value}>Save<//><${Button} onClick=${onClose}>Leave as it is<//></div></form><//>`;
}
