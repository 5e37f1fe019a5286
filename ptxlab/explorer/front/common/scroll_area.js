// What panes and the views of memory are made of: two canvases behind something that scrolls, and a text box
// on it.

import { make, clamp, isTouch } from "./util.js";

export const SCROLLBAR = 10; // the room that is left for one

/** @param {HTMLCanvasElement} canvas @param {number} width @param {number} height @param {number} ratio */
export function resizeCanvas(canvas, width, height, ratio) {
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.cssText = `width:${width}px;height:${height}px`;
}

export class ScrollArea {
  /** @param {App} app @param {ScrollAreaParts} parts */
  constructor(app, { head, frame, input, attributes }) {
    this.app = app;
    this.head = head; // the room for headings on the left and above
    this.width = 0; // what is seen of what scrolls
    this.height = 0;
    this.frame = make("div", frame);
    this.base = make("canvas", "", this.frame, { "aria-hidden": "true" }); // the content,
    this.overlay = make("canvas", "", this.frame, { "aria-hidden": "true" }); // and marks over it
    this.scroller = make("div", "ptx-scroller", this.frame);
    this.space = make("div", "ptx-space", this.scroller);
    this.input = make("input", input, this.space, {
      type: "text",
      spellcheck: "false",
      autocomplete: "off",
      ...attributes,
    });
  }

  // Shows a part of so many pixels of what scrolls, or all of it; returns the part's size with its scroll
  // bars.
  /** @param {Size} view @param {Size} total */
  resize(view, total) {
    const { head, frame, scroller, space } = this;
    this.width = Math.min(view.width, total.width);
    this.height = Math.min(view.height, total.height);
    const bars = { x: total.width > this.width + 1, y: total.height > this.height + 1 };
    const outer = {
      width: this.width + (bars.y ? SCROLLBAR : 0),
      height: this.height + (bars.x ? SCROLLBAR : 0),
    };
    frame.style.cssText = `width:${head.left + outer.width}px;height:${head.top + outer.height}px`;
    scroller.style.cssText =
      `left:${head.left}px;top:${head.top}px;width:${outer.width}px;height:${outer.height}px` +
      `;overflow:${bars.x ? "auto" : "hidden"} ${bars.y ? "auto" : "hidden"}`;
    space.style.cssText = `width:${total.width}px;height:${total.height}px`;
    for (const canvas of [this.base, this.overlay])
      resizeCanvas(canvas, head.left + this.width, head.top + this.height, this.app.ratio);
    return outer;
  }

  // -- drawing, in pixels of CSS --

  /** @param {HTMLCanvasElement} canvas */
  contextOf(canvas, isEmpty = true) {
    const { ratio } = this.app;
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (isEmpty) context.clearRect(0, 0, canvas.width, canvas.height);
    return context;
  }

  // Draw only beside and below the headings, until the context is restored.
  /** @param {CanvasRenderingContext2D} context */
  clip(context) {
    context.save();
    context.beginPath();
    context.rect(this.head.left, this.head.top, this.width, this.height);
    context.clip();
  }

  // The same, in the pixels of what scrolls.
  /** @param {CanvasRenderingContext2D} context */
  clipAndScroll(context) {
    const { head, scroller } = this;
    this.clip(context);
    context.translate(head.left - scroller.scrollLeft, head.top - scroller.scrollTop);
  }

  // -- places, in the pixels of what scrolls --

  /** @param {ClientPoint} event @returns {Point} */
  pointUnder({ clientX, clientY }) {
    const { left, top } = this.scroller.getBoundingClientRect();
    return { x: clientX - left + this.scroller.scrollLeft, y: clientY - top + this.scroller.scrollTop };
  }

  /** @param {Place} place @returns {Place} */
  onPage({ x, y, width, height }) {
    const { left, top } = this.scroller.getBoundingClientRect();
    return { x: left + x - this.scroller.scrollLeft, y: top + y - this.scroller.scrollTop, width, height };
  }

  // Scrolls by as little as shows a place.
  /** @param {Place} place */
  scrollTo({ x, y, width, height }) {
    const { scrollTop, scrollLeft } = this.scroller;
    this.scroller.scrollTop = clamp(scrollTop, y + height - this.height, y);
    this.scroller.scrollLeft = clamp(scrollLeft, x + width - this.width, x);
  }

  // -- the text box --

  /** @param {Place} place */
  placeTextBox({ x, y, width, height }) {
    const [wide, high] = [Math.max(width + 1, 10), Math.max(height + 1, 10)];
    this.input.style.cssText = `left:${x - 1}px;top:${y - 1}px;width:${wide}px;height:${high}px`;
  }

  get editing() {
    return this.input.classList.contains("editing");
  }

  closeTextBox() {
    this.input.classList.remove("editing");
    this.input.value = "";
  }
}

// -- What shared and tensor memory have in common: words to point at and to choose, and a text box over the
// chosen one.

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
