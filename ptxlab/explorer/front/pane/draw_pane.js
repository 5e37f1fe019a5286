// Draws a pane: its cells, and over them outlines of lanes, related cells and the selection.

import {
  LETTER,
  SMALLEST_TEXT,
  colourWord,
  fillBox,
  setFont,
  strokeBox,
  tracePath,
} from "../common/canvas.js";
import { memoize } from "../common/memoize.js";
import { binary, clamp, hex } from "../common/numbers.js";
import {
  cellLines,
  cellOfIndex,
  cellText,
  cellsOf,
  holderOf,
  largest,
  repaintedCells,
  warpRows,
} from "../matrix/matrix.js";
import { GUTTER, drawEdges, drawHeadings, drawLitHeadings, drawProductNames } from "./edges.js";
import { isTinted } from "../matrix/colours.js";
import { holderNoun } from "../matrix/describe.js";
import { BESIDE_DIGITS, MIN_LETTER, cellTextFor } from "./cell_text.js";
import { filledRange } from "./fill_handle.js";

// How much of the paper's colour is over cells that the timeline does not show;
const UNPLAYED = 0.6;
// of a k whose products are added, and of those that are still to come
const ADDED = 0.16;
const TO_COME = 0.5;
// colours below this depth are background for text in the page's colour
const PALE = 0.7;
// Sizes of digits in pixels. MAX_DIGITS holds while the camera sees all; nearer, digits grow with their cells.
const MIN_DIGITS = SMALLEST_TEXT;
const MAX_DIGITS = 15;
// Digits grow only as long as this part of one stands free beside them: those of neighbours do not touch.
const FREE = 0.8;
// Room beside digits in pixels, from the cell before and from the edge of their own.
const BEFORE_DIGITS = 2;
// of brackets around cells at the edges of a pane
const BESIDE_MARKS = 6;
const AFTER_DIGITS = 1;
// how strong the colour of a zero is, and that of a cell that is not stored
const ZERO = 0.35;
const NOT_STORED = 0.22;
// the size of a lane's number, and the least height of a block of cells that has one
export const LANE_NUMBER = 11;
// from this number on, small cells are drawn as a picture
const MANY_CELLS = 1200;
// Where single bits are drawn: the size of one, and the heights left above them for the value and below them for
// the lane and the register.
export const BIT_SIZE = { width: 20, height: 26 };
export const BIT_HEAD = 34;
export const BIT_FOOT = 22;

// Whether the cells of a matrix stand between those of another one: nibbles and scale factors.
/** @param {Name} name */
const isInlaid = (name) => name === "E" || name.startsWith("SF");

// Visible cells of a layer: call(row, column, index, x, y, width) in canvas pixels.
/** @param {Pane} pane @param {Layer} layer @param {DrawCell} call */
function eachVisible(pane, layer, call) {
  const matrix = pane.content.matrices[layer.name];
  const { x: scrollLeft, y: scrollTop } = pane.at;
  const [first, last] = [pane.rowAt(layer, scrollTop), pane.rowAt(layer, scrollTop + pane.height)];
  const [from, to] = layer.shift
    ? [0, matrix.columns - 1]
    : [pane.columnAt(layer, scrollLeft, 0), pane.columnAt(layer, scrollLeft + pane.width, 0)];
  for (let column = from; column <= to; column += 1) {
    const left = GUTTER.left + pane.x(layer, column) - scrollLeft;
    const width = GUTTER.left + pane.x(layer, column, 1) - scrollLeft - left;
    for (let row = first; row <= last; row += 1) {
      const x = layer.shift ? GUTTER.left + pane.x(layer, column, 0, row) - scrollLeft : left;
      call(row, column, row * matrix.columns + column, x, GUTTER.top + pane.y(layer, row) - scrollTop, width);
    }
  }
}

// If only numbers changed, only their cells are drawn again.
/** @param {Pane} pane */
export function drawPane(pane) {
  if (!pane.layers.length) return;
  const { layers, content, theme, pointing } = pane;
  const matrices = layers.map((layer) => content.matrices[layer.name]);
  // the shade of these cells, and of cells in no lane, depends on the largest value
  const byValue = content.display("colour_by") === "value";
  const drawn = JSON.stringify([
    content.look,
    pane.at,
    layers.map((layer) => layerStyle(pane, layer)),
    matrices.map((matrix) => (byValue || !matrix.lane ? largest(matrix) : 0)),
  ]);
  if (drawn === pane.drawn && matrices.every((matrix, index) => matrix === pane.painted[index])) {
    pointing.drawMarksSoon();
    return;
  }
  // cells end where pixels do
  const sharp = [theme.ratio, pane.at.x, pane.at.y].every(Number.isInteger);
  const kept =
    sharp &&
    drawn === pane.drawn &&
    layers[0].digits && // numbers of lanes lie over several cells
    matrices.every((matrix, index) => matrix.info === pane.painted[index].info);
  const changes = layers.map((_, index) =>
    kept ? repaintedCells(pane.painted[index], matrices[index]) : null,
  );
  const isSame =
    drawn === pane.drawn &&
    layers.every((layer, index) => looksTheSame(pane, layer, pane.painted[index], matrices[index]));
  // a selector moves them to other lanes
  if (matrices.some((matrix, index) => matrix.maps !== pane.painted[index]?.maps)) pane.marked = "";
  [pane.drawn, pane.painted] = [drawn, matrices];
  pointing.drawMarksSoon();
  if (isSame || changes.every((cells) => cells?.length === 0)) return;
  const context = pane.contextOf(pane.base, !kept);
  pane.clip(context);
  pane.warpNames = [];
  layers.forEach((layer, index) => drawLayer(pane, context, layer, changes[index]));
  if (!kept) drawProductNames(pane, context);
  context.restore();
  if (!kept) drawHeadings(pane, context);
}

