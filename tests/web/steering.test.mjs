/** What a person says while an answer comes ([W5]): sent until it is answered, kept until it is heard. */
import assert from "node:assert/strict";
import test from "node:test";

import { Run } from "../../web/stream.js";
import { OpenStream, PLACE, SHOWN, ended, everythingDue, follow, frames, running } from "./open_stream.mjs";

const texts = (run) => run.unheard.map(({ text, state }) => [text, state]);
const heard = (id) => ({ type: "steering-message", id, parts: [{ type: "text", text: "Shorter!" }] });

test("What was said is unheard until the message shows it", async () => {
  const network = new OpenStream([200]);
  const { run, reader } = await running(network);

  const saying = run.steer("Shorter!");
  assert.deepEqual(texts(run), [["Shorter!", "sending"]]);
  assert.equal(await saying, true);
  assert.deepEqual(texts(run), [["Shorter!", "taken"]]);
  const [{ id, ...said }] = network.said;
  network.write([heard(id), ...frames.slice(SHOWN)], SHOWN);
  await reader.until(ended);

  assert.deepEqual(said, { type: "steer", text: "Shorter!" });
  assert.deepEqual(texts(run), []);
});

test("What does not get through is sent again under its id, and what was said later comes after it", async () => {
  const network = new OpenStream([0, 503, 429, 200, 200]);
  const { run } = await running(network);

  const saying = [run.steer("One."), run.steer("Two.")];
  for (const ms of [250, 500, 1000]) {
    await everythingDue();
    network.fire(ms);
  }

  assert.deepEqual(await Promise.all(saying), [true, true]);
  assert.deepEqual(network.said.map(({ text }) => text), ["One.", "One.", "One.", "One.", "Two."]);
  assert.equal(new Set(network.said.map(({ id }) => id)).size, 2);
  run.detach();
});

test("Words that a run takes no more are kept for another question", async () => {
  const network = new OpenStream([409]);
  const { run, reader } = await running(network);

  assert.equal(await run.steer("And then?"), false);
  network.write(frames.slice(SHOWN), SHOWN);
  await reader.until(ended);

  assert.deepEqual(texts(run), [["And then?", "refused"]]);
});

test("What is said before the question was accepted follows it", async () => {
  const network = new OpenStream([200]);
  const run = new Run(PLACE, network);
  const saying = run.steer("Shorter!");
  await everythingDue();
  assert.deepEqual(network.asked, []);

  const reader = follow(run);
  await reader.until((event) => event.state === "live");
  network.fire(250);

  assert.equal(await saying, true);
  assert.deepEqual(network.asked, ["POST /api/chat", "POST /api/chat/run.h1/input"]);
  run.detach();
});

test("After a reload what the server has is not sent again, and what it may not have is", async () => {
  const network = new OpenStream([200, 0]);
  const { run } = await running(network);
  await run.steer("One.");
  run.steer("Two.");
  await everythingDue();
  const kept = JSON.parse(JSON.stringify(run.snapshot()));
  run.detach();
  const next = new OpenStream([200]);

  const again = new Run(kept, next);
  follow(again);
  await everythingDue();

  assert.deepEqual(kept.steering.map(({ state }) => state), ["taken", "sending"]);
  assert.deepEqual(next.said, [{ type: "steer", id: kept.steering[1].id, text: "Two." }]);
  assert.deepEqual(texts(again), [["One.", "taken"], ["Two.", "taken"]]);
  again.detach();
});

test("When the run is over nothing is sent any more", async () => {
  const network = new OpenStream([0]);
  const { run, reader } = await running(network);
  const saying = run.steer("Too late.");
  await everythingDue();

  network.write(frames.slice(SHOWN), SHOWN);
  await reader.until(ended);
  network.fire(250);

  assert.equal(await saying, false);
  assert.deepEqual(texts(run), [["Too late.", "sending"]]);
});
