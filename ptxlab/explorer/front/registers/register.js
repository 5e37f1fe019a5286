// One register of one lane: hexadecimal, the bits of every element, their values. All of it can be edited,
// except in D.

import { make, attribute, write, isTouch, onMouse } from "../common/dom.js";
import { flashNodes } from "../common/highlight.js";
import { holderNoun } from "../matrix/describe.js";
import { TextBox, bitAt, listenToBits } from "../common/text_box.js";

const WHERE = /** @type {const} */ (["element", "row", "column", "low"]);
const NO_FIELD = { bits: "", low: -1, element: -1, row: -1, column: -1, text: "" };

// Draws a register and returns a function that shows its content: {hex, fields} of a lane.
/**
 * @param {Panel} panel
 * @param {HTMLElement} parent
 * @param {RegisterInfo} info
 * @returns {(content: Register, lane: number) => void}
 */
export function drawRegister(panel, parent, info) {
  const { name, register, matrix, count, small } = info;
  const line = make("div", small ? "ptx-register small" : "ptx-register", parent);
  if (!small) make("label", "", line, { text: register });
  const word = small ? line : make("div", "ptx-word", line);
  const box = /** @type {TextBox<number>} */ (
    new TextBox(panel, word, {
      classes: "ptx-hex",
      readOnly: name === "D",
      send: (text, lane, origin) => panel.send({ type: "set_register", name, lane, register, text }, origin),
    })
  );
  Object.assign(box.node.dataset, { operand: name, register });
  const place = small ? null : make("span", "ptx-where", word);
  const strip = make("div", `ptx-fields of-${count}`, line);
  const fields = Array.from({ length: count }, () => new RegisterField(panel, strip, info));
  return (content, lane) => {
    attribute(box.node, "data-lane", lane);
    box.showValue(
      content.hex,
      `${name}, ${holderNoun(panel.content.instruction)} ${lane}, register ${register}, hexadecimal`,
      lane,
    );
    if (place) write(place, placeOf(matrix, content.fields));
    fields.forEach((field, index) => field.showField(content.fields[index], lane));
  };
}

// The cells of a register from its highest bits down, as its values stand: ``[0][9..8]``, or the first and
// the last if they are not in one row or column.
/** @param {Matrix} matrix @param {Field[]} fields */
function placeOf(matrix, fields) {
  /** @param {"row" | "column"} axis */
  const run = (axis) => {
    const indices = fields.map((field) => field[axis]);
    const [low, high] = [Math.min(...indices), Math.max(...indices)];
    const steady =
      low === high || (high - low === fields.length - 1 && new Set(indices).size === fields.length);
    const [first, last] = [indices[0], indices[indices.length - 1]];
    return steady ? { one: low === high, text: low === high ? `[${low}]` : `[${first}..${last}]` } : null;
  };
  const [row, column] = [run("row"), run("column")];
  const isNamedAbove = matrix.name === "stored" || matrix.label === "D before"; // by the head of its registers
  const name = isNamedAbove ? "" : matrix.name;
  if (row && column && (row.one || column.one)) return `${name}${row.text}${column.text}`;
  const [first, last] = [fields[0], fields[fields.length - 1]];
  return `${name}[${first.row}][${first.column}] … [${last.row}][${last.column}]`;
}

// One element: its bits (a click flips one), its value, and its cell.
class RegisterField {
  /** @param {Panel} panel @param {HTMLElement} strip @param {RegisterInfo} info */
  constructor(panel, strip, info) {
    const { name, count } = info;
    this.panel = panel;
    this.content = panel.content;
    this.pointing = panel.pointing;
    this.selection = panel.selection;
    this.scene = panel.scene;
    this.tooltip = panel.tooltip;
    this.info = info;
    this.isResult = name === "D";
    this.cell = /** @type {Cell | null} */ (null);
    this.lane = 0;
    // what is shown
    this.field = NO_FIELD;
    this.node = make("div", "ptx-field", strip);
    this.row = make("div", "ptx-bits", this.node, { title: "" });
    this.roles = /** @type {WeakMap<EventTarget, string>} */ (new WeakMap());
    this.bits = this.makeBits();
    const hasValue = count <= 8 && name !== "E";
    this.value = hasValue ? this.makeValue() : null;
    panel.fields.push({ node: this.node, cell: () => this.cell });
    this.listen();
    this.listenToBits();
  }

  makeBits() {
    return this.info.matrix.parts.flatMap(([role, length]) =>
      Array.from({ length }, () => {
        const bit = make("span", `ptx-bit ${role}`, this.row, { role: "checkbox", tabindex: "-1" });
        if (this.isResult) bit.setAttribute("aria-readonly", "true");
        this.roles.set(bit, role);
        return bit;
      }),
    );
  }