// Whether cells look as before: from far, most edits change values and no colour.
/** @param {Pane} pane @param {Layer} layer @param {Matrix} before @param {Matrix} matrix */
function looksTheSame(pane, layer, before, matrix) {
  if (before === matrix) return true;
  if (before.info !== matrix.info || before.maps !== matrix.maps) return false;
  const changed = repaintedCells(before, matrix);
  if (!changed.length || layer.digits || layer.name === "E") return !changed.length;
  const { content } = pane;
  const style = layerStyle(pane, layer);
  const [was, is] = [before, matrix].map((drawn) => ({
    paint: content.painter(drawn),
    opacity: opacityIn(content, drawn, style),
    differ: drawn.differ,
  }));
  return changed.every(
    (index) =>
      was.paint(index)[0] === is.paint(index)[0] &&
      was.opacity(index) === is.opacity(index) &&
      !was.differ?.[index] === !is.differ?.[index],
  );
}

// How the cells of a layer are drawn: what is written into them, how large, and with how much space around it.
/** @param {Pane} pane @param {Layer} layer @returns {LayerStyle} */
function layerStyle({ content, scene }, layer) {
  const matrix = content.matrices[layer.name];
  const { width } = layer;
  const high = layer.down.size;
  const { label, letters, lines, kind } = cellTextFor(content, matrix, width, high);
  const digits = kind !== "none";
  const fitting = Math.min((high - 4) / lines, (width - BESIDE_DIGITS) / (letters + FREE) / LETTER);
  const size = clamp(fitting, MIN_DIGITS, MAX_DIGITS + 5 * scene.camera.nearness);
  const inset = insetOf(width, high);
  const pad = Math.max(AFTER_DIGITS, (width - inset - letters * size * LETTER) / 2);
  const isShaded = !digits && !isTinted(content, matrix) && content.display("colour_by") !== "value";
  const grey = isShaded ? largest(matrix) : 0;
  // sums so far may be longer than the last
  const room = Math.floor((width - BESIDE_DIGITS) / MIN_LETTER);
  return {
    label,
    lines,
    high,
    size,
    letters: matrix.whole ? Math.max(letters, room) : letters,
    kind,
    digits,
    inset,
    pad,
    grey,
    deep: matrix.deep ?? 1,
    bits: matrix.whole ? 0 : bitRows(matrix, width, high),
  };
}

// What the cells of a pane show of what they should: all of it if "whole", or if the question does not arise.
/** @param {Pane} pane @returns {CellText["kind"]} */
export function numbersShown(pane) {
  const [layer] = pane.layers;
  if (!layer || pane.isFolded || pane.content.quiz.open) return "whole";
  return layerStyle(pane, layer).kind;
}

// Whether nibbles are drawn as marks.
/** @param {Pane} pane */
export function marksNibbles(pane) {
  const nibbles = pane.layers.find(({ name }) => name === "E");
  return Boolean(nibbles) && !pane.isFolded && !layerStyle(pane, /** @type {Layer} */ (nibbles)).digits;
}

// In how many rows the bits of a cell are drawn one by one; 0 where there is no room for them.
/** @param {Matrix} matrix @param {number} width @param {number} high */
function bitRows({ bits, unknown }, width, high) {
  const across = Math.floor((width - 8) / BIT_SIZE.width);
  const rows = Math.ceil(bits / Math.max(1, across >= bits ? bits : across - (across % 4)));
  const room = high - BIT_HEAD - BIT_FOOT;
  return !unknown && across >= Math.min(bits, 4) && rows * BIT_SIZE.height <= room && rows <= 4 ? rows : 0;
}

// The gap between cells.
/** @param {number} width @param {number} high */
function insetOf(width, high) {
  if (width >= 8 && high >= 8) return 1;
  return width >= 5 && high >= 5 ? 0.5 : 0;
}

// All cells of a layer, or only some; in their colours, or in one.
/**
 * @param {Pane} pane
 * @param {CanvasRenderingContext2D} context
 * @param {Layer} layer
 * @param {number[] | null} some
 * @param {Colour | null} colour
 */
