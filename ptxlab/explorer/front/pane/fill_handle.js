// The fill handle: a small square at the corner of the selection. Dragging it extends the cells; Ctrl+D and
// Ctrl+R fill inside a range. Python decides on the numbers.

import { consume, make } from "../common/dom.js";

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
    const { name, bottom, left } = selection.range();
    const { rows } = content.matrices[name];
    if (bottom < rows - 1) extendTo(this.pane, { to_row: rows - 1, to_column: left }, withCtrl(event));
  }

  // At the corner of the selection, if the matrix can be edited and there is room for it.
  place() {
    const { node, pane } = this;
    const { content, selection } = pane;
    const name = selection.mark?.name;
    const isHere =
      name && pane.has(name) && content.matrices[name].editable && !pane.editing && !content.isStatic;
    const box = isHere ? boxOf(pane, selection.range()) : null;
    const shown = box !== null && Math.min(box.right - box.left, box.bottom - box.top) >= MIN_BOX;
    if (node.hidden === shown) node.hidden = !shown;
    if (!shown) return;
    const roomy = box.cell[0] >= 24 && box.cell[1] >= 16;
    if (node.classList.contains("roomy") !== roomy) node.classList.toggle("roomy", roomy);
    const left = Math.min(box.right - HANDLE / 2 - 1, pane.total.width - HANDLE);
    const top = Math.min(box.bottom - HANDLE / 2 - 1, pane.total.height - HANDLE);
    if (node.style.left !== `${left}px`) node.style.left = `${left}px`;
    if (node.style.top !== `${top}px`) node.style.top = `${top}px`;
  }
}

// A range in pixels, and how large a cell of it is.
/** @param {Pane} pane @param {CellRange} range */
function boxOf(pane, { name, top, left, bottom, right }) {
  const [from, to] = [pane.rect(name, top, left), pane.rect(name, bottom, right)];
  return {
    left: from.x,
    top: from.y,
    right: to.x + to.width,
    bottom: to.y + to.height,
    cell: [pane.layer(name).width, to.height],
  };
}

// The row or column up to which the pointer fills, along the
// axis on which it is farther away; null inside the range.
/** @param {Pane} pane @param {MouseEvent} event @returns {Corner | null} */
function fillTarget(pane, event) {
  const { name, top, left, bottom, right } = pane.selection.range();
  const layer = pane.layer(name);
  const at = pane.nearest(name, event);
  const down = Math.max(at.row - bottom, top - at.row) * layer.down.size;
  const along = Math.max(at.column - right, left - at.column) * layer.width;
  if (down <= 0 && along <= 0) return null;
  return down >= along ? { to_row: at.row, to_column: left } : { to_row: top, to_column: at.column };
}

// Several cells in the direction of the fill make a series,
// a single one is copied; `other` does the opposite.
/** @param {CellRange} range @param {Corner} to */
const alongSeveral = ({ top, left, bottom, right }, { to_row: row }) =>
  row < top || row > bottom ? bottom > top : right > left;

// The range with the cells that are added to it.
/** @param {CellRange} range @param {Corner} to */
export function filledRange({ top, left, bottom, right }, { to_row: row, to_column: column }) {
  return {
    row: Math.min(top, row),
    column: Math.min(left, column),
    row2: Math.max(bottom, row),
    column2: Math.max(right, column),
  };
}

// What will be filled in, in words, while the handle is dragged.
/** @param {CellRange} range @param {Matrices} matrices @param {Corner} to @param {boolean} other */
function describeFill(range, matrices, to, other) {
  const { name, top, left, bottom, right } = range;
  const { label } = matrices[name];
  const all = filledRange(range, to);
  /** @param {number} first @param {number} last */
  const span = (first, last) => `[${first === last ? first : `${first}..${last}`}]`;
  const [from, over] = [
    `${label}${span(top, bottom)}${span(left, right)}`,
    `fill ${label}${span(all.row, all.row2)}${span(all.column, all.column2)}`,
  ];
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
  const { name, top, left, bottom, right } = range;
  const series = alongSeveral(range, to) !== other;
  const all = filledRange(range, to);
  send({
    type: "extend_cells",
    name,
    row: top,
    column: left,
    row2: bottom,
    column2: right,
    ...to,
    series,
  });
  selection.select({ name, ...all }, true, false);
}

// Ctrl+D and Ctrl+R: copy the first row (or column) of the
// range over the others; a single one takes the one before it.
/** @param {Pane} pane @param {boolean} down */
export function fillWithin({ send, selection }, down) {
  const { name, top, left, bottom, right } = selection.range();
  const [first, last] = down ? [top, bottom] : [left, right];
  const from = first === last ? first - 1 : first;
  if (from < 0) return;
  const source = down
    ? { row: from, row2: from, column: left, column2: right }
    : { row: top, row2: bottom, column: from, column2: from };
  send({
    type: "extend_cells",
    name,
    ...source,
    to_row: down ? last : top,
    to_column: down ? left : last,
    series: false,
  });
}
