// The mnemonic, a button that copies it, and one that opens the picker.

import { make, copyText, write } from "./util.js";
import { appendBreakable } from "./search.js";
import { NameBox } from "./name_box.js";
import { roveTabindex, nextInBar } from "./roving_tabindex.js";

export class Header {
  /** @param {App} app @param {HTMLElement} parent */
  constructor(app, parent) {
    this.app = app;
    this.node = make("div", "ptx-header", parent);
    this.text = make("code", "ptx-mnemonic", this.node);
    this.shape = make("code", "ptx-shape", this.node);
    this.shape.hidden = true;
    this.button = make("button", "ptx-copy", this.node, {
      type: "button",
      "aria-label": "copy the mnemonic",
      "aria-live": "polite",
      title: "Copy the mnemonic",
    });
    this.button.textContent = "copy";
    this.button.addEventListener("click", () => this.copy());
    this.change = /** @type {HTMLElement | null} */ (null);
    this.timer = 0;
    this.fullScreen = this.makeFullScreenButton();
    this.help = this.makeHelpButton();
    this.nameBox = new NameBox(app, this.node);
    this.updateStops = roveTabindex(this.node, "button:not(.ptx-name-box *)", nextInBar);
    this.updateStops();
  }

  makeHelpButton() {
    const button = make("button", "ptx-copy ptx-help", this.node, {
      type: "button",
      "aria-haspopup": "dialog",
      title: "Keys, mouse and touch (?)",
      "aria-label": "keys, mouse and touch",
    });
    button.textContent = "?";
    button.addEventListener("click", () => this.app.helpSheet.open());
    return button;
  }

  // Shown where the page may use the full screen.
  makeFullScreenButton() {
    const { root } = this.app;
    const button = make("button", "ptx-copy ptx-full-screen", this.node, {
      type: "button",
      "aria-pressed": "false",
      title: "Full screen (Escape to leave)",
      "aria-label": "full screen",
    });
    button.textContent = "⤢";
    button.hidden = !document.fullscreenEnabled;
    button.addEventListener("click", () =>
      document.fullscreenElement === root ? document.exitFullscreen() : root.requestFullscreen(),
    );
    root.addEventListener("fullscreenchange", () => {
      button.setAttribute("aria-pressed", String(document.fullscreenElement === root));
      this.app.layout();
    });
    return button;
  }

  // The picker adds its button: static pages have none.
  /** @param {Picker} picker @param {string} id */
  addChangeButton(picker, id) {
    const change = make("button", "ptx-copy ptx-change", this.node, {
      type: "button",
      "aria-expanded": "false",
      "aria-controls": id,
      title: "Choose another instruction (/)",
    });
    change.textContent = "change";
    this.fullScreen.before(change);
    change.addEventListener("click", () => picker.toggle());
    this.change = change;
    this.updateStops();
    this.text.classList.add("ptx-clickable");
    this.text.title = "Choose another instruction";
    this.text.addEventListener("click", () => {
      if (getSelection()?.isCollapsed ?? true) picker.open();
    }); // but not if a part of it was selected
  }

  // The mnemonic of tcgen05.mma has no shape; the one in its descriptor is shown beside it.
  /** @param {string} mnemonic @param {string} shape */
  show(mnemonic, shape = "") {
    write(this.shape, shape);
    this.shape.hidden = !shape;
    if (this.text.textContent === mnemonic) return;
    this.text.replaceChildren();
    appendBreakable(this.text, mnemonic);
    this.app.picker?.update();
  }

  async copy() {
    const done = await copyText(this.text.textContent ?? "");
    if (!done) getSelection()?.selectAllChildren(this.text);
    this.button.textContent = done ? "copied" : "press Ctrl+C";
    this.button.setAttribute("aria-label", done ? "copied" : "the mnemonic is selected: press Ctrl+C");
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      this.button.textContent = "copy";
      this.button.setAttribute("aria-label", "copy the mnemonic");
    }, 1600);
  }
}
