// The model registry: models, one model with its versions, one version.
import { html, useEffect } from "../core/dom.js";
import { change, get } from "../core/client.js";
import { useLoaded } from "../core/load.js";
import { bareState, bytes, number } from "../core/format.js";
import { shown } from "../core/places.js";
import { go, here, query } from "../core/place.js";
import { labelsOf, objectOf } from "../core/typed.js";
import { useFollowing } from "../live/again.js";
import { placesAmong, workspaces } from "../state/places.js";
import { mayOwner } from "../state/rights.js";
import { master } from "../state/session.js";
import { Facts, Labels, Metadata } from "../components/facts.js";
import { attempt, fill } from "../components/forms.js";
import { Listing } from "../components/listing.js";
import { PlaceBar, wantedPlaces } from "../components/place_bar.js";
import { Ago, Busy, Button, Command, confirm, Empty, Failed, State } from "../components/parts.js";

/** @typedef {import("../wire").v1Model} Told */
/** @typedef {import("../wire").v1ModelVersion} Version */

/** @param {Told} model */
export const addressOf = (model) => `/det/models/${model.id}`;
/** @param {Told | null | undefined} model */
const changes = (model) => Boolean(model) && (!master.value?.rbacEnabled || mayOwner("EDIT_MODEL_REGISTRY", { ownerIds: [], workspaceId: model?.workspaceId }));
/** @param {Told} model */
const deletes = (model) => mayOwner("DELETE_MODEL_REGISTRY", { ownerIds: [model.userId], workspaceId: model.workspaceId });

/** The fields that models and versions share. @param {{labels?: string[] | null, metadata?: Record<string, any> | null, notes?: string | null}} of @returns {import("../components/forms.js").Input[]} */
const FIELDS = (of) => [
  { key: "labels", label: "Labels", value: (of.labels ?? []).join(", "), hint: "Separated by commas." },
  { key: "metadata", label: "Metadata", kind: "code", rows: 4, value: Object.keys(of.metadata ?? {}).length ? JSON.stringify(of.metadata, null, 2) : "", hint: 'JSON, such as {"data": "2026-01"}.' },
  { key: "notes", label: "Notes", kind: "area", value: of.notes ?? "" },
];
/** @param {Record<string, any>} values */
const read = ({ labels, metadata, ...rest }) => ({ ...rest, labels: labelsOf(labels), metadata: objectOf(metadata, "Metadata") });

