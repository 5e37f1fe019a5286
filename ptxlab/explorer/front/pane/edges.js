// Around a pane: headings, and edges that show that there is more to scroll to.

import { LETTER, drawTag, drawUpwards, fillBox, setFont } from "../common/canvas.js";
import { clamp, labelInterval, plural } from "../common/numbers.js";
import { warpRows } from "../matrix/matrix.js";
import { warpColours } from "../matrix/colours.js";
import { productNames } from "../matrix/describe.js";

export const GUTTER = { left: 32, top: 17 };
// height of the fade at an edge with more to scroll to
export const FADE = 22;
// What stands before the numbers of matrices that are not numbered plainly.
/** @type {Record<string, string>} */
const HEADING_PREFIX = { E: "ch", SFA: "sf", SFB: "sf" };

/** @param {string} text of 11 pixels, monospaced */
const textWidth = (text) => text.length * 11 * LETTER;

// Where the heading of a column is: in its middle, near the left edge of a wide one.
/** @param {Pane} pane @param {Layer} layer @param {number} column @param {number} row @param {number} wide */
function headingMiddle(pane, layer, column, row, wide) {
  const half = Math.min(layer.width, 60) / 2;
  return pane.x(layer, column, 0, row) + (layer.name === "E" ? Math.max(half - 2, wide / 2) : half);
}

// Where the number of a row is, below the row's upper edge.
/** @param {number} high */
const rowMiddle = (high) => Math.max(5, Math.min(high, 40) / 2) + 0.5;

// Column headings, with as many left out that none touch: {text, middle, width} in the pane's pixels. Nibbles
// and scale factors come first, then the columns between them.
/** @param {Pane} pane */
export function headings(pane) {
  const { content } = pane;
  const texts = /** @type {{ text: string, middle: number, width: number }[]} */ ([]);
  for (const layer of [...pane.layers].reverse()) {
    if (layer.name === "SFB") continue;
    const { columns, products } = content.matrices[layer.name];
    const prefix = HEADING_PREFIX[layer.name] ?? "";
    const widest = textWidth(`${prefix}${columns - 1}`);
    const every = prefix ? 1 : labelInterval(layer.width, widest + 4);
    const count = layer.shift ? (products?.count ?? 1) : 1;
    for (let column = 0; column < columns; column += every)
      for (let product = 0; product < count; product += 1) {
        const text = `${prefix}${column}`;
        const width = textWidth(text);
        const shift = layer.shift?.(product * layer.down.per) ?? 0;
        const middle = headingMiddle(pane, layer, column, 0, width) + shift;
        const touches = texts.some(
          (other) => Math.abs(other.middle - middle) < (other.width + width) / 2 + 3,
        );
        if (!touches) texts.push({ text, middle, width });
      }
  }
  return texts;
}

// Row and column numbers; a bar along each warp's rows where colours mean warps.
/** @param {Pane} pane @param {CanvasRenderingContext2D} context */
export function drawHeadings(pane, context) {
  const { content, theme } = pane;
  if (content.display("colour_by") === "warp" && content.instruction.lanes > 32) drawWarps(pane, context);
  setFont(context, `11px ${theme.ink.mono}`, theme.ink.faint, "right");
  const heights = /** @type {number[]} */ ([]);
  for (const [layer, prefix, interval] of rowNumbers(pane))
    for (let row = 0; row < content.matrices[layer.name].rows; row += interval) {
      const y = pane.y(layer, row) - pane.at.y;
      const middle = y + (prefix ? layer.down.size / 2 + 0.5 : rowMiddle(pane.row));
      if (y < -1 || y > pane.height - 4) continue;
      if (heights.some((other) => Math.abs(other - middle) < 12)) continue; // they would touch
      heights.push(middle);
      context.fillText(`${prefix}${row}`, GUTTER.left - 5, GUTTER.top + middle);
    }
  context.textAlign = "center";
  for (const { text, middle } of headings(pane)) {
    const x = middle - pane.at.x;
    if (x > 0 && x < pane.width) context.fillText(text, GUTTER.left + x, GUTTER.top - 6);
  }
}

// Scale factors of B first, every one; then of the matrix as many as there is room for.
/** @param {Pane} pane @returns {[layer: Layer, prefix: string, each: number][]} */
function rowNumbers({ layers, row }) {
  const factors = layers.find((layer) => layer.name === "SFB");
  return [
    ...(factors ? [/** @type {[Layer, string, number]} */ ([factors, HEADING_PREFIX.SFB, 1])] : []),
    [layers[0], "", labelInterval(row, 12)],
  ];
}

/** @param {Pane} pane @param {CanvasRenderingContext2D} context */
function drawWarps(pane, context) {
  const { layers, content, theme } = pane;
  const matrix = content.matrices[layers[0].name];
  if (!matrix.lane) return;
  /** @param {number} row */
  const top = (row) => pane.y(layers[0], row) - pane.at.y;
  for (const { warp, first, stop } of warpRows(matrix)) {
    const own = Math.max(0, warp % 4);
    for (let row = first; row < stop; row += 1) {
      if (top(row) < -1 || top(row) > pane.height - 4) continue;
      const bar = { x: GUTTER.left - 4, y: GUTTER.top + top(row), width: 3, height: pane.row };
      fillBox(context, bar, warpColours(theme, own)[0]);
    }
    const [from, to] = [Math.max(0, top(first)), Math.min(pane.height, top(stop))];
    setFont(context, `600 11px ${theme.ink.mono}`, theme.ink.text);
    if (to - from >= 36) drawUpwards(context, `warp ${own}`, { x: 5, y: GUTTER.top + (from + to) / 2 });
  }
}

