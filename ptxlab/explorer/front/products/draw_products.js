// The sixteen products on a canvas: matrices and sheets of products while k runs, then the bits of one cell's products.

import { LETTER, contextOn, fillBox, setFont, strokeBox } from "../common/canvas.js";
import { clamp, short } from "../common/numbers.js";
import { leadingExponent, toNumber } from "./fused_sum.js";

/**
 * @typedef {import("./sixteen_products.js").SixteenProducts} Products
 * @typedef {import("./sixteen_products.js").ProductsScene} ProductsScene
 * @typedef {{ place: Place, rows: number, columns: number, width: number, height: number, firstRow: number,
 *   firstColumn: number }} ProductsGrid
 * @typedef {Record<"ink" | "faint" | "paper" | "plain" | "line" | "brand" | "bad" | "flash" | "black" | "mono", string> &
 *   { ratio: number, lanes: Colour[] }} ProductsLook
 */

const NARROW = 640;
const SCENE_EDGE = 8;
const SCENE_GAP = 16; // between two matrices, with the name of one
const NUMBER_CELL = { widest: 46, height: 18, touch: 21 };
const STRIP_CORNER = 206; // height of the corner where it stands above D
const NUMBER_SIZE = 11;
const MOST_PLACES = 40; // of binary digits beside each other
const BLINKS = 420;
const CHIP_TITLE = 22; // height of the line above its products

// From 0 to 1, slow at both ends, while `t` goes from `first` to `last`.
/** @param {number} t */
function eased(t, first = 0, last = 1) {
  const part = clamp((t - first) / (last - first), 0, 1);
  return part * part * (3 - 2 * part);
}

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

// The longest text of a number that fits into some letters; ".5" is as good as "0.5".
/** @param {number} value @param {number} letters */
function fitting(value, letters) {
  const whole = String(value);
  if (whole.length <= letters) return whole;
  for (let digits = 7; digits > 1; digits -= 1) {
    const text = short(value, digits);
    for (const shown of [text, text.replace(/^(-?)0\./, "$1.")]) if (shown.length <= letters) return shown;
  }
  const text = value.toExponential(0).replace("+", "");
  return text.length <= letters ? text : "";
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
    context.save();
    context.globalAlpha = eased(dive, 0.35, 1);
    drawMap(context, products, look, context.globalAlpha);
    drawCloseUp(context, products, look);
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
  const letters = Math.floor((grids.D.width - 3) / (NUMBER_SIZE * LETTER));
  const text = (
    /** @type {Place} */ box,
    /** @type {number} */ value,
    /** @type {string} */ colour,
    weight = "",
  ) => {
    setFont(context, `${weight}${NUMBER_SIZE}px ${look.mono}`, colour);
    context.fillText(fitting(value, letters), box.x + box.width / 2, box.y + box.height / 2 + 0.5);
  };
  for (const name of /** @type {const} */ (["A", "B"])) {
    const grid = grids[name];
    drawName(context, layout, name, grid, look);
    for (let row = 0; row < grid.rows; row += 1)
      for (let column = 0; column < grid.columns; column += 1) {
        const [i, j] = [row + grid.firstRow, column + grid.firstColumn];
        const isNow = at > 0 && at <= layout.depth && (name === "A" ? j : i) === k;
        const lift = isNow && part < 1 ? 3 * Math.sin(Math.PI * part) : 0;
        const box = boxOf(grid, row, column);
        const lifted = {
          ...box,
          x: box.x - lift,
          y: box.y - lift,
          width: box.width - 1,
          height: box.height - 1,
        };
        fillBox(context, lifted, isNow ? look.flash : look.plain, opacity);
        context.globalAlpha = opacity;
        const value = scene[name][i][j];
        text(lifted, value, value === 0 && !isNow ? look.faint : isNow ? look.black : look.ink);
      }
  }
  drawName(context, layout, "D", grids.D, look);
  const sunk = part >= 0.8;
  const sums = products.sums[clamp(sunk ? k + 1 : k, 0, layout.depth)];
  const isFlashing = performance.now() < products.changed.until;
  const deep = 0.25 + (0.75 * clamp(at, 0, layout.depth)) / layout.depth;
  for (let index = 0; index < sums.length; index += 1) {
    const [row, column] = [Math.floor(index / grids.D.columns), index % grids.D.columns];
    const box = boxOf(grids.D, row, column);
    const inner = { ...box, width: box.width - 1, height: box.height - 1 };
    const [background, ink] = look.lanes[scene.lanes[index]];
    const isChanged = isFlashing && products.changed.cells.has(index);
    fillBox(context, inner, isChanged ? look.flash : background, opacity * (isChanged ? 1 : deep));
    context.globalAlpha = opacity;
    if (at > 0) text(inner, sums[index], isChanged ? look.black : deep > 0.7 ? ink : look.ink, "bold ");
    if (part < 0.8 && at > 0) drawSheet(context, products, look, k, part, index, inner, text);
    context.globalAlpha = opacity;
  }
}

