// The table of experiments. Everything about how it is shown stands in the address.
import { html, useEffect, useMemo, useSignal } from "../core/dom.js";
import { ask, go, query } from "../core/place.js";
import { asked, FilterError, field, group, parsed } from "../core/filters.js";
import { between, bytes, number } from "../core/format.js";
import { read, written } from "../live/ranges.js";
import { Table, userIds } from "../state/experiments.js";
import { ACTIONS, begin } from "../components/actions.js";
import { beginMove } from "../components/move.js";
import { Grid } from "../components/grid.js";
import { Ago, Busy, Button, Empty, Failed, Message, nowOf, Popup, Progress, State } from "../components/parts.js";

/** @typedef {import("../wire").v1SearchExperimentExperiment} Found */
/** @typedef {import("../components/grid.js").Column<Found>} Column */

/** @type {Column[]} */
export const COLUMNS = [
  { key: "id", name: "Id", width: 72, number: true, sort: "id", cell: ({ experiment }) => experiment.id },
  { key: "name", name: "Name", width: 260, sort: "name", cell: ({ experiment }) => html`<a href=${`/det/experiments/${experiment.id}`} title=${experiment.name} tabindex="-1">${experiment.name}</a>` },
  { key: "state", name: "State", width: 128, sort: "state", cell: ({ experiment }) => html`<${State} state=${experiment.state} hint=${experiment.stateReason ?? undefined} />` },
  { key: "progress", name: "Progress", width: 120, sort: "progress", cell: ({ experiment }) => html`<${Progress} value=${experiment.progress} name=${`Progress of experiment ${experiment.id}`} />` },
  { key: "best", name: "Best metric", width: 110, number: true, sort: "searcherMetricsVal", cell: (row) => number(row.bestTrial?.searcherMetricValue) },
  { key: "metric", name: "Metric", width: 120, sort: "searcherMetric", cell: ({ experiment }) => experiment.searcherMetric },
  { key: "user", name: "User", width: 110, sort: "user", cell: ({ experiment }) => experiment.username },
  { key: "started", name: "Started", width: 110, sort: "startTime", cell: ({ experiment }) => html`<${Ago} at=${experiment.startTime} />` },
  { key: "duration", name: "Duration", width: 110, number: true, sort: "duration", cell: ({ experiment }) => between(experiment.startTime, experiment.endTime, nowOf(experiment.state)) },
  { key: "trials", name: "Trials", width: 72, number: true, sort: "numTrials", cell: ({ experiment }) => experiment.numTrials },
  { key: "searcher", name: "Search", width: 130, sort: "searcherType", cell: ({ experiment }) => experiment.searcherType },
  { key: "pool", name: "Pool", width: 110, sort: "resourcePool", cell: ({ experiment }) => experiment.resourcePool },
  { key: "labels", name: "Labels", width: 160, cell: ({ experiment }) => (experiment.labels ?? []).map((label) => html`<span class="label" key=${label}>${label}</span> `) },
  { key: "project", name: "Project", width: 140, sort: "projectId", cell: ({ experiment }) => experiment.projectName },
  { key: "checkpoints", name: "Checkpoints", width: 110, number: true, sort: "checkpointCount", cell: ({ experiment }) => experiment.checkpointCount },
  { key: "size", name: "Size", width: 100, number: true, sort: "checkpointSize", cell: ({ experiment }) => bytes(experiment.checkpointSize) },
  { key: "reason", name: "Reason", width: 260, cell: ({ experiment }) => html`<span title=${experiment.stateReason ?? ""}>${experiment.stateReason}</span>` },
  { key: "description", name: "Description", width: 260, sort: "description", cell: ({ experiment }) => html`<span title=${experiment.description ?? ""}>${experiment.description}</span>` },
];

/** Where there is little room. */
const NARROW = "state,name,id,progress,best,user,started";
const USUAL = innerWidth < 720 ? NARROW : "id,name,state,progress,best,metric,user,started,duration,trials,searcher,pool,labels";

/** The columns that the address names, with their widths: `name:300,state`. @param {string} text @returns {Column[]} */
export function columnsOf(text) {
  /** @type {Column[]} */
  const found = [];
  for (const part of text.split(",")) {
    const [key, width] = part.split(":");
    const column = COLUMNS.find((one) => one.key === key);
    if (column && !found.includes(column)) found.push(width && Number(width) >= 56 ? { ...column, width: Math.min(1000, Number(width)) } : column);
  }
  return found.length ? found : columnsOf(USUAL);
}

