// The fill handle: a small square at the corner of the selection. Dragging it extends the cells; Ctrl+D and
// Ctrl+R fill inside a range. Python decides on the numbers.

import { consume, make } from "../common/dom.js";
import { span } from "../matrix/describe.js";

// of a selection that has a handle, in pixels
const MIN_BOX = 6;
const HANDLE = 9;
const KEYS = /** @type {const} */ (["keydown", "keyup"]);

/** @param {MouseEvent | KeyboardEvent} event */
const withCtrl = (event) => event.ctrlKey || event.metaKey || event.altKey;

export class FillHandle {
  /** @param {Pane} pane */
  constructor(pane) {
    this.pane = pane;
    // while it is dragged
    this.filling = /** @type {Filling | null} */ (null);
    this.node = make("div", "ptx-handle", pane.space, {
      "aria-hidden": "true",
      title:
        "Drag to fill; double-click to fill to the last row; Ctrl copies a series, or counts from one cell",
    });
    this.press = this.press.bind(this);
    const { node } = this;
    node.addEventListener("pointerdown", (event) => this.start(event));
    node.addEventListener("pointermove", (event) => {
      if (this.filling) this.drag(event);
    });
    node.addEventListener("pointercancel", () => {
      if (this.filling) this.stop();
    });
    node.addEventListener("pointerup", () => {
      const finished = this.filling && this.stop();
      if (finished?.to) extendTo(pane, finished.to, finished.other);
    });
    node.addEventListener("dblclick", (event) => this.fillToLastRow(event));
  }

  /** @param {PointerEvent} event */
  start(event) {
    // with Shift the range is extended to the cell below the handle
    if (event.button !== 0 || event.shiftKey) return;
    consume(event);
    this.node.setPointerCapture(event.pointerId);
    this.filling = { to: null, other: withCtrl(event) };
    for (const type of KEYS) window.addEventListener(type, this.press, true);
  }

  /** @param {PointerEvent} event */
  drag(event) {
    const { pointing, selection, scene } = this.pane;
    event.stopPropagation();
    pointing.hover(null);
    const to = fillTarget(this.pane, event);
    this.update(withCtrl(event), to);
    if (to) scene.reveal([{ name: selection.range().name, row: to.to_row, column: to.to_column }]);
  }

  /** @param {boolean} other @param {Corner | null} to */
  update(other, to) {
    const { content, selection, status } = this.pane;
    this.filling = { other, to };
    if (to) status.say([describeFill(selection.range(), content.matrices, to, other)]);
    else status.update();
    this.pane.drawMarks();
  }

  // Ctrl changes what is filled in, Escape ends it.
  /** @param {KeyboardEvent} event */
  press(event) {
    if (event.key === "Escape") {
      consume(event);
      this.stop();
    } else if (this.filling) this.update(withCtrl(event), this.filling.to);
  }

  stop() {
    const finished = this.filling;
    this.filling = null;
    for (const type of KEYS) window.removeEventListener(type, this.press, true);
    this.pane.status.update();
    this.pane.drawMarks();
    return finished;
  }

  /** @param {MouseEvent} event */
  fillToLastRow(event) {
    const { content, selection } = this.pane;
    event.stopPropagation();
    const { name, row2, column } = selection.range();
    const { rows } = content.matrices[name];
    if (row2 < rows - 1) extendTo(this.pane, { to_row: rows - 1, to_column: column }, withCtrl(event));
  }

