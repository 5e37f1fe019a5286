// The playback bar of anything with steps: an instruction, a simulated kernel, the pictures of a lesson. It can be
// played, dragged, stepped and moved by keys; its parts have names. Its owner draws the steps.

import { attribute, consume, hasModifier, make, makeButton, write } from "./dom.js";
import { clamp } from "./numbers.js";

// The last value of a slider with parts.
const LONGEST = 1000;
// pixels of a wheel's turn for a step
const TURN = 40;

export class PlaybackBar {
  /** @param {HTMLElement} node @param {PlayerOptions} options */
  constructor(node, { label, name, pace = 0, first = 0 }) {
    this.node = node;
    // the step
    this.at = 0;
    // whether it is at none of them
    this.idle = false;
    // 0 while it pauses
    this.timer = 0;
    this.name = name;
    this.pace = pace;
    // the step with which the first part begins
    this.first = first;
    this.parts = /** @type {PlayerPart[]} */ ([]);
    // The widths of the names of the parts, and the width of the bar at which they were measured.
    this.widths = /** @type {number[]} */ ([]);
    this.measuredAt = 0;
    node.classList.add("ptx-timeline", "without-names");
    this.button = makeButton(node, "ptx-play", "", () => this.toggle());
    const steps = make("span", "ptx-steps", node);
    // arrow keys on the slider do the same
    const back = { "aria-label": "step back", tabindex: "-1" };
    const on = { "aria-label": "step on", tabindex: "-1" };
    makeButton(steps, "ptx-step", "‹", () => this.jump(this.at - 1), back);
    makeButton(steps, "ptx-step", "›", () => this.jump(this.at + 1), on);
    const track = make("div", "ptx-track", node);
    this.names = make("div", "ptx-part-names", track);
    this.slider = make("input", "ptx-slider", track, { type: "range", min: 0, step: 1, "aria-label": label });
    this.words = make("div", "ptx-timeline-words", node);
    this.text = make("output", "ptx-timeline-text", this.words);
    this.slider.addEventListener("input", () => this.jump(this.fromSlider(Number(this.slider.value))));
    this.slider.addEventListener("keydown", (event) => this.press(event));
    // pixels that the wheel was turned since the last step
    this.turned = 0;
    track.addEventListener("wheel", (event) => this.turn(event), { passive: false });
  }

  // The last step.
  get last() {
    return 0;
  }

  // How long it stays at a step while it plays, in milliseconds.
  get wait() {
    return this.pace;
  }

  // The width for which it is laid out.
  get width() {
    return this.node.clientWidth;
  }

  // Shows the step that it is at; `played` if that follows the one before.
  /** @param {boolean} _played */
  showStep(_played) {}

  toggle() {
    if (this.timer) this.pause();
    else this.play();
  }

  play() {
    if (this.at >= this.last) this.at = this.first - 1;
    const next = () => {
      if (this.at >= this.last) {
        this.pause();
        return;
      }
      // it plays, also while the first step is shown
      this.timer = -1;
      this.goToStep(this.at + 1, true);
      if (this.timer) this.timer = window.setTimeout(next, this.wait);
    };
    next();
  }

  pause() {
    window.clearTimeout(this.timer);
    this.timer = 0;
    this.updateBar("");
  }

  // Starts anew, with other steps.
  reset() {
    this.pause();
    this.at = 0;
  }

  // There may be fewer steps now.
  limit() {
    this.at = Math.min(this.at, this.last);
  }

  // Goes to a step and stays there.
  /** @param {number} step */
  jump(step) {
    if (this.timer) this.pause();
    this.goToStep(step);
  }

  /** @param {number} step */
  goToStep(step, played = false) {
    this.at = clamp(step, 0, this.last);
    this.showStep(played);
  }

  // The button, the slider and the name of the part; the slider says `text`.
  /** @param {string} text */
  updateBar(text) {
    const { button, slider } = this;
    const [end, value] = [String(this.end), String(this.toSlider(this.at))];
    if (slider.max !== end) slider.max = end; // browsers lay out again what is set, even if it is the same
    if (slider.value !== value) slider.value = value;
    if (text) attribute(slider, "aria-valuetext", text);
    write(button, this.timer ? "❚❚" : "▶");
    attribute(button, "aria-label", this.timer ? "pause" : this.name);
    const now = this.idle ? -1 : this.starts.findLastIndex((start) => start <= this.at);
    for (const [index, node] of [...this.names.children].entries())
      node.classList.toggle("now", index === now);
  }

