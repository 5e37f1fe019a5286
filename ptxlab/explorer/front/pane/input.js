// Pointer, keyboard and clipboard on a pane: selecting cells, typing into them, copying and pasting.

import { editText, indexOfCell } from "../matrix/matrix.js";
import { fillWithin } from "./fill_handle.js";
import { ZOOM_STEP } from "./camera.js";
import { runsCell } from "../common/notebook_keys.js";
import { ARROWS, consume, focusOn, isTouch, onMouse } from "../common/util.js";

const FAR = 1e6; // beyond every edge

/** @param {Pane} pane */
export function listenToPane(pane) {
  listenToCells(pane);
  listenToHeadings(pane);
  listenToInput(pane);
}

/** @param {Pane} pane */
function listenToCells(pane) {
  const { scroller, pointing, selection, scene } = pane;
  scroller.addEventListener("scroll", () => scene.scrolled(pane));
  onMouse(scroller, "pointermove", (event) => {
    const hit = pane.hit(event);
    scene.camera.pointer = { x: event.clientX, y: event.clientY };
    pointing.hover(hit, event);
    const { mark } = selection;
    if (hit && pane.dragging && hit.name === mark?.name)
      selection.select({ ...mark, row2: hit.row, column2: hit.column }, false);
  });
  scroller.addEventListener("pointerleave", (event) => {
    scene.camera.pointer = null;
    if (!isTouch(event)) pointing.hover(null);
  });
  scroller.addEventListener("pointerdown", (event) => {
    if ((event.target === pane.input && pane.editing) || isTouch(event)) return;
    const hit = pane.hit(event);
    if (!hit || event.button !== 0) return;
    event.preventDefault();
    pane.dragging = true;
    window.addEventListener("pointerup", () => (pane.dragging = false), { once: true });
    const { mark } = selection;
    const isExtended = event.shiftKey && mark?.name === hit.name;
    selection.select(isExtended ? { ...mark, row2: hit.row, column2: hit.column } : hit);
  });
  scroller.addEventListener("dblclick", () => openCell(pane));
}

// Row and column numbers. A tap on the frame is one on a cell if it is not on a number.
/** @param {Pane} pane */
function listenToHeadings(pane) {
  const { frame, pointing, selection } = pane;
  /** @param {MouseEvent} event */
  const lineAt = (event) => (event.target === frame ? pane.heading(event) : null);
  onMouse(frame, "pointermove", (event) => pointing.hoverLine(lineAt(event), event));
  onMouse(frame, "pointerleave", () => pointing.hoverLine(null));
  frame.addEventListener("pointerdown", (event) => {
    const line = event.button === 0 && lineAt(event);
    if (!line || isTouch(event)) return;
    event.preventDefault();
    selection.selectLine(line);
  });
  frame.addEventListener("click", (event) => {
    if (!isTouch(event)) return;
    const line = lineAt(event);
    if (!line) tapCell(pane, event);
    else {
      selection.selectLine(line);
      pointing.hoverLine(line, event);
    }
  });
}

// A tap shows what pointing shows and selects the cell; a second one opens it, and only then a keyboard
// appears.
/** @param {Pane} pane @param {MouseEvent} event */
function tapCell(pane, event) {
  const { content, pointing, selection } = pane;
  const hit = pane.hit(event);
  if (!hit || pane.editing) return;
  const isAgain = pane.tapped && selection.isAt(hit);
  pane.tapped = true;
  if (isAgain && content.matrices[hit.name].editable) {
    pointing.hover(null);
    pane.input.inputMode = "text";
    pane.input.blur(); // a keyboard appears only for a field that gets the focus
    focusOn(pane.input);
    openEditor(pane);
    return;
  }
  pane.input.inputMode = "none";
  selection.select(hit);
  pointing.hover(hit, event);
}

