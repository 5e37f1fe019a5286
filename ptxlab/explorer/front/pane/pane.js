// A pane: one or two matrices on a canvas, with a scroller and an input above it.

import { ARROWS, focusOn, focusedIn, make, makeButton, paint, write } from "../common/dom.js";
import { clamp } from "../common/numbers.js";
import { editText, indexOfCell } from "../matrix/matrix.js";
import { legendOf } from "../matrix/colours.js";
import { GUTTER, headings } from "./edges.js";
import { CanvasGrid } from "../common/canvas_grid.js";
import { drawPane, drawPaneMarks, numbersShown } from "./draw_pane.js";
import { FillHandle } from "./fill_handle.js";
import { showRefusal } from "../common/problem.js";
import { keyOnCells, listenToPane } from "./pane_input.js";

// captions
const SHORTER = ["ptx-short", "ptx-shorter", "ptx-shortest", "ptx-least", "ptx-bare"];

// The index at a distance in pixels, where every `per` indices a new period begins.
/** @param {Along & { count: number }} along @param {number} pixels @param {boolean} sharp */
function indexAt({ per, period, offset, size, count }, pixels, sharp) {
  const turn = Math.floor(pixels / period);
  const inside = Math.floor((pixels - turn * period - offset) / size);
  const index = turn * per + clamp(inside, 0, per - 1);
  if (sharp && (inside < 0 || inside >= per || index < 0 || index >= count)) return -1;
  return clamp(index, 0, count - 1);
}

// Of a caption, from the first thing in it that is shown to the last.
/** @param {HTMLElement} caption */
function lengthOf(caption) {
  const boxes = [...caption.children]
    .map((node) => node.getBoundingClientRect())
    .filter(({ width }) => width);
  return Math.max(...boxes.map(({ right }) => right)) - Math.min(...boxes.map(({ left }) => left));
}

export class Pane extends CanvasGrid {
  /** @param {App} app @param {Scene} scene @param {Name[]} names */
  constructor(app, scene, names) {
    super(app, {
      head: GUTTER,
      frame: "ptx-frame",
      input: "ptx-cell",
      bar: 0, // edges and the map tell that there is more
      attributes: { "data-matrix": names[0] },
    });
    this.scene = scene;
    this.names = names;
    this.layers = /** @type {Layer[]} */ ([]);
    this.row = 0;
    this.total = { width: 0, height: 0 };
    // with fewer and fewer words
    this.captionLengths = /** @type {Map<string, number[]>} */ (new Map());
    // what the caption and the canvases show
    this.captionKey = this.drawn = this.marked = "";
    this.painted = /** @type {Matrix[]} */ ([]);
    // where names of warps are, over which no lane is outlined
    this.warpNames = /** @type {Place[]} */ ([]);
    this.at = { x: 0, y: 0 }; // how far it is scrolled,
    this.farthest = { x: 0, y: 0 }; // and how far it can be
    // whether only its name is shown
    this.isFolded = false;
    this.dragging = this.tapped = false;
    this.node = make("figure", "ptx-pane", scene.node, { "data-pane": names[0] });
    this.caption = make("figcaption", "ptx-caption", this.node);
    this.node.append(this.frame);
    this.handle = new FillHandle(this);
    // over the cells that just changed
    this.flash = /** @type {HTMLElement | null} */ (null);
    // what was selected when the focus left
    this.left = /** @type {Mark | null} */ (null);
    this.refusalBox = /** @type {HTMLElement | null} */ (null);
    // why it is empty
    this.unknown = /** @type {HTMLElement | null} */ (null);
    this.shownRefusal = /** @type {Refusal | null} */ (null);
    listenToPane(this);
    this.listen();
  }

