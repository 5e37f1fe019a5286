// Draws tensor memory: a row for every lane, a column for every 32 bits, the CTAs side by side.

import {
  LETTER,
  SMALLEST_TEXT,
  colourWord,
  drawTag,
  drawUpwards,
  fillBox,
  setFont,
  strokeBox,
  tracePath,
} from "../common/canvas.js";
import { clamp, labelInterval } from "../common/numbers.js";
import { cellText, indexOfCell } from "../matrix/matrix.js";
import { valuePainter, warpColours } from "../matrix/colours.js";
import { tint } from "../memory/byte_map.js";
import { LANES, WARP, columnsOf, loadMap, rowsOf, slotOf, slotsOf } from "./word_places.js";
import { linkedWords, transferPainter } from "./transfers.js";

// height of a row with digits
export const MIN_WORD = SMALLEST_TEXT + 2;
export const TENSOR_HEAD = { left: 58, top: 30 };

// Pixels between the CTAs of a pair, or between two grids of words, of which the second has its own headings.
/** @param {Pick<TensorView, "tensor">} view */
export const gapBetween = ({ tensor }) => (tensor.blocks ? 44 : 26);

// Left edge of a column of a CTA, in the pixels of what scrolls.
/** @param {TensorView} view @param {number} cta @param {number} column */
export function columnEdge(view, cta, column) {
  const { cell, tensor, theme } = view;
  let before = 0;
  for (let earlier = 0; earlier < cta; earlier += 1) before += columnsOf(tensor, earlier);
  const x = (before + column) * cell.width + cta * gapBetween(view);
  return Math.round(x * theme.ratio) / theme.ratio;
}

// Where some words of a lane are.
/** @param {TensorView} view @param {number} lane @param {number} column @returns {Place} */
export function wordsPlace(view, lane, column, count = 1) {
  const cta = Math.floor(lane / LANES);
  const x = columnEdge(view, cta, column);
  const { height } = view.cell;
  return { x, y: (lane % LANES) * height, width: columnEdge(view, cta, column + count) - x, height };
}

/** @param {TensorView} view @param {number} index @returns {Colour} */
export const operandColour = ({ theme }, index) => theme.colours[[2, 30, 26, 14, 18][index % 5]];

// The colour of a cell, by the meaning of the colours.
/** @param {TensorView} view @param {TensorName} name @param {number} place @returns {(index: number) => Colour} */
function wordPainter(view, name, place) {
  const { colour, content, theme } = view;
  const { colours, ink } = theme;
  const matrix = content.matrices[view.matrixName(name)];
  const plain = /** @type {Colour} */ ([ink.plain, ink.text]);
  const { columns } = matrix;
  if (content.instruction.transfer && colour !== "value") return transferPainter(view, name);
  if (colour === "operand") return () => operandColour(view, place);
  if (colour === "row")
    return name === "SFB" ? () => plain : (index) => colours[Math.floor(index / columns) % 32];
  if (colour === "column")
    return name === "SFA" || name === "E" ? () => plain : (index) => colours[(index % columns) % 32];
  if (colour === "scale") return scalePainter(view, name, columns, plain);
  if (colour === "thread") {
    const { load } = view;
    const { place: at } = matrix;
    return (index) => {
      const slot = load && at && slotOf(load, at.lane[index], at.column[index]);
      return slot ? colours[slot.thread % 32] : plain;
    };
  }
  return valuePainter(theme, matrix);
}

// Scale factors by the block of K that they scale, and A by the same blocks; D has none.
/** @param {TensorView} view @param {TensorName} name @param {number} columns @param {Colour} plain @returns {(index: number) => Colour} */
function scalePainter({ content, theme }, name, columns, plain) {
  /** @type {AnyMatrices} */
  const { A, SFA } = content.matrices;
  const { colours } = theme;
  if (!SFA || name === "D" || name === "E") return () => plain;
  const long = name === "A" ? A.columns / SFA.columns : 1;
  if (name === "SFB") return (index) => colours[tint(Math.floor(index / columns)) + 1];
  return (index) => colours[tint(Math.floor((index % columns) / long)) + 1];
}

