// The `Chat` class of @ai-sdk/react through scenarios, all at once. In a folder whose node_modules hold the SDK:
//
//   node --input-type=module - '[{"api", "cookie", "chatId", "steps": [{"do": "send", "text"}, …], "body"?, "workflow"?}, …]' < chat.mjs
//
// Prints what each ended with: {"messages", "status", "error", "resumes", "data"}. `workflow` names the package of a
// WorkflowChatTransport, which comes back by itself; with the default transport we do what a page does, and resume.
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
  resume: (chat) => chat.resumeStream(),
  regenerate: (chat, { of }) => chat.regenerate(of === undefined ? {} : { messageId: chat.messages[of].id }),
  approve: (chat, { approved, reason }) => {
    const { approval } = chat.messages.at(-1).parts.find((part) => part.state === "approval-requested");
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
  const parts = () => chat.messages.at(-1)?.parts ?? [];
  const asked = () => parts().find((part) => part.state === "approval-requested");
  const tell = (what, body) => {
    const { runId } = data.findLast((part) => part.type === "data-run").data;
    return fetch(`${api}/${runId}/${what}`, { method: "POST", headers: { cookie }, body: JSON.stringify(body) });
  };
  const settled = async (started) => {
    await started;
    await waitFor(chat, "status", () => chat.status === "ready" || chat.status === "error");
    while (chat.status === "error" && chat.error instanceof TypeError) {
      resumes += 1;
      await chat.resumeStream();
    }
  };
  for (const step of steps) {
    const done = settled(STEPS[step.do](chat, step));
    if (step.stopAt) {
      await waitFor(chat, "messages", () => JSON.stringify(parts()).includes(step.stopAt));
      await tell("stop", {});
    }
    if (step.decide) {
      await waitFor(chat, "messages", asked);
      await tell("input", { ...step.decide, approvalId: asked().approval.id });
    }
    await done;
  }
  return { messages: chat.messages, status: chat.status, error: chat.error?.message ?? null, resumes, data: data.map((part) => part.type) };
}

console.log(JSON.stringify(await Promise.all(scenarios.map(play))));
