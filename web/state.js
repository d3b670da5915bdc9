/**
 * What the page remembers: the conversation, its turns and the run that is being read, in this tab's sessionStorage.
 *
 * Everything is written at once, so a run's message and the index it belongs to never disagree, and a page that is reloaded
 * goes on from whichever pair was written last. What cannot be read is forgotten; what does not fit is kept without its
 * turns (null), which the server has too.
 *
 * `assistant` is the name of the one that was chosen; without it the server decides.
 *
 * A turn is {text, files, answer, end, transport, model, was?}:
 *   text       what was asked; null where the page only knows the answer
 *   files      the parts that attached one to it
 *   answer     the message so far, or null
 *   end        null while it runs, else {outcome, finishReason?, error?} as the client's `end` event has them
 *   transport  "workflow", "inline" or null
 *   model      who answers, or null
 *   was        while another answer is asked for: what of {text, files, answer, end, model} comes back if it is refused
 */
import { newId } from "./stream.js";

const KEY = "turnkeep.conversation";

export function freshConversation() {
  return { id: `c-${newId()}`, turns: [], run: null };
}

export function freshTurn(text, files = []) {
  return { text, files, answer: null, end: null, transport: null, model: null };
}

/** The conversation as it was left, or a fresh one. */
export function restore(storage = sessionStorage) {
  try {
    const conversation = JSON.parse(storage.getItem(KEY));
    const isWhole = typeof conversation.id === "string" && (conversation.turns === null || Array.isArray(conversation.turns));
    if (isWhole && (conversation.run === null || typeof conversation.run.runId === "string")) return conversation;
  } catch {
    // nothing there, or not ours
  }
  return freshConversation();
}

/** Keep the conversation. `run` is the client's run where the last turn is being read, else null. */
export function keep({ id, turns, assistant }, run, storage = sessionStorage) {
  const kept = { id, turns, ...(assistant && { assistant }), run: run === null ? null : run.snapshot() };
  if (run !== null) kept.turns = turns.with(-1, { ...turns.at(-1), answer: null }); // it is the run's message
  const withoutMessages = { ...kept, turns: null, run: kept.run && { ...kept.run, next: 0, message: undefined } };
  if (!write(kept, storage) && !write(withoutMessages, storage)) forget(storage);
}

export function forget(storage = sessionStorage) {
  storage.removeItem(KEY);
}

function write(conversation, storage) {
  try {
    storage.setItem(KEY, JSON.stringify(conversation));
    return true;
  } catch {
    return false; // no room, or storage is off: the page works all the same, and a reload begins anew
  }
}

/** The turns of a conversation as the server has it; null where it cannot be asked. */
export async function storedTurns(conversationId) {
  try {
    const response = await fetch(`/api/conversations/${encodeURIComponent(conversationId)}/messages?limit=1000&order=asc`);
    return response.ok ? turnsOf((await response.json()).messages) : null;
  } catch {
    return null;
  }
}

/** The turns of stored messages, oldest first: a user's message and the answer that follows it. */
export function turnsOf(messages) {
  const turns = [];
  for (const { id, role, parts, model = null, suggested } of messages) {
    if (role === "user") {
      const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
      turns.push(freshTurn(text, parts.filter((part) => part.type === "file")));
    } else {
      if (turns.length === 0 || turns.at(-1).answer !== null) turns.push(freshTurn(null));
      Object.assign(turns.at(-1), { answer: { id, role, parts: withPrompts(parts, suggested) }, end: { outcome: "finished" }, model });
    }
  }
  return turns;
}

/** The parts of an answer with prompts that came after its end, where it has none of its own. */
export function withPrompts(parts, prompts = []) {
  if (prompts.length === 0 || parts.some((part) => part.type === "data-suggested-prompts")) return parts;
  return [...parts, { type: "data-suggested-prompts", data: { prompts } }];
}