// A picture with a pixel for every element of a word, of each CTA: drawn once, then only enlarged.
/** @param {TensorView} view */
function wordPictures(view) {
  const { tensor, content } = view;
  const key = [
    content.look,
    view.colour,
    view.before,
    view.version,
    view.load?.mnemonic,
    view.load?.column,
    view.load?.lane,
  ].join();
  const current = view.colour === "value" || content.instruction.transfer ? view.shownMatrices() : [];
  if (key === view.pictured && current.every((matrix, index) => matrix === view.painted[index]))
    return view.pictures;
  view.pictured = key;
  view.pictures = Array.from({ length: tensor.ctas }, (_, cta) => paintPicture(view, cta));
  return view.pictures;
}

/** @param {TensorView} view @param {number} cta */
function paintPicture(view, cta) {
  const { tensor, content } = view;
  const canvas = document.createElement("canvas");
  const slots = slotsOf(tensor, content.matrices);
  // pixels of a word
  const fine = slots.reduce((most, { parts }) => Math.max(most, parts), 1);
  [canvas.width, canvas.height] = [columnsOf(tensor, cta) * fine, LANES];
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const image = context.createImageData(canvas.width, LANES);
  const pixels = new Uint32Array(image.data.buffer);
  slots.forEach(({ name, info, parts, cells }, place) => {
    if (info.block !== undefined && info.block !== cta) return;
    const paint = wordPainter(view, name, place);
    const wide = fine / parts;
    for (let lane = 0; lane < LANES; lane += 1)
      for (let column = 0; column < info.columns; column += 1) {
        const at = ((cta * LANES + lane) * info.columns + column) * parts;
        const start = lane * canvas.width + (info.first + column) * fine;
        for (let part = 0; part < parts; part += 1) {
          const index = cells[at + part];
          if (index < 0) continue;
          // the lowest bits are on the right
          const from = start + (parts - 1 - part) * wide;
          pixels.fill(colourWord(paint(index)[0]), from, from + wide);
        }
      }
  });
  context.putImageData(image, 0, 0);
  return canvas;
}

// Stripes for what no matrix uses.
/** @param {TensorView} view @param {CanvasRenderingContext2D} context */
function freePattern({ theme }, context) {
  const tile = document.createElement("canvas");
  const size = 6 * theme.ratio;
  [tile.width, tile.height] = [size, size];
  const pen = /** @type {CanvasRenderingContext2D} */ (tile.getContext("2d"));
  pen.globalAlpha = 0.55;
  pen.fillStyle = theme.ink.plain;
  pen.fillRect(0, 0, size, size);
  pen.globalAlpha = 0.28;
  pen.strokeStyle = theme.ink.faint;
  pen.lineWidth = theme.ratio;
  pen.beginPath();
  for (const shift of [-size, 0, size]) {
    pen.moveTo(shift, size);
    pen.lineTo(shift + size, 0);
  }
  pen.stroke();
  const pattern = /** @type {CanvasPattern} */ (context.createPattern(tile, "repeat"));
  pattern.setTransform(new DOMMatrix().scale(1 / theme.ratio));
  return pattern;
}

/** @param {TensorView} view */
export function drawTensor(view) {
  const { base, tensor, cell } = view;
  const context = view.contextOf(base);
  view.clipAndScroll(context);
  const free = freePattern(view, context);
  context.imageSmoothingEnabled = false;
  wordPictures(view).forEach((picture, cta) => {
    const [x, end] = [columnEdge(view, cta, 0), columnEdge(view, cta, columnsOf(tensor, cta))];
    const rows = rowsOf(tensor) > WARP ? LANES : (tensor.blocks?.[cta].rows ?? LANES);
    context.fillStyle = free;
    context.fillRect(x, 0, end - x, rows * cell.height);
    context.drawImage(picture, x, 0, end - x, LANES * cell.height);
  });
  view.hasDigits = cell.width >= 7 && drawWords(view, context);
  drawDisabled(view, context, free);
  drawWarpLines(view, context);
  context.restore();
  drawTensorHeads(view, context);
}

// Lanes of D that disable-output-lane leaves as they were.
/** @param {TensorView} view @param {CanvasRenderingContext2D} context @param {CanvasPattern} free */
function drawDisabled(view, context, free) {
  const { cell, tensor, before, content } = view;
  const { D } = tensor.places;
  if (!D || before) return;
  context.fillStyle = free;
  for (const lane of content.instruction.disabled_lanes ?? []) {
    const cta = Math.floor(lane / LANES);
    const [x, end] = [columnEdge(view, cta, D.first), columnEdge(view, cta, D.first + D.columns)];
    context.fillRect(x, (lane % LANES) * cell.height, end - x, cell.height);
  }
}

