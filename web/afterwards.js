/** What the server adds to an answer that is complete: the conversation's title, and prompts that took longer than it. */
import { withPrompts } from "./state.js";

export const LATER = 6_000; // ms after the end: what is not there by then, the server has given up on

/** The title of a conversation, "" where it has none or cannot be asked. */
export async function titleOf(conversationId) {
  return (await asked(conversationId, ""))?.title ?? "";
}

/** This answer, the conversation's last one, with the prompts that are stored with it. */
export async function withLatePrompts(conversationId, answer) {
  const stored = (await asked(conversationId, "/messages?limit=1&order=desc"))?.messages[0];
  return stored?.id === answer.id ? { ...answer, parts: withPrompts(answer.parts, stored.suggested) } : answer;
}

async function asked(conversationId, what) {
  try {
    const response = await fetch(`/api/conversations/${encodeURIComponent(conversationId)}${what}`);
    return response.ok ? await response.json() : null;
  } catch {
    return null; // it is a convenience
  }
}