/** @param {Column[]} columns */
const columnsText = (columns) => columns.map((one) => (COLUMNS.find((usual) => usual.key === one.key)?.width === one.width ? one.key : `${one.key}:${one.width}`)).join(",");

/** A click sorts by one column, again by it in the other direction; with Shift it becomes a further one.
 * @param {string} sort @param {string} key @param {boolean} add */
export function sorted(sort, key, add) {
  const order = sort.split(",").filter(Boolean);
  const at = order.find((one) => one.startsWith(`${key}=`));
  const next = `${key}=${at === `${key}=asc` ? "desc" : "asc"}`;
  if (!add) return next;
  return (at ? order.map((one) => (one === at ? next : one)) : [...order, next]).join(",");
}

/** All experiments, or those of one project, whose page has the heading. @param {{project?: import("../wire").v1Project}} props */
export function Experiments({ project }) {
  const at = query.value;
  const text = at.get("q") ?? "";
  const sort = at.get("sort") ?? "id=desc";
  const archived = at.has("archived");
  const columns = useMemo(() => columnsOf(at.get("cols") ?? USUAL), [at.get("cols")]);
  const chosen = useMemo(() => new Set(/** @type {number[]} */ (read(at.get("sel") ?? ""))), [at.get("sel")]);
  const projectId = project?.id;
  const users = useSignal(/** @type {Map<string, number>} */ (new Map()));
  const table = useSignal(/** @type {Table | null} */ (null));
  const wrong = useSignal("");

  useEffect(() => {
    if (!project) document.title = "Experiments · Resolute";
    userIds().then((ids) => (users.value = ids)).catch(() => {});
  }, []);
  const needsUsers = /\buser\b/.test(text);
  useEffect(() => {
    if (needsUsers && users.value.size === 0) return;
    let filter;
    try {
      filter = asked(parsed(text, { userIds: users.value }), archived);
      wrong.value = "";
    } catch (error) {
      if (!(error instanceof FilterError)) throw error;
      wrong.value = error.message;
      return;
    }
    const next = new Table({ filter, sort, projectId });
    table.value = next;
    return () => next.close();
  }, [text, sort, archived, projectId, needsUsers && users.value]);

  const choose = (/** @type {number[]} */ ids, /** @type {boolean} */ on) => {
    const next = new Set(chosen);
    for (const id of ids) {
      if (on) next.add(id);
      else next.delete(id);
    }
    ask({ sel: written(next) });
  };
  const here_ = table.value;
  const total = here_?.total.value ?? -1;
  const version = here_?.version.value ?? 0;
  const error = here_?.error.value;
  return html`<div class="row apart">${project ? html`<span></span>` : html`<h1>Experiments</h1>`}<span class="muted numbers" role="status">${total >= 0 ? `${total.toLocaleString("en")} ${text || !archived ? "match" : "in all"}` : ""}</span><a class="button" href=${project ? `/det/experiments/new?project=${project.id}` : "/det/experiments/new"}>New experiment</a></div>
    <${FilterBar} text=${text} archived=${archived} columns=${columns} wrong=${wrong.value} />
    ${chosen.size ? html`<${Bulk} chosen=${chosen} table=${here_} />` : null}
    ${error ? html`<${Failed} error=${error} retry=${() => here_?.refresh()} />` : null}
    ${!here_ || total < 0 ? (error || wrong.value ? null : html`<${Busy} what="Reading experiments" />`) : total === 0
      ? text ? html`<${Empty} title="No experiment fits this filter">Archived experiments are shown only when asked for.<//>`
        : project ? html`<${Empty} title="No experiments in this project yet" command=${`det experiment create const.yaml . --project_id ${project.id}`}>Archived experiments are shown only when asked for. This creates one here:<//>`
        : html`<${Empty} title="No experiments yet" command="det experiment create examples/mnist_pytorch/const.yaml examples/mnist_pytorch -f">An experiment trains a model with one configuration, or searches for good hyperparameters. Create one from the command line:<//>`
      : html`<${Grid} label="Experiments" columns=${columns} total=${total} row=${here_.row} id=${(/** @type {Found} */ row) => row.experiment.id} need=${here_.need} version=${version}
          sort=${sort} onSort=${(/** @type {string} */ key, /** @type {boolean} */ add) => ask({ sort: sorted(sort, key, add) })} chosen=${chosen} onChoose=${choose}
          open=${(/** @type {Found} */ row) => go(`/det/experiments/${row.experiment.id}`)}
          onWidth=${(/** @type {string} */ key, /** @type {number} */ width) => ask({ cols: columnsText(columns.map((one) => (one.key === key ? { ...one, width } : one))) })} />`}`;
}

const EXAMPLES = [["mine, running", "state = ACTIVE"], ["failed", "state = ERROR"], ["good ones", "validation.accuracy.max > 0.9"], ["by label", "tags ~ baseline"], ["today", `startTime > ${new Date().toISOString().slice(0, 10)}`]];

/** @param {{text: string, archived: boolean, columns: Column[], wrong: string}} props */
function FilterBar({ text, archived, columns, wrong }) {
  const typed = useSignal(text);
  useEffect(() => {
    typed.value = text;
  }, [text]);
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    ask({ q: typed.value.trim() }, { replace: false });
  };
  const on = new Set(columns.map((one) => one.key));
  const move = (/** @type {number} */ from, /** @type {number} */ to) => {
    const next = [...columns];
    next.splice(to, 0, ...next.splice(from, 1));
    ask({ cols: columnsText(next) });
  };
  return html`<form class="bar" role="search" onSubmit=${submit}>
      <label class="only-read" for="filter">Filter</label>
      <input id="filter" class="input grow" type="search" spellcheck="false" autocomplete="off" value=${typed.value} aria-invalid=${wrong ? "true" : undefined} aria-describedby="filter-note"
        placeholder="a part of the name, or: state = COMPLETED validation.loss.min < 0.1 tags ~ baseline" onInput=${(/** @type {any} */ event) => (typed.value = event.target.value)} />
      <${Button} type="submit">Filter<//>
      <label class="check"><input type="checkbox" checked=${archived} onChange=${() => ask({ archived: !archived })} />Archived</label>
      <${Popup} text="Columns"><ul class="stack tight">
        ${[...columns, ...COLUMNS.filter((one) => !on.has(one.key))].map((column, index) => html`<li key=${column.key} class="row apart"><label class="check"><input type="checkbox" checked=${on.has(column.key)}
          onChange=${() => ask({ cols: columnsText(on.has(column.key) ? columns.filter((one) => one.key !== column.key) : [...columns, column]) })} />${column.name}</label>
          ${on.has(column.key) ? html`<span><${Button} kind="quiet" label=${`Move ${column.name} left`} disabled=${index === 0} onClick=${() => move(index, index - 1)}>↑<//><${Button} kind="quiet" label=${`Move ${column.name} right`} disabled=${index === columns.length - 1} onClick=${() => move(index, index + 1)}>↓<//></span>` : null}</li>`)}
        <li><${Button} onClick=${() => ask({ cols: "" })}>The usual columns<//></li></ul><//>
      <${Popup} text="Examples"><ul class="stack tight">${EXAMPLES.map(([name, filter]) => html`<li key=${name}><a href=${`?q=${encodeURIComponent(filter)}`}>${name}</a><br /><code class="muted">${filter}</code></li>`)}</ul><//>
    </form>
    <div id="filter-note">${wrong ? html`<${Message} tone="bad">${wrong}<//>` : null}</div>`;
}

/** @param {{chosen: ReadonlySet<number>, table: Table | null}} props */
function Bulk({ chosen, table }) {
  /** @type {Map<number, import("../wire").v1Experiment>} */
  const known = new Map();
  for (const rows of table?.pages.values() ?? []) for (const { experiment } of rows) if (chosen.has(experiment.id)) known.set(experiment.id, experiment);
  return html`<div class="bar card" role="toolbar" aria-label="What to do with the chosen experiments"><strong>${chosen.size} chosen</strong>
    ${ACTIONS.map((action) => {
      // Of those that are not in view any more the gateway says whether it fits.
      const ids = [...chosen].filter((id) => { const one = known.get(id); return one ? action.fits(one) : true; });
      return html`<${Button} key=${action.word} kind=${action.danger ? "danger" : ""} disabled=${ids.length === 0} onClick=${() => begin(action, ids)}>${action.text}${ids.length && ids.length !== chosen.size ? ` ${ids.length}` : ""}<//>`;
    })}
    <${Button} onClick=${() => void beginMove([...chosen])}>Move<//>
    <a class="button" href=${`/det/compare?sel=${encodeURIComponent(written(chosen))}`}>Compare</a>
    <${Button} kind="quiet" onClick=${() => ask({ sel: "" })}>Choose none<//></div>`;
}

export { field, group };
