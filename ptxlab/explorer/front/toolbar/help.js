// The sheet that "?" opens: every key, and what mouse and fingers do.

import { focusOn, focusedIn, make, makeButton } from "../common/dom.js";

// A part of the sheet begins with its title; then, indented, what one does and what that does.
const SHEET = `\
Everywhere
  Tab, Shift+Tab | next or previous part: name, bar, A, B, D, lanes, registers
  Arrow keys | move inside a part
  Ctrl+Z, Ctrl+Shift+Z | undo, redo
  Alt++, Alt+-, Alt+0 | zoom in, down to single bits; zoom out; show all of it
  F8, Shift+F8 | next, previous cell where two chips differ
  /, Ctrl+K | the menu: type a command or a place, as lane 14 d3; another instruction
  Escape | discard what is typed; dismiss a message; leave the Explorer
  Shift+Enter, Ctrl+S | as in the notebook: run its cell, save it
  ? | show this help
On a cell
  Type a number, Enter | change the cell: 3, -0.5, 1e-3, 0x3c00, 0b0110, inf, nan
  Enter or F2 | edit what is there; where digits are too small, Enter zooms in first
  Arrows, Home, End, Page Up, Page Down | move; with Ctrl to the edge, with Shift extend the selection
  Shift+Space, Ctrl+Space | select the row, the column
  Ctrl+A | select the whole matrix
  Ctrl+C, Ctrl+X, Ctrl+V | copy, cut, paste (tabs, commas, spaces, NumPy)
  Ctrl+D, Ctrl+R | fill down, fill right
  Delete | set to zero
In registers
  Arrow keys | from the hexadecimal number to the bits and the values
  Space, 0, 1 | on a bit: flip it, clear it, set it
  Type, Enter | on a number: change it
On lanes
  Space, or “pin” | keep its registers in view beside those of the next lane you choose
  F, or “fly” | its registers fly to their cells and back; F again or Escape stops them
In shared memory
  Alt+M, or “memory” | on a matrix: see its bytes and banks, and how it gets into registers
  Arrow keys | from word to word
  Type, Enter | change a word: 0x3c004000
  +, - | larger and smaller words; Ctrl+wheel, two fingers and a double click do the same
  Arrow keys on the slider | one wavefront forward or back; Space plays, Escape shows all of them
In tensor memory
  Alt+T, or “tensor memory” | with tcgen05: see where D, A, scale factors and metadata are; again to close it
  Arrow keys | from word to word; this chooses the thread that tcgen05.ld loads it into
  Type, Enter | change a word of A, scale factors, metadata, or D before the instruction
  +, - | larger and smaller words, as in shared memory
  Left, Right at an edge | with tcgen05.ld, .st, .cp and .shift: go to the other grid
Mouse
  Point at a cell or a bit | see which lane and which bits hold it
  Click, drag | select cells; a click on a row or column number selects all of it
  Double-click | edit a cell, or zoom in where its digits are too small
  The small map | where you are; click it to go elsewhere
  Click a bit | flip it
  Click a cell of D | see the lanes that contribute, and the sum step by step
  Drag the small square | fill the neighbouring cells
  Ctrl+wheel | zoom in or out, at the pointer
  Ctrl+click a lane | pin it
Timeline, questions, video
  Play, or drag | from the operands to D, step by step; with a cell of D selected, its sum
  A, B, along K, D out | its parts: operands are read; for each k, column k of A times row k of B; D is written
  why? | the bits of the selected cell of D, term by term
  Quiz me | questions about this instruction, answered by pointing or typing
  video | save the timeline as a film
What it shows
  Group, thread | lanes 4g to 4g + 3 are group g; thread t is the lane's place in it
  d1 | element 1 of D in a lane's registers; a, b, c and e likewise
  Blue, orange, white bits | sign, exponent, fraction
  Pale cell, hexadecimal digit | a zero; the code of four bits whose value has no room
  Wavefront | the words that shared memory gives or takes at once
Touch
  Tap a cell or a bit | select it, and see what pointing shows
  Tap it again | edit the cell, flip the bit
  Pinch | zoom in or out, between the fingers`;

export class HelpSheet {
  /** @param {Pick<App, "root" | "pointing">} app */
  constructor({ root, pointing }) {
    this.root = root;
    this.pointing = pointing;
    this.node = make("dialog", "ptx-sheet", null, { "aria-label": "keys, mouse and touch" });
    this.caller = /** @type {HTMLElement | null} */ (null);
    this.node.addEventListener("close", () => focusOn(this.caller));
    this.node.addEventListener("click", (event) => {
      if (event.target === this.node) this.node.close(); // beside the sheet
    });
    this.node.addEventListener("keydown", (event) => this.press(event));
    root.addEventListener("keydown", (event) => this.shortcut(event));
  }

  open() {
    if (this.node.open) return;
    if (!this.node.firstChild) this.build();
    this.caller = focusedIn(this.root);
    this.pointing.hover(null);
    this.node.showModal();
  }

  build() {
    const page = make("div", "ptx-sheet-page", this.node, { tabindex: "0", role: "document" });
    const head = make("div", "ptx-sheet-head", page);
    make("h2", "", head, { text: "Keys, mouse and touch" });
    makeButton(head, "ptx-tool", "Close", () => this.node.close());
    const columns = make("div", "ptx-sheet-columns", page);
    for (const part of SHEET.split(/\n(?! )/)) {
      const [title, ...rows] = part.split("\n");
      const section = make("section", "", columns);
      make("h3", "", section, { text: title });
      const list = make("dl", "", section);
      for (const row of rows) {
        const [how, what] = row.trim().split(" | ");
        make("dt", "", list, { text: how });
        make("dd", "", list, { text: what });
      }
    }
  }

  // "?" anywhere but in the search and in a cell that is edited: other fields hold numbers, without a "?".
  /** @param {KeyboardEvent} event */
  shortcut(event) {
    const target = /** @type {Element} */ (event.target);
    const isText = target.matches("input.ptx-search, .ptx-cell.editing");
    if (event.key !== "?" || event.ctrlKey || event.metaKey || event.defaultPrevented || isText) return;
    event.preventDefault();
    this.open();
  }

  // The focus stays in the sheet, and so do its keys.
  /** @param {KeyboardEvent} event */
  press(event) {
    event.stopPropagation();
    if (event.key === "Escape" || event.key === "?") {
      event.preventDefault();
      this.node.close();
    }
    if (event.key !== "Tab") return;
    const stops = /** @type {HTMLElement[]} */ ([...this.node.querySelectorAll("[tabindex='0'], button")]);
    const root = /** @type {Document | ShadowRoot} */ (this.node.getRootNode());
    const at = stops.indexOf(/** @type {HTMLElement} */ (root.activeElement));
    event.preventDefault();
    stops[(at + (event.shiftKey ? -1 : 1) + stops.length) % stops.length].focus();
  }
}
