// Which workspaces and projects a list shows, and in which order. Pure.

/** @typedef {{name: string, archived: boolean, pinned?: boolean, userId: number, username: string}} Place */

/** What the fields above a list ask for: a part of a name or of its owner's, archived ones, one's own.
 * @template {Place} T @param {readonly T[]} all @param {{text: string, archived: boolean, mine: number}} asked @returns {T[]} */
export function shown(all, { text, archived, mine }) {
  const part = text.trim().toLowerCase();
  const found = all.filter((one) => one.archived === archived && (!mine || one.userId === mine) && (!part || one.name.toLowerCase().includes(part) || one.username.toLowerCase().includes(part)));
  return found.sort((a, b) => Number(b.pinned ?? false) - Number(a.pinned ?? false) || a.name.localeCompare(b.name));
}

/** Notes after one of them was changed, added (`at` behind the last) or taken away (`note` is null).
 * @template T @param {readonly T[]} notes @param {number} at @param {T | null} note @returns {T[]} */
export const withNote = (notes, at, note) => [...notes.slice(0, at), ...(note ? [note] : []), ...notes.slice(at + 1)];
