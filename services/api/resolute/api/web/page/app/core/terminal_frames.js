// What a shell's terminal and its viewer say to each other (determined.common.terminal): frames of a kind and bytes. Pure.
export const GREETING = new TextEncoder().encode("RESOLUTE-TERMINAL/1\n");
const HEAD = 5;
const LONGEST = 2 ** 20;

/** @typedef {{kind: string, content: Uint8Array}} Frame */

/** @param {string} kind one letter @param {Uint8Array} content */
export function frame(kind, content) {
  const made = new Uint8Array(HEAD + content.length);
  const view = new DataView(made.buffer);
  view.setUint8(0, kind.charCodeAt(0));
  view.setUint32(1, content.length);
  made.set(content, HEAD);
  return made;
}

/** @param {string} kind @param {Record<string, unknown>} said */
export const saying = (kind, said) => frame(kind, new TextEncoder().encode(JSON.stringify(said)));

/** @param {Frame} one @returns {Record<string, any>} */
export const said = (one) => JSON.parse(new TextDecoder().decode(one.content));

/** Takes bytes as they come, and gives the frames that are whole. */
export class Frames {
  /** @type {Uint8Array} */
  #rest = new Uint8Array(0);

  /** @param {Uint8Array} data @returns {Frame[]} */
  feed(data) {
    const all = new Uint8Array(this.#rest.length + data.length);
    all.set(this.#rest);
    all.set(data, this.#rest.length);
    const view = new DataView(all.buffer);
    const found = [];
    let at = 0;
    while (all.length - at >= HEAD) {
      const size = view.getUint32(at + 1);
      if (size > LONGEST) throw new Error(`a frame of ${size} bytes`);
      if (all.length - at < HEAD + size) break;
      found.push({ kind: String.fromCharCode(view.getUint8(at)), content: all.slice(at + HEAD, at + HEAD + size) });
      at += HEAD + size;
    }
    this.#rest = all.slice(at);
    return found;
  }
}
