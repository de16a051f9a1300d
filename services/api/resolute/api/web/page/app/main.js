// Where the page begins: who is signed in decides between the form and the page that the address names.
import { effect, html, render, useEffect, useSignal } from "./core/dom.js";
import { here } from "./core/place.js";
import { load, master, outage, user } from "./state/session.js";
import { learn } from "./state/rights.js";
import { leave } from "./components/actions.js";
import { Busy, Empty, Message } from "./components/parts.js";
import { Shell } from "./pages/shell.js";
import { SignIn } from "./pages/sign_in.js";

/** Pages are loaded when they are first shown. @type {Record<string, () => Promise<any>>} */
const PAGES = {
  home: async () => (await import("./pages/home.js")).Home,
  experiments: async () => (await import("./pages/experiments.js")).Experiments,
  compare: async () => (await import("./pages/compare.js")).Compare,
  submit: async () => (await import("./pages/submit.js")).Submit,
  continueExperiment: async () => (await import("./pages/submit.js")).Continue,
  experiment: async () => (await import("./pages/experiment.js")).Experiment,
  trial: async () => (await import("./pages/trial.js")).Trial,
  workspaces: async () => (await import("./pages/workspaces.js")).Workspaces,
  workspace: async () => (await import("./pages/workspaces.js")).OneWorkspace,
  project: async () => (await import("./pages/project.js")).Project,
  models: async () => (await import("./pages/models.js")).Models,
  model: async () => (await import("./pages/models.js")).Model,
  modelVersion: async () => (await import("./pages/models.js")).ModelVersion,
  admin: async () => (await import("./pages/admin.js")).Admin,
  templates: async () => (await import("./pages/admin.js")).Admin,
  webhooks: async () => (await import("./pages/admin.js")).Admin,
  policies: async () => (await import("./pages/admin.js")).Admin,
  tasks: async () => (await import("./pages/tasks.js")).Tasks,
  newTask: async () => (await import("./pages/tasks.js")).NewTask,
  task: async () => (await import("./pages/task.js")).OneTask,
  waitForTask: async () => (await import("./pages/task.js")).WaitForTask,
  cluster: async () => (await import("./pages/cluster.js")).Cluster,
  account: async () => (await import("./pages/account.js")).Account,
  design: async () => (await import("./pages/design.js")).Design,
};

/** @type {Map<string, any>} */
const loaded = new Map();

/** @param {{name: string}} props */
function Page({ name }) {
  const state = useSignal(/** @type {{name: string, page?: any, error?: unknown} | null} */ (null));
  useEffect(() => {
    const find = PAGES[name];
    if (!find || loaded.has(name)) return;
    find().then((page) => { loaded.set(name, page); state.value = { name, page }; }, (error) => (state.value = { name, error }));
  }, [name]);
  if (!PAGES[name]) return html`<${Empty} whole title="There is no page at this address">The address may be of something that was deleted, or be misspelt. <a href="/det/">Go home</a><//>`;
  const shown = loaded.get(name);
  if (shown) return html`<${shown} key=${JSON.stringify(here.value.params)} />`;
  if (state.value?.name === name && state.value.error) return html`<${Message} tone="warn">This page was replaced by a newer release. <a href=${location.href} target="_self">Load it again</a><//>`;
  return html`<${Busy} what="Loading" />`;
}

function App() {
  const who = user.value;
  const { name } = here.value;
  useEffect(() => {
    if (name === "signOut") void leave();
  }, [name]);
  useEffect(() => {
    if (who) void learn();
  }, [who?.id]);
  if (outage.value) return html`<main class="sign-in"><h1 class="only-read">Resolute</h1><${Message} tone="warn">${outage.value}<//></main>`;
  if (who === undefined) return html`<main class="sign-in"><h1 class="only-read">Resolute</h1><${Busy} what="Loading" /></main>`;
  if (!who) return html`<${SignIn} />`;
  return html`<${Shell}><${Page} name=${name === "signIn" ? "home" : name} /><//>`;
}

void load();
effect(() => {
  if (master.value && document.title === "Resolute" && master.value.clusterName) document.title = `${master.value.clusterName} · Resolute`;
});
render(html`<${App} />`, /** @type {HTMLElement} */ (document.getElementById("page")));