  // Geometry: layers repeat in periods, so that compressed cells and nibbles share the width of a chunk.
  /** @param {Plan[]} layers @param {number} row @param {Size} view */
  arrange(layers, row, view) {
    const { content } = this;
    const main = content.matrices[this.names[0]];
    const plain = { per: main.rows, period: main.rows * row, offset: 0, size: row };
    this.isFolded = !content.isUnfolded(this.names[0]) || this.isAside;
    this.frame.hidden = this.isFolded;
    this.layers = layers
      .filter((layer) => content.matrices[layer.name])
      .map((layer) => ({ down: plain, ...layer }));
    this.row = row;
    const [{ per, period, wide, down }] = this.layers;
    this.total = {
      width: wide ?? period * Math.ceil(main.columns / per),
      height: down.period * Math.ceil(main.rows / down.per),
    };
    this.resize(view, this.total);
    this.caption.style.width = `${GUTTER.left + this.width}px`;
    this.farthest = { x: this.total.width - this.width, y: this.total.height - this.height };
    this.endFlash();
    // other cells are seen
    this.drawn = this.marked = "";
    this.updateCaption();
  }

  get axes() {
    return this.scene.axesOf(this);
  }

  // Whether another matrix is seen alone.
  get isAside() {
    const { only } = this.scene.plan;
    return only !== undefined && only !== this.names[0];
  }

  // Kept, because reading it makes the browser lay out everything that was written since.
  readScroll() {
    this.at = { x: this.scroller.scrollLeft, y: this.scroller.scrollTop };
  }

  updateCaption() {
    const { content, pointing, selection } = this;
    const parts = this.names.map((name) => content.matrices[name]).filter(Boolean);
    const here = selection.mark && this.names.includes(selection.mark.name) ? selection.mark : null;
    this.input.setAttribute(
      "aria-label",
      here ? pointing.facts(here).join(" · ") : `${parts.map(({ label }) => label).join(" and ")}, cell`,
    );
    this.showUnknown();
    const key = this.captionContent(parts);
    if (key !== this.captionKey) this.drawCaption(parts);
    this.captionKey = key;
    this.fitCaption();
  }

  // What the caption depends on.
  /** @param {Matrix[]} parts */
  captionContent(parts) {
    const { app, content } = this;
    return JSON.stringify([
      parts.map(({ info, differCount, chips }) => [info.label, info.type, differCount, chips]),
      [this.isFolded, this.isAside, content.look, app.memory.sent.name, app.tensor.isOpen],
      numbersShown(this),
    ]);
  }

  /** @param {Matrix[]} parts */
  drawCaption(parts) {
    const { app, content } = this;
    const hadFocus = focusedIn(this.caption)?.dataset.memory !== undefined;
    this.caption.replaceChildren();
    for (const matrix of parts) {
      const { label, rows, columns, name, type } = matrix;
      make("b", "", this.caption, { text: label });
      const size = !content.isUnfolded(name)
        ? " = 0"
        : ` ${rows} × ${columns} ${name === "E" ? "nibbles" : type}`;
      make("span", "ptx-caption-size", this.caption, { text: `${name.startsWith("SF") ? "" : size}   ` });
    }
    const [main] = parts;
    if (main?.differ) {
      this.caption.append(app.differences.node);
      app.differences.update();
    }
    if (main?.name === "C" && !this.isAside) this.addFold();
    if (main && content.isUnfolded(main.name)) this.addMemory(main, hadFocus);
    if (main && !this.isFolded) {
      if (main.name === "D" && main.place) this.addTensor();
      this.addLegend(main);
      this.addNumbers();
    }
  }

  // Says why D is empty, where no model computes it.
  showUnknown() {
    const matrix = this.content.matrices[this.names[0]];
    const sentence = (matrix?.whole ?? matrix)?.unknown ?? "";
    if (sentence) this.unknown ??= make("p", "ptx-unknown", this.frame, { role: "note" });
    if (this.unknown) write(this.unknown, sentence);
    if (sentence) return;
    this.unknown?.remove();
    this.unknown = null;
  }

