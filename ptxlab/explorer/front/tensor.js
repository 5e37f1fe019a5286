// Tensor memory: 128 lanes by the columns that the instruction uses, of one CTA or of both, and what a
// tcgen05.ld makes of it. It lies below the matrices of tcgen05, which point to each other.

import { make, attribute, clamp, hasModifier, hex, isTouch, write } from "./util.js";
import { cellOfIndex, cellText, changedCells, editText, indexOfCell } from "./matrix.js";
import { SCROLLBAR, viewHeight } from "./layout.js";
import { fadeOut } from "./flash.js";
import { NOTCH } from "./zoom.js";
import { rove, nextInBar } from "./rove.js";
import {
  LANES,
  columnsOf,
  elementsIn,
  matrixOf,
  operandAt,
  slotOf,
  wordName,
  wordNumber,
} from "./tensor_map.js";
import { CTA_GAP, TENSOR_HEAD, columnEdge, drawTensor, drawTensorMarks, wordsPlace } from "./tensor_draw.js";
import { MoveControls } from "./move.js";
import { tint } from "./memory_draw.js";
import { Thread } from "./thread.js";
import { listenToWords } from "./words.js";

const TENSOR_SHARE = 0.3; // of the view, that the lanes may take
const LEAST_LANES = 128; // pixels
const READABLE = { width: 46, height: 14 }; // a word at the largest zoom
const READABLE_HEX = 58; // the width of one in hexadecimal
const LEAST_MOVE = 180; // pixels for the lanes of words that are moved
const MOST_MOVED = 44; // width of such a word before any zoom
const NARROW_SHARE = 0.5; // of a narrow view, where registers are below
const ZOOMS = 6; // steps from all of it to words that can be read
const MOST_RUNS_LIT = 128; // of neighbouring words that an edit changed
const THREAD_PANEL = 356; // width of the registers beside it

const TENSOR_COLOURS = /** @type {Choice<TensorColour>[]} */ ([
  ["matrix", "operand"],
  ["row", "row"],
  ["column", "column"],
  ["scale", "scale"],
  ["thread", "thread"],
  ["value", "value"],
]);

export class TensorView {
  /** @param {App} app @param {HTMLElement} parent */
  constructor(app, parent) {
    this.app = app;
    this.version = 0; // how often it opened, closed, or was zoomed
    this.closed = false;
    this.before = false; // whether C is shown, which is D before the instruction
    this.colour = /** @type {TensorColour} */ ("row");
    this.zoom = 0; // steps
    this.cell = { width: 0, height: 0 }; // of a word, in pixels
    this.width = 0; // what is seen of the words
    this.height = 0;
    this.at = { lane: 0, column: 0 }; // the word that keys move
    this.pointed = /** @type {{ lane: number, column: number } | null} */ (null); // a free word
    this.drawn = this.marked = ""; // what the canvases show
    this.painted = /** @type {(Matrix | undefined)[]} */ ([]);
    this.info = /** @type {TensorInfo | undefined} */ (undefined);
    this.loaded = /** @type {Sent<LoadData> | null} */ (null);
    this.pictures = /** @type {HTMLCanvasElement[]} */ ([]); // a pixel for every word, of each CTA
    this.pictured = "";
    this.node = make("section", "ptx-tensor", parent, {
      "aria-label": "tensor memory",
      "data-testid": "tensor",
    });
    this.node.hidden = true;
    this.bar = make("div", "ptx-memory-bar", this.node, { role: "toolbar", "aria-label": "tensor memory" });
    this.title = make("b", "", this.bar);
    this.title.textContent = "Tensor memory";
    this.moveControls = new MoveControls(app, this.bar);
    const controls = make("span", "ptx-memory-controls", this.bar);
    this.colours = this.select(controls, "Colour", "What the colours mean", (value) => {
      this.colour = /** @type {TensorColour} */ (value);
      this.draw();
      this.showBar();
    });
    this.times = this.select(
      controls,
      "D",
      "D after the instruction, or before it: then it is C",
      (value) => {
        this.before = value === "before";
        this.draw();
        this.thread.update();
      },
    );
    for (const [value, text] of [
      ["after", "after"],
      ["before", "before (C)"],
    ])
      make("option", "", this.times, { value }).textContent = text;
    const zoom = make("span", "ptx-tensor-zoom", controls, {
      role: "group",
      "aria-label": "zoom of tensor memory",
    });
    this.out = this.button(zoom, "−", "Smaller words", () => this.zoomBy(-1));
    this.in = this.button(zoom, "+", "Larger words (Ctrl and the wheel)", () => this.zoomBy(1));
    this.legend = make("span", "ptx-legend ptx-tensor-legend", this.bar, {
      role: "group",
      "aria-label": "colours",
    });
    this.summary = make("span", "ptx-memory-summary", this.bar, { role: "status" });
    this.shut = this.button(this.bar, "×", "Close tensor memory (Alt+T)", () => this.toggle());
    this.updateStops = rove(this.bar, "button, select", nextInBar);
    const body = make("div", "ptx-tensor-body", this.node);
    this.frame = make("div", "ptx-memory-frame", body);
    this.base = make("canvas", "", this.frame, { "aria-hidden": "true" });
    this.over = make("canvas", "", this.frame, { "aria-hidden": "true" });
    this.scroller = make("div", "ptx-scroller", this.frame);
    this.space = make("div", "ptx-space", this.scroller);
    this.input = make("input", "ptx-memory-word", this.space, {
      type: "text",
      spellcheck: "false",
      autocomplete: "off",
      "data-testid": "tensor-word",
    });
    this.thread = new Thread(this, body);
    this.listen();
  }

