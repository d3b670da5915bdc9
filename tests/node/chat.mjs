// The `Chat` class of @ai-sdk/react through scenarios, all at once. In a folder whose node_modules hold the SDK:
//
//   node --input-type=module - '[{"api", "cookie", "chatId", "steps": [{"do": "send", "text"}, …], "body"?, "workflow"?}, …]' < chat.mjs
//
// Prints what each ended with: {"messages", "status", "error", "resumes", "data"}. `workflow` names the package of a
// WorkflowChatTransport, which comes back by itself; with the default transport we do what a page does: resume, and where there
// is nothing to resume any more, read the stored messages.
import { Chat } from "@ai-sdk/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";

const scenarios = JSON.parse(process.argv[2]);

function waitFor(chat, what, holds) {
  return new Promise((resolve) => {
    const watch = chat[what === "status" ? "~registerStatusCallback" : "~registerMessagesCallback"];
    const look = () => holds() && (stop(), resolve());
    const stop = watch(look);
    look();
  });
}

async function transportOf({ api, sdk, chatId, cookie, body, workflow }) {
  const withCookie = (url, init = {}) => fetch(url, { ...init, headers: { ...init.headers, cookie } });
  if (!workflow) return new DefaultChatTransport({ api, fetch: withCookie, body, headers: { "x-turnkeep-sdk": `${sdk}` } });
  const { WorkflowChatTransport } = await import(workflow);
  return new WorkflowChatTransport({
    api,
    fetch: withCookie,
    prepareSendMessagesRequest: ({ messages, trigger, messageId }) => ({
      api: `${api}?sdk=${sdk}`, // the handle keeps it
      body: { id: chatId, messages, trigger, messageId, ...body },
    }),
  });
}

const STEPS = {
  send: (chat, { text }) => chat.sendMessage({ text }),
  edit: (chat, { text, of }) => chat.sendMessage({ text, messageId: chat.messages[of].id }),
  regenerate: (chat, { of }) => chat.regenerate(of === undefined ? {} : { messageId: chat.messages[of].id }),
  approve: (chat, { approved, reason }) => {
    const { approval } = chat.lastMessage.parts.find((part) => part.state === "approval-requested");
    return chat.addToolApprovalResponse({ id: approval.id, approved, reason });
  },
};

async function play(scenario) {
  const { api, chatId, cookie, steps, messages = [] } = scenario;
  const data = [];
  let resumes = 0;
  const chat = new Chat({
    id: chatId,
    messages,
    transport: await transportOf(scenario),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    onData: (part) => data.push(part),
    onError: () => {},
  });
  for (const step of steps) {
    const done = step.do === "resume" ? chat.resumeStream() : STEPS[step.do](chat, step);
    if (step.stopAt) {
      await waitFor(chat, "messages", () => JSON.stringify(chat.messages.at(-1)?.parts ?? []).includes(step.stopAt));
      const { runId } = data.findLast((part) => part.type === "data-run").data;
      await fetch(`${api}/${runId}/stop`, { method: "POST", headers: { cookie } });
    }
    await done;
    await waitFor(chat, "status", () => chat.status === "ready" || chat.status === "error");
    while (chat.status === "error" && chat.error instanceof TypeError) {
      resumes += 1;
      await chat.resumeStream();
    }
  }
  return { messages: chat.messages, status: chat.status, error: chat.error?.message ?? null, resumes, data: data.map((part) => part.type) };
}

console.log(JSON.stringify(await Promise.all(scenarios.map(play))));
