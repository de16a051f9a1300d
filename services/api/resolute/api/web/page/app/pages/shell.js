// What is around every page: navigation, the message of the cluster, who is signed in, the theme.
import { html } from "../core/dom.js";
import { follow, here } from "../core/place.js";
import { connection } from "../live/stream.js";
import { chooseTheme, master, theme, user, weakPassword } from "../state/session.js";
import { administers } from "../state/rights.js";
import { Palette } from "../components/palette.js";
import { leave } from "../components/actions.js";
import { Filling } from "../components/forms.js";
import { Button, Confirmation, Message, Select, Toasts } from "../components/parts.js";

/** @type {[string, string, string[]][]} */
const PLACES = [
  ["Home", "/det/", ["home"]],
  ["Experiments", "/det/experiments", ["experiments", "experiment", "trial", "compare", "submit", "continueExperiment"]],
  ["Tasks", "/det/tasks", ["tasks", "task", "newTask", "waitForTask"]],
  ["Workspaces", "/det/workspaces", ["workspaces", "workspace", "project"]],
  ["Models", "/det/models", ["models", "model", "modelVersion"]],
  ["Cluster", "/det/clusters", ["cluster"]],
];

/** @returns {[string, string, string[]]} */
const shared = () => [administers() ? "Administration" : "Shared", administers() ? "/det/admin" : "/det/templates", ["admin", "templates", "webhooks", "policies"]];

const JOINED = /** @type {const} */ ({ off: "", joining: "connecting…", live: "live", broken: "connection lost: trying again" });

/** @param {{children: any}} props */
export function Shell({ children }) {
  const cluster = master.value;
  const said = cluster?.clusterMessage?.message;
  const joined = connection.value;
  return html`<div class="shell" onClick=${follow}>
    <a class="skip" href="#main">Skip to the content</a>
    ${said ? html`<div class="banner" role="status">${said}</div>` : null}
    <header class="side">
      <a class="brand" href="/det/"><img src=${new URL("../../icons/mark.svg", import.meta.url).href} alt="" /><span class="ellipsis">${cluster?.clusterName || "Resolute"}</span></a>
      <nav aria-label="Pages"><ul>${[...PLACES, shared()].map(([name, href, routes]) => html`<li key=${name}><a href=${href} aria-current=${routes.includes(here.value.name) ? "page" : undefined}>${name}</a></li>`)}</ul></nav>
      <div class="foot">
        <span class=${`small who ${joined === "broken" ? "" : "muted"}`} role="status">${joined === "broken" ? "⚠ " : joined === "live" ? "● " : ""}${JOINED[joined]}</span>
        <${Select} label="Theme" hideLabel value=${theme.value} onChange=${chooseTheme} options=${[["system", "Theme: system"], ["light", "Theme: light"], ["dark", "Theme: dark"]]} />
        <a class="ellipsis account" href="/det/settings" title=${`Account of ${user.value?.username}`}>${user.value?.displayName || user.value?.username}</a>
        <${Button} onClick=${leave}>Sign out<//>
      </div>
    </header>
    <main class="main" id="main" tabindex="-1">
      ${weakPassword.value ? html`<${Message} tone="warn">Your password is empty or easy to guess. <a href="/det/settings">Change it</a>. <${Button} kind="quiet" onClick=${() => (weakPassword.value = false)}>Not now<//><//>` : null}
      ${children}
    </main>
    <${Toasts} /><${Confirmation} /><${Filling} /><${Palette} />
  </div>`;
}
