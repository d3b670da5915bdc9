/** Follows the end of the thread while the person is there, and never takes them away from where they read. */
const NEAR = 64; // pixels that still count as the end

export class Scroll {
  #scroller;
  #button;

  constructor(scroller, button) {
    this.#scroller = scroller;
    this.#button = button;
    button.addEventListener("click", () => this.toEnd());
    scroller.addEventListener("scroll", () => this.#draw(), { passive: true });
  }

  /** Draw, and stay at the end if we were there. */
  around(draw) {
    const wasAtEnd = this.#isAtEnd();
    draw();
    if (wasAtEnd) this.toEnd();
    else this.#draw();
  }

  toEnd() {
    this.#scroller.scrollTop = this.#scroller.scrollHeight; // at once: a smooth scroll loses against a growing text
    this.#draw();
  }

  /** Take the focus from a button that is gone; the field would open a phone's keyboard over the answer. */
  focus() {
    this.#scroller.focus();
  }

  #isAtEnd() {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
    return scrollHeight - scrollTop - clientHeight <= NEAR;
  }

  #draw() {
    this.#button.hidden = this.#isAtEnd();
  }
}
