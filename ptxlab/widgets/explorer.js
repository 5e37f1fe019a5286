// The explorer's view: it draws what Python sends and sends back what is typed.
// Which lane holds what, what a code means and what D is are all decided in Python.

const MATRICES = ["A", "stored", "B", "C", "D", "E", "SFA", "SFB"];
const GUTTER = { left: 26, top: 15 };
const GAP = 14;
const PANEL = 440; // least width of the quadrant that holds lanes and registers
const PAGE = 4; // registers shown at once of an operand that has more than eight
const TWO_COLUMNS = 850; // width at which registers stand in two columns
const LETTER = 0.602; // width of a letter of the monospaced font, in its size
const FADE = 22; // height of the shade at an edge behind which there is more

// -- small helpers --------------------------------------------------------------------------------------------------

function make(tag, classes, parent, attributes = {}) {
  const node = document.createElement(tag);
  if (classes) node.className = classes;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  parent?.append(node);
  return node;
}

function typed(Kind, view) {
  return view ? new Kind(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength)) : null;
}

function short(value, digits) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (Object.is(value, -0)) return "-0";
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return String(value);
  const [head, tail] = value.toPrecision(digits).split("e");
  const mantissa = head.includes(".") ? head.replace(/\.?0+$/, "") : head;
  return tail ? `${mantissa}e${Number(tail)}` : mantissa;
}

// The shortest text that reads back as the same float32, or float64.
function exact(value, wide = false) {
  const most = wide ? 17 : 9;
  for (let digits = 1; digits < most; digits += 1) {
    const text = short(value, digits);
    if ((wide ? Number(text) : Math.fround(Number(text))) === value) return text;
  }
  return short(value, most);
}

const hex = (code, bits) => "0x" + code.toString(16).padStart(Math.ceil(bits / 4), "0");
const binary = (code, bits) => code.toString(2).padStart(bits, "0");
const step = (size, least) => [1, 2, 4, 8, 16, 32, 64].find((count) => count * size >= least) ?? 128;
const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

// -- data: one object per matrix, as Python described and sent it ---------------------------------------------------

function readMatrix(model, about, name) {
  const info = about.matrices?.[name];
  const sent = model.get(name);
  if (!info || !sent?.values) return null;
  return {
    ...info,
    name,
    values: typed(info.kind !== "float" ? Int32Array : info.bits === 64 ? Float64Array : Float32Array, sent.values),
    codes: typed(info.bits === 64 ? BigUint64Array : Uint32Array, sent.codes),
    home: typed(Int32Array, sent.home),
    differ: typed(Uint8Array, sent.differ),
    count: sent.count,
    lane: typed(Int16Array, info.lane),
    elementOf: typed(Int16Array, info.element_map),
    registerOf: typed(Int16Array, info.register_map),
    low: typed(Int16Array, info.low),
  };
}

function cellText(matrix, index, digits = 4) {
  if (matrix.name === "E") return binary(matrix.codes[index], 4);
  return matrix.kind === "float" ? short(matrix.values[index], digits) : String(matrix.values[index]);
}

function editText(matrix, index) {
  if (matrix.name === "E") return "0b" + binary(matrix.codes[index], 4);
  return matrix.kind === "float" ? exact(matrix.values[index], matrix.bits === 64) : String(matrix.values[index]);
}

function longest(matrix) {
  if (matrix.name === "E") return 4;
  let most = 1;
  const step = Math.max(1, Math.floor(matrix.values.length / 4096));
  for (let index = 0; index < matrix.values.length; index += step) most = Math.max(most, cellText(matrix, index).length);
  return Math.min(most, 7);
}

function largest(values) {
  let most = 1e-30;
  for (const value of values) if (Number.isFinite(value)) most = Math.max(most, Math.abs(value));
  return most;
}

function describe(matrices, name, row, column) {
  const matrix = matrices[name];
  const index = row * matrix.columns + column;
  const said = [`${matrix.label}[${row}][${column}] = ${editText(matrix, index)}`];
  let holder = matrix;
  let at = index;
  if (name === "A" && matrix.home) {
    at = matrix.home[index];
    holder = matrices.stored;
    if (at < 0) {
      const chunk = Math.floor((column * matrices.E.columns) / matrix.columns);
      said.push(`not stored: nibble 0b${binary(matrices.E.codes[row * matrices.E.columns + chunk], 4)} keeps others of chunk ${chunk}`);
      return said.join(" · ");
    }
    said.push(`stored at [${row}][${at % holder.columns}]`);
  }
  if (name === "stored") said.push(`stands for A[${row}][${matrix.home[index]}]`);
  if (!holder.lane) {
    said.push(holder.note);
  } else {
    const low = holder.low[at];
    const bits = holder.bits === 1 ? `bit ${low}` : `bits ${low + holder.bits - 1}..${low}`;
    said.push(`lane ${holder.lane[at]}`, `element ${holder.element}${holder.elementOf[at]}`, `register ${holder.registerOf[at]}, ${bits}`);
  }
  said.push(`code ${hex(holder.codes[at], holder.bits)}`);
  if (holder.lane && holder.note) said.push(holder.note);
  if (matrix.differ?.[index]) said.push("emulator and GPU differ here");
  return said.join(" · ");
}

// -- a pane: one or two matrices on a canvas, with a scroller and an input above it ---------------------------------

