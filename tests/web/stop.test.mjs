/** Stopping, leaving and waiting, which need more than a list of answers. */
import assert from "node:assert/strict";
import test from "node:test";

import { LIMITS, Run } from "../../web/stream.js";
import { encode, foldCase } from "./scripted.mjs";

const PLACE = { conversationId: "c-1", runId: "0f5c9e2a-7b1d-4c3e-8a6f-001122334455", text: "Go on." };
const HANDLE = { "x-workflow-run-id": "run.h1" };

/** A network with one open stream that the test writes to, and a `stop` that answers as told. */
class OpenStream {
  asked = [];
  said = [];
  timers = [];
  isOnline = true;
  now = () => 0;
  random = () => 1;
  online = () => this.isOnline;

  constructor(stopStatuses = [200], headers = HANDLE) {
    this.stopStatuses = stopStatuses;
    this.headers = headers;
    this.fetch = this.fetch.bind(this);
    this.setTimer = this.setTimer.bind(this);
  }

  setTimer(ms, call) {
    const timer = { ms, call };
    this.timers.push(timer);
    return () => (this.timers = this.timers.filter((other) => other !== timer));
  }

  fire(ms) {
    const due = this.timers.filter((timer) => timer.ms === ms);
    assert.ok(due.length > 0, `no timer of ${ms} ms`);
    this.timers = this.timers.filter((timer) => timer.ms !== ms);
    due.forEach((timer) => timer.call());
  }

  async fetch(path, { method, signal, body }) {
    this.asked.push(`${method} ${path}`);
    if (path.endsWith("/input")) {
      this.said.push(body);
      const status = this.stopStatuses.shift();
      if (status === 0) throw new TypeError("fetch failed");
      return new Response("{}", { status });
    }
    if (path.endsWith("/stop")) {
      const status = this.stopStatuses.shift();
      if (status === 0) throw new TypeError("fetch failed");
      return new Response("{}", { status });
    }
    const stream = new ReadableStream({ start: (controller) => (this.controller = controller) });
    signal.addEventListener("abort", () => this.controller.error(signal.reason));
    return new Response(stream, { status: 200, headers: this.headers });
  }

  write(frames, from = 0) {
    frames.forEach((frame, at) => this.controller.enqueue(new TextEncoder().encode(encode(from + at, frame))));
  }

  cut() {
    this.controller.error(new TypeError("network error"));
  }
}

/** Reads the run in the background; `until` resolves with the first event, seen or to come, that is wanted. */
function follow(run) {
  const seen = [];
  let waiting = [];
  const done = (async () => {
    for await (const event of run.events()) {
      seen.push(event);
      waiting = waiting.filter(({ wanted, resolve }) => !wanted(event) || resolve(event));
    }
  })();
  const until = (wanted) => {
    const event = seen.find(wanted);
    return event ? Promise.resolve(event) : new Promise((resolve) => waiting.push({ wanted, resolve }));
  };
  return { seen, done, until };
}

const { frames, message } = foldCase("stopped");
const SHOWN = frames.findIndex((frame) => frame.type === "text-delta") + 1;
const live = (event) => event.state === "live";
const shown = (event) => event.index === SHOWN - 1;
const ended = (event) => event.type === "end";
const everythingDue = () => new Promise(setImmediate);

/** A run that has shown some text and is still open. */
async function running(network) {
  const run = new Run(PLACE, network);
  const reader = follow(run);
  await reader.until(live);
  network.write(frames.slice(0, SHOWN));
  await reader.until(shown);
  return { run, reader };
}

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
  assert.deepEqual(network.said.map((body) => JSON.parse(body)), [input, input, input]);
  run.detach();
});
