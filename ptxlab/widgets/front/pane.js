// A pane: one or two matrices on a canvas, with a scroller and an input above it.

import { make, binary, clamp } from "./text.js";
import { editText, largest, cellsOf, differing } from "./matrix.js";
import { LETTER, cellLines, roomFor } from "./label.js";
import { GUTTER, drawEdges, drawHeadings, headings } from "./edges.js";

export class Pane {
  constructor(app, parent, names, axes) {
    this.app = app;
    this.names = names;
    this.axes = axes;
    /** @type {any[]} */
    this.layers = [];
    this.width = 0;
    this.height = 0;
    this.node = make("figure", "ptx-pane", parent, { "data-pane": names[0] });
    this.caption = make("figcaption", "ptx-caption", this.node);
    this.frame = make("div", "ptx-frame", this.node);
    this.base = make("canvas", "", this.frame, { "aria-hidden": "true" });
    this.over = make("canvas", "", this.frame, { "aria-hidden": "true" });
    this.scroller = make("div", "ptx-scroller", this.frame);
    this.space = make("div", "ptx-space", this.scroller);
    this.input = make("input", "ptx-cell", this.space, { type: "text", spellcheck: "false", autocomplete: "off", "data-matrix": names[0] });
    this.listen();
  }

  listen() {
    const { app, scroller, input } = this;
    scroller.addEventListener("scroll", () => app.scrolled(this));
    scroller.addEventListener("pointermove", (event) => {
      const hit = this.hit(event);
      app.hover(hit, event);
      if (hit && this.dragging && hit.name === app.selection?.name) app.select({ ...app.selection, row2: hit.row, column2: hit.column }, false);
    });
    scroller.addEventListener("pointerleave", () => app.hover(null));
    const onHeading = (event) => (event.target === this.frame ? this.heading(event) : null);
    this.frame.addEventListener("pointermove", (event) => app.hoverLine(onHeading(event), event));
    this.frame.addEventListener("pointerleave", () => app.hoverLine(null));
    this.frame.addEventListener("pointerdown", (event) => {
      const line = event.button === 0 && onHeading(event);
      if (!line) return;
      event.preventDefault();
      app.selectLine(line);
    });
    scroller.addEventListener("pointerdown", (event) => {
      if (event.target === input && this.editing) return;
      const hit = this.hit(event);
      if (!hit || event.button !== 0) return;
      event.preventDefault();
      this.dragging = true;
      window.addEventListener("pointerup", () => { this.dragging = false; }, { once: true });
      const extend = event.shiftKey && app.selection?.name === hit.name;
      app.select(extend ? { ...app.selection, row2: hit.row, column2: hit.column } : hit);
    });
    scroller.addEventListener("dblclick", () => this.edit());
    scroller.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      app.zoomBy(event.deltaY < 0 ? 25 : -25);
    }, { passive: false });
    input.addEventListener("focus", () => {
      if (!this.names.includes(app.selection?.name)) app.select({ name: this.names[0], row: 0, column: 0 });
      else app.drawOver();
    });
    input.addEventListener("blur", () => { this.commit(); app.drawOver(); });
    input.addEventListener("input", () => this.begin());
    input.addEventListener("keydown", (event) => this.key(event));
    input.addEventListener("copy", (event) => {
      if (this.editing || !app.selection) return;
      event.preventDefault();
      event.clipboardData.setData("text/plain", app.selectedText());
    });
    input.addEventListener("paste", (event) => {
      const text = event.clipboardData.getData("text/plain");
      if (this.editing && !/[\t\n]/.test(text)) return;
      event.preventDefault();
      this.cancel();
      const { top, left } = app.range();
      app.send({ do: "paste", name: app.selection.name, row: top, column: left, text });
    });
  }

  get editing() { return this.input.classList.contains("editing"); }

  begin() {
    if (!this.app.matrices[this.app.selection.name].editable) { this.input.value = ""; return; }
    this.input.classList.add("editing");
  }

  edit() {
    const { app } = this;
    const matrix = app.matrices[app.selection?.name];
    if (!matrix?.editable || !this.names.includes(matrix.name) || this.editing) return;
    this.input.value = editText(matrix, app.selection.row * matrix.columns + app.selection.column);
    this.begin();
    this.input.select();
  }

  cancel() {
    this.input.classList.remove("editing");
    this.input.value = "";
  }

  commit() {
    if (!this.editing) return;
    const text = this.input.value;
    this.cancel();
    const { name, row, column } = this.app.selection;
    if (text.trim()) this.app.send({ do: "paste", name, row, column, text: text.trim() });
  }

  key(event) {
    const { app } = this;
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const done = () => { event.preventDefault(); event.stopPropagation(); };
    if (this.editing) {
      if (event.key === "Enter") { done(); this.commit(); app.move(event.shiftKey ? -1 : 1, 0, false, false); }
      else if (event.key === "Tab") { done(); this.commit(); app.move(0, event.shiftKey ? -1 : 1, false, false); }
      else if (event.key === "Escape") { done(); this.cancel(); }
      else if (move && move[0]) { done(); this.commit(); app.move(...move); }
    } else if ((event.ctrlKey || event.metaKey) && /^[zy]$/i.test(event.key)) { // Ctrl+Z, Ctrl+Shift+Z, Ctrl+Y; Cmd on macOS
      done();
      app.send({ do: event.shiftKey || event.key.toLowerCase() === "y" ? "redo" : "undo" });
    } else if (move) { done(); app.move(...move, event.shiftKey); }
    else if (event.key === "Enter" || event.key === "F2") { done(); this.edit(); }
    else if (event.key === "Home") { done(); app.move(0, -1e6, event.shiftKey); }
    else if (event.key === "End") { done(); app.move(0, 1e6, event.shiftKey); }
    else if (event.key === " " && (event.shiftKey || event.ctrlKey)) { // as in a spreadsheet: the whole row, or column
      done();
      app.selectLine(event.shiftKey ? { name: app.selection.name, row: app.selection.row } : { name: app.selection.name, column: app.selection.column });
    } else if (event.key === "Delete" || event.key === "Backspace") { done(); app.clear(); }
    else if (event.key === "Escape") { done(); app.select({ ...app.selection, row2: undefined, column2: undefined }); }
  }

  // Geometry: a layer places column c at its period's start, so that stored cells and nibbles share a chunk's width.
  arrange(layers, row, viewWidth, viewHeight) {
    const { app } = this;
    this.layers = layers.filter((layer) => app.matrices[layer.name]);
    const main = app.matrices[this.names[0]];
    this.row = row;
    this.total = { width: this.layers[0].period * Math.ceil(main.columns / this.layers[0].per), height: main.rows * row };
    this.width = Math.min(viewWidth, this.total.width);
    this.height = Math.min(viewHeight, this.total.height);
    const bars = { x: this.total.width > this.width + 1, y: this.total.height > this.height + 1 };
    this.outer = { width: this.width + (bars.y ? 10 : 0), height: this.height + (bars.x ? 10 : 0) };
    this.scroller.style.cssText = `left:${GUTTER.left}px;top:${GUTTER.top}px;width:${this.outer.width}px;height:${this.outer.height}px`
      + `;overflow:${bars.x ? "auto" : "hidden"} ${bars.y ? "auto" : "hidden"}`;
    this.space.style.cssText = `width:${this.total.width}px;height:${this.total.height}px`;
    this.frame.style.cssText = `width:${GUTTER.left + this.outer.width}px;height:${GUTTER.top + this.outer.height}px`;
    for (const canvas of [this.base, this.over]) {
      canvas.width = Math.round((GUTTER.left + this.width) * app.ratio);
      canvas.height = Math.round((GUTTER.top + this.height) * app.ratio);
      canvas.style.cssText = `width:${GUTTER.left + this.width}px;height:${GUTTER.top + this.height}px`;
    }
    this.say();
  }

  say() {
    const { app } = this;
    const parts = this.names.map((name) => app.matrices[name]).filter(Boolean);
    this.caption.replaceChildren();
    for (const matrix of parts) {
      make("b", "", this.caption).textContent = matrix.label;
      make("span", "", this.caption).textContent = ` ${matrix.rows} × ${matrix.columns} ${matrix.name === "E" ? "nibbles" : matrix.type}   `;
    }
    const differing = parts[0]?.count;
    if (differing !== undefined) make("em", differing ? "bad" : "", this.caption).textContent = differing ? `${parts[0].by.join(" and ")} differ in ${differing} cell${differing > 1 ? "s" : ""}` : `${parts[0].by.join(" and ")} agree`;
    this.offerAll(parts[0]);
    this.input.setAttribute("aria-label", `${parts.map((matrix) => matrix.label).join(" and ")}, cell`);
  }

  // A pane that is too high shows some of its rows; a button here shows them all.
  offerAll(matrix) {
    const { app } = this;
    const folded = this.total.height > this.height + 1;
    if (!matrix || !(folded || (app.unfolded && this.foldable))) return;
    this.foldable = true;
    const button = make("button", "ptx-all", this.caption, { "aria-label": folded ? `all ${matrix.rows} rows of ${matrix.label}` : `fewer rows of ${matrix.label}` });
    button.textContent = folded ? "all" : "fewer";
    button.title = folded ? `${Math.round(this.height / this.row)} of ${matrix.rows} rows are in view: scroll, or show them all` : "Show as many rows as the page has room for";
    button.addEventListener("click", () => { app.unfolded = !app.unfolded; app.layout(); });
  }

  layer(name) { return this.layers.find((layer) => layer.name === name); }

  // Left edge of a column, on a whole pixel; `end` gives its right edge.
  x(layer, column, end = 0) {
    return Math.round((Math.floor(column / layer.per) * layer.period + layer.offset + (column % layer.per + end) * layer.width) * this.app.ratio) / this.app.ratio;
  }

  rect(name, row, column) {
    const layer = this.layer(name);
    const x = this.x(layer, column);
    return { x, y: row * this.row, width: this.x(layer, column, 1) - x, height: this.row };
  }

  hit(event) {
    const box = this.scroller.getBoundingClientRect();
    const px = event.clientX - box.left + this.scroller.scrollLeft;
    const row = Math.floor((event.clientY - box.top + this.scroller.scrollTop) / this.row);
    for (const layer of this.layers) {
      const matrix = this.app.matrices[layer.name];
      const turn = Math.floor(px / layer.period);
      const inside = Math.floor((px - turn * layer.period - layer.offset) / layer.width);
      const column = turn * layer.per + inside;
      if (inside >= 0 && inside < layer.per && column < matrix.columns && row >= 0 && row < matrix.rows) return { name: layer.name, row, column };
    }
    return null;
  }

  // The row or column whose heading is under the pointer.
  heading(event) {
    const box = this.scroller.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const layer = this.layers[0];
    const { rows, columns } = this.app.matrices[layer.name];
    const row = Math.floor((y + this.scroller.scrollTop) / this.row);
    if (x < 0 && y >= 0 && y < this.height && row < rows) return { name: layer.name, row };
    const px = x + this.scroller.scrollLeft;
    const column = Math.floor(px / layer.period) * layer.per + clamp(Math.floor((px % layer.period - layer.offset) / layer.width), 0, layer.per - 1);
    return y < 0 && x >= 0 && x < this.width && column < columns ? { name: layer.name, column } : null;
  }

  // Visible cells of a layer: call(row, column, index, x, y, width) in canvas pixels.
  eachVisible(layer, call) {
    const matrix = this.app.matrices[layer.name];
    const { scrollLeft, scrollTop } = this.scroller;
    const first = Math.max(0, Math.floor(scrollTop / this.row));
    const last = Math.min(matrix.rows, Math.ceil((scrollTop + this.height) / this.row));
    const from = Math.max(0, Math.floor(scrollLeft / layer.period) * layer.per);
    const to = Math.min(matrix.columns, Math.ceil((scrollLeft + this.width) / layer.period) * layer.per);
    for (let column = from; column < to; column += 1) {
      const x = GUTTER.left + this.x(layer, column) - scrollLeft;
      const width = GUTTER.left + this.x(layer, column, 1) - scrollLeft - x;
      if (x + width < GUTTER.left || x > GUTTER.left + this.width) continue;
      for (let row = first; row < last; row += 1) call(row, column, row * matrix.columns + column, x, GUTTER.top + row * this.row - scrollTop, width);
    }
  }

  context(canvas) {
    const context = canvas.getContext("2d");
    context.setTransform(this.app.ratio, 0, 0, this.app.ratio, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    return context;
  }

  clip(context) {
    context.save();
    context.beginPath();
    context.rect(GUTTER.left, GUTTER.top, this.width, this.height);
    context.clip();
  }

  draw() {
    if (!this.layers.length) return;
    const context = this.context(this.base);
    this.clip(context);
    for (const layer of this.layers) this.drawLayer(context, layer);
    context.restore();
    drawHeadings(this, context);
    this.drawOver();
  }

  drawLayer(context, layer) {
    const { app } = this;
    const matrix = app.matrices[layer.name];
    let label = app.model.get("label");
    let { letters: most, lines } = app.labelSize(matrix);
    const fits = () => roomFor(layer.width) >= most && this.row >= 8.5 * lines;
    if (layer.name === "E" && label !== "value" && !fits()) [label, most, lines] = ["value", 4, 1];
    const inset = layer.width >= 8 && this.row >= 8 ? 1 : layer.width >= 5 && this.row >= 5 ? 0.5 : 0;
    const size = clamp(Math.min((this.row - (lines > 1 ? 1 : 3)) / lines, (layer.width - 2.5) / most / LETTER), 8, 12);
    const letters = Math.floor((layer.width - 1) / (size * LETTER));
    const digits = label === "value" ? this.row >= 9 && letters >= (layer.name === "E" ? 1 : Math.min(most, 3)) : fits();
    layer.digits = digits;
    const length = Math.min(letters, most);
    const narrow = clamp((layer.width - inset - 3.5) / (length * size * LETTER), 0.8, 1); // squeezed letters keep neighbours apart
    const pad = Math.max(1.5, (layer.width - inset - length * size * LETTER * narrow) / 2);
    const paint = app.painter(matrix);
    const grey = digits || matrix.lane || app.model.get("colour_by") === "value" ? 0 : largest(matrix.values); // pixels that no lane holds: grey by size
    context.font = `${size}px ${app.ink.mono}`;
    context.textAlign = "right";
    context.textBaseline = "middle";
    this.eachVisible(layer, (row, column, index, x, y, width) => {
      const [fill, text] = paint(index);
      const ghost = matrix.home && layer.name === "A" && matrix.home[index] < 0;
      const faint = ghost || (!digits && layer.name !== "E" && matrix.values[index] === 0);
      const strength = grey ? 0.12 + 0.75 * Math.min(1, Math.abs(matrix.values[index]) / grey) : faint ? 0.22 : layer.name === "E" ? 0.4 : 1;
      context.globalAlpha = strength;
      context.fillStyle = grey ? app.ink.faint : fill;
      context.fillRect(x, y, width - inset, this.row - inset);
      context.globalAlpha = 1;
      if (!digits && layer.name === "E") this.drawBits(context, binary(matrix.codes[index], 4), x, y, width - inset);
      if (!digits) return;
      let words = cellLines(app.matrices, matrix, index, label);
      if (words[0].length > letters && matrix.kind === "float") words = cellLines(app.matrices, matrix, index, label, 2);
      if (words[0].length > letters) words = layer.name === "E" && letters ? [matrix.codes[index].toString(16)] : ["…"];
      context.fillStyle = ghost ? app.ink.faint : layer.name === "E" ? app.ink.text : text;
      words.forEach((word, line) => {
        const middle = y + (this.row - inset) / 2 + 0.5 + (line - (words.length - 1) / 2) * Math.min(size + 1, this.row / lines);
        context.fillText(word, x + width - inset - pad, middle, Math.max(1, word.length * size * LETTER * narrow));
      });
    });
  }

  // A nibble without room for a digit: four bars, tall for 1, low for 0.
  drawBits(context, bits, x, y, width) {
    context.fillStyle = this.app.ink.text;
    const bar = width >= 9 ? Math.floor((width - 1) / 4) : width / 4;
    const tall = this.row - 1;
    [...bits].forEach((bit, index) => {
      const high = bit === "1" ? tall - 1 : 1;
      context.fillRect(x + (width - 4 * bar) / 2 + index * bar, y + tall - high, Math.max(bar - 0.75, 0.75), high);
    });
  }

  headings() { return headings(this); }

  drawOver() {
    if (!this.layers.length) return;
    const { app } = this;
    const context = this.context(this.over);
    this.at = { x: this.scroller.scrollLeft, y: this.scroller.scrollTop };
    this.clip(context);
    const hovered = app.hovered;
    const lane = app.hoveredLane();
    this.spotlight(context, lane);
    for (const layer of this.layers) {
      const matrix = app.matrices[layer.name];
      const held = (by, line) => this.outline(context, layer, cellsOf(matrix, by), (index) => matrix.lane[index] === by, app.ink.text, line);
      if (matrix.lane) held(app.lane, 1.25);
      if (matrix.lane && lane >= 0 && lane !== app.lane) held(lane, 0.75);
      if (matrix.differ) this.outline(context, layer, differing(matrix), (index) => matrix.differ[index], app.ink.bad, 2);
    }
    context.translate(GUTTER.left - this.scroller.scrollLeft, GUTTER.top - this.scroller.scrollTop);
    for (const band of app.bands()) if (this.layer(band.name)) this.box(context, band, app.ink.brand, 1.5, 0.1);
    for (const mark of app.stepper.marks()) {
      if (!this.layer(mark.name)) continue;
      this.box(context, mark, app.ink.paper, 5, 0);
      this.box(context, mark, app.ink.brand, 3, this.layer(mark.name).digits ? 0 : 0.5);
    }
    if (hovered && this.layer(hovered.name)) this.box(context, hovered, app.ink.text, 2, 0);
    if (app.selection && this.layer(app.selection.name)) {
      const { top, left, bottom, right } = app.range();
      const wide = { name: app.selection.name, row: top, column: left, row2: bottom, column2: right };
      this.box(context, wide, app.ink.brand, document.activeElement === this.input ? 2.25 : 1.25, top !== bottom || left !== right ? 0.14 : 0);
    }
    context.restore();
    drawEdges(this, context);
  }

  box(context, { name, row, column, row2 = row, column2 = column }, colour, line, wash) {
    const from = this.rect(name, row, column);
    const to = this.rect(name, row2, column2);
    const size = [to.x + to.width - from.x - 0.5, to.y + to.height - from.y - 0.5];
    if (wash) {
      context.globalAlpha = wash;
      context.fillStyle = colour;
      context.fillRect(from.x, from.y, ...size);
      context.globalAlpha = 1;
    }
    context.strokeStyle = colour;
    context.lineWidth = line;
    context.strokeRect(from.x - 0.25, from.y - 0.25, ...size);
  }

  // Where a cell is drawn; null out of view.
  place(layer, index) {
    const { columns } = this.app.matrices[layer.name];
    const [row, column] = [Math.floor(index / columns), index % columns];
    const start = this.x(layer, column);
    const [x, y] = [GUTTER.left + start - this.at.x, GUTTER.top + row * this.row - this.at.y];
    const width = this.x(layer, column, 1) - start;
    if (x + width < GUTTER.left || x > GUTTER.left + this.width || y + this.row < GUTTER.top || y > GUTTER.top + this.height) return null;
    return { row, column, x, y, width };
  }

  // A line around cells, none between those that touch.
  outline(context, layer, indices, inside, colour, line) {
    const { columns, rows } = this.app.matrices[layer.name];
    const joined = layer.per >= columns;
    context.strokeStyle = colour;
    context.lineWidth = line;
    context.beginPath();
    for (const index of indices) {
      const cell = this.place(layer, index);
      if (!cell) continue;
      const { row, column, x, y, width } = cell;
      const [right, bottom] = [x + width - 0.5, y + this.row - 0.5];
      const edge = (open, x1, y1, x2, y2) => { if (open) { context.moveTo(x1, y1); context.lineTo(x2, y2); } };
      edge(row === 0 || !inside(index - columns), x - 0.5, y - 0.5, right, y - 0.5);
      edge(row === rows - 1 || !inside(index + columns), x - 0.5, bottom, right, bottom);
      edge(!joined || column === 0 || !inside(index - 1), x - 0.5, y - 0.5, x - 0.5, bottom);
      edge(!joined || column === columns - 1 || !inside(index + 1), right, y - 0.5, right, bottom);
    }
    context.stroke();
  }

  // Where cells are pixels, all but those of a lane step back.
  spotlight(context, lane) {
    if (lane < 0 || !this.layers.some((layer) => this.app.matrices[layer.name].lane && (layer.width < 8 || this.row < 8))) return;
    context.globalAlpha = 0.6;
    context.fillStyle = this.app.ink.paper;
    context.fillRect(GUTTER.left, GUTTER.top, this.width, this.height);
    context.globalAlpha = 1;
    for (const layer of this.layers) {
      const matrix = this.app.matrices[layer.name];
      for (const index of matrix.lane ? cellsOf(matrix, lane) : []) {
        const cell = this.place(layer, index);
        if (cell) context.clearRect(cell.x, cell.y, cell.width, this.row);
      }
    }
  }
}
