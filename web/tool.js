/** One tool call: its name, what it was given, how far it is, what it gave. Values are shown as they came (FR41). */
import { DecisionView } from "./decision.js";
import { element, pretty, say } from "./dom.js";

const STATES = {
  "input-streaming": ["preparing", "Preparing…"],
  "input-available": ["running", "Running…"],
  "approval-requested": ["asking", "Needs your approval"],
  "approval-responded": ["running", "Decided"],
  "output-available": ["done", "Done"],
  "output-denied": ["denied", "Declined"],
  "output-error": ["failed", "Failed"],
};
const SHORT = 160; // characters of an input that are shown without asking

export class ToolView {
  #state = element("span", { class: "tool-state" });
  #given = element("code", { class: "tool-input", hidden: "" });
  #bar = element("progress", { "aria-label": "Progress" });
  #count = element("span", { class: "tool-count" });
  #progress = element("div", { class: "tool-progress", hidden: "" }, this.#bar, this.#count);
  #details = element("div");
  #decision = null;

  /** `runId` is the run that made the call. */
  constructor(part, runId) {
    this.runId = runId;
    const name = element("span", { class: "tool-name" }, part.toolName);
    const place = part.providerExecuted ? [element("span", { class: "tool-place" }, "at the model's provider")] : [];
    const head = element("div", { class: "tool-head" }, element("span", {}, name, ...place), this.#state);
    this.element = element("section", { class: "tool", "aria-label": `Tool ${part.toolName}` }, head, this.#given, this.#progress, this.#details);
  }

  /** `live` is what only a call of a running turn has: {progress, isQuestion, send}. */
  update(part, live) {
    const isOpen = part.state === "approval-requested" || (part.state === "input-available" && live?.isQuestion === true);
    const [state, label] = isOpen && live?.isQuestion ? ["asking", "Asks you"] : (STATES[part.state] ?? ["preparing", part.state]);
    this.element.dataset.state = state;
    say(this.#state, label);
    this.#showInput(part);
    this.#showProgress(state === "running" ? live?.progress : undefined);
    this.#showDecision(isOpen && live ? part : null, live);
    if (state === "failed") this.#details.replaceChildren(element("p", { class: "tool-error" }, part.errorText));
    if (state === "done") this.#details.replaceChildren(...output(part.output, this.runId));
  }

  #showInput({ input, toolName }) {
    this.#given.hidden = input === undefined;
    if (input === undefined) return;
    const whole = brief(input);
    this.#given.title = whole.length > SHORT ? pretty(input) : "";
    say(this.#given, whole.length > SHORT ? `${whole.slice(0, SHORT)}…` : whole || `${toolName}()`);
  }

  #showDecision(part, live) {
    if (part === null) this.#decision?.element.remove();
    else if (this.#decision === null) this.element.append((this.#decision = new DecisionView(part, live.isQuestion, live.send)).element);
    if (part === null) this.#decision = null;
  }

  #showProgress(progress) {
    this.#progress.hidden = progress === undefined;
    if (progress === undefined) return;
    const { value, max, text } = measure(progress);
    if (value === undefined) this.#bar.removeAttribute("value");
    else Object.assign(this.#bar, { max, value });
    say(this.#count, text);
  }
}

/** A progress value as tools report it: a share, a count of a total, or anything, which is then only shown. */
export function measure(progress) {
  if (typeof progress === "number" && progress >= 0 && progress <= 1) {
    return { value: progress, max: 1, text: `${Math.round(progress * 100)} %` };
  }
  if (typeof progress !== "object" || progress === null) return { text: String(progress) };
  const max = progress.of ?? progress.total;
  const count = Object.entries(progress).find(([key, value]) => typeof value === "number" && key !== "of" && key !== "total");
  if (typeof max !== "number" || max <= 0 || count === undefined) return { text: brief(progress) };
  return { value: count[1], max, text: `${count[1]} of ${max}` };
}

function brief(value) {
  if (typeof value !== "object" || value === null) return pretty(value);
  return Object.entries(value).map(([key, item]) => `${key}: ${JSON.stringify(item)}`).join(", ");
}

/** An output, or the beginning of one that is too large for a frame, and where all of it is. */
function output(value, runId) {
  const { shortened, beginning } = value ?? {};
  if (typeof shortened?.bytes !== "number") return [fold("Output", pretty(value))];
  const size = `${Math.ceil(shortened.bytes / 1024).toLocaleString()} KB`;
  const whole = `/api/runs/${runId}/outputs/${encodeURIComponent(shortened.reference)}`;
  const rest = shortened.reference
    ? element("a", { href: whole, target: "_blank", rel: "noopener" }, `All of it (${size})`)
    : element("p", { class: "tool-note" }, `Only the beginning was kept of ${size}.`);
  return [fold("Output, its beginning", String(beginning)), rest];
}

function fold(title, text) {
  return element("details", {}, element("summary", {}, title), element("pre", { tabindex: "0" }, text));
}
