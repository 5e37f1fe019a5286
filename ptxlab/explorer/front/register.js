// One register of one lane: hexadecimal, the bits of every
// element, their values. All of it can be edited, except in D.

import { make, attribute, write, hasModifier, isTouch } from "./util.js";
import { flashNodes } from "./flash.js";
import { isEditingText } from "./rove.js";

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
  const hexes = textBox(app, word, "ptx-hex", name === "D", (text, /** @type {number} */ lane, asker) =>
    app.send({ type: "set_register", name, lane, register, text }, asker),
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

// The cells of a register: ``[0][8..9]``, or the first and the last if they are not in one row or column.
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
  node.addEventListener("pointerenter", (event) => {
    if (!isTouch(event)) app.hover(cell);
  });
  node.addEventListener("pointerleave", (event) => {
    if (!isTouch(event)) app.hover(null);
  });
  node.addEventListener("click", (event) => {
    if (isTouch(event)) app.hover(cell, event);
  });
  app.panel.fields.push({ node, cell: () => cell });
  const valued = count <= 8 && name !== "E";
  const row = make("div", "ptx-bits", node, { title: "" });
  const roles = /** @type {WeakMap<EventTarget, string>} */ (new WeakMap());
  const bits = matrix.parts.flatMap(([role, length]) =>
    Array.from({ length }, () => {
      const bit = make("span", `ptx-bit ${role}`, row, { role: "checkbox", tabindex: "-1" });
      if (name === "D") bit.setAttribute("aria-readonly", "true");
      roles.set(bit, role);
      return bit;
    }),
  );
  /** @param {HTMLElement} bit */
  const flip = (bit) =>
    app.send({ type: "flip_bit", name, lane: holder, register, bit: Number(bit.dataset.bit) });
  /** @param {HTMLElement} bit @param {boolean} byTouch */
  const bitFacts = (bit, byTouch) => {
    const role = roles.get(bit) ?? "value";
    const inElement = Number(bit.dataset.bit) - known.low;
    const change = byTouch ? "tap it again to flip it" : "click it, or press Space on it, to flip it";
    return [
      `bit ${bit.dataset.bit} of register ${register} of ${name} = ${bit.textContent}`,
      `lane ${holder}, ${node.dataset.element}: bit ${inElement}${role === "value" ? "" : `, ${role}`}`,
      `${node.title} = ${known.text || known.bits}`,
      name === "D" ? "D is the result and cannot be changed" : change,
    ];
  };
  /** @param {HTMLElement} bit @param {ClientPoint} at @param {boolean} byTouch */
  const showTip = (bit, at, byTouch = false) => app.tooltip.show(at, () => bitFacts(bit, byTouch));
  /** @param {Event} event */
  const bitAt = ({ target }) => (target instanceof HTMLElement && target.dataset.bit ? target : null);
  row.addEventListener("click", (event) => {
    const bit = bitAt(event);
    if (!bit) return;
    if (isTouch(event)) event.stopPropagation();
    const isShown = !isTouch(event) || app.tapped === bit; // the first tap shows which bit it is
    app.tapped = isTouch(event) ? bit : null;
    if (isShown && name !== "D") flip(bit);
    if (!isTouch(event)) return;
    app.hover(cell);
    showTip(bit, event, true);
  });
  row.addEventListener("pointermove", (event) => {
    const bit = bitAt(event);
    if (bit && !isTouch(event)) showTip(bit, event);
  });
  row.addEventListener("pointerleave", (event) => {
    if (!isTouch(event)) app.tooltip.hide();
  });
  row.addEventListener("focusin", (event) => {
    const bit = bitAt(event);
    if (!bit?.matches(":focus-visible")) return;
    const { left, bottom } = bit.getBoundingClientRect();
    app.hover(cell);
    showTip(bit, { clientX: left - 10, clientY: bottom - 8 });
  });
  row.addEventListener("focusout", () => app.hover(null));
  row.addEventListener("keydown", (event) => {
    const bit = bitAt(event);
    if (!bit || hasModifier(event) || !["0", "1", " ", "Enter"].includes(event.key)) return;
    event.preventDefault();
    const isDigit = event.key === "0" || event.key === "1";
    if (name !== "D" && !(isDigit && bit.textContent === event.key)) flip(bit);
  });
  const value = valued
    ? textBox(app, node, "ptx-value", name === "D", (text, /** @type {Cell} */ at, asker) =>
        app.send({ type: "set_cell", ...at, text }, asker),
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
    const flipped = /** @type {HTMLElement[]} */ ([]);
    bits.forEach((bit, each) => {
      if (moved) {
        bit.dataset.bit = String(field.low + field.bits.length - 1 - each);
        attribute(bit, "aria-label", `bit ${bit.dataset.bit} of register ${register} of ${name}`);
      }
      if (field.bits[each] === known.bits[each]) return;
      write(bit, field.bits[each]);
      bit.setAttribute("aria-checked", String(field.bits[each] === "1"));
      bit.classList.toggle("one", field.bits[each] === "1");
      flipped.push(bit);
    });
    if (edited) flashNodes(app, flipped);
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
// A refused text stays, marked, until it is changed or Escape discards it.
/**
 * @template T
 * @param {App} app
 * @param {HTMLElement} parent
 * @param {string} classes
 * @param {boolean} readOnly
 * @param {(text: string, target: T, asker: Asker) => void} send
 */
export function textBox(app, parent, classes, readOnly, send) {
  const node = make("input", classes, parent, { type: "text", spellcheck: "false", autocomplete: "off" });
  node.readOnly = readOnly;
  let [shown, target] = /** @type {[string, T | null]} */ (["", null]);
  let refused = /** @type {string | null} */ (null);
  /** @param {string} text @returns {Asker} */
  const asker = (text) => ({
    node,
    refuse: (id) => {
      if (app.isStatic) return; // which takes no text at all
      refused = text;
      if (document.activeElement !== node || node.value === shown) node.value = text;
      node.setAttribute("aria-invalid", "true");
      node.setAttribute("aria-describedby", id);
    },
    forgive,
  });
  const forgive = () => {
    if (refused === null) return;
    if (node.value === refused) node.value = shown;
    refused = null;
    node.removeAttribute("aria-invalid");
    node.removeAttribute("aria-describedby");
  };
  const commit = () => {
    const text = node.value.trim();
    node.value = shown; // a refused text comes back; an accepted one comes from Python
    if (text && text !== shown && target !== null) send(text, target, asker(text));
  };
  node.addEventListener("focus", () => node.select());
  node.addEventListener("blur", () => {
    if (refused === null || node.value.trim() !== refused) commit();
  });
  node.addEventListener("keydown", (event) => {
    // keys of the text are its own; those of the Explorer are not
    if (isEditingText(node) || !["?", "/"].includes(event.key)) event.stopPropagation();
    if (event.key === "Enter") {
      event.preventDefault();
      commit();
      node.select();
    }
    if (event.key === "F2") node.setSelectionRange(node.value.length, node.value.length);
    if (event.key === "Escape") {
      event.preventDefault();
      if (refused !== null || node.value === shown) app.problem.dismiss();
      node.value = shown;
      node.select();
    }
  });
  /** @param {string} text @param {string} label @param {T} to */
  const show = (text, label, to) => {
    attribute(node, "aria-label", label);
    if (refused !== null && to === target) {
      shown = text;
      return;
    }
    if (document.activeElement === node && node.value !== shown) return;
    forgive();
    [shown, target] = [text, to];
    if (node.value !== text) node.value = text;
  };
  return { node, show };
}