  // Over a narrow pane the caption leaves out the size, then less important words. How long it is with and
  // without them is measured once.
  fitCaption() {
    const { app, caption } = this;
    const key = [caption.textContent, app.differences.search.hidden].join();
    const lengths = this.captionLengths.get(key) ?? [];
    this.captionLengths.set(key, lengths);
    for (let count = 0; count <= SHORTER.length; count += 1) {
      const classes = ["ptx-caption", ...SHORTER.slice(0, count)].join(" ");
      if (lengths[count] === undefined) caption.className = classes;
      lengths[count] ??= lengthOf(caption);
      if (lengths[count] > this.width && count < SHORTER.length) continue;
      if (caption.className !== classes) caption.className = classes;
      return;
    }
  }

  // C is a strip while it is zero; this opens it.
  addFold() {
    const { isFolded, content } = this;
    const { label } = content.matrices.C;
    const press = () => content.set("show_c", isFolded);
    if (!isFolded && !content.model.get("show_c")) return; // it is not zero
    makeButton(this.caption, "ptx-show-memory", isFolded ? "edit" : "fold", press, {
      tabindex: "-1",
      "aria-expanded": !isFolded,
      title: isFolded ? `Show ${label}, to change it` : `Show ${label} only while it is not zero`,
    });
  }

  // The button of the memory view.
  /** @param {Matrix} matrix @param {boolean} focus */
  addMemory(matrix, focus) {
    const { app } = this;
    if (!matrix.in_memory) return;
    const open = app.memory.sent.name === matrix.name;
    const toggle = () => app.memory.toggle(matrix.name);
    const button = makeButton(this.caption, "ptx-show-memory", "memory", toggle, {
      "aria-pressed": open,
      "aria-label": `${matrix.label} in shared memory`,
      tabindex: "-1", // Alt+M does the same on its cells: A, B and D stay one stop each
      title: open
        ? "Close the memory view (Alt+M)"
        : `See ${matrix.label} in shared memory: its banks, and how it gets into registers (Alt+M on a cell)`,
      "data-memory": matrix.name,
    });
    if (focus) focusOn(button);
  }

  // The button of tensor memory.
  addTensor() {
    const { tensor } = this.app;
    makeButton(this.caption, "ptx-show-memory", "tensor memory", () => tensor.toggle(), {
      "aria-pressed": tensor.isOpen,
      tabindex: -1,
      title: tensor.isOpen ? "Close tensor memory (Alt+T)" : "See D in tensor memory (Alt+T)",
      "data-tensor": "D",
    });
  }

  // What the colours mean, beside the name of the matrix.
  /** @param {Matrix} matrix */
  addLegend(matrix) {
    const legend = legendOf(this.content.display("colour_by"), matrix);
    if (!legend) return;
    const node = make("span", "ptx-legend", this.caption, { role: "group", "aria-label": "colours" });
    make("span", "", node, { text: legend.title });
    for (const [text, tint, title] of legend.cells)
      paint(make("span", "ptx-key", node, { title, text }), this.theme.colours[tint]);
  }

  // Where cells have no room for what Show asks for, the caption says so; pressed, the camera comes near enough.
  addNumbers() {
    const { content, scene } = this;
    const shown = numbersShown(this);
    if (shown === "whole") return;
    const label = content.display("label");
    const what = label === "value" ? "values" : label;
    const [text, title] = {
      none: [`show ${what}`, `The cells are too small for ${what}: come nearer`],
      rounded: ["rounded", "Rounded to fit: come nearer for all digits"],
      code: ["hex", "Codes of four bits, as the cells are too narrow for values: come nearer for these"],
    }[shown];
    const zoomIn = () => scene.zoomTo(scene.camera.legible, null);
    makeButton(this.caption, "ptx-show-memory ptx-numbers", text, zoomIn, { tabindex: "-1", title });
  }

  /** @param {Name | undefined} name */
  has(name) {
    return this.layers.some((layer) => layer.name === name);
  }

  // The layer of a matrix that the pane has.
  /** @param {Name} name */
  layer(name) {
    return /** @type {Layer} */ (this.layers.find((layer) => layer.name === name));
  }

