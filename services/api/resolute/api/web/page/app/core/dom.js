// What every component imports: templates, hooks and signals, from the libraries in vendor/.
import htm from "../../vendor/htm/htm.js";
import { h } from "../../vendor/preact/index.js";

export { Fragment, h, render } from "../../vendor/preact/index.js";
export { useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "../../vendor/preact/hooks.js";
export { batch, computed, effect, signal, untracked, useComputed, useSignal } from "../../vendor/signals/signals.js";

/** @typedef {import("../../vendor/preact/index.js").ComponentChildren} Children */
/** @typedef {import("../../vendor/preact/index.js").VNode<any>} Node */

/** @type {(strings: TemplateStringsArray, ...values: any[]) => Node} */
export const html = /** @type {any} */ (htm.bind(/** @type {any} */ (h)));