export function drawLayer(pane, context, layer, some, colour = null) {
  const { content, theme } = pane;
  const { ink } = theme;
  const matrix = content.matrices[layer.name];
  const style = layerStyle(pane, layer);
  const { size, digits, inset, high, bits } = style;
  layer.digits = digits;
  const inlaid = isInlaid(layer.name);
  const paint = content.painter(matrix);
  const font = `${size}px ${ink.mono}`;
  const opacity = opacityIn(content, matrix, style);
  const joins = !digits && !inlaid && !colour ? joinedCells(content, layer) : null;
  /** @type {DrawCell} */
  const drawCell = (row, column, index, x, y, width) => {
    const { right, below } = joins?.(row, column) ?? { right: false, below: false };
    const place = { x, y, width: width - (right ? 0 : inset), height: high - (below ? 0 : inset) };
    const [fill, text] = colour ?? paint(index);
    fillBox(context, place, style.grey && !colour ? ink.faint : fill, colour ? 1 : opacity(index));
    if (matrix.differ?.[index]) drawDifference(context, ink, place);
    const isMasked = content.quiz.masks(layer.name, row, column);
    if (digits) {
      const isGhost = countsAsZero(content, matrix, index);
      const plain = isGhost ? ink.faint : ink.text;
      setFont(context, font, !colour && (opacity(index) < PALE || inlaid) ? plain : text, "right");
      if (bits && !content.quiz.open) drawBits(content, context, matrix, index, place, bits);
      else {
        const lines = cellLines(content.matrices, matrix, index, style.label, style.letters);
        drawLines(context, isMasked ? ["?"] : lines, place, style);
      }
    } else if (layer.name === "E" && !isMasked) {
      drawNibble(context, ink, Number(matrix.codes[index]), place);
    }
  };
  if (some)
    for (const index of some) {
      const cell = cellBox(pane, layer, index);
      if (!cell) continue;
      context.clearRect(cell.x, cell.y, cell.width, cell.height);
      drawCell(cell.row, cell.column, index, cell.x, cell.y, cell.width);
    }
  else if (digits || inlaid || layer.shift || cellsInView(pane, layer) < MANY_CELLS)
    eachVisible(pane, layer, drawCell);
  else drawPicture(pane, context, layer, opacity);
  if (colour) return;
  if (!digits && !inlaid) numberLanes(pane, context, layer);
  // names of warps stay above what is drawn between the cells that they are on
  const [below] = pane.layers;
  if (inlaid && below !== layer && !below.digits && content.instruction.lanes > 32)
    numberLanes(pane, context, below);
}

// How strong the colour of a cell is: pale for what is not stored and, unless lanes are shown, for zeros.
/** @param {Content} content @param {Matrix} matrix @param {LayerStyle} style @returns {(index: number) => number} */
function opacityIn(content, matrix, { grey, deep }) {
  const inlaid = isInlaid(matrix.name);
  const fades = !inlaid && content.display("label") !== "lane";
  return (index) => {
    if (grey) return 0.12 + 0.75 * Math.min(1, Math.abs(matrix.values[index]) / grey);
    if (matrix.unknown || countsAsZero(content, matrix, index)) return NOT_STORED;
    if (fades && matrix.values[index] === 0) return ZERO * deep;
    return inlaid ? 0.4 : deep;
  };
}

/** @param {Pane} pane @param {Layer} layer */
function cellsInView(pane, layer) {
  return (pane.width / layer.width) * (pane.height / layer.down.size);
}

// Many small cells at once: a picture with a pixel for each, made when they change, and then only enlarged.
/** @param {Pane} pane @param {CanvasRenderingContext2D} context @param {Layer} layer @param {(index: number) => number} opacity */
function drawPicture(pane, context, layer, opacity) {
  const { at, content } = pane;
  const matrix = content.matrices[layer.name];
  const picture = pictureOf(content, matrix, opacity);
  const { rows, columns } = matrix;
  context.imageSmoothingEnabled = false;
  for (let row = 0; row < rows; row += layer.down.per)
    for (let column = 0; column < columns; column += layer.per) {
      const [high, wide] = [Math.min(layer.down.per, rows - row), Math.min(layer.per, columns - column)];
      const x = GUTTER.left + pane.x(layer, column) - at.x;
      const y = GUTTER.top + pane.y(layer, row) - at.y;
      context.drawImage(picture, column, row, wide, high, x, y, wide * layer.width, high * layer.down.size);
    }
}

/** @type {WeakMap<Matrix, { look: string, canvas: OffscreenCanvas }>} */
const pictures = new WeakMap();

/** @param {Content} content @param {Matrix} matrix @param {(index: number) => number} opacity */
function pictureOf(content, matrix, opacity) {
  const cached = pictures.get(matrix);
  if (cached?.look === content.look) return cached.canvas;
  const canvas = new OffscreenCanvas(matrix.columns, matrix.rows);
  const context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const paint = content.painter(matrix);
  // a box for each would take fifty times as long
  const pixels = new ImageData(matrix.columns, matrix.rows);
  const words = new Uint32Array(pixels.data.buffer);
  for (let index = 0; index < words.length; index += 1) {
    const differs = matrix.differ?.[index];
    const colour = colourWord(differs ? content.theme.ink.bad : paint(index)[0]);
    words[index] = differs ? colour : (colour & 0xffffff) | (Math.round(255 * opacity(index)) << 24);
  }
  context.putImageData(pixels, 0, 0);
  pictures.set(matrix, { look: content.look, canvas });
  return canvas;
}

// Whether cells that are stored stand beside faint ones.
/** @param {Matrix} matrix */
const isMixed = ({ name, counterpart }) => name === "A" && counterpart !== null;

// Where blocks of cells have the number of their lane: whether a cell joins the one right of it, and the one
// below, so that no line goes through the number.
/** @param {Content} content @param {Layer} layer */
function joinedCells(content, layer) {
  const matrix = content.matrices[layer.name];
  const { lane, rows, columns } = matrix;
  if (!lane || !numbersLanes(content, matrix) || isMixed(matrix)) return null;
  if (!fitsLaneNumbers(content, layer, laneBlocks(/** @type {Matrix & InLanes} */ (matrix)))) return null;
  /** @param {number} row @param {number} column */
  return (row, column) => {
    const [index, holder] = [row * columns + column, lane[row * columns + column]];
    return {
      right: column + 1 < columns && (column + 1) % layer.per > 0 && lane[index + 1] === holder,
      below: row + 1 < rows && (row + 1) % layer.down.per > 0 && lane[index + columns] === holder,
    };
  };
}

