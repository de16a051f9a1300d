// Metrics of experiments, as they are reported.
import { lines } from "../core/client.js";
import { useEffect, useSignal } from "../core/dom.js";

/** @typedef {{group: string, name: string}} Name */

/** The names under which anything was reported. `told`: whether the gateway has answered.
 * @param {number} experiment @param {readonly unknown[]} of what else it depends on @returns {{names: Name[], told: boolean}} */
export function useMetricNames(experiment, of = []) {
  const names = useSignal(/** @type {Name[]} */ ([]));
  const told = useSignal(false);
  useEffect(() => {
    const gone = new AbortController();
    void (async () => {
      for await (const some of lines("/api/v1/experiments/metrics-stream/metric-names", { ids: [experiment], periodSeconds: 2 }, gone.signal)) {
        const more = /** @type {import("../wire").v1ExpMetricNamesResponse[]} */ (some).flatMap((one) => one.metricNames ?? []);
        if (more.length) names.value = [...names.peek(), ...more.filter((one) => !names.peek().some((had) => had.group === one.group && had.name === one.name))];
        told.value = true;
      }
    })().catch(() => (told.value = true));
    return () => gone.abort();
  }, [experiment, ...of]);
  return { names: names.value, told: told.value };
}