class Pane {
  constructor(app, parent, names, axes) {
    Object.assign(this, { app, names, axes, layers: [], width: 0, height: 0 });
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
    } else if (move) { done(); app.move(...move, event.shiftKey); }
    else if (event.key === "Enter" || event.key === "F2") { done(); this.edit(); }
    else if (event.key === "Home") { done(); app.move(0, -1e6, event.shiftKey); }
    else if (event.key === "End") { done(); app.move(0, 1e6, event.shiftKey); }
    else if (event.key === "Delete" || event.key === "Backspace") { done(); app.clear(); }
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
    if (differing !== undefined) make("em", differing ? "bad" : "", this.caption).textContent = differing ? `${differing} cells differ` : "emulator and GPU agree";
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
    this.drawLabels(context);
    this.drawOver();
  }

  drawLayer(context, layer) {
    const { app } = this;
    const matrix = app.matrices[layer.name];
    const inset = layer.width >= 8 && this.row >= 8 ? 1 : layer.width >= 5 && this.row >= 5 ? 0.5 : 0;
    const most = longest(matrix);
    const size = clamp(Math.min(this.row - 3, (layer.width - 2.5) / most / LETTER), 8, 12);
    const letters = Math.floor((layer.width - 1) / (size * LETTER));
    const digits = this.row >= 9 && letters >= (layer.name === "E" ? 1 : Math.min(most, 3));
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
      let word = cellText(matrix, index);
      if (word.length > letters && matrix.kind === "float") word = cellText(matrix, index, 2);
      if (word.length > letters) word = layer.name === "E" && letters ? matrix.codes[index].toString(16) : "…";
      context.fillStyle = ghost ? app.ink.faint : layer.name === "E" ? app.ink.text : text;
      context.fillText(word, x + width - inset - pad, y + (this.row - inset) / 2 + 0.5, Math.max(1, word.length * size * LETTER * narrow));
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

  drawLabels(context) {
    const { app } = this;
    const main = this.layers[0];
    const matrix = app.matrices[main.name];
    const { scrollLeft, scrollTop } = this.scroller;
    context.font = `9px ${app.ink.mono}`;
    context.textBaseline = "middle";
    context.textAlign = "right";
    const rows = step(this.row, 10);
    for (let row = 0; row < matrix.rows; row += rows) {
      const y = row * this.row - scrollTop;
      if (y < -1 || y > this.height - 4) continue;
      context.fillStyle = app.hovered && this.shares(app.hovered, "row") === row ? app.ink.text : app.ink.faint;
      context.fillText(row, GUTTER.left - 5, GUTTER.top + y + Math.min(this.row, 12) / 2 + 0.5);
    }
    context.textAlign = "center";
    context.fillStyle = app.ink.faint;
    for (const { text, middle } of this.headings()) {
      const x = middle - scrollLeft;
      if (x > 0 && x < this.width) context.fillText(text, GUTTER.left + x, GUTTER.top - 6);
    }
  }

  // Column headings, so thinned out that none touches the next: {text, middle, width} in the pane's own pixels.
  headings() {
    const { app } = this;
    const wide = (text) => String(text).length * 9 * LETTER;
    const chunked = this.layers.find((layer) => layer.name === "E");
    const found = [];
    for (const layer of this.layers) {
      const { columns } = app.matrices[layer.name];
      const last = wide(layer.name === "E" ? `ch${columns - 1}` : columns - 1);
      let each = step(layer.width, last + 4);
      if (chunked) {
        const named = wide(`ch${app.matrices.E.columns - 1}`);
        const roomy = named <= chunked.width;
        if (layer === chunked) each = roomy ? 1 : step(layer.period, named + 5);
        else if (!roomy) continue;
        else each = layer.width >= last + 3 ? 1 : layer.per;
      }
      for (let column = 0; column < columns; column += each) {
        const text = layer.name === "E" ? `ch${column}` : String(column);
        const half = Math.min(layer.width, 40) / 2;
        const middle = this.x(layer, column) + (chunked && layer === chunked ? Math.max(half - 2, wide(text) / 2) : half);
        found.push({ text, middle, width: wide(text) });
      }
    }
    return found;
  }

  shares(hit, what) { return this.names.includes(hit.name) ? hit[what] : null; }

  drawOver() {
    if (!this.layers.length) return;
    const { app } = this;
    const context = this.context(this.over);
    this.clip(context);
    const hovered = app.hovered;
    const lane = app.hoveredLane();
    for (const layer of this.layers) {
      const matrix = app.matrices[layer.name];
      if (matrix.lane && (layer.width < 8 || this.row < 8) && lane >= 0) this.spotlight(context, layer, lane);
      if (matrix.lane) this.outline(context, layer, (index) => matrix.lane[index] === app.lane, app.ink.text, 1.25);
      if (matrix.lane && lane >= 0 && lane !== app.lane) this.outline(context, layer, (index) => matrix.lane[index] === lane, app.ink.text, 0.75);
      if (matrix.differ) this.outline(context, layer, (index) => matrix.differ[index], app.ink.bad, 2);
    }
    context.translate(GUTTER.left - this.scroller.scrollLeft, GUTTER.top - this.scroller.scrollTop);
    for (const band of app.bands()) if (this.layer(band.name)) this.box(context, band, app.ink.brand, 1.5, 0.1);
    if (hovered && this.layer(hovered.name)) this.box(context, hovered, app.ink.text, 2, 0);
    if (app.selection && this.layer(app.selection.name)) {
      const { top, left, bottom, right } = app.range();
      const wide = { name: app.selection.name, row: top, column: left, row2: bottom, column2: right };
      this.box(context, wide, app.ink.brand, document.activeElement === this.input ? 2.25 : 1.25, top !== bottom || left !== right ? 0.14 : 0);
    }
    context.restore();
    this.drawEdges(context);
  }

  // Scroll bars may be invisible: an edge behind which there is more fades, and says how much.
  drawEdges(context) {
    const { scrollLeft, scrollTop } = this.scroller;
    const { width, height, total, app } = this;
    const [left, top] = [GUTTER.left, GUTTER.top];
    const above = Math.round(scrollTop / this.row);
    const below = Math.round((total.height - height - scrollTop) / this.row);
    const columns = (pixels) => Math.round(pixels / this.layers[0].period * this.layers[0].per);
    const before = columns(scrollLeft);
    const after = columns(total.width - width - scrollLeft);
    const fade = (right, down) => { // strips of paper, denser towards the edge
      context.fillStyle = app.ink.paper;
      for (let away = 0; away < FADE; away += 1) {
        context.globalAlpha = Math.min(0.94, 1.7 * (1 - away / FADE));
        const [x, y] = [right > 0 ? width - away - 1 : away, down > 0 ? height - away - 1 : away];
        if (down) context.fillRect(left, top + y, width, 1);
        else context.fillRect(left + x, top, 1, height);
      }
      context.globalAlpha = 1;
    };
    const say = (text, x, y, align) => {
      context.font = `10px ${app.ink.mono}`;
      context.textAlign = align;
      context.textBaseline = "middle";
      const long = context.measureText(text).width + 8;
      context.fillStyle = app.ink.paper;
      context.fillRect(x - long * { left: 0, center: 0.5, right: 1 }[align], y - 7, long, 14);
      context.fillStyle = app.ink.text;
      context.fillText(text, x + { left: 4, center: 0, right: -4 }[align], y);
    };
    if (below > 0) fade(0, 1);
    if (above > 0) fade(0, -1);
    if (after > 0) fade(1, 0);
    if (before > 0) fade(-1, 0);
    if (below > 0) say(`▾ ${below} more rows`, left + width / 2, top + height - 6, "center");
    if (above > 0) say(`▴ ${above} more rows`, left + width / 2, top + 6, "center");
    if (after > 0) say(`${after} more ▸`, left + width, top + height / 2, "right");
    if (before > 0) say(`◂ ${before} more`, left, top + height / 2, "left");
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

  outline(context, layer, inside, colour, line) {
    const { columns, rows } = this.app.matrices[layer.name];
    const joined = layer.per >= columns;
    context.strokeStyle = colour;
    context.lineWidth = line;
    context.beginPath();
    this.eachVisible(layer, (row, column, index, x, y, width) => {
      if (!inside(index)) return;
      const [right, bottom] = [x + width - 0.5, y + this.row - 0.5];
      const edge = (open, x1, y1, x2, y2) => { if (open) { context.moveTo(x1, y1); context.lineTo(x2, y2); } };
      edge(row === 0 || !inside(index - columns), x - 0.5, y - 0.5, right, y - 0.5);
      edge(row === rows - 1 || !inside(index + columns), x - 0.5, bottom, right, bottom);
      edge(!joined || column === 0 || !inside(index - 1), x - 0.5, y - 0.5, x - 0.5, bottom);
      edge(!joined || column === columns - 1 || !inside(index + 1), right, y - 0.5, right, bottom);
    });
    context.stroke();
  }

  spotlight(context, layer, lane) {
    const matrix = this.app.matrices[layer.name];
    context.globalAlpha = 0.6;
    context.fillStyle = this.app.ink.paper;
    this.eachVisible(layer, (row, column, index, x, y, width) => { if (matrix.lane[index] !== lane) context.fillRect(x, y, width, this.row); });
    context.globalAlpha = 1;
  }
}

// -- lanes and registers --------------------------------------------------------------------------------------------

class Panel {
  constructor(app, parent) {
    Object.assign(this, { app, pages: {}, key: "" });
    this.node = make("section", "ptx-panel", parent, { "aria-label": "lanes and registers" });
    this.title = make("div", "ptx-lane-title", this.node);
    this.warps = make("div", "ptx-warps", this.node, { role: "group", "aria-label": "warp" });
    this.lanes = make("div", "ptx-lanes", this.node, { role: "group", "aria-label": "lane" });
    this.registers = make("div", "ptx-registers", this.node);
    this.lanes.addEventListener("keydown", (event) => {
      const across = this.lanes.firstChild.offsetTop === this.lanes.lastChild.offsetTop ? 4 : 8;
      const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -across, ArrowDown: across }[event.key];
      if (!by) return;
      event.preventDefault();
      app.chooseLane(clamp(app.lane + by, 0, app.about.lanes - 1));
      this.lanes.querySelector("[aria-pressed=true]")?.focus();
    });
  }

  update() {
    const { app } = this;
    const { lane, about } = app;
    this.title.replaceChildren();
    make("b", "", this.title).textContent = `Lane ${lane}`;
    const warp = about.lanes > 32 ? `warp ${Math.floor(lane / 32)}, ` : "";
    make("span", "", this.title).textContent = `${warp}group ${Math.floor((lane % 32) / 4)}, thread ${lane % 4} of it`;
    this.drawLanes(Math.floor(lane / 32));
    this.drawRegisters();
  }

  drawLanes(warp) {
    const { app } = this;
    const key = `${app.about.lanes} ${warp} ${app.dark}`;
    if (key !== this.key) {
      this.key = key;
      this.warps.replaceChildren();
      for (let each = 0; app.about.lanes > 32 && each < app.about.lanes / 32; each += 1) {
        const button = make("button", "ptx-warp", this.warps, { "aria-pressed": String(each === warp), "data-warp": each });
        button.textContent = `warp ${each}`;
        button.addEventListener("click", () => app.chooseLane(each * 32 + (app.lane % 32)));
      }
      this.lanes.replaceChildren();
      for (let group = 0; group < 8; group += 1) {
        const box = make("div", "ptx-group", this.lanes);
        for (let thread = 0; thread < 4; thread += 1) {
          const lane = warp * 32 + group * 4 + thread;
          const button = make("button", "ptx-lane", box, { "data-lane": lane, "aria-label": `lane ${lane}` });
          [button.style.background, button.style.color] = app.colours[lane % 32];
          button.textContent = lane;
          button.addEventListener("click", () => app.chooseLane(lane));
          button.addEventListener("pointerenter", () => app.hover({ lane }));
          button.addEventListener("pointerleave", () => app.hover(null));
        }
      }
    }
    for (const button of this.lanes.querySelectorAll("button")) {
      const chosen = Number(button.dataset.lane) === app.lane;
      button.setAttribute("aria-pressed", String(chosen));
      button.tabIndex = chosen ? 0 : -1;
    }
  }

  // Registers keep their nodes while only their content changes, so that what is being typed in one of them stays.
  drawRegisters() {
    const { app } = this;
    const held = app.model.get("held");
    const wanted = (name) => held[name]?.length && (name !== "C" || app.model.get("show_c"));
    const shown = Object.entries(app.about.registers).filter(([name]) => wanted(name)).map(([name, count]) => {
      const page = count > 8 ? clamp(this.pages[name] ?? 0, 0, Math.ceil(count / PAGE) - 1) : 0;
      return { name, count, page, from: page * PAGE, to: count > 8 ? Math.min(count, (page + 1) * PAGE) : count };
    });
    const key = JSON.stringify([app.about.mnemonic, shown]);
    if (key !== this.built) {
      this.built = key;
      this.lines = [];
      this.registers.replaceChildren();
      this.registers.classList.toggle("ptx-wide", app.matrices.D.bits === 64);
      const groups = app.about.registers.B ? [["A", "E", "SFA", "C"], ["B", "SFB", "D"]] : [["A", "E"], ["C", "D"]];
      for (const group of groups) {
        const blocks = shown.filter(({ name }) => group.includes(name));
        const place = blocks.length && make("div", "", this.registers);
        for (const block of blocks) this.drawBlock(place, block);
      }
    }
    for (const line of this.lines) line(held);
  }

  drawBlock(place, { name, count, page, from, to }) {
    const { app } = this;
    const matrix = app.matrices[name === "A" && app.matrices.stored ? "stored" : name];
    const block = make("section", "ptx-block", place, { "data-operand": name, "aria-label": `registers of ${name}` });
    const head = make("div", "ptx-block-head", block);
    make("b", "", head).textContent = matrix.label;
    make("span", "", head).textContent = `${count} register${count > 1 ? "s" : ""} of ${name === "E" ? "8 nibbles" : matrix.type}`;
    if (count > 8) this.pager(head, name, page, from, to, count);
    for (let register = from; register < to; register += 1) this.drawRegister(block, name, register, matrix);
  }

  pager(head, name, page, from, to, count) {
    const turn = (text, label, by) => {
      const button = make("button", "ptx-turn", head, { "aria-label": label });
      button.textContent = text;
      button.addEventListener("click", () => { this.pages[name] = clamp(page + by, 0, Math.ceil(count / PAGE) - 1); this.drawRegisters(); });
    };
    turn("‹", `earlier registers of ${name}`, -1);
    make("span", "ptx-range", head).textContent = `${from}..${to - 1}`;
    turn("›", `later registers of ${name}`, 1);
  }

  drawRegister(block, name, register, matrix) {
    const { app } = this;
    const line = make("div", "ptx-register", block);
    make("label", "", line).textContent = register;
    const hexes = this.box(line, "ptx-hex", name, (text, lane) => app.send({ do: "set_register", name, lane, register, text }));
    hexes.node.dataset.operand = name;
    hexes.node.dataset.register = register;
    const { fields } = app.model.get("held")[name][register];
    const strip = make("div", `ptx-fields of-${fields.length}`, line);
    const parts = fields.map((_, index) => this.drawField(strip, name, register, matrix, index, fields.length));
    this.lines.push((held) => {
      const content = held[name][register];
      hexes.show(content.hex, `${name}, lane ${app.lane}, register ${register}, hexadecimal`);
      parts.forEach((part, index) => part(content.fields[index]));
    });
  }

  // One element of a register: its bits (a click turns one over), its value, and the cell it is. Returns what updates it.
  drawField(strip, name, register, matrix, index, count) {
    const { app } = this;
    let cell = null;
    const node = make("div", "ptx-field", strip);
    node.addEventListener("pointerenter", () => app.hover(cell));
    node.addEventListener("pointerleave", () => app.hover(null));
    const row = make("div", "ptx-bits", node);
    const bits = matrix.parts.flatMap(([role, length]) => Array.from({ length }, () => make("span", `ptx-bit ${role}`, row)));
    row.addEventListener("click", (event) => {
      if (event.target.dataset.bit && name !== "D") app.send({ do: "flip", name, lane: app.lane, register, bit: Number(event.target.dataset.bit) });
    });
    const value = count > 8 || name === "E" ? null : this.box(node, "ptx-value", name, (text) => app.send({ do: "paste", ...cell, text }));
    const label = count > 8 ? null : make("div", "ptx-where", node);
    const [element, place] = label ? [make("b", "", label), make("span", "", label)] : [];
    return (field) => {
      cell = { name: matrix.name, row: field.row, column: field.column };
      const called = `${matrix.element}${field.element}`;
      const at = app.selection;
      node.classList.toggle("here", Boolean(at) && at.name === cell.name && at.row === cell.row && at.column === cell.column);
      node.dataset.element = called;
      node.title = `${called} is ${matrix.label}[${field.row}][${field.column}]`;
      bits.forEach((bit, each) => {
        bit.textContent = field.bits[each];
        bit.dataset.bit = field.low + field.bits.length - 1 - each;
      });
      value?.show(field.text, `${called}, ${matrix.label} row ${field.row} column ${field.column}`);
      if (label) [element.textContent, place.textContent] = [called, `[${field.row}][${field.column}]`];
    };
  }

  // A text box that sends what was typed on Enter or when it is left, and shows what Python has.
  box(parent, classes, name, send) {
    const node = make("input", classes, parent, { type: "text", spellcheck: "false", autocomplete: "off" });
    node.readOnly = name === "D";
    let [shown, lane] = ["", 0];
    const commit = () => {
      const text = node.value.trim();
      node.value = shown; // a refused text leaves what was there; an accepted one comes back from Python
      if (text && text !== shown) send(text, lane);
    };
    node.addEventListener("focus", () => node.select());
    node.addEventListener("blur", commit);
    node.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") { event.preventDefault(); commit(); node.select(); }
      if (event.key === "Escape") { node.value = shown; node.blur(); }
    });
    const show = (text, label) => {
      if (document.activeElement === node && node.value !== shown) return;
      [shown, lane, node.value] = [text, this.app.lane, text];
      node.setAttribute("aria-label", label);
    };
    return { node, show };
  }
}