// The lines between the lanes of two warps, none of which reads those of another; between the matrices of
// ldmatrix and stmatrix in memory; between registers that have several elements.
/** @param {TensorView} view @param {CanvasRenderingContext2D} context */
function drawWarpLines(view, context) {
  const { cell, tensor, theme } = view;
  context.strokeStyle = theme.ink.paper;
  for (let cta = 0; cta < tensor.ctas; cta += 1) {
    const { rows, band = WARP, group = 1 } = tensor.blocks?.[cta] ?? { rows: LANES };
    const columns = columnsOf(tensor, cta);
    context.lineWidth = rows <= WARP ? 3 : 1.5;
    for (let lane = band; lane < rows; lane += band) {
      const y = lane * cell.height;
      tracePath(context, [
        [columnEdge(view, cta, 0), y],
        [columnEdge(view, cta, columns), y],
      ]);
      context.stroke();
    }
    for (let column = group; group > 1 && column < columns; column += group) {
      const x = columnEdge(view, cta, column);
      tracePath(context, [
        [x, 0],
        [x, rows * cell.height],
      ]);
      context.stroke();
    }
  }
}

// The words that are in view: their elements apart, and with numbers where those fit. Returns whether some do.
/** @param {TensorView} view @param {CanvasRenderingContext2D} context */
function drawWords(view, context) {
  const { cell, tensor, scroller, content, theme } = view;
  const { ink } = theme;
  const gap = cell.height >= 6 ? 1 : 0.5;
  const gapBelow = cell.height >= 4 ? gap : 0;
  const isHigh = cell.height >= MIN_WORD;
  let hasDigits = false;
  setFont(context, `${SMALLEST_TEXT}px ${ink.mono}`, ink.text);
  const [top, bottom] = [scroller.scrollTop, scroller.scrollTop + view.height];
  const [left, right] = [scroller.scrollLeft, scroller.scrollLeft + view.width];
  const first = Math.max(0, Math.floor(top / cell.height));
  const last = Math.min(LANES - 1, Math.floor(bottom / cell.height));
  slotsOf(tensor, content.matrices).forEach(({ name, info, parts, cells }, place) => {
    const matrix = content.matrices[view.matrixName(name)];
    const paint = wordPainter(view, name, place);
    for (let cta = info.block ?? 0; cta < (info.block ?? tensor.ctas - 1) + 1; cta += 1)
      for (let column = 0; column < info.columns; column += 1) {
        const x = columnEdge(view, cta, info.first + column);
        const end = columnEdge(view, cta, info.first + column + 1);
        if (end < left || x > right) continue;
        for (let lane = first; lane <= last; lane += 1) {
          const y = lane * cell.height;
          const wide = (end - x) / parts;
          let used = false;
          for (let part = 0; part < parts; part += 1) {
            const index = cells[((cta * LANES + lane) * info.columns + column) * parts + part];
            // the lowest bits are on the right
            const from = x + (parts - 1 - part) * wide;
            if (index < 0) continue;
            if (!used) context.clearRect(x, y, end - x, cell.height);
            used = true;
            const [fill, text] = paint(index);
            const width = wide - (wide >= 5 ? gap : 0);
            fillBox(context, { x: from, y, width, height: cell.height - gapBelow }, fill);
            const word = cellText(matrix, index, 3);
            if (!isHigh || word.length * SMALLEST_TEXT * LETTER > wide - 1) continue;
            context.fillStyle = text;
            context.fillText(word, from + (wide - gap) / 2, y + (cell.height - gap) / 2 + 0.5);
            hasDigits = true;
          }
        }
      }
  });
  return hasDigits;
}

