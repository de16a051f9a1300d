// The rows of the table of experiments: read in pages as they come into view, and kept current by the stream.
import { AGAIN_MS, change, get, passes } from "../core/client.js";
import { signal } from "../core/dom.js";
import { hasEnded } from "../core/format.js";
import { pagesOf } from "../components/window.js";
import { listen } from "../live/stream.js";

/** @typedef {import("../wire").v1SearchExperimentExperiment} Found */
/** @typedef {import("../wire").v1SearchExperimentsResponse} Answer */

const PAGE = 50;

/** @param {Record<string, unknown>} body @param {AbortSignal} [aborted] @returns {Promise<Answer>} */
export const search = (body, aborted) => change("POST", "/api/v1/experiments-search", body, aborted);

/** What the stream sends of an experiment, laid over what was read.
 * @param {import("../wire").v1Experiment} experiment @param {Record<string, any>} live @returns {import("../wire").v1Experiment} */
export function overlaid(experiment, live) {
  const state = /** @type {any} */ (`STATE_${live.state}`);
  // The stream has ACTIVE where the API says how far an active one has come: that is read again a moment later.
  const keeps = live.state === "ACTIVE" && /QUEUED|PULLING|STARTING|RUNNING/.test(experiment.state);
  return { ...experiment, name: live.name, description: live.description, labels: live.labels, archived: live.archived, state: keeps ? experiment.state : state, progress: live.search_progress, endTime: live.end_time, resourcePool: live.resource_pool };
}

export class Table {
  /** @param {{filter: string, sort: string, projectId?: number}} wanted */
  constructor(wanted) {
    this.wanted = wanted;
    this.total = signal(-1);
    /** Raised with each change of the rows. */
    this.version = signal(0);
    this.error = signal(/** @type {unknown} */ (null));
    /** @type {Map<number, Found[]>} */
    this.pages = new Map();
    /** @type {Set<number>} */
    this.asking = new Set();
    /** @type {Set<number>} */
    this.stale = new Set();
    this.view = { first: 0, last: PAGE };
    this.gone = new AbortController();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.later = undefined;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.soon = undefined;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.again = undefined;
    /** Whether only what is loaded is followed. */
    this.narrow = false;
    this.stop = () => {};
    /** Follows the tasks of what is active and in view: they say what waits and what runs. */
    this.stopTasks = () => {};
    this.followed = "";
    void this.load(0).then(() => this.follow());
  }

  /** @param {number} index */
  row = (index) => this.pages.get(Math.floor(index / PAGE))?.[index % PAGE];

  /** @param {number} first @param {number} last */
  need = (first, last) => {
    this.view = { first, last };
    clearTimeout(this.later);
    const missing = pagesOf(first, last, PAGE).filter((page) => !this.pages.has(page) || this.stale.has(page));
    if (missing.length) this.later = setTimeout(() => missing.forEach((page) => void this.load(page)), 60);
  };

  /** @param {number} page */
  async load(page) {
    if (this.asking.has(page) || this.gone.signal.aborted) return;
    this.asking.add(page);
    this.stale.delete(page);
    try {
      const { filter, sort, projectId } = this.wanted;
      const answer = await search({ filter, sort, projectId, offset: page * PAGE, limit: PAGE }, this.gone.signal);
      this.pages.set(page, answer.experiments);
      for (const other of this.pages.keys()) {
        if (this.pages.size <= 40) break;
        if (Math.abs(other - page) > 10) this.pages.delete(other);
      }
      this.error.value = null;
      this.total.value = Number(answer.pagination.total);
    } catch (error) {
      if (this.gone.signal.aborted) return;
      this.error.value = error;
      if (passes(error)) setTimeout(() => void this.load(page), AGAIN_MS);
    } finally {
      this.asking.delete(page);
    }
    this.version.value += 1;
    clearTimeout(this.soon);
    this.soon = setTimeout(() => { if (!this.gone.signal.aborted) this.followLoaded(); }, 500);
  }

