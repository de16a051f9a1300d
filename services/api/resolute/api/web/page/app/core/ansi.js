// Colours of terminals in a line of a log. Pure: the pieces are shown as text, never as markup.

/** @typedef {{text: string, style: string}} Piece */

// Colours and weights end in "m"; every other sequence (cursor, title, link) says nothing here and is left out.
// eslint-disable-next-line no-control-regex
const SEQUENCE = /\u001b(?:\[([\d;:?]*)([@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\^_])/g;

/** @param {string} line @returns {Piece[]} */
export function pieces(line) {
  const text = shown(line);
  if (!text.includes("\u001b")) return [{ text, style: "" }];
  /** @type {Piece[]} */
  const found = [];
  let on = new Set(/** @type {number[]} */ ([]));
  let from = 0;
  for (const match of text.matchAll(SEQUENCE)) {
    add(found, text.slice(from, match.index), on);
    from = match.index + match[0].length;
    if (match[2] === "m") on = changed(on, match[1] ?? "");
  }
  add(found, text.slice(from), on);
  return found;
}

/** What a terminal would show of a line that goes back to its beginning, as progress bars do. @param {string} line */
function shown(line) {
  const ended = line.replace(/[\r\n]+$/, "");
  return ended.includes("\r") ? ended.slice(ended.lastIndexOf("\r") + 1) : ended;
}

/** @param {Piece[]} found @param {string} text @param {Set<number>} on */
function add(found, text, on) {
  if (text) found.push({ text: text.replaceAll("\u001b", ""), style: [...on].map((code) => `ansi-${code}`).join(" ") });
}

/** @param {Set<number>} on @param {string} codes */
function changed(on, codes) {
  const next = new Set(on);
  const list = codes.split(/[;:]/).map(Number);
  for (let i = 0; i < list.length; i += 1) {
    const code = list[i];
    if (code === 0) next.clear();
    else if (code === 1 || code === 3 || code === 4) next.add(code);
    else if (code === 22) next.delete(1);
    else if (code === 23) next.delete(3);
    else if (code === 24) next.delete(4);
    else if (code === 38 || code === 48) i += list[i + 1] === 5 ? 2 : 4;
    else if (code === 39 || (code >= 30 && code <= 37) || (code >= 90 && code <= 97)) {
      for (const had of next) if (had >= 30) next.delete(had);
      if (code !== 39) next.add(code);
    }
  }
  return next;
}