  /** @param {HTMLElement} parent @param {string} label @param {string} hint @param {(value: string) => void} choose */
  select(parent, label, hint, choose) {
    const holder = make("label", "ptx-choice", parent);
    make("span", "", holder).textContent = label;
    const node = make("select", "", holder, { title: hint, "aria-label": label });
    node.addEventListener("change", () => choose(node.value));
    return node;
  }

  /** @param {HTMLElement} parent @param {string} text @param {string} title @param {() => void} press */
  button(parent, text, title, press) {
    const name = title.replace(/ \(.*/, "").toLowerCase();
    const node = make("button", "ptx-tool ptx-icon", parent, { type: "button", title, "aria-label": name });
    node.textContent = text;
    node.addEventListener("click", press);
    return node;
  }

  // -- what is shown --

  get isOpen() {
    const { app } = this;
    // the verdict of a question is seen in it
    if (app.instruction.move) return true;
    return Boolean(app.instruction.tensor && !this.closed && !app.memory.isOpen && !app.quiz.open);
  }

  // Of an open view.
  get tensor() {
    return /** @type {TensorInfo} */ (this.app.instruction.tensor);
  }

  /** @returns {LoadData | null} */
  get load() {
    const load = this.app.model.get("load");
    return load?.mnemonic ? /** @type {LoadData} */ (load) : null;
  }

  // Shared memory, if it is shown, makes way.
  toggle() {
    const { app } = this;
    if (app.memory.isOpen) app.send({ type: "hide_memory" });
    this.closed = this.isOpen;
    this.version += 1;
    app.refresh();
    if (this.isOpen) this.input.focus({ preventScroll: true });
    else app.paneOf("D")?.input.focus({ preventScroll: true });
  }

  // Another instruction has other columns.
  follow() {
    const { tensor } = this.app.instruction;
    const load = this.app.model.get("load") ?? null;
    if (tensor === this.info && load === this.loaded) return;
    if (tensor !== this.info) {
      this.version += 1;
      this.pointed = null;
      this.at = { lane: 0, column: 0 };
      if (!tensor?.places.SFA && this.colour === "scale") this.colour = "row";
      if (tensor?.blocks && !this.info?.blocks) this.zoom = 0;
      if (tensor?.blocks && !["row", "column", "value"].includes(this.colour)) this.colour = "row";
      if (tensor?.blocks && !this.app.instruction.matrices.C) this.before = false;
      if (!this.info && tensor) [this.zoom, this.closed] = [0, false];
    }
    [this.info, this.loaded] = [tensor, load];
    this.drawn = this.marked = "";
  }

  // -- layout: the lanes take a part of the view, all columns its width --

  // The height that it takes from the matrices.
  layout() {
    this.node.hidden = !this.isOpen;
    if (!this.isOpen) return 0;
    const { app } = this;
    this.showBar();
    const { move } = app.instruction;
    const beside = app.layoutWidth >= 900;
    const withThread = !move || Boolean(move.registers);
    this.node.classList.toggle("ptx-tensor-narrow", !beside);
    const wide =
      app.layoutWidth -
      TENSOR_HEAD.left -
      (beside && withThread ? THREAD_PANEL + 14 : 0) -
      SCROLLBAR -
      4 -
      this.gaps;
    const high = move
      ? this.roomForMove(beside || !withThread)
      : Math.max(LEAST_LANES, TENSOR_SHARE * viewHeight(app));
    const columns = this.allColumns;
    const fit = {
      width: Math.min(wide / columns, move ? MOST_MOVED : 30),
      height: Math.max(1, Math.floor((high / LANES) * 2) / 2),
    };
    const part = this.zoom / ZOOMS;
    const ease = (/** @type {number} */ from, /** @type {number} */ to) =>
      from * (Math.max(from, to) / from) ** part;
    this.cell = this.zoom
      ? {
          width: Math.round(ease(fit.width, move ? READABLE_HEX : READABLE.width) * 4) / 4,
          height: Math.round(ease(fit.height, READABLE.height)),
        }
      : { width: Math.floor(fit.width * 64) / 64, height: fit.height };
    const total = { width: columns * this.cell.width + this.gaps, height: LANES * this.cell.height };
    this.width = Math.min(total.width, wide + this.gaps);
    this.height = Math.min(total.height, LANES * fit.height);
    const bars = { x: total.width > this.width + 1, y: total.height > this.height + 1 };
    const outer = {
      width: this.width + (bars.y ? SCROLLBAR : 0),
      height: this.height + (bars.x ? SCROLLBAR : 0),
    };
    const { left, top } = TENSOR_HEAD;
    this.frame.style.cssText = `width:${left + outer.width}px;height:${top + LANES * fit.height + SCROLLBAR}px`;
    this.scroller.style.cssText =
      `left:${left}px;top:${top}px;width:${outer.width}px;height:${outer.height}px` +
      `;overflow:${bars.x ? "auto" : "hidden"} ${bars.y ? "auto" : "hidden"}`;
    this.space.style.cssText = `width:${total.width}px;height:${total.height}px`;
    for (const canvas of [this.base, this.over]) {
      canvas.width = Math.round((left + this.width) * app.ratio);
      canvas.height = Math.round((top + this.height) * app.ratio);
      canvas.style.cssText = `width:${left + this.width}px;height:${top + this.height}px`;
    }
    this.drawn = this.marked = "";
    this.thread.layout(top + this.height);
    this.placeInput();
    return this.node.offsetHeight + 14;
  }

  // Of all CTAs, or of both grids of words.
  get allColumns() {
    let columns = 0;
    for (let cta = 0; cta < this.tensor.ctas; cta += 1) columns += columnsOf(this.tensor, cta);
    return columns;
  }

  // All of the view that is left, or half of it where registers stand below.
  /** @param {boolean} whole */
  roomForMove(whole) {
    const { app } = this;
    const above = this.frame.getBoundingClientRect().top - app.root.getBoundingClientRect().top;
    const below = TENSOR_HEAD.top + SCROLLBAR + app.status.offsetHeight + 24;
    // a saved page has lines above it, which nothing scrolls away
    const notes = app.model.isAlone ? app.root.getBoundingClientRect().top + window.scrollY : 0;
    const room = whole ? viewHeight(app) - above - below - notes : NARROW_SHARE * viewHeight(app);
    return Math.max(LEAST_MOVE, room);
  }

  get gaps() {
    return (this.tensor.ctas - 1) * CTA_GAP;
  }

  showBar() {
    const { tensor, app } = this;
    const { move } = app.instruction;
    this.title.hidden = this.shut.hidden = Boolean(move);
    const times = this.times.parentElement;
    if (times) times.hidden = Boolean(move) && !app.matrices.C;
    if (times?.firstChild) write(/** @type {Element} */ (times.firstChild), app.matrices.D?.label ?? "D");
    const before = this.times.options[1];
    if (before) write(before, move ? "before" : "before (C)");
    this.moveControls.update();
    const colours = move
      ? this.moveColours(move)
      : TENSOR_COLOURS.filter(([, value]) => value !== "scale" || tensor.places.SFA);
    const key = colours.map(([text]) => text).join();
    if (this.colours.dataset.key !== key) {
      this.colours.dataset.key = key;
      this.colours.replaceChildren();
      for (const [text, value] of colours) make("option", "", this.colours, { value }).textContent = text;
    }
    this.colours.value = this.colour;
    this.times.value = this.before ? "before" : "after";
    write(this.summary, tensor.summary);
    attribute(this.summary, "title", tensor.note);
    this.out.disabled = this.zoom === 0;
    this.in.disabled = this.zoom === ZOOMS;
    this.showLegend();
    this.updateStops();
  }

  // Words are coloured as what is in registers is, or what is read; values only where they are numbers.
  /** @param {MoveInfo} move @returns {Choice<TensorColour>[]} */
  moveColours({ by }) {
    const [row, column] = this.app.matrices[by].axes ?? ["row", "column"];
    const colours = /** @type {Choice<TensorColour>[]} */ ([
      [row, "row"],
      [column, "column"],
    ]);
    return this.app.matrices[by].kind === "bits" ? colours : [...colours, ["value", "value"]];
  }

  // The matrices by name, in their colours; what other colours mean the list says.
  showLegend() {
    this.legend.replaceChildren();
    if (this.colour === "scale") this.showScaleLegend();
    if (
      this.app.instruction.move &&
      !this.moveColours(this.app.instruction.move).some(([, each]) => each === this.colour)
    )
      this.colour = "row";
    if (this.colour !== "operand") return;
    Object.entries(this.tensor.places).forEach(([name, { text, source }], index) => {
      const key = make("span", "ptx-key", this.legend, { title: `${text}; ${source}` });
      [key.style.background, key.style.color] = this.operandColour(index);
      key.textContent = name;
    });
  }

  // The blocks of K that share a scale.
  showScaleLegend() {
    const { app } = this;
    const { instruction } = app;
    const long = instruction.k / instruction.scale_blocks;
    make("span", "", this.legend).textContent = "k";
    for (let block = 0; block < instruction.scale_blocks; block += 1) {
      const key = make("span", "ptx-key", this.legend, { title: `block ${block} of K` });
      [key.style.background, key.style.color] = app.colours[tint(block) + 1];
      key.textContent = `${block * long}..${(block + 1) * long - 1}`;
    }
  }

  /** @param {number} index @returns {Colour} */
  operandColour(index) {
    return this.app.colours[[2, 30, 26, 14, 18][index % 5]];
  }

  // -- zoom: around the word under the pointer, or else the chosen one --

  /** @param {number} by @param {ClientPoint | null} point */
  zoomBy(by, point = null) {
    const zoom = clamp(this.zoom + by, 0, ZOOMS);
    if (zoom === this.zoom) return;
    const area = this.scroller.getBoundingClientRect();
    const spot = (point && this.wordUnder(point)) ?? this.selected() ?? this.at;
    const before = wordsPlace(this, spot.lane, spot.column);
    const offset = point
      ? { x: point.clientX - area.left, y: point.clientY - area.top }
      : {
          x: clamp(before.x - this.scroller.scrollLeft, 0, this.width),
          y: clamp(before.y - this.scroller.scrollTop, 0, this.height),
        };
    this.zoom = zoom;
    this.app.layout();
    const after = wordsPlace(this, spot.lane, spot.column);
    const inside = point ? 0.5 : 0; // without a pointer its corner stays
    this.scroller.scrollLeft = after.x + after.width * inside - offset.x;
    this.scroller.scrollTop = after.y + after.height * inside - offset.y;
    this.draw();
  }

  // The word of the selected cell.
  selected() {
    const { matrices, selection } = this.app;
    const { mark } = selection;
    const matrix = mark && matrices[mark.name];
    if (!mark || !matrix?.place) return null;
    const index = indexOfCell(matrix, mark);
    return { lane: matrix.place.lane[index], column: matrix.place.column[index] };
  }

  // -- drawing --

  // The words are drawn again only if they, or how they look, changed.
  draw() {
    const { app } = this;
    if (!this.isOpen || !this.cell.width) return;
    const { scrollLeft, scrollTop } = this.scroller;
    const matrices = this.shownMatrices();
    const drawn = [
      app.look,
      this.colour,
      this.before,
      this.version,
      scrollLeft,
      scrollTop,
      this.cell.width,
      this.cell.height,
      this.width,
      this.height,
    ].join();
    const changed = matrices.some((matrix, index) => matrix !== this.painted[index]);
    if (drawn !== this.drawn || changed) drawTensor(this);
    if (drawn === this.drawn)
      matrices.forEach((matrix, index) => {
        const earlier = this.painted[index];
        if (matrix && earlier?.info === matrix.info) this.flash(earlier, matrix);
      });
    [this.drawn, this.painted] = [drawn, matrices];
    this.thread.update();
    this.placeInput();
    this.drawOver();
  }

  /** @returns {(Matrix | undefined)[]} */
  shownMatrices() {
    const { matrices } = this.app;
    const names = /** @type {TensorName[]} */ (Object.keys(this.tensor.places));
    return names.map((name) => matrices[this.matrixName(name)]);
  }

  /** @param {TensorName} name @returns {Name} */
  matrixName(name) {
    return matrixOf(this.app.matrices, name, this.before);
  }

  // What an edit changed is seen for a moment, as in the matrices.
  /** @param {Matrix} before @param {Matrix} matrix */
  flash(before, matrix) {
    const { place } = matrix;
    if (!place) return;
    const words = changedCells(before, matrix).map((index) => place.lane[index] * 1024 + place.column[index]);
    const sorted = [...new Set(words)].sort((one, other) => one - other);
    const starts = sorted.filter((word, index) => sorted[index - 1] !== word - 1).slice(0, MOST_RUNS_LIT);
    for (const start of starts) {
      let count = 1; // neighbours are lit together
      while (sorted[sorted.indexOf(start) + count] === start + count) count += 1;
      const { x, y, width, height } = wordsPlace(this, start >> 10, start & 1023, count);
      const node = make("div", "ptx-flash ptx-memory-flash", this.space, { "aria-hidden": "true" });
      node.style.cssText = `left:${x}px;top:${y}px;width:${Math.max(3, width)}px;height:${Math.max(3, height)}px`;
      fadeOut(node);
    }
  }

  drawOver() {
    if (this.isOpen && this.cell.width) drawTensorMarks(this);
  }

  // -- pointing --

  /** @param {ClientPoint} event */
  wordUnder(event) {
    const area = this.scroller.getBoundingClientRect();
    const x = event.clientX - area.left + this.scroller.scrollLeft;
    const lane = Math.floor((event.clientY - area.top + this.scroller.scrollTop) / this.cell.height);
    if (lane < 0 || lane >= LANES) return null;
    for (let cta = 0; cta < this.tensor.ctas; cta += 1) {
      const column = Math.floor((x - columnEdge(this, cta, 0)) / this.cell.width);
      if (column >= 0 && column < columnsOf(this.tensor, cta)) return { lane: cta * LANES + lane, column };
    }
    return null;
  }

  // The elements of a word.
  /** @param {number} lane @param {number} column */
  elements(lane, column) {
    return elementsIn(this.tensor, this.app.matrices, lane, column, this.before);
  }

  // Of several in a word the one under the pointer; the highest bits are on the left.
  /** @param {ClientPoint} event @returns {Cell | null} */
  cellUnder(event) {
    const word = this.wordUnder(event);
    if (!word) return null;
    const elements = this.elements(word.lane, word.column);
    if (!elements.length) return null;
    const { x, width } = wordsPlace(this, word.lane, word.column);
    const area = this.scroller.getBoundingClientRect();
    const inside = clamp((event.clientX - area.left + this.scroller.scrollLeft - x) / width, 0, 0.999);
    const bit = Math.floor((1 - inside) * 32);
    const at = [...elements].reverse().find(({ low }) => low <= bit) ?? elements[0];
    return this.cellOf(at);
  }

  /** @param {{ name: Name, index: number }} element @returns {Cell} */
  cellOf({ name, index }) {
    return cellOfIndex(this.app.matrices[name], index);
  }

  /** @param {MouseEvent} event */
  point(event) {
    const { app } = this;
    const word = this.wordUnder(event);
    const cell = this.cellUnder(event);
    const before = JSON.stringify(this.pointed);
    this.pointed = cell ? null : word;
    app.hover(cell);
    if (cell) app.tooltip.show(event, () => app.facts(cell));
    else if (word) app.tooltip.show(event, () => this.freeFacts(word.lane, word.column));
    if (before !== JSON.stringify(this.pointed)) app.drawOver();
  }

  /** @param {number} lane @param {number} column */
  freeFacts(lane, column) {
    const { tensor } = this;
    if (tensor.blocks) {
      const { rows } = tensor.blocks[Math.floor(lane / LANES)];
      return [wordName(tensor, lane, column), `free: the instruction takes rows 0 to ${rows - 1}`];
    }
    const name = operandAt(tensor, column, lane);
    const why = name
      ? `free: layout ${tensor.path} leaves this lane of ${name} out`
      : "free: no matrix is in this column";
    return [wordName(tensor, lane, column), why];
  }

  listen() {
    const { app, scroller } = this;
    app.root.addEventListener("keydown", (event) => this.shortcut(event));
    listenToWords(this);
    scroller.addEventListener("click", (event) => {
      if (!isTouch(event) || this.editing) return;
      this.press(event);
      this.point(event);
    });
    let turned = 0;
    scroller.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey) return;
        event.preventDefault();
        turned = Math.sign(turned) === Math.sign(event.deltaY) ? turned + event.deltaY : event.deltaY;
        if (Math.abs(turned) < NOTCH) return;
        turned = 0;
        this.zoomBy(event.deltaY < 0 ? 1 : -1, event);
      },
      { passive: false },
    );
  }

  leave() {
    this.pointed = null;
  }

  // Alt+T opens and closes it.
  /** @param {KeyboardEvent} event */
  shortcut(event) {
    if (!event.altKey || event.ctrlKey || event.metaKey || event.code !== "KeyT") return;
    if (!this.app.instruction.tensor || this.app.instruction.move || this.app.quiz.data) return;
    event.preventDefault();
    event.stopPropagation();
    this.toggle();
  }

  /** @param {ClientPoint} event */
  press(event) {
    const word = this.wordUnder(event);
    if (!word) return;
    const cell = this.cellUnder(event);
    this.chooseThread(word.lane, word.column);
    if (cell) this.app.selection.select(cell, false);
    this.goTo(word.lane, word.column);
  }

  // The thread that gets a word.
  /** @param {number} lane @param {number} column */
  chooseThread(lane, column) {
    const slot = this.load && slotOf(this.load, lane, column);
    if (slot && slot.thread !== this.app.lane) this.app.chooseLane(slot.thread);
  }

  // Where a word is on the page.
  /** @param {number} lane @param {number} column @returns {Place} */
  rect(lane, column) {
    const { x, y, width, height } = wordsPlace(this, lane, column);
    const area = this.scroller.getBoundingClientRect();
    const { scrollLeft, scrollTop } = this.scroller;
    return { x: area.left + x - scrollLeft, y: area.top + y - scrollTop, width, height };
  }

  // -- words: keys and typing --

  get editing() {
    return this.input.classList.contains("editing");
  }

  /** @param {number} lane @param {number} column */
  goTo(lane, column, focus = true) {
    const { tensor } = this;
    const row = clamp(lane, 0, tensor.ctas * LANES - 1);
    this.at = { lane: row, column: clamp(column, 0, columnsOf(tensor, Math.floor(row / LANES)) - 1) };
    const { x, y, width, height } = wordsPlace(this, this.at.lane, this.at.column);
    const { scrollTop, scrollLeft } = this.scroller;
    this.scroller.scrollTop = clamp(scrollTop, y + height - this.height, y);
    this.scroller.scrollLeft = clamp(scrollLeft, x + width - this.width, x);
    this.placeInput();
    if (focus) this.input.focus({ preventScroll: true });
    this.app.drawOver();
  }

  // Goes to a word that is moved.
  /** @param {Cell} cell */
  reveal({ name, row, column }) {
    const { place, columns } = this.app.matrices[name];
    if (name === "C") this.before = true;
    if (name === "D") this.before = false;
    this.showBar();
    this.draw();
    this.goTo(place?.lane[row * columns + column] ?? 0, column);
  }

  placeInput() {
    if (!this.isOpen || !this.cell.width) return;
    const { x, y, width, height } = wordsPlace(this, this.at.lane, this.at.column);
    const [wide, high] = [Math.max(10, width + 1), Math.max(10, height + 1)];
    this.input.style.cssText = `left:${x - 1}px;top:${y - 1}px;width:${wide}px;height:${high}px`;
    attribute(this.input, "aria-label", this.wordFacts(this.at.lane, this.at.column).join(" · "));
  }

  /** @param {number} lane @param {number} column */
  wordFacts(lane, column) {
    const { app, tensor } = this;
    const elements = this.elements(lane, column);
    const number = wordNumber(app.matrices, elements);
    if (number === null) return this.freeFacts(lane, column);
    if (app.instruction.move) return app.cellFacts(this.cellOf(elements[0]));
    const names = elements.map((element) => {
      const { row, column: at } = this.cellOf(element);
      const matrix = app.matrices[element.name];
      return `${matrix.label}[${row}][${at}] = ${cellText(matrix, element.index)}`;
    });
    const unknown = elements.map(({ name }) => app.matrices[name].unknown).find(Boolean);
    return [wordName(tensor, lane, column), unknown ?? hex(number, 32), ...names];
  }

  // What is in the chosen word, if it can be changed.
  target() {
    const { lane, column } = this.at;
    const [element] = this.elements(lane, column);
    const matrix = element && this.app.matrices[element.name];
    const name = operandAt(this.tensor, column, lane);
    if (!matrix || !name) return null;
    const first = this.tensor.places[name]?.first ?? 0;
    const row = this.tensor.blocks ? lane % LANES : lane;
    return { matrix, name: matrix.operand, lane: row, register: column - first };
  }

  beginTyping() {
    if (!this.target()?.matrix.editable) {
      this.input.value = "";
      return;
    }
    this.input.classList.add("editing");
    this.app.tooltip.hide();
  }

  edit() {
    if (this.editing || !this.target()?.matrix.editable) return;
    const [element] = this.elements(this.at.lane, this.at.column);
    const number = wordNumber(this.app.matrices, this.elements(this.at.lane, this.at.column));
    const isMoved = this.app.instruction.move && element;
    this.input.value = isMoved
      ? editText(this.app.matrices[element.name], element.index)
      : hex(number ?? 0, 32);
    this.beginTyping();
    this.input.select();
  }

  commit() {
    if (!this.editing) return;
    const text = this.input.value.trim();
    const target = this.target();
    this.stopTyping();
    if (text && target) this.write(text, target);
  }

  /** @param {string} text @param {{ name: Name, lane: number, register: number }} target */
  write(text, { name, lane, register }) {
    this.app.send({ type: "set_register", name, lane, register, text }, { node: this.input });
  }

  stopTyping() {
    this.input.classList.remove("editing");
    this.input.value = "";
  }

  /** @param {KeyboardEvent} event */
  keyWhileTyping(event) {
    if (event.key === "Escape") this.stopTyping();
    else if (event.key === "Enter") {
      this.commit();
      this.goTo(this.within(this.at.lane, event.shiftKey ? -1 : 1), this.at.column);
    } else return false;
    return true;
  }

  // So many lanes further, in the same of two grids of words.
  /** @param {number} lane @param {number} by */
  within(lane, by) {
    const { blocks } = this.tensor;
    if (!blocks) return lane + by;
    const block = Math.floor(lane / LANES);
    return block * LANES + clamp((lane % LANES) + by, 0, blocks[block].rows - 1);
  }

  // Left and right go on from one grid of words to the other.
  /** @param {[number, number]} move */
  step([down, right]) {
    const { lane, column } = this.at;
    const { blocks } = this.tensor;
    if (!blocks) return;
    const block = Math.floor(lane / LANES);
    const row = lane % LANES;
    if (right === 1 && block === 0 && column === blocks[0].columns - 1 && row < blocks[1].rows)
      this.goTo(LANES + row, 0);
    else if (right === -1 && block === 1 && column === 0 && row < blocks[0].rows)
      this.goTo(row, blocks[0].columns - 1);
    else this.goTo(this.within(lane, down), column + right);
  }

  /** @param {KeyboardEvent} event */
  keyOnWords(event) {
    if (hasModifier(event)) return false;
    const { lane, column } = this.at;
    const page = Math.max(1, Math.floor(this.height / this.cell.height) - 1);
    const moves = /** @type {Record<string, [number, number]>} */ ({
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      PageUp: [-page, 0],
      PageDown: [page, 0],
      Home: [0, -column],
      End: [0, this.tensor.columns],
    });
    const move = moves[event.key];
    if (move) {
      if (this.tensor.blocks) this.step(move);
      else this.goTo(lane + move[0], column + move[1]);
      this.chooseThread(this.at.lane, this.at.column);
      const [element] = this.elements(this.at.lane, this.at.column);
      if (element) this.app.selection.select(this.cellOf(element), false, true, true);
    } else if (event.key === "Enter" || event.key === "F2") this.edit();
    else if (event.key === "+" || event.key === "-") this.zoomBy(event.key === "+" ? 1 : -1);
    else if (event.key === "Delete" || event.key === "Backspace") {
      const target = this.target();
      if (!target?.matrix.editable) return false;
      this.write("0", target);
    } else if (event.key === "Escape") return this.app.problem.dismiss();
    else return false;
    return true;
  }
}
