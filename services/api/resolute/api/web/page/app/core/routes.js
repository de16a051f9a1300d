// Which address shows which page. Pure: tests call it without a browser.

/** @typedef {{name: string, params: Record<string, string>}} Route */

/** Patterns below /det, the first that fits wins. Old links of Determined stand beside the present ones.
 * @type {[string, string][]} */
const PATTERNS = [
  ["", "home"],
  ["dashboard", "home"],
  ["reload", "home"],
  ["login", "signIn"],
  ["logout", "signOut"],
  ["design", "design"],
  ["settings", "account"],
  ["settings/:tab", "account"],
  ["compare", "compare"],
  ["experiments", "experiments"],
  ["projects", "workspaces"],
  ["projects/:project", "project"],
  ["projects/:project/:tab", "project"],
  ["models", "models"],
  ["models/:model", "model"],
  ["models/:model/versions/:version", "modelVersion"],
  ["models/:model/versions/:version/:tab", "modelVersion"],
  ["admin", "admin"],
  ["admin/:tab", "admin"],
  ["templates", "templates"],
  ["webhooks", "webhooks"],
  ["policies", "policies"],
  ["workspaces", "workspaces"],
  ["workspaces/:workspace", "workspace"],
  ["workspaces/:workspace/:tab", "workspace"],
  ["experiments/new", "submit"],
  ["experiments/:experiment/fork", "submit"],
  ["experiments/:experiment/continue", "continueExperiment"],
  ["experiments/:experiment/trials/:trial/fork", "submit"],
  ["experiments/:experiment/trials/:trial", "trial"],
  ["experiments/:experiment/trials/:trial/:tab", "trial"],
  ["trials/:trial", "trial"],
  ["trials/:trial/:tab", "trial"],
  ["experiments/:experiment", "experiment"],
  ["experiments/:experiment/:tab", "experiment"],
  ["experiments/:experiment/:tab/:view", "experiment"],
  ["searches/:experiment", "experiment"],
  ["searches/:experiment/:tab", "experiment"],
  ["tasks", "tasks"],
  ["tasks/new/:kind", "newTask"],
  ["tasks/:task", "task"],
  ["tasks/:task/:tab", "task"],
  ...["notebooks", "commands", "shells", "tensorboards", "generic", "jupyter-lab", "command", "shell", "tensorboard"].map((kind) => /** @type {[string, string]} */ ([`${kind}/:task/logs`, "taskLogs"])),
  ["interactive/:task/:kind", "waitForTask"],
  ["interactive/:task/:kind/:name", "waitForTask"],
  ["interactive/:task/:kind/:name/:pool", "waitForTask"],
  ["interactive/:task/:kind/:name/:pool/:url", "waitForTask"],
  ["wait/:kind/:task", "waitForTask"],
  ["clusters", "cluster"],
  ["clusters/:tab", "cluster"],
  ["cluster", "cluster"],
  ["cluster/:tab", "cluster"],
  ["jobs", "cluster"],
  ["resourcepool/:pool", "cluster"],
  ["resourcepool/:pool/:tab", "cluster"],
];

const NUMBERED = new Set(["experiment", "trial", "project", "workspace", "version"]);

/** @param {string} pathname @returns {Route} */
export function route(pathname) {
  const parts = pathname.replace(/^\/det(?=\/|$)/, "").split("/").filter(Boolean).map(decoded);
  for (const [pattern, name] of PATTERNS) {
    const params = matched(pattern === "" ? [] : pattern.split("/"), parts);
    if (params) return name === "taskLogs" ? { name: "task", params: { ...params, tab: "logs" } } : { name, params };
  }
  return { name: "missing", params: {} };
}

/** @param {string[]} pattern @param {string[]} parts @returns {Record<string, string> | null} */
function matched(pattern, parts) {
  if (pattern.length !== parts.length) return null;
  /** @type {Record<string, string>} */
  const params = {};
  for (const [index, word] of pattern.entries()) {
    const part = parts[index];
    if (word.startsWith(":")) {
      if (NUMBERED.has(word.slice(1)) && !/^[1-9]\d*$/.test(part)) return null;
      params[word.slice(1)] = part;
    } else if (word !== part) return null;
  }
  return params;
}

/** @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Where to go after signing in: only addresses of this page, so that a link cannot lead elsewhere.
 * @param {string | null | undefined} wanted */
export function ownAddress(wanted) {
  if (!wanted || !/^\/(det|proxy)(\/|\?|$)/.test(wanted) || /[\\\s]/.test(wanted) || wanted.includes("//")) return "/det/";
  return wanted;
}
