// A lens for cells that are too small for their labels: those around the pointer, large, in the colours of the pane.

import { clamp } from "./text.js";
import { LETTER, cellLines } from "./label.js";

const SIZE = 11; // of the letters
const EDGE = { left: 24, top: 14 };

/** @param {App} app @param {HTMLCanvasElement} canvas @param {Cell} cell */
export function drawLens(app, canvas, { name, row, column }) {
  const matrix = app.matrices[name];
  const label = app.model.get("label");
  const { letters, lines } = app.labelSize(matrix);
  const width = Math.ceil(letters * SIZE * LETTER + 7);
  const height = lines * (SIZE + 1) + 5;
  const across = Math.min(matrix.columns, width * 7 <= 330 ? 7 : 5);
  const down = Math.min(matrix.rows, 5);
  const first = clamp(row - 2, 0, matrix.rows - down);
  const from = clamp(column - Math.floor(across / 2), 0, matrix.columns - across);
  const [wide, high] = [EDGE.left + across * width, EDGE.top + down * height];
  const size = [Math.round(wide * app.ratio), Math.round(high * app.ratio)];
  if (canvas.width !== size[0] || canvas.height !== size[1]) {
    [canvas.width, canvas.height] = size;
    canvas.style.cssText = `width:${wide}px;height:${high}px`;
  }
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.setTransform(app.ratio, 0, 0, app.ratio, 0, 0);
  context.clearRect(0, 0, wide, high);
  context.textBaseline = "middle";
  const paint = app.painter(matrix);
  for (let r = first; r < first + down; r += 1) {
    const y = EDGE.top + (r - first) * height;
    heading(context, app, r, r === row, EDGE.left - 4, y + height / 2, "right");
    for (let c = from; c < from + across; c += 1) {
      const x = EDGE.left + (c - from) * width;
      const index = r * matrix.columns + c;
      const [fill, text] = paint(index);
      if (r === first) heading(context, app, c, c === column, x + width / 2, EDGE.top - 7, "center");
      const ghost = matrix.name === "A" && matrix.home && matrix.home[index] < 0;
      context.globalAlpha = ghost ? 0.22 : 1;
      context.fillStyle = fill;
      context.fillRect(x, y, width - 1, height - 1);
      context.globalAlpha = 1;
      context.font = `${SIZE}px ${app.ink.mono}`;
      context.textAlign = "center";
      context.fillStyle = ghost ? app.ink.faint : text;
      cellLines(app.matrices, matrix, index, label).forEach((word, line) => {
        context.fillText(word, x + (width - 1) / 2, y + 3 + (line + 0.5) * (SIZE + 1), width - 3);
      });
    }
  }
  context.strokeStyle = app.ink.text;
  context.lineWidth = 2;
  context.strokeRect(EDGE.left + (column - from) * width - 0.5, EDGE.top + (row - first) * height - 0.5, width, height);
}

/** @param {CanvasRenderingContext2D} context @param {App} app @param {number} text @param {boolean} here @param {number} x @param {number} y @param {CanvasTextAlign} align */
function heading(context, app, text, here, x, y, align) {
  context.font = `${here ? "bold " : ""}9px ${app.ink.mono}`;
  context.textAlign = align;
  context.fillStyle = here ? app.ink.text : app.ink.faint;
  context.fillText(String(text), x, y);
}
