/** What the page keeps between reloads (REQ-U4), on a storage of the test's own. */
import assert from "node:assert/strict";
import test from "node:test";

import { forget, freshTurn, keep, restore, turnsOf } from "../../web/state.js";
import { Run } from "../../web/stream.js";
import { measure } from "../../web/tool.js";
import { foldCase } from "./scripted.mjs";

class Storage {
  kept = new Map();

  constructor(room = Infinity) {
    this.room = room;
  }

  getItem(key) {
    return this.kept.get(key) ?? null;
  }

  setItem(key, value) {
    if (value.length > this.room) throw new DOMException("full", "QuotaExceededError");
    this.kept.set(key, value);
  }

  removeItem(key) {
    this.kept.delete(key);
  }
}

const { message } = foldCase("tools");
const KEY = "turnkeep.conversation";

function readingRun() {
  return new Run({ text: "Again?", conversationId: "c-1", runId: "r-1", handle: "r.h", next: 7, message });
}

function conversation() {
  const done = { ...freshTurn("What is a slice?"), answer: message, end: { outcome: "finished", finishReason: "stop" } };
  return { id: "c-1", turns: [done, { ...freshTurn("Again?"), answer: message }], run: null };
}

test("A conversation comes back as it was, the run's message with the index it belongs to", () => {
  const storage = new Storage();
  const { id, turns } = conversation();

  keep({ id, turns }, readingRun(), storage);

  const run = { text: "Again?", files: [], conversationId: "c-1", runId: "r-1", handle: "r.h", next: 7, message };
  assert.deepEqual(restore(storage), { id, turns: [turns[0], { ...turns[1], answer: null }], run });
});

test("Without room for its messages a conversation keeps its id and where to read on from the start", () => {
  const storage = new Storage(300);

  keep(conversation(), readingRun(), storage);

  const run = { text: "Again?", files: [], conversationId: "c-1", runId: "r-1", handle: "r.h", next: 0 };
  assert.deepEqual(restore(storage), { id: "c-1", turns: null, run });
});

test("Without any room nothing old is left behind", () => {
  const storage = new Storage();
  keep(conversation(), null, storage);
  storage.room = 0;

  keep(conversation(), readingRun(), storage);

  assert.equal(storage.getItem(KEY), null);
});

test("What is not a conversation of ours is a fresh one", () => {
  const broken = [null, "", "{", "null", "7", "[]", '{"id":1,"turns":[],"run":null}', '{"id":"c","turns":{},"run":null}'];
  broken.push('{"id":"c","turns":[]}', '{"id":"c","turns":[],"run":{}}');

  for (const text of broken) {
    const storage = new Storage();
    if (text !== null) storage.setItem(KEY, text);

    const { id, turns, run } = restore(storage);

    assert.match(id, /^c-[0-9a-f-]{36}$/, text);
    assert.deepEqual({ turns, run }, { turns: [], run: null });
  }
});

test("A forgotten conversation does not come back", () => {
  const storage = new Storage();
  keep(conversation(), null, storage);

  forget(storage);

  assert.notEqual(restore(storage).id, "c-1");
});

test("Stored messages are turns again, also where one was not answered", () => {
  const said = (id, role, text) => ({ id, role, parts: [{ type: "text", text }], model: "demo" });
  const messages = [said("a", "assistant", "Hello."), said("b", "user", "One?"), said("c", "assistant", "1"), said("d", "user", "Two?")];

  const shown = turnsOf(messages).map(({ text, answer, end }) => [text, answer?.id ?? null, end?.outcome ?? null]);

  assert.deepEqual(shown, [[null, "a", "finished"], ["One?", "c", "finished"], ["Two?", null, null]]);
});

test("Stored messages keep the files they attached", () => {
  const file = { type: "file", mediaType: "image/png", filename: "a.png", url: "/api/files/file_1" };
  const messages = [{ id: "a", role: "user", parts: [file, { type: "text", text: "What is it?" }] }];

  const [{ text, files }] = turnsOf(messages);

  assert.deepEqual({ text, files }, { text: "What is it?", files: [file] });
});

test("Prompts that came after the end are the answer's, unless it has its own", () => {
  const own = { type: "data-suggested-prompts", data: { prompts: ["Own?"] } };
  const answer = (id, parts, suggested) => ({ id, role: "assistant", parts, suggested });

  const shown = turnsOf([answer("a", [], ["Late?"]), answer("b", [own], ["Late?"]), answer("c", [], [])]);

  const late = { type: "data-suggested-prompts", data: { prompts: ["Late?"] } };
  assert.deepEqual(shown.map((turn) => turn.answer.parts), [[late], [own], []]);
});

test("Progress is a share, a count of a total, or only words", () => {
  assert.deepEqual(measure(0.5), { value: 0.5, max: 1, text: "50 %" });
  assert.deepEqual(measure({ counted: 3, of: 20 }), { value: 3, max: 20, text: "3 of 20" });
  assert.deepEqual(measure("reading"), { text: "reading" });
  assert.deepEqual(measure({ page: "README.md", of: 0 }), { text: 'page: "README.md", of: 0' });
  assert.deepEqual(measure(null), { text: "null" });
});
