// The memory view: a matrix in shared memory, bank by bank, and the access that moves it, wavefront by
// wavefront.

import {
  attribute,
  clamp,
  consume,
  focusOn,
  hex,
  make,
  makeIcon,
  makeNumberInput,
  makeSection,
  makeSelect,
  plural,
  wholeNumber,
  write,
} from "../common/util.js";
import { nextInBar, roveTabindex } from "../common/roving_tabindex.js";
import { SCROLLBAR, WordArea } from "../common/scroll_area.js";
import { cellOfIndex, cellText, changedCells, holderOf } from "../matrix/matrix.js";
import { viewHeight } from "../pane/layout.js";
import {
  LINE,
  MEMORY_HEAD,
  WORD,
  byteName,
  bytesPlace,
  cellsIn,
  drawMemory,
  drawMemoryMarks,
  memoryFacts,
  memoryMap,
  numberAt,
} from "./bytes.js";
import { Descriptor } from "./descriptor.js";
import { MemoryPlayer } from "./player.js";

const WORD_WIDTH = { least: 18, most: 46 }; // of a word, in pixels
const LINE_HEIGHT = { least: 11, most: 17 }; // of a line
const MOST_FLASHES = 128; // cells that are lit after an edit
const MEMORY_SHARE = 0.28; // of the view, that the bytes may take

/** @extends {WordArea<number>} */
export class MemoryView extends WordArea {
  /** @param {App} app @param {HTMLElement} parent */
  constructor(app, parent) {
    super(app, MEMORY_HEAD, "word", 0);
    this.sent = /** @type {Sent<MemoryData>} */ ({});
    this.wantsFocus = false; // when it has opened
    this.first = 0; // the first byte of the matrix
    this.moved = false; // whether that is to be scrolled to
    this.painted = /** @type {Matrix | null} */ (null);
    this.word = 0; // the width of a word in pixels,
    this.row = 0; // and the height of a line
    this.node = makeSection(parent, "ptx-memory", "shared memory", "memory");
    this.node.hidden = true;
    this.controls = new MemoryControls(this, this.node);
    this.descriptor = new Descriptor(app, this.node, {
      bits: 64,
      title: "Matrix descriptor",
      called: "the matrix descriptor",
      info: () => this.sent.descriptor,
      setCode: (text, origin) =>
        app.send({ type: "show_memory", name: this.data.name, descriptor: text }, origin),
      setField: (name, text, origin) => app.send({ type: "set_memory_field", name, text }, origin),
    });
    this.node.append(this.frame);
    this.player = new MemoryPlayer(this, this.node);
    app.root.addEventListener("keydown", (event) => this.shortcut(event));
    this.listenToWords();
  }

  // -- what is shown --

  // What Python sent; used only while something is shown.
  get data() {
    return /** @type {MemoryData} */ (this.sent);
  }

  get map() {
    return memoryMap(this.data);
  }

  get isOpen() {
    return this.sent.name !== undefined && !this.app.quiz.data && Boolean(this.matrix); // it would tell lanes
  }

  /** @returns {Matrix | undefined} */
  get matrix() {
    return this.sent.name && this.app.matrices[this.sent.name];
  }

  // The view of one matrix at a time: its button opens and closes it.
  /** @param {Name} name */
  toggle(name) {
    if (this.sent.name === name) {
      focusOn(this.app.paneOf(name)?.caption.querySelector("[data-memory]"));
      this.app.send({ type: "hide_memory" });
    } else this.app.send({ type: "show_memory", name });
  }

  // If it opened, closed, or shows something else, everything is laid out again.
  follow() {
    const sent = this.app.model.get("memory") ?? {};
    if (sent === this.sent) return;
    const other = sent.name !== this.sent.name;
    this.sent = sent;
    this.version += 1;
    this.player.reset();
    this.drawn = "";
    this.pointed = null;
    if (other) this.controls.colour = this.matrix?.lane ? "lane" : "wavefront";
    const first = sent.byte ? this.map.byte.reduce((least, byte) => Math.min(least, byte), Infinity) : 0;
    this.moved ||= other || first !== this.first;
    this.first = first;
    if (sent.size) this.choose(this.moved ? first : this.at);
  }

