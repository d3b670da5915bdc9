/**
 * The conversation on the page: asks, follows the run that answers, keeps what a reload needs, draws.
 *
 * One run at most is followed at a time, and it belongs to the last turn.
 */
import { LATER, titleOf, transportOf, withLatePrompts } from "./afterwards.js";
import { MOVED_ON, UNHEARD, noticeAfter, spokenEnd, spokenOf } from "./notices.js";
import { freshConversation, freshTurn, forget, keep, restore, storedTurns } from "./state.js";
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
    const turns = this.#conversation.turns ?? (await storedTurns(id)) ?? [];
    if (run !== null && turns.at(-1)?.end !== null) turns.push(freshTurn(run.text, run.files)); // its question is not stored yet
    this.#fill(turns, run === null ? null : turns.at(-1));
    if (run !== null) this.#follow(new Run({ ...run, message: run.message ?? undefined }), turns.at(-1));
    this.page.changed();
    if (turns.length > 0) titleOf(id).then((title) => this.#conversation.id === id && this.page.named(title));
  }

  /** What was sent with the form: to the answer that runs, else a question. */
  say(text, files) {
    if (this.isRunning) this.#steer(text);
    else this.ask(text, files);
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

  /** Another question in the place of the last one: it is written in the form. */
  edit(turn) {
    if (!this.isRunning) this.page.composer.edit(turn.text, (text, files) => this.#revise(turn, text, files));
  }

  #revise(turn, text, more) {
    const { answer, end, model } = turn;
    const files = [...(turn.files ?? []), ...more];
    Object.assign(turn, { was: { text: turn.text, files: turn.files, answer, end, model }, text, files, answer: null, end: null });
    this.page.scroll.toEnd();
    const { id: conversationId, assistant } = this.#conversation;
    this.#follow(new Run({ text, files, revises: answer.id, conversationId, assistant, runId: newId() }), turn);
  }

  async #steer(text) {
    const run = this.#run;
    const saying = run.steer(text);
    this.keep();
    this.#draw();
    this.page.scroll.toEnd();
    const isTaken = await saying;
    if (this.#run !== run) return;
    this.keep();
    this.#draw();
    if (isTaken) this.page.announce("Sent to the assistant.");
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

  /** These are the turns; only `running` may be without an end. */
  #fill(turns, running = null) {
    this.#conversation.turns = turns;
    this.#views = [];
    this.page.thread.replaceChildren();
    for (const turn of turns) {
      if (turn !== running) turn.end ??= { outcome: "lost" };
      this.#show(turn);
    }
  }

  #show(turn) {
    const view = new TurnView(turn, {
      retry: (which) => this.retry(which),
      regenerate: (which) => this.regenerate(which),
      edit: (which) => this.edit(which),
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
    const run = this.#run;
    this.#learnTransport(turn).then(() => this.#run === run && this.page.connection("live", turn.transport));
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
    const revised = outcome === "failed" && turn.answer === null && turn.was ? this.#takeBack(turn, error) : null;
    if (outcome !== "unreachable") delete turn.was;
    const unheard = outcome === "unreachable" ? [] : this.#run.unheard.map((said) => said.text);
    this.#run = null;
    this.keep();
    this.#draw();
    this.#live = null;
    this.page.composer.mode = "idle";
    this.page.connection("idle", turn.transport);
    this.page.announce(spokenEnd(outcome, finishReason));
    this.page.changed();
    if (outcome === "finished") setTimeout(() => this.#learnWhatFollowed(turn), LATER);
    if (revised !== null) this.#giveBack(revised, error);
    this.#goOn(unheard, outcome === "finished" && finishReason !== "error" && finishReason !== "other");
  }

  /** What was there before comes back. Returns the text of the question that was to take its place, null where none was. */
  #takeBack(turn, error) {
    const { text } = turn;
    Object.assign(turn, turn.was, { end: { ...turn.was.end, refused: error } });
    return turn.was.text === undefined ? null : text;
  }

  /** A question was not let in the place of another one. `head`: somebody went on from that elsewhere (PROTOCOL.md, A11). */
  async #giveBack(text, { head }) {
    this.page.composer.putBack(text, head === undefined ? "" : MOVED_ON);
    if (head === undefined) return;
    this.page.announce(MOVED_ON);
    const before = this.#conversation.turns;
    const turns = await storedTurns(this.#conversation.id);
    if (turns === null || this.#conversation.turns !== before || this.isRunning) return;
    this.#fill(turns);
    this.keep();
    this.page.scroll.toEnd();
  }

  /** The run ended without hearing this: after a whole answer it is the next question, else the person decides. */
  #goOn([first, ...rest], isWhole) {
    if (first === undefined) return;
    if (!isWhole) return this.page.composer.putBack([first, ...rest].join("\n\n"), UNHEARD);
    this.ask(first);
    rest.forEach((text) => this.#steer(text));
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
    if (handle !== null) turn.transport ??= await transportOf(handle); // where it is not known yet, it is asked again at the end
  }

  #schedule() {
    if (this.#drawing) return;
    this.#drawing = true;
    requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    this.#drawing = false;
    const turn = this.#conversation.turns.at(-1);
    const live = this.#live && { ...this.#live, unheard: this.#run?.unheard };
    if (turn) this.page.scroll.around(() => this.#views.at(-1).update(turn, live));
  }
}