// The quad pair and lanes of each product, beside it, where there is room.
/** @param {Pane} pane @param {CanvasRenderingContext2D} context */
export function drawProductNames(pane, context) {
  const { content, theme } = pane;
  const [layer] = pane.layers;
  const { products, rows, columns } = content.matrices[layer.name];
  if (!layer.shift || !products) return;
  const { x: scrollLeft, y: scrollTop } = pane.at;
  setFont(context, `11px ${theme.ink.mono}`, theme.ink.faint);
  for (let product = 0; product < products.count; product += 1) {
    const row = (product * rows) / products.count;
    const lines = productNames(content.instruction, product);
    const wide = Math.max(...lines.map(textWidth));
    const [before, after] = [pane.x(layer, 0, 0, row) - 8, pane.x(layer, columns - 1, 1, row) + 8];
    const fitsAfter = after + wide <= pane.total.width;
    if (!fitsAfter && before < wide) continue;
    const y = GUTTER.top - scrollTop + pane.y(layer, row) + layer.down.size / 2;
    context.textAlign = fitsAfter ? "left" : "right";
    lines.forEach((line, index) => {
      context.fillText(line, GUTTER.left - scrollLeft + (fitsAfter ? after : before), y + index * 13);
    });
  }
}

// The headings of the row and the column under the pointer, over the others: also those that are left out.
/** @param {Pane} pane @param {CanvasRenderingContext2D} context @param {Line[]} lines @param {number} row */
export function drawLitHeadings(pane, context, lines, row) {
  const { theme } = pane;
  const { x: scrollLeft, y: scrollTop } = pane.at;
  for (const line of lines) {
    const layer = pane.layer(line.name);
    const prefix = HEADING_PREFIX[/** @type {string} */ (line.name)] ?? "";
    const across = line.row === undefined;
    // SFB has its factors as rows
    const countsChunksOrFactors = line.name === "SFB" ? !across : across;
    const text = `${countsChunksOrFactors ? prefix : ""}${across ? line.column : line.row}`;
    const wide = textWidth(text) + 4;
    let [x, y] = [GUTTER.left - 3 - wide / 2, GUTTER.top - 7];
    if (across) {
      x = GUTTER.left - scrollLeft + headingMiddle(pane, layer, line.column, row, wide - 4);
      if (x < GUTTER.left || x > GUTTER.left + pane.width) continue;
      x = clamp(x, wide / 2, GUTTER.left + pane.width - wide / 2);
    } else {
      y = GUTTER.top - scrollTop + pane.y(layer, line.row) + rowMiddle(layer.down.size);
      if (y < GUTTER.top || y > GUTTER.top + pane.height) continue;
      y = clamp(y, 6, GUTTER.top + pane.height - 6);
    }
    drawTag(context, theme.ink, text, { x, y });
  }
}

// Scroll bars may be invisible: an edge with more to scroll to fades, and says how much there is.
/** @param {Pane} pane @param {CanvasRenderingContext2D} context */
export function drawEdges(pane, context) {
  const { x: scrollLeft, y: scrollTop } = pane.at;
  const { width, height, total, theme } = pane;
  const [left, top] = [GUTTER.left, GUTTER.top];
  const [layer] = pane.layers;
  // no row or column fades where only one is seen
  const above = height < 1.5 * layer.down.size ? 0 : pane.rowsIn(scrollTop);
  const below = height < 1.5 * layer.down.size ? 0 : pane.rowsIn(total.height - height - scrollTop);
  /** @param {number} pixels */
  const columns = (pixels) =>
    width < 1.5 * layer.width ? 0 : Math.round((pixels / layer.period) * layer.per);
  const before = columns(scrollLeft);
  const after = columns(total.width - width - scrollLeft);
  /** @param {number} right @param {number} down */
  const fade = (right, down) => {
    // strips in the colour of the page, denser towards the edge
    context.fillStyle = theme.ink.paper;
    for (let away = 0; away < FADE; away += 1) {
      context.globalAlpha = Math.min(0.94, 1.7 * (1 - away / FADE));
      const [x, y] = [right > 0 ? width - away - 1 : away, down > 0 ? height - away - 1 : away];
      if (down) context.fillRect(left, top + y, width, 1);
      else context.fillRect(left + x, top, 1, height);
    }
    context.globalAlpha = 1;
  };
  /** @param {string} text @param {number} x @param {number} y @param {"left" | "center" | "right"} align */
  const drawText = (text, x, y, align) => {
    setFont(context, `11px ${theme.ink.mono}`, theme.ink.text, align);
    const width = context.measureText(text).width + 8;
    const start = x - width * { left: 0, center: 0.5, right: 1 }[align];
    fillBox(context, { x: start, y: y - 7, width, height: 14 }, theme.ink.paper);
    context.fillStyle = theme.ink.text;
    context.fillText(text, x + { left: 4, center: 0, right: -4 }[align], y);
  };
  if (below > 0) fade(0, 1);
  if (above > 0) fade(0, -1);
  if (after > 0) fade(1, 0);
  if (before > 0) fade(-1, 0);
  // Labels sit at the edges so as not to cover what was scrolled to.
  const isShort = width < 48 * 11 * LETTER;
  /** @param {number} count */
  const rows = (count) => (isShort ? count : `${count} more ${plural(count, "row")}`);
  /** @param {number} count */
  const more = (count) => (isShort ? count : `${count} more`);
  if (below > 0) drawText(`▾ ${rows(below)}`, left + width / 2, top + height - 6, "center");
  if (above > 0) drawText(`▴ ${rows(above)}`, left + width / 2, top + 6, "center");
  if (height < 1.5 * layer.down.size) return; // they would cover the cells
  if (after > 0) drawText(`${more(after)} ▸`, left + width, top + height - 6, "right");
  if (before > 0) drawText(`◂ ${more(before)}`, left, top + height - 6, "left");
}
