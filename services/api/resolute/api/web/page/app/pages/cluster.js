// The cluster: pools with their slots, the queue with the reason each job waits, the agents.
import { html, useEffect, useSignal } from "../core/dom.js";
import { get, send } from "../core/client.js";
import { ask, here, query } from "../core/place.js";
import { gathered, useLoaded } from "../core/load.js";
import { listen } from "../live/stream.js";
import { followExperiments } from "../state/experiments.js";
import { user } from "../state/session.js";
import { Ago, Busy, Button, Command, confirm, Empty, Failed, Select, Tabs, toast } from "../components/parts.js";
import { Queue } from "../components/queue.js";

/** @typedef {import("../wire").v1Agent} Agent */

const TABS = /** @type {const} */ ([["pools", "Pools"], ["queue", "Queue"], ["agents", "Agents"]]);
/** @type {Record<string, string>} */
const OLD = { overview: "pools", active: "queue", queued: "queue", jobs: "queue", stats: "pools", configuration: "pools", bindings: "pools" };

/** @param {AbortSignal} aborted */
async function read(aborted) {
  const [pools, agents, jobs] = await Promise.all([
    /** @type {Promise<import("../wire").v1GetResourcePoolsResponse>} */ (get("/api/v1/resource-pools", {}, aborted)),
    /** @type {Promise<import("../wire").v1GetAgentsResponse>} */ (get("/api/v1/agents", {}, aborted)),
    /** @type {Promise<import("../wire").v1GetJobsV2Response>} */ (get("/api/v1/job-queues-v2", { limit: 500 }, aborted)),
  ]);
  const full = jobs.jobs.flatMap((one) => (one.full ? [one.full] : []));
  const waiting = full.filter((job) => job.summary?.state === "STATE_QUEUED").slice(0, 40);
  const reasons = new Map(await Promise.all(waiting.map(async (job) => /** @type {[string, any]} */ ([job.jobId, await get(`/api/v1/jobs/${job.jobId}/explain`, {}, aborted).catch(() => null)]))));
  return { pools: pools.resourcePools ?? [], agents: agents.agents, jobs: full, reasons };
}

export function Cluster() {
  const { value, error, again } = useLoaded(read, []);
  useEffect(() => {
    document.title = "Cluster · Resolute";
    const soon = gathered(again, 300);
    const stop = listen({ agents: { all: true } }, { changed: soon, ready: (repeated) => repeated && soon() });
    return () => { stop(); soon.stop(); };
  }, []);
  // New jobs come with new experiments, and change with their tasks.
  useEffect(() => {
    const soon = gathered(again, 300);
    const stop = followExperiments({ all: true }, soon);
    return () => { stop(); soon.stop(); };
  }, []);
  const followed = (value?.jobs ?? []).map((job) => job.jobId).sort().slice(0, 500);
  useEffect(() => {
    if (followed.length === 0) return;
    const soon = gathered(again, 300);
    let synced = false;
    const stop = listen({ tasks: { job_ids: followed } }, { changed: () => synced && soon(), ready: () => (synced = true) });
    return () => { stop(); soon.stop(); };
  }, [followed.join()]);
  const { name, params } = here.value;
  const wanted = params.tab ?? (name === "cluster" && location.pathname.endsWith("/jobs") ? "queue" : "pools");
  const tab = TABS.some(([key]) => key === wanted) ? wanted : (OLD[wanted] ?? "pools");
  const pool = params.pool ?? query.value.get("pool") ?? "";
  if (!value) return error ? html`<${Failed} heading=${"Cluster"} error=${error} retry=${again} />` : html`<h1>Cluster</h1><${Busy} what="Reading the cluster" />`;
  const within = (/** @type {string} */ of) => !pool || of === pool;
  const to = (/** @type {string} */ key) => `/det/clusters/${key}${pool ? `?pool=${encodeURIComponent(pool)}` : ""}`;
  return html`<div class="row apart"><h1>Cluster</h1><${Select} label="Pool" value=${pool} options=${[["", "all pools"], ...value.pools.map((one) => [one.name, one.name])]} onChange=${(/** @type {string} */ next) => ask({ pool: next })} /></div>
    ${error ? html`<${Failed} error=${error} retry=${again} />` : null}
    <${Tabs} label="About the cluster" at=${tab} tabs=${TABS.map(([key, text]) => [key, key === "queue" ? `${text} ${value.jobs.length}` : key === "agents" ? `${text} ${value.agents.length}` : text, to(key)])} />
    ${tab === "pools" ? html`<${Pools} pools=${value.pools.filter((one) => within(one.name))} agents=${value.agents} />` : null}
    ${tab === "queue" ? html`<${Queue} jobs=${value.jobs.filter((job) => within(job.resourcePool))} reasons=${value.reasons} pools=${value.pools} again=${again} />` : null}
    ${tab === "agents" ? html`<${Agents} agents=${value.agents.filter((one) => (one.resourcePools ?? []).some(within))} again=${again} />` : null}`;
}

