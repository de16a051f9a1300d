// Which rows of a long list are drawn. Pure.

/** @param {{top: number, height: number, row: number, total: number, over?: number}} at @returns {{first: number, last: number}} rows from first up to but not including last */
export function drawn({ top, height, row, total, over = 6 }) {
  const first = Math.max(0, Math.floor(top / row) - over);
  const last = Math.min(total, Math.ceil((top + height) / row) + over);
  return { first: Math.min(first, Math.max(0, total - 1)), last };
}

/** @param {number} first @param {number} last @param {number} size */
export function pagesOf(first, last, size) {
  const pages = [];
  for (let page = Math.floor(first / size); page * size < last; page += 1) pages.push(page);
  return pages;
}
