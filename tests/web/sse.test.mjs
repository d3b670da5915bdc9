/** Frames out of bytes, cut at every place. */
import assert from "node:assert/strict";
import test from "node:test";

import { Damaged, readFrames } from "../../web/sse.js";

const TEXT = "你好🌍 naïve é\u2028\u0085 end"; // FR40

function body(...chunks) {
  return new ReadableStream({
    start(controller) {
      chunks.forEach((chunk) => controller.enqueue(chunk));
      controller.close();
    },
  });
}

async function frames(...chunks) {
  const found = [];
  for await (const frame of readFrames(body(...chunks), () => {})) found.push(frame);
  return found;
}

for (const [name, end] of [["LF", "\n"], ["CRLF", "\r\n"], ["CR", "\r"]]) {
  test(`A body with ${name} may be cut at every byte`, async () => {
    const lines = [": open", "", "id: 0", "event: x", `data: ${TEXT}`, "", ": heartbeat", "", "id:1", "data:a", "data:", "data: b", "", ""];
    const bytes = new TextEncoder().encode(lines.join(end));
    const whole = [
      { index: 0, data: TEXT },
      { index: 1, data: "a\n\nb" },
    ];

    for (let cut = 0; cut <= bytes.length; cut += 1) {
      assert.deepEqual(await frames(bytes.slice(0, cut), bytes.slice(cut)), whole, `cut at ${cut}`);
    }
    assert.deepEqual(await frames(...Array.from(bytes, (byte) => Uint8Array.of(byte))), whole);
  });
}

test("Only an event with a plain index of its own is a frame", async () => {
  const ids = ["7", "", "x", "-1", "01", "1.0", "1e3", "9007199254740993"];
  const events = ids.map((id) => `id: ${id}\ndata: {}\n\n`).join("");

  const found = await frames(new TextEncoder().encode(`${events}data: [DONE]\n\nid: 8\n\n`));

  assert.deepEqual(found, [{ index: 7, data: "{}" }]);
});

test("An event without its blank line is not given", async () => {
  assert.deepEqual(await frames(new TextEncoder().encode("id: 0\ndata: {}\n")), []);
});

test("A byte order mark is not part of the first line", async () => {
  assert.deepEqual(await frames(new TextEncoder().encode("\ufeffid: 0\ndata: {}\n\n")), [{ index: 0, data: "{}" }]);
});

test("Any byte feeds the watchdog, also one that completes nothing", async () => {
  let fed = 0;
  const chunks = [": open\n\n", ":", " heart", "beat\n\n"].map((text) => new TextEncoder().encode(text));

  for await (const _ of readFrames(body(...chunks), () => (fed += 1))) assert.fail();

  assert.equal(fed, 4);
});

test("Bytes that are not UTF-8 are one error (FR40)", async () => {
  await assert.rejects(frames(Uint8Array.of(0x64, 0xff)), Damaged);
});