// -- why the chosen cell of D has its bits: folded, and then Python sends nothing but the cell ------------------------

class Why {
  constructor(app, parent) {
    Object.assign(this, { app, drawn: null });
    this.node = make("section", "ptx-why", parent, { "aria-label": "why D has its bits", "data-testid": "why" });
    this.button = make("button", "ptx-why-fold", this.node);
    this.body = make("div", "ptx-why-body", this.node, { tabindex: "0", role: "group" });
    this.button.addEventListener("click", () => {
      app.model.set("tracing", !app.model.get("tracing"));
      app.model.save_changes();
    });
  }

  update() {
    const { model, matrices } = this.app;
    const [trace, open] = [model.get("trace"), model.get("tracing")];
    const chosen = matrices.D && trace?.row !== undefined;
    const cell = chosen ? `D[${trace.row}][${trace.column}] = ${cellText(matrices.D, trace.row * matrices.D.columns + trace.column, 7)}` : "";
    this.button.textContent = `${open ? "▾" : "▸"} ${chosen ? `Why ${cell} has these bits` : "Why these bits? Choose a cell of D"}`;
    this.button.setAttribute("aria-expanded", String(open));
    this.body.hidden = !open || !chosen;
    if (this.body.hidden || this.drawn === trace || !trace.grids) return;
    this.drawn = trace;
    this.body.setAttribute("aria-label", trace.title);
    this.body.replaceChildren();
    const notes = make("div", "ptx-why-notes", this.body);
    for (const note of trace.notes) make("span", "", notes).textContent = note;
    for (const grid of trace.grids) this.drawGrid(grid);
  }

