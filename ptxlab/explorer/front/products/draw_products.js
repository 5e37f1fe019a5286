// The sixteen products on a canvas: matrices and sheets of products while k runs, then the bits of one cell's products.

import { contextOn, fillBox, setFont, strokeBox } from "../common/canvas.js";
import { clamp } from "../common/numbers.js";
import { chipPlaces, chipSizes, drawCloseUp } from "../story/close_up.js";
import { SUNK, drawLifted, drawNumber, drawSheet, eased, fitting, lettersIn } from "../story/sheet.js";

/**
 * @typedef {import("./sixteen_products.js").SixteenProducts} Products
 * @typedef {import("./sixteen_products.js").ProductsScene} ProductsScene
 * @typedef {{ place: Place, rows: number, columns: number, width: number, height: number, firstRow: number,
 *   firstColumn: number }} ProductsGrid
 * @typedef {import("../story/sheet.js").StoryInk & { ratio: number, lanes: Colour[] }} ProductsLook
 */

const NARROW = 640;
const SCENE_EDGE = 8;
const SCENE_GAP = 16; // between two matrices, with the name of one
const NUMBER_CELL = { widest: 46, height: 18, touch: 21 };
const STRIP_CORNER = 206; // height of the corner where it stands above D

// Where everything stands on a page of some width; on a narrow one D is whole, and A and B are strips that follow k.
/** @param {number} width @param {ProductsScene} scene */
export function layoutProducts(width, { A, B }) {
  const [rows, depth, columns] = [A.length, B.length, B[0].length];
  const isNarrow = width < NARROW;
  const across = isNarrow ? columns + 1 : columns + depth;
  const cell = Math.min(NUMBER_CELL.widest, Math.floor((width - 2 * SCENE_EDGE - SCENE_GAP) / across));
  const high = isNarrow ? NUMBER_CELL.touch : NUMBER_CELL.height;
  const left = Math.floor((width - across * cell - SCENE_GAP) / 2);
  const top = isNarrow ? STRIP_CORNER : 0;
  const rowsOfB = isNarrow ? 1 : depth;
  const [aWide, bHigh] = [(isNarrow ? 1 : depth) * cell, rowsOfB * high];
  const [x, y] = [left + aWide + SCENE_GAP, top + SCENE_GAP + bHigh + SCENE_GAP];
  const height = y + rows * high + SCENE_EDGE;
  /** @param {number} at @returns {Record<"A" | "B" | "D", ProductsGrid>} */
  const grids = (at) => {
    const k = isNarrow ? clamp(Math.ceil(at) - 1, 0, depth - 1) : 0;
    const size = { width: cell, height: high };
    return {
      A: {
        ...size,
        place: { x: left, y, width: aWide, height: rows * high },
        rows,
        columns: isNarrow ? 1 : depth,
        firstRow: 0,
        firstColumn: k,
      },
      B: {
        ...size,
        place: { x, y: top + SCENE_GAP, width: columns * cell, height: bHigh },
        rows: rowsOfB,
        columns,
        firstRow: k,
        firstColumn: 0,
      },
      D: {
        ...size,
        place: { x, y, width: columns * cell, height: rows * high },
        rows,
        columns,
        firstRow: 0,
        firstColumn: 0,
      },
    };
  };
  const cornerWidth = isNarrow ? width - 2 * SCENE_EDGE : aWide;
  return {
    isNarrow,
    height,
    corner: {
      x: isNarrow ? SCENE_EDGE : left,
      y: 0,
      width: cornerWidth,
      height: top + SCENE_GAP + bHigh - (isNarrow ? bHigh + SCENE_GAP : 0),
    },
    closeUp: {
      x: left,
      y: isNarrow ? top : y - SCENE_GAP,
      width: width - 2 * left,
      height: height - (isNarrow ? top : y - SCENE_GAP) - 4,
    },
    depth,
    grids,
    isHidden: (/** @type {number} */ at) => at > depth + 0.5,
  };
}

/** @param {ProductsGrid} grid @param {number} row @param {number} column @returns {Place} */
const boxOf = ({ place, width, height }, row, column) => ({
  x: place.x + column * width,
  y: place.y + row * height,
  width,
  height,
});

/** @param {Products} products @param {ProductsLook} look */
export function drawProducts(products, look) {
  const { canvas, layout, shownAt: at } = products;
  const context = contextOn(canvas, look.ratio);
  const dive = eased(at, layout.depth, layout.depth + 1);
  if (dive < 1) {
    context.save();
    zoomIn(context, products, dive);
    context.globalAlpha = 1 - dive;
    drawMatrices(context, products, look, 1 - dive);
    context.restore();
  }
  if (dive > 0.35) {
    const opacity = eased(dive, 0.35, 1);
    context.save();
    drawMap(context, products, look, opacity);
    drawCloseUp(context, look, products.bars, layout.closeUp, at - layout.depth - 1, opacity);
    context.restore();
  }
}

// The camera goes to the cell, whose bits are shown next.
/** @param {CanvasRenderingContext2D} context @param {Products} products @param {number} dive */
function zoomIn(context, { layout, scene, shownAt }, dive) {
  if (!dive) return;
  const box = boxOf(layout.grids(shownAt).D, ...scene.cell);
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const zoom = 1 + 3 * dive * dive;
  context.translate(x, y);
  context.scale(zoom, zoom);
  context.translate(-x, -y);
}