  makeValue() {
    const { panel } = this;
    return /** @type {TextBox<Cell>} */ (
      new TextBox(panel, this.node, {
        classes: "ptx-value",
        readOnly: this.isResult,
        send: (text, cell, origin) => panel.send({ type: "set_cell", ...cell, text }, origin),
      })
    );
  }

  listen() {
    const { node, pointing } = this;
    onMouse(node, "pointerenter", () => pointing.hover(this.cell));
    onMouse(node, "pointerleave", () => pointing.hover(null));
    node.addEventListener("click", (event) => {
      if (isTouch(event)) pointing.hover(this.cell, event);
    });
  }

  listenToBits() {
    const { row, pointing, scene, tooltip } = this;
    listenToBits(row, this, {
      flip: (bit) => this.flip(bit),
      facts: (bit, byTouch) => this.bitFacts(bit, byTouch),
      tapped: (event) => {
        event.stopPropagation();
        pointing.hover(this.cell);
      },
    });
    row.addEventListener("focusin", (event) => {
      const bit = bitAt(event);
      if (!bit?.matches(":focus-visible")) return;
      const { left, bottom } = bit.getBoundingClientRect();
      pointing.hover(this.cell);
      if (this.cell) scene.reveal([this.cell]);
      tooltip.showAt({ clientX: left - 10, clientY: bottom - 8 }, () => this.bitFacts(bit, false));
    });
    row.addEventListener("focusout", () => pointing.hover(null));
  }

  /** @param {HTMLElement} bit */
  flip(bit) {
    const { name, register } = this.info;
    if (this.isResult) return;
    this.panel.send({ type: "flip_bit", name, lane: this.lane, register, bit: Number(bit.dataset.bit) });
  }

  /** @param {HTMLElement} bit @param {boolean} byTouch */
  bitFacts(bit, byTouch) {
    const { name, register } = this.info;
    const { low, text, bits } = this.field;
    const role = this.roles.get(bit) ?? "value";
    const inElement = Number(bit.dataset.bit) - low;
    const change = byTouch ? "tap it again to flip it" : "click it, or press Space, to flip it";
    return [
      `bit ${bit.dataset.bit} of register ${register} of ${name} = ${bit.textContent}`,
      `${holderNoun(this.content.instruction)} ${this.lane}, ${this.node.dataset.element}: bit ${inElement}${role === "value" ? "" : `, ${role}`}`,
      `${this.node.title} = ${text || bits}`,
      this.isResult ? "D is the result and cannot be changed" : change,
    ];
  }

  /** @param {Field} field @param {number} lane */
  showField(field, lane) {
    const { node, content, selection } = this;
    const { matrix, small } = this.info;
    const { row, column } = field;
    const held = selection.held();
    const isHeld = held?.name === matrix.name && held.row === row && held.column === column;
    node.classList.toggle("here", isHeld || selection.isAt({ name: matrix.name, row, column }));
    if (field === this.field && lane === this.lane) return;
    const moved = WHERE.some((key) => field[key] !== this.field[key]);
    if (moved || !this.cell) this.cell = { name: matrix.name, row, column };
    if (moved) this.numberBits(field);
    const flipped = this.showBits(field.bits);
    // an edit, and not another lane or a step
    if (!moved && lane === this.lane && !this.panel.app.timeline?.current) flashNodes(flipped);
    [this.field, this.lane] = [field, lane];
    const element = `${matrix.element}${field.element}`;
    const where = `${matrix.label} row ${row} column ${column}`;
    this.value?.showValue(
      field.text,
      `${element}, ${where}${small ? `, ${holderNoun(content.instruction)} ${lane}` : ""}`,
      this.cell,
    );
    if (!moved) return;
    node.dataset.element = element;
    node.title = `${element} is ${matrix.label}[${row}][${column}]`;
  }

  /** @param {Field} field */
  numberBits({ low, bits }) {
    const { name, register } = this.info;
    this.bits.forEach((bit, index) => {
      const number = low + bits.length - 1 - index;
      bit.dataset.bit = String(number);
      attribute(bit, "aria-label", `bit ${number} of register ${register} of ${name}`);
    });
  }

  // Returns those that changed.
  /** @param {string} digits */
  showBits(digits) {
    return this.bits.filter((bit, index) => {
      const digit = digits[index];
      if (digit === this.field.bits[index]) return false;
      write(bit, digit);
      bit.setAttribute("aria-checked", String(digit === "1"));
      bit.classList.toggle("one", digit === "1");
      return true;
    });
  }
}
