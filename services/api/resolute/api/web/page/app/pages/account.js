// One's own account: profile, password, how the page shows things, access tokens.
import { html, signal, useEffect } from "../core/dom.js";
import { change, get } from "../core/client.js";
import { useLoaded } from "../core/load.js";
import { refused } from "../core/passwords.js";
import { user, weakPassword } from "../state/session.js";
import { may } from "../state/rights.js";
import { chooseTheme, chooseTimes, theme, times } from "../state/settings.js";
import { attempt, fill, Form } from "../components/forms.js";
import { Listing } from "../components/listing.js";
import { Ago, Busy, Button, Command, confirm, Dialog, Failed, Select, toast } from "../components/parts.js";

/** @typedef {import("../wire").v1TokenInfo} Token */

/** The text of a token that was just made: shown until it is closed, and kept nowhere. */
const made = signal("");

export function Account() {
  useEffect(() => {
    document.title = "Account · Resolute";
    return () => { made.value = ""; };
  }, []);
  const who = user.value;
  if (!who) return null;
  const path = `/api/v1/users/${who.id}`;
  const rename = async (/** @type {Record<string, any>} */ { displayName }) => {
    const told = await change("PATCH", path, { displayName });
    user.value = told.user;
    toast("Profile saved");
  };
  const renew = async (/** @type {Record<string, any>} */ { password, again }) => {
    const why = refused(password, again);
    if (why) throw new Error(why);
    await change("PATCH", path, { password, isHashed: false });
    weakPassword.value = false;
    toast("Password changed. Your other sessions have ended.");
  };
  return html`<h1>Account</h1><div class="columns">
    <section class="card stack"><h2>Profile</h2><${Form} action="Save profile" save=${rename} fields=${[
      { key: "username", label: "User name", value: who.username, disabled: true, hint: "An administrator can change it." },
      { key: "displayName", label: "Display name", value: who.displayName ?? "", hint: "Shown in the place of the user name." },
    ]} /><p class="small muted">${who.admin ? "You are an administrator. " : ""}${who.lastAuthAt ? html`Last signed in <${Ago} at=${who.lastAuthAt} />.` : null}</p></section>
    <section class="card stack"><h2>Password</h2>${who.remote ? html`<p>You sign in through another system, which keeps your password.</p>` : html`<${Form} key=${who.modifiedAt} action="Change password" save=${renew} fields=${[
      { key: "password", label: "New password", kind: "password", autocomplete: "new-password", hint: "8 characters or more, with capital letters, small letters and digits." },
      { key: "again", label: "New password again", kind: "password", autocomplete: "new-password" },
    ]} /><p class="small muted">A new password signs you out everywhere else: all your other sessions end. Access tokens keep counting.</p>`}</section>
    <section class="card stack"><h2>Display</h2><${Select} label="Theme" value=${theme.value} onChange=${chooseTheme} options=${[["system", "as the system has it"], ["light", "light"], ["dark", "dark"]]} />
      <${Select} label="Times" value=${times.value} onChange=${chooseTimes} options=${[["ago", "how long ago"], ["exact", "date and time"]]} /><p class="small muted">Kept with your account: other browsers show the same.</p></section></div>
    <${Tokens} userId=${Number(who.id)} username=${who.username} />
    ${made.value ? html`<${Dialog} title="The new access token" onClose=${() => (made.value = "")}><p>Copy it now: it is not shown again. Whoever has it can act as you until it expires or is revoked.</p><${Command} text=${made.value} /><div class="row"><${Button} kind="main-action" onClick=${() => (made.value = "")}>I have copied it<//></div><//>` : null}`;
}

/** @param {Token} token */
const standing = (token) => (token.revoked ? "revoked" : token.expiry && Date.parse(token.expiry) < Date.now() ? "expired" : "counts");

/** @param {{userId: number, username: string}} props */
function Tokens({ userId, username }) {
  const { value, error, again } = useLoaded((aborted) => /** @type {Promise<import("../wire").v1GetAccessTokensResponse>} */ (get("/api/v1/tokens", { username, showInactive: true, sortBy: "SORT_BY_CREATED_AT", orderBy: "ORDER_BY_DESC", limit: 200 }, aborted)), [username]);
  const create = () => fill({
    title: "New access token",
    action: "Make token",
    fields: [
      { key: "description", label: "What it is for", hint: "Shown in the list, such as: nightly training." },
      { key: "lifespan", label: "Counts for", kind: "select", value: "720h", options: [["24h", "1 day"], ["168h", "7 days"], ["720h", "30 days"], ["2160h", "90 days"], ["-1", "as long as the cluster allows"]] },
    ],
    save: async ({ description, lifespan }) => {
      const told = /** @type {import("../wire").v1PostAccessTokenResponse} */ (await change("POST", "/api/v1/tokens", { userId, description, lifespan }));
      made.value = told.token;
      again();
    },
  });
  const revoke = (/** @type {Token} */ token) => confirm({
    title: `Revoke access token ${token.id}?`,
    text: html`${token.description ? html`<p>${token.description}</p>` : null}<p>Programs that use it are refused at once. This cannot be taken back.</p>`,
    action: "Revoke token",
    run: async () => { await attempt(() => change("PATCH", `/api/v1/tokens/${token.id}`, { tokenId: token.id, setRevoked: true }), `Token ${token.id} is revoked`); again(); },
  });
  const tokens = value?.tokenInfo.filter((one) => one.tokenType !== "TOKEN_TYPE_USER_SESSION") ?? [];
  const changes = may("UPDATE_TOKEN");
  return html`<section class="card stack"><div class="row apart"><h2>Access tokens</h2>${may("CREATE_TOKEN") ? html`<${Button} onClick=${create}>New token<//>` : null}</div>
    <p class="muted">Scripts and other programs sign in with a token in the place of a password. ${may("CREATE_TOKEN") ? "" : "An administrator can make one for you."}</p>
    ${error ? html`<${Failed} error=${error} retry=${again} />` : null}
    ${value ? tokens.length ? html`<${Listing} label="Access tokens" heads=${[["Id", "number"], "For", "Made", "Expires", "State", ["Actions", "only-read"]]}>${tokens.map((token) => html`<tr key=${token.id}><td class="number">${token.id}</td><td class="wrap">${token.description}</td><td><${Ago} at=${token.createdAt} /></td><td>${token.expiry ? new Date(token.expiry).toLocaleString() : ""}</td><td>${standing(token)}</td><td>${changes && standing(token) === "counts" ? html`<${Button} kind="danger" label=${`Revoke token ${token.id}`} onClick=${() => revoke(token)}>Revoke<//>` : null}</td></tr>`)}<//>` : html`<p class="muted">You have no access tokens.</p>` : error ? null : html`<${Busy} what="Reading tokens" />`}</section>`;
}