  drawGrid({ title, size, axes, rows, columns, cells, row_rules: across, column_rules: down }) {
    make("div", "ptx-why-title", this.body).textContent = title;
    const table = make("div", "ptx-why-grid", this.body);
    table.style.gridTemplateColumns = `max-content repeat(${size[1]}, minmax(8px, 15px))`;
    const put = (tag, classes, text, row, column, width = 1) => {
      const node = make(tag, classes, table);
      node.style.gridArea = `${row + 2} / ${column + 2} / span 1 / span ${width}`;
      node.textContent = text;
      return node;
    };
    if (axes[0]) put("span", "ptx-why-label", `${axes[0]} `, -1, -1).classList.add("right");
    for (const [row, text] of rows) put("span", "ptx-why-label", text, row, -1);
    for (const [start, width, text] of columns) put("span", "ptx-why-head", text, -1, start, width);
    for (const [row, column, width, text, classes, hover] of cells) {
      const digit = { 0: " zero", 1: " one" }[text] ?? "";
      put("span", `ptx-why-cell ${classes}${digit}`, text, row, column, width).title = hover;
    }
    for (const row of across) put("i", "ptx-why-rule", "", row, 0, size[1]);
    for (const [column, first, stop] of down) put("i", "ptx-why-cut", "", first, column).style.gridRowEnd = stop + 2;
  }
}