  // -- layout: it takes what it needs of the view, and the bytes a part of it --

  // The height that it takes from the matrices.
  layout() {
    this.node.hidden = !this.isOpen;
    if (!this.isOpen) return 0;
    const { app, data } = this;
    this.controls.update();
    this.descriptor.update();
    this.player.write();
    const lines = data.size / LINE;
    const room = Math.max(120, MEMORY_SHARE * viewHeight(app));
    this.row = clamp(Math.floor(room / lines), LINE_HEIGHT.least, LINE_HEIGHT.most);
    const scrolls = lines * this.row > room + 1;
    const height = scrolls ? Math.floor(room / this.row) * this.row : lines * this.row;
    const wide = app.layoutWidth - MEMORY_HEAD.left - (scrolls ? SCROLLBAR : 0) - 4;
    this.word = clamp(Math.floor((wide * 4) / 32) / 4, WORD_WIDTH.least, WORD_WIDTH.most);
    this.resize({ width: wide, height }, { width: 32 * this.word, height: lines * this.row });
    if (this.moved) this.scroller.scrollTop = Math.floor(this.first / LINE) * this.row;
    this.moved = false;
    this.drawn = "";
    this.placeInput();
    if (this.wantsFocus) focusOn(this.input);
    this.wantsFocus = false;
    return this.node.offsetHeight + 6;
  }

  // The bytes are drawn again only if they, or how they look, changed.
  draw() {
    const { matrix } = this;
    if (!this.isOpen || !matrix || !this.word) return;
    const { scrollLeft, scrollTop } = this.scroller;
    const drawn = [this.app.look, this.controls.colour, scrollLeft, scrollTop, this.word, this.row].join();
    if (drawn !== this.drawn || this.painted !== matrix) drawMemory(this, matrix);
    if (drawn === this.drawn && this.painted?.info === matrix.info) this.flash(this.painted, matrix);
    [this.drawn, this.painted] = [drawn, matrix];
    this.drawMarks();
  }

  // What an edit changed is seen for a moment, as in the matrices.
  /** @param {Matrix} before @param {Matrix} matrix */
  flash(before, matrix) {
    for (const index of changedCells(before, matrix).slice(0, MOST_FLASHES)) {
      const { x, y, width, height } = bytesPlace(this, this.map.byte[index], this.map.unit);
      this.flashPlace({ x, y, width: width - 1, height: height - 1 });
    }
  }

  drawMarks() {
    if (this.isOpen && this.matrix && this.word) drawMemoryMarks(this, this.matrix);
  }

  // -- pointing --

  // The byte, which names its word as well.
  /** @param {ClientPoint} event */
  wordUnder(event) {
    const { x, y } = this.pointUnder(event);
    const [line, at] = [Math.floor(y / this.row), Math.floor((x / this.word) * WORD)];
    return at >= 0 && at < LINE && line >= 0 && line < this.data.size / LINE ? line * LINE + at : null;
  }

  /** @param {ClientPoint} event */
  cellUnder(event) {
    const address = this.wordUnder(event);
    const at = (this.pointUnder(event).x / this.word) * WORD;
    return address === null ? null : this.cellIn(address, clamp(at - Math.floor(at), 0, 0.999));
  }

  // The cell in a byte: of several in it, the one under the pointer.
  /** @param {number} address @param {number} inside from 0 to 1 @returns {Cell | null} */
  cellIn(address, inside = 0) {
    const { map, matrix } = this;
    if (map.cellAt[address] < 0 || !matrix) return null;
    const step = this.data.major === "row" ? 1 : matrix.columns;
    return cellOfIndex(matrix, map.cellAt[address] + Math.floor(inside * map.perByte) * step);
  }

  /** @param {number} address */
  freeFacts(address) {
    return [byteName(address), `not part of ${this.matrix?.label}: padding, or other data`];
  }

  // Where memory has a cell, in words; null where memory does not show it.
  /** @param {Name} name @param {number} index */
  facts(name, index) {
    return this.isOpen && name === this.sent.name ? memoryFacts(this.data, index) : null;
  }

