// What a new password lacks; `weakness.py` warns by the same rules. Pure.

const LEAST = 8;

/** @param {string} password @returns {string[]} */
export function lacks(password) {
  const missing = [];
  if ([...password].length < LEAST) missing.push(`at least ${LEAST} characters`);
  if (!/\p{Lu}/u.test(password)) missing.push("a capital letter");
  if (!/\p{Ll}/u.test(password)) missing.push("a small letter");
  if (!/\p{Decimal_Number}/u.test(password)) missing.push("a digit");
  return missing;
}

/** Why this is not taken as a new password; an empty text where it is. @param {string} password @param {string} again */
export function refused(password, again) {
  const missing = lacks(password);
  if (missing.length) return `A password needs ${missing.join(", ")}.`;
  return password === again ? "" : "The two passwords differ.";
}