  // At the corner of the selection, if the matrix can be edited and there is room for it.
  place() {
    const { node, pane } = this;
    const { content, selection } = pane;
    const name = selection.mark?.name;
    const isHere =
      name && pane.has(name) && content.matrices[name].editable && !pane.editing && !content.isStatic;
    const box = isHere ? pane.placeOf(selection.range()) : null;
    const shown = box !== null && Math.min(box.width, box.height) >= MIN_BOX;
    if (node.hidden === shown) node.hidden = !shown;
    if (!shown) return;
    const { width, down } = pane.layer(selection.range().name);
    const roomy = width >= 24 && down.size >= 16;
    if (node.classList.contains("roomy") !== roomy) node.classList.toggle("roomy", roomy);
    const left = Math.min(box.x + box.width - HANDLE / 2 - 1, pane.total.width - HANDLE);
    const top = Math.min(box.y + box.height - HANDLE / 2 - 1, pane.total.height - HANDLE);
    if (node.style.left !== `${left}px`) node.style.left = `${left}px`;
    if (node.style.top !== `${top}px`) node.style.top = `${top}px`;
  }
}

// The row or column up to which the pointer fills, along the
// axis on which it is farther away; null inside the range.
/** @param {Pane} pane @param {MouseEvent} event @returns {Corner | null} */
function fillTarget(pane, event) {
  const { name, row, column, row2, column2 } = pane.selection.range();
  const layer = pane.layer(name);
  const at = pane.nearest(name, event);
  const down = Math.max(at.row - row2, row - at.row) * layer.down.size;
  const along = Math.max(at.column - column2, column - at.column) * layer.width;
  if (down <= 0 && along <= 0) return null;
  return down >= along ? { to_row: at.row, to_column: column } : { to_row: row, to_column: at.column };
}

// Several cells in the direction of the fill make a series,
// a single one is copied; `other` does the opposite.
/** @param {CellRange} range @param {Corner} to */
const alongSeveral = ({ row, column, row2, column2 }, { to_row: to }) =>
  to < row || to > row2 ? row2 > row : column2 > column;

// The range with the cells that are added to it.
/** @param {CellRange} range @param {Corner} to @returns {CellRange} */
export const filledRange = (
  { name, row, column, row2, column2 },
  { to_row: toRow, to_column: toColumn },
) => ({
  name,
  row: Math.min(row, toRow),
  column: Math.min(column, toColumn),
  row2: Math.max(row2, toRow),
  column2: Math.max(column2, toColumn),
});

// What will be filled in, in words, while the handle is dragged.
/** @param {CellRange} range @param {Matrices} matrices @param {Corner} to @param {boolean} other */
function describeFill(range, matrices, to, other) {
  const { label } = matrices[range.name];
  /** @param {CellRange} cells */
  const words = ({ row, column, row2, column2 }) => `${label}[${span(row, row2)}][${span(column, column2)}]`;
  const [from, over] = [words(range), `fill ${words(filledRange(range, to))}`];
  if (alongSeveral(range, to))
    return other
      ? `${over}: repeat ${from} · without Ctrl: continue its series`
      : `${over}: continue ${from} if its steps are equal, else repeat it · with Ctrl: repeat it`;
  return other
    ? `${over}: count from ${from} in steps of 1 · without Ctrl: copy it`
    : `${over}: copy ${from} · with Ctrl: count from it in steps of 1`;
}

/** @param {Pane} pane @param {Corner} to @param {boolean} other */
function extendTo({ send, selection }, to, other) {
  const range = selection.range();
  const series = alongSeveral(range, to) !== other;
  send({ type: "extend_cells", ...range, ...to, series });
  selection.select(filledRange(range, to), true, false);
}

// Ctrl+D and Ctrl+R: copy the first row (or column) of the
// range over the others; a single one takes the one before it.
/** @param {Pane} pane @param {boolean} down */
export function fillWithin({ send, selection }, down) {
  const range = selection.range();
  const { row, column, row2, column2 } = range;
  const [first, last] = down ? [row, row2] : [column, column2];
  const from = first === last ? first - 1 : first;
  if (from < 0) return;
  const source = down ? { row: from, row2: from } : { column: from, column2: from };
  const to = down ? { to_row: last, to_column: column } : { to_row: row, to_column: last };
  send({ type: "extend_cells", ...range, ...source, ...to, series: false });
}
