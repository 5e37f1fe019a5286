// The dot product of the selected cell of D, summand by summand. Products and sums come from Python.

import { make } from "./util.js";
import { makePlayControls } from "./play_controls.js";

const PACE = 250; // milliseconds per summand

export class Stepper {
  /** @param {App} app @param {HTMLElement} parent */
  constructor(app, parent) {
    this.app = app;
    this.steps = /** @type {SumStep[]} */ ([]);
    this.trace = /** @type {Sent<Trace> | null} */ (null);
    this.at = 0;
    this.timer = 0;
    this.cell = "";
    this.node = make("section", "ptx-stepper", parent, {
      "aria-label": "the dot product, step by step",
      "data-testid": "stepper",
    });
    const { button, slider } = makePlayControls(this.node, "summand", this);
    this.button = button;
    this.slider = slider;
    this.text = make("output", "ptx-stepper-text", this.node);
    this.operation = make("span", "ptx-stepper-step", this.node);
    this.updateButton();
  }

  update() {
    const trace = this.app.model.get("trace");
    const dotProduct = trace?.dot_product;
    const cell = dotProduct ? `${this.app.instruction?.mnemonic} ${trace.row} ${trace.column}` : "";
    this.node.hidden = !dotProduct;
    [this.trace, this.steps] = [trace, dotProduct?.steps ?? []];
    if (cell !== this.cell) {
      this.cell = cell;
      this.pause();
      this.at = 0;
    }
    this.slider.max = String(this.steps.length);
    this.go(Math.min(this.at, this.steps.length), false);
  }

  updateButton() {
    this.button.textContent = this.timer ? "❚❚" : "▶";
    this.button.setAttribute("aria-label", this.timer ? "pause" : "play the dot product");
    this.text.setAttribute("aria-live", this.timer ? "off" : "polite");
  }

  play() {
    if (this.at >= this.steps.length) this.at = 0;
    this.timer = window.setInterval(() => {
      this.go(this.at + 1);
      if (this.at >= this.steps.length) this.pause();
    }, PACE);
    this.go(this.at + 1);
    this.updateButton();
  }

  pause() {
    window.clearInterval(this.timer);
    this.timer = 0;
    this.updateButton();
  }

  /** @param {number} at */
  go(at, follow = true) {
    this.at = at;
    this.slider.value = String(at);
    const step = this.steps[at - 1];
    const text = step ? step[3] : (this.trace?.dot_product?.summary ?? "");
    this.text.textContent = text;
    this.operation.textContent = step ? step[2] : "";
    this.slider.setAttribute("aria-valuetext", text);
    this.node.dataset.at = String(at);
    if (follow) this.app.reveal(this.marks());
    this.app.drawMarksSoon();
  }

  // The cells of a step: of A and B, compressed cells and nibbles of sparse A, C, or the cell of D itself.
  /** @returns {Mark[]} */
  marks() {
    const step = this.steps[this.at - 1];
    const { trace } = this;
    if (!step || !trace?.dot_product) return [];
    const {
      row,
      column,
      dot_product: { column_of_b: columnOfB },
    } = trace;
    const [first, last, , text] = step;
    /** @type {Mark} */
    const cell = { name: "D", row, column };
    if (first === null) return text.startsWith("C[") ? [cell, { name: "C", row, column }] : [cell];
    /** @type {Mark[]} */
    const marks = [
      { name: "A", row, column: first, column2: last },
      { name: "B", row: first, row2: last, column: columnOfB },
      cell,
    ];
    /** @type {AnyMatrices} */
    const { A, SFA, stored } = this.app.matrices;
    if (SFA) {
      const block = Math.floor((first * SFA.columns) / A.columns);
      marks.push({ name: "SFA", row, column: block }, { name: "SFB", row: block, column: columnOfB });
    }
    if (!stored) return marks;
    const columns = [];
    for (let k = first; k <= last; k += 1)
      if (A.counterpart && A.counterpart[row * A.columns + k] >= 0)
        columns.push(A.counterpart[row * A.columns + k] % stored.columns);
    /** @param {number} k */
    const chunk = (k) => Math.floor(k / this.app.instruction.chunk);
    return [
      ...marks,
      { name: "stored", row, column: Math.min(...columns), column2: Math.max(...columns) },
      { name: "E", row, column: chunk(first), column2: chunk(last) },
    ];
  }
}