// Lanes and warps on the left; above, the columns and the matrices in them.
/** @param {TensorView} view @param {CanvasRenderingContext2D} context */
function drawTensorHeads(view, context) {
  const { cell, tensor, scroller, theme } = view;
  const { left, top } = TENSOR_HEAD;
  const { ink } = theme;
  const interval = Math.min(32, labelInterval(cell.height, 11));
  const rows = rowsOf(tensor);
  // a warp has the rows of memory beside its lanes
  const isWarp = rows <= WARP;
  setFont(context, `11px ${ink.mono}`, ink.faint, "right");
  const starts = isWarp ? [0, columnEdge(view, 1, 0) - scroller.scrollLeft] : [0];
  starts.forEach((start, block) => {
    if (start > view.width || (block && start < gapBetween(view))) return;
    context.fillText(tensor.blocks?.[block].axes[0] ?? "lane", left + start - 5, top - 6);
    for (let lane = 0; lane < (isWarp ? (tensor.blocks?.[block].rows ?? rows) : rows); lane += interval) {
      const y = top + lane * cell.height - scroller.scrollTop;
      if (y < top - 1 || y > top + view.height - 6) continue;
      context.fillText(String(lane), left + start - 5, y + Math.max(4.5, cell.height / 2));
    }
  });
  for (let warp = 0; !isWarp && warp < rows / WARP; warp += 1) {
    const from = clamp(warp * WARP * cell.height - scroller.scrollTop, 0, view.height);
    const to = clamp((warp + 1) * WARP * cell.height - scroller.scrollTop, 0, view.height);
    if (to - from < 4) continue;
    const [fill, text] = warpColours(theme, warp);
    fillBox(context, { x: 2, y: top + from + 1, width: 14, height: to - from - 2 }, fill);
    if (to - from < 40) continue;
    setFont(context, `600 11px ${ink.mono}`, text);
    drawUpwards(context, `warp ${warp}`, { x: 9.5, y: top + (from + to) / 2 });
  }
  context.save();
  context.beginPath();
  context.rect(left - 4, 0, view.width + 8, top);
  context.clip();
  context.translate(left - scroller.scrollLeft, 0);
  for (let cta = 0; cta < tensor.ctas; cta += 1) drawColumnHeads(view, context, cta);
  context.restore();
}

/** @param {TensorView} view @param {CanvasRenderingContext2D} context @param {number} cta */
function drawColumnHeads(view, context, cta) {
  const { cell, tensor, theme } = view;
  const { top } = TENSOR_HEAD;
  const { ink } = theme;
  setFont(context, `11px ${ink.mono}`, ink.faint);
  const block = tensor.blocks?.[cta];
  const group = block?.group ?? 1;
  const every = group > 1 ? group : Math.min(64, labelInterval(cell.width, 24));
  for (let column = 0; column < columnsOf(tensor, cta); column += every) {
    const wide = group > 1 || rowsOf(tensor) <= WARP ? group * cell.width : Math.min(cell.width, 20);
    context.fillText(columnHead(tensor, cta, column), columnEdge(view, cta, column) + wide / 2, top - 6);
  }
  const names = /** @type {{ text: string, wide: number, middle: number }[]} */ ([]);
  let clear = -Infinity; // where the last name ends
  for (const [name, { first, columns, block: only }] of Object.entries(tensor.places)) {
    if (only !== undefined && only !== cta) continue;
    const [from, to] = [columnEdge(view, cta, first), columnEdge(view, cta, first + columns)];
    context.strokeStyle = ink.text;
    context.lineWidth = 1.25;
    const right = Math.max(from + 1, to - 1);
    tracePath(context, [
      [from + 0.5, top - 14],
      [from + 0.5, top - 17.5],
      [right, top - 17.5],
      [right, top - 14],
    ]);
    context.stroke();
    const label = name === "D" && view.before ? "D before" : name;
    const text = block ? blockTitle(view, block, to - from) : inPair(tensor, label, cta, to - from);
    const wide = text.length * 10 * LETTER;
    const middle = Math.max((from + to) / 2, clear + wide / 2 + 5);
    names.push({ text, wide, middle });
    clear = middle + wide / 2;
  }
  setFont(context, `600 12px ${ink.mono}`, ink.text);
  let end = columnEdge(view, cta, columnsOf(tensor, cta)); // the last names move left to be seen whole
  for (const { text, wide, middle } of names.reverse()) {
    const at = Math.min(middle, end - wide / 2);
    context.fillText(text, at, top - 24);
    end = at - wide / 2 - 5;
  }
}

