// Pointer, keyboard and clipboard on a pane: selecting cells, typing into them, copying and pasting.

import { fillWithin } from "./fill_handle.js";
import { ZOOM_STEP } from "./camera.js";
import { runsCell } from "../common/notebook_keys.js";
import { ARROWS, isTouch, onMouse } from "../common/dom.js";

// beyond every edge
const FAR = 1e6;

// Besides what every grid listens to: row and column numbers, and the clipboard.
/** @param {Pane} pane */
export function listenToPane(pane) {
  const { frame, input, pointing, selection, tooltip } = pane;
  onMouse(frame, "pointermove", (event) => pointing.hoverLine(pane.lineAt(event), event));
  onMouse(frame, "pointerleave", () => pointing.hoverLine(null));
  frame.addEventListener("pointerdown", (event) => {
    const line = event.button === 0 && !isTouch(event) && pane.lineAt(event);
    if (!line) return;
    event.preventDefault();
    selection.selectLine(line);
  });
  input.addEventListener("blur", () => {
    if (selection.mark && pane.names.includes(selection.mark.name)) pane.left = { ...selection.mark };
    pane.tapped = false;
  });
  /** @param {ClipboardEvent} event */
  const copy = (event) => {
    if (pane.editing || !selection.mark || !event.clipboardData) return false;
    event.preventDefault();
    event.clipboardData.setData("text/plain", selection.text());
    return true;
  };
  input.addEventListener("copy", copy);
  input.addEventListener("cut", (event) => {
    if (copy(event)) clearCells(pane);
  });
  input.addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text/plain");
    if (text === undefined || (pane.editing && !/[\t\n]/.test(text))) return;
    event.preventDefault();
    pane.stopTyping();
    tooltip.dismiss(); // it would cover the block, until the pointer moves
    pane.send({ type: "paste", ...selection.range(), text });
  });
}

/** @param {Pane} pane */
function clearCells(pane) {
  pane.send({ type: "clear_cells", ...pane.selection.range() });
}

// Keys where nothing is typed: true for those that are handled.
/** @param {Pane} pane @param {KeyboardEvent} event */
export function keyOnCells(pane, event) {
  const { content, selection, problem } = pane;
  if (!selection.mark || runsCell(event)) return false;
  const ctrl = event.ctrlKey || event.metaKey;
  const letter = ctrl && !event.altKey ? event.key.toLowerCase() : "";
  const distance = movement(pane, event.key, ctrl);
  const { name, row, column } = selection.mark;
  const { rows, columns } = content.matrices[name];
  if (letter === "a")
    selection.select({ name, row: 0, column: 0, row2: rows - 1, column2: columns - 1 }, true, false);
  else if (letter === "d" || letter === "r") fillWithin(pane, letter === "d");
  else if (distance) selection.moveBy(...distance, event.shiftKey);
  else if (event.key === "Enter") pane.edit();
  else if (event.key === "F2") pane.openEditor();
  else if (zoomByKey(pane, event.key)) return true;
  else if (event.key === " " && (event.shiftKey || ctrl))
    // as in a spreadsheet: selects the whole row or column
    selection.selectLine(event.shiftKey ? { name, row } : { name, column });
  else if (event.key === "Delete" || event.key === "Backspace") clearCells(pane);
  else if (event.key === "Escape") {
    if (problem.dismiss()) return true;
    if (selection.mark.row2 === undefined) return false; // leaves the Explorer
    selection.select({ name, row, column });
  } else return false; // such as Tab, which leaves the matrix
  return true;
}

// + and - move the camera where they cannot be the sign of a number: on a result. Elsewhere Alt is held.
/** @param {Pane} pane @param {string} key */
function zoomByKey({ content, scene, selection }, key) {
  const { mark } = selection;
  if ((key !== "+" && key !== "-") || !mark || content.matrices[mark.name].editable) return false;
  scene.zoomBy(key === "+" ? ZOOM_STEP : -ZOOM_STEP);
  return true;
}

// How far a key moves: rows down, columns to the right.
/** @param {Pane} pane @param {string} key @param {boolean} ctrl @returns {[number, number] | null} */
function movement(pane, key, ctrl) {
  const arrow = ARROWS[key];
  if (arrow) return ctrl ? [arrow[0] * FAR, arrow[1] * FAR] : arrow;
  if (key === "Home") return [ctrl ? -FAR : 0, -FAR];
  if (key === "End") return [ctrl ? FAR : 0, FAR];
  const page = Math.max(1, pane.rowsIn(pane.height) - 1);
  if (key === "PageUp" || key === "PageDown") return [key === "PageUp" ? -page : page, 0];
  return null;
}