  /** Follows all experiments: those that are known are sent when they change, others when they are created. */
  async follow() {
    const has = await knownIds(this.gone.signal).catch(() => null);
    if (!has || this.gone.signal.aborted) return;
    const wanted = this.wanted.projectId ? { project_ids: [this.wanted.projectId] } : { all: true };
    this.stop = listen({ experiments: wanted }, { has: { experiments: has }, changed: (changes) => this.changed(changes), ready: () => this.refresh(), refused: () => (this.narrow = true) });
    if (this.gone.signal.aborted) this.stop();
  }

  /** Subscribes to the tasks of the active experiments that are loaded; where all experiments are too many to follow,
   * to the loaded ones as well. */
  followLoaded() {
    const loaded = [...this.pages.values()].flat().map((row) => row.experiment);
    const active = loaded.filter((one) => !hasEnded(one.state) && !one.unmanaged && one.numTrials <= 500).map((one) => one.id).slice(0, 200);
    const ids = this.narrow ? loaded.map((one) => one.id).slice(0, 1000) : [];
    const key = `${active}|${ids}`;
    if (key === this.followed) return;
    this.followed = key;
    this.stopTasks();
    this.stopTasks = () => {};
    if (!active.length && !ids.length) return;
    const wanted = { ...(active.length ? { tasks: { experiment_ids: active } } : {}), ...(ids.length ? { experiments: { experiment_ids: ids } } : {}) };
    let synced = false;
    this.stopTasks = listen(wanted, {
      changed: (changes) => { if (synced) this.changed(changes.filter((one) => one.kind === "experiments")); },
      ready: () => (synced = true),
    });
  }

  /** @param {import("../live/following.js").Change[]} changes */
  changed(changes) {
    const live = new Map(changes.filter((one) => one.object).map((one) => [one.object?.id, one.object]));
    for (const [page, rows] of this.pages) {
      if (rows.some((row) => live.has(row.experiment.id))) {
        this.pages.set(page, rows.map((row) => (live.has(row.experiment.id) ? { ...row, experiment: overlaid(row.experiment, live.get(row.experiment.id) ?? {}) } : row)));
      }
    }
    this.version.value += 1;
    this.refresh();
  }

  /** Reads what is in view again, at most once a second: order, filters and metrics are the gateway's. */
  refresh() {
    if (this.again) return;
    this.again = setTimeout(() => {
      this.again = undefined;
      for (const page of this.pages.keys()) this.stale.add(page);
      for (const page of pagesOf(this.view.first, Math.max(this.view.last, 1), PAGE)) void this.load(page);
    }, 700);
  }

  close() {
    this.gone.abort();
    clearTimeout(this.later);
    clearTimeout(this.again);
    clearTimeout(this.soon);
    this.stop();
    this.stopTasks();
  }
}

/** The ids that there are, the latest 20,000 of them: a page that says that it has them is sent what changes, and what is new.
 * @param {AbortSignal} aborted */
export async function knownIds(aborted) {
  const newest = await search({ sort: "id=desc", limit: 1 }, aborted);
  const top = newest.experiments[0]?.experiment.id ?? 0;
  return Array.from({ length: Math.min(top, 20_000) }, (_, i) => top - i);
}

/** Calls `changed` when any of these experiments changes or is created, until the answer is called.
 * @param {import("../live/following.js").Wanted} wanted @param {() => void} changed */
export function followExperiments(wanted, changed) {
  const gone = new AbortController();
  let stop = () => {};
  knownIds(gone.signal).then((has) => {
    if (!gone.signal.aborted) stop = listen({ experiments: wanted }, { has: { experiments: has }, changed });
  }).catch(() => {});
  return () => { gone.abort(); stop(); };
}

/** @param {string} action @param {number[]} ids @returns {Promise<{id: number, error: string}[]>} */
export async function act(action, ids) {
  const path = (/** @type {string} */ word) => `/api/v1/projects/-1/experiments/${word}`;
  const body = { experimentIds: ids, projectId: -1 };
  const answer = await (action === "delete" ? change("DELETE", path("delete"), body) : change("POST", path(action), body));
  return answer.results;
}

/** @returns {Promise<Map<string, number>>} */
export async function userIds() {
  /** @type {{users: {id: number, username: string}[]}} */
  const answer = await get("/api/v1/users");
  return new Map(answer.users.map((user) => [user.username, user.id]));
}
