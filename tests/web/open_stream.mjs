/** A network with one open stream that the test writes to, and a reader of the run behind it. */
import assert from "node:assert/strict";

import { Run } from "../../web/stream.js";
import { encode, foldCase } from "./scripted.mjs";

export const PLACE = { conversationId: "c-1", runId: "0f5c9e2a-7b1d-4c3e-8a6f-001122334455", text: "Go on." };
const HANDLE = { "x-workflow-run-id": "run.h1" };

/** `stop` and `input` answer with these statuses in turn; 0 is no answer. */
export class OpenStream {
  asked = [];
  said = [];
  timers = [];
  isOnline = true;
  now = () => 0;
  random = () => 1;
  online = () => this.isOnline;

  constructor(statuses = [200], headers = HANDLE) {
    this.statuses = statuses;
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
    if (path.endsWith("/input")) this.said.push(JSON.parse(body));
    if (path.endsWith("/input") || path.endsWith("/stop")) {
      const status = this.statuses.shift();
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
export function follow(run) {
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

export const { frames, message } = foldCase("stopped");
export const SHOWN = frames.findIndex((frame) => frame.type === "text-delta") + 1;
const live = (event) => event.state === "live";
const shown = (event) => event.index === SHOWN - 1;
export const ended = (event) => event.type === "end";
export const everythingDue = () => new Promise(setImmediate);

/** A run that has shown some text and is still open. */
export async function running(network) {
  const run = new Run(PLACE, network);
  const reader = follow(run);
  await reader.until(live);
  network.write(frames.slice(0, SHOWN));
  await reader.until(shown);
  return { run, reader };
}
