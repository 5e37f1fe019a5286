// A pane: one or two matrices on a canvas, with a scroller and an input above it.

import { make, clamp } from "./text.js";
import { GUTTER, headings } from "./edges.js";
import { drawPane, drawMarks } from "./draw.js";
import { makeHandle, placeHandle } from "./fill.js";
import { showOffer } from "./offer.js";
import { listen } from "./keys.js";

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
    this.handle = makeHandle(this);
    this.filling = /** @type {any} */ (null);
    this.offer = this.offered = /** @type {any} */ (null);
    listen(this);
  }

  get editing() { return this.input.classList.contains("editing"); }

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

  // The cell of a matrix that is nearest to the pointer.
  nearest(name, event) {
    const box = this.scroller.getBoundingClientRect();
    const layer = this.layer(name);
    const { rows, columns } = this.app.matrices[name];
    const px = event.clientX - box.left + this.scroller.scrollLeft;
    const turn = Math.floor(px / layer.period);
    const inside = clamp(Math.floor((px - turn * layer.period - layer.offset) / layer.width), 0, layer.per - 1);
    const row = Math.floor((event.clientY - box.top + this.scroller.scrollTop) / this.row);
    return { name, row: clamp(row, 0, rows - 1), column: clamp(turn * layer.per + inside, 0, columns - 1) };
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

  draw() { drawPane(this); }

  drawOver() {
    if (!this.layers.length) return;
    drawMarks(this);
    placeHandle(this);
    showOffer(this);
  }

  headings() { return headings(this); }
}
