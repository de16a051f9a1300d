// Signing in: a form, and what the gateway says when it refuses.
import { html, useSignal } from "../core/dom.js";
import { master, signIn } from "../state/session.js";
import { Button, Field, Message } from "../components/parts.js";

export function SignIn() {
  const name = useSignal(lastName());
  const password = useSignal("");
  const error = useSignal("");
  const busy = useSignal(false);
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    busy.value = true;
    error.value = "";
    try {
      await signIn(name.value.trim(), password.value);
      keepName(name.value.trim());
    } catch (refused) {
      error.value = refused instanceof Error ? refused.message : String(refused);
    }
    busy.value = false;
  };
  const cluster = master.value?.clusterName;
  return html`<main class="sign-in"><form class="card stack" onSubmit=${submit}>
    <h1>Sign in${cluster ? html` <span class="muted">to ${cluster}</span>` : null}</h1>
    <${Field} label="User name" name="username" autocomplete="username" value=${name.value} autofocus=${!name.peek()} onInput=${(/** @type {string} */ text) => (name.value = text)} />
    <${Field} label="Password" name="password" type="password" autocomplete="current-password" value=${password.value} autofocus=${Boolean(name.peek())} onInput=${(/** @type {string} */ text) => (password.value = text)} />
    ${error.value ? html`<${Message} tone="bad">${error.value}<//>` : null}
    <${Button} type="submit" kind="main-action" busy=${busy.value}>Sign in<//>
    <p class="small muted">The account is the same as for the command line: <code>det user login NAME</code>. An administrator adds users with <code>det user create NAME</code>.</p>
  </form></main>`;
}

function lastName() {
  try {
    return localStorage.getItem("resolute.username") ?? "";
  } catch {
    return "";
  }
}

/** @param {string} name */
function keepName(name) {
  try {
    localStorage.setItem("resolute.username", name);
  } catch {
    // storage is switched off: the name is typed next time
  }
}