// -- the whole ------------------------------------------------------------------------------------------------------

class App {
  constructor(model, el) {
    Object.assign(this, { model, matrices: {}, hovered: null, selection: null, panes: [], unfolded: false, scroll: { m: 0, n: 0, kx: 0, ky: 0 } });
    this.root = make("div", "ptx-explorer", el, { "data-lm-suppress-shortcuts": "true" });
    this.head = make("code", "ptx-mnemonic", this.root);
    this.grid = make("div", "ptx-product", this.root);
    this.quadrant = make("div", "ptx-quadrant", this.grid);
    this.panel = new Panel(this, this.quadrant);
    this.problem = make("div", "ptx-problem", this.quadrant, { role: "alert", "data-testid": "problem" });
    this.status = make("div", "ptx-status", this.quadrant, { "aria-live": "polite", "data-testid": "status" });
    this.why = new Why(this, this.root);
    this.tip = make("div", "ptx-tip", this.root, { "aria-hidden": "true" });
    const place = (className) => make("div", className, this.grid);
    const [above, left, right, below, beside] = ["ptx-above", "ptx-left", "ptx-right", "ptx-below", "ptx-beside"].map(place);
    this.places = { SFB: above, B: above, SFA: left, A: left, D: right, stored: below, C: beside };
    this.root.cellRect = (name, row, column) => this.cellRect(name, row, column);
    this.root.headings = () => this.panes.map((pane) => pane.headings());
    this.observe();
    this.refresh();
  }

