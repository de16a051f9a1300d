// The address of the page as a signal. Whatever a page shows stands in it, so that a link shows the same.
import { computed, signal } from "./dom.js";
import { route } from "./routes.js";

const url = signal(new URL(location.href));

export const here = computed(() => route(url.value.pathname));
export const path = computed(() => url.value.pathname);
export const query = computed(() => url.value.searchParams);

addEventListener("popstate", () => {
  url.value = new URL(location.href);
});

/** @param {string} address @param {{replace?: boolean}} [how] */
export function go(address, { replace = false } = {}) {
  const next = new URL(address, location.href);
  if (next.href === location.href) return;
  history[replace ? "replaceState" : "pushState"](null, "", next);
  const moved = next.pathname !== url.value.pathname;
  url.value = next;
  if (moved) {
    scrollTo(0, 0);
    requestAnimationFrame(() => document.querySelector("main")?.focus({ preventScroll: true }));
  }
}

/** Changes some fields of the query; an empty value takes a field away.
 * @param {Record<string, string | number | boolean | null | undefined>} changes @param {{replace?: boolean}} [how] */
export function ask(changes, { replace = true } = {}) {
  const next = new URL(location.href);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "" || value === null || value === undefined || value === false) next.searchParams.delete(name);
    else next.searchParams.set(name, value === true ? "1" : String(value));
  }
  go(next.href, { replace });
}

/** A plain click on a link of this page changes the page without loading it anew.
 * @param {MouseEvent} event */
export function follow(event) {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
  if (!/^\/det(\/|$)/.test(link.pathname) || link.pathname.startsWith("/det/assets/")) return;
  event.preventDefault();
  go(link.href);
}
