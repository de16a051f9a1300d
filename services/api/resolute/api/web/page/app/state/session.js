// Who is signed in, and what the cluster says of itself.
import { batch, signal } from "../core/dom.js";
import { ask, go, path } from "../core/place.js";
import { change, get, send, stillTheSame, signingOut, whenSignedOut } from "../core/client.js";
import { ownAddress } from "../core/routes.js";
import { recall } from "./settings.js";

/** @typedef {import("../wire").v1User} User */
/** @typedef {import("../wire").v1GetMasterResponse} Master */

/** undefined: not asked yet; null: nobody. */
export const user = signal(/** @type {User | null | undefined} */ (undefined));
export const master = signal(/** @type {Master | null} */ (null));
export const weakPassword = signal(false);
/** Why the page could not ask who is signed in. */
export const outage = signal("");

export async function load() {
  outage.value = "";
  try {
    const [session, cluster] = await Promise.all([get("/det/session"), get("/api/v1/master")]);
    master.value = /** @type {Master} */ (cluster);
    user.value = session.user ?? null;
    if (user.value) void recall();
  } catch (error) {
    outage.value = error instanceof Error ? error.message : String(error);
    setTimeout(load, 2000);
  }
}

whenSignedOut.run = () => {
  user.value = null;
};

stillTheSame.run = async () => {
  const told = /** @type {{user: User | null}} */ (await get("/det/session"));
  return !user.value || told.user?.id === user.value.id;
};

/** @param {string} username @param {string} password */
export async function signIn(username, password) {
  const told = await change("POST", "/det/session", { username, password });
  batch(() => {
    weakPassword.value = Boolean(told.weakPassword);
    user.value = told.user;
  });
  void recall();
  if (path.value === "/det/login") {
    const wanted = ownAddress(new URLSearchParams(location.search).get("redirect"));
    if (wanted.startsWith("/proxy")) location.assign(wanted);
    else go(wanted, { replace: true });
  }
}

/** Throws when the gateway did not end the session: whoever sits here next would still be signed in. */
export async function signOut() {
  signingOut.now = true;
  try {
    await send("DELETE", "/det/session");
    user.value = null;
  } finally {
    signingOut.now = false;
  }
  go("/det/login", { replace: true });
}

export { ask };
export { chooseTheme, theme } from "./settings.js";
