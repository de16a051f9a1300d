// What somebody typed, and what a refusal says. Pure.

/** @param {unknown} error */
export const said = (error) => (error instanceof Error ? error.message : String(error));

/** What a text of labels means. @param {string} text */
export const labelsOf = (text) => [...new Set(text.split(",").map((one) => one.trim()).filter(Boolean))];

/** An object in JSON that somebody typed. @param {string} text @param {string} what @returns {Record<string, any>} */
export function objectOf(text, what) {
  let told;
  try {
    told = JSON.parse(text.trim() || "{}");
  } catch (error) {
    throw new Error(`${what}: this is not JSON: ${said(error)}`, { cause: error });
  }
  if (told === null || typeof told !== "object" || Array.isArray(told)) throw new Error(`${what}: expected an object in braces, such as {"name": "value"}`);
  return told;
}

/** What of it differs from what there was. @template {Record<string, unknown>} T @param {T} values @param {Record<string, unknown>} before @returns {Partial<T>} */
export const changedOf = (values, before) => /** @type {Partial<T>} */ (Object.fromEntries(Object.entries(values).filter(([key, value]) => value !== (before[key] ?? (typeof value === "boolean" ? false : "")))));
