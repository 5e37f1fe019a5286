// The scene: the panes of the matrices, side by side as in a product, and the camera over them. Panes share their
// axes: m (rows of A and D), n (columns of B and D), k (columns of A, rows of B).

import { make } from "../common/dom.js";
import { clamp } from "../common/numbers.js";
import { relatedCells } from "../matrix/describe.js";
import { AXES, Camera, WHOLE } from "./camera.js";
import { Corner } from "./corner.js";
import { FADE } from "./edges.js";
import { Pane } from "./pane.js";

// What is shown between the cells of a matrix.
/** @type {{ [name in Name]?: Name[] }} */
const INSIDE = { A: ["SFA"], B: ["SFB"], stored: ["E"] };
/** @type {Record<string, Axis[]>} */
const AXES_OF = { A: ["kOfA", "m"], stored: ["kOfA", "m"], B: ["n", "kOfB"], D: ["n", "m"], C: ["n", "m"] };
// Where a row of A and a column of B are seen, these scroll by themselves.
/** @type {Record<string, Axis[]>} */
const AXES_OF_STRIPS = { ...AXES_OF, A: ["kOfA", "mOfA"], stored: ["kOfA", "mOfA"], B: ["nOfB", "kOfB"] };

export class Scene {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.content = app.content;
    this.theme = app.theme;
    this.panes = /** @type {Pane[]} */ ([]);
    this.scroll = { m: 0, n: 0, kOfA: 0, kOfB: 0, mOfA: 0, nOfB: 0 };
    // for every zoom
    this.plan = /** @type {ScenePlan} */ ({});
    this.camera = new Camera(this);
    this.stage = make("div", "ptx-stage");
    this.node = make("div", "ptx-scene", this.stage);
    this.corner = new Corner(this);
    this.beside = make("div", "ptx-beside", this.stage);
  }

  // A pane for each matrix of another instruction.
  /** @param {Name[]} shown */
  build(shown) {
    for (const pane of this.panes) pane.node.remove();
    this.app.pointing.forget();
    this.panes = shown.map((name) => new Pane(this.app, this, [name, ...(INSIDE[name] ?? [])]));
    // A is reached before the timeline on the stage
    if (this.node.lastElementChild !== this.corner.node) this.node.append(this.corner.node);
  }

  /** @param {Name} name */
  paneOf(name) {
    return this.panes.find((pane) => pane.has(name));
  }

  // The pane whose first matrix this is.
  /** @param {Name} name */
  paneNamed(name) {
    return this.panes.find(({ names }) => names[0] === name);
  }

  // The axes along which a pane scrolls with others.
  /** @param {Pane} pane */
  axesOf({ names: [name] }) {
    return (this.plan.strips ? AXES_OF_STRIPS : AXES_OF)[name];
  }

  // Where of A and B a row and a column are seen, these are the ones of the selected cell.
  follow() {
    const { mark } = this.app.selection;
    const { matrices, instruction } = this.content;
    if (!this.plan.strips || !mark) return;
    const marks = mark.name === "D" || mark.name === "C" ? relatedCells(matrices, instruction, mark) : [mark];
    for (const { name, row, column } of marks) {
      const pane = this.paneOf(name);
      if (pane?.names[0] === "B") this.scroll.nOfB = pane.rect(name, row, column).x;
      else if (pane?.names[0] === "A" || pane?.names[0] === "stored")
        this.scroll.mOfA = pane.rect(name, row, column).y;
    }
    this.syncScroll();
  }

  // Where a cell is on the page.
  /** @param {Name} name @param {number} row @param {number} column @returns {Place} */
  cellRect(name, row, column) {
    const pane = /** @type {Pane} */ (this.paneOf(name));
    return pane.onPage(pane.rect(name, row, column));
  }

  // -- scrolling --

  syncScroll() {
    for (const pane of this.panes) {
      const [x, y] = pane.axes;
      if (x) pane.scroller.scrollLeft = this.scroll[x];
      if (y) pane.scroller.scrollTop = this.scroll[y];
    }
    for (const pane of this.panes) {
      pane.readScroll();
      pane.draw();
    }
    this.corner.drawMap();
  }

  /** @param {Pane} pane */
  scrolled(pane) {
    const [x, y] = pane.axes;
    const before = { ...this.scroll };
    pane.readScroll();
    if (x && pane.total.width > pane.width + 1) this.scroll[x] = pane.at.x;
    if (y && pane.total.height > pane.height + 1) this.scroll[y] = pane.at.y;
    if (AXES.every((axis) => Math.abs(before[axis] - this.scroll[axis]) < 1)) return;
    if (this.scroll.kOfA !== before.kOfA) this.scrollBothAlongK("kOfA");
    else if (this.scroll.kOfB !== before.kOfB) this.scrollBothAlongK("kOfB");
    this.syncScroll();
  }

  // Rows of B follow columns of A, and the other way round.
  /** @param {"kOfA" | "kOfB"} leading */
  scrollBothAlongK(leading) {
    /** @param {Name} name */
    const find = (name) => /** @type {Pane} */ (this.paneNamed(name));
    const [A, B] = [find("A"), find("B")];
    const [wide, high] = [A.total.width, B.total.height];
    if (leading === "kOfA")
      this.scroll.kOfB = Math.min((this.scroll.kOfA / wide) * high, Math.max(0, high - B.height));
    else this.scroll.kOfA = Math.min((this.scroll.kOfB / high) * wide, Math.max(0, wide - A.width));
  }

  // Scrolls the marked cells into view.
  /** @param {Mark[]} marks */
  reveal(marks) {
    const before = { ...this.scroll };
    for (const mark of marks) {
      const pane = this.paneOf(mark.name);
      if (!pane) continue;
      const { x, y, width, height } = pane.rect(mark.name, mark.row, mark.column);
      /** @param {Axis} axis @param {number} start @param {number} end @param {number} view @param {number} most */
      const revealAlong = (axis, start, end, view, most) => {
        if (most <= 1) return;
        const margin = clamp((view - (end - start)) / 2, 0, FADE);
        this.scroll[axis] = clamp(clamp(this.scroll[axis], end - view + margin, start - margin), 0, most);
      };
      revealAlong(pane.axes[0], x, x + width, pane.width, pane.farthest.x);
      revealAlong(pane.axes[1], y, y + height, pane.height, pane.farthest.y);
    }
    // all at once: scrolled one after the other, A and B would drag each other along
    if (AXES.some((axis) => before[axis] !== this.scroll[axis])) this.syncScroll();
  }

  // -- zooming --

  /** @param {number} percent @param {Point | null} point */
  zoomBy(percent, point = null) {
    this.zoomTo(this.content.model.get("zoom") + percent, point);
  }

  // Zooms around a point of the page, or around what `anchorsOf` finds.
  /** @param {number} percent @param {Point | null} point */
  zoomTo(percent, point) {
    const { controls } = this.app.toolbar.data;
    const range = controls.find(({ trait }) => trait === "zoom")?.range;
    if (!range) return;
    this.camera.point = point;
    this.content.set("zoom", clamp(Math.round(percent), WHOLE, range.max));
  }
}
