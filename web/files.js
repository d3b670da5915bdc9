/**
 * The files that the next message attaches: picked, dropped or pasted, sent to the server at once, shown until they go along.
 *
 * What a file is the server finds out; its refusal is shown in the file's place.
 */
import { button, element, say } from "./dom.js";

const MOST = 10; // the server's limit for a message
const UNREACHABLE = "could not be sent. Try again.";

export class Files {
  #list;
  #items = []; // {element, label, part}: `part` is what the message will hold, null while it is on its way, false if refused
  #changed;

  /** `changed` is called whenever `busy` may have changed. */
  constructor({ list, attach, picker, field }, changed) {
    this.#list = list;
    this.#changed = changed;
    attach.addEventListener("click", () => picker.click());
    picker.addEventListener("change", () => {
      this.add(picker.files);
      picker.value = ""; // so that the same file can be picked again
      field.focus();
    });
    field.addEventListener("paste", (event) => this.#take(event, event.clipboardData.files));
    document.addEventListener("dragover", (event) => event.dataTransfer.types.includes("Files") && event.preventDefault());
    document.addEventListener("drop", (event) => this.#take(event, event.dataTransfer.files));
  }

  /** Whether one is still on its way. */
  get busy() {
    return this.#items.some(({ part }) => part === null);
  }

  /** Whether there is one that the next question takes along. */
  get any() {
    return this.#items.some(({ part }) => part !== false);
  }

  /** The parts to send; nothing is left here afterwards. */
  take() {
    const parts = this.#items.map(({ part }) => part).filter(Boolean);
    this.#items = [];
    this.#draw();
    return parts;
  }

  add(files) {
    for (const file of [...files].slice(0, MOST - this.#items.length)) this.#send(file);
    this.#draw();
  }

  #take(event, files) {
    if (files.length === 0) return;
    event.preventDefault();
    this.add(files);
  }

  async #send(file) {
    const label = element("span", { class: "file-name" }, `${file.name}…`);
    const item = { part: null, label };
    const remove = button("×", () => this.#remove(item), { "aria-label": `Remove ${file.name}` });
    item.element = element("li", { class: "file" }, label, remove);
    this.#items.push(item);
    const { part, error } = await upload(file);
    item.part = part;
    if (part) item.element.prepend(...pictureOf(part));
    item.element.classList.toggle("refused", !part);
    label.setAttribute("role", part ? "presentation" : "alert");
    say(label, part ? part.filename : `${file.name}: ${error}`);
    this.#draw();
  }

  #remove(item) {
    this.#items = this.#items.filter((other) => other !== item);
    this.#draw();
  }

  #draw() {
    this.#list.replaceChildren(...this.#items.map((item) => item.element));
    this.#list.hidden = this.#items.length === 0;
    this.#changed();
  }
}

/** A list of what a message attached, for its turn; null where that is nothing. */
export function attached(parts) {
  if (parts.length === 0) return null;
  return element("ul", { class: "files", "aria-label": "Attached files" }, ...parts.map((part) => element("li", { class: "file" }, linkOf(part))));
}

function linkOf(part) {
  return element("a", { href: part.url, download: part.filename }, ...pictureOf(part), element("span", { class: "file-name" }, part.filename));
}

function pictureOf(part) {
  return part.mediaType.startsWith("image/") ? [element("img", { src: part.url, alt: "", width: "32", height: "32" })] : [];
}

async function upload(file) {
  try {
    const response = await fetch(`/api/files?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file });
    const answer = await response.json();
    if (!response.ok) return { part: false, error: answer.error.message };
    const { type, mediaType, filename, url } = answer;
    return { part: { type, mediaType, filename, url } };
  } catch {
    return { part: false, error: UNREACHABLE };
  }
}