// A column by its number; registers that have names by those, in few letters.
/** @param {TensorInfo} tensor @param {number} cta @param {number} column */
function columnHead({ blocks }, cta, column) {
  const name = blocks?.[cta].names[column];
  if ((blocks?.[cta].group ?? 1) > 1) return name?.replace(/\[.*/, "") ?? "";
  return name?.replace(/^r(?=\d)|val$|data/, "") ?? String(column);
}

/** @param {TensorInfo} tensor @param {string} label @param {number} cta @param {number} wide */
const inPair = ({ ctas }, label, cta, wide) => (ctas > 1 && wide > 80 ? `${label} of CTA ${cta}` : label);

// "Tensor memory T: lane × column"; what fits.
/** @param {TensorView} view @param {TensorBlock} block @param {number} wide */
function blockTitle({ before, content }, { title, label, axes }, wide) {
  const time = before && content.matrices.C?.label === label ? " before" : "";
  const texts = [`${title}${time}: ${axes[0]} × ${axes[1]}`, `${title}${time}`, label];
  return texts.find((text) => text.length * 10 * LETTER <= wide + 8) ?? label;
}

// -- marks --

// Over the words: what the load reads, what the chosen thread gets, what is pointed at and selected.
/** @param {TensorView} view */
export function drawTensorMarks(view) {
  const { overlay, load, content, theme, pointing, selection, timeline } = view;
  const { hovered } = pointing;
  const { mark } = selection;
  const related = pointing.related().filter(({ name }) => content.matrices[name]?.place);
  const key = JSON.stringify([
    hovered,
    mark,
    related,
    view.pointed,
    content.lane,
    view.at,
    document.activeElement === view.input,
    timeline.shown,
    load?.mnemonic,
    load?.column,
    load?.lane,
    view.drawn,
  ]);
  if (key === view.marked) return;
  view.marked = key;
  const context = view.contextOf(overlay);
  view.clipAndScroll(context);
  dimUnplayedWords(view, context);
  if (load) drawLoad(view, context, load);
  if (content.instruction.transfer) drawTransfer(view, context);
  for (const cells of related) washCells(view, context, cells);
  if (mark && content.matrices[mark.name]?.place) boxCell(view, context, mark, theme.ink.brand, 1.5);
  if (hovered?.name && content.matrices[hovered.name]?.place)
    boxCell(view, context, hovered, theme.ink.text, 2);
  if (document.activeElement === view.input)
    boxWords(view, context, view.placeOf(view.at), theme.ink.brand, 2.25);
  if (view.pointed) boxWords(view, context, view.placeOf(view.pointed), theme.ink.faint, 1);
  context.restore();
  const place = hovered?.name ? content.matrices[hovered.name]?.place : null;
  const index = hovered?.name && place ? indexOfCell(content.matrices[hovered.name], hovered) : -1;
  if (place && index >= 0) litTensorHeads(view, context, place.lane[index], place.column[index]);
  else if (view.pointed) litTensorHeads(view, context, view.pointed.lane, view.pointed.column);
}

// The part of each warp's lanes that a load reads, and the words that the chosen thread gets.
/** @param {TensorView} view @param {CanvasRenderingContext2D} context @param {LoadData} load */
function drawLoad(view, context, load) {
  const { cell, tensor, content, theme } = view;
  const { lanes, columns, elements } = loadMap(load);
  const [low, high] = [lanes.reduce((a, b) => Math.min(a, b)), lanes.reduce((a, b) => Math.max(a, b))];
  const [from, to] = [columns.reduce((a, b) => Math.min(a, b)), columns.reduce((a, b) => Math.max(a, b))];
  for (let warp = 0; warp < tensor.ctas * 4; warp += 1) {
    const cta = Math.floor(warp / 4);
    const y = ((warp % 4) * WARP + low) * cell.height;
    const [x, end] = [columnEdge(view, cta, from), columnEdge(view, cta, Math.min(to + 1, tensor.columns))];
    const chosen = warp === Math.floor(content.lane / WARP);
    const box = { x: x + 0.5, y: y + 0.5, width: end - x - 1, height: (high - low + 1) * cell.height - 1 };
    strokeBox(context, box, theme.ink.paper, chosen ? 3 : 2, [4, 3]);
    strokeBox(context, box, theme.ink.text, chosen ? 1.5 : 0.75, [4, 3]);
  }
  const first = (content.lane % WARP) * elements;
  const words = Array.from({ length: elements }, (_, element) => ({
    lane: content.lane - (content.lane % WARP) + lanes[first + element],
    column: columns[first + element],
  })).sort((one, other) => one.lane - other.lane || one.column - other.column);
  boxRuns(view, context, words);
}

// Neighbouring words in one box each.
/** @param {TensorView} view @param {CanvasRenderingContext2D} context @param {{ lane: number, column: number }[]} words */
function boxRuns(view, context, words) {
  const { tensor, theme } = view;
  for (let start = 0; start < words.length;) {
    let end = start + 1;
    while (
      end < words.length &&
      words[end].lane === words[start].lane &&
      words[end].column === words[end - 1].column + 1
    )
      end += 1;
    const { lane, column } = words[start];
    const count = Math.min(end - start, columnsOf(tensor, Math.floor(lane / LANES)) - column);
    if (count > 0) boxWords(view, context, wordsPlace(view, lane, column, count), theme.ink.step, 1.75);
    start = end;
  }
}

// Of words that are moved: those of the chosen thread, and the way of what is pointed at or selected.
/** @param {TensorView} view @param {CanvasRenderingContext2D} context */
function drawTransfer(view, context) {
  const { content, theme, pointing } = view;
  const { A, D } = content.matrices;
  for (const { lane, place, columns } of [A, D].filter((matrix) => matrix?.lane)) {
    if (!lane || !place || (view.before && place === D.place)) continue;
    const words = [];
    for (let index = 0; index < lane.length; index += 1)
      if (lane[index] === content.lane) words.push({ lane: place.lane[index], column: index % columns });
    boxRuns(view, context, words);
  }
  const { hovered } = pointing;
  const { selection } = view;
  const cell = hovered?.name ? hovered : selection.mark;
  if (!cell || (view.before && cell.name !== "A")) return;
  const others = linkedWords(content.matrices, cell);
  context.strokeStyle = context.fillStyle = theme.ink.text;
  context.lineWidth = 1.25;
  for (const other of others) {
    const [from, to] = (cell.name === "A" ? [cell, other] : [other, cell]).map(({ name, row, column }) => {
      const { place, columns } = content.matrices[name];
      const lane = place?.lane[row * columns + column] ?? 0;
      return { ...wordsPlace(view, lane, column), block: Math.floor(lane / LANES) };
    });
    drawWay(view, context, from, to);
  }
  if (cell === selection.mark)
    for (const other of others) boxCell(view, context, other, theme.ink.brand, 1.25);
}

// The way of a word, along the lower edges of rows and beside its grid: it crosses no digits.
/** @param {TensorView} view @param {CanvasRenderingContext2D} context @param {Place & { block: number }} from @param {Place & { block: number }} to */
function drawWay(view, context, from, to) {
  // the side on which it leaves
  const side = from.x < to.x ? 1 : -1;
  const beside = columnEdge(view, from.block, side > 0 ? columnsOf(view.tensor, from.block) : 0) + 4 * side;
  const [y, endY] = [from.y + from.height, to.y + to.height];
  // the side on which it arrives
  const isLeft = (to.block === from.block) === side < 0;
  const endX = isLeft ? to.x : to.x + to.width;
  const head = isLeft ? -6 : 6;
  context.beginPath();
  context.moveTo(side > 0 ? from.x + from.width : from.x, y);
  for (const [across, down] of [
    [beside, y],
    [beside, endY],
    [endX, endY],
  ])
    context.lineTo(across, down);
  context.stroke();
  tracePath(context, [
    [endX, endY],
    [endX + head, endY - 3.5],
    [endX + head, endY + 3.5],
  ]);
  context.fill();
}

// A box with a halo in the colour of the page.
/**
 * @param {TensorView} view
 * @param {CanvasRenderingContext2D} context
 * @param {Place} place
 * @param {string} colour
 * @param {number} line
 * @param {number[]} dash
 */
function boxWords({ theme }, context, { x, y, width, height }, colour, line, dash = []) {
  // a small word stays visible inside
  const around = Math.max(0, (5 - Math.min(width, height)) / 2);
  const [left, top] = [x - 0.5 - around, y - 0.5 - around];
  const box = { x: left, y: top, width: width + 2 * around, height: height + 2 * around };
  strokeBox(context, box, theme.ink.paper, line + 2, dash);
  strokeBox(context, box, colour, line, dash);
}

// A cell where the instruction reads it; its copies in thin, dashed boxes.
/** @param {TensorView} view @param {CanvasRenderingContext2D} context @param {Cell} cell @param {string} colour @param {number} line */
function boxCell(view, context, { name, row, column }, colour, line) {
  const { content } = view;
  const matrix = content.matrices[name];
  const { place } = matrix;
  if (!place) return;
  const index = indexOfCell(matrix, { row, column });
  place.copies.forEach(([lane, bit], copy) => {
    const bits = place.column[index] * 32 + place.low[index] + bit;
    const word = wordsPlace(view, place.lane[index] + lane, bits >> 5);
    const wide = (word.width * place.info.width) / 32;
    const part = Math.floor((bits & 31) / place.info.width);
    const x = word.width >= 8 ? word.x + word.width - (part + 1) * wide : word.x;
    const at = { ...word, x, width: word.width >= 8 ? wide : word.width };
    // around a small word it would be dust
    const dash = copy && at.width >= 12 ? [3, 2] : [];
    boxWords(view, context, at, colour, copy ? Math.min(line, 1) : line, dash);
  });
}

// Cells that belong to what is pointed at.
/** @param {TensorView} view @param {CanvasRenderingContext2D} context @param {Mark} mark */
function washCells(view, context, mark) {
  for (const word of wordsOf(view, mark))
    if (word.width >= 24) boxWords(view, context, word, view.theme.ink.brand, 2.25); // it has digits
    else fillBox(context, word, view.theme.ink.brand, 0.55);
}

// Everything but what the timeline shows.
/** @param {TensorView} view @param {CanvasRenderingContext2D} context */
function dimUnplayedWords(view, context) {
  const { scroller, width, height, content, theme, timeline } = view;
  const marks = timeline.shown.filter(({ name }) => content.matrices[name]?.place);
  if (!timeline.current || !marks.length) return;
  const all = { x: scroller.scrollLeft, y: scroller.scrollTop, width, height };
  fillBox(context, all, theme.ink.paper, 0.7);
  for (const mark of marks)
    for (const { x, y, width: wide, height: high } of wordsOf(view, mark))
      context.clearRect(x, y, wide, high);
}

// The words that cells are in, with their copies.
/** @param {TensorView} view @param {Mark} mark @returns {Place[]} */
function wordsOf(view, { name, row, column, row2 = row, column2 = column }) {
  const matrix = view.content.matrices[name];
  const { place } = matrix;
  const words = /** @type {Map<number, Place>} */ (new Map());
  for (let r = row; place && r <= row2; r += 1)
    for (let c = column; c <= column2; c += 1) {
      const index = r * matrix.columns + c;
      for (const [lane, bit] of place.copies) {
        const at = (place.column[index] * 32 + place.low[index] + bit) >> 5;
        const key = (place.lane[index] + lane) * 1024 + at;
        if (words.has(key)) continue;
        const { x, y, width, height } = wordsPlace(view, place.lane[index] + lane, at);
        words.set(key, { x, y, width: Math.max(2, width), height: Math.max(2, height) });
      }
    }
  return [...words.values()];
}

// The headings of a word's lane and column.
/** @param {TensorView} view @param {CanvasRenderingContext2D} context @param {number} lane @param {number} column */
function litTensorHeads(view, context, lane, column) {
  const { scroller, theme } = view;
  const { left, top } = TENSOR_HEAD;
  const { x, y, width, height } = wordsPlace(view, lane, column);
  const level = top + y + height / 2 - scroller.scrollTop;
  const middle = left + x + width / 2 - scroller.scrollLeft;
  if (level > top - 4 && level < top + view.height + 4) {
    const at = { x: left - 13, y: clamp(level, top + 5, top + view.height - 5) };
    drawTag(context, theme.ink, String(lane % LANES), at);
  }
  if (middle > left - 4 && middle < left + view.width + 4) {
    const at = { x: clamp(middle, left + 8, left + view.width - 8), y: top - 6 };
    drawTag(context, theme.ink, columnHead(view.tensor, Math.floor(lane / LANES), column), at);
  }
}