  // Left edge of a column, on a whole pixel; `end` gives its
  // right edge. Later products are farther to the right.
  /** @param {Layer} layer @param {number} column */
  x(layer, column, end = 0, row = 0) {
    const start =
      Math.floor(column / layer.per) * layer.period +
      layer.offset +
      ((column % layer.per) + end) * layer.width +
      (layer.shift?.(row) ?? 0);
    return Math.round(start * this.theme.ratio) / this.theme.ratio;
  }

  // Upper edge of a row.
  /** @param {Layer} layer @param {number} row */
  y({ down }, row) {
    return Math.floor(row / down.per) * down.period + down.offset + (row % down.per) * down.size;
  }

  // The row, or the column in that row, at a distance in
  // pixels; in a gap the nearest one, or none if `sharp`.
  /** @param {Layer} layer @param {number} py */
  rowAt({ name, down }, py, sharp = false) {
    return indexAt({ ...down, count: this.content.matrices[name].rows }, py, sharp);
  }

  /** @param {Layer} layer @param {number} px @param {number} row */
  columnAt(layer, px, row, sharp = false) {
    return indexAt(
      { ...layer, size: layer.width, count: this.content.matrices[layer.name].columns },
      px - (layer.shift?.(row) ?? 0),
      sharp,
    );
  }

  // How many rows a distance in pixels is.
  /** @param {number} pixels */
  rowsIn(pixels) {
    return Math.round((pixels / this.total.height) * this.content.matrices[this.names[0]].rows);
  }

  /** @param {Name} name @param {number} row @param {number} column @returns {Place} */
  rect(name, row, column) {
    const layer = this.layer(name);
    const x = this.x(layer, column, 0, row);
    return { x, y: this.y(layer, row), width: this.x(layer, column, 1, row) - x, height: layer.down.size };
  }

  // Where the cells of a mark are.
  /** @param {Mark} mark @returns {Place} */
  placeOf({ name, row, column, row2 = row, column2 = column }) {
    const [from, to] = [this.rect(name, row, column), this.rect(name, row2, column2)];
    return { ...from, width: to.x + to.width - from.x, height: to.y + to.height - from.y };
  }

  /** @param {ClientPoint} event @returns {Cell | null} */
  hit(event) {
    const { x, y } = this.pointUnder(event);
    for (const layer of this.layers) {
      const row = this.rowAt(layer, y, true);
      const column = this.columnAt(layer, x, row, true);
      if (row >= 0 && column >= 0) return { name: layer.name, row, column };
    }
    return null;
  }

  // The cell of a matrix that is nearest to the pointer.
  /** @param {Name} name @param {ClientPoint} event @returns {Cell} */
  nearest(name, event) {
    const { x, y } = this.pointUnder(event);
    const layer = this.layer(name);
    const row = this.rowAt(layer, y);
    return { name, row, column: this.columnAt(layer, x, row) };
  }

  // The cell at a point of the page, and how far into it the point is, from 0 to 1.
  /** @param {Point} point @returns {{ cell: Cell, right: number, down: number }} */
  pointAt({ x: clientX, y: clientY }) {
    const cell = this.hit({ clientX, clientY }) ?? this.nearest(this.names[0], { clientX, clientY });
    const { x, y, width, height } = this.rect(cell.name, cell.row, cell.column);
    const point = this.pointUnder({ clientX, clientY });
    return { cell, right: clamp((point.x - x) / width, 0, 1), down: clamp((point.y - y) / height, 0, 1) };
  }

  // The row or column whose number is under the pointer.
  /** @param {MouseEvent} event @returns {Line | null} */
  lineAt(event) {
    if (event.target !== this.frame) return null;
    const box = this.scroller.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const layer = this.layers[0];
    if (x < 0 && y >= 0 && y < this.height)
      return { name: layer.name, row: this.rowAt(layer, y + this.scroller.scrollTop) };
    const px = x + this.scroller.scrollLeft;
    if (y >= 0 || x < 0 || x >= this.width) return null;
    const inProduct = layer.shift ? px % layer.shift(layer.down.per) : px;
    return { name: layer.name, column: this.columnAt(layer, inProduct, 0) };
  }

