// Each pair of text and ground that the tokens offer, in both themes, against WCAG 2.2: 4.5 : 1 for text, 3 : 1 for edges.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const css = readFileSync(new URL("../../services/api/resolute/api/web/page/styles/tokens.css", import.meta.url), "utf8");
const [light, dark] = [/:root \{([^}]*)\}/, /:root\[data-theme="dark"\] \{([^}]*)\}/].map((pattern) => Object.fromEntries([...css.match(pattern)[1].matchAll(/--([\w-]+): (#\w{6})/g)].map(([, name, value]) => [name, value])));

const part = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
const brightness = (colour) => [1, 3, 5].map((at) => part(Number.parseInt(colour.slice(at, at + 2), 16) / 255)).reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index], 0);
const contrast = (a, b) => {
  const [high, low] = [brightness(a), brightness(b)].sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
};

for (const [name, theme] of Object.entries({ light, dark })) {
  test(`text can be read on every ground: ${name}`, () => {
    for (const ground of ["ground", "surface", "raised", "sunken", "hover", "chosen"]) for (const text of ["text", "muted", "accent"]) assert.ok(contrast(theme[text], theme[ground]) >= 4.5, `${text} on ${ground}: ${contrast(theme[text], theme[ground]).toFixed(2)}`);
    for (const tone of ["good", "bad", "warn", "busy", "calm"]) for (const text of [tone, "text"]) assert.ok(contrast(theme[text], theme[`${tone}-ground`]) >= 4.5, `${text} on ${tone}-ground`);
    assert.ok(contrast(theme["on-accent"], theme.accent) >= 4.5);
    assert.ok(contrast(theme["on-accent"], theme["accent-strong"]) >= 4.5);
  });
  test(`edges and curves can be seen: ${name}`, () => {
    for (const ground of ["ground", "surface", "raised"]) assert.ok(contrast(theme["line-strong"], theme[ground]) >= 3, `line-strong on ${ground}`);
    for (let i = 1; i <= 8; i += 1) assert.ok(contrast(theme[`series-${i}`], theme.surface) >= 3, `series-${i}`);
  });
}
