/** A network and a clock that follow a case of tests/cases/client: what is asked is noted, what is answered is written there. */
import { readFileSync, readdirSync } from "node:fs";

import { EMPTY, fold } from "../../web/fold.js";
import { LIMITS } from "../../web/stream.js";

const CASES = new URL("../cases/", import.meta.url);

export function cases(folder) {
  const names = readdirSync(new URL(`${folder}/`, CASES)).sort();
  return names.map((name) => JSON.parse(readFileSync(new URL(`${folder}/${name}`, CASES), "utf-8")));
}

export function foldCase(name) {
  return JSON.parse(readFileSync(new URL(`fold/${name}.json`, CASES), "utf-8"));
}

/** The bytes of one frame as the server writes them: ASCII, one data line, no event line for `error`. */
export function encode(index, frame) {
  const json = JSON.stringify(frame).replace(/[\u007f-\uffff]/g, (unit) => "\\u" + unit.charCodeAt(0).toString(16).padStart(4, "0"));
  return `id: ${index}\n${frame.type === "error" ? "" : `event: ${frame.type}\n`}data: ${json}\n\n`;
}

export function expectedMessage({ message, fold: name }) {
  const { frames, message: whole } = foldCase(name);
  if (message === undefined) return whole;
  return message.is ?? frames.slice(0, message.upTo).reduce(fold, EMPTY);
}

/** The environment of a Run that plays a case; `pieces` is how many bytes arrive at once. */
export class ScriptedNetwork {
  asked = [];
  pauses = [];
  bodies = [];
  #watchdog = () => {};

  constructor({ exchanges, fold: name }, pieces) {
    this.exchanges = [...exchanges];
    this.frames = foldCase(name).frames;
    this.pieces = pieces;
    this.fetch = this.fetch.bind(this);
    this.setTimer = this.setTimer.bind(this);
  }

  now = () => 0;
  random = () => 1;
  online = () => true;

  setTimer(ms, call) {
    if (ms === LIMITS.silence) {
      this.#watchdog = call;
    } else if (ms !== LIMITS.afterStop) {
      this.pauses.push(ms);
      queueMicrotask(call);
    }
    return () => {};
  }

  async fetch(path, { method, body, signal }) {
    this.asked.push(`${method} ${path}`);
    if (body) this.bodies.push(JSON.parse(body));
    const exchange = this.exchanges.shift();
    if (exchange === undefined) throw new Error(`nothing is written about ${method} ${path}`);
    if (exchange.status === 0) throw new TypeError("fetch failed");
    const { status, headers } = exchange;
    if (exchange.frames) return new Response(this.#stream(exchange, signal), { status, headers });
    return new Response(exchange.body ? JSON.stringify(exchange.body) : null, { status, headers });
  }

  #stream(exchange, signal) {
    const bytes = this.#bytes(exchange);
    let at = 0;
    return new ReadableStream({
      start: (controller) => signal.addEventListener("abort", () => controller.error(signal.reason)),
      pull: (controller) => {
        if (at < bytes.length) {
          controller.enqueue(bytes.slice(at, at + this.pieces));
          at += this.pieces;
        } else if (exchange.end === "close") controller.close();
        else if (exchange.end === "garbage") controller.enqueue(Uint8Array.of(0x64, 0xff, 0xfe));
        else if (exchange.end === "silence") this.#watchdog();
        else controller.error(new TypeError("network error"));
      },
    });
  }

  #bytes({ frames: ranges, end }) {
    const written = ranges.flatMap(([from, to]) => this.frames.slice(from, to).map((frame, at) => encode(from + at, frame)));
    const last = ranges.at(-1)[1];
    const next = last < this.frames.length ? encode(last, this.frames[last]) : "data: [DONE]\n\n";
    const text = `: open\n\n${written.join(": heartbeat\n\n")}${end === "half" ? next.slice(0, -5) : ""}`;
    const rest = last === this.frames.length ? next : "";
    return new TextEncoder().encode(text + rest);
  }
}
