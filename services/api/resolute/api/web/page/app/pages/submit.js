// A new experiment: from nothing, from another one (a fork), from a trial; and one that goes on.
import { html, useEffect, useId, useSignal } from "../core/dom.js";
import { change, get } from "../core/client.js";
import { filesOf, isSent, pathOf } from "../core/context.js";
import { bytes, hasEnded, yaml } from "../core/format.js";
import { FIRST, fromTrial, hidesSecrets } from "../core/forks.js";
import { useLoaded } from "../core/load.js";
import { go, here, query } from "../core/place.js";
import { configOf } from "../core/yaml.js";
import { destinations } from "../state/places.js";
import { user } from "../state/session.js";
import { Form } from "../components/forms.js";
import { Busy, Empty, Failed, Message, toast } from "../components/parts.js";

/** @typedef {import("../wire").v1Experiment} Experiment */
/** @typedef {import("../wire").v1CreateExperimentResponse} Created */

const TOO_WIDE = "A trial needs more slots than the pool has now: it starts when agents bring more.";

/** What the gateway warns of. @param {{warnings?: readonly string[] | null, configWarnings?: readonly string[] | null}} told */
const warned = (told) => [...(told.configWarnings ?? []), ...((told.warnings ?? []).length ? [TOO_WIDE] : [])];

/** @param {AbortSignal} aborted */
async function read(aborted) {
  const { experiment: id, trial: trialId } = here.peek().params;
  const [projects, templates, experiment, trial] = await Promise.all([
    destinations(),
    /** @type {Promise<import("../wire").v1GetTemplatesResponse>} */ (get("/api/v1/templates", { limit: -1, sortBy: "SORT_BY_NAME" }, aborted)),
    id ? /** @type {Promise<import("../wire").v1GetExperimentResponse>} */ (get(`/api/v1/experiments/${id}`, {}, aborted)).then((told) => told.experiment) : null,
    trialId ? /** @type {Promise<import("../wire").v1GetTrialResponse>} */ (get(`/api/v1/trials/${trialId}`, {}, aborted)).then((told) => told.trial) : null,
  ]);
  const text = !experiment ? FIRST : trial ? fromTrial(configOf(experiment.originalConfig, "Configuration"), trial) : experiment.originalConfig || yaml(experiment.config).trim();
  return { projects, templates: templates.templates, experiment, trial, text };
}

