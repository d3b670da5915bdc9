/** The fold of the page against the cases that all folds share. */
import assert from "node:assert/strict";
import test from "node:test";

import { EMPTY, fold, settle, textOf } from "../../web/fold.js";
import { cases } from "./scripted.mjs";

for (const { title, frames, message } of cases("fold")) {
  test(title, () => {
    assert.deepEqual(frames.reduce(fold, EMPTY), message);
  });
}

test("A part that a frame does not touch stays the same object", () => {
  const { frames } = cases("fold").find((one) => one.title.startsWith("Thinking, text, two tools"));
  let message = EMPTY;
  for (const frame of frames) {
    const before = message.parts;
    message = fold(message, frame);

    const changed = message.parts.filter((part, at) => part !== before[at]);
    assert.ok(changed.length <= 1);
  }
});

test("Settling closes what is open and changes nothing else", () => {
  const open = { id: "m", role: "assistant", parts: [{ type: "text", text: "So f", state: "streaming" }, { type: "step-start" }] };

  assert.deepEqual(settle(open).parts, [{ type: "text", text: "So f", state: "done" }, { type: "step-start" }]);
  assert.equal(textOf(open), "So f");
});

test("A delta without its part is an error, not a guess", () => {
  assert.throws(() => fold(EMPTY, { type: "text-delta", id: "t1", delta: "x" }), /not open/);
});