// One product of the sheet: it appears where the column of A, which goes right, and the row of B, which goes down,
// have met, and sinks into its cell.
/**
 * @param {CanvasRenderingContext2D} context
 * @param {Products} products
 * @param {ProductsLook} look
 * @param {number} k
 * @param {number} part
 * @param {number} index
 * @param {Place} box
 * @param {(box: Place, value: number, colour: string) => void} text
 */
function drawSheet(context, { layout, scene }, look, k, part, index, box, text) {
  if (k < 0) return;
  const { D } = layout.grids(k + 1);
  const [row, column] = [Math.floor(index / D.columns), index % D.columns];
  const [right, down] = [eased(part, 0.05, 0.5) * (D.columns + 1), eased(part, 0.05, 0.5) * (D.rows + 1)];
  if (right < column + 0.5 || down < row + 0.5) return;
  const high = 1 - eased(part, 0.55, 0.8);
  const raised = { ...box, x: box.x - 5 * high, y: box.y - 5 * high };
  fillBox(context, { ...raised, x: raised.x + 3 * high, y: raised.y + 3 * high }, look.black, 0.18 * high);
  fillBox(context, raised, look.paper, 0.35 + 0.65 * high);
  context.globalAlpha = 0.4 + 0.6 * high;
  strokeBox(context, raised, look.brand, 1);
  text(raised, scene.A[row][k] * scene.B[k][column] + 0, look.ink); // never -0
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

// Where the products of the cell are listed, for the first chip, or for both: beside each other, or one below the
// other.
/** @param {Products["layout"]} layout @param {number} at @returns {Place[]} */
function chipPlaces({ isNarrow, closeUp, depth }, at) {
  const both = eased(at, depth + 4, depth + 5);
  const { x, y, width, height } = closeUp;
  const half = (isNarrow ? height : width) * (1 - both / 2);
  if (isNarrow)
    return [
      { x, y, width, height: half - 6 * both },
      { x, y: y + half, width, height: height / 2 },
    ].slice(0, both ? 2 : 1);
  return [
    { x, y, width: half - 14 * both, height },
    { x: x + half, y, width: width / 2, height },
  ].slice(0, both ? 2 : 1);
}

// The height of a product's row, and the width of its label: none where rows are too low for text.
/** @param {Place} place @param {number} depth */
function chipSizes({ width, height }, depth) {
  const row = Math.min(19, (height - 24) / (depth + 2));
  return { row, label: row >= 11 ? Math.min(210, width * 0.36) : 0 };
}

// The factor under the pointer in the close-up: in a label the left part is A's, without labels the left half.
/** @param {Products} products @param {number} x @param {number} y */
export function factorAt({ layout, scene, shownAt }, x, y) {
  for (const place of chipPlaces(layout, shownAt)) {
    const { row, label } = chipSizes(place, layout.depth);
    const k = Math.floor((y - place.y - CHIP_TITLE) / row);
    const along = (x - place.x) / (label || place.width);
    if (k < 0 || k >= layout.depth || along < 0 || along >= 1) continue;
    const [i, j] = scene.cell;
    const box = { x: x - 32, y: place.y + CHIP_TITLE + k * row, width: 64, height: row };
    return along < (label ? 0.32 : 0.5)
      ? { name: /** @type {const} */ ("A"), row: i, column: k, box }
      : { name: /** @type {const} */ ("B"), row: k, column: j, box };
  }
  return null;
}

/** @param {CanvasRenderingContext2D} context @param {Products} products @param {ProductsLook} look */
function drawCloseUp(context, products, look) {
  const { layout, shownAt: at } = products;
  const both = eased(at, layout.depth + 4, layout.depth + 5);
  chipPlaces(layout, at).forEach((place, which) =>
    drawChip(context, products, look, which, place, which ? both : 1),
  );
}

/** @param {bigint} units */
const sizeOf = (units) => (units < 0n ? -units : units);

// The lowest bit that is set.
/** @param {bigint} units */
const lowestExponent = (units) => leadingExponent(sizeOf(units) & -sizeOf(units));

/** @param {CanvasRenderingContext2D} context @param {Products} products @param {ProductsLook} look @param {number} which @param {Place} place */
function drawChip(context, products, look, which, place, opacity = 1) {
  const { layout, scene, steps, shownAt: at } = products;
  const { terms } = products;
  const [chip, own] = [scene.chips[which], steps[which]];
  const [slide, fall, adds] = [1, 2, 3].map((step) =>
    eased(at, layout.depth + step, layout.depth + step + 1),
  );
  const shown = terms.map(({ units }) => units).filter((units) => units);
  const sums = steps.map((all) => all[all.length - 1].sum);
  const highest = Math.max(...[...shown, ...sums].filter((units) => units).map(leadingExponent), -30) + 1;
  const lows = [...shown.map(lowestExponent), ...steps.flat().map(({ last }) => last)];
  const lowest = Math.max(Math.min(...lows), highest - MOST_PLACES + 1);
  const { row, label } = chipSizes(place, terms.length);
  const isRoomy = label > 0;
  const size = clamp(row - 3, 7, 12);
  const pitch = (place.width - label) / (highest - lowest + 1);
  const xOf = (/** @type {number} */ exponent) => place.x + label + (highest - exponent) * pitch;
  const top = place.y + CHIP_TITLE;
  const fade = context.globalAlpha * opacity;
  context.save();
  context.globalAlpha = fade;
  setFont(context, `bold 12px ${look.mono}`, look.ink, "left");
  const title = at > layout.depth + 4 || which ? `${chip.name}: ${chip.depth} at a time` : chip.name;
  context.fillText(title, place.x, place.y + 9);
  terms.forEach(({ units }, index) => {
    const step = own.find(({ first }) => index < first + chip.depth);
    const y = top + index * row;
    if (isRoomy) {
      setFont(context, `${Math.min(12, size + 1)}px ${look.mono}`, units ? look.ink : look.faint, "right");
      context.globalAlpha = fade;
      const product = fitting(toNumber(units), 11);
      context.fillText(product, place.x + label - 8, y + row / 2);
      const [i, j] = scene.cell;
      const factors = `${scene.A[i][index]} · ${scene.B[index][j]}`;
      if ((factors.length + product.length + 2) * 12 * LETTER < label) {
        setFont(context, `${Math.min(11, size + 1)}px ${look.mono}`, look.faint, "left");
        context.fillText(factors, place.x, y + row / 2);
      }
    }
    if (!units || !step) return;
    const lead = leadingExponent(units);
    const shift = -(highest - lead) * pitch * (1 - slide);
    for (let exponent = lead; exponent >= Math.max(lowestExponent(units), lowest); exponent -= 1) {
      const isLost = exponent < step.last;
      const isSet = (sizeOf(units) >> BigInt(exponent + 48)) & 1n;
      const drop = isLost ? fall : 0;
      const box = {
        x: xOf(exponent) + shift,
        y: y + drop * drop * row * 5,
        width: pitch - 1,
        height: row - 1.5,
      };
      const colour = isLost && fall > 0 ? look.faint : units < 0n ? look.bad : look.brand;
      fillBox(context, box, isSet ? colour : look.plain, fade * (1 - drop));
      context.globalAlpha = fade * (1 - drop);
      if (pitch < 8 || !isRoomy) continue;
      setFont(context, `${size}px ${look.mono}`, isSet ? look.paper : look.ink);
      context.fillText(String(isSet), box.x + box.width / 2, box.y + box.height / 2 + 0.5);
    }
  });
  context.globalAlpha = fade * fall;
  for (const { first, last } of own) {
    if (last <= lowest) continue;
    const end = Math.min(first + chip.depth, terms.length);
    fillBox(
      context,
      { x: xOf(last - 1) - 1.5, y: top + first * row - 1, width: 2, height: (end - first) * row },
      look.bad,
      fade * fall,
    );
  }
  drawSum(
    context,
    products,
    look,
    which,
    place.y + 9,
    { x: place.x, y: top + terms.length * row + 4, width: label, height: Math.max(row, 15) },
    xOf,
    pitch,
    [highest, lowest],
    fade * adds,
  );
  context.restore();
}

// D of a chip below its products; bits in which the two chips differ blink.
/**
 * @param {CanvasRenderingContext2D} context
 * @param {Products} products
 * @param {ProductsLook} look
 * @param {number} which
 * @param {number} title the middle of its line
 * @param {Place} place of the label
 * @param {(exponent: number) => number} xOf
 * @param {number} pitch
 * @param {[highest: number, lowest: number]} places
 * @param {number} opacity
 */
function drawSum(context, products, look, which, title, place, xOf, pitch, [highest, lowest], opacity) {
  const { layout, steps, shownAt: at } = products;
  if (!opacity) return;
  const [mine, other] = [which, 1 - which].map((chip) => steps[chip][steps[chip].length - 1].sum);
  context.globalAlpha = opacity;
  fillBox(
    context,
    { x: place.x, y: place.y - 3, width: xOf(lowest) + pitch - place.x, height: 1 },
    look.ink,
    opacity,
  );
  context.globalAlpha = opacity;
  setFont(context, `bold 12px ${look.mono}`, look.ink, place.width ? "left" : "right");
  const text = `= ${short(toNumber(mine), 9)}`; // where no labels have room, it stands beside the title
  if (place.width) context.fillText(text, place.x, place.y + place.height / 2);
  else context.fillText(text, xOf(lowest) + pitch, title);
  const isDark = at >= layout.depth + 5 && Math.floor(performance.now() / BLINKS) % 2 === 0;
  const apart = /** @type {Place[]} */ ([]);
  for (
    let exponent = Math.min(highest, mine ? leadingExponent(mine) : lowest);
    exponent >= lowest;
    exponent -= 1
  ) {
    const bit = (/** @type {bigint} */ units) => (sizeOf(units) >> BigInt(Math.max(exponent + 48, 0))) & 1n;
    const isApart = at > layout.depth + 4 && bit(mine) !== bit(other);
    const box = { x: xOf(exponent), y: place.y, width: pitch - 1, height: place.height - 1.5 };
    fillBox(context, box, bit(mine) ? look.ink : look.plain, opacity);
    context.globalAlpha = opacity;
    if (pitch >= 8) {
      setFont(context, `bold 11px ${look.mono}`, bit(mine) ? look.paper : look.ink);
      context.fillText(String(bit(mine)), box.x + box.width / 2, box.y + box.height / 2 + 0.5);
    }
    const before = apart[apart.length - 1];
    if (isApart && before && before.x + before.width > box.x - 2) before.width += pitch; // one frame around neighbours
    else if (isApart)
      apart.push({ x: box.x - 2, y: box.y - 2, width: box.width + 4, height: box.height + 4 });
  }
  context.globalAlpha = opacity * (isDark ? 1 : 0.35);
  for (const box of apart) strokeBox(context, box, look.bad, 2.5);
}
