// The connection to a shell's terminal. One that is lost is opened again: the session has gone on meanwhile.
import { Frames, frame, GREETING, said, saying } from "../core/terminal_frames.js";

const AGAIN_MS = 1_500;

/** @typedef {{path: string, token: string}} Address */
/** @typedef {{rows: number, columns: number}} Size */
/** What a viewer does with what comes. `shows` gets bytes; `begins` says that the screen is shown anew; `ended` comes once, with the exit status, or null and why.
 * @typedef {{shows: (bytes: Uint8Array) => void, begins: (told: Record<string, any>, again: boolean) => void, lost: () => void, ended: (status: number | null, why: string) => void}} Viewer */

export class Terminal {
  /** @type {WebSocket | null} */
  #socket = null;
  #seen = false;
  #over = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #again;

  /** @param {Address} address @param {string} session @param {() => Size} size @param {Viewer} viewer */
  constructor(address, session, size, viewer) {
    this.address = address;
    this.session = session;
    this.size = size;
    this.viewer = viewer;
    this.#open();
  }

  #open() {
    const url = new URL(this.address.path, location.href);
    url.protocol = url.protocol.replace("http", "ws");
    const socket = new WebSocket(url);
    const frames = new Frames();
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    socket.onopen = () => {
      const hello = { token: this.address.token, session: this.session, term: "xterm-256color", ...this.size(), ...(this.#seen ? { again: true } : {}) };
      socket.send(GREETING);
      socket.send(saying("h", hello));
    };
    socket.onmessage = ({ data }) => {
      for (const one of frames.feed(new Uint8Array(data))) this.#take(one);
    };
    socket.onclose = () => {
      if (this.#over) return;
      this.viewer.lost();
      this.#again = setTimeout(() => this.#open(), AGAIN_MS);
    };
  }

  /** @param {import("../core/terminal_frames.js").Frame} one */
  #take(one) {
    if (one.kind === "o") this.viewer.shows(one.content);
    else if (one.kind === "w") {
      this.viewer.begins(said(one), this.#seen);
      this.#seen = true;
    } else if (one.kind === "x") this.#end(said(one).status, "");
    else if (one.kind === "r") this.#end(null, said(one).message);
  }

  /** @param {number | null} status @param {string} why */
  #end(status, why) {
    this.leave();
    this.viewer.ended(status, why);
  }

  /** @param {string} text */
  type(text) {
    this.#send(frame("i", new TextEncoder().encode(text)));
  }

  resized() {
    this.#send(saying("s", this.size()));
  }

  /** @param {Uint8Array} bytes */
  #send(bytes) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(/** @type {Uint8Array<ArrayBuffer>} */ (bytes));
  }

  /** What runs in the session goes on. */
  leave() {
    this.#over = true;
    clearTimeout(this.#again);
    this.#socket?.close();
  }
}
