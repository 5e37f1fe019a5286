// What the pointer is on: a cell, a row or a column, a lane. Everything else on the screen follows it.

import { nextTask } from "../common/dom.js";
import { cellFacts, describeLine, relatedCells } from "./describe.js";
import { indexOfCell } from "./matrix.js";

export class Pointing {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.tooltip = app.tooltip;
    this.content = app.content;
    this.hovered = /** @type {Hovered | null} */ (null);
    this.line = /** @type {Line | null} */ (null);
    // the bit that the last tap showed
    this.tapped = /** @type {Element | null} */ (null);
    // in which what is pointed at will be shown
    this.frame = 0;
    // what is shown as such
    this.shown = "";
    this.drawsSoon = false;
  }

  // What was pointed at is gone.
  forget() {
    this.hovered = this.line = null;
    this.shown = "";
    this.tooltip.hide();
  }

  /** @param {Hovered | null} hit @param {MouseEvent} [event] */
  hover(hit, event) {
    this.hovered = hit;
    if (event && hit?.name) this.showTip(event, hit);
    else this.tooltip.hide();
    this.showSoon();
  }

  // A row or a column: which lanes hold it.
  /** @param {Line | null} line @param {MouseEvent} [event] */
  hoverLine(line, event) {
    const { tooltip } = this.app;
    const { matrices, instruction, quiz } = this.content;
    if (quiz.open) line = null; // it would tell the lanes
    if (line && event) tooltip.showAt(event, () => [describeLine(matrices, line, instruction)]);
    else if (this.line && !this.hovered) tooltip.hide();
    this.line = line;
    this.showSoon();
  }

  // Several events come when the pointer leaves one cell for another: only the outcome is shown, once, in the
  // next frame, and drawn before it if there is time.
  showSoon() {
    if (this.frame) return;
    const { app, tooltip } = this;
    const showNow = () => {
      if (!this.frame) return;
      this.stop();
      const pointed = JSON.stringify([this.hovered, this.line]);
      if (pointed !== this.shown) {
        this.shown = pointed;
        this.drawMarks(); // first: a canvas that is given a font makes the browser lay out what was written
        app.status.update();
        app.panel.highlight(this.content.quiz.open ? null : this.hovered);
        app.tensor.thread.highlight();
      }
      tooltip.draw();
    };
    this.frame = requestAnimationFrame(showNow);
    nextTask(showNow);
  }

  // Draws once per event, however often it is called, and in this frame: there is time left in it.
  drawMarksSoon() {
    if (this.drawsSoon) return;
    this.drawsSoon = true;
    queueMicrotask(() => {
      this.drawsSoon = false;
      this.drawMarks();
      this.app.tooltip.draw();
    });
  }

  drawMarks() {
    const { scene, memory, tensor, tooltip } = this.app;
    for (const pane of scene.panes) pane.drawMarks();
    memory.drawMarks();
    tensor.drawMarks();
    tooltip.drawLens();
  }

  stop() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
  }

  /** @param {MouseEvent} event @param {Cell} hit */
  showTip(event, hit) {
    const small = hit.name !== "E" && !this.app.scene.paneOf(hit.name)?.layer(hit.name).digits;
    this.tooltip.showAt(event, () => this.facts(hit), small ? hit : null);
  }

  // A cell in words; only its name while a question of the quiz is open.
  /** @param {Cell} cell */
  facts(cell) {
    const { quiz, matrices, instruction } = this.content;
    if (quiz.open) return [`${matrices[cell.name].label}[${cell.row}][${cell.column}]`];
    return cellFacts(matrices, instruction, cell, (name, at) => this.app.memory.facts(name, at));
  }

  // The lane that is pointed at, or that holds the cell which is; -1 for none.
  hoveredLane() {
    const { hovered } = this;
    const { quiz, matrices } = this.content;
    if (!hovered || quiz.open) return -1;
    if (hovered.lane !== undefined) return hovered.lane;
    const matrix = matrices[hovered.name];
    return matrix?.lane ? matrix.lane[indexOfCell(matrix, hovered)] : -1;
  }

  // To what is pointed at, or else to the selected cell.
  related() {
    const { quiz, matrices, instruction } = this.content;
    const { mark } = this.app.selection;
    const selected = mark && mark.row2 === undefined ? mark : null;
    return quiz.open ? [] : relatedCells(matrices, instruction, this.hovered ?? selected);
  }
}
