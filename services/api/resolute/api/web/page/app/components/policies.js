// What submissions are given and limited to: of the cluster, or of one workspace.
import { html } from "../core/dom.js";
import { change, get } from "../core/client.js";
import { useLoaded } from "../core/load.js";
import { yaml } from "../core/format.js";
import { mayOwner } from "../state/rights.js";
import { attempt, fill } from "./forms.js";
import { Busy, Button, confirm, Failed } from "./parts.js";

const KINDS = /** @type {const} */ ([["EXPERIMENT", "Experiments", "invariant_config:\n  max_restarts: 1\nconstraints:\n  resources:\n    max_slots: 8\n"], ["NTSC", "Notebooks, TensorBoards, shells and commands", "constraints:\n  resources:\n    max_slots: 1\n"]]);

/** @param {{workspace?: import("../wire").v1Workspace}} props without one: those of the cluster */
export const Policies = ({ workspace }) => html`<div class="columns">${KINDS.map(([kind, name, example]) => html`<${One} key=${kind} kind=${kind} name=${name} example=${example} workspace=${workspace} />`)}</div>
  <p class="small muted">What is set is laid over each submission, and what it asks for beyond the constraints is refused with the reason. What the cluster says counts before what a workspace says.</p>`;

/** @param {{kind: string, name: string, example: string, workspace?: import("../wire").v1Workspace}} props */
function One({ kind, name, example, workspace }) {
  const path = `/api/v1/config-policies/${workspace ? `workspaces/${workspace.id}` : "global"}/${kind}`;
  const { value, error, again } = useLoaded((aborted) => /** @type {Promise<import("../wire").v1GetGlobalConfigPoliciesResponse>} */ (get(path, {}, aborted)), [path]);
  const set = value?.configPolicies ?? {};
  const some = Object.keys(set).length > 0;
  const edits = workspace ? mayOwner("MODIFY_WORKSPACE_CONFIG_POLICIES", { ownerIds: [workspace.userId], workspaceId: workspace.id }) : mayOwner("MODIFY_GLOBAL_CONFIG_POLICIES", { ownerIds: [] });
  const edit = () => fill({
    title: `Policies for ${name.toLowerCase()}`,
    text: "YAML. It takes the place of what is set. Secrets that are shown as ******** stay as they are.",
    action: "Save policies",
    fields: [{ key: "configPolicies", label: "Policies", kind: "code", rows: 14, value: some ? `${yaml(set).trimStart()}\n` : example }],
    save: async ({ configPolicies }) => { await change("PUT", path, { workloadType: kind, configPolicies, ...(workspace ? { workspaceId: workspace.id } : {}) }); again(); },
    done: "Policies saved",
  });
  const drop = () => confirm({ title: "Delete these policies?", text: "What was submitted keeps its configuration.", action: "Delete policies", run: async () => { await attempt(() => change("DELETE", path), "Policies deleted"); again(); } });
  return html`<section class="card stack"><div class="row apart"><h2>${name}</h2>${edits && value ? html`<span class="row"><${Button} label=${`${some ? "Edit" : "Set"} policies for ${name.toLowerCase()}`} onClick=${edit}>${some ? "Edit" : "Set"}<//>${some ? html`<${Button} kind="danger" onClick=${drop}>Delete<//>` : null}</span>` : null}</div>
    ${error ? html`<${Failed} error=${error} retry=${again} />` : null}${value ? some ? html`<pre class="code" tabindex="0">${yaml(set).trimStart()}</pre>` : html`<p class="muted">Nothing is set.</p>` : error ? null : html`<${Busy} what="Reading policies" />`}</section>`;
}