  // Alt+M: the matrix of the selected cell, or else A; again, and it closes. The focus goes to its bytes and
  // back.
  /** @param {KeyboardEvent} event */
  shortcut(event) {
    if (!event.altKey || event.ctrlKey || event.metaKey || event.code !== "KeyM" || this.app.quiz.data)
      return;
    const { app } = this;
    const wanted = this.node.contains(app.focused()) ? this.sent.name : app.selection.mark?.name;
    const shown = /** @type {Name[]} */ ([wanted ?? "A", "stored", "A"]).find(
      (name) => app.matrices[name]?.in_memory,
    );
    if (!shown) return;
    consume(event);
    this.wantsFocus = this.sent.name !== shown;
    if (!this.wantsFocus) focusOn(app.paneOf(shown)?.input);
    app.send(this.wantsFocus ? { type: "show_memory", name: shown } : { type: "hide_memory" });
  }

  // -- words: keys and typing --

  /** @param {number} address */
  placeOf(address) {
    return bytesPlace(this, address, WORD);
  }

  /** @param {number} address */
  limited(address) {
    return clamp(address - (address % WORD), 0, this.data.size - WORD);
  }

  /** @param {number} lines */
  below(lines) {
    return this.at + lines * LINE;
  }

  get reach() {
    const inLine = this.at % LINE;
    const page = Math.max(1, Math.floor(this.height / this.row) - 1);
    return { page, home: -inLine / WORD, end: (LINE - WORD - inLine) / WORD };
  }

  /** @param {number} down @param {number} right */
  step(down, right) {
    const to = this.at + down * LINE + right * WORD;
    if (to >= 0 && to < this.data.size) this.goTo(to);
    const cell = this.cellIn(this.at);
    if (cell) this.app.selection.select(cell, false);
  }

  chooseThread() {} // no thread has a place of its own in shared memory

  /** @param {number} at */
  wordFacts(at) {
    const { app, data, map, matrix } = this;
    if (!matrix) return [];
    const cells = cellsIn(map, data, matrix, at, WORD);
    const number = numberAt(map, data, matrix, at, WORD);
    if (number === null) return [byteName(at), `not part of ${matrix.label}`];
    const names = cells.map((index) => {
      const { row, column } = cellOfIndex(matrix, index);
      return `${matrix.label}[${row}][${column}] = ${cellText(matrix, index)}`;
    });
    const lanes = [...new Set(cells.map((index) => holderOf(app.matrices, matrix, index)[0].lane?.[index]))];
    const holders = matrix.lane ? [`${plural(lanes.length, "lane")} ${lanes.join(", ")}`] : [];
    return [byteName(at), hex(number, 32), ...names, ...holders, `wavefront ${map.wavefront[cells[0]] + 1}`];
  }

  get editable() {
    return Boolean(this.matrix?.editable);
  }

  wordText() {
    const number = this.matrix ? numberAt(this.map, this.data, this.matrix, this.at, WORD) : null;
    return number === null ? "" : hex(number, 32);
  }

  /** @param {string} text */
  write(text) {
    this.app.send({ type: "set_word", address: this.at, size: WORD, text }, { node: this.input });
    return true;
  }
}

// -- What can be chosen in the memory view: the instruction that moves the matrix, how it lies in memory,
// colours.

const MEMORY_COLOURS = /** @type {Choice<MemoryColour>[]} */ ([
  ["lane", "lane"],
  ["row", "row"],
  ["column", "column"],
  ["wavefront", "wavefront"],
]);

const ONE_LAYOUT = "A saved page has one layout of each matrix; a notebook has all of them";

