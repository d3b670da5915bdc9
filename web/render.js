/** A turn as page elements. `update` touches what changed and nothing else; what is drawn depends on the turn alone. */
import { button, element, say } from "./dom.js";
import { attached } from "./files.js";
import { MarkdownView } from "./markdown.js";
import { ToolView } from "./tool.js";

const TRANSPORTS = { workflow: "durable workflow", inline: "inline" };

export class TurnView {
  #parts = element("div", { class: "parts" });
  #waiting = element("p", { class: "waiting", "aria-hidden": "true" }, ...[1, 2, 3].map(() => element("span")));
  #notice = element("p", { class: "notice-line", hidden: "" });
  #sources = element("ul", { class: "sources", hidden: "" });
  #outcome = element("div");
  #meta = element("p", { class: "meta", hidden: "" });
  #views = []; // {part, view, element}, one for each part of the message
  #end = null;
  #runId = "";

  /** `retry` is called with the turn when the person wants another try, `send` with what they say to a running one. */
  constructor(turn, retry, send) {
    this.retry = retry;
    this.send = send;
    const answer = element("div", { class: "answer" }, element("h3", { class: "unseen" }, "Answer"));
    answer.append(this.#parts, this.#waiting, this.#notice, this.#sources, this.#outcome, this.#meta);
    this.element = element("article", { class: "turn" });
    if (turn.text !== null) {
      const files = attached(turn.files ?? []);
      const asked = [element("h3", { class: "unseen" }, "You asked"), ...(files ? [files] : []), element("p", {}, turn.text)];
      this.element.append(element("div", { class: "question" }, ...asked));
    }
    this.element.append(answer);
  }

  /** `live` is what only a running turn has: {progress: {toolCallId: value}, notice, next}. */
  update(turn, live = null) {
    this.element.dataset.state = turn.end === null ? "running" : "ended";
    if (live) this.element.dataset.next = live.next; // the index that comes next, for whoever looks closely
    this.#runId = runOf(turn.answer?.id ?? "");
    this.#updateParts(turn.answer?.parts ?? [], turn.end === null ? live : null);
    this.#waiting.hidden = turn.end !== null || isVisiblyBusy(turn.answer);
    this.#notice.hidden = turn.end !== null || !live?.notice;
    say(this.#notice, live?.notice ?? "");
    this.#updateSources(turn.answer?.parts ?? []);
    if (this.#end !== turn.end) this.#updateEnd(turn);
    this.#updateMeta(turn);
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
      this.#views[at].view?.update(part, live && { progress: live.progress[id], isQuestion: questions.has(id), send: this.send });
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
    this.#sources.hidden = sources.length === 0;
    if (this.#sources.childElementCount !== sources.length) this.#sources.replaceChildren(...sources.map(source));
  }

  #updateEnd(turn) {
    this.#end = turn.end;
    const { text, kind, again } = turn.end === null ? {} : verdict(turn);
    const box = text ? [element("p", { class: kind, role: kind === "error" ? "alert" : undefined }, text)] : [];
    if (again) box.push(button(again, () => this.retry(turn), { class: "retry" }));
    this.#outcome.replaceChildren(...box);
  }

  #updateMeta({ end, answer, transport, model }) {
    const usage = answer?.parts.find((part) => part.type === "data-usage")?.data;
    const facts = [model, TRANSPORTS[transport], ...(usage ? [count(usage.steps, "step"), count(tokens(usage), "token")] : [])];
    this.#meta.hidden = end === null || facts.every((fact) => !fact);
    say(this.#meta, facts.filter(Boolean).join(" · "));
  }
}

/** A message is named after the run that wrote it. */
function runOf(messageId) {
  return messageId.replace(/^msg_(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

function viewOf(part, runId) {
  switch (part.type) {
    case "text":
      return new TextView();
    case "reasoning":
      return new ThinkingView();
    case "dynamic-tool":
      return new ToolView(part, runId);
    case "steering-message":
      return new SteeringView();
    case "data-handoff":
      return new HandoffView();
    default:
      return null; // steps, usage, sources and errors are drawn elsewhere; what is unknown is not drawn
  }
}

class TextView {
  element = element("div", { class: "text" });
  #markdown = new MarkdownView(this.element);

  update({ text, state }) {
    if (state === "streaming") this.#markdown.update(text);
    else this.#markdown.finish(text);
  }
}

class ThinkingView {
  #summary = element("summary");
  #text = element("p");
  element = element("details", { class: "thinking" }, this.#summary, this.#text);

  update({ text, state }) {
    say(this.#summary, state === "streaming" ? "Thinking…" : "Thoughts");
    say(this.#text, text);
    this.element.hidden = state !== "streaming" && text === "";
  }
}

/** What the person said while the answer was being written. */
class SteeringView {
  #text = element("p");
  element = element("div", { class: "question" }, element("h4", { class: "unseen" }, "You said"), this.#text);

  update({ parts }) {
    say(this.#text, parts.map((part) => part.text ?? "").join("\n"));
  }
}

class HandoffView {
  #reason = element("p");
  #title = element("h4");
  element = element("section", { class: "handoff", "aria-label": "Hand-off" }, this.#title, this.#reason);

  update({ data }) {
    say(this.#title, data?.reason === "budget" ? "No answer for now" : "A person can help here");
    say(this.#reason, data?.payload?.message ?? `This question is better answered by a person (${data?.reason ?? "no reason given"}).`);
  }
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
  const name = part.title ?? part.filename ?? part.url ?? part.sourceId;
  if (!/^https?:/i.test(part.url ?? "")) return element("li", {}, name);
  return element("li", {}, element("a", { href: part.url, target: "_blank", rel: "noopener noreferrer" }, name));
}

function tokens({ inputTokens = 0, outputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0 }) {
  return inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens;
}

function count(number, word) {
  return number > 0 ? `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}` : "";
}
