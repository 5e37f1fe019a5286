// Highlights what an edit changed: cells, bits and lines of the tooltip light up and fade. With reduced motion they
// are marked a little longer and do not fade.

import { make, afterPaint, reducedMotion, resizeCanvas } from "./dom.js";
import { contextOn } from "./canvas.js";
import { GUTTER } from "../pane/edges.js";
import { changedCells } from "../matrix/matrix.js";
import { cellBox, drawLayer } from "../pane/draw_pane.js";

const FADING = 600; // milliseconds
const STEADY = 1500; // without motion

// Cells whose content differs from the one that was drawn before. Another instruction has other cells.
/** @param {Pane[]} panes @param {Partial<Matrices>} before */
export function flashChanges(panes, before) {
  for (const pane of panes.filter(({ node }) => node.isConnected)) {
    const changes = pane.layers.map((layer) => {
      const [earlier, matrix] = [before[layer.name], pane.content.matrices[layer.name]];
      return { layer, cells: matrix && earlier?.info === matrix.info ? changedCells(earlier, matrix) : [] };
    });
    if (changes.some(({ cells }) => cells.length)) flashCells(pane, changes);
  }
}

// One canvas, drawn once; the browser fades it without drawing anything again. It scrolls with the cells.
/** @param {Pane} pane @param {{ layer: Layer, cells: number[] }[]} changes */
function flashCells(pane, changes) {
  const { width, height, theme } = pane;
  pane.endFlash();
  const canvas = make("canvas", "ptx-flash", pane.space, { "aria-hidden": "true" });
  resizeCanvas(canvas, width, height, theme.ratio);
  canvas.style.left = `${pane.at.x}px`;
  canvas.style.top = `${pane.at.y}px`;
  const context = contextOn(canvas, theme.ratio);
  context.translate(-GUTTER.left, -GUTTER.top);
  for (const { layer, cells } of changes) {
    drawLayer(pane, context, layer, cells, [theme.ink.flash, theme.ink.black]);
    if (!layer.digits) continue;
    context.strokeStyle = theme.ink.text; // seen on every colour, whoever looks
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

const lit = /** @type {Map<HTMLElement, number>} */ (new Map()); // nodes, and when they changed
let fading = 0;

// After the change is on the screen. They fade in two steps, not as an animation: the page itself paints a
// colour, and would do so in every frame.
/** @param {HTMLElement[]} nodes */
export function flashNodes(nodes) {
  if (!nodes.length) return;
  afterPaint(() => {
    for (const node of nodes) {
      lit.set(node, performance.now());
      node.classList.remove("ptx-fading");
      node.classList.add("ptx-changed");
    }
    if (!fading) fadeNodes();
  });
}

function fadeNodes() {
  const shown = reducedMotion.matches ? STEADY : FADING;
  for (const [node, since] of lit) {
    const part = (performance.now() - since) / shown;
    if (part >= (reducedMotion.matches ? 1 : 0.5)) {
      node.classList.remove("ptx-changed");
      node.classList.toggle("ptx-fading", part < 1);
    }
    if (part >= 1) lit.delete(node);
  }
  fading = lit.size ? window.setTimeout(fadeNodes, shown / 4) : 0;
}
