// What is selected: a cell or a range of cells, and the text box on the cell.

import { focusOn } from "../common/dom.js";
import { clamp } from "../common/numbers.js";
import { bitsHolder, blockText, editText, indexOfCell, laneOf } from "./matrix.js";

// milliseconds
const SAVE_DELAY = 300;

export class Selection {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.content = app.content;
    this.pointing = app.pointing;
    this.mark = /** @type {Mark | null} */ (null);
    this.saveTimer = 0; // runs until Python hears of the selection,
    this.lane = /** @type {number | null} */ (null); // and of its lane
  }

  // Selecting a cell chooses its lane, except when Enter or Tab moves on: the edited lane stays in view.
  /** @param {Mark} mark */
  select(mark, focus = true, chooseLane = true, soon = false) {
    const { app, content } = this;
    const follows = chooseLane && !content.quiz.open;
    const lane = laneOf(content.matrices, mark);
    this.mark = mark;
    if (follows || (!content.quiz.open && content.shownLanes().some((shown) => shown.lane === lane)))
      app.panel.turnToCell(mark);
    app.toolbar.chooseMatrixToFill(mark.name);
    this.lane = follows && lane >= 0 ? lane : null;
    if (soon) this.saveSoon();
    else this.save();
    app.panel.drawRegisters();
    this.showSelection(focus);
  }

  /** @param {number} lane */
  chooseLane(lane) {
    // what is chosen now counts
    this.lane = null;
    this.content.set("lane", lane);
  }

  // Whether a cell is the selected one, or where the selection began.
  /** @param {Cell} cell */
  isAt({ name, row, column }) {
    return this.mark?.name === name && this.mark.row === row && this.mark.column === column;
  }

  // The element in a register that the selected cell is, or the nibble that leaves it out.
  /** @returns {Cell | null} */
  held() {
    const { mark, content } = this;
    return mark && mark.row2 === undefined && !content.quiz.open ? bitsHolder(content.matrices, mark) : null;
  }

  // Saves the selection now, if it is still to be saved.
  savePending() {
    if (this.saveTimer) this.save();
  }

  putIntoModel() {
    window.clearTimeout(this.saveTimer);
    this.saveTimer = 0;
    if (!this.mark) return;
    const { name, row, column } = this.mark;
    this.content.model.set("selected", { name, row, column });
    if (this.lane === null) return;
    this.app.panel.turnToCell(this.mark);
    this.content.model.set("lane", this.lane);
    this.lane = null;
  }

  save() {
    this.putIntoModel();
    this.content.model.save_changes();
  }

  // Enter and Tab move on to another cell. Python hears of that only after the edit is on the screen, because
  // every message costs the kernel and the notebook several more. Other messages are sent after
  // it all the same.
  saveSoon() {
    if (this.content.isStatic) return this.save();
    window.clearTimeout(this.saveTimer);
    this.saveTimer = window.setTimeout(() => this.save(), SAVE_DELAY);
  }

  /** @param {Line} line */
  selectLine({ name, row, column }) {
    const { rows, columns } = this.content.matrices[name];
    if (row === undefined)
      this.select({ name, row: 0, column, row2: rows - 1, column2: column }, true, false);
    else this.select({ name, row, column: 0, row2: row, column2: columns - 1 }, true, false);
  }

  // A cell that was selected elsewhere: from Python, or in another view.
  readFromModel() {
    const selected = this.content.model.get("selected");
    if (this.saveTimer) return; // what the model has is older
    if (!selected?.name || !this.content.matrices[selected.name]) return;
    const { name, row, column } = selected;
    if (this.isAt(selected)) return;
    this.mark = { name, row, column };
    this.app.panel.turnToCell(this.mark);
    this.app.panel.drawRegisters();
    this.showSelection();
  }

  // Another instruction may not have these cells.
  dropIfGone() {
    if (!this.mark) return;
    const { name, row2, column2 } = this.range();
    const matrix = this.content.matrices[name];
    if (!matrix || row2 >= matrix.rows || column2 >= matrix.columns) this.mark = null;
  }

  showSelection(focus = false) {
    this.app.scene.follow();
    this.placeInput(focus);
    this.app.status.update();
    this.pointing.drawMarksSoon();
  }

  placeInput(focus = false) {
    const { mark, pointing } = this;
    const { scene } = this.app;
    const pane = mark && scene.paneOf(mark.name);
    if (!pane) return;
    pane.placeTextBox(pane.rect(mark.name, mark.row, mark.column));
    if (focus) {
      focusOn(pane.input);
      scene.reveal([mark]);
    }
    pane.input.setAttribute("aria-label", pointing.facts(mark).join(" · "));
  }

  /** @param {number} down @param {number} right */
  moveBy(down, right, extend = false, soon = false) {
    if (!this.mark) return;
    const { name, row, column, row2 = row, column2 = column } = this.mark;
    const { rows, columns } = this.content.matrices[name];
    const [fromRow, fromColumn] = extend ? [row2, column2] : [row, column];
    const [toRow, toColumn] = [clamp(fromRow + down, 0, rows - 1), clamp(fromColumn + right, 0, columns - 1)];
    const mark = extend
      ? { name, row, column, row2: toRow, column2: toColumn }
      : { name, row: toRow, column: toColumn };
    this.select(mark, true, !soon, soon);
  }

  /** @returns {CellRange} */
  range() {
    const { name, row, column, row2 = row, column2 = column } = /** @type {Mark} */ (this.mark);
    return {
      name,
      row: Math.min(row, row2),
      column: Math.min(column, column2),
      row2: Math.max(row, row2),
      column2: Math.max(column, column2),
    };
  }

  // The row or column that is completely selected.
  /** @returns {Line | null} */
  line() {
    if (!this.mark) return null;
    const { name, row, column, row2, column2 } = this.range();
    const { rows, columns } = this.content.matrices[name];
    if (row === row2 && column === 0 && column2 === columns - 1 && columns > 1) return { name, row };
    return column === column2 && row === 0 && row2 === rows - 1 && rows > 1 ? { name, column } : null;
  }

  // As a spreadsheet copies it.
  text() {
    const range = this.range();
    const matrix = this.content.matrices[range.name];
    return blockText(range, (row, column) => editText(matrix, indexOfCell(matrix, { row, column })));
  }
}
