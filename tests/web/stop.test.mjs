/** Stopping, leaving and waiting, which need more than a list of answers. */
import assert from "node:assert/strict";
import test from "node:test";

import { LIMITS } from "../../web/stream.js";
import { OpenStream, PLACE, SHOWN, ended, everythingDue, frames, message, running } from "./open_stream.mjs";

test("A stop that is confirmed still reads the frames that settle the turn", async () => {
  const network = new OpenStream();
  const { run, reader } = await running(network);

  assert.equal(await run.stop(), true);
  network.write(frames.slice(SHOWN), SHOWN);

  assert.deepEqual(await reader.until(ended), { type: "end", outcome: "finished", finishReason: "other", message });
  assert.deepEqual(network.asked, ["POST /api/chat", "POST /api/chat/run.h1/stop"]);
});

test("After a stop that was confirmed a cut is not read on, and the partial answer is settled", async () => {
  const network = new OpenStream();
  const { run, reader } = await running(network);

  await run.stop();
  network.cut();

  const end = await reader.until(ended);
  assert.equal(end.outcome, "stopped");
  assert.deepEqual(end.message.parts, [{ type: "step-start" }, { type: "text", text: "As far as I go", state: "done" }]);
  assert.deepEqual(network.asked, ["POST /api/chat", "POST /api/chat/run.h1/stop"]);
});

test("A confirmed stop that does not show in the log settles the picture in the end", async () => {
  const network = new OpenStream();
  const { run, reader } = await running(network);

  await run.stop();
  network.fire(LIMITS.afterStop);

  assert.equal((await reader.until(ended)).outcome, "stopped");
});

test("A stop that the server refuses leaves the run alone", async () => {
  const network = new OpenStream([403]);
  const { run, reader } = await running(network);

  assert.equal(await run.stop(), false);
  network.write(frames.slice(SHOWN), SHOWN);

  assert.equal((await reader.until(ended)).outcome, "finished");
});

test("A stop that does not get through is sent again, a bounded number of times", async () => {
  const network = new OpenStream([0, 503, 0, 0, 0]);
  const { run } = await running(network);

  const stopped = run.stop();
  for (const ms of [250, 500, 1000, 2000, 4000]) {
    await everythingDue();
    network.fire(ms);
  }

  assert.equal(await stopped, false);
});

test("A stop that overtakes the question goes by the run id until it is known", async () => {
  const network = new OpenStream([404, 200], {});
  const { run } = await running(network);

  const stopped = run.stop();
  await everythingDue();
  network.fire(250);

  assert.equal(await stopped, true);
  assert.deepEqual(network.asked.slice(1), Array(2).fill(`POST /api/chat/${PLACE.runId}/stop`));
});

test("Leaving ends the reading without an end and without a stop", async () => {
  const network = new OpenStream();
  const { run, reader } = await running(network);

  run.detach();
  await reader.done;

  assert.equal(reader.seen.filter(ended).length, 0);
  assert.deepEqual(network.asked, ["POST /api/chat"]);
});

test("A bare cut while offline waits for the network and not for a timer", async () => {
  const network = new OpenStream();
  const { run, reader } = await running(network);

  network.isOnline = false;
  network.cut();
  await reader.until((event) => event.state === "reconnecting");
  await everythingDue();
  assert.deepEqual(network.timers, []);
  network.isOnline = true;
  run.wake();
  await everythingDue();

  assert.deepEqual(network.asked, ["POST /api/chat", `GET /api/chat/run.h1/stream?startIndex=${SHOWN}`]);
  run.detach();
});

test("What a person says is sent once, and the caller learns whether it arrived", async () => {
  const network = new OpenStream([200, 409, 0]);
  const { run } = await running(network);
  const input = { type: "approve", approvalId: "c1.0" };

  assert.deepEqual([await run.say(input), await run.say(input), await run.say(input)], [true, false, false]);
  assert.equal(network.asked.at(-1), "POST /api/chat/run.h1/input");
  assert.deepEqual(network.said, [input, input, input]);
  run.detach();
});
