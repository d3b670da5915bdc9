/** The page's parts, put together. */
import { Chat } from "./chat.js";
import { Composer } from "./composer.js";
import { button, element, say } from "./dom.js";
import { Scroll } from "./scroll.js";

const at = (id) => document.getElementById(id);
const KINDS = { workflow: "durable run", inline: "inline run" };

let assistant = document.title;
let conversation = "";

const page = {
  thread: at("thread"),
  scroll: new Scroll(at("scroller"), at("latest")),

  /** state: idle · connecting · live · reconnecting */
  connection(state, transport) {
    const offline = !navigator.onLine;
    const kind = KINDS[transport] ? ` · ${KINDS[transport]}` : "";
    const texts = {
      idle: offline ? "Offline" : "",
      connecting: "Connecting…",
      live: `Connected${kind}`,
      reconnecting: offline ? "Offline. The answer goes on without you." : "Reconnecting…",
    };
    const before = at("status").dataset.state;
    at("status").dataset.state = offline && state !== "live" ? "offline" : state;
    at("status").hidden = texts[state] === "";
    say(at("status-text"), texts[state]);
    if (state === "reconnecting" && before === "live") page.announce("Connection lost. Reconnecting.");
    if (state === "live" && (before === "reconnecting" || before === "offline")) page.announce("Connected again.");
  },

  changed() {
    at("welcome").hidden = !chat.isEmpty;
    at("new-chat").hidden = chat.isEmpty;
    at("new-chat").disabled = chat.isRunning;
    at("assistant").disabled = !chat.isEmpty; // a conversation keeps who answers it
  },

  /** What the conversation is called, "" where nobody knows. */
  named(title) {
    conversation = title;
    document.title = [title, assistant].filter(Boolean).join(" · ");
  },

  announce(text) {
    at("announcer").textContent = text;
  },
};

const chat = new Chat(page);

page.composer = new Composer(
  {
    form: at("form"), field: at("message"), button: at("send"), stop: at("stop"), hint: at("hint"),
    editing: at("editing"), cancel: at("cancel"),
    files: { list: at("files"), attach: at("attach"), picker: at("picker") },
  },
  { say: (text, files) => chat.say(text, files), stop: () => chat.stop() },
);

at("new-chat").addEventListener("click", () => {
  chat.reset();
  choose();
  page.composer.cancel();
});
window.addEventListener("pagehide", () => chat.keep());
window.addEventListener("online", () => chat.wake());
window.addEventListener("offline", () => page.connection(chat.isRunning ? "reconnecting" : "idle", null));
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") chat.wake();
  else chat.keep();
});

async function introduce() {
  const response = await fetch("/api/assistant");
  if (!response.ok) return;
  const { assistants } = await response.json();
  const chosen = assistants.find(({ name }) => name === chat.assistant) ?? assistants[0];
  at("assistant").hidden = assistants.length < 2;
  at("assistant").replaceChildren(...assistants.map(({ name, title }) => option(name, title, name === chosen.name)));
  at("assistant").addEventListener("change", () => {
    choose();
    present(assistants.find(({ name }) => name === chat.assistant));
  });
  present(chosen);
}

/** What is chosen answers the next conversation; where there is no choice the server knows. */
function choose() {
  if (!at("assistant").hidden) chat.assistant = at("assistant").value;
}

function option(value, title, isChosen) {
  const made = element("option", { value }, title);
  made.selected = isChosen;
  return made;
}

function present({ title, starters, model }) {
  say(at("title"), title);
  assistant = title;
  page.named(conversation);
  const note = model === "demo"
    ? "Demo answers (no model key): scripted, or quoted from the documentation."
    : `Answers are written by ${model || "a model"} and can be wrong.`;
  say(at("disclosure"), note);
  at("starters").replaceChildren(...starters.map((text) => element("li", {}, button(text, () => chat.begin(text)))));
}

introduce().catch(() => {}); // the page works without its introduction
await chat.open();
page.connection(chat.isRunning ? "connecting" : "idle", null);
document.body.dataset.ready = "true";
