// Every component in every state, in the theme that is chosen. Tests take its picture.
import { html, useEffect, useSignal } from "../core/dom.js";
import { Ago, Busy, Button, Command, Dialog, Empty, Failed, Field, Message, Popup, Progress, Select, State, Tabs, toast } from "../components/parts.js";
import { Chart } from "../components/chart.js";

const STATES = ["RUNNING", "QUEUED", "PAUSED", "COMPLETED", "CANCELED", "ERROR", "STARTING", "STOPPING_CANCELED", "DELETING", "SOMETHING_NEW"];
const TOKENS = ["ground", "surface", "sunken", "hover", "chosen", "line", "line-strong", "text", "muted", "accent", "good", "bad", "warn", "busy", "calm"];
const points = Array.from({ length: 60 }, (_, i) => ({ batches: i * 10, time: new Date(1.7e12 + i * 60_000).toISOString(), values: { loss: Math.exp(-i / 15) + (i === 30 ? 0.4 : 0), accuracy: i > 20 && i < 25 ? NaN : 1 - Math.exp(-i / 20) } }));

export function Design() {
  const text = useSignal("a text");
  const open = useSignal(false);
  useEffect(() => {
    document.title = "Components · Resolute";
  }, []);
  return html`<h1>Components</h1><p class="muted">Each component in each of its states. The names of colours are those of <code>styles/tokens.css</code>.</p>
    <section class="card stack"><h2>Colour</h2><div class="row">${TOKENS.map((name) => html`<span key=${name} class="row"><span class="slot" style=${{ background: `var(--${name})` }}></span><code>${name}</code></span>`)}</div></section>
    <section class="card stack"><h2>Type</h2><h1>Title of a page</h1><h2>Title of a part</h2><h3>Title of a chart</h3><p>Text, with <a href="/det/design">a link</a> and <code>code</code>.</p><p class="muted">Text beside the point.</p><p class="small">Small text. <span class="numbers">0123456789</span></p></section>
    <section class="card stack"><h2>Buttons</h2><div class="row"><${Button}>Usual<//><${Button} kind="main-action">Main action<//><${Button} kind="danger">Danger<//><${Button} kind="quiet">Quiet<//><${Button} pressed=${true}>Pressed<//><${Button} disabled>Disabled<//><${Button} busy>Busy<//></div></section>
    <section class="card stack"><h2>States</h2><div class="row">${STATES.map((state) => html`<${State} key=${state} state=${state} />`)}<span class="label">label</span></div>${[0, 0.37, 1].map((value) => html`<${Progress} key=${value} value=${value} name="An example" />`)}</section>
    <section class="card stack"><h2>Fields</h2><div class="columns"><${Field} label="Name" value=${text.value} hint="What it is for" onInput=${(/** @type {string} */ next) => (text.value = next)} /><${Field} label="With an error" value="x" error="expected a number; found “x”" onInput=${() => {}} /><${Select} label="Choice" value="b" options=${[["a", "First"], ["b", "Second"]]} onChange=${() => {}} /><label class="check"><input type="checkbox" checked />Chosen</label></div></section>
    <section class="card stack"><h2>Messages</h2><${Message}>Something to know.<//><${Message} tone="warn">Something to look at.<//><${Message} tone="bad">Something that failed.<//><${Failed} error=${new Error("The gateway cannot be reached.")} retry=${() => {}} /><${Busy} what="Reading" />
      <${Empty} title="Nothing yet" command="det experiment list">What would be here, and how it begins.<//><div class="row"><${Button} onClick=${() => toast("3 experiments paused", { undo: () => toast("3 experiments activated") })}>Show a toast<//><${Button} onClick=${() => toast("Not done for 1 experiment", { tone: "bad" })}>Show one that failed<//><${Button} onClick=${() => (open.value = true)}>Open a dialog<//><${Popup} text="A sheet"><p>With something in it.</p><//></div></section>
    <section class="card stack"><h2>Navigation</h2><${Tabs} label="Example" at="b" tabs=${[["a", "First", "/det/design"], ["b", "Here", "/det/design"], ["c", "Third", "/det/design"]]} /><p><${Ago} at=${new Date().toISOString()} /></p><${Command} text="det experiment create const.yaml . -f" /></section>
    <section class="card stack"><h2>Slots</h2><div class="slots"><span class="slot used" title="used"></span><span class="slot" title="free"></span><span class="slot off" title="disabled">–</span></div></section>
    <div class="charts"><${Chart} title="A spike is kept" curves=${[{ label: "loss (training)", name: "loss", points }]} /><${Chart} title="What is no number is a gap" curves=${[{ label: "accuracy (validation)", name: "accuracy", points }, { label: "loss (training)", name: "loss", points }]} smooth=${0.9} /></div>
    ${open.value ? html`<${Dialog} title="A dialog" onClose=${() => (open.value = false)}><p>Escape closes it.</p><div class="row"><${Button} kind="main-action" onClick=${() => (open.value = false)}>Well<//></div><//>` : null}`;
}
