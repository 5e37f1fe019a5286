// A grid on a canvas, as the panes, shared memory and tensor memory are: two canvases behind an element that scrolls,
// places to point at and to choose, and a text box over the chosen one. A view says what is where, what is drawn,
// and what is sent when a place is typed over (`GridView` in types.d.ts).

import {
  ARROWS,
  attribute,
  consume,
  focusOn,
  hasModifier,
  isTouch,
  make,
  makeTextInput,
  onMouse,
  resizeCanvas,
} from "./dom.js";
import { contextOn } from "./canvas.js";
import { clamp } from "./numbers.js";
import { fadeOut } from "./highlight.js";
import { runsCell } from "./notebook_keys.js";
import { listenForPinch, listenForWheel } from "./zoom_gestures.js";

export const SCROLLBAR = 10; // the room that is left for one
export const ZOOMS = 6; // steps from all words to words that can be read
const PINCH_FACTOR = 1.3; // for one of them

export class CanvasGrid {
  /** @param {App} app @param {GridParts} parts */
  constructor(app, { head, frame, input, attributes, bar = SCROLLBAR }) {
    this.app = app;
    this.content = app.content;
    this.theme = app.theme;
    this.pointing = app.pointing;
    this.selection = app.selection;
    this.timeline = app.timeline;
    this.scene = app.scene;
    this.tooltip = app.tooltip;
    this.problem = app.problem;
    this.status = app.status;
    this.send = app.send;
    // the room for a scroll bar
    this.bar = bar;
    // the room for headings on the left and above
    this.head = head;
    // what is seen of what scrolls
    this.width = 0;
    this.height = 0;
    this.frame = make("div", frame);
    this.base = make("canvas", "", this.frame, { "aria-hidden": "true" }); // the content,
    this.overlay = make("canvas", "", this.frame, { "aria-hidden": "true" }); // and marks over it
    this.scroller = make("div", "ptx-scroller", this.frame);
    this.space = make("div", "ptx-space", this.scroller);
    this.input = makeTextInput(this.space, input, attributes);
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
      width: this.width + (bars.y ? this.bar : 0),
      height: this.height + (bars.x ? this.bar : 0),
    };
    frame.style.cssText = `width:${head.left + outer.width}px;height:${head.top + outer.height}px`;
    scroller.style.cssText =
      `left:${head.left}px;top:${head.top}px;width:${outer.width}px;height:${outer.height}px` +
      `;overflow:${bars.x ? "auto" : "hidden"} ${bars.y ? "auto" : "hidden"}`;
    space.style.cssText = `width:${total.width}px;height:${total.height}px`;
    for (const canvas of [this.base, this.overlay])
      resizeCanvas(canvas, head.left + this.width, head.top + this.height, this.theme.ratio);
    return outer;
  }

  // -- drawing, in pixels of CSS --

  /** @param {HTMLCanvasElement} canvas */
  contextOf(canvas, isEmpty = true) {
    return contextOn(canvas, this.theme.ratio, isEmpty);
  }

  // Draw only beside and below the headings, and a little over their edge, until the context is restored.
  /** @param {CanvasRenderingContext2D} context */
  clip(context, over = 0) {
    const { head, width, height } = this;
    context.save();
    context.beginPath();
    context.rect(head.left - over, head.top - over, width + over, height + over);
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

  // -- the pointer and the keyboard --

  /** @this {GridView} */
  listen() {
    const { frame, scroller, input, pointing } = this;
    scroller.addEventListener("scroll", () => this.scrolled());
    onMouse(scroller, "pointermove", (event) => this.point(event));
    onMouse(scroller, "pointerleave", () => this.leave());
    scroller.addEventListener("pointerdown", (event) => {
      const isText = event.target === input && this.editing;
      if (event.button === 0 && !isTouch(event) && !isText && this.press(event)) event.preventDefault();
    });
    frame.addEventListener("click", (event) => {
      if (isTouch(event)) this.tap(event);
    });
    scroller.addEventListener("dblclick", (event) => this.edit(event));
    input.addEventListener("focus", () => this.enter());
    input.addEventListener("blur", () => {
      this.commit();
      pointing.drawMarksSoon();
    });
    input.addEventListener("input", () => this.beginTyping());
    input.addEventListener("keydown", (event) => {
      if (this.editing ? this.keyWhileTyping(event) : this.keyOnPlaces(event)) consume(event);
    });
  }

  // Keys are handled if these return true.
  /** @this {GridView} @param {KeyboardEvent} event */
  keyWhileTyping(event) {
    const goOn = this.afterTyping(event);
    if (runsCell(event)) {
      this.commit();
      return false;
    }
    if (event.key === "Escape") this.stopTyping();
    else if (goOn) {
      this.commit();
      goOn();
    } else return false;
    return true;
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

  /** @this {GridView} */
  beginTyping() {
    if (this.editable) this.input.classList.add("editing");
    else this.input.value = "";
    this.pointing.drawMarksSoon();
  }

  // Opens the chosen place with what is in it, or with a text that was refused.
  /** @this {GridView} */
  openEditor(text = this.editable ? this.chosenText() : "") {
    if (!text || !this.editable || this.editing) return;
    this.input.value = text;
    this.beginTyping();
    this.input.select();
  }

  // Taps open a place only the second time, with a keyboard, which appears only for a field that gets the focus.
  /** @param {boolean} opens */
  prepareForTap(opens) {
    this.input.inputMode = opens ? "text" : "none";
    if (!opens) return;
    this.input.blur();
    focusOn(this.input);
  }

  stopTyping() {
    this.input.classList.remove("editing");
    this.input.value = "";
    this.pointing.drawMarksSoon();
  }

  /** @this {GridView} */
  commit() {
    if (!this.editing) return;
    const text = this.input.value.trim();
    this.stopTyping();
    if (text) this.write(text);
  }
}

// Shared or tensor memory: a grid of words.
/** @template Word */
export class WordGrid extends CanvasGrid {
  /** @param {App} app @param {{ left: number, top: number }} head @param {string} id @param {Word} first */
  constructor(app, head, id, first) {
    super(app, {
      head,
      frame: "ptx-memory-frame",
      input: "ptx-memory-word",
      attributes: { "data-testid": id },
    });
    // the word that keys move
    this.at = first;
    // a word without a cell
    this.pointed = /** @type {Word | null} */ (null);
    // how often something else was shown
    this.version = 0;
    // what the canvas shows
    this.drawn = "";
    this.painted = /** @type {(Matrix | undefined)[]} */ ([]);
    // of a word, in pixels
    this.cell = { width: 0, height: 0 };
    // steps
    this.zoom = 0;
    // whether words are drawn with what is in them
    this.hasDigits = false;
  }

  /** @this {WordView<Word>} */
  listen() {
    const { scroller } = this;
    super.listen();
    listenForWheel(scroller, (event) => this.zoomBy(event.deltaY < 0 ? 1 : -1, event));
    listenForPinch(
      scroller,
      () => this.zoom,
      (begun, factor, middle) =>
        this.zoomBy(begun + Math.round(Math.log(factor) / Math.log(PINCH_FACTOR)) - this.zoom, middle),
    );
  }

  /** @this {WordView<Word>} */
  scrolled() {
    this.draw();
  }

  // The words are drawn again only if they, or how they look, changed. What an edit changed is seen for a moment, as
  // in the panes.
  /** @this {WordView<Word>} */
  draw() {
    if (!this.isOpen || !this.cell.width) return;
    const { scrollLeft, scrollTop } = this.scroller;
    const { cell, width, height } = this;
    const matrices = this.shownMatrices();
    const drawn = JSON.stringify([
      [this.content.look, this.style, this.version],
      [scrollLeft, scrollTop, cell, width, height],
    ]);
    const isSame = drawn === this.drawn;
    if (!isSame || matrices.some((matrix, index) => matrix !== this.painted[index])) this.drawWords();
    matrices.forEach((matrix, index) => {
      const before = this.painted[index];
      if (!isSame || !matrix || before?.info !== matrix.info) return;
      for (const place of this.changedPlaces(before, matrix)) this.flashPlace(place);
    });
    [this.drawn, this.painted] = [drawn, matrices];
    this.drawMarks();
  }

  // What is under the pointer: its cell, or a word that is free.
  /** @this {WordView<Word>} @param {MouseEvent} event */
  point(event) {
    const { pointing, tooltip } = this;
    const [word, cell] = [this.wordUnder(event), this.cellUnder(event)];
    const before = JSON.stringify(this.pointed);
    this.pointed = cell ? null : word;
    pointing.hover(cell);
    if (cell) tooltip.showAt(event, () => pointing.facts(cell));
    else if (word !== null) tooltip.showAt(event, () => this.freeFacts(word));
    if (before !== JSON.stringify(this.pointed)) pointing.drawMarksSoon();
  }

  leave() {
    this.pointed = null;
    this.pointing.hover(null);
  }

  /** @this {WordView<Word>} @param {ClientPoint} event */
  press(event) {
    const word = this.wordUnder(event);
    if (word === null) return true;
    const cell = this.cellUnder(event);
    this.chooseThread(word);
    if (cell) this.selection.select(cell, false);
    this.goTo(word);
    return true;
  }

  // The second tap on a word opens it.
  /** @this {WordView<Word>} @param {MouseEvent} event */
  tap(event) {
    if (this.editing) return;
    const word = this.wordUnder(event);
    const isAgain =
      document.activeElement === this.input &&
      word !== null &&
      JSON.stringify(this.at) === JSON.stringify(this.limited(word));
    this.prepareForTap(isAgain);
    if (isAgain) this.edit();
    else {
      this.press(event);
      this.point(event);
    }
  }

  /** @this {WordView<Word>} */
  enter() {
    this.placeInput();
    this.pointing.drawMarksSoon();
  }

  /** @this {WordView<Word>} @param {Word} word */
  choose(word) {
    this.at = this.limited(word);
  }

  // Chooses a word, and shows it.
  /** @this {WordView<Word>} @param {Word} word */
  goTo(word, focus = true) {
    this.choose(word);
    this.scrollTo(this.placeOf(this.at));
    this.placeInput();
    if (focus) focusOn(this.input);
    this.pointing.drawMarksSoon();
  }

  /** @this {WordView<Word>} */
  placeInput() {
    if (!this.isOpen || !this.width) return;
    this.placeTextBox(this.placeOf(this.at));
    attribute(this.input, "aria-label", this.wordFacts(this.at).join(" · "));
  }

  // A mark over a place that changed, for a moment, as in the matrices.
  /** @param {Place} place */
  flashPlace({ x, y, width, height }) {
    const node = make("div", "ptx-flash ptx-memory-flash", this.space, { "aria-hidden": "true" });
    node.style.cssText = `left:${x}px;top:${y}px;width:${width}px;height:${height}px`;
    fadeOut(node);
  }

  // -- zoom: around the word under the pointer, or else the chosen one --

  /** @this {WordView<Word>} @param {number} by @param {ClientPoint | null} point */
  zoomBy(by, point = null) {
    const zoom = clamp(this.zoom + by, 0, ZOOMS);
    if (zoom === this.zoom) return;
    const area = this.scroller.getBoundingClientRect();
    const spot = (point && this.wordUnder(point)) ?? this.selected() ?? this.at;
    const before = this.placeOf(spot);
    const offset = point
      ? { x: point.clientX - area.left, y: point.clientY - area.top }
      : {
          x: clamp(before.x - this.scroller.scrollLeft, 0, this.width),
          y: clamp(before.y - this.scroller.scrollTop, 0, this.height),
        };
    this.zoom = zoom;
    this.app.layout();
    const after = this.placeOf(spot);
    const inside = point ? 0.5 : 0; // without a pointer its corner stays
    this.scroller.scrollLeft = after.x + after.width * inside - offset.x;
    this.scroller.scrollTop = after.y + after.height * inside - offset.y;
    this.draw();
  }

  // -- typing and keys --

  /** @this {WordView<Word>} */
  beginTyping() {
    super.beginTyping();
    if (this.editing) this.tooltip.hide();
  }

  // Words without digits come near first, as cells do.
  /** @this {WordView<Word>} @param {ClientPoint | null} point */
  edit(point = null) {
    if (!this.hasDigits && this.zoom < ZOOMS) this.zoomBy(ZOOMS, point);
    else this.openEditor();
  }

  /** @this {WordView<Word>} @param {KeyboardEvent} event */
  afterTyping(event) {
    return event.key === "Enter" ? () => this.goTo(this.below(1)) : null;
  }

  /** @this {WordView<Word>} @param {KeyboardEvent} event */
  keyOnPlaces(event) {
    if (hasModifier(event)) return false;
    if (event.key === "+" || event.key === "-") {
      this.zoomBy(event.key === "+" ? 1 : -1);
      return true;
    }
    const { page, home, end } = this.reach;
    const steps = /** @type {Record<string, [down: number, right: number]>} */ ({
      ...ARROWS,
      PageUp: [-page, 0],
      PageDown: [page, 0],
      Home: [0, home],
      End: [0, end],
    })[event.key];
    if (steps) this.step(...steps);
    else if (event.key === "Enter" || event.key === "F2") this.edit();
    else if (event.key === "Delete" || event.key === "Backspace") return this.write("0");
    else if (event.key === "Escape") return this.problem.dismiss();
    else return false;
    return true;
  }
}
