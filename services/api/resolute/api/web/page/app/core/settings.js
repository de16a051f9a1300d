// Settings of a user as the server keeps them: texts by key, of which the page has its own. Pure.

/** @typedef {{theme: "system" | "light" | "dark", times: "ago" | "exact"}} Settings */

/** Where the page's settings lie beside those of other clients. */
export const PLACE = "resolute-web";
/** @type {Settings} */
export const USUAL = { theme: "system", times: "ago" };
/** @type {{[Key in keyof Settings]: readonly Settings[Key][]}} */
const CHOICES = { theme: ["system", "light", "dark"], times: ["ago", "exact"] };

/** What of it is known and allowed; the usual elsewhere. @param {readonly import("../wire").v1UserWebSetting[]} kept @returns {Partial<Settings>} */
export function understood(kept) {
  /** @type {Record<string, string>} */
  const found = {};
  for (const { key, storagePath, value } of kept) {
    if (storagePath !== PLACE || !Object.hasOwn(CHOICES, key)) continue;
    let said;
    try {
      said = JSON.parse(value ?? "");
    } catch {
      continue;
    }
    if (/** @type {readonly string[]} */ (CHOICES[/** @type {keyof Settings} */ (key)]).includes(said)) found[key] = said;
  }
  return found;
}

/** @param {Partial<Settings>} settings @returns {import("../wire").v1UserWebSetting[]} */
export const written = (settings) => Object.entries(settings).map(([key, value]) => ({ key, storagePath: PLACE, value: JSON.stringify(value) }));
