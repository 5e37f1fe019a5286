// Why the selected cell of D has its bits: on one chip, or on two side by side.

import { make, makeButton, makeSection, write } from "../common/dom.js";
import { editText, indexOfCell } from "../matrix/matrix.js";

export class TracePanel {
  /** @param {Pick<App, "content" | "scene">} parts @param {HTMLElement} parent */
  constructor({ content, scene }, parent) {
    this.content = content;
    this.scene = scene;
    this.drawn = /** @type {Sent<Trace> | null} */ (null);
    this.justOpened = false; // and not yet scrolled into view
    this.lit = "";
    this.node = makeSection(parent, "ptx-trace", "why D has these bits", "trace");
    this.button = makeButton(this.node, "ptx-trace-fold", "", () =>
      this.setOpen(!content.model.get("tracing")),
    );
    this.body = make("div", "ptx-trace-body", this.node, { tabindex: "0", role: "group" });
    // the panel may be below the fold: this one stands on the bar
    const showTrace = () => {
      if (!content.model.get("tracing")) this.setOpen(true);
      else if (this.isBeside) this.setOpen(false);
      else this.node.scrollIntoView({ block: "nearest" });
    };
    this.ask = makeButton(null, "ptx-tool ptx-why", "why?", showTrace, {
      title: "Why the selected cell of D has these bits",
      "aria-label": "why the selected cell has these bits",
      "data-tool": "why",
    });
  }

  /** @param {boolean} open */
  setOpen(open) {
    this.justOpened = open;
    this.content.set("tracing", open);
  }

  update() {
    const { model } = this.content;
    const { matrices } = this.content;
    const [trace, open] = [model.get("trace"), model.get("tracing")];
    const chosen = matrices.D && trace?.row !== undefined;
    const title = chosen
      ? `Why ${whatIsExplained(matrices.D, trace.row, trace.column)}`
      : matrices.D?.unknown || "Why these bits? Select a cell of D";
    write(this.button, `${open ? "▾" : "▸"} ${title}`);
    this.button.setAttribute("aria-expanded", String(open));
    this.body.hidden = !open || !chosen;
    // always on the bar where there is a D: if it came with the first selection, the bar might break and all move
    this.ask.hidden = Boolean(this.content.instruction.transfer);
    if (open && chosen && trace.grids && this.drawn !== trace) this.draw(trace);
    this.place();
    if (this.body.hidden || !trace?.grids) return;
    if (this.justOpened && !this.isBeside) this.node.scrollIntoView({ block: "nearest" });
    this.justOpened = false;
  }

  get isBeside() {
    return this.body.parentElement === this.scene.beside;
  }

  // One chip's sum stands beside the scene, before the registers, if it is narrow enough: below, the matrices
  // would scroll away.
  place() {
    const { body, node, content, scene } = this;
    const isOne = !body.hidden && !body.querySelector(".ptx-trace-columns");
    const mayStand =
      isOne && !scene.stage.hidden && !scene.stage.matches(".ptx-narrow") && !content.quiz.open;
    if (mayStand && !this.isBeside) {
      scene.beside.prepend(body);
      scene.beside.scrollTop = 0;
    }
    const fits = mayStand && body.scrollWidth <= body.clientWidth + 1;
    if (!fits && this.isBeside) node.append(body);
  }

  /** @param {Sent<Trace>} trace */
  draw(trace) {
    this.drawn = trace;
    this.body.setAttribute("aria-label", trace.title ?? "");
    this.body.replaceChildren();
    if (trace.lead) make("p", "ptx-trace-lead", this.body, { text: trace.lead });
    this.drawNotes(this.body, trace.notes ?? []);
    for (const grid of trace.grids ?? []) drawGrid(this.body, grid);
    if (!trace.columns?.length) return;
    const columns = make("div", "ptx-trace-columns", this.body);
    for (const column of trace.columns) this.drawColumn(columns, column);
    this.lit = "";
  }

  /** @param {HTMLElement} parent @param {string[]} notes */
  drawNotes(parent, notes) {
    const node = make("div", "ptx-trace-notes", parent);
    for (const text of notes) make("span", "", node, { text });
  }

