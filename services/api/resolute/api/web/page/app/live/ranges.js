// Sets of whole numbers as the live stream writes them: "1-3,7". Pure.

/** @param {Iterable<number>} ids */
export function written(ids) {
  const sorted = [...new Set(ids)].sort((a, b) => a - b);
  const parts = [];
  for (let i = 0; i < sorted.length; ) {
    let end = i;
    while (end + 1 < sorted.length && sorted[end + 1] === sorted[end] + 1) end += 1;
    parts.push(end === i ? `${sorted[i]}` : `${sorted[i]}-${sorted[end]}`);
    i = end + 1;
  }
  return parts.join(",");
}

/** Ids of deleted objects: a text of ranges, or a list of texts. @param {string | string[]} told @returns {(number | string)[]} */
export function read(told) {
  if (Array.isArray(told)) return told;
  if (told === "") return [];
  return told.split(",").flatMap((part) => {
    const [first, last = first] = part.split("-").map(Number);
    return Array.from({ length: Math.min(last - first + 1, 100_000) }, (_, i) => first + i);
  });
}
