import assert from "node:assert/strict";
import { test } from "node:test";
import { frame, Frames, said, saying } from "../../services/api/resolute/api/web/page/app/core/terminal_frames.js";

const bytes = (...all) => Uint8Array.from(all);

test("frames arrive whole however their bytes come", () => {
  const sent = [["o", bytes(1, 2, 3)], ["i", bytes()], ["o", new Uint8Array(300).fill(7)]];
  const all = sent.flatMap(([kind, content]) => [...frame(kind, content)]);
  for (const step of [1, 2, 7, 1_000]) {
    const frames = new Frames();
    const found = [];
    for (let at = 0; at < all.length; at += step) found.push(...frames.feed(Uint8Array.from(all.slice(at, at + step))));
    assert.deepEqual(found.map((one) => [one.kind, one.content]), sent, `in pieces of ${step}`);
  }
});

test("a document comes back as it was, and a frame that is too long is refused", () => {
  const [one] = new Frames().feed(saying("x", { status: 7, text: "שלום" }));
  assert.deepEqual(said(one), { status: 7, text: "שלום" });
  assert.throws(() => new Frames().feed(bytes(111, 255, 255, 255, 255)), /a frame of 4294967295 bytes/);
});
