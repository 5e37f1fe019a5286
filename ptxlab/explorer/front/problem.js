// What went wrong, beside the field that it is about. It lies over the page, so that nothing moves; Escape
// clears it, and what was typed stays in the field until then.

import { make, write } from "./util.js";

const GAP_BELOW = 5;
let count = 0; // of boxes on the page, for their ids

export class Problem {
  /** @param {App} app @param {HTMLElement} parent */
  constructor(app, parent) {
    this.app = app;
    this.origin = /** @type {MessageOrigin | null} */ (null); // of the last message
    this.field = /** @type {MessageOrigin | null} */ (null); // the one beside which the sentence stands
    this.box = make("div", "ptx-problem-box", parent);
    this.node = make("div", "ptx-problem", this.box, {
      role: "alert",
      "data-testid": "problem",
      id: `ptx-problem-${(count += 1)}`,
    });
    this.button = make("button", "ptx-dismiss", this.box, {
      type: "button",
      "aria-label": "dismiss the message",
      title: "Dismiss (Escape)",
    });
    this.button.addEventListener("click", () => this.dismiss());
    app.root.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.defaultPrevented && this.dismiss()) event.stopPropagation();
    });
  }

  // True if there was something to dismiss.
  dismiss() {
    if (!this.node.textContent) return false;
    this.app.send({ type: "dismiss_refusal" });
    this.show(""); // also if the kernel is gone
    return true;
  }

  // Whether the refusal of an edit is shown beside the register that was typed into, and not at its cell.
  isAtField() {
    return Boolean(this.field?.markInvalid) && !this.app.model.get("refusal")?.prune;
  }

  update() {
    this.show(this.app.model.get("problem") ?? "");
  }

  /** @param {string} sentence */
  show(sentence) {
    if (sentence === this.node.textContent) {
      if (sentence) this.place();
      return;
    }
    write(this.node, sentence);
    this.field?.clearInvalid?.();
    this.field = sentence ? this.origin : null;
    this.origin = null;
    this.field?.markInvalid?.(this.node.id);
    if (sentence) this.place();
  }

  // Below the field, or above it where there is no room; below the toolbar if the field is gone.
  place() {
    const { root, toolbar } = this.app;
    const node = this.field?.node;
    const isThere = node?.isConnected && root.contains(node) && node.getClientRects().length > 0;
    const at = (isThere ? node : toolbar.node).getBoundingClientRect();
    const view = root.getBoundingClientRect();
    const [wide, high] = [this.box.offsetWidth, this.box.offsetHeight];
    const below = at.bottom - view.top + GAP_BELOW;
    const top = below + high <= view.height ? below : Math.max(0, at.top - view.top - high - GAP_BELOW);
    const left = Math.max(0, Math.min(at.left - view.left, view.width - wide - 4));
    this.box.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }
}
