// Editors of values that Python holds: a text box that sends its text on Enter or when it loses the focus, and bits.

import { runsCell } from "./notebook_keys.js";
import { attribute, hasModifier, makeTextInput } from "./dom.js";
import { isEditingText } from "./roving_tabindex.js";

// The text goes to the target it was typed for (a lane, a cell), even if the box shows another one by then. A
// refused text stays, marked, until it is changed or Escape discards it.
/** @template T */
export class TextBox {
  /** @param {Pick<App, "content" | "problem">} app @param {HTMLElement} parent @param {TextBoxOptions<T>} options */
  constructor({ content, problem }, parent, { classes, readOnly = false, send }) {
    this.content = content;
    this.problem = problem;
    this.send = send;
    // what Python has
    this.shown = "";
    this.target = /** @type {T | null} */ (null);
    this.refused = /** @type {string | null} */ (null);
    this.node = makeTextInput(parent, classes);
    this.node.readOnly = readOnly;
    if (readOnly) this.node.title = "D is the result and cannot be changed";
    this.node.addEventListener("focus", () => this.node.select());
    this.node.addEventListener("blur", () => {
      if (this.refused === null || this.node.value.trim() !== this.refused) this.commit();
    });
    this.node.addEventListener("keydown", (event) => this.press(event));
  }

  /** @param {string} text @param {string} label @param {T} target */
  showValue(text, label, target) {
    const { node } = this;
    attribute(node, "aria-label", label);
    if (this.refused !== null && target === this.target) {
      this.shown = text;
      return;
    }
    if (document.activeElement === node && node.value !== this.shown) return;
    this.clearInvalid();
    [this.shown, this.target] = [text, target];
    if (node.value !== text) node.value = text;
  }

  commit() {
    const text = this.node.value.trim();
    this.node.value = this.shown; // a refused text comes back; an accepted one comes from Python
    if (!text || text === this.shown || this.target === null) return;
    this.send(text, this.target, {
      node: this.node,
      markInvalid: (id) => this.markInvalid(text, id),
      clearInvalid: () => this.clearInvalid(),
    });
  }

  /** @param {string} text @param {string} id of the message that says what is wrong with it */
  markInvalid(text, id) {
    const { node } = this;
    if (this.content.isStatic) return; // which takes no text at all
    this.refused = text;
    if (document.activeElement !== node || node.value === this.shown) node.value = text;
    node.setAttribute("aria-invalid", "true");
    node.setAttribute("aria-describedby", id);
  }

  clearInvalid() {
    const { node } = this;
    if (this.refused === null) return;
    if (node.value === this.refused) node.value = this.shown;
    this.refused = null;
    node.removeAttribute("aria-invalid");
    node.removeAttribute("aria-describedby");
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    const { node } = this;
    if (runsCell(event)) return this.commit();
    // keys of the text are its own; those of the Explorer are not
    if (isEditingText(node) || !["?", "/"].includes(event.key)) event.stopPropagation();
    if (event.key === " " && !isEditingText(node)) event.preventDefault(); // it would take the arrows to the text
    if (event.key === "Enter") {
      event.preventDefault();
      this.commit();
      node.select();
    }
    if (event.key === "F2") node.setSelectionRange(node.value.length, node.value.length);
    if (event.key === "Escape") {
      event.preventDefault();
      if (this.refused !== null || node.value === this.shown) this.problem.dismiss();
      node.value = this.shown;
      node.select();
    }
  }
}

// On a bit: 0 and 1 set it, Space and Enter flip it.
/** @param {KeyboardEvent} event @param {HTMLElement} bit @param {() => void} flip */
export function flipByKey(event, bit, flip) {
  const isDigit = event.key === "0" || event.key === "1";
  if (hasModifier(event) || (!isDigit && event.key !== " " && event.key !== "Enter")) return;
  event.preventDefault();
  if (!isDigit || bit.textContent !== event.key) flip();
}
