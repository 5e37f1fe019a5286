// The fill handle: a small square at the corner of what is chosen. Dragging it fills on; Ctrl+D and Ctrl+R fill inside a range.
// Which numbers come is decided in Python.

import { make } from "./text.js";

const HANDLE = 9;

export function makeHandle(pane) {
  const node = make("div", "ptx-handle", pane.space, { "aria-hidden": "true", title: "Drag to fill; double-click fills down to the last row; Ctrl copies a series, or counts on from one cell" });
  const held = (event) => event.ctrlKey || event.metaKey || event.altKey;
  const update = (other, to = pane.filling.to) => {
    pane.filling = { ...pane.filling, other, to };
    if (to) pane.app.status.textContent = announceFill(pane.app, pane.filling);
    else pane.app.tell();
    pane.drawOver();
  };
  const key = (event) => {
    if (event.key === "Escape") { event.preventDefault(); event.stopPropagation(); stop(); }
    else if (pane.filling) update(held(event));
  };
  const stop = () => {
    const done = pane.filling;
    pane.filling = null;
    for (const type of ["keydown", "keyup"]) window.removeEventListener(type, key, true);
    pane.app.tell();
    pane.drawOver();
    return done;
  };
  node.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.shiftKey) return; // with Shift the range grows to the cell below the handle
    event.preventDefault();
    event.stopPropagation();
    node.setPointerCapture(event.pointerId);
    pane.filling = { to: null, other: held(event) };
    for (const type of ["keydown", "keyup"]) window.addEventListener(type, key, true);
  });
  node.addEventListener("pointermove", (event) => {
    if (!pane.filling) return;
    event.stopPropagation();
    pane.app.hover(null);
    update(held(event), fillTarget(pane, event));
    if (pane.filling.to) pane.app.reveal([{ name: pane.app.selection.name, row: pane.filling.to.to_row, column: pane.filling.to.to_column }]);
  });
  node.addEventListener("pointercancel", () => { if (pane.filling) stop(); });
  node.addEventListener("pointerup", () => {
    const done = pane.filling && stop();
    if (done?.to) extendTo(pane.app, done.to, done.other);
  });
  node.addEventListener("dblclick", (event) => {
    event.stopPropagation();
    const { bottom, left } = pane.app.range();
    const { rows } = pane.app.matrices[pane.app.selection.name];
    if (bottom < rows - 1) extendTo(pane.app, { to_row: rows - 1, to_column: left }, held(event));
  });
  return node;
}

// Shows the handle where there is room for it: at the corner of a range of some size in a matrix that can be written.
export function placeHandle(pane) {
  const { app, handle } = pane;
  const name = app.selection?.name;
  const there = name && pane.layer(name) && app.matrices[name].editable && !pane.editing && !app.model.get("tools")?.still;
  const [from, to] = there ? corners(pane, app.range()) : [];
  const shown = there && to.x + to.width - from.x >= 12 && to.y + to.height - from.y >= 10;
  handle.hidden = !shown;
  handle.classList.toggle("roomy", shown && pane.layer(name).width >= 24 && to.height >= 16);
  if (!shown) return;
  handle.style.left = `${Math.min(to.x + to.width - HANDLE / 2 - 1, pane.total.width - HANDLE)}px`;
  handle.style.top = `${Math.min(to.y + to.height - HANDLE / 2 - 1, pane.total.height - HANDLE)}px`;
}

function corners(pane, { top, left, bottom, right }) {
  const { name } = pane.app.selection;
  return [pane.rect(name, top, left), pane.rect(name, bottom, right)];
}

// The row or column up to which the pointer fills: along the axis on which it is farther away; null inside the range.
function fillTarget(pane, event) {
  const { top, left, bottom, right } = pane.app.range();
  const { name } = pane.app.selection;
  const layer = pane.layer(name);
  const at = pane.nearest(name, event);
  const down = Math.max(at.row - bottom, top - at.row) * layer.down.size;
  const along = Math.max(at.column - right, left - at.column) * layer.width;
  if (down <= 0 && along <= 0) return null;
  return down >= along ? { to_row: at.row, to_column: left } : { to_row: top, to_column: at.column };
}

// Several cells along the way make a series, a single one is copied; `other` turns that round.
const alongSeveral = ({ top, left, bottom, right }, { to_row: row }) => (row < top || row > bottom ? bottom > top : right > left);

// The range with what comes to it.
export function filledRange(app, { to_row: row, to_column: column }) {
  const { top, left, bottom, right } = app.range();
  return { row: Math.min(top, row), column: Math.min(left, column), row2: Math.max(bottom, row), column2: Math.max(right, column) };
}

// What will come, said while the handle is dragged.
function announceFill(app, { to, other }) {
  const { label } = app.matrices[app.selection.name];
  const { top, left, bottom, right } = app.range();
  const all = filledRange(app, to);
  const span = (first, last) => `[${first === last ? first : `${first}..${last}`}]`;
  const [from, over] = [`${label}${span(top, bottom)}${span(left, right)}`, `fill ${label}${span(all.row, all.row2)}${span(all.column, all.column2)}`];
  if (alongSeveral(app.range(), to)) return other ? `${over}: ${from} is repeated · without Ctrl equal steps go on` : `${over}: equal steps of ${from} go on, anything else is repeated · with Ctrl all of it is repeated`;
  return other ? `${over}: ${from} counts on by 1 · without Ctrl it is repeated` : `${over}: ${from} is repeated · with Ctrl it counts on by 1`;
}

function extendTo(app, to, other) {
  const { name } = app.selection;
  const { top, left, bottom, right } = app.range();
  const series = alongSeveral(app.range(), to) !== other;
  const all = filledRange(app, to);
  app.send({ do: "extend", name, row: top, column: left, row2: bottom, column2: right, ...to, series });
  app.select({ name, ...all }, true, false);
}

// Ctrl+D and Ctrl+R: the first row (or column) of the range over the others; a single one takes the one before it.
export function fillWithin(app, down) {
  const { name } = app.selection;
  const { top, left, bottom, right } = app.range();
  const [first, last] = down ? [top, bottom] : [left, right];
  const from = first === last ? first - 1 : first;
  if (from < 0) return;
  const source = down ? { row: from, row2: from, column: left, column2: right } : { row: top, row2: bottom, column: from, column2: from };
  app.send({ do: "extend", name, ...source, to_row: down ? last : top, to_column: down ? left : last, series: false });
}