  // -- as a grid, in which the selected cell is the chosen place --

  scrolled() {
    this.scene.scrolled(this);
  }

  /** @param {MouseEvent} event */
  point(event) {
    const { selection, scene, pointing } = this;
    const hit = this.hit(event);
    scene.camera.pointer = { x: event.clientX, y: event.clientY };
    pointing.hover(hit, event);
    if (hit && this.dragging && hit.name === selection.mark?.name)
      selection.select({ ...selection.mark, row2: hit.row, column2: hit.column }, false);
  }

  leave() {
    this.scene.camera.pointer = null;
    this.pointing.hover(null);
  }

  /** @param {MouseEvent} event */
  press(event) {
    const { mark } = this.selection;
    const hit = this.hit(event);
    if (!hit) return false;
    this.dragging = true;
    window.addEventListener("pointerup", () => (this.dragging = false), { once: true });
    const isExtended = event.shiftKey && mark?.name === hit.name;
    this.selection.select(isExtended ? { ...mark, row2: hit.row, column2: hit.column } : hit);
    return true;
  }

  // A tap shows what pointing shows and selects the cell; a second one opens it. One on a number selects its row or
  // column.
  /** @param {MouseEvent} event */
  tap(event) {
    const { pointing, selection } = this;
    const line = this.lineAt(event);
    if (line) {
      selection.selectLine(line);
      pointing.hoverLine(line, event);
      return;
    }
    const hit = this.hit(event);
    if (!hit || this.editing) return;
    const opens = this.tapped && selection.isAt(hit) && this.content.matrices[hit.name].editable;
    this.tapped = true;
    if (opens) pointing.hover(null);
    this.prepareForTap(opens);
    if (opens) this.openEditor();
    else {
      selection.select(hit);
      pointing.hover(hit, event);
    }
  }

  enter() {
    const { mark } = this.selection;
    if (mark && this.names.includes(mark.name)) this.pointing.drawMarksSoon();
    else this.selection.select(this.left ?? { name: this.names[0], row: 0, column: 0 });
  }

  // Digits that are too small to be read are brought near first.
  edit() {
    const { mark } = this.selection;
    if (mark && this.has(mark.name) && !this.layer(mark.name).digits) this.scene.camera.goTo(mark);
    else this.openEditor();
  }

  get editable() {
    const { mark } = this.selection;
    return Boolean(mark && this.names.includes(mark.name) && this.content.matrices[mark.name].editable);
  }

  chosenText() {
    const mark = /** @type {Mark} */ (this.selection.mark);
    const matrix = this.content.matrices[mark.name];
    return editText(matrix, indexOfCell(matrix, mark));
  }

  /** @param {string} text */
  write(text) {
    const { mark } = this.selection; // none if another instruction was chosen in the meantime
    if (mark) this.send({ type: "set_cell", name: mark.name, row: mark.row, column: mark.column, text });
    return mark !== null;
  }

  // Enter and Tab go on to the next cell; arrows up and down, too, while those to the sides are keys of the text.
  /** @param {KeyboardEvent} event */
  afterTyping({ key, shiftKey }) {
    const { selection } = this;
    const arrow = ARROWS[key];
    if (key === "Enter") return () => selection.moveBy(1, 0, false, true);
    if (key === "Tab") return () => selection.moveBy(0, shiftKey ? -1 : 1, false, true);
    return arrow?.[0] ? () => selection.moveBy(...arrow) : null;
  }

  /** @param {KeyboardEvent} event */
  keyOnPlaces(event) {
    return keyOnCells(this, event);
  }

  draw() {
    if (!this.isFolded) drawPane(this);
  }

  drawMarks() {
    if (!this.layers.length || this.isFolded) return;
    drawPaneMarks(this);
    this.handle.place();
    showRefusal(this);
  }

  endFlash() {
    this.flash?.remove();
    this.flash = null;
  }

  headings() {
    return headings(this);
  }
}
