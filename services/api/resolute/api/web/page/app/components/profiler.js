// CPU, memory, GPU, network and disk while a trial runs.
import { html, useEffect, useMemo, useSignal } from "../core/dom.js";
import { lines } from "../core/client.js";
import { acrossOf, charted, taken } from "../core/profile.js";
import { Chart } from "./chart.js";
import { ChartBar, shown } from "./chart_bar.js";
import { Busy, Empty, Message } from "./parts.js";

/** @param {{trial: number, running: boolean}} props */
export function Profiler({ trial, running }) {
  const turn = useSignal(0);
  const held = useMemo(() => new Map(), [trial]);
  const told = useSignal(false);
  const error = useSignal("");
  const { zoom, across: wanted, ...how } = shown();
  useEffect(() => {
    const gone = new AbortController();
    held.clear();
    told.value = false;
    error.value = "";
    let due = false;
    const draw = () => {
      if (due) return;
      due = true;
      setTimeout(() => { due = false; if (!gone.signal.aborted) turn.value += 1; }, 200);
    };
    void (async () => {
      for await (const some of lines(`/api/v1/trials/${trial}/profiler/metrics`, { follow: running }, gone.signal)) {
        for (const one of /** @type {import("../wire").v1GetTrialProfilerMetricsResponse[]} */ (some)) taken(held, one.batch);
        told.value = true;
        draw();
      }
      told.value = true;
    })().catch((failed) => { if (!gone.signal.aborted) { told.value = true; error.value = failed instanceof Error ? failed.message : String(failed); } });
    return () => gone.abort();
  }, [trial, running]);
  const charts = useMemo(() => charted(held), [turn.value, held]);
  const across = acrossOf(charts, wanted);
  if (error.value) return html`<${Message} tone="bad">${error.value}<//>`;
  if (charts.length === 0) return told.value || running ? html`<${Empty} title="No system metrics${running ? " yet" : ""}">A trial reports how busy its machines are when the configuration says <code>profiling: {enabled: true}</code> (with the Trainer), or when its code calls <code>core_context.profiler.on()</code>.<//>` : html`<${Busy} what="Reading system metrics" />`;
  return html`<${ChartBar} only=${acrossOf(charts, "batches") === "batches" ? undefined : across} /><h2 class="only-read">Charts</h2><div class="charts">${charts.map((chart) => html`<${Chart} key=${chart.name} title=${chart.title} curves=${chart.curves} sync=${`profile-${trial}`} zoom=${zoom} across=${across} ...${how} />`)}</div>`;
}