  observe() {
    let pending = false;
    const later = () => {
      if (pending) return;
      pending = true;
      queueMicrotask(() => { pending = false; this.refresh(); });
    };
    for (const name of ["about", "held", "lane", "colour_by", "show_c", "zoom", "problem", ...MATRICES]) this.model.on(`change:${name}`, later);
    for (const name of ["trace", "tracing"]) this.model.on(`change:${name}`, () => this.why.update());
    this.sizes = new ResizeObserver(() => { // also the first call: only now is the view in the page, with its styles
      if (!this.panes.length) this.refresh();
      else if (Math.abs(this.root.clientWidth - this.known) > 1) this.layout();
    });
    this.sizes.observe(this.root);
    this.theme = new MutationObserver(() => this.refresh());
    this.theme.observe(document.body, { attributes: true, attributeFilter: ["class", "data-jp-theme-light", "data-jp-theme-name"] });
  }

  stop() { this.sizes.disconnect(); this.theme.disconnect(); this.model.off(); }

  readTheme() {
    const style = getComputedStyle(this.root);
    const [red, green, blue] = style.color.match(/[\d.]+/g).map(Number);
    this.dark = red + green + blue > 384;
    this.root.classList.toggle("dark", this.dark);
    const own = (name) => getComputedStyle(this.root).getPropertyValue(name).trim();
    this.ink = { text: own("--ptx-ink"), faint: own("--ptx-faint"), paper: own("--ptx-paper"), brand: own("--ptx-brand"), bad: own("--ptx-bad"), plain: own("--ptx-plain"), mono: own("--ptx-mono") };
    this.colours = this.about.colours[this.dark ? "dark" : "light"];
    this.ratio = window.devicePixelRatio || 1;
  }

  refresh() {
    this.about = this.model.get("about");
    if (!this.about?.matrices || !this.root.isConnected) return;
    this.lane = this.model.get("lane");
    for (const name of MATRICES) this.matrices[name] = readMatrix(this.model, this.about, name);
    if (this.selection && !this.matrices[this.selection.name]) this.selection = null;
    this.readTheme();
    this.head.textContent = this.about.mnemonic;
    const problem = this.model.get("problem");
    this.problem.textContent = problem;
    this.panel.update();
    this.why.update();
    const shown = ["SFB", "B", "SFA", "A", "D", "stored", ...(this.model.get("show_c") ? ["C"] : [])].filter((name) => this.matrices[name]);
    const panes = `${this.about.mnemonic} ${this.matrices.A.note} ${shown}`;
    if (panes !== this.shown) {
      this.widest = [1, 1, 1, 1];
      this.build(shown);
    }
    this.widest = this.chars().map((letters, index) => Math.max(letters, this.widest[index])); // cells widen for a longer number, and stay so
    const sizes = `${panes} ${this.model.get("zoom")} ${this.dark} ${this.widest}`;
    if (sizes !== this.sized) this.layout();
    else for (const pane of this.panes) { pane.say(); pane.draw(); }
    [this.shown, this.sized] = [panes, sizes];
    this.tell();
  }

  build(shown) {
    const axes = { A: ["kx", "m"], stored: ["kx", "m"], SFA: [null, "m"], B: ["n", "ky"], SFB: ["n", null], D: ["n", "m"], C: ["n", "m"] };
    for (const place of Object.values(this.places)) place.replaceChildren();
    this.panes = shown.map((name) => new Pane(this, this.places[name], name === "stored" ? ["stored", "E"] : [name], axes[name]));
  }

  chars() { return ["A", "B", "D", "C"].map((name) => longest(this.matrices[name])); }

