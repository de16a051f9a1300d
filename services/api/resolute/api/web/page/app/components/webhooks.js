// Webhooks, and what was sent to one.
import { html } from "../core/dom.js";
import { change, get } from "../core/client.js";
import { useLoaded } from "../core/load.js";
import { ask, query } from "../core/place.js";
import { described, STATES, triggersOf } from "../core/webhooks.js";
import { placesAmong, workspaces } from "../state/places.js";
import { may, mayOwner } from "../state/rights.js";
import { user } from "../state/session.js";
import { attempt, fill } from "./forms.js";
import { Listing } from "./listing.js";
import { Ago, Busy, Button, confirm, Empty, Failed, State } from "./parts.js";

/** @typedef {import("../wire").v1Webhook} Webhook */
/** @typedef {import("../wire").GetWebhookDeliveriesResponse} Sent */

/** Where a delivery stands, in the words of other states. */
const STANDS = /** @type {const} */ ({ WEBHOOK_DELIVERY_STATE_DUE: "QUEUED", WEBHOOK_DELIVERY_STATE_DELIVERED: "COMPLETED", WEBHOOK_DELIVERY_STATE_GIVEN_UP: "ERROR" });

export function Webhooks() {
  const { value, error, again } = useLoaded(async (aborted) => {
    const [told, places] = await Promise.all([/** @type {Promise<import("../wire").v1GetWebhooksResponse>} */ (get("/api/v1/webhooks", {}, aborted)), workspaces(aborted)]);
    return { webhooks: told.webhooks, places };
  }, []);
  if (!value) return error ? html`<${Failed} error=${error} retry=${again} />` : html`<${Busy} what="Reading webhooks" />`;
  const { webhooks, places } = value;
  const open = webhooks.find((one) => String(one.id) === query.value.get("webhook"));
  const ownerOf = (/** @type {number | null | undefined} */ id) => places.find((place) => place.id === id)?.userId;
  const edits = (/** @type {number | null | undefined} */ workspaceId) => mayOwner("EDIT_WEBHOOKS", { ownerIds: workspaceId ? [ownerOf(workspaceId)] : [], workspaceId });
  const mine = placesAmong(places.filter((place) => edits(place.id)));
  const create = () => fill({
    title: "New webhook",
    action: "Create webhook",
    fields: [
      { key: "name", label: "Name" },
      { key: "url", label: "Address", hint: "Where requests go: an address that begins with https or http." },
      { key: "webhookType", label: "Form of the message", kind: "select", options: [["WEBHOOK_TYPE_DEFAULT", "JSON"], ["WEBHOOK_TYPE_SLACK", "Slack"]] },
      { key: "workspaceId", label: "For", kind: "select", options: [...(may("EDIT_WEBHOOKS") ? [/** @type {[string, string]} */ (["", "the whole cluster"])] : []), ...mine] },
      { key: "mode", label: "Experiments", kind: "select", options: [["WEBHOOK_MODE_WORKSPACE", "all of them"], ["WEBHOOK_MODE_SPECIFIC", "those whose configuration names it"]] },
      ...STATES.map((state, index) => ({ key: state, label: `An experiment becomes ${state}`, kind: /** @type {"check"} */ ("check"), value: index < 2 })),
      { key: "regex", label: "A line of a log fits", hint: "A regular expression (RE2). Empty: no lines." },
      { key: "custom", label: "Training code raises an alert", kind: "check" },
    ],
    save: async (values) => {
      const { name, url, webhookType, workspaceId, mode } = values;
      await change("POST", "/api/v1/webhooks", { name, url, webhookType, mode, triggers: triggersOf(values), ...(workspaceId ? { workspaceId: Number(workspaceId) } : {}) });
      again();
    },
    done: "Webhook created",
  });
  const test = (/** @type {Webhook} */ one) => attempt(() => change("POST", `/api/v1/webhooks/${one.id}/test`), `The receiver of ${one.name} took a request`);
  const edit = (/** @type {Webhook} */ one) => fill({ title: `Edit ${one.name}`, action: "Save", fields: [{ key: "url", label: "Address", value: one.url }], save: async ({ url }) => { await change("PATCH", `/api/v1/webhooks/${one.id}`, { url }); again(); }, done: "Webhook saved" });
  const drop = (/** @type {Webhook} */ one) => confirm({ title: `Delete ${one.name}?`, text: "What is due is not sent any more.", action: "Delete webhook", run: async () => { await attempt(() => change("DELETE", `/api/v1/webhooks/${one.id}`), `${one.name} is deleted`); again(); } });
  return html`${may("EDIT_WEBHOOKS") || mine.length ? html`<div class="row"><${Button} kind="main-action" onClick=${create}>New webhook<//></div>` : null}
    ${error ? html`<${Failed} error=${error} retry=${again} />` : null}
    ${webhooks.length ? html`<${Listing} label="Webhooks" heads=${["Name", "For", "When", "Address", ["Actions", "only-read"]]}>${webhooks.map((one) => html`<tr key=${one.id}><td class="wrap">${one.name} ${one.webhookType === "WEBHOOK_TYPE_SLACK" ? html`<span class="label">Slack</span>` : null}</td><td>${one.workspaceId ? (places.find((place) => place.id === one.workspaceId)?.name ?? one.workspaceId) : "the whole cluster"}${one.mode === "WEBHOOK_MODE_SPECIFIC" ? html` <span class="label">where named</span>` : null}</td><td class="wrap">${(one.triggers ?? []).map(described).join("; ")}</td><td class="mono small wrap">${one.url}</td>
        <td>${edits(one.workspaceId) ? html`<span class="row"><${Button} pressed=${open === one} label=${`Deliveries of ${one.name}`} onClick=${() => ask({ webhook: open === one ? "" : Number(one.id) })}>Deliveries<//><${Button} label=${`Test ${one.name}`} onClick=${() => void test(one)}>Test<//><${Button} label=${`Edit ${one.name}`} onClick=${() => edit(one)}>Edit<//><${Button} kind="danger" label=${`Delete ${one.name}`} onClick=${() => drop(one)}>Delete<//></span>` : null}</td></tr>`)}<//>`
      : html`<${Empty} title="No webhooks yet">A webhook sends a request to an address outside the cluster when an experiment ends, a line of a log fits, or training code raises an alert.${user.value?.admin ? "" : " Owners of workspaces make them for their workspace."}<//>`}
    ${open && edits(open.workspaceId) ? html`<${Deliveries} key=${open.id} webhook=${open} />` : null}`;
}

/** @param {{webhook: Webhook}} props */
function Deliveries({ webhook }) {
  const { value, error, again } = useLoaded((aborted) => /** @type {Promise<Sent>} */ (get(`/api/v1/webhooks/${webhook.id}/deliveries`, { limit: 50 }, aborted)), [webhook.id]);
  return html`<section class="card stack"><div class="row apart"><h2>Deliveries of ${webhook.name}</h2><${Button} onClick=${again}>Read again<//></div>${error ? html`<${Failed} error=${error} retry=${again} />` : null}
    ${value ? value.deliveries.length ? html`<${Listing} label="Deliveries" heads=${["When", "State", "What", ["Attempts", "number"], ["Status", "number"], "Reason"]}>${value.deliveries.map((one) => html`<tr key=${`${one.eventId} ${one.triggerId}`}><td><${Ago} at=${one.happenedAt} /></td><td><${State} state=${STANDS[one.state]} /></td><td>${described({ triggerType: one.triggerType, condition: webhook.triggers?.find((trigger) => trigger.id === one.triggerId)?.condition })}</td><td class="number">${one.attempts}</td><td class="number">${one.status}</td><td class="wrap">${one.reason}</td></tr>`)}<//>` : html`<p class="muted">Nothing was sent yet.</p>` : error ? null : html`<${Busy} what="Reading deliveries" />`}</section>`;
}