export function Submit() {
  const { experiment: id, trial: trialId } = here.value.params;
  const heading = trialId ? `New experiment from trial ${trialId}` : id ? `Fork experiment ${id}` : "New experiment";
  useEffect(() => {
    document.title = `${heading} · Resolute`;
  }, [heading]);
  const { value, error, again } = useLoaded(read, [id, trialId]);
  const checked = useSignal(/** @type {Created | null} */ (null));
  const chosen = useSignal(/** @type {File[]} */ ([]));
  if (!value) return error ? html`<${Failed} heading=${heading} error=${error} retry=${again} />` : html`<h1>${heading}</h1><${Busy} what="Reading what it begins from" />`;
  const { experiment, projects, templates } = value;
  const submit = async (/** @type {Record<string, any>} */ values, /** @type {boolean} */ validateOnly) => {
    checked.value = null;
    const files = await Promise.all(chosen.value.map(async (file) => ({ path: pathOf(file), content: new Uint8Array(await file.arrayBuffer()), modified: file.lastModified })));
    return /** @type {Created} */ (await change("POST", "/api/v1/experiments", {
      config: values.config, projectId: Number(values.project), template: values.template, parentId: experiment?.id ?? 0, activate: !values.paused, modelDefinition: filesOf(files), validateOnly,
    }));
  };
  const save = async (/** @type {Record<string, any>} */ values) => {
    const told = await submit(values, false);
    for (const warning of warned(told)) toast(warning);
    go(`/det/experiments/${told.experiment.id}`);
  };
  /** @type {import("../components/forms.js").Input[]} */
  const fields = [
    { key: "config", label: "Configuration", kind: "code", rows: 22, value: value.text, hint: "YAML. Check says what is wrong with it, and starts nothing." },
    { key: "project", label: "Project", kind: "select", value: query.value.get("project") ?? String(experiment?.projectId ?? projects[0]?.[0] ?? ""), options: projects },
    { key: "template", label: "Template", kind: "select", options: [["", "none"], ...templates.map((one) => /** @type {[string, string]} */ ([one.name, one.name]))] },
    { key: "paused", label: "Begin paused", kind: "check" },
  ];
  const other = { action: "Check", run: async (/** @type {Record<string, any>} */ values) => (checked.value = await submit(values, true)) };
  return html`<div class="page-head"><nav class="crumbs" aria-label="Where this is"><a href="/det/experiments">Experiments</a>${experiment ? html` / <a href=${`/det/experiments/${experiment.id}`}>${experiment.name}</a>` : null}</nav><h1>${heading}</h1>
      ${value.trial ? html`<p class="muted">It has the hyperparameters of the trial, and begins from the trial's last checkpoint.</p>` : experiment ? html`<p class="muted">It has the same code, unless another folder is chosen.</p>` : null}</div>
    ${experiment && hidesSecrets(value.text) && experiment.userId !== user.value?.id ? html`<${Message} tone="warn">Secrets of ${experiment.username} are not shown: write values of your own in the place of <code>********</code>.<//>` : null}
    <div class="columns"><section class="card"><h2>What to run</h2><${Folder} chosen=${chosen} inherits=${Boolean(experiment)} /><${Form} fields=${fields} action=${experiment && !value.trial ? "Fork experiment" : "Create experiment"} save=${save} other=${other} /></section>
      ${checked.value ? html`<${Checked} told=${checked.value} />` : null}</div>`;
}

/** @param {{told: Created}} props */
const Checked = ({ told }) => html`<section class="card stack"><h2>Checked</h2><${Message}>This would be accepted. Nothing was started.<//>${warned(told).map((text) => html`<${Message} key=${text} tone="warn">${text}<//>`)}
  <pre class="code" tabindex="0" aria-label="The configuration as it would run">${yaml(told.config).trim()}</pre></section>`;

/** A folder that is chosen, or dropped on the field. @param {{chosen: {value: File[]}, inherits: boolean}} props */
function Folder({ chosen, inherits }) {
  const id = useId();
  const pick = (/** @type {any} */ event) => (chosen.value = [...event.target.files].filter((file) => isSent(pathOf(file))));
  const size = chosen.value.reduce((sum, file) => sum + file.size, 0);
  return html`<div class="field"><label for=${id}>Folder with the code</label><input id=${id} class="input wide" type="file" webkitdirectory multiple aria-describedby=${`${id}-note`} onChange=${pick} />
    <span id=${`${id}-note`} class="small muted" role="status">${chosen.value.length ? `${chosen.value.length === 1 ? "1 file" : `${chosen.value.length.toLocaleString("en")} files`}, ${bytes(size)}` : inherits ? "None: the code of the experiment that it begins from." : "Choose one, or drop it here. None: the code is in the image."} At most 95 MiB; byte code, .git and settings of editors are left out.</span></div>`;
}

export function Continue() {
  const id = Number(here.value.params.experiment);
  useEffect(() => {
    document.title = `Continue experiment ${id} · Resolute`;
  }, [id]);
  const { value: experiment, error, again } = useLoaded(async (aborted) => /** @type {import("../wire").v1GetExperimentResponse} */ (await get(`/api/v1/experiments/${id}`, {}, aborted)).experiment, [id]);
  if (!experiment) return error ? html`<${Failed} heading=${`Continue experiment ${id}`} error=${error} retry=${again} />` : html`<h1>Continue experiment ${id}</h1><${Busy} what="Reading it" />`;
  if (!hasEnded(experiment.state)) return html`<${Empty} whole title=${`Experiment ${id} has not ended`}>Only what has ended can be continued. <a href=${`/det/experiments/${id}`}>Back to it</a><//>`;
  const save = async (/** @type {Record<string, any>} */ { config }) => {
    configOf(config, "Changes");
    const told = /** @type {import("../wire").v1ContinueExperimentResponse} */ (await change("POST", "/api/v1/experiments/continue", { id, overrideConfig: config }));
    for (const warning of warned(told)) toast(warning);
    go(`/det/experiments/${id}`);
  };
  return html`<div class="page-head"><nav class="crumbs" aria-label="Where this is"><a href="/det/experiments">Experiments</a> / <a href=${`/det/experiments/${id}`}>${experiment.name}</a></nav><h1>Continue experiment ${id}</h1>
      <p class="muted">Trials that did not complete, or its only one, run again from their last checkpoint.</p></div>
    <div class="columns"><section class="card"><h2>What changes</h2><${Form} focus fields=${[{ key: "config", label: "Changes of the configuration", kind: "code", rows: 10, hint: "YAML, of what is to be different alone, such as “max_restarts: 5”. Empty: nothing changes." }]} action="Continue experiment" save=${save} onCancel=${() => go(`/det/experiments/${id}`)} /></section>
      <section class="card stack"><h2>The configuration now</h2><pre class="code" tabindex="0" aria-label="The configuration now">${yaml(experiment.config).trim()}</pre></section></div>`;
}
