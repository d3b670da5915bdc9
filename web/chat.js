/**
 * The conversation on the page: asks, follows the run that answers, keeps what a reload needs, draws.
 *
 * One run at most is followed at a time, and it belongs to the last turn.
 */
import { LATER, titleOf, withLatePrompts } from "./afterwards.js";
import { noticeAfter, spokenOf } from "./notices.js";
import { freshConversation, freshTurn, forget, keep, restore, turnsOf } from "./state.js";
import { Run, newId } from "./stream.js";
import { TurnView } from "./render.js";

export class Chat {
  #conversation = restore();
  #views = [];
  #run = null;
  #live = null;
  #drawing = false;

  /** `page` is what is told: {thread, scroll, composer, connection(state), changed(), named(title), announce(text)}. */
  constructor(page) {
    this.page = page;
  }

  get isEmpty() {
    return this.#conversation.turns?.length === 0;
  }

  /** The name of who answers in this conversation; undefined: the server decides. It is chosen before the first question. */
  get assistant() {
    return this.#conversation.assistant;
  }

  set assistant(name) {
    if (this.isEmpty) this.#conversation.assistant = name;
  }

  get isRunning() {
    return this.#run !== null;
  }

  /** Show the conversation as it was left, and go on reading where a run was being read. */
  async open() {
    const { id, run } = this.#conversation;
    const turns = (this.#conversation.turns ??= await storedTurns(id));
    if (run !== null && turns.at(-1)?.end !== null) turns.push(freshTurn(run.text, run.files)); // its question is not stored yet
    const unanswered = turns.filter((turn) => turn.end === null && (run === null || turn !== turns.at(-1)));
    for (const turn of unanswered) turn.end = { outcome: "lost" };
    for (const turn of turns) this.#show(turn);
    if (run !== null) this.#follow(new Run({ ...run, message: run.message ?? undefined }), turns.at(-1));
    this.page.changed();
    if (turns.length > 0) titleOf(id).then((title) => this.#conversation.id === id && this.page.named(title));
  }

  ask(text, files = []) {
    if (this.isRunning) return;
    const turn = freshTurn(text, files);
    this.#conversation.turns.push(turn);
    this.#show(turn);
    this.page.scroll.toEnd();
    const { id: conversationId, assistant } = this.#conversation;
    this.#follow(new Run({ text, files, conversationId, assistant, runId: newId() }), turn);
  }

  /** Ask with a button. */
  begin(text) {
    this.ask(text);
    this.page.scroll.focus();
  }

  async stop() {
    const run = this.#run;
    if (run === null) return;
    this.page.composer.mode = "stopping";
    if ((await run.stop()) || this.#run !== run) return;
    this.page.composer.mode = "running";
    this.page.announce("The answer could not be stopped. Try again.");
  }

  /** Another try at the last turn: read on, or ask again. */
  retry(turn) {
    if (this.isRunning) return;
    if (turn.end.outcome === "unreachable") {
      const { resume } = turn;
      Object.assign(turn, { end: null, resume: undefined });
      this.#follow(new Run(resume), turn);
      return;
    }
    if (turn.end.outcome !== "finished") this.#drop(turn); // nothing of it is stored
    this.ask(turn.text, turn.files);
  }

  /** Another answer in the place of the last one, which comes back where the server refuses. */
  regenerate(turn) {
    if (this.isRunning) return;
    const { text, answer, end, model } = turn;
    Object.assign(turn, { was: { answer, end, model }, answer: null, end: null });
    this.#follow(new Run({ text, regenerates: answer.id, conversationId: this.#conversation.id, runId: newId() }), turn);
    this.page.scroll.focus();
  }

  reset() {
    if (this.isRunning) return;
    this.#conversation = freshConversation();
    this.#views = [];
    this.page.thread.replaceChildren();
    forget();
    this.page.named("");
    this.page.changed();
  }

  /** The network is back, or somebody looks at the page again. */
  wake() {
    this.#run?.wake();
  }

  keep() {
    if (!this.isEmpty) keep(this.#conversation, this.#run);
  }

  #show(turn) {
    const view = new TurnView(turn, {
      retry: (which) => this.retry(which),
      regenerate: (which) => this.regenerate(which),
      ask: (text) => this.begin(text),
      send: async (input) => (await this.#run?.say(input)) ?? false,
    });
    view.update(turn);
    this.#views.push(view);
    this.page.thread.append(view.element);
  }

  #drop(turn) {
    this.#conversation.turns.splice(this.#conversation.turns.indexOf(turn), 1);
    this.#views.pop().element.remove();
  }

  async #follow(run, turn) {
    this.#run = run;
    this.#live = { progress: {}, notice: "", next: run.next };
    turn.answer = run.message.parts.length > 0 ? run.message : null;
    this.page.composer.mode = "running";
    this.page.changed();
    this.keep();
    this.#draw();
    for await (const event of run.events()) {
      if (event.type === "connection") this.#connection(event.state, turn);
      else if (event.type === "frame") this.#frame(event, turn);
      else await this.#end(event, turn);
    }
  }

  #connection(state, turn) {
    this.page.connection(state, turn.transport);
    if (state !== "live") return;
    this.keep();
    this.#learnTransport(turn).then(() => this.#run && this.page.connection("live", turn.transport));
  }

  #frame({ index, frame, message }, turn) {
    turn.answer = message;
    this.#live.next = index + 1;
    this.#note(frame, turn);
    if (!frame.type.endsWith("-delta")) this.keep();
    this.#schedule();
  }

