/** What is asked of the server beside an answer: where it runs, the conversation's title, prompts that took longer than it. */
import { withPrompts } from "./state.js";

export const LATER = 6_000; // ms after the end: what is not there by then, the server has given up on

/** "workflow" or "inline"; null where nobody took the run yet or it cannot be asked. */
export async function transportOf(handle) {
  return (await asked(`runs/${encodeURIComponent(handle)}`))?.transport || null;
}

/** The title of a conversation, "" where it has none or cannot be asked. */
export async function titleOf(conversationId) {
  return (await asked(`conversations/${encodeURIComponent(conversationId)}`))?.title ?? "";
}

/** This answer, the conversation's last one, with the prompts that are stored with it. */
export async function withLatePrompts(conversationId, answer) {
  const path = `conversations/${encodeURIComponent(conversationId)}/messages?limit=1&order=desc`;
  const stored = (await asked(path))?.messages[0];
  return stored?.id === answer.id ? { ...answer, parts: withPrompts(answer.parts, stored.suggested) } : answer;
}

async function asked(path) {
  try {
    const response = await fetch(`/api/${path}`);
    return response.ok ? await response.json() : null;
  } catch {
    return null; // it is a convenience
  }
}
