// What changed is seen: cells, bits and lines of the tip are lit for a moment after an edit. They fade; where
// the system asks for less motion they are marked a little longer, and do not.

import { make, afterPaint, reducedMotion } from "./util.js";
import { GUTTER } from "./pane_edges.js";
import { resizeCanvas } from "./scroll_area.js";
import { changedCells } from "./matrix.js";
import { cellBox, drawLayer } from "./pane_draw.js";

const FADING = 600; // milliseconds
const STEADY = 1500; // without motion

// Cells whose content differs from the one that was drawn before. Another instruction has other cells.
/** @param {App} app @param {Partial<Matrices>} before */
export function flashChanges(app, before) {
  for (const pane of app.panes.filter(({ node }) => node.isConnected)) {
    const changes = pane.layers.map((layer) => {
      const [earlier, matrix] = [before[layer.name], app.matrices[layer.name]];
      return { layer, cells: matrix && earlier?.info === matrix.info ? changedCells(earlier, matrix) : [] };
    });
    if (changes.some(({ cells }) => cells.length)) flashCells(pane, changes);
  }
}

// One canvas, drawn once; the browser fades it without drawing anything again. It scrolls with the cells.
/** @param {Pane} pane @param {{ layer: Layer, cells: number[] }[]} changes */
function flashCells(pane, changes) {
  const { app, width, height } = pane;
  pane.endFlash();
  const canvas = make("canvas", "ptx-flash", pane.space, { "aria-hidden": "true" });
  resizeCanvas(canvas, width, height, app.ratio);
  canvas.style.left = `${pane.at.x}px`;
  canvas.style.top = `${pane.at.y}px`;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.setTransform(app.ratio, 0, 0, app.ratio, -GUTTER.left * app.ratio, -GUTTER.top * app.ratio);
  for (const { layer, cells } of changes) {
    drawLayer(pane, context, layer, cells, [app.ink.flash, "#000000"]);
    if (!layer.digits) continue;
    context.strokeStyle = app.ink.text; // seen on every colour, whoever looks
    context.lineWidth = 1.5;
    for (const index of cells) {
      const cell = cellBox(pane, layer, index);
      if (cell) context.strokeRect(cell.x + 0.25, cell.y + 0.25, cell.width - 1.5, cell.height - 1.5);
    }
  }
  pane.flash = canvas;
  const end = () => {
    if (pane.flash === canvas) pane.endFlash();
  };
  if (reducedMotion.matches) {
    window.setTimeout(end, STEADY);
    return;
  }
  canvas.animate([{ opacity: 1 }, { opacity: 1, offset: 0.3 }, { opacity: 0 }], FADING).onfinish = end;
}

// Fades out a mark over what changed, and removes it.
/** @param {HTMLElement} node */
export function fadeOut(node) {
  if (reducedMotion.matches) window.setTimeout(() => node.remove(), STEADY);
  else
    node.animate([{ opacity: 1 }, { opacity: 1, offset: 0.3 }, { opacity: 0 }], FADING).onfinish = () =>
      node.remove();
}

// After the change is on the screen: starting an animation takes longer than drawing a bit.
/** @param {App} app @param {HTMLElement[]} nodes */
export function flashNodes(app, nodes) {
  if (!nodes.length) return;
  afterPaint(() => {
    if (reducedMotion.matches) {
      for (const node of nodes) node.classList.add("ptx-changed");
      window.setTimeout(() => nodes.forEach((node) => node.classList.remove("ptx-changed")), STEADY);
      return;
    }
    const lit = { backgroundColor: app.ink.flash, color: "#000000" };
    for (const node of nodes) node.animate([lit, { ...lit, offset: 0.3 }, {}], FADING);
  });
}