// Where cells are too small for digits: the number of the lane on each block of its cells.
/** @param {Pane} pane @param {CanvasRenderingContext2D} context @param {Layer} layer */
function numberLanes(pane, context, layer) {
  const { content, theme } = pane;
  const matrix = content.matrices[layer.name];
  if (!matrix.lane || matrix.place || content.quiz.open) return;
  const paint = content.painter(matrix);
  const blocks = laneBlocks(/** @type {Matrix & InLanes} */ (matrix));
  const isNumbered = numbersLanes(content, matrix) && fitsLaneNumbers(content, layer, blocks);
  for (const block of isNumbered ? blocks : []) {
    const { row, column, lane } = block;
    const text = String(lane);
    const size = laneNumberSize(layer, block);
    if (!size) continue;
    const { width: wide, height: high } = size;
    const from = cellBox(pane, layer, row * matrix.columns + column);
    if (!from) continue;
    const middle = { x: from.x + wide / 2 - 0.5, y: from.y + high / 2 + 0.5 };
    const width = text.length * LANE_NUMBER * LETTER + 4;
    const tall = Math.min(13, high - 1);
    const box = { x: middle.x - width / 2, y: middle.y - 0.5 - tall / 2, width, height: tall };
    if (isMixed(matrix)) fillBox(context, box, theme.ink.paper, 0.75);
    const ink = isMixed(matrix) ? theme.ink.text : paint(row * matrix.columns + column)[1];
    setFont(context, `${LANE_NUMBER}px ${theme.ink.mono}`, ink);
    context.fillText(text, middle.x, middle.y);
  }
  if (!isNumbered && content.instruction.lanes > 32) nameWarps(pane, context, layer);
}

// Whether lanes, which were asked for, are numbered on a matrix whose cells are too small for their elements.
/** @param {Content} content @param {Matrix} matrix */
const numbersLanes = (content, { lane, place }) =>
  Boolean(lane) && !place && content.display("label") === "lane";

// The size of a block on the screen; null if the number of its lane does not fit.
/** @param {Layer} layer @param {LaneBlock} block @returns {Size | null} */
function laneNumberSize(layer, { column, rows, columns, lane }) {
  // before the next nibble
  const width = Math.min(columns, layer.per - (column % layer.per)) * layer.width;
  const height = rows * layer.down.size;
  const needed = String(lane).length * LANE_NUMBER * LETTER + 3;
  return height >= LANE_NUMBER && width >= needed ? { width, height } : null;
}

// Whether there is room for numbers of as many digits as any lane has: a few of one digit would look like
// values.
/** @param {Content} content @param {Layer} layer @param {LaneBlock[]} blocks */
function fitsLaneNumbers({ instruction }, layer, blocks) {
  const least = instruction.lanes > 100 ? 100 : 10;
  return blocks.some((block) => block.lane >= least && laneNumberSize(layer, block));
}

// From far: the name of the warp on its rows.
/** @param {Pane} pane @param {CanvasRenderingContext2D} context @param {Layer} layer */
function nameWarps(pane, context, layer) {
  const { content, theme } = pane;
  for (const { warp, first, stop } of warpRows(
    /** @type {Matrix & InLanes} */ (content.matrices[layer.name]),
  )) {
    const text = `warp ${warp}`;
    const top = Math.max(0, pane.y(layer, first) - pane.at.y);
    const bottom = Math.min(pane.height, pane.y(layer, stop) - pane.at.y);
    if (bottom - top < 20) continue;
    const wide = text.length * 13 * LETTER + 12;
    const middle = { x: GUTTER.left + pane.width / 2, y: GUTTER.top + (top + bottom) / 2 };
    const box = { x: middle.x - wide / 2, y: middle.y - 10, width: wide, height: 20 };
    fillBox(context, box, theme.ink.paper, 0.85);
    pane.warpNames.push(box);
    setFont(context, `600 13px ${theme.ink.mono}`, theme.ink.text);
    context.fillText(text, middle.x, middle.y + 0.5);
  }
}

// Rectangles of cells in one lane, as large as they can be from their first cell on.
/** @param {Matrix & InLanes} matrix */
const laneBlocks = (matrix) => blocksIn(matrix.lane, matrix);

const blocksIn = memoize(
  (/** @type {Int16Array} */ lane, /** @type {Matrix} */ { rows, columns, products }) => {
    // a block ends with its product
    const height = products?.along === "rows" ? rows / products.count : rows;
    const seen = new Uint8Array(lane.length);
    const blocks = /** @type {LaneBlock[]} */ ([]);
    lane.forEach((holder, index) => {
      if (seen[index] || holder < 0) return;
      const [row, column] = [Math.floor(index / columns), index % columns];
      let wide = 1;
      while (column + wide < columns && lane[index + wide] === holder && !seen[index + wide]) wide += 1;
      /** @param {number} down */
      const isWhole = (down) => {
        for (let right = 0; right < wide; right += 1)
          if (lane[index + down * columns + right] !== holder) return false;
        return true;
      };
      const end = (Math.floor(row / height) + 1) * height;
      let high = 1;
      while (row + high < end && isWhole(high)) high += 1;
      for (let down = 0; down < high; down += 1)
        seen.fill(1, index + down * columns, index + down * columns + wide);
      blocks.push({ row, column, rows: high, columns: wide, lane: holder });
    });
    return blocks;
  },
);

