// What shared and tensor memory have in common: words to point at and to choose, and a text box over the
// chosen one.

import { isTouch } from "./util.js";

/** @param {MemoryView | TensorView} view */
export function listenToWords(view) {
  const { app, scroller, input } = view;
  scroller.addEventListener("scroll", () => view.draw());
  scroller.addEventListener("pointermove", (event) => {
    if (!isTouch(event)) view.point(event);
  });
  scroller.addEventListener("pointerleave", (event) => {
    if (isTouch(event)) return;
    view.leave();
    app.hover(null);
  });
  scroller.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || isTouch(event) || (event.target === input && view.editing)) return;
    event.preventDefault();
    view.press(event);
  });
  scroller.addEventListener("dblclick", () => view.edit());
  input.addEventListener("focus", () => {
    view.placeInput();
    app.drawMarksSoon();
  });
  input.addEventListener("blur", () => {
    view.commit();
    app.drawMarksSoon();
  });
  input.addEventListener("input", () => view.beginTyping());
  input.addEventListener("keydown", (event) => {
    if (!(view.editing ? view.keyWhileTyping(event) : view.keyOnWords(event))) return;
    event.preventDefault();
    event.stopPropagation();
  });
}
