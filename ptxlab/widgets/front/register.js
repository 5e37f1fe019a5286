// One register of one lane: hexadecimal, the bits of every element, their values. All of it can be edited, but for D.

import { make, attribute } from "./text.js";

// Draws one and returns what shows a content of it: {hex, fields}, of a lane.
export function drawRegister(app, parent, { name, register, matrix, count, small }) {
  const line = make("div", small ? "ptx-register small" : "ptx-register", parent);
  if (!small) make("label", "", line).textContent = register;
  const hexes = box(line, "ptx-hex", name, (text, lane) => app.send({ do: "set_register", name, lane, register, text }));
  Object.assign(hexes.node.dataset, { operand: name, register });
  const strip = make("div", `ptx-fields of-${count}`, line);
  const parts = Array.from({ length: count }, () => drawField(app, strip, { name, register, matrix, count, small }));
  return (content, lane) => {
    attribute(hexes.node, "data-lane", lane);
    hexes.show(content.hex, `${name}, lane ${lane}, register ${register}, hexadecimal`, lane);
    parts.forEach((part, index) => part(content.fields[index], lane));
  };
}

// One element: its bits (a click turns one over), its value, and the cell it is.
function drawField(app, strip, { name, register, matrix, count, small }) {
  let [cell, holder] = /** @type {[any, number]} */ ([null, 0]);
  const node = make("div", "ptx-field", strip);
  node.addEventListener("pointerenter", () => app.hover(cell));
  node.addEventListener("pointerleave", () => app.hover(null));
  const valued = count <= 8 && name !== "E";
  const row = make("div", valued || count > 8 ? "ptx-bits" : "ptx-bits bare", node);
  const bits = matrix.parts.flatMap(([role, length]) => Array.from({ length }, () => make("span", `ptx-bit ${role}`, row)));
  row.addEventListener("click", (event) => {
    if (event.target.dataset.bit && name !== "D") app.send({ do: "flip", name, lane: holder, register, bit: Number(event.target.dataset.bit) });
  });
  const value = valued ? box(node, "ptx-value", name, (text, at) => app.send({ do: "paste", ...at, text })) : null;
  const label = count > 8 || small ? null : make("div", "ptx-where", node);
  const [element, place] = label ? [make("b", "", label), make("span", "", label)] : [];
  let known = { bits: "", low: -1, element: -1, row: -1, column: -1 };
  return (field, lane) => {
    const at = app.selection;
    node.classList.toggle("here", Boolean(at) && at.name === matrix.name && at.row === field.row && at.column === field.column);
    if (field === known && lane === holder) return;
    const moved = ["element", "row", "column", "low"].some((key) => field[key] !== known[key]);
    const called = `${matrix.element}${field.element}`;
    if (moved) cell = { name: matrix.name, row: field.row, column: field.column };
    bits.forEach((bit, each) => {
      if (moved) bit.dataset.bit = field.low + field.bits.length - 1 - each;
      if (field.bits[each] === known.bits[each]) return;
      bit.textContent = field.bits[each];
      bit.classList.toggle("one", field.bits[each] === "1");
    });
    [known, holder] = [field, lane];
    value?.show(field.text, `${called}, ${matrix.label} row ${field.row} column ${field.column}${small ? `, lane ${lane}` : ""}`, cell);
    if (!moved) return;
    node.dataset.element = called;
    node.title = `${called} is ${matrix.label}[${field.row}][${field.column}]`;
    if (label) [element.textContent, place.textContent] = [called, `[${field.row}][${field.column}]`];
  };
}

// A text box that sends what was typed on Enter or when it is left, and shows what Python has. What is typed goes to where it was typed,
// also when something else came to stand there in the meantime.
function box(parent, classes, name, send) {
  const node = make("input", classes, parent, { type: "text", spellcheck: "false", autocomplete: "off" });
  node.readOnly = name === "D";
  let [shown, target] = /** @type {[string, any]} */ (["", null]);
  const commit = () => {
    const text = node.value.trim();
    node.value = shown; // a refused text leaves what was there; an accepted one comes back from Python
    if (text && text !== shown) send(text, target);
  };
  node.addEventListener("focus", () => node.select());
  node.addEventListener("blur", commit);
  node.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter") { event.preventDefault(); commit(); node.select(); }
    if (event.key === "Escape") { node.value = shown; node.blur(); }
  });
  const show = (text, label, to) => {
    if (document.activeElement === node && node.value !== shown) return;
    [shown, target] = [text, to];
    if (node.value !== text) node.value = text;
    attribute(node, "aria-label", label);
  };
  return { node, show };
}
