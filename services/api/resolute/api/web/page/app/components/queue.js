// The queue of the pools: what runs and waits, in the order in which it is served; and changes of that order.
import { html, useSignal } from "../core/dom.js";
import { change } from "../core/client.js";
import { kindOf } from "../core/tasks.js";
import { beside, dropped, looksAt, updatesOf } from "../core/queue.js";
import { mayOwner } from "../state/rights.js";
import { attempt, fill } from "./forms.js";
import { Ago, Button, Empty, Progress, State } from "./parts.js";
import { Why } from "../pages/home.js";

/** @typedef {import("../wire").v1Job} Job */
/** @typedef {import("../core/queue.js").Update} Update */

/** @param {Job} job */
const mayChange = (job) => mayOwner("UPDATE_EXPERIMENT", { ownerIds: [job.userId], workspaceId: job.workspaceId });

/** @param {{jobs: Job[], reasons: Map<string, any>, pools: readonly import("../wire").v1ResourcePool[], again: () => void}} props */
export function Queue({ jobs, reasons, pools, again }) {
  const dragged = useSignal(/** @type {Job | null} */ (null));
  if (jobs.length === 0) return html`<${Empty} title="Nothing runs and nothing waits" command="det experiment create examples/mnist_pytorch/const.yaml examples/mnist_pytorch">The queue shows what holds slots and what waits, in the order in which it is served.<//>`;
  const policy = (/** @type {Job} */ job) => looksAt(pools.find((pool) => pool.name === job.resourcePool)?.schedulerType);
  const update = async (/** @type {Update[]} */ updates, /** @type {string} */ done) => {
    await attempt(() => change("POST", "/api/v1/job-queues", { updates }), done);
    again();
  };
  const edit = (/** @type {Job} */ job) => {
    const { setting } = policy(job);
    fill({
      title: `Change the place of ${job.name}`,
      action: "Save",
      text: setting === "weight" ? "Its pool shares slots by weight: twice as much for twice the share." : setting === "priority" ? "In its pool, the smallest priority is served first." : "Its pool serves who came first: move it up or down instead.",
      fields: [
        ...(setting === "priority" ? [{ key: "priority", label: "Priority", value: String(job.priority), hint: "From 1 to 99." }] : []),
        ...(setting === "weight" ? [{ key: "weight", label: "Weight", value: String(job.weight), hint: "A number above 0." }] : []),
        ...(job.type === "TYPE_EXPERIMENT" ? [{ key: "pool", label: "Pool", kind: /** @type {"select"} */ ("select"), value: job.resourcePool, options: pools.map((pool) => /** @type {[string, string]} */ ([pool.name, pool.name])) }] : []),
      ],
      save: async (values) => {
        const updates = updatesOf(job, values);
        if (updates.length) await change("POST", "/api/v1/job-queues", { updates });
        again();
      },
      done: `${job.name} is changed`,
    });
  };
  const drop = (/** @type {Job} */ target) => {
    const moved = dragged.value && dropped(jobs, dragged.value, target);
    if (moved) void update([moved], `${dragged.value?.name} is moved`);
    dragged.value = null;
  };
  const about = (/** @type {Job} */ job) => {
    if (job.type === "TYPE_EXPERIMENT") return html`<a href=${`/det/experiments/${job.entityId}`}>${job.name} <span class="muted">#${job.entityId}</span></a>`;
    const kind = kindOf(String(job.type).replace("TYPE_", ""));
    return kind ? html`<a href=${`/det/tasks/${job.entityId}`}>${job.name}</a> <span class="label">${kind.name}</span>` : html`${job.name} <span class="label">${job.type.replace("TYPE_", "").toLowerCase()}</span>`;
  };
  return html`<div class="scroll"><table class="plain"><thead><tr><th class="number">Order</th><th>Job</th><th>State</th><th>User</th><th>Pool</th><th class="number">Slots</th><th class="number">Priority</th><th class="number">Weight</th><th>Progress</th><th>Submitted</th><th>Why it waits</th><th><span class="only-read">Place in the queue</span></th></tr></thead>
    <tbody>${jobs.map((job, index) => {
      const { moves } = policy(job);
      const may = mayChange(job);
      const { before, after } = beside(jobs, job);
      const fits = dragged.value !== null && dragged.value.jobId !== job.jobId && dragged.value.resourcePool === job.resourcePool;
      return html`<tr key=${job.jobId} class=${fits ? "target" : ""} draggable=${may && moves} onDragStart=${(/** @type {DragEvent} */ event) => { dragged.value = job; event.dataTransfer?.setData("text/plain", job.name); }} onDragEnd=${() => (dragged.value = null)} onDragOver=${(/** @type {Event} */ event) => fits && event.preventDefault()} onDrop=${(/** @type {Event} */ event) => { event.preventDefault(); drop(job); }}>
      <td class="number">${index + 1}</td><td class="wrap">${about(job)}</td>
      <td><${State} state=${job.summary?.state === "STATE_QUEUED" ? "QUEUED" : "RUNNING"} />${job.isPreemptible ? null : html` <span class="label">not preemptible</span>`}</td><td>${job.username}</td><td>${job.resourcePool}</td><td class="number">${job.allocatedSlots} of ${job.requestedSlots}</td>
      <td class="number">${job.priority}</td><td class="number">${job.weight}</td><td><${Progress} value=${job.progress || null} name=${`Progress of ${job.name}`} /></td><td><${Ago} at=${job.submissionTime} /></td><td class="reason"><${Why} explained=${reasons.get(job.jobId)} /></td>
      <td>${may ? html`<span class="row tight-row">${moves ? html`<${Button} disabled=${!before} label=${`Move ${job.name} ahead of ${before?.name ?? "none"}`} onClick=${() => before && void update([{ jobId: job.jobId, aheadOf: before.jobId }], `${job.name} is moved`)}>↑<//><${Button} disabled=${!after} label=${`Move ${job.name} behind ${after?.name ?? "none"}`} onClick=${() => after && void update([{ jobId: job.jobId, behindOf: after.jobId }], `${job.name} is moved`)}>↓<//>` : null}<${Button} label=${`Change the place of ${job.name}`} onClick=${() => edit(job)}>Change<//></span>` : null}</td></tr>`;
    })}</tbody></table></div>`;
}