  // Lights the row of a term: the timeline is there, and this is its close-up.
  /** @param {string} name */
  light(name) {
    if (this.lit === name) return;
    this.lit = name;
    for (const node of this.body.querySelectorAll(".ptx-trace-label"))
      node.classList.toggle("now", Boolean(namesOfLabel.get(node)?.includes(name)));
  }

  // A chip: the steps before the one at which the two part are folded.
  /** @param {HTMLElement} parent @param {TraceColumn} column */
  drawColumn(parent, { heading, notes, grids, parts: [step = -1, row = null] }) {
    const node = make("section", "ptx-trace-column", parent, { "aria-label": heading, tabindex: "0" });
    make("h4", "", node).textContent = heading;
    this.drawNotes(node, notes);
    grids.forEach((grid, index) => {
      if (index < step) {
        const fold = make("details", "ptx-trace-same", node);
        make("summary", "", fold).textContent = `${grid.title}; no difference yet`;
        drawGrid(fold, grid, null, "");
        return;
      }
      if (index !== step) drawGrid(node, grid);
      else drawGrid(make("div", "ptx-trace-part", node), grid, row);
    });
  }
}

/** The names of the terms that the label of a row stands for. @type {WeakMap<Element, string[]>} */
const namesOfLabel = new WeakMap();

/** @param {Matrix} D @param {number} row @param {number} column */
function whatIsExplained(D, row, column) {
  const index = indexOfCell(D, { row, column });
  if (D.whole) return `D[${row}][${column}] has its bits`; // which are still to come
  const [cell, value] = [`D[${row}][${column}]`, editText(D, index)];
  if (!D.differ?.[index]) return `${cell} = ${value} has these bits`;
  const other = editText({ ...D, values: D.otherValues }, index);
  return `${cell} is ${value} on ${D.chips[0]} and ${other} on ${D.chips[1]}`;
}

/** @param {HTMLElement} parent @param {Grid} grid @param {number | null} part the row at which two chips part */
function drawGrid(parent, grid, part = null, heading = grid.title) {
  const { size, axes, rows, row_names: names, columns, cells, row_rules: across, column_rules: down } = grid;
  if (heading) make("div", "ptx-trace-title", parent).textContent = heading;
  const table = make("div", "ptx-trace-grid", parent);
  table.style.setProperty("--columns", String(size[1]));
  /**
   * @param {"span" | "i"} tag
   * @param {string} classes
   * @param {string} text
   * @param {number} row
   * @param {number} column
   */
  const put = (tag, classes, text, row, column, width = 1) => {
    const node = make(tag, classes, table);
    node.style.gridArea = `${row + 2} / ${column + 2} / span 1 / span ${width}`;
    node.textContent = text;
    return node;
  };
  if (axes[0]) put("span", "ptx-trace-label", `${axes[0]} `, -1, -1).classList.add("right");
  rows.forEach(([row, text], index) =>
    namesOfLabel.set(put("span", "ptx-trace-label", text.trimEnd(), row, -1), names[index]),
  );
  for (const [start, width, text] of columns) {
    const head = put("span", "ptx-trace-head", text, -1, start, width);
    const [first, ...rest] = text.split("..");
    if (!rest.length) continue;
    head.replaceChildren(first); // beside another chip there is room for the first number only
    make("span", "ptx-trace-to", head).textContent = `..${rest.join("..")}`;
  }
  for (const [row, column, width, text, classes, hover] of cells) {
    const digit = text === "0" ? " zero" : text === "1" ? " one" : "";
    put("span", `ptx-trace-cell ${classes}${digit}`, text, row, column, width).title = hover;
  }
  for (const row of across) put("i", "ptx-trace-rule", "", row, 0, size[1]);
  for (const [column, first, stop] of down)
    put("i", "ptx-trace-cut", "", first, column).style.gridRowEnd = String(stop + 2);
  if (part !== null) put("i", "ptx-trace-here", "", part, -1, size[1] + 1);
}