  // How large a cell is: digits where they fit, else pixels; the whole product as wide as the page at 100 %.
  layout() {
    this.known = this.root.clientWidth;
    if (!this.about?.matrices || !this.known) return;
    const { m, n, k, chunk, kept } = this.about;
    const percent = this.model.get("zoom");
    const fine = (size) => Math.floor(size * 4) / 4;
    const zoomed = (size, roomy) => { // 100 % fits the page, at 400 % every number can be read
      const goal = Math.max(size * 1.4, roomy);
      return percent <= 100 ? (size * percent) / 100 : size * (goal / size) ** ((percent - 100) / 300);
    };
    const [a, b, d, c] = this.widest.map((letters) => letters * 5.6 + 4);
    const needN = Math.max(b, d, this.model.get("show_c") ? c : 0);
    const scales = this.matrices.SFA ? this.matrices.SFA.columns * 34 + GUTTER.left + GAP : 0;
    const room = this.known - 2 * GUTTER.left - GAP - scales - 12;
    let [kx, nx] = [a, needN];
    const need = k * kx + n * nx;
    if (need <= room) {
      const grow = Math.min(room / need, 3, 44 / kx);
      [kx, nx] = [kx * grow, nx * grow];
    } else if (n * nx <= 0.4 * room) kx = (room - n * nx) / k;
    else if (k * kx <= 0.5 * room) nx = (room - k * kx) / n;
    else [kx, nx] = [room / (k + n), room / (k + n)];
    kx = Math.max(kx, (PANEL - GUTTER.left - scales) / k);
    if (nx > needN) nx = Math.max(needN, Math.min(nx, (this.known - TWO_COLUMNS - GUTTER.left - GAP) / n));
    if (need <= room) kx = Math.max(kx, Math.min(44, (room - n * nx) / k));
    nx = Math.max(2, n * needN <= 0.4 * room ? nx : Math.min(nx, (room - k * kx) / n));
    [kx, nx] = [Math.max(2, fine(zoomed(kx, a * 1.5))), Math.max(2, fine(zoomed(nx, needN * 1.4)))];
    const legible = kx >= 8 || nx >= 8;
    const rowM = Math.round(zoomed(m <= 16 ? (kx > 24 ? 19 : 16) : legible ? 10 : 6, 18));
    let viewN = n * nx;
    let viewK = k * kx;
    if (viewN + viewK > room) {
      viewN = Math.min(viewN, Math.max(0.4 * room, room - viewK));
      viewK = Math.min(viewK, Math.max(room - viewN, PANEL - GUTTER.left - scales));
      viewN = Math.min(viewN, room - viewK);
    }
    this.grid.style.gridTemplateColumns = `minmax(0, ${Math.floor(this.known - viewN - GUTTER.left - GAP - 10)}px) max-content`;
    const beside = this.panel.node.offsetHeight; // B is as high as what stands left of it, so that A and D follow at once
    const rowK = Math.round(zoomed(clamp(Math.floor(beside / k), nx >= 8 ? 11 : 5, 18), 16));
    const high = beside - (this.matrices.SFB ? this.matrices.SFB.rows * 17 + 45 : 0);
    const whole = (rows, row, most) => (this.unfolded || rows * row <= most ? rows * row : Math.floor(most / row) * row);
    const viewM = whole(m, rowM, 640);
    const viewB = whole(k, rowK, Math.max(high, k * rowK <= 352 ? 352 : 308));
    const plain = (name, width) => [{ name, per: this.matrices[name].columns, period: this.matrices[name].columns * width, offset: 0, width }];
    for (const pane of this.panes) {
      const [name] = pane.names;
      if (name === "A") pane.arrange(plain(name, kx), rowM, viewK, viewM);
      else if (name === "SFA") pane.arrange(plain(name, 34), rowM, 1e4, viewM);
      else if (name === "B") pane.arrange(plain(name, nx), rowK, viewN, viewB);
      else if (name === "SFB") pane.arrange(plain(name, nx), 17, viewN, 1e4);
      else if (name === "stored") {
        const period = chunk * kx;
        const nibble = Math.min(30, Math.max(period / (kept + 1), period > 44 ? 26 : Math.min(12, 0.48 * period)));
        const width = (period - nibble - (period > 20 ? 3 : 0)) / kept;
        pane.arrange([{ name, per: kept, period, offset: nibble, width }, { name: "E", per: 1, period, offset: 0, width: nibble }], rowM, viewK, viewM);
      } else pane.arrange(plain(name, nx), rowM, viewN, viewM);
    }
    this.settle();
    this.placeInput();
  }

  settle() {
    for (const pane of this.panes) {
      const [x, y] = pane.axes;
      if (x) pane.scroller.scrollLeft = this.scroll[x];
      if (y) pane.scroller.scrollTop = this.scroll[y];
      pane.draw();
    }
  }

  // Panes share their axes: rows m of A and D, columns n of B and D, and k, which is A's columns and B's rows.
  scrolled(pane) {
    const [x, y] = pane.axes;
    const { scrollLeft, scrollTop } = pane.scroller;
    const before = { ...this.scroll };
    if (x && pane.total.width > pane.width + 1) this.scroll[x] = scrollLeft;
    if (y && pane.total.height > pane.height + 1) this.scroll[y] = scrollTop;
    if (["m", "n", "kx", "ky"].every((axis) => Math.abs(before[axis] - this.scroll[axis]) < 1)) return;
    const find = (name) => this.panes.find((each) => each.names[0] === name);
    const [wide, high] = [find("A").layers[0].width, find("B").row];
    if (this.scroll.kx !== before.kx) this.scroll.ky = Math.min((this.scroll.kx / wide) * high, Math.max(0, find("B").total.height - find("B").height));
    else if (this.scroll.ky !== before.ky) this.scroll.kx = Math.min((this.scroll.ky / high) * wide, Math.max(0, find("A").total.width - find("A").width));
    this.settle();
  }

  // What a cell looks like: [background, text] of a cell by its index.
  painter(matrix) {
    const { colours, ink } = this;
    const by = this.model.get("colour_by");
    const plain = [ink.plain, ink.text];
    if (by === "value") {
      const most = largest(matrix.values);
      const shade = (value) => clamp(Math.ceil((4 * Math.abs(value)) / most), 1, 4) - 1;
      return (index) => {
        const value = matrix.values[index];
        return value === 0 ? plain : colours[(value < 0 ? 24 : 0) + (Number.isFinite(value) ? shade(value) : 3)];
      };
    }
    if (by === "nothing" || !matrix.lane) return () => plain;
    if (by === "register") return (index) => colours[(matrix.registerOf[index] % 8) * 4 + 1];
    return (index) => colours[matrix.lane[index] % 32];
  }

  // -- hovering and selecting --

  hover(hit, event) {
    const same = JSON.stringify(hit) === JSON.stringify(this.hovered);
    this.hovered = hit;
    if (event && hit?.name) this.showTip(event, hit);
    else this.tip.classList.remove("on");
    if (same) return;
    this.tell();
    this.drawOver();
  }

  showTip(event, hit) {
    const box = this.root.getBoundingClientRect();
    const [first, ...rest] = describe(this.matrices, hit.name, hit.row, hit.column).split(" · ");
    this.tip.replaceChildren();
    make("b", "", this.tip).textContent = first;
    for (const line of rest.slice(0, 6)) make("span", "", this.tip).textContent = line;
    this.tip.classList.add("on");
    const width = this.tip.offsetWidth;
    const x = event.clientX - box.left;
    this.tip.style.left = `${x + 16 + width > box.width ? x - width - 12 : x + 16}px`;
    this.tip.style.top = `${event.clientY - box.top + 14}px`;
  }

