/**
 * The JavaScript client of a run: ask, read, come back after a cut, stop.
 *
 *     const run = new Run({ text: "…", conversationId, runId: newId() });
 *     for await (const event of run.events()) …      // connection · frame · end
 *     await run.steer("…"); await run.stop();
 *
 * A frame counts by the index in its `id:` line and is never counted by hand. An index below the next one is old and is
 * dropped, one above it is a gap: the log is read again from the next one, nothing is appended behind a hole (FR02). The
 * run id is minted here, so that a POST whose answer never came can be sent again without asking twice.
 *
 * Works where fetch streams: browsers and Node. It stores nothing and draws nothing; `snapshot()` is what to keep for a
 * reload, and `new Run(snapshot)` goes on from there.
 */
import { errorOf, meaningOf, problem, storedRequest, streamRequest } from "./exchange.js";
import { EMPTY, fold, settle } from "./fold.js";
import { Damaged, readFrames } from "./sse.js";
import { Steering } from "./steering.js";

export const LIMITS = Object.freeze({
  silence: 150_000, // ms without a byte: ten heartbeats were missed, the connection is dead whatever TCP says
  firstPause: 250, // ms before the first try to come back; doubles, with jitter, so that a restart is no stampede
  longestPause: 15_000,
  failures: 40, // tries in a row without a new frame, some ten minutes
  damaged: 3, // tries in a row that ended in a gap or in bytes nobody can read
  stops: 5, // tries to tell the server to stop
  afterStop: 10_000, // ms a confirmed stop may take to show in the log before the picture is settled here
  recoveryPause: 5_000, // ms until an answer whose log is gone is looked for among the stored messages
});

