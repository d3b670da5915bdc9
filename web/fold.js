/**
 * Folding frames into the message they stand for, by the rules of the AI SDK's own reducer.
 *
 * The server stores the fold of the frames it emitted and a client shows the fold of the frames it read: the same rules, so
 * what is shown is what is stored. The cases in tests/cases/fold hold for this file and for its two Python twins.
 * Messages are never changed in place: a part that is the same object as before has not changed.
 */
export const EMPTY = Object.freeze({ id: "", role: "assistant", parts: Object.freeze([]) });

/** The message after one more frame. Frames that carry no content, known or not, leave it as it is. */
export function fold(message, frame) {
  if (frame.type === "start") return { ...message, id: frame.messageId };
  const parts = foldParts(message.parts, frame);
  return parts === message.parts ? message : { ...message, parts };
}

/** The message with nothing left open: what a partial answer is when no more frames will come. */
export function settle(message) {
  const parts = message.parts.map((part) => (part.state === "streaming" ? { ...part, state: "done" } : part));
  return { ...message, parts };
}

/** All text a person reads of a message. */
export function textOf(message) {
  return message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

function foldParts(parts, frame) {
  const kind = frame.type.split("-", 1)[0];
  if (frame.type === "start-step") return [...parts, { type: "step-start" }];
  if (frame.type === "reset-step") return cutBack(parts);
  if (kind === "text" || kind === "reasoning") return foldText(parts, kind, frame);
  if (kind === "tool") return foldTool(parts, frame);
  if (kind === "data") return foldData(parts, frame);
  if (kind === "source" || frame.type === "steering-message") return [...parts, frame];
  return parts;
}

function foldText(parts, kind, frame) {
  if (frame.type.endsWith("-start")) return [...parts, { type: kind, text: "", state: "streaming" }];
  const at = last(parts, (part) => part.type === kind && part.state === "streaming");
  if (frame.type.endsWith("-delta")) return replace(parts, at, { text: parts[at].text + frame.delta });
  const extra = frame.providerMetadata ? { providerMetadata: frame.providerMetadata } : {};
  return replace(parts, at, { state: "done", ...extra });
}

function foldTool(parts, frame) {
  const { toolCallId, toolName } = frame;
  if (frame.type === "tool-input-start") {
    const { providerExecuted } = frame;
    const served = providerExecuted === undefined ? {} : { providerExecuted };
    return [...parts, { type: "dynamic-tool", toolName, toolCallId, state: "input-streaming", ...served }];
  }
  const changes = toolChanges(frame);
  if (changes === null) return parts;
  const { approvalId } = frame;
  const at = last(parts, (part) => (toolCallId ? part.toolCallId === toolCallId : part.approval?.id === approvalId));
  return replace(parts, at, changes);
}

function toolChanges(frame) {
  switch (frame.type) {
    case "tool-input-available":
      return { state: "input-available", input: frame.input };
    case "tool-approval-request":
      return { state: "approval-requested", approval: { id: frame.approvalId } };
    case "tool-approval-response":
      return { state: "approval-responded", approval: responded(frame) };
    case "tool-output-denied":
      return { state: "output-denied" };
    case "tool-output-available":
      return { state: "output-available", output: frame.output };
    case "tool-output-error":
      return { state: "output-error", errorText: frame.errorText };
    default:
      return null; // input is shown when it is whole: half of a JSON text has no one reading
  }
}

function responded({ approvalId, approved, reason }) {
  return reason === undefined ? { id: approvalId, approved } : { id: approvalId, approved, reason };
}

function foldData(parts, frame) {
  if (frame.transient) return parts;
  const { type, id, data } = frame;
  if (id === undefined) return [...parts, { type, data }];
  const at = parts.findIndex((part) => part.type === type && part.id === id);
  const part = { type, id, data };
  return at < 0 ? [...parts, part] : parts.with(at, part);
}

function cutBack(parts) {
  return parts.slice(0, last(parts, (part) => part.type === "step-start") + 1);
}

function last(parts, wanted) {
  const at = parts.findLastIndex(wanted);
  if (at < 0) throw new Error("the frame refers to a part that is not open");
  return at;
}

function replace(parts, at, changes) {
  return parts.with(at, { ...parts[at], ...changes });
}