  hoveredLane() {
    if (!this.hovered) return -1;
    if (this.hovered.lane !== undefined) return this.hovered.lane;
    const matrix = this.matrices[this.hovered.name];
    return matrix?.lane ? matrix.lane[this.hovered.row * matrix.columns + this.hovered.column] : -1;
  }

  // Cells that belong to the one under the pointer: the row and column of a D cell; the other sides of a sparse A cell.
  bands() {
    const hit = this.hovered;
    if (!hit?.name) return [];
    const { row, column } = hit;
    const { k } = this.about;
    const { A, E, stored } = this.matrices;
    const other = this.about.products > 1 ? Math.floor(row / 8) * 8 + column : column; // quad pairs stack A and D, and set B side by side
    if (hit.name === "D" || hit.name === "C") return [{ name: "A", row, column: 0, column2: k - 1 }, { name: "B", row: 0, row2: k - 1, column: other }];
    if (!E || !["A", "stored", "E"].includes(hit.name)) return [];
    const dense = hit.name === "A" ? column : hit.name === "stored" ? stored.home[row * stored.columns + column] : null;
    const chunk = hit.name === "E" ? column : Math.floor(dense / this.about.chunk);
    const whole = { name: "A", row, column: chunk * this.about.chunk, column2: (chunk + 1) * this.about.chunk - 1 };
    const found = [whole, { name: "E", row, column: chunk }];
    if (dense === null) return [...found, { name: "stored", row, column: chunk * this.about.kept, column2: (chunk + 1) * this.about.kept - 1 }];
    const home = A.home[row * A.columns + dense];
    if (hit.name === "stored") found.push({ name: "A", row, column: dense });
    else if (home >= 0) found.push({ name: "stored", row, column: home % stored.columns });
    return found;
  }

  drawOver() { for (const pane of this.panes) pane.drawOver(); }

  tell() {
    const at = this.hovered?.name ? this.hovered : this.selection;
    this.status.textContent = at && this.matrices[at.name]
      ? describe(this.matrices, at.name, at.row, at.column)
      : "Point at a cell to see who holds it; click to choose it; type to change it.";
  }

  // Choosing a cell chooses its lane, except when Enter or Tab moves on: the edited lane stays in view.
  select(selection, focus = true, follow = true) {
    this.selection = selection;
    const matrix = this.matrices[selection.name];
    const at = selection.row * matrix.columns + selection.column;
    this.model.set("selected", { name: selection.name, row: selection.row, column: selection.column });
    if (follow && matrix.lane && matrix.lane[at] !== this.lane) this.chooseLane(matrix.lane[at]);
    else { this.model.save_changes(); this.panel.drawRegisters(); }
    this.placeInput(focus);
    this.tell();
    this.drawOver();
  }

  placeInput(focus = false) {
    const pane = this.selection && this.panes.find((each) => each.layer(this.selection.name));
    if (!pane) return;
    const { x, y, width, height } = pane.rect(this.selection.name, this.selection.row, this.selection.column);
    pane.input.style.cssText = `left:${x - 1}px;top:${y - 1}px;width:${Math.max(width + 1, 10)}px;height:${Math.max(height + 1, 10)}px`;
    const { scroller } = pane;
    if (focus) {
      pane.input.focus({ preventScroll: true });
      scroller.scrollLeft = clamp(scroller.scrollLeft, x + width - pane.width + FADE, x - FADE);
      scroller.scrollTop = clamp(scroller.scrollTop, y + height - pane.height + FADE, y - FADE);
    }
    pane.input.setAttribute("aria-label", describe(this.matrices, this.selection.name, this.selection.row, this.selection.column));
  }

  move(down, right, extend = false, follow = true) {
    const { name, row, column, row2 = row, column2 = column } = this.selection;
    const { rows, columns } = this.matrices[name];
    const [r, c] = extend ? [row2, column2] : [row, column];
    const to = [clamp(r + down, 0, rows - 1), clamp(c + right, 0, columns - 1)];
    this.select(extend ? { name, row, column, row2: to[0], column2: to[1] } : { name, row: to[0], column: to[1] }, true, follow);
  }

  range() {
    const { row, column, row2 = row, column2 = column } = this.selection;
    return { top: Math.min(row, row2), left: Math.min(column, column2), bottom: Math.max(row, row2), right: Math.max(column, column2) };
  }

  block(text) {
    const { top, left, bottom, right } = this.range();
    const lines = [];
    for (let row = top; row <= bottom; row += 1) {
      const words = [];
      for (let column = left; column <= right; column += 1) words.push(text(row, column));
      lines.push(words.join("\t"));
    }
    return lines.join("\n");
  }

  selectedText() {
    const matrix = this.matrices[this.selection.name];
    return this.block((row, column) => editText(matrix, row * matrix.columns + column));
  }

  clear() {
    const { top, left } = this.range();
    this.send({ do: "paste", name: this.selection.name, row: top, column: left, text: this.block(() => "0") });
  }

  chooseLane(lane) {
    this.model.set("lane", lane);
    this.model.save_changes();
  }

  zoomBy(percent) {
    this.model.set("zoom", clamp(this.model.get("zoom") + percent, 50, 400));
    this.model.save_changes();
  }

  send(message) { this.model.send(message); }

  cellRect(name, row, column) {
    const pane = this.panes.find((each) => each.layer(name));
    const { x, y, width, height } = pane.rect(name, row, column);
    const box = pane.scroller.getBoundingClientRect();
    return { x: box.left + x - pane.scroller.scrollLeft, y: box.top + y - pane.scroller.scrollTop, width, height };
  }
}

function render({ model, el }) {
  const app = new App(model, el);
  return () => app.stop();
}

export default { render };
