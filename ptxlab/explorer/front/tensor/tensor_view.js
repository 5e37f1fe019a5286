// The view of tensor memory: 128 lanes by the columns that the instruction uses, of one CTA or both, and what a
// tcgen05.ld reads from it. It is below the matrices of tcgen05, and each highlights cells of the other.

import { consume, focusOn, make, makeSection } from "../common/dom.js";
import { clamp, hex } from "../common/numbers.js";
import { SCROLLBAR, WordGrid, ZOOMS } from "../common/canvas_grid.js";
import { cellOfIndex, cellText, changedCells, editText, indexOfCell, laneOf } from "../matrix/matrix.js";
import { linesAbove, viewHeight } from "../pane/scene_layout.js";
import {
  LANES,
  columnsOf,
  elementsIn,
  matrixOf,
  operandAt,
  rowsOf,
  slotOf,
  wordName,
  wordNumber,
} from "./word_places.js";
import {
  MIN_WORD,
  TENSOR_HEAD,
  columnEdge,
  drawTensor,
  drawTensorMarks,
  gapBetween,
  wordsPlace,
} from "./draw_tensor.js";
import { TensorControls } from "./tensor_controls.js";
import { ThreadRegisters } from "./thread_registers.js";

// The height of the lanes: a share of the view below the tools, and at least so many pixels.
const TENSOR_SHARE = 0.3;
const MIN_LANES = 128;
// The height of the words of a transfer: at least so many pixels, and this share of a narrow view, where registers
// are below them.
const MIN_MOVE = 180;
const NARROW_SHARE = 0.5;
// Sizes of a word in pixels: at the largest zoom, where hexadecimal numbers are wider; and at most before any zoom.
const READABLE = { width: 46, height: 14 };
const READABLE_HEX = 58;
const MAX_MOVED = 64;
const MAX_HIGH = 20;
// groups of neighbouring words that are lit after an edit
const MAX_RUNS_LIT = 128;
// the width of the registers beside it
const THREAD_PANEL = 356;

/** @extends {WordGrid<TensorWord>} */
export class TensorView extends WordGrid {
  /** @param {App} app @param {HTMLElement} parent */
  constructor(app, parent) {
    super(app, TENSOR_HEAD, "tensor-word", { lane: 0, column: 0 });
    this.closed = false;
    // whether C is shown, which is D before the instruction
    this.before = false;
    this.colour = /** @type {TensorColour} */ ("row");
    // what the canvas of marks shows
    this.marked = "";
    this.info = /** @type {TensorInfo | undefined} */ (undefined);
    this.loaded = /** @type {Sent<LoadData> | null} */ (null);
    // a pixel for every word, of each CTA
    this.pictures = /** @type {HTMLCanvasElement[]} */ ([]);
    this.pictured = "";
    this.node = makeSection(parent, "ptx-tensor", "tensor memory", "tensor");
    this.node.hidden = true;
    this.controls = new TensorControls(this, this.node);
    const body = make("div", "ptx-tensor-body", this.node);
    body.append(this.frame);
    this.thread = new ThreadRegisters(this, body);
    app.root.addEventListener("keydown", (event) => this.shortcut(event));
    this.listen();
  }

  // -- what is shown --

  get isOpen() {
    const { app, content } = this;
    // the verdict of a question is seen in it
    if (content.instruction.transfer) return true;
    return Boolean(content.instruction.tensor && !this.closed && !app.memory.isOpen && !content.quiz.open);
  }

  // Only while the view is open.
  get tensor() {
    return /** @type {TensorInfo} */ (this.content.instruction.tensor);
  }

  /** @returns {LoadData | null} */
  get load() {
    const load = this.content.model.get("load");
    return load?.mnemonic ? /** @type {LoadData} */ (load) : null;
  }

  // Closes shared memory, if that is open.
  toggle() {
    const { app, scene } = this;
    if (app.memory.isOpen) app.send({ type: "hide_memory" });
    this.closed = this.isOpen;
    this.version += 1;
    app.refresh();
    focusOn(this.isOpen ? this.input : scene.paneOf("D")?.input);
  }