/** @param {Pane} pane */
function listenToInput(pane) {
  const { app, input, selection, tooltip } = pane;
  input.addEventListener("focus", () => {
    if (!selection.mark || !pane.names.includes(selection.mark.name))
      selection.select(pane.left ?? { name: pane.names[0], row: 0, column: 0 });
    else app.drawMarksSoon();
  });
  input.addEventListener("blur", () => {
    if (selection.mark && pane.names.includes(selection.mark.name)) pane.left = { ...selection.mark };
    commitTyping(pane);
    pane.tapped = false;
    app.drawMarksSoon();
  });
  input.addEventListener("input", () => beginTyping(pane));
  input.addEventListener("keydown", (event) => {
    if (pane.editing ? keyWhileTyping(pane, event) : keyOnCells(pane, event)) consume(event);
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
    stopTyping(pane);
    tooltip.dismiss(); // it would cover the block, until the pointer moves
    app.send({ type: "paste", ...selectedRange(selection), text });
  });
}

// The selected range, as Python takes it.
/** @param {CellSelection} selection @returns {Required<Mark>} */
function selectedRange(selection) {
  const { name, top, left, bottom, right } = selection.range();
  return { name, row: top, column: left, row2: bottom, column2: right };
}

/** @param {Pane} pane */
function clearCells(pane) {
  pane.app.send({ type: "clear_cells", ...selectedRange(pane.selection) });
}

// -- typing --

/** @param {Pane} pane */
function beginTyping(pane) {
  const { matrices } = pane.content;
  const { mark: selection } = pane.selection;
  if (!selection || !matrices[selection.name].editable) {
    pane.input.value = "";
    return;
  }
  pane.input.classList.add("editing");
  pane.app.drawMarksSoon();
}

// Digits that are too small to be read are brought near first.
/** @param {Pane} pane */
function openCell(pane) {
  const { mark } = pane.selection;
  if (mark && pane.has(mark.name) && !pane.layer(mark.name).digits) pane.scene.camera.goTo(mark);
  else openEditor(pane);
}

// Opens the selected cell with what is in it, or with a text that was refused.
/** @param {Pane} pane @param {string | null} text */
export function openEditor(pane, text = null) {
  const { content } = pane;
  const { mark: selection } = pane.selection;
  if (!selection || !pane.names.includes(selection.name) || pane.editing) return;
  const matrix = content.matrices[selection.name];
  if (!matrix.editable) return;
  pane.input.value = text ?? editText(matrix, indexOfCell(matrix, selection));
  beginTyping(pane);
  pane.input.select();
}

/** @param {Pane} pane */
function stopTyping(pane) {
  pane.closeTextBox();
  pane.app.drawMarksSoon();
}

/** @param {Pane} pane */
function commitTyping(pane) {
  if (!pane.editing) return;
  const text = pane.input.value.trim();
  const { mark } = pane.selection; // none if another instruction was chosen in the meantime
  if (text && mark)
    pane.app.send({ type: "set_cell", name: mark.name, row: mark.row, column: mark.column, text });
  stopTyping(pane);
}

// -- keys: true for those that are handled --

/** @param {Pane} pane @param {KeyboardEvent} event */
function keyWhileTyping(pane, event) {
  const { selection } = pane;
  const move = ARROWS[event.key];
  if (runsCell(event)) {
    commitTyping(pane);
    return false;
  }
  if (event.key === "Enter") {
    commitTyping(pane);
    selection.move(1, 0, false, true);
  } else if (event.key === "Tab") {
    commitTyping(pane);
    selection.move(0, event.shiftKey ? -1 : 1, false, true);
  } else if (event.key === "Escape") stopTyping(pane);
  else if (move?.[0]) {
    commitTyping(pane);
    selection.move(...move);
  } else return false;
  return true;
}

/** @param {Pane} pane @param {KeyboardEvent} event */
function keyOnCells(pane, event) {
  const { content, selection, problem } = pane;
  if (!selection.mark || runsCell(event)) return false;
  const ctrl = event.ctrlKey || event.metaKey;
  const letter = ctrl && !event.altKey ? event.key.toLowerCase() : "";
  const move = movement(pane, event.key, ctrl);
  const { name, row, column } = selection.mark;
  if (letter === "a")
    selection.select(
      {
        name,
        row: 0,
        column: 0,
        row2: content.matrices[name].rows - 1,
        column2: content.matrices[name].columns - 1,
      },
      true,
      false,
    );
  else if (letter === "d" || letter === "r") fillWithin(pane, letter === "d");
  else if (move) selection.move(...move, event.shiftKey);
  else if (event.key === "Enter") openCell(pane);
  else if (event.key === "F2") openEditor(pane);
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