// A cell from near: its value, its bits in their fields, and the lane and register that hold it.
/**
 * @param {Content} content
 * @param {CanvasRenderingContext2D} context
 * @param {Matrix} matrix
 * @param {number} index
 * @param {Place} place
 * @param {number} rows
 */
function drawBits(content, context, matrix, index, { x, y, width, height }, rows) {
  const { ink } = content.theme;
  const textColour = context.fillStyle;
  const [holder, at] = holderOf(content.matrices, matrix, index);
  const across = Math.ceil(matrix.bits / rows);
  const left = x + (width - across * BIT_SIZE.width) / 2;
  const top = y + Math.max(BIT_HEAD, (height - rows * BIT_SIZE.height) / 2);
  const roles = matrix.parts.flatMap(([role, length]) => Array.from({ length }, () => role));
  const digits = binary(matrix.codes[index], matrix.bits);
  setFont(context, `600 18px ${ink.mono}`, String(textColour));
  context.fillText(cellText(matrix, index, 7), x + width / 2, top - 16, width - 8);
  [...digits].forEach((digit, place) => {
    const [row, column] = [Math.floor(place / across), place % across];
    const box = {
      x: left + column * BIT_SIZE.width,
      y: top + row * BIT_SIZE.height,
      width: BIT_SIZE.width - 1,
      height: BIT_SIZE.height - 3,
    };
    fillBox(context, box, ink.paper, 0.82);
    const role = roles[place];
    if (role === "sign" || role === "exponent") fillBox(context, box, ink[role], 0.3);
    setFont(context, `${digit === "1" ? "700 " : ""}20px ${ink.mono}`, ink.text);
    context.fillText(digit, box.x + box.width / 2, box.y + box.height / 2 + 1);
  });
  setFont(context, `12px ${ink.mono}`, String(textColour));
  const where =
    at >= 0 && holder.lane && !holder.place
      ? `${holderNoun(content.instruction)} ${holder.lane[at]} · ${holder.element}${holder.elementOf[at]} · register ${holder.registerOf[at]}, bits ${holder.low[at] + holder.bits - 1}..${holder.low[at]}`
      : hex(matrix.codes[index], matrix.bits);
  const fits = where.length * 12 * LETTER < width - 8 ? where : where.split(" · ")[0];
  context.fillText(fits, x + width / 2, top + rows * BIT_SIZE.height + 10, width - 6);
}

// Cells of dense A that are not stored, and columns of B that a mask makes zero.
/** @param {Content} content @param {Matrix} matrix @param {number} index */
function countsAsZero({ instruction }, { name, counterpart, columns }, index) {
  if (name === "A") return counterpart !== null && counterpart[index] < 0;
  const { zero_columns: zeros, column_shift: shift = 0 } = instruction;
  return name === "B" && Boolean(zeros?.includes((index % columns) - shift));
}

// A line that is a little too wide is condensed.
/** @param {CanvasRenderingContext2D} context @param {string[]} lines @param {Place} place @param {LayerStyle} style */
function drawLines(context, lines, { x, y, width, height }, { size, pad, letters }) {
  const most = Math.max(width - pad - BEFORE_DIGITS, letters * MIN_LETTER);
  lines.forEach((line, index) => {
    const middle = y + height / 2 + 0.5 + (index - (lines.length - 1) / 2) * (size + 1);
    context.fillText(line, x + width - pad, middle, most);
  });
}

// Marks a cell in which two chips differ: a frame with a filled corner, which can be told without its colour.
// A small cell becomes a dot.
/** @param {CanvasRenderingContext2D} context @param {Ink} ink @param {Place} cell */
export function drawDifference(context, ink, { x, y, width, height }) {
  const least = Math.min(width, height);
  if (least < 8) {
    const edge = least < 3 ? 0 : Math.max(1, least / 4);
    const dot = { x: x + edge, y: y + edge, width: width - 2 * edge, height: height - 2 * edge };
    fillBox(context, { x, y, width, height }, ink.paper);
    fillBox(context, dot, ink.bad);
    return;
  }
  strokeBox(context, { x: x + 0.75, y: y + 0.75, width: width - 1.5, height: height - 1.5 }, ink.bad, 1.5);
  // beside the first digit
  const corner = clamp(least * 0.25, 4, 7);
  const [right, below] = /** @type {[number, number][]} */ ([
    [x + corner, y],
    [x, y + corner],
  ]);
  tracePath(context, [[x, y], right, below]);
  context.fillStyle = ink.bad;
  context.fill();
  tracePath(context, [right, below]);
  context.strokeStyle = ink.paper;
  context.lineWidth = 1;
  context.stroke();
}

// A nibble without room for its bits: its chunk in four parts, with a mark for each that it keeps. They stand as
// their cells do in A.
/** @param {CanvasRenderingContext2D} context @param {Ink} ink @param {number} code @param {Place} place */
function drawNibble(context, ink, code, { x, y, width, height }) {
  const part = width >= 6 ? Math.floor(width / 4) : width / 4;
  const left = x + (width - 4 * part) / 2;
  for (const kept of new Set([code & 3, code >> 2]))
    fillBox(context, { x: left + kept * part, y, width: part, height }, ink.text, part < 2 ? 0.42 : 0.6);
}

