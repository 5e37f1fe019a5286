// Lists to choose from, numbers and texts to type, side by side.

import {
  fillSelect,
  focusedIn,
  makeLabel,
  makeNumberInput,
  makeSelect,
  makeTextInput,
  wholeNumber,
} from "./dom.js";

// What is chosen is shown only after Python has accepted it. Nodes are rebuilt only if the choices themselves change,
// and keep the focus.
export class Controls {
  /**
   * @param {HTMLElement} node
   * @param {string} key the attribute that holds the name of a control
   * @param {(name: string, value: any, node: Element) => void} choose
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
    const before = this.shown;
    const built = JSON.stringify(controls.map((control) => ({ ...control, value: null })));
    const isNew = built !== this.built;
    this.shown = controls;
    this.built = built;
    if (isNew) this.build();
    controls.forEach(({ value }, index) => {
      const isTyped = this.nodes[index] === document.activeElement && value === before[index]?.value;
      if (isNew || !isTyped) this.restore(index);
    });
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
  make(control, index) {
    const { name, label, hint, spoken, choices, range, disabled = false } = control;
    const node = this.makeNode(control, {
      title: hint,
      "aria-label": spoken ?? (label || name),
      [this.key]: name,
    });
    node.disabled = disabled;
    node.addEventListener("change", () => {
      const typed = range ? wholeNumber(node) : node.value;
      const chosen = choices ? choices[/** @type {HTMLSelectElement} */ (node).selectedIndex][1] : typed;
      this.restore(index);
      if (choices || chosen !== null) this.choose(name, chosen, node);
    });
    node.addEventListener("keydown", (event) => {
      if (/** @type {KeyboardEvent} */ (event).key === "Escape" && !choices) this.restore(index);
    });
    return node;
  }

  /** @param {Control} control @param {Record<string, string>} shared */
  makeNode({ label = "", choices, range }, shared) {
    if (choices) {
      const list = makeSelect(this.node, label, shared);
      fillSelect(list, choices);
      return list;
    }
    if (range) return makeNumberInput(this.node, label, { ...shared, ...range });
    const field = makeTextInput(makeLabel(this.node, label), "ptx-mask", { ...shared, placeholder: "none" });
    field.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") field.blur();
    });
    return field;
  }

  /** @param {number} index */
  restore(index) {
    const node = this.nodes[index];
    // JupyterLite has undefined for Python's None
    const value = String(this.shown[index].value ?? null);
    if (node.value !== value) node.value = value;
  }
}