  #note(frame, turn) {
    const { type, data } = frame;
    if (type === "data-run") turn.model = data.model;
    else if (type === "data-reply") turn.model = data.model || turn.model;
    else if (type === "data-tool-progress") this.#live.progress[data.toolCallId] = data.progress;
    this.#live.notice = noticeAfter(frame) ?? this.#live.notice;
    const spoken = spokenOf(frame);
    if (spoken !== undefined) this.page.announce(spoken);
  }

  async #end({ outcome, finishReason, error, message }, turn) {
    await this.#learnTransport(turn);
    if (outcome === "unreachable") turn.resume = this.#run.snapshot();
    turn.answer = message.parts.length > 0 ? message : null;
    turn.end = { outcome, finishReason, error };
    if (outcome === "failed" && turn.answer === null && turn.was) {
      Object.assign(turn, turn.was, { end: { ...turn.was.end, refused: error } });
    }
    if (outcome !== "unreachable") delete turn.was;
    this.#run = null;
    this.keep();
    this.#draw();
    this.#live = null;
    this.page.composer.mode = "idle";
    this.page.connection("idle", turn.transport);
    this.page.announce(SPOKEN[outcome] ?? (finishReason === "other" ? SPOKEN.stopped : "Answer complete."));
    this.page.changed();
    if (outcome === "finished") setTimeout(() => this.#learnWhatFollowed(turn), LATER);
  }

  async #learnWhatFollowed(turn) {
    const { id, turns } = this.#conversation;
    const isLast = () => turns === this.#conversation.turns && turn === turns.at(-1) && !this.isRunning;
    if (!isLast() || turn.answer === null) return;
    const [title, answer] = await Promise.all([titleOf(id), withLatePrompts(id, turn.answer)]);
    if (!isLast()) return;
    this.page.named(title);
    turn.answer = answer;
    this.keep();
    this.#draw();
  }

  async #learnTransport(turn) {
    const { handle, transport } = this.#run;
    turn.transport ??= transport;
    if (turn.transport !== null || handle === null) return;
    try {
      const response = await fetch(`/api/runs/${encodeURIComponent(handle)}`);
      if (response.ok) turn.transport = (await response.json()).transport || null;
    } catch {
      // it is a detail, and asked again at the end
    }
  }

  #schedule() {
    if (this.#drawing) return;
    this.#drawing = true;
    requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    this.#drawing = false;
    const turn = this.#conversation.turns.at(-1);
    if (turn) this.page.scroll.around(() => this.#views.at(-1).update(turn, this.#live));
  }
}

const SPOKEN = {
  stopped: "Stopped.",
  lost: "The answer got lost.",
  failed: "There was an error.",
  unreachable: "The connection could not be restored.",
};

async function storedTurns(conversationId) {
  try {
    const response = await fetch(`/api/conversations/${encodeURIComponent(conversationId)}/messages?limit=1000&order=asc`);
    return response.ok ? turnsOf((await response.json()).messages) : [];
  } catch {
    return [];
  }
}
