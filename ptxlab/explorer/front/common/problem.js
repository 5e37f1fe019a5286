// An error message beside the field that it concerns. It overlays the page, so that nothing moves; Escape clears it,
// and until then the field keeps what was typed.

import { focusOn, make, makeButton, write } from "./dom.js";
import { clamp } from "./numbers.js";
import { GUTTER } from "../pane/edges.js";

const FIELD_GAP = 5; // between the field and the sentence
let count = 0; // of boxes on the page, for their ids

export class Problem {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.content = app.content;
    // of the last message
    this.origin = /** @type {MessageOrigin | null} */ (null);
    // the one beside which the sentence stands
    this.field = /** @type {MessageOrigin | null} */ (null);
    this.box = make("div", "ptx-problem-box");
    this.node = make("div", "ptx-problem", this.box, {
      role: "alert",
      "data-testid": "problem",
      id: `ptx-problem-${(count += 1)}`,
    });
    makeButton(this.box, "ptx-dismiss", "", () => this.dismiss(), {
      "aria-label": "dismiss the message",
      title: "Dismiss (Escape)",
    });
    app.root.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.defaultPrevented && this.dismiss()) event.stopPropagation();
    });
  }

  // True if there was something to dismiss.
  dismiss() {
    if (!this.node.textContent) return false;
    this.app.send({ type: "dismiss_refusal" });
    this.showSentence(""); // also if the kernel is gone
    return true;
  }

  // Whether the refusal of an edit is shown beside the register that was typed into, and not at its cell.
  isAtField() {
    return Boolean(this.field?.markInvalid) && !this.content.model.get("refusal")?.prune;
  }

  update() {
    this.showSentence(this.content.model.get("problem") ?? "");
  }

  /** @param {string} sentence */
  showSentence(sentence) {
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

  // Below the field, or above it where there is no room; below the toolbar if the field is gone. In a register
  // it stands over the bits, which are those before: the next register stays visible.
  place() {
    const { root, toolbar } = this.app;
    const node = this.field?.node;
    const isThere = node?.isConnected && root.contains(node) && node.getClientRects().length > 0;
    const at = (isThere ? node : toolbar.node).getBoundingClientRect();
    const view = root.getBoundingClientRect();
    const isBeside = isThere && node.matches(".ptx-register .ptx-hex");
    const isAbove = isThere && node.matches(".ptx-register .ptx-value");
    this.box.style.maxWidth = isBeside ? `${Math.round(view.right - at.right - 2 * FIELD_GAP)}px` : "";
    const [wide, high] = [this.box.offsetWidth, this.box.offsetHeight];
    const [below, above] = [
      at.bottom - view.top + FIELD_GAP,
      Math.max(0, at.top - view.top - high - FIELD_GAP),
    ];
    let [left, top] = [at.left - view.left, !isAbove && below + high <= view.height ? below : above];
    const register = node?.closest(".ptx-register")?.getBoundingClientRect() ?? at;
    if (isBeside)
      [left, top] = [at.right - view.left + FIELD_GAP, Math.min(at.top, register.bottom - high) - view.top];
    left = clamp(left, 0, view.width - wide - 4);
    this.box.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
    this.app.tooltip.updateContent(); // it makes way
  }
}

// -- a refused edit, shown at the cells at fault: the sentence, and what can be done instead --

// The box is in the pane of the matrix, after its cells, so that Tab leads from the cell to the buttons.
/** @param {Pane} pane */
export function showRefusal(pane) {
  const { content, scene, problem } = pane;
  const refusal = content.model.get("refusal");
  const isHere = refusal?.sentence && pane.has(refusal.name) && !problem.isAtField();
  const here = isHere ? refusal : null;
  const fresh = here !== pane.shownRefusal;
  if (fresh) {
    pane.shownRefusal = here;
    pane.refusalBox?.remove();
    pane.refusalBox = here && refusalBox(pane, here);
    if (here) scene.reveal([{ name: here.name, row: here.cells[0][0], column: here.cells[0][1] }]);
    else problem.update(); // which had no size beside that box
  }
  if (!here || !pane.refusalBox) return;
  placeRefusal(pane, pane.refusalBox, here);
  if (fresh) pane.refusalBox.scrollIntoView({ block: "nearest", inline: "nearest" });
}

/** @param {Pane} pane @param {Refusal} refusal */
function refusalBox(pane, refusal) {
  const { app, selection } = pane;
  const node = make("div", "ptx-refusal", pane.frame, { role: "group", "aria-label": "edit refused" });
  make("p", "", node, { text: refusal.sentence });
  if (refusal.preview) make("p", "ptx-refusal-preview", node, { text: refusal.preview });
  const row = make("div", "ptx-refusal-row", node);
  /** @param {string} text @param {string} hint @param {() => void} act */
  const button = (text, hint, act, classes = "") => {
    const press = () => {
      focusOn(pane.input);
      act();
    };
    makeButton(row, classes, text, press, { title: hint });
  };
  const dismiss = () => app.send({ type: "dismiss_refusal" });
  if (refusal.prune)
    button(
      refusal.prune,
      "Keep what you typed, then the largest values; the rest becomes 0",
      () => app.send({ type: "prune_chunks" }),
      "first",
    );
  if (refusal.text) {
    button("Edit again", `Open the cell with ${refusal.text}`, () => {
      dismiss();
      selection.select({ name: refusal.name, row: refusal.typed_at[0], column: refusal.typed_at[1] });
      pane.openEditor(refusal.text);
    });
  }
  button("Discard", "Keep the cells as they were (Escape)", dismiss);
  node.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key !== "Escape") return;
    event.preventDefault();
    focusOn(pane.input);
    dismiss();
  });
  return node;
}

// Above the cells at fault, so that the next cell stays visible;
// below them if there is no room. Always inside the view.
/** @param {Pane} pane @param {HTMLElement} node @param {Refusal} refusal */
function placeRefusal(pane, node, refusal) {
  const { app, scroller, scene } = pane;
  const [row, first, last] = refusal.cells[0];
  const [from, to] = [pane.rect(refusal.name, row, first), pane.rect(refusal.name, row, last)];
  const [root, frame] = [app.root, pane.frame].map((node) => node.getBoundingClientRect());
  const { top } = scene.node.getBoundingClientRect(); // which clips what is above it
  const [wide, high] = [node.offsetWidth, node.offsetHeight];
  const y = GUTTER.top + clamp(from.y - scroller.scrollTop, 0, pane.height - from.height);
  const x =
    GUTTER.left + clamp((from.x + to.x + to.width) / 2 - scroller.scrollLeft, 0, pane.width) - wide / 2;
  const above = frame.top - top + y - high - 8 >= 0;
  const offset = frame.left - root.left;
  node.style.left = `${clamp(offset + x, 4, root.width - wide - 4) - offset}px`;
  node.style.top = `${above ? y - high - 7 : y + from.height + 7}px`;
}
