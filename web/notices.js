/** What is told in passing while an answer comes: a quiet line below it, which the next words of the answer take away. */

export const MOVED_ON = "The conversation has moved on elsewhere. What you wrote is kept here.";
export const UNHEARD = "The answer ended before this was heard.";

/** The line after this frame: a text, "" where nothing is to be told any more, undefined where it stays as it is. */
export function noticeAfter({ type, data }) {
  if (type === "data-recovering") return `The step was interrupted; attempt ${data.attempt} goes on.`;
  if (type === "data-rate-limited") return `The model ${BUSY.has(data.reason) ? "is busy" : "did not answer"}, trying again ${inAWhile(data.retryAfterMs)}.`;
  if (type === "data-model-fallback") return `${data.to} answers now, because ${data.from} did not.`;
  return type.endsWith("-delta") || type === "tool-input-start" ? "" : undefined;
}

/** What a screen reader is told of this frame, or undefined: never the growing text itself. */
export function spokenOf(frame) {
  if (frame.type === "tool-input-available") return `Using ${frame.toolName}.`;
  if (frame.type === "steering-message") return "The assistant heard what you said.";
  if (frame.type === "tool-approval-request" || frame.type === "data-question") return "The assistant waits for you.";
  return noticeAfter(frame) || undefined;
}

/** What a screen reader is told of an end. */
export function spokenEnd(outcome, finishReason) {
  return ENDS[outcome] ?? (finishReason === "other" ? ENDS.stopped : "Answer complete.");
}

const ENDS = {
  stopped: "Stopped.",
  lost: "The answer got lost.",
  failed: "There was an error.",
  unreachable: "The connection could not be restored.",
};

const BUSY = new Set(["rate_limited", "unavailable"]);

function inAWhile(ms) {
  const seconds = Math.max(1, Math.ceil(ms / 1000));
  return seconds < 120 ? `in ${seconds} s` : `in ${Math.ceil(seconds / 60)} min`;
}
