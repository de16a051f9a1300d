// A drawing that fits its box, is sharp on every screen, and is drawn again with the theme.
import { html, useEffect, useRef, useSignal } from "../core/dom.js";

/** @typedef {{pen: CanvasRenderingContext2D, width: number, height: number, colour: (name: string) => string}} Sheet */

/** @param {{label: string, height: number, draw: (sheet: Sheet) => void, of: readonly unknown[], onPress?: (x: number, y: number, width: number) => void, onDrag?: (x: number, y: number, width: number) => void, onRelease?: (x: number, y: number, width: number) => void}} props */
export function Canvas({ label, height, draw, of, onPress, onDrag, onRelease }) {
  const box = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const turn = useSignal(0);
  useEffect(() => {
    const again = () => setTimeout(() => (turn.value += 1));
    addEventListener("resolute-theme", again);
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", again);
    const observer = new ResizeObserver(again);
    if (box.current) observer.observe(box.current);
    return () => { removeEventListener("resolute-theme", again); system.removeEventListener("change", again); observer.disconnect(); };
  }, []);
  useEffect(() => {
    const canvas = box.current;
    const pen = canvas?.getContext("2d");
    if (!canvas || !pen || canvas.clientWidth === 0) return;
    const scale = devicePixelRatio || 1;
    canvas.width = Math.round(canvas.clientWidth * scale);
    canvas.height = Math.round(height * scale);
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    const css = getComputedStyle(document.documentElement);
    draw({ pen, width: canvas.clientWidth, height, colour: (name) => css.getPropertyValue(name).trim() });
  }, [...of, turn.value, height]);
  const held = useRef(false);
  const at = (/** @type {PointerEvent} */ event) => /** @type {const} */ ([event.offsetX, event.offsetY, box.current?.clientWidth ?? 0]);
  const down = (/** @type {PointerEvent} */ event) => { held.current = true; box.current?.setPointerCapture(event.pointerId); onPress?.(...at(event)); };
  const move = (/** @type {PointerEvent} */ event) => { if (held.current) onDrag?.(...at(event)); };
  const up = (/** @type {PointerEvent} */ event) => { if (held.current) { held.current = false; onRelease?.(...at(event)); } };
  return html`<canvas class="drawing" ref=${box} style=${{ height: `${height}px` }} role="img" aria-label=${label} onPointerDown=${down} onPointerMove=${move} onPointerUp=${up} onPointerCancel=${() => (held.current = false)}></canvas>`;
}
