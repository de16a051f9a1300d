// Filters as people type them, turned into the JSON that SearchExperiments and SearchRuns take. Pure.
//
//   state = COMPLETED and validation.loss.min < 0.1 (name ~ digits or tags ~ "first try") baseline
//
// A word alone is looked for in names. Terms beside each other must all hold.

/** @typedef {{kind: "field", columnName: string, location: string, type: string, operator: string, value: string | number | null}} Field */
/** @typedef {{kind: "group", conjunction: "and" | "or", children: (Group | Field)[]}} Group */

/** What is wrong with a filter, and where in the text. */
export class FilterError extends Error {
  /** @param {string} message @param {number} at */
  constructor(message, at) {
    super(message);
    this.at = at;
  }
}

/** The fixed columns: their types. */
export const COLUMNS = /** @type {const} */ ({
  id: "NUMBER", name: "TEXT", description: "TEXT", state: "TEXT", user: "TEXT", tags: "TEXT", searcherType: "TEXT",
  searcherMetric: "TEXT", searcherMetricsVal: "NUMBER", resourcePool: "TEXT", forkedFrom: "NUMBER", projectId: "NUMBER",
  startTime: "DATE", endTime: "DATE", duration: "NUMBER", progress: "NUMBER", numTrials: "NUMBER", checkpointCount: "NUMBER",
  checkpointSize: "NUMBER", externalExperimentId: "TEXT",
});