  // -- the slider: every part is at least as wide as its name; the rest of the width goes to parts with many steps --

  /** @returns {number[]} the steps with which parts begin */
  get starts() {
    let next = this.first;
    return this.parts.map(({ steps }) => {
      next += steps;
      return next - steps;
    });
  }

  /** @returns {number[]} how wide the parts are, as drawn: measured once for a width */
  get shares() {
    const { width } = this;
    if (!this.widths.length || this.measuredAt !== width) {
      this.widths = [...this.names.children].map((node) => node.getBoundingClientRect().width || 1);
      this.measuredAt = width;
    }
    return this.widths;
  }

  drawNames() {
    const key = JSON.stringify(this.parts.map(({ name, steps }) => [name, steps]));
    if (this.names.dataset.parts === key) return;
    this.names.dataset.parts = key;
    this.names.replaceChildren();
    this.node.classList.toggle("without-names", !this.parts.length);
    this.widths = [];
    for (const [index, start] of this.starts.entries()) {
      const { name, about, steps } = this.parts[index];
      const button = makeButton(this.names, "ptx-part-name", name, () => this.jump(start), {
        title: about,
        "data-first": start,
        tabindex: "-1", // PageUp and PageDown on the slider do the same
      });
      button.style.flexGrow = String(Math.log2(1 + steps));
    }
  }

  // The end of the slider, and where on it a step is: what it has gone through by then, or the middle of it where
  // it begins with the first.
  get end() {
    return this.parts.length ? LONGEST : this.last;
  }

  /** @param {number} at */
  toSlider(at, shares = this.shares) {
    if (!this.parts.length) return at;
    const total = shares.reduce((sum, share) => sum + share, 0);
    let [start, left] = [0, this.first ? at : at + 0.5];
    for (const [index, { steps }] of this.parts.entries()) {
      if (left <= steps) return Math.round((LONGEST * (start + (left / steps) * shares[index])) / total);
      left -= steps;
      start += shares[index];
    }
    return LONGEST;
  }

  // The step at a position of the slider.
  /** @param {number} value */
  fromSlider(value) {
    if (!this.parts.length) return value;
    const { shares } = this;
    const distance = (/** @type {number} */ at) => Math.abs(this.toSlider(at, shares) - value);
    let best = 0;
    for (let at = 0; at <= this.last; at += 1) if (distance(at) < distance(best)) best = at;
    return best;
  }

  // Over the slider that has the focus the wheel goes from step to step; elsewhere, and behind the ends, the page scrolls.
  /** @param {WheelEvent} event */
  turn(event) {
    const by = event.deltaY + event.deltaX;
    const isAtEnd = by > 0 ? this.at >= this.last : this.at <= 0;
    if (document.activeElement !== this.slider || hasModifier(event) || isAtEnd) return;
    consume(event);
    this.turned += by;
    const steps = Math.trunc(this.turned / TURN);
    this.turned -= steps * TURN;
    if (steps) this.jump(this.at + steps);
  }

  // To where the next part begins.
  goToNextPart() {
    this.jump(this.starts.find((start) => start > this.at) ?? this.last);
  }

  // Keys on the slider; those with Ctrl or Shift are the notebook's.
  /** @param {KeyboardEvent} event */
  press(event) {
    if (hasModifier(event) || event.shiftKey) return;
    const [back, on] = [() => this.jump(this.at - 1), () => this.jump(this.at + 1)];
    /** @type {Record<string, () => void>} */
    const does = {
      ArrowRight: on,
      ArrowUp: on,
      ArrowLeft: back,
      ArrowDown: back,
      PageUp: () => this.goToNextPart(),
      PageDown: () => this.jump(this.starts.findLast((start) => start < this.at) ?? 0),
      Home: () => this.jump(0),
      End: () => this.jump(this.last),
      " ": () => this.toggle(),
      Enter: () => this.toggle(),
    };
    if (!does[event.key]) return;
    consume(event);
    does[event.key]();
  }
}
