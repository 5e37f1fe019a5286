// The button and the slider of something that plays in steps.

import { make } from "./util.js";

// Space and Enter on the slider press the button, Escape goes back to the start.
/** @param {HTMLElement} parent @param {string} label @param {Player} player */
export function makePlayControls(parent, label, player) {
  const button = make("button", "ptx-play", parent, { type: "button" });
  const slider = make("input", "ptx-slider", parent, {
    type: "range",
    min: "0",
    step: "1",
    "aria-label": label,
  });
  /** @param {number} step */
  const goTo = (step) => {
    player.pause();
    player.go(step);
  };
  button.addEventListener("click", () => (player.timer ? player.pause() : player.play()));
  slider.addEventListener("input", () => goTo(Number(slider.value)));
  slider.addEventListener("keydown", (event) => {
    if (!event.altKey) event.stopPropagation();
    if (event.key === "Escape") goTo(0);
    if (event.key !== " " && event.key !== "Enter") return;
    event.preventDefault();
    button.click();
  });
  return { button, slider };
}
