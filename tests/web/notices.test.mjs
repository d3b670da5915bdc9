/** What is told in passing. */
import assert from "node:assert/strict";
import test from "node:test";

import { noticeAfter, spokenOf } from "../../web/notices.js";

const limited = (reason, retryAfterMs) => ({ type: "data-rate-limited", data: { retryAfterMs, reason, attempt: 2 } });

test("A model that is waited for, and one that takes over, are told once and spoken", () => {
  const told = [
    [limited("rate_limited", 2_400), "The model is busy, trying again in 3 s."],
    [limited("unavailable", 0), "The model is busy, trying again in 1 s."],
    [limited("timeout", 1_000), "The model did not answer, trying again in 1 s."],
    [limited("rate_limited", 200_000), "The model is busy, trying again in 4 min."],
    [{ type: "data-model-fallback", data: { from: "one", to: "two", reason: "upstream" } }, "two answers now, because one did not."],
    [{ type: "data-recovering", data: { attempt: 2 } }, "The step was interrupted; attempt 2 goes on."],
  ];

  assert.deepEqual(told.map(([frame]) => [noticeAfter(frame), spokenOf(frame)]), told.map(([, text]) => [text, text]));
});

test("Whatever the answer goes on with takes the line away, and is not spoken", () => {
  for (const type of ["text-delta", "reasoning-delta", "tool-input-start", "tool-input-delta"]) {
    assert.deepEqual([noticeAfter({ type }), spokenOf({ type })], ["", undefined]);
  }
});

test("What carries no words changes nothing", () => {
  for (const type of ["start-step", "reset-step", "data-usage", "text-start", "finish"]) assert.equal(noticeAfter({ type }), undefined);
});