/** @param {{within?: import("../wire").v1Workspace}} props a workspace, whose page has the heading */
export function Models({ within }) {
  const { value, error, again } = useLoaded((aborted) => /** @type {Promise<import("../wire").v1GetModelsResponse>} */ (get("/api/v1/models", { limit: -1, sortBy: "SORT_BY_NAME", workspaceIds: within ? [within.id] : [] }, aborted)), [within?.id]);
  useFollowing(again, { models: within ? { workspace_ids: [within.id] } : { all: true } }, [within?.id]);
  useEffect(() => {
    if (!within) document.title = "Models · Resolute";
  }, []);
  const create = () => attempt(async () => {
    const places = within ? [] : placesAmong(await workspaces());
    fill({
      title: within ? `New model in ${within.name}` : "New model",
      action: "Create model",
      fields: [{ key: "name", label: "Name", hint: "No two models have the same." }, ...(within ? [] : [{ key: "workspaceId", label: "Workspace", kind: /** @type {"select"} */ ("select"), options: places }]), { key: "description", label: "Description" }, ...FIELDS({})],
      save: async ({ workspaceId, ...values }) => {
        const { model } = await change("POST", "/api/v1/models", { ...read(values), workspaceId: within?.id ?? Number(workspaceId) });
        go(addressOf(model));
      },
    });
  });
  const label = query.value.get("label") ?? "";
  const rows = shown(value?.models ?? [], wantedPlaces()).filter((one) => !label || (one.labels ?? []).includes(label));
  const labels = [...new Set((value?.models ?? []).flatMap((one) => one.labels ?? []))].sort();
  const fresh = html`<${Button} kind="main-action" onClick=${() => void create()}>New model<//>`;
  return html`${within ? null : html`<div class="row apart"><h1>Models</h1>${fresh}</div>`}
    <${PlaceBar} what="models" filters=${labels.length ? [["label", "Label", [["", "any label"], ...labels.map((one) => [one, one])]]] : []}>${within ? fresh : null}<//>
    ${error ? html`<${Failed} error=${error} retry=${again} />` : null}
    ${!value ? error ? null : html`<${Busy} what="Reading models" />` : rows.length ? html`<${Listing} label="Models" heads=${["Name", "Description", ["Versions", "number"], "Labels", "Owner", "Changed"]}>${rows.map((one) => html`<tr key=${one.id}><td class="wrap"><a href=${addressOf(one)}>${one.name}</a></td><td class="wrap">${one.description}</td><td class="number">${one.numVersions}</td><td><${Labels} of=${one.labels} /></td><td>${one.username}</td><td><${Ago} at=${one.lastUpdatedTime} /></td></tr>`)}<//>`
      : html`<${Empty} title=${value.models.length ? "No model fits" : "No models yet"} command="det model create NAME">A model collects the checkpoints that are worth keeping, as numbered versions with notes and metadata. A registered checkpoint is not deleted.<//>`}`;
}

export function Model() {
  const name = here.value.params.model;
  const path = `/api/v1/models/${encodeURIComponent(name)}`;
  const { value, error, again } = useLoaded((aborted) => /** @type {Promise<import("../wire").v1GetModelVersionsResponse>} */ (get(`${path}/versions`, { limit: -1, sortBy: "SORT_BY_VERSION", orderBy: "ORDER_BY_DESC" }, aborted)), [path]);
  const model = value?.model;
  useEffect(() => {
    document.title = `${model?.name ?? "Model"} · Resolute`;
  }, [model?.name]);
  useFollowing(again, model ? { models: { model_ids: [model.id] }, modelversions: { model_ids: [model.id] } } : null, [model?.id]);
  if (!value || !model) return error ? html`<${Failed} heading=${`Model ${name}`} error=${error} retry=${again} />` : html`<h1>Model ${name}</h1><${Busy} what="Reading it" />`;
  const edit = () => fill({
    title: `Edit ${model.name}`,
    action: "Save",
    fields: [{ key: "name", label: "Name", value: model.name }, { key: "description", label: "Description", value: model.description ?? "" }, ...FIELDS(model)],
    // A name that did not change is no renaming.
    save: async ({ name, ...values }) => { await change("PATCH", `/api/v1/models/${model.id}`, { ...read(values), ...(name === model.name ? {} : { name }) }); again(); },
    done: "Model saved",
  });
  const register = () => fill({
    title: `New version of ${model.name}`,
    action: "Register version",
    fields: [{ key: "checkpointUuid", label: "Checkpoint", hint: "Its UUID, as the tab Checkpoints of an experiment shows it." }, { key: "name", label: "Name" }, { key: "comment", label: "Comment" }, ...FIELDS({})],
    save: async ({ checkpointUuid, ...values }) => { await change("POST", `/api/v1/models/${model.id}/versions`, { ...read(values), modelName: model.name, checkpointUuid: checkpointUuid.trim() }); again(); },
    done: "Version registered",
  });
  const move = () => attempt(async () => {
    const options = placesAmong(await workspaces(), model.workspaceId);
    if (!options.length) throw new Error("There is no other workspace that it could move to. Create one first.");
    fill({ title: `Move ${model.name}`, action: "Move model", fields: [{ key: "to", label: "To the workspace", kind: "select", options }], save: async ({ to }) => { await change("POST", `/api/v1/models/${model.id}/move`, { modelName: model.name, destinationWorkspaceId: Number(to) }); again(); }, done: `${model.name} is moved` });
  });
  const turn = (/** @type {boolean} */ on) => attempt(() => change("POST", `/api/v1/models/${model.id}/${on ? "archive" : "unarchive"}`), `${model.name} is ${on ? "archived" : "no longer archived"}`).then(again);
  const drop = () => confirm({ title: `Delete ${model.name}?`, text: html`<p>Its versions go with it. Their checkpoints stay, and may then be deleted as others.</p>`, action: "Delete model", run: async () => { if (await attempt(() => change("DELETE", `/api/v1/models/${model.id}`), `${model.name} is deleted`)) go("/det/models", { replace: true }); } });
  const open = changes(model) && !model.archived;
  return html`<div class="page-head"><nav class="crumbs" aria-label="Where this is"><a href="/det/models">Models</a> / <a href=${`/det/workspaces/${model.workspaceId}/models`}>those of its workspace</a></nav>
      <div class="row apart"><h1>${model.name}</h1><div class="row">${open ? html`<${Button} kind="main-action" onClick=${register}>New version<//><${Button} onClick=${edit}>Edit<//><${Button} onClick=${() => void move()}>Move<//>` : null}
        ${changes(model) ? html`<${Button} onClick=${() => void turn(!model.archived)}>${model.archived ? "Unarchive" : "Archive"}<//>` : null}${deletes(model) ? html`<${Button} kind="danger" onClick=${drop}>Delete<//>` : null}</div></div>
      <div class="row">${model.archived ? html`<span class="label">archived</span>` : null}<${Labels} of=${model.labels} /><span class="muted">of ${model.username}, changed <${Ago} at=${model.lastUpdatedTime} /></span></div>
      ${model.description ? html`<p class="muted wrap">${model.description}</p>` : null}</div>
    ${error ? html`<${Failed} error=${error} retry=${again} />` : null}
    ${value.modelVersions.length ? html`<${Listing} label="Versions" heads=${[["Version", "number"], "Name", "Comment", "Checkpoint", "From", "Labels", "Registered"]}>${value.modelVersions.map((one) => html`<tr key=${one.id}><td class="number"><a href=${`${addressOf(model)}/versions/${one.version}`}>${one.version}</a></td><td class="wrap">${one.name}</td><td class="wrap">${one.comment}</td><td class="mono small" title=${one.checkpoint?.uuid}>${one.checkpoint?.uuid.slice(0, 8)}</td><td><${From} version=${one} /></td><td><${Labels} of=${one.labels} /></td><td><${Ago} at=${one.creationTime} /></td></tr>`)}<//>`
      : html`<${Empty} title="No versions yet" command=${`det model register-version ${JSON.stringify(model.name)} CHECKPOINT_UUID`}>A version is a checkpoint with a number, a name and notes.<//>`}
    <div class="columns"><section class="card"><h2>Notes</h2>${model.notes ? html`<p class="notes">${model.notes}</p>` : html`<p class="muted">No notes.</p>`}</section><section class="card"><h2>Metadata</h2><${Metadata} of=${model.metadata} none="No metadata." /></section></div>`;
}

/** Where the checkpoint of a version is from. @param {{version: Version}} props */
function From({ version }) {
  const { experimentId, trialId } = version.checkpoint?.training ?? {};
  return experimentId && trialId ? html`<a href=${`/det/experiments/${experimentId}/trials/${trialId}`}>experiment ${experimentId}, trial ${trialId}</a>` : null;
}

export function ModelVersion() {
  const { model: name, version } = here.value.params;
  const path = `/api/v1/models/${encodeURIComponent(name)}/versions/${version}`;
  const { value, error, again } = useLoaded(async (aborted) => {
    const [told, metrics] = await Promise.all([
      /** @type {Promise<import("../wire").v1GetModelVersionResponse>} */ (get(path, {}, aborted)),
      /** @type {Promise<import("../wire").v1GetTrialMetricsByModelVersionResponse>} */ (get(`${path}/metrics`, {}, aborted)),
    ]);
    return { one: told.modelVersion, metrics: metrics.metrics };
  }, [path]);
  const one = value?.one;
  useEffect(() => {
    document.title = `${one?.model?.name ?? "Model"}, version ${version} · Resolute`;
  }, [one?.model?.name, version]);
  useFollowing(again, one ? { modelversions: { model_version_ids: [one.id] } } : null, [one?.id]);
  const model = one?.model;
  if (!value || !one || !model) return error ? html`<${Failed} heading=${`Version ${version}`} error=${error} retry=${again} />` : html`<h1>Version ${version}</h1><${Busy} what="Reading it" />`;
  const edit = () => fill({
    title: `Edit version ${one.version}`,
    action: "Save",
    fields: [{ key: "name", label: "Name", value: one.name ?? "" }, { key: "comment", label: "Comment", value: one.comment ?? "" }, ...FIELDS(one)],
    save: async (values) => { await change("PATCH", `/api/v1/models/${model.id}/versions/${one.version}`, read(values)); again(); },
    done: "Version saved",
  });
  const drop = () => confirm({ title: `Delete version ${one.version} of ${model.name}?`, text: "The checkpoint stays, and may then be deleted as others.", action: "Delete version", run: async () => { if (await attempt(() => change("DELETE", `/api/v1/models/${model.id}/versions/${one.version}`), `Version ${one.version} is deleted`)) go(addressOf(model), { replace: true }); } });
  const { checkpoint } = one;
  const files = Object.entries(checkpoint?.resources ?? {});
  return html`<div class="page-head"><nav class="crumbs" aria-label="Where this is"><a href="/det/models">Models</a> / <a href=${addressOf(model)}>${model.name}</a></nav>
      <div class="row apart"><h1>${one.name ? `${one.name} ` : ""}<span class=${one.name ? "muted" : ""}>Version ${one.version}</span></h1><div class="row">${changes(model) && !model.archived ? html`<${Button} onClick=${edit}>Edit<//>` : null}${mayOwner("DELETE_MODEL_VERSION", { ownerIds: [model.userId, one.userId], workspaceId: model.workspaceId }) ? html`<${Button} kind="danger" onClick=${drop}>Delete<//>` : null}</div></div>
      <div class="row"><${Labels} of=${one.labels} /><span class="muted">registered by ${one.username}, <${Ago} at=${one.creationTime} /></span></div>${one.comment ? html`<p class="muted wrap">${one.comment}</p>` : null}</div>
    ${error ? html`<${Failed} error=${error} retry=${again} />` : null}
    <div class="columns">
      <section class="card stack"><h2>Checkpoint</h2>${checkpoint ? html`<${Facts} facts=${[["UUID", html`<code class="wrap">${checkpoint.uuid}</code>`], ["State", html`<${State} state=${bareState(checkpoint.state)} />`], ["From", html`<${From} version=${one} />`], ["Saved", html`<${Ago} at=${checkpoint.reportTime} />`], ["Files", files.length ? `${files.length}, ${bytes(files.reduce((sum, [, size]) => sum + Number(size), 0))}` : null]]} />
        <p>Download it, or use it in code:</p><${Command} text=${`det checkpoint download ${checkpoint.uuid}`} /><${Command} text=${`client.get_model(${JSON.stringify(model.name)}).get_version(${one.version})`} />` : html`<p class="muted">The checkpoint was deleted.</p>`}</section>
      <section class="card"><h2>Metrics</h2>${value.metrics.length ? value.metrics.map((report) => html`<div key=${report.id} class="stack tight"><h3>${report.group}, after ${number(report.totalBatches)} batches</h3><${Metadata} of=${report.metrics?.avg_metrics ?? report.metrics} none="None." /></div>`) : html`<${Metadata} of=${checkpoint?.training.validationMetrics?.avgMetrics} none="No metrics were reported with this checkpoint." />`}</section>
      <section class="card"><h2>Hyperparameters</h2><${Metadata} of=${checkpoint?.training.hparams} none="None." /></section>
      <section class="card"><h2>Notes</h2>${one.notes ? html`<p class="notes">${one.notes}</p>` : html`<p class="muted">No notes.</p>`}</section>
      <section class="card"><h2>Metadata</h2><${Metadata} of=${one.metadata} none="No metadata." /></section>
      ${files.length ? html`<section class="card"><h2>Files</h2><${Listing} label="Files of the checkpoint" heads=${["Path", ["Size", "number"]]}>${files.sort(([a], [b]) => a.localeCompare(b)).map(([file, size]) => html`<tr key=${file}><td class="mono small wrap">${file}</td><td class="number">${bytes(size)}</td></tr>`)}<//></section>` : null}
    </div>`;
}
