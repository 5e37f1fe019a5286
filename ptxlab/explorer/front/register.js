// One register of one lane: hexadecimal, the bits of every
// element, their values. All of it can be edited, except in D.

import { make, attribute, write } from "./util.js";
import { flashNode } from "./flash.js";

const WHERE = /** @type {const} */ (["element", "row", "column", "low"]);

// Draws a register and returns a function that shows its content: {hex, fields} of a lane.
/**
 * @param {App} app
 * @param {HTMLElement} parent
 * @param {RegisterInfo} info
 * @returns {(content: Register, lane: number) => void}
 */
export function drawRegister(app, parent, { name, register, matrix, count, small }) {
  const line = make("div", small ? "ptx-register small" : "ptx-register", parent);
  if (!small) make("label", "", line).textContent = String(register);
  const word = small ? line : make("div", "ptx-word", line);
  const hexes = box(word, "ptx-hex", name, (text, /** @type {number} */ lane) =>
    app.send({ type: "set_register", name, lane, register, text }),
  );
  const place = small ? null : make("span", "ptx-where", word);
  Object.assign(hexes.node.dataset, { operand: name, register });
  const strip = make("div", `ptx-fields of-${count}`, line);
  const parts = Array.from({ length: count }, () =>
    drawField(app, strip, { name, register, matrix, count, small }),
  );
  return (content, lane) => {
    attribute(hexes.node, "data-lane", lane);
    hexes.show(content.hex, `${name}, lane ${lane}, register ${register}, hexadecimal`, lane);
    if (place) write(place, placeOf(matrix, content.fields));
    parts.forEach((part, index) => part(content.fields[index], lane));
  };
}

// The cells of a register: ``[0][8..9]``, or the first and the last if they are no row or column.
/** @param {Matrix} matrix @param {Field[]} fields */
function placeOf(matrix, fields) {
  /** @param {"row" | "column"} axis */
  const run = (axis) => {
    const indices = fields.map((field) => field[axis]);
    const [low, high] = [Math.min(...indices), Math.max(...indices)];
    const steady =
      low === high || (high - low === fields.length - 1 && new Set(indices).size === fields.length);
    return steady ? { one: low === high, text: low === high ? `[${low}]` : `[${low}..${high}]` } : null;
  };
  const [row, column] = [run("row"), run("column")];
  const name = matrix.name === "stored" ? "" : matrix.name; // its head says "compressed A"
  if (row && column && (row.one || column.one)) return `${name}${row.text}${column.text}`;
  const [first, last] = [fields[0], fields[fields.length - 1]];
  return `${name}[${last.row}][${last.column}] … [${first.row}][${first.column}]`;
}

// One element: its bits (a click inverts one), its value, and its cell.
/**
 * @param {App} app
 * @param {HTMLElement} strip
 * @param {RegisterInfo} info
 * @returns {(field: Field, lane: number) => void}
 */
function drawField(app, strip, { name, register, matrix, count, small }) {
  let [cell, holder] = /** @type {[Cell | null, number]} */ ([null, 0]);
  const node = make("div", "ptx-field", strip);
  node.addEventListener("pointerenter", () => app.hover(cell));
  node.addEventListener("pointerleave", () => app.hover(null));
  app.panel.fields.push({ node, cell: () => cell });
  const valued = count <= 8 && name !== "E";
  const row = make("div", valued || count > 8 ? "ptx-bits" : "ptx-bits bare", node);
  const bits = matrix.parts.flatMap(([role, length]) =>
    Array.from({ length }, () => make("span", `ptx-bit ${role}`, row)),
  );
  row.addEventListener("click", (event) => {
    const { bit } = /** @type {HTMLElement} */ (event.target).dataset;
    if (bit && name !== "D") app.send({ type: "flip_bit", name, lane: holder, register, bit: Number(bit) });
  });
  const value = valued
    ? box(node, "ptx-value", name, (text, /** @type {Cell} */ at) =>
        app.send({ type: "set_cell", ...at, text }),
      )
    : null;
  let known = { bits: "", low: -1, element: -1, row: -1, column: -1, text: "" };
  return (field, lane) => {
    const at = app.selection.mark;
    node.classList.toggle(
      "here",
      at !== null && at.name === matrix.name && at.row === field.row && at.column === field.column,
    );
    if (field === known && lane === holder) return;
    const moved = WHERE.some((key) => field[key] !== known[key]);
    const edited = !moved && lane === holder; // and not another lane
    const called = `${matrix.element}${field.element}`;
    if (moved || !cell) cell = { name: matrix.name, row: field.row, column: field.column };
    bits.forEach((bit, each) => {
      if (moved) bit.dataset.bit = String(field.low + field.bits.length - 1 - each);
      if (field.bits[each] === known.bits[each]) return;
      bit.textContent = field.bits[each];
      bit.classList.toggle("one", field.bits[each] === "1");
      if (edited) flashNode(app, bit);
    });
    [known, holder] = [field, lane];
    value?.show(
      field.text,
      `${called}, ${matrix.label} row ${field.row} column ${field.column}${small ? `, lane ${lane}` : ""}`,
      cell,
    );
    if (!moved) return;
    node.dataset.element = called;
    node.title = `${called} is ${matrix.label}[${field.row}][${field.column}]`;
  };
}

// A text box that sends its text on Enter or when it loses the focus, and shows what Python
// has. The text goes to the lane it was typed for, even if the box shows another lane by then.
/**
 * @template T
 * @param {HTMLElement} parent
 * @param {string} classes
 * @param {Name} name
 * @param {(text: string, target: T) => void} send
 */
function box(parent, classes, name, send) {
  const node = make("input", classes, parent, { type: "text", spellcheck: "false", autocomplete: "off" });
  node.readOnly = name === "D";
  let [shown, target] = /** @type {[string, T | null]} */ (["", null]);
  const commit = () => {
    const text = node.value.trim();
    node.value = shown; // a refused text leaves what was there; an accepted one comes back from Python
    if (text && text !== shown && target !== null) send(text, target);
  };
  node.addEventListener("focus", () => node.select());
  node.addEventListener("blur", commit);
  node.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter") {
      event.preventDefault();
      commit();
      node.select();
    }
    if (event.key === "Escape") {
      node.value = shown;
      node.blur();
    }
  });
  /** @param {string} text @param {string} label @param {T} to */
  const show = (text, label, to) => {
    if (document.activeElement === node && node.value !== shown) return;
    [shown, target] = [text, to];
    if (node.value !== text) node.value = text;
    attribute(node, "aria-label", label);
  };
  return { node, show };
}
