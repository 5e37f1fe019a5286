// The mnemonic, and a button that copies it.

import { make } from "./text.js";

export class Head {
  constructor(parent) {
    this.node = make("div", "ptx-head", parent);
    this.text = make("code", "ptx-mnemonic", this.node);
    this.button = make("button", "ptx-copy", this.node, { "aria-label": "copy the mnemonic", "aria-live": "polite" });
    this.button.textContent = "copy";
    this.button.addEventListener("click", () => this.copy());
  }

  show(mnemonic) { if (this.text.textContent !== mnemonic) this.text.textContent = mnemonic; }

  async copy() {
    const done = await this.write(this.text.textContent);
    this.button.textContent = done ? "copied" : "press Ctrl+C";
    this.button.setAttribute("aria-label", done ? "copied" : "the mnemonic is selected: press Ctrl+C");
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      this.button.textContent = "copy";
      this.button.setAttribute("aria-label", "copy the mnemonic");
    }, 1600);
  }

  // Pages that are not served securely have no clipboard: there the old command is tried, and the text stays selected.
  async write(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      getSelection().selectAllChildren(this.text);
      return document.execCommand("copy");
    }
  }
}
