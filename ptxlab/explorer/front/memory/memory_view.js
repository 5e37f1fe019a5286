// The memory view: a matrix in shared memory, bank by bank, and the access that moves it, wavefront by
// wavefront.

import { attribute, consume, focusOn, focusedIn, make, makeIcon, makeSection, write } from "../common/dom.js";
import { clamp, hex } from "../common/numbers.js";
import { Controls } from "../common/controls.js";
import { nextInBar, roveTabindex } from "../common/roving_tabindex.js";
import { SCROLLBAR, WordGrid, ZOOMS } from "../common/canvas_grid.js";
import { laneNames } from "../matrix/describe.js";
import { cellOfIndex, cellText, changedCells, holderOf } from "../matrix/matrix.js";
import { viewHeight } from "../pane/scene_layout.js";
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
} from "./byte_map.js";
import { DescriptorEditor } from "./descriptor_editor.js";
import { Access } from "./memory_access.js";

const MEMORY_COLOURS = /** @type {MemoryColour[]} */ (["lane", "row", "column", "wavefront"]);
const ONE_LAYOUT = "A saved page has one layout of each matrix; a notebook has all of them";
// Widths of a word in pixels: up to `most`, its hexadecimal number fits; at the largest zoom, labels of its bytes do.
const WORD_WIDTH = { least: 18, most: 56 };
const WORD_NEAR = 112;
const LINE_HEIGHT = { least: 13, most: 18 };
// cells that are lit after an edit
const MAX_FLASHES = 128;
// of the height of the view, for the bytes
const MEMORY_SHARE = 0.28;

/** @extends {WordGrid<number>} */
export class MemoryView extends WordGrid {
  /** @param {App} app @param {HTMLElement} parent */
  constructor(app, parent) {
    super(app, MEMORY_HEAD, "word", 0);
    this.sent = /** @type {Sent<MemoryData>} */ ({});
    // The input takes the focus once the view has opened.
    this.wantsFocus = false;
    // The first byte of the matrix.
    this.first = 0;
    // Whether the view scrolls to that byte when it is drawn.
    this.scrollsToFirst = false;
    this.node = makeSection(parent, "ptx-memory", "shared memory", "memory");
    this.node.hidden = true;
    this.controls = new MemoryControls(this, this.node);
    this.descriptor = new DescriptorEditor(app, this.node, {
      bits: 64,
      title: "Matrix descriptor",
      called: "the matrix descriptor",
      info: () => this.sent.descriptor,
      setCode: (text, origin) =>
        app.send({ type: "show_memory", name: this.data.name, descriptor: text }, origin),
      setField: (name, text, origin) => app.send({ type: "set_memory_field", name, text }, origin),
    });
    this.node.append(this.frame);
    this.access = new Access(this);
    this.text = make("output", "ptx-memory-text", this.node);
    app.root.addEventListener("keydown", (event) => this.shortcut(event));
    this.listen();
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
    return this.sent.name !== undefined && !this.content.quiz.data && Boolean(this.matrix); // it would tell lanes
  }

  /** @returns {Matrix | undefined} */
  get matrix() {
    return this.sent.name && this.content.matrices[this.sent.name];
  }

  // The view of one matrix at a time: its button opens and closes it.
  /** @param {Name} name */
  toggle(name) {
    if (this.sent.name === name) {
      focusOn(this.scene.paneOf(name)?.caption.querySelector("[data-memory]"));
      this.send({ type: "hide_memory" });
    } else this.send({ type: "show_memory", name });
  }

  // If it opened, closed, or shows something else, everything is laid out again.
  readFromModel() {
    const sent = this.content.model.get("memory") ?? {};
    if (sent === this.sent) return;
    const other = sent.name !== this.sent.name;
    this.sent = sent;
    this.version += 1;
    this.drawn = "";
    this.pointed = null;
    if (other) this.controls.colour = this.matrix?.lane ? "lane" : "wavefront";
    const first = sent.byte ? this.map.byte.reduce((least, byte) => Math.min(least, byte), Infinity) : 0;
    this.scrollsToFirst ||= other || first !== this.first;
    this.first = first;
    if (sent.size) this.choose(this.scrollsToFirst ? first : this.at);
  }

  // -- layout: it takes what it needs of the view, and the bytes a part of it --