// Everything that is marked in a pane, as plain data: if it is the same as before, nothing is drawn.
/** @param {Pane} pane */
function marksOf(pane) {
  const { content, pointing, selection, timeline } = pane;
  const { hovered } = pointing;
  const { mark } = selection;
  const here = (/** @type {{ name: Name }} */ { name }) => pane.has(name);
  const inLanes = pane.layers.some(({ name }) => content.matrices[name].lane);
  const refusal = content.model.get("refusal");
  const related = pointing.related().filter(here);
  const held = selection.held();
  return {
    nibble: held?.name === "E" && here(held) ? held : null,
    lanes: inLanes && !content.quiz.open ? content.shownLanes() : [],
    lane: inLanes ? pointing.hoveredLane() : -1,
    related,
    headings: litHeadings(pointing.line && here(pointing.line) ? pointing.line : null, [
      ...(hovered?.name && here(hovered) ? [hovered] : []),
      ...related,
    ]),
    steps: timeline.shown.filter(here),
    progress: timeline.progress,
    isPlayed: Boolean(timeline.current),
    isPath: Boolean(timeline.current?.path),
    isCloseUp: timeline.current?.closeUp !== undefined,
    quiz: Object.entries(content.quiz.marks()).map(([what, cells]) => ({ what, cells: cells.filter(here) })),
    hovered: hovered?.name && here(hovered) ? hovered : null,
    selected: mark && here(mark) ? selection.range() : null,
    focused: document.activeElement === pane.input,
    filling: pane.handle.filling?.to && filledRange(selection.range(), pane.handle.filling.to),
    refused:
      refusal?.name && pane.has(refusal.name)
        ? refusal.cells.map(([row, column, column2]) => ({ name: refusal.name, row, column, column2 }))
        : [],
  };
}

// The headings of what is pointed at: of a row or column, of a cell and of the cells related to it.
/** @param {Line | null} line @param {Mark[]} cells @returns {Line[]} */
function litHeadings(line, cells) {
  if (line) return [line];
  const lines = /** @type {Line[]} */ ([]);
  for (const { name, row, column, row2 = row, column2 = column } of cells) {
    if (row === row2) lines.push({ name, row });
    if (column === column2) lines.push({ name, column, row: undefined });
  }
  return lines;
}

/** @param {Pane} pane */
export function drawPaneMarks(pane) {
  const { content, theme } = pane;
  const { ink } = theme;
  const marks = marksOf(pane);
  const marked = JSON.stringify([marks, pane.at, content.look, pane.layers.map(({ digits }) => digits)]);
  if (marked === pane.marked) return;
  pane.marked = marked;
  const context = pane.contextOf(pane.overlay);
  pane.clip(context, BESIDE_MARKS);
  spotlight(pane, context, marks.lane);
  if (marks.isPlayed && !marks.isPath && !marks.hovered) dimUnplayed(pane, context, marks.steps);
  outlineLanes(pane, context, marks);
  for (const { x, y, width, height } of pane.warpNames) context.clearRect(x, y, width, height);
  context.translate(GUTTER.left - pane.at.x, GUTTER.top - pane.at.y);
  for (const mark of marks.related.flatMap(partsApart))
    boxAround(pane, context, mark, { colour: ink.brand, line: 1.5, wash: 0.1 });
  const first = marks.steps.find(({ name }) => name === pane.names[0] && name !== "D");
  if (marks.isPath && first) drawPath(pane, context, first);
  marks.steps.forEach((mark, index) => {
    if (!marks.isCloseUp && (!marks.isPath || isFactor(pane, mark)))
      bracketAround(pane, context, marks.steps, index);
  });
  drawQuizMarks(pane, context, marks.quiz);
  if (marks.hovered) boxAround(pane, context, marks.hovered, { colour: ink.text, line: 2 });
  if (marks.nibble) boxAround(pane, context, marks.nibble, { colour: ink.brand, line: 2, halo: 4 });
  drawSelection(pane, context, marks);
  for (const mark of marks.refused)
    boxAround(pane, context, mark, { colour: ink.bad, line: 2.25, wash: 0.12, dash: [4, 3], halo: 4.5 });
  context.restore();
  drawEdges(pane, context);
  drawLitHeadings(pane, context, marks.headings, marks.hovered?.row ?? 0);
}

// The cells of the lanes that are shown, and of the one under the pointer.
/** @param {Pane} pane @param {CanvasRenderingContext2D} context @param {ReturnType<typeof marksOf>} marks */
function outlineLanes(pane, context, { lane, lanes }) {
  const isShown = lane < 0 || lanes.some((shownLane) => shownLane.lane === lane);
  const outlined = isShown ? lanes : [...lanes, { lane, line: 0.75, dash: [] }];
  for (const layer of pane.layers)
    for (const outlinedLane of outlined) outlineLane(pane, context, layer, outlinedLane);
}

/** @param {Pane} pane @param {CanvasRenderingContext2D} context @param {ReturnType<typeof marksOf>["quiz"]} marks */
function drawQuizMarks(pane, context, marks) {
  const { ink } = pane.theme;
  for (const { what, cells } of marks)
    for (const cell of cells) {
      const colour = what === "asked" ? ink.step : ink.brand;
      const plain = { colour, line: 2.5, halo: 5 };
      const wrong = { colour: ink.bad, line: 2.5, halo: 5, wash: 0.1, dash: [4, 3] };
      boxAround(pane, context, cell, what === "wrong" ? wrong : plain);
    }
}

