// Numbers that were typed before Python is there, and that the page cannot compute with: each stays in its cell, dashed.

import { make } from "./dom.js";

export class WaitingMarks {
  /** @param {() => App | null} app whose cells they are on */
  constructor(app) {
    this.app = app;
    this.marks = /** @type {Map<string, { cell: Cell, node: HTMLElement }>} */ (new Map());
    this.frame = 0;
    this.why = make("span", "ptx-waiting-why", null, {
      text: "waiting for Python",
      "aria-hidden": "true", // the line above says it
    });
  }

  /** @param {Cell} cell @param {string} text */
  add(cell, text) {
    const key = Object.values(cell).join();
    const node =
      this.marks.get(key)?.node ?? make("span", "ptx-waiting", document.body, { "aria-hidden": "true" });
    node.textContent = text;
    document.body.append(this.why);
    this.marks.set(key, { cell, node });
    if (!this.frame) this.place();
  }

  // The cells may scroll, zoom or be laid out anew: this lasts only as long as Python loads.
  place() {
    const scene = this.app()?.scene;
    let last = /** @type {DOMRect | null} */ (null);
    for (const { cell, node } of this.marks.values()) {
      const pane = scene?.paneOf(cell.name);
      node.hidden = !pane;
      if (!scene || !pane) continue;
      const { x, y, width, height } = scene.cellRect(cell.name, cell.row, cell.column);
      const seen = pane.scroller.getBoundingClientRect();
      node.hidden = x + width < seen.left || x > seen.right || y + height < seen.top || y > seen.bottom;
      Object.assign(node.style, {
        left: `${x}px`,
        top: `${y}px`,
        minWidth: `${width}px`,
        height: `${height}px`,
      });
      if (!node.hidden) last = node.getBoundingClientRect();
    }
    this.why.hidden = !last;
    if (last) {
      const left = Math.min(last.right + 4, innerWidth - this.why.offsetWidth - 4);
      Object.assign(this.why.style, { left: `${left}px`, top: `${last.top}px` });
    }
    this.frame = requestAnimationFrame(() => this.place());
  }

  clear() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    for (const { node } of this.marks.values()) node.remove();
    this.marks.clear();
    this.why.remove();
  }
}
