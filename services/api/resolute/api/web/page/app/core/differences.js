// Where documents differ, by path. Pure.

/** The leaves of a document, by path: `searcher.metric`. @param {any} value @param {string} [path] @returns {Map<string, any>} */
export function leaves(value, path = "") {
  if (value && typeof value === "object" && !Array.isArray(value) && Object.keys(value).length) {
    return new Map(Object.entries(value).flatMap(([name, one]) => [...leaves(one, path ? `${path}.${name}` : name)]));
  }
  return new Map([[path, value]]);
}

/** The paths at which not all documents have the same, with the value of each document.
 * @param {any[]} documents @returns {{path: string, values: any[]}[]} */
export function differences(documents) {
  const all = documents.map((one) => leaves(one));
  const paths = [...new Set(all.flatMap((one) => [...one.keys()]))].sort();
  return paths.map((path) => ({ path, values: all.map((one) => one.get(path)) })).filter(({ values }) => new Set(values.map((value) => JSON.stringify(value))).size > 1);
}
