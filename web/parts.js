/** The parts of an answer as page elements: one class a kind. What a model or a tool made is text, never markup. */
import { element, pretty, say } from "./dom.js";
import { MarkdownView } from "./markdown.js";
import { ToolView } from "./tool.js";

/** What draws this part of the run's answer, or null: steps, usage, sources, prompts and errors are drawn elsewhere, the unknown is not drawn. */
export function viewOf(part, runId) {
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
    case "data-context":
      return new ContextView();
    case "data-artifact":
      return new ArtifactView();
    default:
      return null;
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

/** What the person said while the answer was being written, where the model heard it. */
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

/** That the model was not told everything that was said before. */
class ContextView {
  element = element("p", { class: "aside" });

  update({ data }) {
    const count = data?.truncated ?? 0;
    const left = count === 1 ? "One older message was left out" : `${count} older messages were left out`;
    if (data?.compacted) say(this.element, "Older messages were summarised to make room.");
    else if (count > 0) say(this.element, `${left} because the conversation is long.`);
    else say(this.element, "Long results were left out to make room.");
  }
}

/** Something that a tool made: its title, its kind, and what is in it where that can be shown. */
class ArtifactView {
  #title = element("h4");
  #kind = element("span", { class: "artifact-kind" });
  #content = element("div", { class: "artifact-content" });
  element = element("section", { class: "artifact" }, element("div", { class: "artifact-head" }, this.#title, this.#kind), this.#content);

  update({ data }) {
    const { title, kind, mediaType, url, content } = data ?? {};
    say(this.#title, title || kind || "Artifact");
    say(this.#kind, title && kind ? kind : "");
    this.element.setAttribute("aria-label", this.#title.textContent);
    const shown = [url ? linked(url, mediaType, this.#title.textContent) : null, content == null ? null : written(content, mediaType)];
    this.#content.replaceChildren(...shown.filter(Boolean));
  }
}

/** An image of our own is shown; everything else is a link, because to load it would tell somebody that it was read. */
function linked(url, mediaType, title) {
  const address = URL.canParse(url, location.href) ? new URL(url, location.href) : { protocol: "" };
  if (!/^https?:$/.test(address.protocol)) return element("p", { class: "aside" }, "It lies where this page does not lead.");
  const isOurs = address.origin === location.origin;
  if (isOurs && mediaType?.startsWith("image/")) return element("img", { src: address.href, alt: title });
  const link = { href: address.href, target: "_blank", rel: "noopener noreferrer" };
  return element("p", {}, element("a", link, isOurs ? "Open" : `Open at ${address.host}`));
}

function written(content, mediaType) {
  if (isTable(content)) return table(content);
  if (mediaType !== "text/markdown" || typeof content !== "string") return element("pre", { tabindex: "0" }, pretty(content));
  const text = element("div", { class: "text" });
  new MarkdownView(text).finish(content);
  return text;
}

function isTable(content) {
  return Array.isArray(content) && content.length > 0 && content.every((row) => Array.isArray(row) && row.every((cell) => Object(cell) !== cell));
}

function table(rows) {
  const body = rows.map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, String(cell ?? "")))));
  return element("div", { class: "table", tabindex: "0" }, element("table", {}, element("tbody", {}, ...body)));
}
