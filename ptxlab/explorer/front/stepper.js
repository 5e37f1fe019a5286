// The dot product of the chosen cell of D, one summand after the other. Products and sums are Python's.

import { make } from "./text.js";

const PACE = 250; // milliseconds a summand

export class Stepper {
  /** @param {App} app @param {HTMLElement} parent */
  constructor(app, parent) {
    this.app = app;
    this.stops = /** @type {Stop[]} */ ([]);
    this.trace = /** @type {Sent<Trace> | null} */ (null);
    this.at = 0;
    this.timer = 0;
    this.cell = "";
    this.node = make("section", "ptx-walk", parent, { "aria-label": "the dot product, step by step", "data-testid": "walk" });
    this.button = make("button", "ptx-play", this.node);
    this.slider = make("input", "ptx-scrub", this.node, { type: "range", min: "0", step: "1", "aria-label": "summand" });
    this.said = make("output", "ptx-walk-said", this.node);
    this.step = make("span", "ptx-walk-step", this.node);
    this.button.addEventListener("click", () => (this.timer ? this.pause() : this.play()));
    this.slider.addEventListener("input", () => { this.pause(); this.go(Number(this.slider.value)); });
    this.slider.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Escape") { this.pause(); this.go(0); }
      if (event.key === " " || event.key === "Enter") { event.preventDefault(); this.button.click(); }
    });
    this.face();
  }

  update() {
    const trace = this.app.model.get("trace");
    const walk = trace?.walk;
    const cell = walk ? `${this.app.about?.mnemonic} ${trace.row} ${trace.column}` : "";
    this.node.hidden = !walk;
    [this.trace, this.stops] = [trace, walk?.stops ?? []];
    if (cell !== this.cell) {
      this.cell = cell;
      this.pause();
      this.at = 0;
    }
    this.slider.max = String(this.stops.length);
    this.go(Math.min(this.at, this.stops.length), false);
  }

  face() {
    this.button.textContent = this.timer ? "❚❚" : "▶";
    this.button.setAttribute("aria-label", this.timer ? "pause" : "play the dot product");
    this.said.setAttribute("aria-live", this.timer ? "off" : "polite");
  }

  play() {
    if (this.at >= this.stops.length) this.at = 0;
    this.timer = window.setInterval(() => {
      this.go(this.at + 1);
      if (this.at >= this.stops.length) this.pause();
    }, PACE);
    this.go(this.at + 1);
    this.face();
  }

  pause() {
    window.clearInterval(this.timer);
    this.timer = 0;
    this.face();
  }

  /** @param {number} at */
  go(at, follow = true) {
    this.at = at;
    this.slider.value = String(at);
    const stop = this.stops[at - 1];
    const text = stop ? stop[3] : this.trace?.walk?.about ?? "";
    this.said.textContent = text;
    this.step.textContent = stop ? stop[2] : "";
    this.slider.setAttribute("aria-valuetext", text);
    this.node.dataset.at = String(at);
    if (follow) this.app.reveal(this.marks());
    this.app.drawOver();
  }

  // Where a stop is in the panes: cells of A and B, the stored cells and nibbles of a sparse A; C, or the cell of D itself.
  /** @returns {Mark[]} */
  marks() {
    const stop = this.stops[this.at - 1];
    const { trace } = this;
    if (!stop || !trace?.walk) return [];
    const { row, column, walk } = trace;
    const [first, last, , text] = stop;
    /** @type {Mark} */
    const cell = { name: "D", row, column };
    if (first === null) return text.startsWith("C[") ? [cell, { name: "C", row, column }] : [cell];
    /** @type {Mark[]} */
    const found = [{ name: "A", row, column: first, column2: last }, { name: "B", row: first, row2: last, column: walk.other }, cell];
    /** @type {Given} */
    const { A, SFA, stored } = this.app.matrices;
    if (SFA) {
      const block = Math.floor((first * SFA.columns) / A.columns);
      found.push({ name: "SFA", row, column: block }, { name: "SFB", row: block, column: walk.other });
    }
    if (!stored) return found;
    const homes = [];
    for (let k = first; k <= last; k += 1) if (A.home && A.home[row * A.columns + k] >= 0) homes.push(A.home[row * A.columns + k] % stored.columns);
    /** @param {number} k */
    const chunk = (k) => Math.floor(k / this.app.about.chunk);
    return [...found, { name: "stored", row, column: Math.min(...homes), column2: Math.max(...homes) }, { name: "E", row, column: chunk(first), column2: chunk(last) }];
  }
}