/** @type {Record<string, string>} */
const SHORT = { pool: "resourcePool", label: "tags", labels: "tags", tag: "tags", searcher: "searcherType", metric: "searcherMetricsVal", project: "projectId", started: "startTime", ended: "endTime", trials: "numTrials" };
/** @type {Record<string, string>} */
const OPERATORS = { "~": "contains", "!~": "notContains", ":": "=", "==": "=" };
const TOKEN = /\s*(?:(\()|(\))|(!~|!=|<=|>=|==|[=<>~:])|"((?:[^"\\]|\\.)*)"|([^\s()"=<>~!:]+(?::(?=\d)[^\s()"=<>~!]+)?))/y;

/** @typedef {{type: "(" | ")" | "operator" | "text" | "word", text: string, at: number}} Token */

/** @param {string} text @returns {Token[]} */
function tokens(text) {
  /** @type {Token[]} */
  const found = [];
  TOKEN.lastIndex = 0;
  let at = 0;
  while (text.slice(at).trim() !== "") {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (!match) throw new FilterError(`"${text.slice(at).trim()[0]}" cannot stand here`, at);
    const [whole, open, close, operator, quoted, word] = match;
    const start = at + whole.length - whole.trimStart().length;
    if (open) found.push({ type: "(", text: open, at: start });
    else if (close) found.push({ type: ")", text: close, at: start });
    else if (operator) found.push({ type: "operator", text: operator, at: start });
    else if (quoted !== undefined) found.push({ type: "text", text: quoted.replace(/\\(.)/g, "$1"), at: start });
    else found.push({ type: "word", text: word, at: start });
    at += whole.length;
  }
  return found;
}

/** The group of a text; null for an empty one.
 * @param {string} text @param {{userIds?: ReadonlyMap<string, number>}} [known] @returns {Group | null} */
export function parsed(text, { userIds = new Map() } = {}) {
  const left = tokens(text);
  if (left.length === 0) return null;
  const either = () => {
    const children = [both()];
    while (isWord(left[0], "or")) {
      left.shift();
      children.push(both());
    }
    return children.length === 1 ? children[0] : group("or", children);
  };
  const both = () => {
    const children = [one()];
    for (;;) {
      if (isWord(left[0], "and")) left.shift();
      else if (!left[0] || left[0].type === ")" || isWord(left[0], "or")) break;
      children.push(one());
    }
    return children.length === 1 ? children[0] : group("and", children);
  };
  /** @returns {Group | Field} */
  const one = () => {
    const token = left.shift();
    if (!token) throw new FilterError("the filter ends where a condition is expected", text.length);
    if (token.type === "(") {
      const inner = either();
      if (left.shift()?.type !== ")") throw new FilterError("a closing bracket is missing", token.at);
      return inner;
    }
    if (token.type === ")" || token.type === "operator") throw new FilterError(`"${token.text}" cannot stand here`, token.at);
    if (left[0]?.type !== "operator" || token.type === "text") return field("name", "contains", token.text);
    const operator = left.shift();
    const value = left.shift();
    if (!operator || !value || (value.type !== "word" && value.type !== "text")) throw new FilterError(`a value is missing after "${token.text} ${operator?.text}"`, token.at);
    return condition(token, operator.text, value, userIds);
  };
  const whole = either();
  if (left.length) throw new FilterError(`"${left[0].text}" cannot stand here`, left[0].at);
  return whole.kind === "group" ? whole : group("and", [whole]);
}

/** @param {Token | undefined} token @param {string} word */
const isWord = (token, word) => token?.type === "word" && token.text.toLowerCase() === word;

/** @param {"and" | "or"} conjunction @param {(Group | Field)[]} children @returns {Group} */
export const group = (conjunction, children) => ({ kind: "group", conjunction, children });

/** @param {string} name @returns {{columnName: string, location: string, type: string} | null} */
export function column(name) {
  const columnName = SHORT[name] ?? name;
  const fixed = /** @type {Record<string, string>} */ (COLUMNS)[columnName];
  if (fixed) return { columnName, location: "LOCATION_TYPE_EXPERIMENT", type: `COLUMN_TYPE_${fixed}` };
  if (/^hp\../.test(name)) return { columnName, location: "LOCATION_TYPE_HYPERPARAMETERS", type: "" };
  if (!/^[^.]+\..+\.(last|min|max|mean)$/.test(name)) return null;
  const of = name.startsWith("validation.") ? "VALIDATIONS" : name.startsWith("training.") ? "TRAINING" : "CUSTOM_METRIC";
  return { columnName, location: `LOCATION_TYPE_${of}`, type: "COLUMN_TYPE_NUMBER" };
}

/** @param {string} columnName @param {string} operator @param {string | number | null} value @returns {Field} */
export function field(columnName, operator, value) {
  const found = column(columnName);
  if (!found) throw new FilterError(`there is no column ${columnName}`, 0);
  return { kind: "field", columnName: found.columnName, location: found.location, type: found.type || typed(value), operator, value };
}

/** @param {string | number | null} value */
const typed = (value) => (typeof value === "number" ? "COLUMN_TYPE_NUMBER" : "COLUMN_TYPE_TEXT");

/** @param {Token} name @param {string} sign @param {Token} value @param {ReadonlyMap<string, number>} userIds @returns {Field} */
function condition(name, sign, value, userIds) {
  const found = column(name.text);
  if (!found) throw new FilterError(`there is no column "${name.text}"; columns are ${Object.keys(COLUMNS).join(", ")}, hp.NAME, validation.NAME.min`, name.at);
  const operator = OPERATORS[sign] ?? sign;
  if (value.type === "word" && value.text === "empty" && (operator === "=" || operator === "!=")) {
    return { kind: "field", ...found, type: found.type || "COLUMN_TYPE_TEXT", operator: operator === "=" ? "isEmpty" : "notEmpty", value: null };
  }
  if (found.columnName === "user") {
    const id = /^\d+$/.test(value.text) ? Number(value.text) : userIds.get(value.text);
    if (id === undefined) throw new FilterError(`there is no user "${value.text}"`, value.at);
    return { kind: "field", ...found, operator, value: id };
  }
  if (found.columnName === "state") return { kind: "field", ...found, operator, value: value.text.toUpperCase() };
  const number = Number(value.text);
  const isNumber = value.type === "word" && value.text !== "" && Number.isFinite(number);
  if (found.type === "COLUMN_TYPE_NUMBER" && !isNumber) throw new FilterError(`${name.text} takes a number, not "${value.text}"`, value.at);
  const type = found.type || (isNumber ? "COLUMN_TYPE_NUMBER" : "COLUMN_TYPE_TEXT");
  return { kind: "field", ...found, type, operator, value: type === "COLUMN_TYPE_NUMBER" ? number : value.text };
}

/** The text of the request's `filter`.
 * @param {Group | null} filterGroup @param {boolean} showArchived */
export const asked = (filterGroup, showArchived) => JSON.stringify({ showArchived, filterGroup: filterGroup ?? group("and", []) });