export class MemoryControls {
  /** @param {MemoryView} view @param {HTMLElement} parent */
  constructor(view, parent) {
    this.view = view;
    this.drawn = "";
    this.colour = /** @type {MemoryColour} */ ("lane");
    this.bar = make("div", "ptx-memory-bar", parent, { role: "toolbar", "aria-label": "shared memory" });
    this.title = make("b", "", this.bar);
    this.node = make("span", "ptx-memory-controls", this.bar);
    this.summary = make("span", "ptx-memory-summary", this.bar, { role: "status" });
    makeIcon(this.bar, "×", "Close the memory view (Alt+M)", () => view.toggle(view.data.name));
    this.updateStops = roveTabindex(this.bar, "button, select", nextInBar);
  }

  update() {
    const { data, matrix } = this.view;
    const isStatic = this.view.app.isStatic;
    write(this.title, `${matrix?.label} in shared memory`);
    write(this.summary, data.summary);
    this.summary.classList.toggle("bad", data.wavefronts > data.least);
    attribute(this.summary, "title", data.facts.join("\n"));
    const key = JSON.stringify([data.name, data.controls, this.colour, isStatic]);
    if (key === this.drawn) return;
    this.drawn = key;
    const focused = /** @type {HTMLElement | null} */ (this.view.app.focused());
    const option = this.node.contains(focused) ? focused?.dataset.option : undefined;
    this.node.replaceChildren();
    for (const control of data.controls) {
      const hint = isStatic ? ONE_LAYOUT : control.hint;
      if ("choices" in control) this.list({ ...control, hint }, isStatic);
      else this.number({ ...control, hint }, isStatic);
    }
    const colours = MEMORY_COLOURS.filter(([, value]) => value !== "lane" || matrix?.lane);
    const colour = { option: "colour", label: "Colour", hint: "What the colours mean", value: this.colour };
    this.select({ ...colour, choices: colours }, (value) => {
      this.colour = /** @type {MemoryColour} */ (value);
      this.view.draw();
      this.update();
    });
    this.updateStops();
    if (option)
      /** @type {HTMLElement | null} */ (this.node.querySelector(`[data-option=${option}]`))?.focus();
  }

  /** @param {Extract<MemoryControl, { choices: unknown }>} control @param {boolean} isStatic */
  list(control, isStatic) {
    const { option, choices, value, modifier } = control;
    const node = this.select(control, (chosen) => {
      node.value = String(choices.findIndex(([, each]) => each === value)); // until Python agrees
      if (modifier && option === "major") {
        const value = modifier[/** @type {"row" | "column"} */ (chosen)];
        this.view.app.send({ type: "set_option", name: modifier.name, value });
      } else this.choose({ [option]: chosen });
    });
    node.disabled = isStatic || choices.length < 2;
  }

  /** @param {MemoryList} list @param {(value: string | number) => void} choose */
  select({ option, label, hint, choices, value }, choose) {
    const node = makeSelect(this.node, label, { title: hint, "data-option": option });
    choices.forEach(([text, , obstacle], index) => {
      const each = make("option", "", node, { value: index, text });
      if (!obstacle) return;
      each.disabled = true;
      each.title = obstacle;
    });
    node.value = String(choices.findIndex(([, each]) => each === value));
    node.addEventListener("change", () => choose(choices[Number(node.value)][1]));
    return node;
  }

  /** @param {Exclude<MemoryControl, { choices: unknown }>} control @param {boolean} isStatic */
  number({ option, label, hint, least, most, step, value }, isStatic) {
    const range = { min: least, max: most, step };
    const node = makeNumberInput(this.node, label, { ...range, title: hint, "data-option": option });
    node.value = String(value);
    node.disabled = isStatic;
    node.addEventListener("change", () => {
      const number = wholeNumber(node);
      if (number === null) node.value = String(value);
      else this.choose({ [option]: number });
    });
    node.addEventListener("keydown", (event) => {
      if (event.key === "Escape") node.value = String(value);
    });
  }

  // The same with one thing changed.
  /** @param {{ [option: string]: string | number }} change */
  choose(change) {
    const { name, by, major, pitch, swizzle, controls } = this.view.data;
    const isTile = pitch === null;
    const turns = controls.some((control) => "modifier" in control && control.modifier);
    this.view.app.send({
      type: "show_memory",
      name,
      by,
      major: isTile || turns ? null : major,
      pitch,
      swizzle,
      ...change,
    });
  }
}