  // The height that it takes from the matrices.
  layout() {
    this.node.hidden = !this.isOpen;
    if (!this.isOpen) return 0;
    const { app, data } = this;
    this.controls.update();
    this.descriptor.update();
    write(this.text, data.facts.join(" · "));
    const lines = data.size / LINE;
    const room = Math.max(120, MEMORY_SHARE * viewHeight(app));
    const row = clamp(Math.floor(room / lines), LINE_HEIGHT.least, LINE_HEIGHT.most);
    const scrolls = lines * row > room + 1;
    const height = scrolls ? Math.floor(room / row) * row : lines * row;
    const wide = app.layoutWidth - MEMORY_HEAD.left - (scrolls ? SCROLLBAR : 0) - 4;
    const fit = clamp(Math.floor((wide * 4) / 32) / 4, WORD_WIDTH.least, WORD_WIDTH.most);
    this.cell = { width: fit + ((WORD_NEAR - fit) * this.zoom) / ZOOMS, height: row };
    this.resize({ width: wide, height }, { width: 32 * this.cell.width, height: lines * row });
    if (this.scrollsToFirst) this.scroller.scrollTop = Math.floor(this.first / LINE) * row;
    this.scrollsToFirst = false;
    this.drawn = "";
    this.placeInput();
    if (this.wantsFocus) focusOn(this.input);
    this.wantsFocus = false;
    return this.node.offsetHeight + 6;
  }

  get style() {
    return this.controls.colour;
  }

  shownMatrices() {
    return [this.matrix];
  }

  drawWords() {
    if (this.matrix) drawMemory(this, this.matrix);
  }

  /** @param {Matrix} before @param {Matrix} matrix */
  changedPlaces(before, matrix) {
    const cells = changedCells(before, matrix).slice(0, MAX_FLASHES);
    return cells.map((index) => {
      const { x, y, width, height } = bytesPlace(this, this.map.byte[index], this.map.unit);
      return { x, y, width: width - 1, height: height - 1 };
    });
  }

  drawMarks() {
    if (this.isOpen && this.matrix && this.cell.width) drawMemoryMarks(this, this.matrix);
  }

  // -- pointing --

  // The byte, which names its word as well.
  /** @param {ClientPoint} event */
  wordUnder(event) {
    const { x, y } = this.pointUnder(event);
    const [line, at] = [Math.floor(y / this.cell.height), Math.floor((x / this.cell.width) * WORD)];
    return at >= 0 && at < LINE && line >= 0 && line < this.data.size / LINE ? line * LINE + at : null;
  }

  /** @param {ClientPoint} event */
  cellUnder(event) {
    const address = this.wordUnder(event);
    const at = (this.pointUnder(event).x / this.cell.width) * WORD;
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
    return this.isOpen && name === this.sent.name
      ? memoryFacts(this.data, index, this.content.instruction)
      : null;
  }

  // Alt+M: the matrix of the selected cell, or else A; again, and it closes. The focus goes to its bytes and
  // back.
  /** @param {KeyboardEvent} event */
  shortcut(event) {
    if (!event.altKey || event.ctrlKey || event.metaKey || event.code !== "KeyM" || this.content.quiz.data)
      return;
    const { content, selection, scene } = this;
    const wanted = focusedIn(this.node) ? this.sent.name : selection.mark?.name;
    const shown = /** @type {Name[]} */ ([wanted ?? "A", "stored", "A"]).find(
      (name) => content.matrices[name]?.in_memory,
    );
    if (!shown) return;
    consume(event);
    this.wantsFocus = this.sent.name !== shown;
    if (!this.wantsFocus) focusOn(scene.paneOf(shown)?.input);
    this.send(this.wantsFocus ? { type: "show_memory", name: shown } : { type: "hide_memory" });
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
    const page = Math.max(1, Math.floor(this.height / this.cell.height) - 1);
    return { page, home: -inLine / WORD, end: (LINE - WORD - inLine) / WORD };
  }

  /** @param {number} down @param {number} right */
  step(down, right) {
    const to = this.at + down * LINE + right * WORD;
    if (to >= 0 && to < this.data.size) this.goTo(to);
    const cell = this.cellIn(this.at);
    if (cell) this.selection.select(cell, false);
  }

