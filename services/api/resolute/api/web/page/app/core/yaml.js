// A configuration that somebody typed. Pure, and apart from the rest since few pages load the library behind it.
import { load } from "../../vendor/yaml/yaml.js";
import { said } from "./typed.js";

/** @param {string} text @param {string} what @returns {Record<string, any>} */
export function configOf(text, what) {
  if (!text.replace(/^\s*#.*$/gm, "").trim()) return {};
  let told;
  try {
    told = load(text);
  } catch (error) {
    const { reason, mark } = /** @type {{reason?: string, mark?: {line: number}}} */ (error);
    throw new Error(`${what}: this is not YAML${mark ? `, in line ${mark.line + 1}` : ""}: ${reason ?? said(error)}`, { cause: error });
  }
  if (told === null || told === undefined) return {};
  if (typeof told !== "object" || Array.isArray(told)) throw new Error(`${what}: expected names with values, such as "resources:" and "  slots: 1" below it`);
  return /** @type {Record<string, any>} */ (told);
}
