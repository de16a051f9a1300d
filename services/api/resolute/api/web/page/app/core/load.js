// Something that is read once, shown meanwhile as being read, and read again when asked.
import { AGAIN_MS, passes } from "./client.js";
import { useEffect, useRef, useSignal } from "./dom.js";

/** @template T @typedef {{value: T | undefined, error: unknown, again: () => void}} Loaded */

/**
 * Asking again while it is being read waits for the answer: however often things change, something is shown.
 * @template T
 * @param {(aborted: AbortSignal) => Promise<T>} read @param {readonly unknown[]} of what it depends on
 * @returns {Loaded<T>}
 */
export function useLoaded(read, of) {
  const state = useSignal(/** @type {{value: T | undefined, error: unknown}} */ ({ value: undefined, error: null }));
  const turn = useSignal(0);
  const run = useRef(read);
  run.current = read;
  const busy = useRef(false);
  const due = useRef(false);
  useEffect(() => {
    const gone = new AbortController();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let later;
    busy.current = true;
    due.current = false;
    run.current(gone.signal).then(
      (value) => { if (!gone.signal.aborted) state.value = { value, error: null }; },
      (error) => {
        if (gone.signal.aborted) return;
        state.value = { value: state.peek().value, error };
        if (passes(error)) later = setTimeout(() => (turn.value += 1), AGAIN_MS);
      },
    ).finally(() => {
      if (gone.signal.aborted) return;
      busy.current = false;
      if (due.current) turn.value += 1;
    });
    return () => { gone.abort(); clearTimeout(later); };
  }, [...of, turn.value]);
  const again = () => {
    if (busy.current) due.current = true;
    else turn.value += 1;
  };
  return { ...state.value, again };
}

/** Calls `run` soon, and once for many calls. @param {() => void} run @param {number} ms */
export function gathered(run, ms) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const call = () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      run();
    }, ms);
  };
  call.stop = () => clearTimeout(timer);
  return call;
}
