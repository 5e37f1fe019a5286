// Something that goes step by step: played, dragged, or by keys. What a step looks like is its owner's.

import { attribute, clamp, make, makeButton, write } from "./util.js";

export class Player {
  /** @param {HTMLElement} parent @param {PlayerParts} parts */
  constructor(parent, { label, name = "", pace = 0 }) {
    this.at = 0; // the step
    this.timer = 0; // 0 while it pauses
    this.name = name;
    this.pace = pace;
    this.button = name ? makeButton(parent, "ptx-play", "", () => this.toggle()) : null;
    this.slider = make("input", "ptx-slider", parent, {
      type: "range",
      min: 0,
      step: 1,
      "aria-label": label,
    });
    this.slider.addEventListener("input", () => this.jump(this.fromSlider(Number(this.slider.value))));
    this.slider.addEventListener("keydown", (event) => this.press(event));
  }

  // The last step.
  get last() {
    return 0;
  }

  // How long it stays at a step while it plays, in milliseconds.
  get wait() {
    return this.pace;
  }

  // The end of the slider, and where on it a step is.
  get end() {
    return this.last;
  }

  /** @param {number} step */
  toSlider(step) {
    return step;
  }

  // The step at a position of the slider.
  /** @param {number} value */
  fromSlider(value) {
    return value;
  }

  // Shows the step that it is at; `played` if that follows the one before.
  /** @param {boolean} _played */
  show(_played) {}

  // Space and Enter on the slider press the button, Escape goes back to the start.
  /** @param {KeyboardEvent} event */
  press(event) {
    if (!event.altKey) event.stopPropagation();
    if (event.key === "Escape") this.jump(0);
    if (event.key !== " " && event.key !== "Enter") return;
    event.preventDefault();
    this.button?.click();
  }

  toggle() {
    if (this.timer) this.pause();
    else this.play();
  }

  play() {
    if (this.at >= this.last) this.at = 0;
    const next = () => {
      if (this.at >= this.last) {
        this.pause();
        return;
      }
      this.timer = -1; // it plays, also while the first step is shown
      this.go(this.at + 1, true);
      if (this.timer) this.timer = window.setTimeout(next, this.wait);
    };
    next();
  }

  pause() {
    window.clearTimeout(this.timer);
    this.timer = 0;
    this.update("");
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
    this.go(step);
  }

  /** @param {number} step */
  go(step, played = false) {
    this.at = clamp(step, 0, this.last);
    this.show(played);
  }

  // The button and the slider; the slider says `text`.
  /** @param {string} text */
  update(text) {
    const { button, slider } = this;
    const [end, value] = [String(this.end), String(this.toSlider(this.at))];
    if (slider.max !== end) slider.max = end; // browsers lay out again what is set, even if it is the same
    if (slider.value !== value) slider.value = value;
    if (text) attribute(slider, "aria-valuetext", text);
    if (!button) return;
    write(button, this.timer ? "❚❚" : "▶");
    attribute(button, "aria-label", this.timer ? "pause" : this.name);
  }
}
