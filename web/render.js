/** A turn as page elements. `update` touches what changed and nothing else; what is drawn depends on the turn alone. */
import { button, element, say } from "./dom.js";
import { attached } from "./files.js";
import { viewOf } from "./parts.js";

const TRANSPORTS = { workflow: "durable workflow", inline: "inline" };
const STATES = {
  sending: "Sending…",
  taken: "Sent. The assistant hears it with its next step.",
  refused: "This comes next, when the answer is complete.",
};

export class TurnView {
  #parts = element("div", { class: "parts" });
  #said = element("ul", { class: "said", "aria-label": "Not heard yet", hidden: "" });
  #waiting = element("p", { class: "waiting", "aria-hidden": "true" }, ...[1, 2, 3].map(() => element("span")));
  #notice = element("p", { class: "notice-line", hidden: "" });
  #sources = element("ul");
  #cited = element("section", { class: "sources", "aria-label": "Sources", hidden: "" }, element("h4", {}, "Sources"), this.#sources);
  #outcome = element("div");
  #meta = element("p", { class: "meta", hidden: "" });
  #question = element("div", { class: "question" });
  #anew;
  #prompts = element("ul", { class: "prompts", "aria-label": "Suggestions", hidden: "" });
  #views = []; // {part, view, element}, one for each part of the message
  #listed = { said: [], sources: [], prompts: [] }; // what the lists show
  #asked; // the text and the files that the question shows
  #end = null;
  #runId = "";

  /**
   * `acts` is what the person can do: {retry(turn) another try, regenerate(turn) another answer, edit(turn) another question,
   * ask(text) a suggested one, send(input) to the running turn}.
   */
  constructor(turn, acts) {
    this.acts = acts;
    const anew = [button("Edit question", () => acts.edit(turn)), button("Regenerate", () => acts.regenerate(turn))];
    this.#anew = element("div", { class: "anew", hidden: "" }, ...anew);
    const answer = element("div", { class: "answer" }, element("h3", { class: "unseen" }, "Answer"));
    const foot = element("div", { class: "foot" }, this.#meta, this.#anew);
    answer.append(this.#parts, this.#said, this.#waiting, this.#notice, this.#cited, this.#outcome, foot, this.#prompts);
    this.element = element("article", { class: "turn" }, this.#question, answer);
  }

  /** `live` is what only a running turn has: {progress: {toolCallId: value}, notice, next, unheard: what was said to it}. */
  update(turn, live = null) {
    this.element.dataset.state = turn.end === null ? "running" : "ended";
    if (live) this.element.dataset.next = live.next; // the index that comes next, for whoever looks closely
    this.#runId = runOf(turn.answer?.id ?? "");
    this.#updateQuestion(turn);
    this.#updateSaid((turn.end === null && live?.unheard) || []);
    this.#updateParts(turn.answer?.parts ?? [], turn.end === null ? live : null);
    this.#waiting.hidden = turn.end !== null || isVisiblyBusy(turn.answer);
    this.#notice.hidden = turn.end !== null || !live?.notice;
    say(this.#notice, live?.notice ?? "");
    this.#updateSources(turn.answer?.parts ?? []);
    this.#updatePrompts(turn);
    this.#anew.hidden = !canRegenerate(turn);
    if (this.#end !== turn.end) this.#updateEnd(turn);
    this.#updateMeta(turn);
  }

  #updateQuestion({ text, files }) {
    if (this.#asked?.text === text && this.#asked.files === files) return;
    this.#asked = { text, files };
    this.#question.hidden = text === null;
    const shown = [element("h3", { class: "unseen" }, "You asked"), attached(files ?? []), element("p", {}, text ?? "")];
    this.#question.replaceChildren(...shown.filter(Boolean));
  }

  #updateSaid(unheard) {
    this.#said.hidden = unheard.length === 0;
    this.#list("said", this.#said, unheard, said);
  }

  #updateParts(parts, live) {
    const questions = new Set(parts.map((part) => (part.type === "data-question" ? part.data.toolCallId : null)));
    for (const { element: gone } of this.#views.splice(parts.length)) gone?.remove();
    parts.forEach((part, at) => {
      const known = this.#views[at];
      if (known?.part === part && part.type !== "dynamic-tool") return;
      if (known && known.part.type === part.type && sameThing(known.part, part)) known.part = part;
      else this.#replace(at, part);
      const { toolCallId: id } = part;
      this.#views[at].view?.update(part, live && { progress: live.progress[id], isQuestion: questions.has(id), send: this.acts.send });
    });
  }

  #replace(at, part) {
    const view = viewOf(part, this.#runId);
    this.#views[at]?.element?.remove();
    this.#views[at] = { part, view, element: view?.element ?? null };
    if (view) this.#parts.insertBefore(view.element, this.#views.slice(at + 1).find((later) => later.element)?.element ?? null);
  }

  #updateSources(parts) {
    const sources = parts.filter((part) => part.type === "source-url" || part.type === "source-document");
    this.#cited.hidden = sources.length === 0;
    this.#list("sources", this.#sources, sources, source);
  }

  #updatePrompts({ end, answer }) {
    const prompts = promptsOf(answer);
    this.#prompts.hidden = end === null || prompts.length === 0;
    this.#list("prompts", this.#prompts, prompts, (text) => button(text, () => this.acts.ask(text)));
  }

  /** Make a list anew where it is another one: a button in it may have the focus. */
  #list(name, list, items, make) {
    const before = this.#listed[name];
    if (before.length === items.length && items.every((item, at) => item === before[at])) return;
    this.#listed[name] = items;
    list.replaceChildren(...items.map((item) => element("li", {}, make(item))));
  }

  #updateEnd(turn) {
    this.#end = turn.end;
    const { text, kind, again } = turn.end === null ? {} : verdict(turn);
    const box = text ? [element("p", { class: kind, role: kind === "error" ? "alert" : undefined }, text)] : [];
    if (again) box.push(button(again, () => this.acts.retry(turn), { class: "retry" }));
    this.#outcome.replaceChildren(...box);
  }