/** @param {{pools: import("../wire").v1ResourcePool[], agents: Agent[]}} props */
function Pools({ pools, agents }) {
  return html`<div class="columns">${pools.map((pool) => {
    const members = agents.filter((agent) => (agent.resourcePools ?? []).includes(pool.name));
    return html`<section class="card stack tight" key=${pool.name}><div class="row apart"><h2>${pool.name}</h2><span class="numbers">${pool.slotsUsed} of ${pool.slotsAvailable} slots used</span></div>
      <span class="progress"><progress aria-label=${`Slots used of ${pool.name}`} max=${Math.max(1, pool.slotsAvailable)} value=${pool.slotsUsed}></progress></span>
      <p class="small muted">${word(pool.schedulerType)} scheduler, ${word(pool.schedulerFittingPolicy)} fit; ${pool.stats?.scheduledCount ?? 0} jobs hold slots, <a href=${`/det/clusters/queue?pool=${encodeURIComponent(pool.name)}`}>${pool.stats?.queuedCount ?? 0} wait</a>${pool.description ? html`; ${pool.description}` : null}</p>
      ${members.map((agent) => html`<div key=${agent.id} class="stack tight"><span class="small">${agent.id}${agent.enabled ? "" : agent.draining ? " (draining)" : " (disabled)"}</span><${Slots} agent=${agent} /></div>`)}
      ${members.length ? null : html`<p>No agent has joined this pool. Start one on a machine with slots:</p><${Command} text=${`det deploy local agent-up MASTER_HOST --agent-resource-pool ${pool.name}`} />`}</section>`;
  })}</div><p class="small muted row"><span class="slot used" aria-hidden="true"></span> used <span class="slot" aria-hidden="true"></span> free <span class="slot off" aria-hidden="true">–</span> disabled or draining</p>`;
}

/** @param {string | null | undefined} wire */
const word = (wire) => String(wire ?? "").replace(/^(SCHEDULER_TYPE|FITTING_POLICY)_/, "").toLowerCase().replaceAll("_", " ");

/** @param {{agent: Agent}} props */
function Slots({ agent }) {
  const slots = Object.values(agent.slots ?? {}).sort((a, b) => Number(a.id) - Number(b.id));
  if (slots.length === 0) return html`<span class="small muted">no slots</span>`;
  const used = slots.filter((slot) => slot.container).length;
  return html`<div class="slots" role="img" aria-label=${`${used} of ${slots.length} slots of ${agent.id} used`}>${slots.map((slot) => {
    const off = slot.enabled === false || slot.draining || agent.enabled === false;
    const about = `slot ${slot.id}: ${slot.device?.brand ?? ""} ${slot.container ? `used by container ${slot.container.id}` : off ? "takes no work" : "free"}`;
    return html`<span key=${slot.id} class=${`slot ${slot.container ? "used" : off ? "off" : ""}`} title=${about}>${slot.container ? "" : off ? "–" : ""}</span>`;
  })}</div>`;
}

/** @param {{agents: Agent[], again: () => void}} props */
function Agents({ agents, again }) {
  const busy = useSignal("");
  if (agents.length === 0) return html`<${Empty} title="No agents" command="det deploy local agent-up MASTER_HOST">Agents bring slots to the cluster. Start one on each machine that shall train.<//>`;
  const turn = async (/** @type {Agent} */ agent, /** @type {string} */ verb, /** @type {object} */ body) => {
    busy.value = agent.id;
    await send("POST", `/api/v1/agents/${encodeURIComponent(agent.id)}/${verb}`, { body }).then(() => toast(`${agent.id}: ${verb === "enable" ? "enabled" : "disabled"}`), (refused) => toast(refused.message, { tone: "bad" }));
    busy.value = "";
    again();
  };
  return html`<div class="scroll"><table class="plain"><thead><tr><th>Agent</th><th>State</th><th>Pools</th><th>Slots</th><th>Addresses</th><th>Release</th><th>Joined</th><th><span class="only-read">Actions</span></th></tr></thead><tbody>${agents.map((agent) => html`<tr key=${agent.id}><td>${agent.id}</td><td>${agent.draining ? "draining" : agent.enabled ? "enabled" : "disabled"}</td><td>${(agent.resourcePools ?? []).join(", ")}</td><td><${Slots} agent=${agent} /></td><td class="mono small">${(agent.addresses ?? []).join(", ")}</td><td>${agent.version}</td><td><${Ago} at=${agent.registeredTime} /></td>
    <td>${user.value?.admin ? html`<span class="row">${agent.enabled ? html`<${Button} disabled=${busy.value === agent.id} onClick=${() => void turn(agent, "disable", { drain: true })}>Drain<//><${Button} kind="danger" disabled=${busy.value === agent.id} onClick=${() => confirm({ title: `Disable ${agent.id}?`, text: "What runs there ends at once, and starts again on other agents from its latest checkpoint. Draining lets it end by itself.", action: "Disable the agent", run: () => turn(agent, "disable", { drain: false }) })}>Disable<//>` : html`<${Button} disabled=${busy.value === agent.id} onClick=${() => void turn(agent, "enable", {})}>Enable<//>`}</span>` : null}</td></tr>`)}</tbody></table></div>`;
}
