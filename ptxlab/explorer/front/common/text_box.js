// Editors of values that Python holds: a text box that sends its text on Enter or when it loses the focus, and bits.

import { runsCell } from "./notebook_keys.js";
import { attribute, hasModifier, isTouch, makeTextInput, onMouse } from "./dom.js";
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
    // keys of the text are its own; those of the Explorer are not, such as ? and Ctrl+K
    if (isEditingText(node) || !(hasModifier(event) || ["?", "/"].includes(event.key)))
      event.stopPropagation();
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

/** @param {Event} event */
export const bitAt = ({ target }) => (target instanceof HTMLElement && target.dataset.bit ? target : null);

// Bits in a row: a click flips one, and pointing shows what it is. By touch the first tap shows that, the second flips
// it. Of keys, 0 and 1 set it, Space and Enter flip it.
/**
 * @param {HTMLElement} row
 * @param {Pick<App, "pointing" | "tooltip">} parts
 * @param {{ flip: (bit: HTMLElement) => void, facts: (bit: HTMLElement, byTouch: boolean) => string[],
 *   tapped?: (event: MouseEvent) => void }} bits
 */
export function listenToBits(row, { pointing, tooltip }, { flip, facts, tapped }) {
  row.addEventListener("click", (event) => {
    const bit = bitAt(event);
    if (!bit) return;
    const byTouch = isTouch(event);
    if (!byTouch || pointing.tapped === bit) flip(bit);
    pointing.tapped = byTouch ? bit : null;
    if (!byTouch) return;
    tapped?.(event);
    tooltip.showAt(event, () => facts(bit, true));
  });
  onMouse(row, "pointermove", (event) => {
    const bit = bitAt(event);
    if (bit) tooltip.showAt(event, () => facts(bit, false));
  });
  onMouse(row, "pointerleave", () => tooltip.hide());
  row.addEventListener("keydown", (event) => {
    const bit = bitAt(event);
    const isDigit = event.key === "0" || event.key === "1";
    if (!bit || hasModifier(event) || (!isDigit && event.key !== " " && event.key !== "Enter")) return;
    event.preventDefault();
    if (!isDigit || bit.textContent !== event.key) flip(bit);
  });
}