  // The word of the selected cell.
  selected() {
    const { mark } = this.selection;
    const { matrix } = this;
    if (!mark || !matrix || mark.name !== matrix.name) return null;
    const address = this.map.byte[mark.row * matrix.columns + mark.column];
    return address - (address % WORD);
  }

  chooseThread() {} // no thread has a place of its own in shared memory

  /** @param {number} at */
  wordFacts(at) {
    const { data, map, matrix, content } = this;
    if (!matrix) return [];
    const cells = cellsIn(map, data, matrix, at, WORD);
    const number = numberAt(map, data, matrix, at, WORD);
    if (number === null) return [byteName(at), `not part of ${matrix.label}`];
    const names = cells.map((index) => {
      const { row, column } = cellOfIndex(matrix, index);
      return `${matrix.label}[${row}][${column}] = ${cellText(matrix, index)}`;
    });
    const lanes = new Set(
      cells.map((index) => holderOf(content.matrices, matrix, index)[0].lane?.[index] ?? 0),
    );
    const holders = matrix.lane ? [laneNames([...lanes], content.instruction)] : [];
    return [byteName(at), hex(number, 32), ...names, ...holders, `wavefront ${map.wavefront[cells[0]] + 1}`];
  }

  get editable() {
    return Boolean(this.matrix?.editable);
  }

  chosenText() {
    const number = this.matrix ? numberAt(this.map, this.data, this.matrix, this.at, WORD) : null;
    return number === null ? "" : hex(number, 32);
  }

  /** @param {string} text */
  write(text) {
    this.send({ type: "set_word", address: this.at, size: WORD, text }, { node: this.input });
    return true;
  }
}

// What can be chosen in the memory view: the instruction that moves the matrix, how it lies in memory, colours.
class MemoryControls {
  /** @param {MemoryView} view @param {HTMLElement} parent */
  constructor(view, parent) {
    this.view = view;
    this.colour = /** @type {MemoryColour} */ ("lane");
    this.bar = make("div", "ptx-memory-bar", parent, { role: "toolbar", "aria-label": "shared memory" });
    this.title = make("b", "", this.bar);
    const node = make("span", "ptx-memory-controls", this.bar);
    this.controls = new Controls(node, "data-option", (name, value) => this.choose(name, value));
    this.summary = make("span", "ptx-memory-summary", this.bar, { role: "status" });
    makeIcon(this.bar, "×", "Close the memory view (Alt+M)", () => view.toggle(view.data.name));
    this.updateStops = roveTabindex(this.bar, "button, select", nextInBar);
  }

  update() {
    const { data, matrix, content } = this.view;
    const { isStatic } = content;
    write(this.title, `${matrix?.label} in shared memory`);
    write(this.summary, data.summary);
    this.summary.classList.toggle("bad", data.wavefronts > data.least);
    attribute(this.summary, "title", data.facts.join("\n"));
    const controls = data.controls.map((control) => ({
      ...control,
      hint: isStatic ? ONE_LAYOUT : control.hint,
      disabled: isStatic || (control.choices?.length ?? 2) < 2,
    }));
    const colours = matrix?.lane ? MEMORY_COLOURS : MEMORY_COLOURS.slice(1);
    const choices = /** @type {Choice<string>[]} */ (colours.map((colour) => [colour, colour]));
    const colour = { name: "colour", label: "Colour", hint: "What the colours mean", value: this.colour };
    this.controls.showControls([...controls, { ...colour, choices }]);
    this.updateStops();
  }

  // The same with one thing changed.
  /** @param {string} option @param {string | number} chosen */
  choose(option, chosen) {
    const { send, data } = this.view;
    const { name, by, major, pitch, swizzle, layout, controls } = data;
    const [modifier] = controls.flatMap((control) => control.modifier ?? []);
    // JupyterLite has undefined for Python's None
    const isTile = (pitch ?? null) === null;
    if (option === "colour") {
      this.colour = /** @type {MemoryColour} */ (chosen);
      this.view.draw();
      this.update();
    } else if (modifier && option === "major") {
      const value = modifier[/** @type {"row" | "column"} */ (chosen)];
      send({ type: "set_option", name: modifier.name, value });
    } else {
      const kept = { name, by, major: isTile || modifier ? null : major, pitch, swizzle };
      const asked = layout && option === "by" ? { name, layout } : kept;
      send({ type: "show_memory", ...asked, [option]: chosen });
    }
  }
}
