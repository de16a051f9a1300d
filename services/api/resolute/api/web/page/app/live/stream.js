// The live connection of the page: one WebSocket, opened again by itself, which goes on where it was cut.
import { signal } from "../core/dom.js";
import { get, signingOut, whenSignedOut } from "../core/client.js";
import { Known, pauseMs, subscription, understood } from "./following.js";

/** @typedef {import("./following.js").Kind} Kind */
/** @typedef {import("./following.js").Wanted} Wanted */
/** @typedef {import("./following.js").Change} Change */

/** A connection may be refused because the session has ended, which its code does not say. */
async function stillSignedIn() {
  const session = await get("/det/session").catch(() => null);
  if (session && !session.user) whenSignedOut.run();
}

/** @typedef {"broken" | "joining" | "live"} Standing */

/** How each connection of the page stands. */
const standings = new Map(/** @type {[object, Standing][]} */ ([]));

/** Whether what is shown is up to date, which the shell shows. @type {import("../../vendor/signals/core.js").Signal<"off" | Standing>} */
export const connection = signal("off");

/** @param {object} whose @param {Standing | null} standing */
function stands(whose, standing) {
  if (standing) standings.set(whose, standing);
  else standings.delete(whose);
  const all = new Set(standings.values());
  connection.value = all.has("broken") ? "broken" : all.has("joining") ? "joining" : all.has("live") ? "live" : "off";
}

/** The gateway does not take the subscription: it asks for too much, or for what the caller may not see. */
const REFUSED = new Set([1003, 1008, 1009]);

/**
 * Follows objects until the answer is called. `changed` is given what changed, gathered until the next frame;
 * `ready` is called each time the page is up to date: at first, and after each break.
 * `has` are ids that the caller has read already. `refused` is called where the gateway does not take the subscription,
 * because too many objects match for instance: it is not tried again.
 * @param {Partial<Record<Kind, Wanted>>} wanted
 * @param {{changed: (changes: Change[]) => void, ready?: (again: boolean) => void, refused?: (reason: string) => void, has?: Partial<Record<Kind, (number | string)[]>>}} listener
 * @returns {() => void}
 */
export function listen(wanted, { changed, ready, refused, has = {} }) {
  /** @type {Map<Kind, Known>} */
  const known = new Map();
  const whose = {};
  for (const [kind, ids] of /** @type {[Kind, (number | string)[]][]} */ (Object.entries(has))) {
    const here = new Known();
    for (const id of ids) here.ids.add(id);
    known.set(kind, here);
  }
  /** @type {WebSocket | null} */
  let socket = null;
  let closed = false;
  let attempt = 0;
  let syncs = 0;
  let complete = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** @type {Change[]} */
  let gathered = [];
  let due = false;

  const hand = () => {
    due = false;
    if (closed || gathered.length === 0) return;
    const now = gathered;
    gathered = [];
    changed(now);
  };
  const open = () => {
    if (closed) return;
    if (signingOut.now) {
      timer = setTimeout(open, 200);
      return;
    }
    stands(whose, attempt ? "broken" : "joining");
    complete = false;
    const { protocol, host } = location;
    socket = new WebSocket(`${protocol === "https:" ? "wss:" : "ws:"}//${host}/stream`);
    socket.onopen = () => socket?.send(JSON.stringify(subscription(String((syncs += 1)), wanted, known)));
    socket.onmessage = (event) => {
      const told = understood(JSON.parse(event.data), known);
      if (told.change) {
        gathered.push(told.change);
        if (!due) {
          due = true;
          setTimeout(hand, 16);
        }
      }
      if (told.complete) {
        attempt = 0;
        complete = true;
        stands(whose, "live");
        hand();
        ready?.(syncs > 1);
      }
    };
    socket.onclose = (event) => {
      if (closed) return;
      if (!complete && REFUSED.has(event.code)) {
        stands(whose, null);
        refused?.(event.reason);
        return;
      }
      stands(whose, "broken");
      void stillSignedIn();
      timer = setTimeout(open, pauseMs(attempt++, Math.random()));
    };
  };
  const soon = () => {
    if (socket && socket.readyState <= WebSocket.OPEN) return;
    clearTimeout(timer);
    open();
  };
  addEventListener("online", soon);
  open();
  return () => {
    closed = true;
    clearTimeout(timer);
    removeEventListener("online", soon);
    socket?.close();
    stands(whose, null);
  };
}
