// Templates of configurations: of the cluster, or of one workspace.
import { html } from "../core/dom.js";
import { change, get } from "../core/client.js";
import { useLoaded } from "../core/load.js";
import { yaml } from "../core/format.js";
import { ask, query } from "../core/place.js";
import { objectOf } from "../core/typed.js";
import { placesAmong, workspaces } from "../state/places.js";
import { mayOwner } from "../state/rights.js";
import { master } from "../state/session.js";
import { attempt, fill } from "./forms.js";
import { Listing } from "./listing.js";
import { Busy, Button, confirm, Empty, Failed } from "./parts.js";

/** @typedef {import("../wire").v1Template} Template */

/** @param {Template} one */
const pathOf = (one) => `/api/v1/templates/${encodeURIComponent(one.name)}`;
/** Without roles everybody may. @param {string} verb @param {number} [workspaceId] */
const mayTo = (verb, workspaceId) => !master.value?.rbacEnabled || mayOwner(`${verb}_TEMPLATES`, { ownerIds: [], workspaceId });

/** @param {{workspace?: import("../wire").v1Workspace}} props */
export function Templates({ workspace }) {
  const { value, error, again } = useLoaded(async (aborted) => {
    const [told, places] = await Promise.all([/** @type {Promise<import("../wire").v1GetTemplatesResponse>} */ (get("/api/v1/templates", { limit: -1, sortBy: "SORT_BY_NAME", workspaceIds: workspace ? [workspace.id] : [] }, aborted)), workspaces(aborted)]);
    return { templates: told.templates, places };
  }, [workspace?.id]);
  if (!value) return error ? html`<${Failed} error=${error} retry=${again} />` : html`<${Busy} what="Reading templates" />`;
  const { templates, places } = value;
  const open = templates.find((one) => one.name === query.value.get("template"));
  const create = () => fill({
    title: "New template",
    text: "A part of an experiment's configuration, in JSON. A submission that names the template is completed by it.",
    action: "Create template",
    fields: [{ key: "name", label: "Name" }, ...(workspace ? [] : [{ key: "place", label: "Workspace", kind: /** @type {"select"} */ ("select"), options: placesAmong(places) }]), { key: "config", label: "Configuration", kind: "code", rows: 12, value: '{\n  "environment": {\n    "environment_variables": []\n  }\n}' }],
    save: async ({ name, place, config }) => {
      if (!name.trim()) throw new Error("Name: a template needs a name");
      await change("POST", pathOf({ name, config: {}, workspaceId: 0 }), { name, workspaceId: workspace?.id ?? Number(place), config: objectOf(config, "Configuration") });
      again();
      ask({ template: name });
    },
    done: "Template created",
  });
  const edit = (/** @type {Template} */ one) => fill({
    title: `Edit ${one.name}`,
    text: "JSON. Secrets that are shown as ******** stay as they are.",
    action: "Save template",
    fields: [{ key: "config", label: "Configuration", kind: "code", rows: 16, value: JSON.stringify(one.config ?? {}, null, 2) }],
    save: async ({ config }) => { await change("PUT", pathOf(one), { name: one.name, workspaceId: one.workspaceId, config: objectOf(config, "Configuration") }); again(); },
    done: "Template saved",
  });
  const rename = (/** @type {Template} */ one) => fill({
    title: `Rename ${one.name}`,
    action: "Rename",
    fields: [{ key: "newName", label: "New name", value: one.name }],
    save: async ({ newName }) => { await change("PATCH", "/api/v1/template/rename", { oldName: one.name, newName }); again(); ask({ template: newName }); },
  });
  const drop = (/** @type {Template} */ one) => confirm({ title: `Delete ${one.name}?`, text: "What was submitted with it keeps its configuration.", action: "Delete template", run: async () => { await attempt(() => change("DELETE", pathOf(one)), `${one.name} is deleted`); again(); } });
  return html`${mayTo("CREATE", workspace?.id) ? html`<div class="row"><${Button} kind="main-action" onClick=${create}>New template<//></div>` : null}
    ${error ? html`<${Failed} error=${error} retry=${again} />` : null}
    ${templates.length ? html`<${Listing} label="Templates" heads=${["Name", "Workspace", "Sets", ["Actions", "only-read"]]}>${templates.map((one) => html`<tr key=${one.name}><td class="wrap">${one.name}</td><td>${places.find((place) => place.id === one.workspaceId)?.name ?? one.workspaceId}</td><td class="wrap small muted">${Object.keys(one.config ?? {}).join(", ")}</td><td><${Button} pressed=${open === one} label=${`View ${one.name}`} onClick=${() => ask({ template: open === one ? "" : one.name })}>View<//></td></tr>`)}<//>`
      : html`<${Empty} title="No templates yet" command="det template set NAME config.yaml">A template completes the configurations of those who name it, so that they need not repeat what all share.<//>`}
    ${open ? html`<section class="card stack"><div class="row apart"><h2 class="wrap">${open.name}</h2><span class="row">${mayTo("UPDATE", open.workspaceId) ? html`<${Button} onClick=${() => edit(open)}>Edit<//><${Button} onClick=${() => rename(open)}>Rename<//>` : null}${mayTo("DELETE", open.workspaceId) ? html`<${Button} kind="danger" onClick=${() => drop(open)}>Delete<//>` : null}</span></div><pre class="code" tabindex="0">${yaml(open.config ?? {}).trimStart()}</pre></section>` : null}`;
}
