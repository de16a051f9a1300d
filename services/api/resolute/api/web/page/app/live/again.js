// Reading something again when the stream says that it changed.
import { useEffect } from "../core/dom.js";
import { gathered } from "../core/load.js";
import { listen } from "./stream.js";

/** @param {() => void} again @param {Parameters<typeof listen>[0] | null} wanted nothing is followed without @param {readonly unknown[]} of */
export function useFollowing(again, wanted, of) {
  useEffect(() => {
    if (!wanted) return;
    const soon = gathered(again, 300);
    let synced = false;
    const stop = listen(wanted, { changed: () => synced && soon(), ready: (repeated) => { synced = true; if (repeated) soon(); } });
    return () => { stop(); soon.stop(); };
  }, of);
}
