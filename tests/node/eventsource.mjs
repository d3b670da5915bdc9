// The `EventSource` of npm's eventsource through scenarios, all at once, as chat.mjs. It cannot post: fetch asks, and the
// source reads by the handle, comes back by itself, and is left alone until the server tells it to stop.
//
// Prints {"frames": the data it was given, "code": what it closed with, "requests"}.
import { EventSource } from "eventsource";

async function play({ api, cookie, chatId, text, decide, stopAt }) {
  const headers = { cookie };
  const asked = new AbortController();
  const post = await fetch(api, { method: "POST", headers, signal: asked.signal, body: JSON.stringify({ message: text, conversation_id: chatId }) });
  const handle = encodeURIComponent(post.headers.get("x-workflow-run-id"));
  asked.abort();
  const say = (what, body) => fetch(`${api}/${handle}/${what}`, { method: "POST", headers, body: JSON.stringify(body ?? {}) });
  const frames = [];
  let requests = 0;
  const source = new EventSource(`${api}/${handle}/stream?wire=data`, {
    fetch: (url, init) => ((requests += 1), fetch(url, { ...init, headers: { ...init.headers, ...headers } })),
  });
  const ended = new Promise((resolve) => {
    source.onerror = ({ code }) => source.readyState === EventSource.CLOSED && resolve(code);
  });
  source.onmessage = ({ data }) => {
    if (data === "[DONE]") return;
    const frame = JSON.parse(data);
    frames.push(frame);
    if (decide && frame.type === "tool-approval-request") say("input", { ...decide, approvalId: frame.approvalId });
    if (stopAt && frame.delta?.includes(stopAt)) say("stop");
  };
  return { frames, code: await ended, requests };
}

const awake = setInterval(() => {}, 60_000); // version 5 lets the process end while it waits to come back
console.log(JSON.stringify(await Promise.all(JSON.parse(process.argv[2]).map(play))));
clearInterval(awake);
