/**
 * What a person says to a run while it answers: sent in the order it was said until the server answers, and kept until the
 * model has heard it. An item has an id, so that sending it twice is saying it once (PROTOCOL.md, 6).
 *
 * An item is {id, text, state}: "sending" · "taken" (recorded; the model hears it with its next request) · "refused" (the
 * run has ended or takes no more: the words are for another question).
 */
import { meaningOf } from "./exchange.js";

export class Steering {
  #items;
  #post;
  #pause;
  #delivery = Promise.resolve();
  #isOver = false;

  /** `post` sends an input and resolves to a status, 0 where none came; `pause` waits after so many tries that failed. */
  constructor(items, post, pause) {
    this.#items = items;
    this.#post = post;
    this.#pause = pause;
  }

  /** The items that this message does not show: the model has not heard them. */
  unheard({ parts }) {
    const heard = new Set(parts.map((part) => part.type === "steering-message" && part.id));
    return this.#items.filter(({ id }) => !heard.has(id));
  }

  /** Resolves to whether the server took it, once that is known or the run is over. */
  async say(id, text) {
    this.#items = [...this.#items, { id, text, state: "sending" }];
    await this.deliver();
    return this.#items.find((item) => item.id === id).state === "taken";
  }

  /** Send what the server has not answered yet. */
  deliver() {
    return (this.#delivery = this.#delivery.then(() => this.#sendAll()));
  }

  /** The run ended, or nobody follows it any more. */
  end() {
    this.#isOver = true;
  }

  async #sendAll() {
    for (let failed = 0; !this.#isOver; ) {
      const at = this.#items.findIndex(({ state }) => state === "sending");
      if (at < 0) return;
      const { id, text } = this.#items[at];
      const state = stateAfter(await this.#post({ type: "steer", id, text }));
      this.#items = this.#items.with(at, { id, text, state });
      if (state === "sending") await this.#pause((failed += 1));
    }
  }
}

function stateAfter(status) {
  if (status >= 200 && status < 300) return "taken";
  return status === 0 || ["passing", "renew"].includes(meaningOf(status, true)) ? "sending" : "refused";
}
