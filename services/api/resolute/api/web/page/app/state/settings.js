// What somebody chose for the page: kept by the server, so that each browser shows the same. The browser keeps the theme
// as well, for the first paint.
import { change, get } from "../core/client.js";
import { signal } from "../core/dom.js";
import { understood, USUAL, written } from "../core/settings.js";

/** The theme that was chosen: light, dark or system. */
export const theme = signal(readTheme());
/** Whether times are shown as how long ago they were, or exactly. */
export const times = signal(/** @type {import("../core/settings.js").Settings["times"]} */ (USUAL.times));

function readTheme() {
  try {
    return localStorage.getItem("resolute.theme") ?? USUAL.theme;
  } catch {
    return USUAL.theme;
  }
}

/** @param {string} chosen */
function applyTheme(chosen) {
  theme.value = chosen;
  try {
    localStorage.setItem("resolute.theme", chosen);
  } catch {
    // storage is switched off: the choice lasts until the page is left
  }
  dispatchEvent(new Event("resolute-theme"));
}

/** Reads what the server keeps of whoever signed in. Where it cannot be read the page stays as it is. */
export async function recall() {
  try {
    const kept = /** @type {import("../wire").v1GetUserSettingResponse} */ (await get("/api/v1/users/setting"));
    const found = understood(kept.settings);
    if (found.theme && found.theme !== theme.value) applyTheme(found.theme);
    times.value = found.times ?? USUAL.times;
  } catch {
    // the page works without them
  }
}

/** @param {Partial<import("../core/settings.js").Settings>} settings */
const keep = (settings) => change("POST", "/api/v1/users/setting", { settings: written(settings) });

/** @param {string} chosen */
export function chooseTheme(chosen) {
  applyTheme(chosen);
  keep({ theme: /** @type {any} */ (chosen) }).catch(() => {});
}

/** @param {string} chosen */
export function chooseTimes(chosen) {
  times.value = /** @type {any} */ (chosen);
  keep({ times: times.value }).catch(() => {});
}