// The selected cells, and those that the fill handle adds to them.
/** @param {Pane} pane @param {CanvasRenderingContext2D} context @param {ReturnType<typeof marksOf>} marks */
function drawSelection(pane, context, { selected, focused, filling }) {
  if (!selected) return;
  const { row, column, row2, column2 } = selected;
  const colour = pane.theme.ink.brand;
  const wash = row !== row2 || column !== column2 ? 0.14 : 0;
  // black around white, of which one stands out from every colour of a cell
  boxAround(pane, context, selected, { colour: "black", line: focused ? 4.5 : 3, wash: 0 });
  boxAround(pane, context, selected, { colour: "white", line: focused ? 2 : 1.25, wash: 0 });
  const { x, y, width, height } = pane.placeOf(selected);
  if (wash) fillBox(context, { x, y, width, height }, colour, wash);
  if (filling) boxAround(pane, context, filling, { colour, line: 1.5, wash: 0.07, dash: [5, 3] });
}

// Scale factors of a row or a column have a box each: between them are cells, which have their own.
/** @param {Mark} mark @returns {Mark[]} */
function partsApart({ name, row, column, row2 = row, column2 = column }) {
  if (!name.startsWith("SF")) return [{ name, row, column, row2, column2 }];
  const parts = [];
  for (let down = row; down <= row2; down += 1)
    for (let right = column; right <= column2; right += 1) parts.push({ name, row: down, column: right });
  return parts;
}

// A box around cells; with a halo, a wider one in the colour of the page is below it.
/** @param {Pane} pane @param {CanvasRenderingContext2D} context @param {Mark} mark @param {BoxStyle} style */
function boxAround(pane, context, { name, row, column, row2 = row, column2 = column }, style) {
  const layer = pane.layer(name);
  const end = layer.shift
    ? Math.min(row2, (Math.floor(row / layer.down.per) + 1) * layer.down.per - 1)
    : row2; // a box for each product
  if (end < row2) boxAround(pane, context, { name, row: end + 1, column, row2, column2 }, style);
  const place = pane.placeOf({ name, row, column, row2: end, column2 });
  const [width, height] = [place.width - 0.5, place.height - 0.5];
  const { colour, line, wash = 0, dash = [], halo = 0 } = style;
  const box = { x: place.x - 0.25, y: place.y - 0.25, width, height };
  if (halo) strokeBox(context, box, pane.theme.ink.paper, halo);
  if (wash) fillBox(context, { ...place, width, height }, colour, wash);
  strokeBox(context, box, colour, line, dash);
}

// Everything but what the timeline shows.
/** @param {Pane} pane @param {CanvasRenderingContext2D} context @param {Mark[]} marks */
function dimUnplayed(pane, context, marks) {
  const all = { x: GUTTER.left, y: GUTTER.top, width: pane.width, height: pane.height };
  fillBox(context, all, pane.theme.ink.paper, UNPLAYED);
  context.save();
  context.translate(GUTTER.left - pane.at.x, GUTTER.top - pane.at.y);
  marks.forEach((mark, index) => {
    const place = easedPlace(pane, marks, index);
    for (const { x, y, width, height } of partsOfMark(pane, mark, place))
      context.clearRect(x, y, width, height);
  });
  context.restore();
}

// Whether a mark is in one row of A or one column of B.
/** @param {Pane} pane @param {Mark} mark */
const isFactor = ({ axes }, { row, column, row2 = row, column2 = column }) =>
  axes[0] === "kOfA" ? row2 === row : axes[1] === "kOfB" && column2 === column;

// The way along k: columns of A and rows of B whose products are in D, the one that is multiplied, and those to come.
/** @param {Pane} pane @param {CanvasRenderingContext2D} context @param {Mark} mark */
function drawPath(pane, context, mark) {
  const { ink } = pane.theme;
  const place = pane.placeOf(mark);
  const { x, y, width, height } = place;
  const isAcross = pane.axes[0] === "kOfA";
  const far = isAcross ? x + width : y + height;
  const { total } = pane;
  const [added, left] = isAcross
    ? [
        { x: 0, y: 0, width: x, height: total.height },
        { x: far, y: 0, width: total.width - far, height: total.height },
      ]
    : [
        { x: 0, y: 0, width: total.width, height: y },
        { x: 0, y: far, width: total.width, height: total.height - far },
      ];
  fillBox(context, added, ink.brand, ADDED);
  fillBox(context, left, ink.paper, TO_COME);
  // outside of its cells: no digit is below it
  const line = clamp((isAcross ? width : height) / 5, 1, 2.5);
  const around = { x: x - line, y: y - line, width: width + line, height: height + line };
  strokeBox(context, around, ink.paper, 2 * line);
  strokeBox(context, around, ink.step, line);
}

// Cells between which others stand, nibbles or scale factors, are lit without those.
/** @param {Pane} pane @param {Mark} mark @param {Place} place @returns {Place[]} */
function partsOfMark(pane, { name, row, column, row2 = row, column2 = column }, place) {
  const { per } = pane.layer(name);
  if (pane.layers.length < 2 || Math.floor(column / per) === Math.floor(column2 / per)) return [place];
  const parts = /** @type {Place[]} */ ([]);
  for (let first = column; first <= column2; first = (Math.floor(first / per) + 1) * per) {
    const last = Math.min(column2, (Math.floor(first / per) + 1) * per - 1);
    parts.push(pane.placeOf({ name, row, row2, column: first, column2: last }));
  }
  return parts;
}

