/**
 * Frames out of a response body: bytes to text, text to server-sent events, events to frames with their index.
 *
 * The body may be cut anywhere, in the middle of a line or of a character. Lines may end in LF, CRLF or CR, `data:` may take
 * several lines, comments are dropped, an event without its blank line is never given. Only an event with an index in its
 * `id:` line is a frame, so `[DONE]` is none; and an id does not stick from one event to the next, because an index is
 * never inherited.
 */

/** The body holds what cannot be read: not a cut, so reading the same bytes again may not help. */
export class Damaged extends Error {}

/**
 * The frames of a body, undecoded: {index, data}. `fed` is called for any byte that arrives, heartbeats included.
 * Throws Damaged for bytes that are not UTF-8, and whatever the reader throws for a cut.
 */
export async function* readFrames(body, fed) {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const parser = new SseParser();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      fed();
      for (const { id, data } of parser.feed(decode(decoder, value))) {
        const index = frameIndex(id);
        if (index !== null) yield { index, data };
      }
    }
  } finally {
    reader.cancel().catch(() => {}); // the connection may be gone already
  }
}

function decode(decoder, bytes) {
  try {
    return decoder.decode(bytes, { stream: true }); // in stream mode: a character may arrive in two pieces (FR40)
  } catch (error) {
    throw new Damaged("the bytes are not UTF-8", { cause: error });
  }
}

function frameIndex(id) {
  return id !== null && /^(0|[1-9][0-9]{0,14})$/.test(id) ? Number(id) : null;
}

/** Server-sent events out of text: `feed` hands back the events that are complete and keeps the rest. */
export class SseParser {
  #tail = "";
  #afterReturn = false; // the last text ended in CR: a LF that follows belongs to it
  #event = blank();

  /** @param {string} text @returns {{id: string|null, event: string, data: string}[]} */
  feed(text) {
    if (text === "") return [];
    if (this.#afterReturn && text[0] === "\n") text = text.slice(1);
    this.#afterReturn = text.endsWith("\r");
    const lines = (this.#tail + text).split(/\r\n|\r|\n/);
    this.#tail = lines.pop();
    return lines.flatMap((line) => this.#line(line));
  }

  #line(line) {
    if (line === "") {
      const { id, event, data } = this.#event;
      this.#event = blank();
      return data.length > 0 ? [{ id, event, data: data.join("\n") }] : [];
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "data") this.#event.data.push(value);
    else if (field === "id") this.#event.id = value;
    else if (field === "event") this.#event.event = value;
    return [];
  }
}

function blank() {
  return { id: null, event: "message", data: [] };
}
