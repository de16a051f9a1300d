// The files of an experiment's context directory: those that a form sends, and those that a page shows. Pure.

/** As the command line and the gateway have it: of the contents of all files together. */
export const CONTEXT_BYTES_MOST = 99_614_720;
/** A file of more is downloaded, not shown. */
export const SHOWN_BYTES_MOST = 1_048_576;

const REGULAR = 48;
const MODE = 0o644;

/** What no one means to send: byte code, repositories, settings of editors. */
const IGNORED = /(^|\/)(__pycache__|\.git|\.vscode|\.idea|\.terraform|\.mypy_cache|node_modules)(\/|$)|\.py[co]$/;

/** @param {string} path below the chosen folder */
export const isSent = (path) => !IGNORED.test(path);

/** The path of a file below the folder that was chosen. @param {{name: string, webkitRelativePath?: string}} file */
export const pathOf = (file) => (file.webkitRelativePath ? file.webkitRelativePath.split("/").slice(1).join("/") : "") || file.name;

/** Files in the form of the wire; refuses what is too large by naming how large it is.
 * @param {readonly {path: string, content: Uint8Array, modified: number}[]} files */
export function filesOf(files) {
  const size = files.reduce((sum, file) => sum + file.content.byteLength, 0);
  if (size > CONTEXT_BYTES_MOST) throw new Error(`The folder has ${size.toLocaleString("en")} bytes, and ${CONTEXT_BYTES_MOST.toLocaleString("en")} (95 MiB) are the most. Leave data out of it: mount it, or fetch it in training.`);
  return files.map(({ path, content, modified }) => ({ path, content: base64(content), type: REGULAR, mode: MODE, mtime: String(Math.floor(modified / 1000)), uid: 0, gid: 0 }));
}

/** @param {Uint8Array} bytes */
export function base64(bytes) {
  const parts = [];
  for (let at = 0; at < bytes.length; at += 0x8000) parts.push(String.fromCharCode(...bytes.subarray(at, at + 0x8000)));
  return btoa(parts.join(""));
}

/** @typedef {{path: string, name: string, depth: number, folder: boolean, size: number}} Entry */
/** @typedef {{path?: string | null, name?: string | null, isDir?: boolean | null, contentLength?: number | string | null, files?: any}} Node */

/** A tree as the lines of a list: folders first, each followed by what is in it. @param {readonly Node[]} nodes @param {number} [depth] @returns {Entry[]} */
export const listed = (nodes, depth = 0) =>
  nodes.toSorted((a, b) => Number(b.isDir ?? false) - Number(a.isDir ?? false) || String(a.name).localeCompare(String(b.name))).flatMap((one) => [
    { path: one.path ?? "", name: one.name ?? "", depth, folder: Boolean(one.isDir), size: Number(one.contentLength ?? 0) },
    ...listed(one.files ?? [], depth + 1),
  ]);

/** The text of a file; null where it is none. @param {Uint8Array} content */
export function textOf(content) {
  if (content.includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch {
    return null;
  }
}
