// The live connection of the page: one WebSocket, opened again by itself, which goes on where it was cut.
import { signal } from "../core/dom.js";
import { Known, pauseMs, subscription, understood } from "./following.js";

/** @typedef {import("./following.js").Kind} Kind */
/** @typedef {import("./following.js").Wanted} Wanted */
/** @typedef {import("./following.js").Change} Change */

/** Whether what is shown is up to date: shown beside the navigation. @type {import("../../vendor/signals/core.js").Signal<"off" | "joining" | "live" | "broken">} */
export const connection = signal("off");

const GOES_ON = new Set([1000, 1001, 1006, 1011, 1012, 1013, 1008, 1005]);

/**
 * Follows objects until the answer is called. `changed` is given what changed, gathered until the next frame;
 * `ready` is called each time the page is up to date: at first, and after each break.
 * `has` are ids that the caller has read already.
 * @param {Partial<Record<Kind, Wanted>>} wanted
 * @param {{changed: (changes: Change[]) => void, ready?: (again: boolean) => void, has?: Partial<Record<Kind, (number | string)[]>>}} listener
 * @returns {() => void}
 */
export function listen(wanted, { changed, ready, has = {} }) {
  /** @type {Map<Kind, Known>} */
  const known = new Map();
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
    connection.value = attempt ? "broken" : "joining";
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
        connection.value = "live";
        hand();
        ready?.(syncs > 1);
      }
    };
    socket.onclose = (event) => {
      if (closed) return;
      connection.value = "broken";
      if (!GOES_ON.has(event.code)) return;
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
    connection.value = "off";
  };
}
