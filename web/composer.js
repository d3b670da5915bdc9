/** The form at the bottom: one text field and one button, which sends, or stops what is running. */
import { say } from "./dom.js";
import { Files } from "./files.js";

const LONGEST = 4000; // code points, the server's limit for a message

export class Composer {
  #form;
  #field;
  #button;
  #hint;
  #files;
  #mode = "idle"; // idle · running · stopping

  /** `ask` gets the text and the files that were sent; `stop` is called when the person wants the running answer to end. */
  constructor({ form, field, button, hint, files }, { ask, stop }) {
    Object.assign(this, { ask, stop });
    this.#form = form;
    this.#field = field;
    this.#button = button;
    this.#hint = hint;
    this.#files = new Files({ ...files, field }, () => this.#draw());
    field.addEventListener("keydown", (event) => this.#key(event));
    field.addEventListener("input", () => this.#draw());
    form.addEventListener("submit", (event) => event.preventDefault());
    button.addEventListener("click", (event) => this.#click(event));
    this.#draw();
  }

  /** idle · running · stopping */
  set mode(mode) {
    this.#mode = mode;
    this.#draw();
  }

  focus() {
    this.#field.focus();
  }

  #key(event) {
    // While an input method composes, Enter picks a word; some browsers say so only by the old code 229.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    if (this.#mode === "idle") this.#send();
  }

  #click(event) {
    if (this.#mode === "idle") this.#send();
    // The second click of a double click on Send is not a wish to stop.
    else if (this.#mode === "running" && event.detail < 2) this.stop();
  }

  #send() {
    const text = this.#field.value.trim();
    if (text === "" || length(text) > LONGEST || this.#files.busy) return;
    this.#field.value = "";
    this.ask(text, this.#files.take());
    this.#draw();
  }

  #draw() {
    const over = length(this.#field.value.trim()) - LONGEST;
    const labels = { idle: "Send", running: "Stop", stopping: "Stopping…" };
    say(this.#button, labels[this.#mode]);
    this.#form.dataset.mode = this.#mode;
    this.#button.disabled = this.#mode === "stopping" || (this.#mode === "idle" && (over > 0 || this.#files?.busy));
    this.#hint.hidden = over <= 0;
    say(this.#hint, over > 0 ? `Too long by ${over.toLocaleString("en")} characters.` : "");
    this.#field.style.height = "auto"; // grows with its text where the browser does not do so itself
    this.#field.style.height = `${this.#field.scrollHeight}px`;
  }
}

function length(text) {
  return [...text].length; // code points, as the server counts
}
