/** The JavaScript client against the cases that both clients share. */
import assert from "node:assert/strict";
import test from "node:test";

import { EMPTY, fold } from "../../web/fold.js";
import { Run, newId } from "../../web/stream.js";
import { ScriptedNetwork, cases, expectedMessage, foldCase } from "./scripted.mjs";

const PLACE = { conversationId: "c-1", runId: "0f5c9e2a-7b1d-4c3e-8a6f-001122334455" };

function begin({ start, fold: name }, network) {
  if (start === undefined) return new Run({ ...PLACE, text: "What is a slice?" }, network);
  const message = foldCase(name).frames.slice(0, start.next).reduce(fold, EMPTY);
  return new Run({ ...PLACE, ...start, message }, network);
}

async function read(run) {
  const events = [];
  for await (const event of run.events()) events.push(event);
  return events;
}

for (const pieces of [1_000_000, 7, 1]) {
  for (const written of cases("client")) {
    test(`${written.title} (${pieces} bytes at a time)`, async () => {
      const network = new ScriptedNetwork(written, pieces);
      const run = begin(written, network);
      const from = run.next;

      const events = await read(run);

      const { outcome, finishReason, error, message } = events.at(-1);
      const ended = JSON.parse(JSON.stringify({ outcome, finishReason, kind: error?.kind, status: error?.status || undefined }));
      const seen = events.filter((event) => event.type === "frame").map((event) => event.index);
      assert.deepEqual(network.asked, written.exchanges.map((exchange) => exchange.request));
      assert.deepEqual(network.pauses, written.pauses);
      assert.deepEqual(ended, written.outcome);
      assert.deepEqual(seen, Array.from(seen, (_, at) => from + at));
      assert.deepEqual(message, expectedMessage(written));
      assert.equal(events.filter((event) => event.type === "end").length, 1);
    });
  }
}

test("A question that is sent again carries the same run id", async () => {
  const written = cases("client").find((one) => one.title.includes("the same run id"));
  const network = new ScriptedNetwork(written, 1_000);

  await read(begin(written, network));

  const body = { message: "What is a slice?", conversation_id: PLACE.conversationId, run_id: PLACE.runId };
  assert.deepEqual(network.bodies, [body, body, body]);
});

for (const [given, trigger] of [["regenerates", "regenerate-message"], ["revises", "submit-message"]]) {
  test(`A run that ${given} an answer names it, also after a reload, and only as the last one`, async () => {
    // [A11]
    const written = cases("client").find((one) => one.title.includes("the same run id"));
    const network = new ScriptedNetwork(written, 1_000);
    const run = new Run({ ...PLACE, text: "What is a slice?", [given]: "msg_1" }, network);

    await read(new Run(JSON.parse(JSON.stringify(run.snapshot())), network));

    const message = { role: "user", parts: [{ type: "text", text: "What is a slice?" }] };
    const revision = { trigger, messageId: "msg_1", expected_head: "msg_1" };
    const body = { message, ...revision, conversation_id: PLACE.conversationId, run_id: PLACE.runId };
    assert.deepEqual(network.bodies, [body, body, body]);
  });
}

test("What a snapshot keeps is enough to go on from any frame", async () => {
  const { frames, message } = foldCase("tools");
  const headers = { "x-workflow-run-id": "run.h1" };
  for (let next = 1; next < frames.length; next += 1) {
    const first = new ScriptedNetwork({ fold: "tools", exchanges: [{ status: 200, headers, frames: [[0, next]], end: "close" }] }, 64);
    const before = new Run({ ...PLACE, text: "What is a slice?" }, first);
    for await (const event of before.events()) if (event.index === next - 1) break;
    const kept = JSON.parse(JSON.stringify(before.snapshot()));
    const rest = [{ status: 200, headers, frames: [[next, frames.length]], end: "close" }];
    const second = new ScriptedNetwork({ fold: "tools", exchanges: rest }, 64);

    const events = await read(new Run(kept, second));

    assert.deepEqual(second.asked, [`GET /api/chat/run.h1/stream?startIndex=${next}`]);
    assert.deepEqual(events.at(-1).message, message);
  }
});

test("New ids are UUIDs, each another one", () => {
  const ids = new Set(Array.from({ length: 100 }, newId));

  assert.equal(ids.size, 100);
  for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});
