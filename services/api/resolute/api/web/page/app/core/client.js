// The one way to the API: JSON over fetch, by the cookie of the session.
import { lineReader } from "./lines.js";

/** @typedef {Record<string, string | number | boolean | readonly (string | number)[] | null | undefined>} Query */

/** An answer that is not a success, with the sentence that the gateway gave. */
export class ApiError extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Whether the same request may succeed a little later: the gateway is away, or waits for something that is.
 * @param {unknown} error */
export const passes = (error) => error instanceof ApiError && [0, 502, 503, 504].includes(error.status);

/** Until a request that failed so is made again. */
export const AGAIN_MS = 2000;

/** Called with 401: the session has ended. @type {{run: () => void}} */
export const whenSignedOut = { run: () => {} };

/** Whether the session is just being ended: connections that break meanwhile are not opened again by its cookie. */
export const signingOut = { now: false };

/** @param {string} path @param {Query} [query] */
export function address(path, query = {}) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === "") continue;
    for (const one of Array.isArray(value) ? value : [value]) words.append(name, String(one));
  }
  const text = words.toString();
  return text ? `${path}?${text}` : path;
}

/** What a request that changes something must repeat: the gateway says it in its answers to this page's cookie. */
const CSRF = "X-CSRF-Token";
let csrf = "";

/** Asks who is signed in, and so learns what to repeat; whether that is who this page is for.
 * @type {{run: () => Promise<boolean>}} */
export const stillTheSame = { run: async () => true };

/** @param {string} method @param {string} path @param {{query?: Query, body?: unknown, signal?: AbortSignal, again?: boolean}} [rest] */
export async function send(method, path, { query, body, signal, again } = {}) {
  /** @type {Response} */
  let answer;
  try {
    answer = await fetch(address(path, query), {
      method,
      signal,
      credentials: "same-origin",
      headers: {
        ...(method === "GET" ? {} : { [CSRF]: csrf }),
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, "The gateway cannot be reached. The page tries again by itself when the connection is back.");
  }
  csrf = answer.headers.get(CSRF) ?? csrf;
  if (answer.ok) return answer;
  const message = await said(answer);
  if (answer.status === 403 && method !== "GET" && message.includes(CSRF) && !again) {
    // The cookie is of a newer session: somebody has signed in on another tab.
    if (await stillTheSame.run()) return send(method, path, { query, body, signal, again: true });
    throw new ApiError(403, "Somebody else has signed in on another tab, so this was not done. Load the page again.");
  }
  if (answer.status === 401 && !path.startsWith("/det/session")) whenSignedOut.run();
  throw new ApiError(answer.status, message);
}

/** @param {Response} answer */
async function said(answer) {
  try {
    const told = await answer.json();
    return String(told?.error?.error ?? told?.error?.message ?? told?.message ?? told?.error ?? answer.statusText);
  } catch {
    return `The gateway answered with status ${answer.status}.`;
  }
}

/** @template T @param {string} path @param {Query} [query] @param {AbortSignal} [signal] @returns {Promise<T>} */
export async function get(path, query, signal) {
  return (await send("GET", path, { query, signal })).json();
}

/** @template T @param {string} method @param {string} path @param {unknown} [body] @param {AbortSignal} [signal] @returns {Promise<T>} */
export async function change(method, path, body = {}, signal) {
  const text = await (await send(method, path, { body, signal })).text();
  return JSON.parse(text || "{}");
}

/** The lines of a streamed answer, some at once as they arrive.
 * @template T @param {string} path @param {Query} query @param {AbortSignal} signal @returns {AsyncGenerator<T[]>} */
export async function* lines(path, query, signal) {
  const answer = await send("GET", path, { query, signal });
  if (!answer.body) return;
  const read = lineReader();
  const reader = answer.body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      const found = done ? read.end() : read.more(value);
      if (found.length) {
        const results = [];
        for (const text of found) {
          const told = JSON.parse(text);
          if (told.error) throw new ApiError(500, String(told.error.message ?? told.error.error ?? "the stream broke off"));
          results.push(told.result ?? told);
        }
        yield results;
      }
      if (done) return;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