const ENVIRONMENT = {
  fetch: (...request) => globalThis.fetch(...request),
  setTimer: (ms, call) => {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
  now: () => performance.now(),
  random: Math.random,
  online: () => globalThis.navigator?.onLine !== false,
};

/** A UUID. Unlike crypto.randomUUID it also exists where the page is not served over HTTPS. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

export class Run {
  #environment;
  #abort = new AbortController();
  #unwatch = () => {};
  #wake = () => {};
  #failures = 0;
  #damaged = 0;
  #retryAfter = 0;
  #answered; // the question was accepted: there is something to come back to
  #renewing = false;
  #stopped = false;
  #detached = false;
  #steering;

  constructor({ files = [], text = null, handle = null, next = 0, message = EMPTY, ...given }, environment = {}) {
    const { conversationId, runId, assistant, regenerates, revises, steering = [] } = given;
    Object.assign(this, { text, files, regenerates, revises, conversationId, runId, assistant, handle, next, message });
    this.#environment = { ...ENVIRONMENT, ...environment };
    this.transport = null; // "workflow" or "inline", as soon as the server says so
    this.#answered = handle !== null;
    const tell = (input) => (this.#answered ? this.#post("input", input) : 0); // the question itself goes first
    this.#steering = new Steering(steering, tell, (failed) => this.#wait(failed));
  }

  /** What was said to the run and not heard yet: {id, text, state}, as in steering.js. */
  get unheard() {
    return this.#steering.unheard(this.message);
  }

  /** What is needed to go on from here in another page or after a reload. */
  snapshot() {
    const { text, files, regenerates, revises, conversationId, runId, assistant, handle, next, message, unheard } = this;
    const sometimes = { ...(assistant && { assistant }), ...(unheard.length > 0 && { steering: unheard }) };
    return { text, files, regenerates, revises, conversationId, runId, ...sometimes, handle, next, message };
  }

  /**
   * Everything that happens, to the end:
   *   {type: "connection", state: "connecting" | "live" | "reconnecting"}
   *   {type: "frame", index, frame, message}   message is the fold up to here
   *   {type: "end", outcome, message, …}       once: finished {finishReason} · stopped · recovered (read from the stored
   *       messages) · lost (nothing stored: offer to ask again) · failed {error} · unreachable {error}
   */
  async *events() {
    let end = null;
    this.#steering.deliver(); // what the page that we go on from could not send any more
    yield { type: "connection", state: "connecting" };
    while (end === null && !this.#detached) {
      if (this.#failures > LIMITS.failures) {
        end = { outcome: "unreachable", error: problem("unavailable", "The connection could not be restored.", true) };
      } else if (this.#damaged >= LIMITS.damaged) {
        end = { outcome: "failed", error: problem("upstream", "The answer arrived damaged.", true) };
      } else {
        end = yield* this.#once();
      }
    }
    this.#unwatch();
    this.#steering.end();
    if (end?.outcome === "stopped") this.message = settle(this.message);
    if (end !== null && !this.#detached) yield { type: "end", message: this.message, ...end };
  }

  /** Stop the run itself, for everyone. Resolves to whether the server confirmed it. */
  async stop() {
    for (let attempt = 1; attempt <= LIMITS.stops; attempt += 1) {
      const status = await this.#post("stop");
      if (status >= 200 && status < 300) {
        this.#stopped = true;
        this.#environment.setTimer(LIMITS.afterStop, () => this.#abort.abort());
        this.#wake();
        return true;
      }
      // An id that the server does not know yet: the stop overtook the question.
      if (status >= 400 && status < 500 && !(status === 404 && this.handle === null)) return false;
      await this.#wait(attempt);
    }
    return false;
  }

  /**
   * Say something more while the run answers; it shows in the message where the model heard it, and until then among
   * `unheard`, from which the end takes nothing away. Resolves to whether the server took it.
   */
  steer(text) {
    return this.#steering.say(newId(), text);
  }

  /** Decide or answer what the run waits for (PROTOCOL.md, 6). Resolves to whether the server took it. */
  async say(input) {
    const status = await this.#post("input", input);
    return status >= 200 && status < 300;
  }

  /** Stop reading; the run goes on without us. */
  detach() {
    this.#detached = true;
    this.#abort.abort();
    this.#wake();
  }

  /** Try now instead of when the pause is over: the network is back, or the page is looked at again. */
  wake() {
    this.#wake();
  }

  async *#once() {
    if (this.#stopped) return { outcome: "stopped" };
    const response = await this.#send(streamRequest(this, this.#renewing));
    let end = null;
    if (response?.status === 200) end = yield* this.#read(response);
    else if (response !== null) end = await this.#refused(response);
    if (end === null && this.#stopped) return { outcome: "stopped" };
    if (end === null && !this.#detached) {
      yield { type: "connection", state: "reconnecting" };
      this.#failures += 1;
      await this.#pause(Math.max(this.#backOff(this.#failures), this.#retryAfter));
      this.#retryAfter = 0;
    }
    return end;
  }

  async #send({ method, path, body }) {
    this.#abort = new AbortController();
    this.#watch();
    const headers = { accept: "text/event-stream", ...(body ? { "content-type": "application/json" } : {}) };
    try {
      const options = { method, headers, body, signal: this.#abort.signal, cache: "no-store" };
      return await this.#environment.fetch(path, options);
    } catch {
      return null;
    }
  }

  async *#read(response) {
    if (!this.#adopt(response.headers)) return this.#recover();
    yield { type: "connection", state: "live" };
    const since = this.#environment.now();
    try {
      for await (const { index, data } of readFrames(response.body, () => this.#watch())) {
        if (index < this.next) continue;
        const frame = this.#apply(index, data);
        yield { type: "frame", index, frame, message: this.message };
        if (frame.type === "finish") return { outcome: "finished", finishReason: frame.finishReason };
      }
    } catch (error) {
      // A cut is a cut whatever its error is called; what cannot be read is told apart, to give up sooner.
      if (error instanceof Damaged) this.#damaged += 1;
    }
    if (this.#environment.now() - since > LIMITS.longestPause) this.#failures = 0; // it was quiet, not broken
    return null;
  }

  /** Take over what the headers say. False: the conversation's active run is another one, ours has ended. */
  #adopt(headers) {
    const runId = headers.get("x-chat-run-id");
    if (this.#renewing && runId !== null && runId !== this.runId) return false;
    this.#answered = true;
    this.#renewing = false;
    this.handle = headers.get("x-workflow-run-id") ?? this.handle;
    this.transport = headers.get("x-turnkeep-transport") || this.transport; // empty while nobody took the run
    return true;
  }

  #apply(index, data) {
    if (index > this.next) throw new Damaged("frames are missing before this one");
    try {
      const frame = JSON.parse(data);
      this.message = fold(this.message, frame);
      this.next = index + 1;
      this.#failures = this.#damaged = 0;
      return frame;
    } catch (error) {
      throw new Damaged("a frame could not be read", { cause: error });
    }
  }

  async #refused(response) {
    this.#retryAfter = Number(response.headers.get("retry-after") ?? 0) * 1000 || 0;
    const meaning = meaningOf(response.status, this.#answered);
    if (meaning === "passing") return null;
    if (meaning === "gone") return this.#recover();
    if (meaning === "renew" && !this.#renewing) {
      this.#renewing = true; // our session gets a new handle, and the index is kept (FR44)
      return null;
    }
    return { outcome: "failed", error: await errorOf(response) };
  }

  async #recover() {
    this.#renewing = false;
    await this.#pause(LIMITS.recoveryPause);
    const { id, ...request } = storedRequest(this);
    const response = await this.#send(request);
    if (response?.ok) {
      const { messages } = await response.json();
      const stored = messages.find((message) => message.id === id);
      if (stored === undefined) return { outcome: "lost" };
      this.message = { id, role: "assistant", parts: stored.parts };
      return { outcome: "recovered" };
    }
    return response === null || meaningOf(response.status, false) === "passing" ? null : { outcome: "lost" };
  }

  async #post(verb, value) {
    try {
      const path = `/api/chat/${encodeURIComponent(this.handle ?? this.runId)}/${verb}`;
      const said = value && { headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
      return (await this.#environment.fetch(path, { method: "POST", ...said })).status;
    } catch {
      return 0;
    }
  }

  #watch() {
    this.#unwatch();
    this.#unwatch = this.#environment.setTimer(LIMITS.silence, () => this.#abort.abort());
  }

  #wait(attempt) {
    return new Promise((resolve) => this.#environment.setTimer(this.#backOff(attempt), resolve));
  }

  #backOff(attempt) {
    const ms = Math.min(LIMITS.longestPause, LIMITS.firstPause * 2 ** (attempt - 1));
    return ms / 2 + (ms / 2) * this.#environment.random();
  }

  async #pause(ms) {
    this.#unwatch();
    if (this.#detached || this.#stopped) return;
    let cancel = () => {};
    await new Promise((resolve) => {
      this.#wake = resolve;
      if (this.#environment.online()) cancel = this.#environment.setTimer(ms, resolve); // else only wake() ends it
    });
    cancel();
    this.#wake = () => {};
  }
}
