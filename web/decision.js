/** What a person has to say about a tool call: yes or no, or the answer to a question. */
import { button, element, say } from "./dom.js";

export class DecisionView {
  #field = element("input", { type: "text", maxlength: "4000", autocomplete: "off" });
  #note = element("p", { class: "tool-note", role: "status" });
  #buttons = [];

  /** `send` says something to the run and resolves to whether it arrived. `isQuestion`: there is nothing to approve. */
  constructor({ toolName, toolCallId }, isQuestion, send) {
    this.send = send;
    this.id = toolCallId;
    this.#field.setAttribute("aria-label", isQuestion ? "Your answer" : "Reason, if you decline");
    const label = isQuestion ? `Answer ${toolName}` : `Decide on ${toolName}`;
    this.element = element("form", { class: "tool-decision", "aria-label": label }, this.#field, ...this.#choices(isQuestion), this.#note);
    this.element.addEventListener("submit", (event) => {
      event.preventDefault(); // Enter in the field must not approve anything
      if (isQuestion) this.#answer();
    });
  }

  #choices(isQuestion) {
    const approval = { approvalId: this.id };
    this.#buttons = isQuestion
      ? [button("Answer", () => this.#answer())]
      : [
          button("Approve", () => this.#say({ type: "approve", ...approval })),
          button("Deny", () => this.#say({ type: "deny", ...approval, ...this.#reason() })),
        ];
    return this.#buttons;
  }

  #reason() {
    const reason = this.#field.value.trim();
    return reason ? { reason } : {};
  }

  #answer() {
    const text = this.#field.value.trim();
    if (text) this.#say({ type: "answer", toolCallId: this.id, text });
    else this.#field.focus();
  }

  async #say(input) {
    this.#enable(false);
    say(this.#note, "Sending…");
    const arrived = await this.send(input);
    say(this.#note, arrived ? "Sent." : "That did not arrive. Try again.");
    if (!arrived) this.#enable(true); // else the log says what was decided, and this goes away
  }

  #enable(enabled) {
    for (const control of [this.#field, ...this.#buttons]) control.disabled = !enabled;
  }
}
