// Why the selected cell of D has its bits.

import { make, write } from "./util.js";
import { cellText } from "./matrix.js";

export class TracePanel {
  /** @param {App} app @param {HTMLElement} parent */
  constructor(app, parent) {
    this.app = app;
    this.drawn = /** @type {Sent<Trace> | null} */ (null);
    this.node = make("section", "ptx-trace", parent, {
      "aria-label": "why D has these bits",
      "data-testid": "trace",
    });
    this.button = make("button", "ptx-trace-fold", this.node);
    this.body = make("div", "ptx-trace-body", this.node, { tabindex: "0", role: "group" });
    this.button.addEventListener("click", () => {
      app.model.set("tracing", !app.model.get("tracing"));
      app.model.save_changes();
    });
  }

  update() {
    const { model, matrices } = this.app;
    const [trace, open] = [model.get("trace"), model.get("tracing")];
    const chosen = matrices.D && trace?.row !== undefined;
    const value = chosen ? cellText(matrices.D, trace.row * matrices.D.columns + trace.column, 7) : "";
    const title = chosen
      ? `Why D[${trace.row}][${trace.column}] = ${value} has these bits`
      : "Why these bits? Select a cell of D";
    write(this.button, `${open ? "▾" : "▸"} ${title}`);
    this.button.setAttribute("aria-expanded", String(open));
    this.body.hidden = !open || !chosen;
    if (!open || !chosen || this.drawn === trace || !trace.grids) return;
    this.drawn = trace;
    this.body.setAttribute("aria-label", trace.title);
    this.body.replaceChildren();
    const notes = make("div", "ptx-trace-notes", this.body);
    for (const note of trace.notes) make("span", "", notes).textContent = note;
    for (const grid of trace.grids) this.drawGrid(grid);
  }

  /** @param {Grid} grid */
  drawGrid({ title, size, axes, rows, columns, cells, row_rules: across, column_rules: down }) {
    make("div", "ptx-trace-title", this.body).textContent = title;
    const table = make("div", "ptx-trace-grid", this.body);
    table.style.gridTemplateColumns = `max-content repeat(${size[1]}, minmax(8px, 15px))`;
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
    for (const [row, text] of rows) put("span", "ptx-trace-label", text, row, -1);
    for (const [start, width, text] of columns) put("span", "ptx-trace-head", text, -1, start, width);
    for (const [row, column, width, text, classes, hover] of cells) {
      const digit = text === "0" ? " zero" : text === "1" ? " one" : "";
      put("span", `ptx-trace-cell ${classes}${digit}`, text, row, column, width).title = hover;
    }
    for (const row of across) put("i", "ptx-trace-rule", "", row, 0, size[1]);
    for (const [column, first, stop] of down)
      put("i", "ptx-trace-cut", "", first, column).style.gridRowEnd = String(stop + 2);
  }
}