/** @param {CanvasRenderingContext2D} context @param {Products} products @param {ProductsLook} look @param {number} opacity */
function drawMatrices(context, products, look, opacity) {
  const { layout, scene, shownAt: at } = products;
  const grids = layout.grids(at);
  const k = clamp(Math.ceil(at) - 1, -1, layout.depth - 1);
  const part = at <= 0 || at > layout.depth ? 1 : at - k;
  const letters = lettersIn(grids.D.width);
  const lifted = [];
  for (const name of /** @type {const} */ (["A", "B"])) {
    const grid = grids[name];
    drawName(context, layout, name, grid, look);
    for (let row = 0; row < grid.rows; row += 1)
      for (let column = 0; column < grid.columns; column += 1) {
        const [i, j] = [row + grid.firstRow, column + grid.firstColumn];
        const isNow = at > 0 && at <= layout.depth && (name === "A" ? j : i) === k;
        const [box, value] = [boxOf(grid, row, column), scene[name][i][j]];
        const text = fitting(value, letters);
        if (isNow) {
          lifted.push({ box, text });
          continue;
        }
        const inner = { ...box, width: box.width - 1, height: box.height - 1 };
        fillBox(context, inner, look.plain, opacity);
        context.globalAlpha = opacity;
        drawNumber(context, look, inner, text, value ? look.ink : look.faint);
      }
  }
  drawLifted(context, look, lifted, part, opacity);
  drawName(context, layout, "D", grids.D, look);
  const sums = products.sums[clamp(part >= SUNK ? k + 1 : k, 0, layout.depth)];
  const isFlashing = performance.now() < products.changed.until;
  const deep = 0.25 + (0.75 * clamp(at, 0, layout.depth)) / layout.depth;
  const sheet = [];
  for (let index = 0; index < sums.length; index += 1) {
    const [row, column] = [Math.floor(index / grids.D.columns), index % grids.D.columns];
    const box = boxOf(grids.D, row, column);
    const inner = { ...box, width: box.width - 1, height: box.height - 1 };
    const [background, ink] = look.lanes[scene.lanes[index]];
    const isChanged = isFlashing && products.changed.cells.has(index);
    fillBox(context, inner, isChanged ? look.flash : background, opacity * (isChanged ? 1 : deep));
    context.globalAlpha = opacity;
    const colour = isChanged ? look.black : deep > 0.7 ? ink : look.ink;
    if (at > 0) drawNumber(context, look, inner, fitting(sums[index], letters), colour, "bold ");
    if (k < 0) continue;
    const product = scene.A[row][k] * scene.B[k][column] + 0; // never -0
    const [right, down] = [(column + 0.5) / grids.D.columns, (row + 0.5) / grids.D.rows];
    sheet.push({ box: inner, text: fitting(product, letters), right, down });
  }
  if (at > 0) drawSheet(context, look, sheet, part, opacity);
}

/** @param {CanvasRenderingContext2D} context @param {Products["layout"]} layout @param {"A" | "B" | "D"} name @param {ProductsGrid} grid @param {ProductsLook} look */
function drawName(context, { isNarrow }, name, { place, firstRow, firstColumn }, look) {
  setFont(context, `bold 12px ${look.mono}`, look.ink, "left");
  const strip = isNarrow ? { A: ` ${firstColumn}`, B: `, row ${firstRow}`, D: "" }[name] : "";
  context.fillText(`${name}${strip}`, place.x, place.y - 8);
}

// D in small, where B was, with the cell that is explained.
/** @param {CanvasRenderingContext2D} context @param {Products} products @param {ProductsLook} look @param {number} opacity */
function drawMap(context, { layout, scene, shownAt }, look, opacity) {
  if (layout.isNarrow) return;
  const { B, D } = layout.grids(shownAt);
  const [width, height] = [B.place.width / D.columns / 2, B.place.height / D.rows / 2];
  const [x, y] = [B.place.x + B.place.width / 2, B.place.y + B.place.height / 4];
  scene.lanes.forEach((lane, index) => {
    const [row, column] = [Math.floor(index / D.columns), index % D.columns];
    const box = { x: x + column * width, y: y + row * height, width: width - 1, height: height - 1 };
    const isChosen = row === scene.cell[0] && column === scene.cell[1];
    fillBox(context, box, look.lanes[lane][0], opacity * (isChosen ? 1 : 0.45));
    context.globalAlpha = opacity;
    if (isChosen)
      strokeBox(context, { x: box.x - 2, y: box.y - 2, width: width + 3, height: height + 3 }, look.ink, 2);
  });
  setFont(context, `bold 12px ${look.mono}`, look.ink, "left");
  context.fillText("D", x, y - 9);
}

// -- the bits of one cell ------------------------------------------------------------------------------------------

// The factor under the pointer in the close-up: in a label the left part is A's, without labels the left half.
/** @param {Products} products @param {number} x @param {number} y */
export function factorAt({ bars, layout, scene, shownAt }, x, y) {
  for (const place of chipPlaces(layout.closeUp, shownAt - layout.depth - 1)) {
    const { top, row, label } = chipSizes(place, bars[0]);
    const k = Math.floor((y - place.y - top) / row);
    const along = (x - place.x) / (label || place.width);
    if (k < 0 || k >= layout.depth || along < 0 || along >= 1) continue;
    const [i, j] = scene.cell;
    const box = { x: x - 32, y: place.y + top + k * row, width: 64, height: row };
    return along < (label ? 0.32 : 0.5)
      ? { name: /** @type {const} */ ("A"), row: i, column: k, box }
      : { name: /** @type {const} */ ("B"), row: k, column: j, box };
  }
  return null;
}
