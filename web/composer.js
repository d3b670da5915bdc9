/**
 * The form at the bottom: a text field and a button, which sends, or stops the running answer where there is nothing to send.
 *
 * While an answer runs, what is sent is said to it; a second button and Escape stop it then. A question that was sent can
 * be written anew: its text takes the place of the draft, which comes back afterwards.
 */
import { say } from "./dom.js";
import { Files } from "./files.js";

const LONGEST = 4000; // code points, the server's limit for a message
const LABELS = { send: "Send", stop: "Stop", wait: "Stopping…" };
const FILES_WAIT = "Files go with your next question, when this answer is complete.";

export class Composer {
  #parts;
  #files;
  #mode = "idle";
  #told = "";
  #edit = null; // {draft, send} while a question is written anew

  /** `parts` are elements; `acts` are say(text, files), for what is sent, and stop(), when the answer shall end. */
  constructor({ files, ...parts }, acts) {
    const { form, field, button, stop, cancel } = parts;
    this.#parts = parts;
    this.acts = acts;
    this.#files = new Files({ ...files, field }, () => this.#draw());
    form.addEventListener("keydown", (event) => this.#key(event));
    form.addEventListener("submit", (event) => event.preventDefault());
    field.addEventListener("input", () => this.#tell(""));
    button.addEventListener("click", (event) => this.#click(event));
    stop.addEventListener("click", () => this.#stop());
    cancel.addEventListener("click", () => this.cancel());
    this.#draw();
  }

  /** idle · running · stopping */
  set mode(mode) {
    this.#mode = mode;
    if (mode !== "idle") this.#leaveEdit();
    this.#draw();
  }

  focus() {
    this.#parts.field.focus();
  }

  /** Write a question anew: `send` gets what becomes of it, in the place of `say`. */
  edit(text, send) {
    this.#leaveEdit();
    this.#edit = { draft: this.#parts.field.value, send };
    this.#parts.field.value = text;
    this.focus();
    this.#tell("");
  }

  cancel() {
    this.#leaveEdit();
    this.focus();
    this.#draw();
  }

  /** Give back what was sent and came to nothing, before what was written since, and say why. */
  putBack(text, why) {
    const { field } = this.#parts;
    field.value = [text, field.value].filter(Boolean).join("\n\n");
    this.#tell(why);
  }

  /** What the button does now. */
  get #does() {
    if (this.#mode === "stopping") return "wait";
    return this.#mode === "running" && this.#text === "" ? "stop" : "send";
  }

  get #text() {
    return this.#parts.field.value.trim();
  }

  #key(event) {
    // While an input method composes, Enter picks a word and Escape drops it; some browsers say so only by the old code 229.
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Escape" && this.#edit !== null) this.cancel();
    else if (event.key === "Escape") this.#stop();
    else if (event.key === "Enter" && !event.shiftKey && event.target === this.#parts.field) {
      event.preventDefault();
      this.#send();
    }
  }

  #click(event) {
    if (this.#does === "send") this.#send();
    // The second click of a double click on Send is not a wish to stop.
    else if (event.detail < 2) this.#stop();
  }

  #stop() {
    if (this.#mode !== "running") return;
    if (document.activeElement === this.#parts.stop) this.focus(); // that button goes
    this.acts.stop();
  }

  #send() {
    const text = this.#text;
    if (text === "" || this.#does !== "send" || this.#why() !== "" || this.#isLate) return;
    const send = this.#edit?.send ?? this.acts.say;
    this.#parts.field.value = "";
    this.#leaveEdit();
    send(text, this.#mode === "idle" ? this.#files.take() : []);
    this.#tell("");
  }

  /** Whether a file that goes along is not there yet. */
  get #isLate() {
    return this.#mode === "idle" && this.#files.busy;
  }

  /** Why this cannot be sent, "" where it can. */
  #why() {
    const over = length(this.#text) - LONGEST;
    if (over > 0) return `Too long by ${over.toLocaleString("en")} characters.`;
    return this.#mode === "running" && this.#files.any ? FILES_WAIT : "";
  }

  #leaveEdit() {
    if (this.#edit !== null) this.#parts.field.value = this.#edit.draft;
    this.#edit = null;
  }

  #tell(text) {
    this.#told = text;
    this.#draw();
  }

  #draw() {
    if (this.#files === undefined) return; // it is being made
    const { form, field, button, stop, editing, hint } = this.#parts;
    const does = this.#does;
    say(button, LABELS[does]);
    form.dataset.does = does;
    button.disabled = does === "wait" || (does === "send" && (this.#why() !== "" || this.#isLate));
    stop.hidden = this.#mode !== "running" || does === "stop";
    editing.hidden = this.#edit === null;
    field.placeholder = this.#mode === "idle" ? "Ask something" : "Add something";
    hint.hidden = (this.#why() || this.#told) === "";
    say(hint, this.#why() || this.#told);
    field.style.height = "auto"; // grows with its text where the browser does not do so itself
    field.style.height = `${field.scrollHeight}px`;
  }
}

function length(text) {
  return [...text].length; // code points, as the server counts
}
