// What is under the pointer, said beside it; with a lens where cells are too small to be read.

import { make, write } from "./text.js";
import { drawLens } from "./lens.js";

const LINES = 10;

export class Tip {
  /** @param {App} app @param {HTMLElement} parent */
  constructor(app, parent) {
    this.app = app;
    this.node = make("div", "ptx-tip", parent, { "aria-hidden": "true" });
    this.lens = make("canvas", "ptx-lens");
    this.lines = /** @type {HTMLElement[]} */ ([make("b", "", this.node)]);
    this.at = /** @type {{ x: number, y: number, small: Cell | null } | null} */ (null);
  }

  // Its lines now; the lens and its place when all else is drawn, so that the page is measured once.
  /** @param {MouseEvent} event @param {string[]} lines @param {Cell | null} small */
  show(event, lines, small = null) {
    const said = lines.slice(0, LINES);
    while (this.lines.length < said.length) this.lines.push(make("span", "", this.node));
    while (this.lines.length > said.length) this.lines.pop()?.remove();
    said.forEach((line, index) => write(this.lines[index], line));
    if (small && !this.lens.isConnected) this.node.prepend(this.lens);
    else if (!small) this.lens.remove();
    this.node.classList.add("on");
    this.at = { x: event.clientX, y: event.clientY, small };
    this.app.drawOver();
  }

  hide() {
    this.at = null;
    this.node.classList.remove("on");
  }

  draw() {
    if (!this.at) return;
    if (this.at.small) drawLens(this.app, this.lens, this.at.small);
    const box = this.app.root.getBoundingClientRect();
    const [wide, high] = [this.node.offsetWidth, this.node.offsetHeight];
    const [x, y] = [this.at.x - box.left, this.at.y - box.top];
    this.node.style.left = `${x + 16 + wide > box.width ? x - wide - 12 : x + 16}px`;
    this.node.style.top = `${y + 14 + high > box.height ? Math.max(0, y - high - 12) : y + 14}px`;
    this.at = null;
  }
}