  // Another instruction has other columns.
  readFromModel() {
    const { tensor } = this.content.instruction;
    const load = this.content.model.get("load") ?? null;
    if (tensor === this.info && load === this.loaded) return;
    if (tensor !== this.info) {
      this.version += 1;
      this.pointed = null;
      this.at = { lane: 0, column: 0 };
      if (!tensor?.places.SFA && this.colour === "scale") this.colour = "row";
      if (tensor?.blocks && !this.info?.blocks) this.zoom = 0;
      if (tensor?.blocks && !["row", "column", "value"].includes(this.colour)) this.colour = "row";
      if (tensor?.blocks && !this.content.instruction.matrices.C) this.before = false;
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
    const { app, content, scene } = this;
    this.controls.update();
    const { transfer } = content.instruction;
    const beside = app.layoutWidth >= 900;
    const withThread = !transfer || Boolean(transfer.registers);
    this.node.classList.toggle("ptx-tensor-narrow", !beside);
    const panel = beside && withThread ? THREAD_PANEL + 14 : 0;
    const wide = app.layoutWidth - TENSOR_HEAD.left - panel - SCROLLBAR - 4 - this.gaps;
    const high = transfer
      ? this.roomForTransfer(beside || !withThread)
      : Math.max(MIN_LANES, TENSOR_SHARE * (viewHeight(app) - linesAbove(app) - scene.stage.offsetTop));
    const [columns, rows] = [this.allColumns, rowsOf(this.tensor)];
    const fit = {
      width: Math.min(wide / columns, transfer ? MAX_MOVED : 30),
      height: clamp(Math.floor((high / rows) * 2) / 2, 1, MAX_HIGH),
    };
    this.cell = this.zoomedCell(fit, transfer ? READABLE_HEX : READABLE.width);
    const view = { width: wide + this.gaps, height: rows * fit.height };
    this.resize(view, { width: columns * this.cell.width + this.gaps, height: rows * this.cell.height });
    this.frame.style.height = `${TENSOR_HEAD.top + view.height + SCROLLBAR}px`; // the same for every zoom
    this.drawn = this.marked = "";
    this.thread.layout(TENSOR_HEAD.top + this.height);
    this.placeInput();
    return this.node.offsetHeight + 14;
  }

  // From a size at which all words fit to one at which they can be read.
  /** @param {Size} fit @param {number} readable */
  zoomedCell(fit, readable) {
    if (!this.zoom) return { width: Math.floor(fit.width * 64) / 64, height: fit.height };
    /** @param {number} from @param {number} to */
    const ease = (from, to) => from * (Math.max(from, to) / from) ** (this.zoom / ZOOMS);
    return {
      width: Math.round(ease(fit.width, readable) * 4) / 4,
      height: Math.round(ease(fit.height, READABLE.height)),
    };
  }

  // Of all CTAs, or of both grids of words.
  get allColumns() {
    let columns = 0;
    for (let cta = 0; cta < this.tensor.ctas; cta += 1) columns += columnsOf(this.tensor, cta);
    return columns;
  }

  // All of the view that is left, or half of it where registers stand below.
  /** @param {boolean} whole */
  roomForTransfer(whole) {
    const { app } = this;
    const above = this.frame.getBoundingClientRect().top - app.root.getBoundingClientRect().top;
    const below = TENSOR_HEAD.top + SCROLLBAR + this.status.node.offsetHeight + 24;
    if (!whole) return Math.max(MIN_MOVE, NARROW_SHARE * viewHeight(app));
    const room = viewHeight(app) - above - below - linesAbove(app);
    const withTimeline = room - this.timeline.node.offsetHeight;
    // the timeline is below the view where that alone makes rows high enough for digits
    const needed = MIN_WORD * rowsOf(this.tensor);
    return Math.max(MIN_MOVE, needed <= room ? Math.max(needed, withTimeline) : withTimeline);
  }

  get gaps() {
    return (this.tensor.ctas - 1) * gapBetween(this);
  }

  // The word of the selected cell.
  selected() {
    const { matrices } = this.content;
    const { selection } = this;
    const { mark } = selection;
    const matrix = mark && matrices[mark.name];
    if (!mark || !matrix?.place) return null;
    const index = indexOfCell(matrix, mark);
    return { lane: matrix.place.lane[index], column: matrix.place.column[index] };
  }

  // -- drawing --

  get style() {
    return `${this.colour} ${this.before}`;
  }

  draw() {
    if (!this.isOpen || !this.cell.width) return;
    super.draw();
    this.thread.update();
    this.placeInput();
  }

  drawWords() {
    drawTensor(this);
  }

  /** @returns {(Matrix | undefined)[]} */
  shownMatrices() {
    const { matrices } = this.content;
    const names = /** @type {TensorName[]} */ (Object.keys(this.tensor.places));
    return names.map((name) => matrices[this.matrixName(name)]);
  }

  /** @param {TensorName} name @returns {Name} */
  matrixName(name) {
    return matrixOf(this.content.matrices, name, this.before);
  }

  // Neighbours are lit together.
  /** @param {Matrix} before @param {Matrix} matrix */
  changedPlaces(before, matrix) {
    const { place } = matrix;
    if (!place) return [];
    const words = changedCells(before, matrix).map((index) => place.lane[index] * 1024 + place.column[index]);
    const sorted = [...new Set(words)].sort((one, other) => one - other);
    const starts = sorted.filter((word, index) => sorted[index - 1] !== word - 1).slice(0, MAX_RUNS_LIT);
    return starts.map((start) => {
      let count = 1;
      while (sorted[sorted.indexOf(start) + count] === start + count) count += 1;
      const { x, y, width, height } = wordsPlace(this, start >> 10, start & 1023, count);
      return { x, y, width: Math.max(3, width), height: Math.max(3, height) };
    });
  }

  drawMarks() {
    if (this.isOpen && this.cell.width) drawTensorMarks(this);
  }

  // -- pointing --

  /** @param {ClientPoint} event */
  wordUnder(event) {
    const { x, y } = this.pointUnder(event);
    const lane = Math.floor(y / this.cell.height);
    if (lane < 0 || lane >= rowsOf(this.tensor)) return null;
    for (let cta = 0; cta < this.tensor.ctas; cta += 1) {
      const column = Math.floor((x - columnEdge(this, cta, 0)) / this.cell.width);
      if (column >= 0 && column < columnsOf(this.tensor, cta)) return { lane: cta * LANES + lane, column };
    }
    return null;
  }

  // The elements of a word.
  /** @param {TensorWord} word */
  elements({ lane, column }) {
    return elementsIn(this.tensor, this.content.matrices, lane, column, this.before);
  }

  // The element under the pointer: the highest bits of a word are on the left.
  /** @param {ClientPoint} event @returns {Cell | null} */
  cellUnder(event) {
    const word = this.wordUnder(event);
    const elements = word ? this.elements(word) : [];
    if (!word || !elements.length) return null;
    const { x, width } = this.placeOf(word);
    const inside = clamp((this.pointUnder(event).x - x) / width, 0, 0.999);
    const bit = Math.floor((1 - inside) * 32);
    return this.cellOf([...elements].reverse().find(({ low }) => low <= bit) ?? elements[0]);
  }

  /** @param {{ name: Name, index: number }} element @returns {Cell} */
  cellOf({ name, index }) {
    return cellOfIndex(this.content.matrices[name], index);
  }

  /** @param {TensorWord} word */
  freeFacts({ lane, column }) {
    const { tensor } = this;
    const name = operandAt(tensor, column, lane);
    const rows = tensor.blocks?.[Math.floor(lane / LANES)].rows;
    let why = "free: no matrix is in this column";
    if (rows !== undefined) why = `free: the instruction uses rows 0 to ${rows - 1}`;
    else if (name) why = `free: layout ${tensor.path} does not use this lane for ${name}`;
    return [wordName(tensor, lane, column), why];
  }

  // Alt+T opens and closes it.
  /** @param {KeyboardEvent} event */
  shortcut(event) {
    if (!event.altKey || event.ctrlKey || event.metaKey || event.code !== "KeyT") return;
    if (!this.content.instruction.tensor || this.content.instruction.transfer || this.content.quiz.data)
      return;
    consume(event);
    this.toggle();
  }

  // The thread that gets a word.
  /** @param {TensorWord} word */
  chooseThread({ lane, column }) {
    const slot = this.load && slotOf(this.load, lane, column);
    if (slot && slot.thread !== this.content.lane) this.selection.chooseLane(slot.thread);
  }

  // -- words: keys and typing --

  /** @param {TensorWord} word */
  placeOf({ lane, column }) {
    return wordsPlace(this, lane, column);
  }

  /** @param {TensorWord} word */
  limited({ lane, column }) {
    const { tensor } = this;
    const row = clamp(lane, 0, tensor.ctas * LANES - 1);
    return { lane: row, column: clamp(column, 0, columnsOf(tensor, Math.floor(row / LANES)) - 1) };
  }

  // Goes to a word that is moved.
  /** @param {Cell} cell */
  reveal({ name, row, column }) {
    const { place, columns } = this.content.matrices[name];
    if (name === "C" || name === "D") this.before = name === "C";
    this.controls.update();
    this.draw();
    this.goTo({ lane: place?.lane[row * columns + column] ?? 0, column });
  }

  /** @param {TensorWord} word */
  wordFacts(word) {
    const { tensor, content, pointing } = this;
    const elements = this.elements(word);
    const number = wordNumber(content.matrices, elements);
    if (number === null) return this.freeFacts(word);
    if (content.instruction.transfer) return pointing.facts(this.cellOf(elements[0]));
    const names = elements.map((element) => {
      const { row, column } = this.cellOf(element);
      const matrix = content.matrices[element.name];
      return `${matrix.label}[${row}][${column}] = ${cellText(matrix, element.index)}`;
    });
    const unknown = elements.map(({ name }) => content.matrices[name].unknown).find(Boolean);
    return [wordName(tensor, word.lane, word.column), unknown ?? hex(number, 32), ...names];
  }

  // The matrix in the chosen word.
  get chosen() {
    const [element] = this.elements(this.at);
    return element && this.content.matrices[element.name];
  }

  get editable() {
    return Boolean(this.chosen?.editable);
  }

  chosenText() {
    const elements = this.elements(this.at);
    const { matrices, instruction } = this.content;
    if (instruction.transfer) return editText(matrices[elements[0].name], elements[0].index);
    return hex(wordNumber(matrices, elements) ?? 0, 32);
  }

  /** @param {string} text */
  write(text) {
    const { lane, column } = this.at;
    const operand = operandAt(this.tensor, column, lane);
    if (!this.editable || !operand) return false;
    const register = column - (this.tensor.places[operand]?.first ?? 0);
    const name = this.chosen.operand;
    this.send(
      this.tensor.blocks
        ? { type: "set_cell", name, row: lane % LANES, column: register, text }
        : { type: "set_register", name, lane, register, text },
      { node: this.input },
    );
    return true;
  }

  // A lane so many rows further down, in the same grid of words.
  /** @param {number} rows */
  below(rows) {
    const { lane, column } = this.at;
    const { blocks } = this.tensor;
    if (!blocks) return { lane: lane + rows, column };
    const block = Math.floor(lane / LANES);
    return { lane: block * LANES + clamp((lane % LANES) + rows, 0, blocks[block].rows - 1), column };
  }

  get reach() {
    const page = Math.max(1, Math.floor(this.height / this.cell.height) - 1);
    return { page, home: -this.at.column, end: this.tensor.columns };
  }

  /** @param {number} down @param {number} right */
  step(down, right) {
    const { lane, column } = this.below(down);
    this.goTo(this.inOtherGrid(right) ?? { lane, column: column + right });
    this.chooseThread(this.at);
    const [element] = this.elements(this.at);
    if (!element) return;
    const cell = this.cellOf(element);
    const isSameLane = laneOf(this.content.matrices, cell) === this.content.lane;
    this.selection.select(cell, false, true, isSameLane);
  }

  // Left and right go on from one grid of words to the other.
  /** @param {number} right */
  inOtherGrid(right) {
    const { lane, column } = this.at;
    const { blocks } = this.tensor;
    const row = lane % LANES;
    if (!blocks) return null;
    if (right === 1 && lane < LANES && column === blocks[0].columns - 1 && row < blocks[1].rows)
      return { lane: LANES + row, column: 0 };
    const isFirst = right === -1 && lane >= LANES && column === 0 && row < blocks[0].rows;
    return isFirst ? { lane: row, column: blocks[0].columns - 1 } : null;
  }
}