// Where a mark of the timeline is, on its way from where it was.
/** @param {Pane} pane @param {Mark[]} marks @param {number} index @returns {Place} */
function easedPlace(pane, marks, index) {
  const place = pane.placeOf(marks[index]);
  const { mark, part } = pane.timeline.earlier(marks, index);
  if (!mark) return place;
  const before = pane.placeOf(mark);
  /** @param {keyof Place} side */
  const between = (side) => before[side] + (place[side] - before[side]) * part;
  return { x: between("x"), y: between("y"), width: between("width"), height: between("height") };
}

// A mark of the timeline: four corners around the cells, which stand off a little, unlike the selection's box.
/** @param {Pane} pane @param {CanvasRenderingContext2D} context @param {Mark[]} marks @param {number} index */
function bracketAround(pane, context, marks, index) {
  const place = easedPlace(pane, marks, index);
  const { x: leftmost, y: topmost } = pane.at; // where the pane is scrolled they stand at its edges
  // outside of the cells: no digit is below it
  const [left, top] = [Math.max(place.x - 3.5, leftmost - 3.5), Math.max(place.y - 3.5, topmost - 3.5)];
  const right = Math.min(place.x + place.width + 2.5, leftmost + pane.width - 2);
  const bottom = Math.min(place.y + place.height + 2.5, topmost + pane.height - 2);
  const arm = clamp(Math.min(right - left, bottom - top) * 0.36, 2, 9);
  context.lineCap = "square";
  context.beginPath();
  for (const [x, y, across, down] of [
    [left, top, arm, arm],
    [right, top, -arm, arm],
    [right, bottom, -arm, -arm],
    [left, bottom, arm, -arm],
  ]) {
    context.moveTo(x + across, y);
    context.lineTo(x, y);
    context.lineTo(x, y + down);
  }
  const { paper, step } = pane.theme.ink;
  [context.strokeStyle, context.lineWidth] = [paper, 6];
  context.stroke();
  [context.strokeStyle, context.lineWidth] = [step, 3];
  context.stroke();
  context.lineCap = "butt";
}

// Where a cell is drawn; null out of view.
/** @param {Pane} pane @param {Layer} layer @param {number} index */
export function cellBox(pane, layer, index) {
  const { row, column } = cellOfIndex(pane.content.matrices[layer.name], index);
  const start = pane.x(layer, column, 0, row);
  const height = layer.down.size;
  const [x, y] = [GUTTER.left + start - pane.at.x, GUTTER.top + pane.y(layer, row) - pane.at.y];
  const width = pane.x(layer, column, 1, row) - start;
  if (
    x + width < GUTTER.left ||
    x > GUTTER.left + pane.width ||
    y + height < GUTTER.top ||
    y > GUTTER.top + pane.height
  )
    return null;
  return { row, column, x, y, width, height };
}

// A line around the cells of a lane, none between those that touch.
/** @param {Pane} pane @param {CanvasRenderingContext2D} context @param {Layer} layer @param {LaneOutline} outline */
function outlineLane(pane, context, layer, { lane, line, dash }) {
  const matrix = pane.content.matrices[layer.name];
  const { columns, lane: laneOf } = matrix;
  if (!laneOf) return;
  context.strokeStyle = pane.theme.ink.text;
  context.lineWidth = line;
  context.setLineDash(dash);
  // edges in one line are one stroke, so that dashes continue
  const sides = Array.from({ length: 4 }, () => ({ path: new Path2D(), end: [NaN, NaN] }));
  /** @param {number} side @param {[number, number]} from @param {[number, number]} to */
  const edge = (side, [x1, y1], [x2, y2]) => {
    const { path, end } = sides[side];
    if (end[0] !== x1 || end[1] !== y1) path.moveTo(x1, y1);
    path.lineTo(x2, y2);
    sides[side].end = [x2, y2];
  };
  for (const index of cellsOf(matrix, lane)) {
    const cell = cellBox(pane, layer, index);
    if (!cell) continue;
    const [left, top] = [cell.x - 0.5, cell.y - 0.5];
    const [right, bottom] = [cell.x + cell.width - 0.5, cell.y + cell.height - 0.5];
    const [across, down] = [cell.column % layer.per, cell.row % layer.down.per];
    if (down === 0 || laneOf[index - columns] !== lane) edge(0, [left, top], [right, top]);
    if (down === layer.down.per - 1 || laneOf[index + columns] !== lane)
      edge(1, [left, bottom], [right, bottom]);
    if (across === 0 || laneOf[index - 1] !== lane) edge(2, [left, top], [left, bottom]);
    if (across === layer.per - 1 || laneOf[index + 1] !== lane) edge(3, [right, top], [right, bottom]);
  }
  for (const { path } of sides) context.stroke(path);
  context.setLineDash([]);
}

// Where cells are pixels, all but those of a lane are dimmed.
/** @param {Pane} pane @param {CanvasRenderingContext2D} context @param {number} lane */
function spotlight(pane, context, lane) {
  if (
    lane < 0 ||
    pane.content.instruction.tensor || // where rows of D are lanes, and the next lane is another row
    !pane.layers.some((layer) => pane.content.matrices[layer.name].lane && (layer.width < 8 || pane.row < 8))
  )
    return;
  const { width, height } = pane;
  fillBox(context, { x: GUTTER.left, y: GUTTER.top, width, height }, pane.theme.ink.paper, 0.6);
  for (const layer of pane.layers) {
    const matrix = pane.content.matrices[layer.name];
    for (const index of matrix.lane ? cellsOf(matrix, lane) : []) {
      const cell = cellBox(pane, layer, index);
      if (cell) context.clearRect(cell.x, cell.y, cell.width, cell.height);
    }
  }
}
