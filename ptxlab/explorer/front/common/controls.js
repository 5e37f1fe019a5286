// Lists to choose from and numbers to type, side by side.

import { fillSelect, focusedIn, makeNumberInput, makeSelect, wholeNumber } from "./dom.js";

// A choice is shown only after Python has accepted it. Nodes are rebuilt only if the choices themselves change, and
// keep the focus.
export class Controls {
  /**
   * @param {HTMLElement} node
   * @param {string} key the attribute that holds the name of a control
   * @param {(name: string, value: string | number, node: Element) => void} choose
   */
  constructor(node, key, choose) {
    this.node = node;
    this.key = key;
    this.choose = choose;
    this.built = "";
    this.shown = /** @type {Control[]} */ ([]);
    this.nodes = /** @type {(HTMLSelectElement | HTMLInputElement)[]} */ ([]);
  }

  /** @param {Control[]} controls */
  showControls(controls) {
    const built = JSON.stringify(controls.map((control) => ({ ...control, value: null })));
    this.shown = controls;
    if (built !== this.built) this.build();
    this.built = built;
    controls.forEach((_, index) => this.restore(index));
  }

  build() {
    const focused = focusedIn(this.node);
    const at = this.nodes.findIndex((node) => node === focused);
    const name = this.nodes[at]?.getAttribute(this.key);
    this.node.replaceChildren();
    this.nodes = this.shown.map((control, index) => this.make(control, index));
    if (name) this.nodes.find((node) => node.getAttribute(this.key) === name)?.focus({ preventScroll: true });
  }

  /** @param {Control} control @param {number} index */
  make({ name, label, hint, choices, range, disabled = false }, index) {
    const shared = { title: hint, "aria-label": label || name, [this.key]: name };
    const node = choices
      ? makeSelect(this.node, label, shared)
      : makeNumberInput(this.node, label, { ...shared, ...range });
    if (node instanceof HTMLSelectElement) fillSelect(node, choices ?? []);
    node.disabled = disabled;
    node.addEventListener("change", () => {
      const chosen = choices?.find(([, choice]) => String(choice) === node.value)?.[1] ?? wholeNumber(node);
      this.restore(index);
      if (chosen !== null) this.choose(name, chosen, node);
    });
    node.addEventListener("keydown", (event) => {
      if (/** @type {KeyboardEvent} */ (event).key === "Escape" && !choices) this.restore(index);
    });
    return node;
  }

  /** @param {number} index */
  restore(index) {
    const value = String(this.shown[index].value);
    if (this.nodes[index].value !== value) this.nodes[index].value = value;
  }
}
