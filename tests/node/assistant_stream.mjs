// The decoder and the accumulator of assistant-stream (assistant-ui) through scenarios, all at once, as chat.mjs. They read one
// body of unnamed events; the loop around them is what an application writes to come back: from the last whole event, by its id.
//
// Prints {"content", "status": of the message that came out, "resumes"}.
import { AssistantMessageAccumulator, UIMessageStreamDecoder } from "assistant-stream";

async function play({ api, cookie, chatId, text, decide, stopAt }) {
  const headers = { cookie };
  let last = null;
  let resumes = -1;
  let handle = null;

  const say = (what, body) => fetch(`${api}/${handle}/${what}`, { method: "POST", headers, body: JSON.stringify(body ?? {}) });
  const next = () =>
    last === null
      ? fetch(`${api}?wire=data`, { method: "POST", headers, body: JSON.stringify({ message: text, conversation_id: chatId }) })
      : fetch(`${api}/${handle}/stream?wire=data`, { headers: { ...headers, "last-event-id": last } });

  async function* events() {
    for (;;) {
      resumes += 1;
      const response = await next();
      handle ??= encodeURIComponent(response.headers.get("x-workflow-run-id"));
      let rest = "";
      try {
        for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
          const whole = (rest + piece).split("\n\n");
          rest = whole.pop();
          for (const event of whole) {
            last = /^id: (\d+)$/m.exec(event)?.[1] ?? last;
            if (decide && event.includes('"type":"tool-approval-request"')) say("input", { ...decide, approvalId: /"approvalId":"([^"]+)"/.exec(event)[1] });
            if (stopAt && event.includes(stopAt)) say("stop");
            yield new TextEncoder().encode(`${event}\n\n`);
          }
        }
        return;
      } catch {} // cut: once more, from there
    }
  }

  const body = ReadableStream.from(events());
  const messages = body.pipeThrough(new UIMessageStreamDecoder()).pipeThrough(new AssistantMessageAccumulator());
  let message;
  for await (message of messages);
  return { content: message.content, status: message.status, resumes };
}

console.log(JSON.stringify(await Promise.all(JSON.parse(process.argv[2]).map(play))));