  #updateMeta({ end, answer, transport, model }) {
    const usage = answer?.parts.find((part) => part.type === "data-usage")?.data;
    const facts = [model, TRANSPORTS[transport], ...(usage ? [count(usage.steps, "step"), count(tokens(usage), "token")] : [])];
    this.#meta.hidden = end === null || facts.every((fact) => !fact);
    say(this.#meta, facts.filter(Boolean).join(" · "));
  }
}

/** Something that the model has not heard yet, and what becomes of it. */
function said({ text, state }) {
  return element("div", { class: "question" }, element("p", {}, text), element("small", {}, STATES[state]));
}

/** A message is named after the run that wrote it. */
function runOf(messageId) {
  return messageId.replace(/^msg_(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** What the person may go on with, as the assistant suggests. */
export function promptsOf(answer) {
  const prompts = answer?.parts.find((part) => part.type === "data-suggested-prompts")?.data?.prompts;
  return Array.isArray(prompts) ? prompts.filter((prompt) => typeof prompt === "string" && prompt !== "") : [];
}

/** Whether there is a stored answer to a question that we know, so that another one can be asked for. */
function canRegenerate({ text, answer, end }) {
  return text !== null && answer?.id && (end?.outcome === "finished" || end?.outcome === "recovered");
}

function sameThing(before, after) {
  return before.toolCallId === after.toolCallId && before.toolName === after.toolName;
}

/** Whether the answer itself shows that something goes on, so that no dots are needed. */
function isVisiblyBusy(answer) {
  const last = answer?.parts.findLast((part) => part.type !== "data-question");
  if (last === undefined) return false;
  if (last.type === "dynamic-tool") return /^(input|approval)-/.test(last.state);
  return last.state === "streaming" && (last.type === "reasoning" || last.text !== "");
}

/** How a turn that is over is told: {text, kind: "error" | "note", again}. */
function verdict({ answer, end }) {
  if (end.refused) return { text: `There is no other answer: ${end.refused.message}`, kind: "error" };
  const failure = answer?.parts.find((part) => part.type === "data-error")?.data ?? end.error;
  switch (end.outcome) {
    case "lost":
      return { text: "This answer got lost before it was stored.", kind: "error", again: "Ask again" };
    case "unreachable":
      return { text: "The connection could not be restored. The answer may still be written.", kind: "error", again: "Reconnect" };
    case "stopped":
      return { text: "Stopped.", kind: "note" };
  }
  if (failure) return { text: failure.message, kind: "error", again: failure.retryable ? "Try again" : undefined };
  return end.finishReason === "other" ? { text: "Stopped.", kind: "note" } : {};
}

function source(part) {
  const name = part.title || part.filename || part.url || part.sourceId;
  if (!/^https?:/i.test(part.url ?? "")) return name;
  return element("a", { href: part.url, target: "_blank", rel: "noopener noreferrer" }, name);
}

function tokens({ inputTokens = 0, outputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0 }) {
  return inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens;
}

function count(number, word) {
  return number > 0 ? `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}` : "";
}
