/**
 * What the client of a run asks the server, and what an answer means that is not a stream. Nothing is sent or kept here: the
 * reading and the coming back are stream.js's.
 */
const PASSING = new Set([408, 425, 502, 503, 504]); // the same request may succeed in a moment
const PASSING_FOR_READERS = new Set([429, 500]); // a person who asked is told these, a reader comes back
const GONE = new Set([204, 404, 410]);

/** How to reach the log now: by the handle, and without one by the question itself, which the server knows again. */
export function streamRequest(run, renewing) {
  if (renewing) return { method: "GET", path: `/api/chat/${encodeURIComponent(run.conversationId)}/stream` };
  const start = `startIndex=${run.next}`;
  if (run.handle !== null) return { method: "GET", path: `/api/chat/${encodeURIComponent(run.handle)}/stream?${start}` };
  const { conversationId: conversation_id, runId: run_id, assistant } = run;
  const body = { ...asked(run), conversation_id, run_id, assistant };
  return { method: "POST", path: `/api/chat${run.next > 0 ? `?${start}` : ""}`, body: JSON.stringify(body) };
}

/**
 * A question; or the last answer anew, or another question in the place of its own: those only where nobody went on from it
 * meanwhile (PROTOCOL.md, 3).
 */
function asked({ text, files, regenerates, revises }) {
  const answer = regenerates ?? revises;
  if (!answer) return { message: text, ...(files.length > 0 && { files }) };
  const message = { role: "user", parts: [...files, { type: "text", text }] };
  const trigger = regenerates ? "regenerate-message" : "submit-message";
  return { message, trigger, messageId: answer, expected_head: answer };
}

/** Where an answer whose log is gone is looked for, and its id among the messages. */
export function storedRequest({ conversationId, runId, message }) {
  const path = `/api/conversations/${encodeURIComponent(conversationId)}/messages?limit=4&order=desc`;
  return { id: message.id || `msg_${runId.replaceAll("-", "")}`, method: "GET", path };
}

/**
 * What a refusal means: "passing" (the same again in a moment) · "gone" (the log is) · "renew" (the handle is too old) ·
 * "failed". `answered`: the question was accepted, so that there is something to come back to.
 */
export function meaningOf(status, answered) {
  if (PASSING.has(status) || (answered && PASSING_FOR_READERS.has(status))) return "passing";
  if (answered && GONE.has(status)) return "gone";
  return answered && status === 401 ? "renew" : "failed";
}

export function problem(kind, message, retryable, status = 0) {
  return { kind, message, retryable, status };
}

/** The error in a response, or one that says that there is none. `head`: the conversation's newest answer, which is not ours. */
export async function errorOf(response) {
  try {
    const { kind, message, retryable, head } = (await response.json()).error;
    return { ...problem(kind, message, retryable, response.status), ...(head !== undefined && { head }) };
  } catch {
    return problem("upstream", `The server answered ${response.status}.`, response.status >= 500, response.status);
  }
}
