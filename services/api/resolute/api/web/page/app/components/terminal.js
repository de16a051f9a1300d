// A shell's terminal, by xterm.js.
import { FitAddon } from "../../vendor/xterm/fit.js";
import { Terminal as Screen } from "../../vendor/xterm/xterm.js";
import { html, useEffect, useRef, useSignal } from "../core/dom.js";
import { Terminal } from "../live/terminal.js";
import { Button, Message } from "./parts.js";

const styles = new URL("../../vendor/xterm/xterm.css", import.meta.url).href;
if (!document.querySelector(`link[href="${styles}"]`)) {
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = styles;
  document.head.append(link);
}

/** The document as xterm.js is to see it. The policy of this page allows no text of styles in a document, which xterm.js writes into elements `style`;
 * it allows style sheets that a script makes. @returns {Document} */
function withoutInlineStyles() {
  const make = (/** @type {string} */ name) => {
    if (name !== "style") return document.createElement(name);
    const sheet = new CSSStyleSheet();
    const made = document.createElement("span");
    made.hidden = true;
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    Object.defineProperty(made, "textContent", { set: (text) => { sheet.replaceSync(text); } });
    made.remove = () => {
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
      Element.prototype.remove.call(made);
    };
    return made;
  };
  return new Proxy(document, {
    get: (whole, key) => {
      const found = key === "createElement" ? make : Reflect.get(whole, key, whole);
      return typeof found === "function" && found !== make ? found.bind(whole) : found;
    },
  });
}

const themed = () => {
  const css = getComputedStyle(document.documentElement);
  const of = (/** @type {string} */ name) => css.getPropertyValue(name).trim();
  return { background: of("--surface"), foreground: of("--text"), cursor: of("--text"), selectionBackground: of("--line") };
};

/** @param {{address: import("../live/terminal.js").Address, label: string, session?: string}} props */
export function TerminalView({ address, label, session = "main" }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const state = useSignal("Connecting");
  const over = useSignal(false);
  const turn = useSignal(0);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    over.value = false;
    const screen = new Screen({ documentOverride: withoutInlineStyles(), fontSize: 14, fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--mono"), scrollback: 5_000, screenReaderMode: true, theme: themed(), cursorBlink: true });
    const fit = new FitAddon();
    screen.loadAddon(fit);
    screen.open(element);
    screen.textarea?.setAttribute("aria-label", label);
    fit.fit();
    const size = () => ({ rows: screen.rows, columns: screen.cols });
    const link = new Terminal(address, session, size, {
      shows: (bytes) => screen.write(bytes),
      begins: (told, again) => {
        if (again) screen.reset();
        state.value = told.viewers > 1 ? `Connected; ${told.viewers} look at this session` : "Connected";
      },
      lost: () => { state.value = "The connection is lost; trying again"; },
      ended: (status, why) => { state.value = why || `The session has ended with exit status ${status}`; over.value = true; },
    });
    screen.onData((text) => link.type(text));
    const watching = new ResizeObserver(() => { fit.fit(); link.resized(); });
    watching.observe(element);
    screen.focus();
    return () => { watching.disconnect(); link.leave(); screen.dispose(); };
  }, [address.path, address.token, session, turn.value]);
  return html`<div class="stack"><div class="row apart"><span class="muted" role="status">${state}</span>${over.value ? html`<${Button} onClick=${() => { turn.value += 1; }}>Start a session<//>` : null}</div>
    <div class="terminal-view" ref=${box}></div><${Message}>What runs here goes on when you leave this page, and others of your windows that show it see the same.<//></div>`;
}
