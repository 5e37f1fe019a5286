// What a pane looks like: its cells, and over them outlines of lanes, related cells and the selection.

import { binary, clamp } from "./util.js";
import { cellOfIndex, cellsOf, largest, repaintedCells } from "./matrix.js";
import { LETTER, cellLines, roomFor } from "./label.js";
import { GUTTER, drawEdges, drawHeadings, drawLitHeadings, drawProductNames } from "./edges.js";
import { isTinted } from "./colours.js";
import { filledRange } from "./fill_handle.js";

// Visible cells of a layer: call(row, column, index, x, y, width) in canvas pixels.
/** @param {Pane} pane @param {Layer} layer @param {DrawCell} call */
function eachVisible(pane, layer, call) {
  const matrix = pane.app.matrices[layer.name];
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

/** @param {Pane} pane @param {HTMLCanvasElement} canvas */
function contextOf(pane, canvas, fresh = true) {
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.setTransform(pane.app.ratio, 0, 0, pane.app.ratio, 0, 0);
  if (fresh) context.clearRect(0, 0, canvas.width, canvas.height);
  return context;
}

/** @param {Pane} pane @param {CanvasRenderingContext2D} context */
function clipToCells(pane, context) {
  context.save();
  context.beginPath();
  context.rect(GUTTER.left, GUTTER.top, pane.width, pane.height);
  context.clip();
}

// If only numbers changed, only their cells are drawn again.
/** @param {Pane} pane */
export function drawPane(pane) {
  if (!pane.layers.length) return;
  const { app, layers } = pane;
  const matrices = layers.map((layer) => app.matrices[layer.name]);
  // then, and where no lane holds the cells, their shade depends on the largest value
  const byValue = app.quiz.display("colour_by") === "value";
  const drawn = JSON.stringify([
    app.look,
    pane.at,
    matrices.map((matrix) => [app.labelSize(matrix), byValue || !matrix.lane ? largest(matrix) : 0]),
  ]);
  const sharp = [app.ratio, pane.at.x, pane.at.y].every(Number.isInteger); // cells end where pixels do
  const kept =
    sharp &&
    drawn === pane.drawn &&
    matrices.every((matrix, index) => matrix.info === pane.painted[index].info);
  const changes = layers.map((_, index) =>
    kept ? repaintedCells(pane.painted[index], matrices[index]) : null,
  );
  [pane.drawn, pane.painted] = [drawn, matrices];
  app.drawOver();
  if (changes.every((cells) => cells?.length === 0)) return;
  const context = contextOf(pane, pane.base, !kept);
  clipToCells(pane, context);
  layers.forEach((layer, index) => drawLayer(pane, context, layer, changes[index]));
  if (!kept) drawProductNames(pane, context);
  context.restore();
  if (!kept) drawHeadings(pane, context);
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
  const { app } = pane;
  const matrix = app.matrices[layer.name];
  const high = layer.down.size;
  // shown between the cells of another matrix
  const aside = layer.name === "E" || layer.name.startsWith("SF");
  let label = app.quiz.display("label");
  let { letters: most, lines } = app.labelSize(matrix);
  const fits = () => roomFor(layer.width) >= most && high >= 8.5 * lines;
  if (layer.name === "E" && label !== "value" && !fits()) [label, most, lines] = ["value", 4, 1];
  const inset = layer.width >= 8 && high >= 8 ? 1 : layer.width >= 5 && high >= 5 ? 0.5 : 0;
  const size = clamp(
    Math.min((high - (lines > 1 ? 1 : 3)) / lines, (layer.width - 2.5) / most / LETTER),
    8,
    12,
  );
  const letters = Math.floor((layer.width - 1) / (size * LETTER));
  const digits =
    label === "value" ? high >= 9 && letters >= (layer.name === "E" ? 1 : Math.min(most, 3)) : fits();
  layer.digits = digits;
  const length = Math.min(letters, most);
  // narrower letters keep neighbouring cells apart
  const narrow = clamp((layer.width - inset - 3.5) / (length * size * LETTER), 0.8, 1);
  const pad = Math.max(1.5, (layer.width - inset - length * size * LETTER * narrow) / 2);
  const paint = app.painter(matrix);
  // pixels that no lane holds: grey by magnitude
  const grey =
    digits || isTinted(app, matrix) || app.quiz.display("colour_by") === "value" ? 0 : largest(matrix);
  context.font = `${size}px ${app.ink.mono}`;
  context.textAlign = "right";
  context.textBaseline = "middle";
  const { zero_columns: zeros, column_shift: shift = 0 } = app.instruction;
  /** @type {DrawCell} */
  const drawCell = (row, column, index, x, y, width) => {
    const [fill, text] = colour ?? paint(index);
    const ghost =
      (matrix.counterpart && layer.name === "A" && matrix.counterpart[index] < 0) ||
      (layer.name === "B" && zeros?.includes(column - shift));
    const faint = ghost || matrix.unknown || (!digits && !aside && matrix.values[index] === 0);
    const strength = grey
      ? 0.12 + 0.75 * Math.min(1, Math.abs(matrix.values[index]) / grey)
      : faint
        ? 0.22
        : aside
          ? 0.4
          : 1;
    context.globalAlpha = colour ? 1 : strength;
    context.fillStyle = grey && !colour ? app.ink.faint : fill;
    context.fillRect(x, y, width - inset, high - inset);
    context.globalAlpha = 1;
    if (matrix.differ?.[index])
      drawDifference(context, app.ink, { x, y, width: width - inset, height: high - inset });
    const masked = app.quiz.masks(layer.name, row, column);
    if (!digits && layer.name === "E" && !masked)
      drawBits(pane, context, binary(matrix.codes[index], 4), x, y, width - inset);
    if (!digits) return;
    let words = masked ? ["?"] : cellLines(app.matrices, matrix, index, label);
    for (const fewer of [2, 1])
      if (words[0].length > letters && !masked && matrix.kind === "float")
        words = cellLines(app.matrices, matrix, index, label, fewer);
    if (words[0].length > letters)
      words = layer.name === "E" && letters ? [matrix.codes[index].toString(16)] : ["…"];
    context.fillStyle = colour ? text : ghost ? app.ink.faint : aside ? app.ink.text : text;
    words.forEach((word, line) => {
      const middle =
        y + (high - inset) / 2 + 0.5 + (line - (words.length - 1) / 2) * Math.min(size + 1, high / lines);
      context.fillText(
        word,
        x + width - inset - pad,
        middle,
        Math.max(1, word.length * size * LETTER * narrow),
      );
    });
  };
  if (!some) eachVisible(pane, layer, drawCell);
  for (const index of some ?? []) {
    const cell = cellBox(pane, layer, index);
    if (!cell) continue;
    context.clearRect(cell.x, cell.y, cell.width, cell.height);
    drawCell(cell.row, cell.column, index, cell.x, cell.y, cell.width);
  }
}

// The mark of a cell in which two chips differ, of every such cell by itself: a frame, and a corner that is
// filled. It is seen by its shape, too; a small cell is a dot on the colour of the page.
/** @param {CanvasRenderingContext2D} context @param {Ink} ink @param {Place} cell */
export function drawDifference(context, ink, { x, y, width, height }) {
  const least = Math.min(width, height);
  if (least < 8) {
    const edge = least < 3 ? 0 : Math.max(1, least / 4);
    context.fillStyle = ink.paper;
    context.fillRect(x, y, width, height);
    context.fillStyle = ink.bad;
    context.fillRect(x + edge, y + edge, width - 2 * edge, height - 2 * edge);
    return;
  }
  context.strokeStyle = ink.bad;
  context.lineWidth = 1.5;
  context.strokeRect(x + 0.75, y + 0.75, width - 1.5, height - 1.5);
  const corner = clamp(least * 0.4, 4, 7);
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x + corner, y);
  context.lineTo(x, y + corner);
  context.closePath();
  context.fillStyle = ink.bad;
  context.fill();
  context.beginPath();
  context.moveTo(x + corner, y);
  context.lineTo(x, y + corner);
  context.strokeStyle = ink.paper;
  context.lineWidth = 1;
  context.stroke();
}

// A nibble without room for a digit: four bars, tall for 1, low for 0.
/**
 * @param {Pane} pane
 * @param {CanvasRenderingContext2D} context
 * @param {string} bits
 * @param {number} x
 * @param {number} y
 * @param {number} width
 */
function drawBits(pane, context, bits, x, y, width) {
  context.fillStyle = pane.app.ink.text;
  const bar = width >= 9 ? Math.floor((width - 1) / 4) : width / 4;
  const tall = pane.row - 1;
  [...bits].forEach((bit, index) => {
    const high = bit === "1" ? tall - 1 : 1;
    context.fillRect(
      x + (width - 4 * bar) / 2 + index * bar,
      y + tall - high,
      Math.max(bar - 0.75, 0.75),
      high,
    );
  });
}

// Everything that is marked in a pane, as plain data: if it is the same as before, nothing is drawn.
/** @param {Pane} pane */
function marksOf(pane) {
  const { app } = pane;
  const { hovered } = app;
  const { mark: selection } = app.selection;
  const here = (/** @type {{ name: Name }} */ mark) => pane.has(mark.name);
  const inLanes = pane.layers.some(({ name }) => app.matrices[name].lane);
  const refusal = app.model.get("refusal");
  const related = app.related().filter(here);
  return {
    lanes: inLanes && !app.quiz.open ? app.shownLanes() : [],
    lane: inLanes ? app.hoveredLane() : -1,
    related,
    headings: litHeadings(app.line && here(app.line) ? app.line : null, [
      ...(hovered?.name && here(hovered) ? [hovered] : []),
      ...related,
    ]),
    steps: app.stepper.marks().filter(here),
    moved: app.memory.player.marks().filter(here),
    quiz: Object.entries(app.quiz.marks()).map(([what, cells]) => ({ what, cells: cells.filter(here) })),
    hovered: hovered?.name && here(hovered) ? hovered : null,
    selected: selection && here(selection) ? app.selection.range() : null,
    focused: document.activeElement === pane.input,
    filling: pane.filling?.to && filledRange(app, pane.filling.to),
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
export function drawMarks(pane) {
  const { app } = pane;
  const marks = marksOf(pane);
  const marked = JSON.stringify([marks, pane.at, app.look, pane.layers.map(({ digits }) => digits)]);
  if (marked === pane.marked) return;
  pane.marked = marked;
  const context = contextOf(pane, pane.over);
  clipToCells(pane, context);
  const { lane, hovered, selected } = marks;
  spotlight(pane, context, lane);
  for (const layer of pane.layers) {
    const matrix = app.matrices[layer.name];
    if (matrix.lane) {
      const laneOf = matrix.lane;
      const lanes =
        lane < 0 || marks.lanes.some((each) => each.lane === lane)
          ? marks.lanes
          : [...marks.lanes, { lane, line: 0.75, dash: [] }];
      for (const { lane: by, line, dash } of lanes)
        outlineCells(
          pane,
          context,
          layer,
          cellsOf(matrix, by),
          (index) => laneOf[index] === by,
          app.ink.text,
          line,
          dash,
        );
    }
  }
  context.translate(GUTTER.left - pane.at.x, GUTTER.top - pane.at.y);
  for (const cells of marks.related) boxAround(pane, context, cells, app.ink.brand, 1.5, 0.1);
  for (const mark of marks.steps) {
    bracketAround(pane, context, mark, app.ink.paper, 6);
    bracketAround(pane, context, mark, app.ink.step, 3);
  }
  for (const mark of marks.moved) {
    boxAround(pane, context, mark, app.ink.paper, 4, 0);
    boxAround(pane, context, mark, app.ink.step, 2, 0.12);
  }
  for (const { what, cells } of marks.quiz)
    for (const cell of cells) {
      boxAround(pane, context, cell, app.ink.paper, 5, 0);
      if (what === "wrong") boxAround(pane, context, cell, app.ink.bad, 2.5, 0.1, [4, 3]);
      else boxAround(pane, context, cell, what === "asked" ? app.ink.step : app.ink.brand, 2.5, 0);
    }
  if (hovered) boxAround(pane, context, hovered, app.ink.text, 2, 0);
  if (selected) {
    const { name, top, left, bottom, right } = selected;
    const wide = { name, row: top, column: left, row2: bottom, column2: right };
    boxAround(
      pane,
      context,
      wide,
      app.ink.brand,
      marks.focused ? 2.25 : 1.25,
      top !== bottom || left !== right ? 0.14 : 0,
    );
    if (marks.filling) boxAround(pane, context, { name, ...marks.filling }, app.ink.brand, 1.5, 0.07, [5, 3]);
  }
  for (const cells of marks.refused) {
    boxAround(pane, context, cells, app.ink.paper, 4.5, 0);
    boxAround(pane, context, cells, app.ink.bad, 2.25, 0.12, [4, 3]);
  }
  context.restore();
  drawEdges(pane, context);
  drawLitHeadings(pane, context, marks.headings, hovered?.row ?? 0);
}

/**
 * @param {Pane} pane
 * @param {CanvasRenderingContext2D} context
 * @param {Mark} mark
 * @param {string} colour
 * @param {number} line
 * @param {number} wash
 * @param {number[]} dash
 */
function boxAround(
  pane,
  context,
  { name, row, column, row2 = row, column2 = column },
  colour,
  line,
  wash,
  dash = [],
) {
  const layer = pane.layer(name);
  const end = layer.shift
    ? Math.min(row2, (Math.floor(row / layer.down.per) + 1) * layer.down.per - 1)
    : row2; // a box for each product
  if (end < row2)
    boxAround(pane, context, { name, row: end + 1, column, row2, column2 }, colour, line, wash, dash);
  const from = pane.rect(name, row, column);
  const to = pane.rect(name, end, column2);
  const size = /** @type {[number, number]} */ ([
    to.x + to.width - from.x - 0.5,
    to.y + to.height - from.y - 0.5,
  ]);
  if (wash) {
    context.globalAlpha = wash;
    context.fillStyle = colour;
    context.fillRect(from.x, from.y, ...size);
    context.globalAlpha = 1;
  }
  context.strokeStyle = colour;
  context.lineWidth = line;
  context.setLineDash(dash);
  context.strokeRect(from.x - 0.25, from.y - 0.25, ...size);
  context.setLineDash([]);
}

// The stepper's mark: four corners around the cells, which stand off a little, unlike the selection's box.
/** @param {Pane} pane @param {CanvasRenderingContext2D} context @param {Mark} mark @param {string} colour @param {number} line */
function bracketAround(pane, context, { name, row, column, row2 = row, column2 = column }, colour, line) {
  const [from, to] = [pane.rect(name, row, column), pane.rect(name, row2, column2)];
  const [left, top] = [from.x - 1.5, from.y - 1.5];
  const [right, bottom] = [to.x + to.width + 0.5, to.y + to.height + 0.5];
  const arm = clamp(Math.min(right - left, bottom - top) * 0.36, 2, 9);
  context.strokeStyle = colour;
  context.lineWidth = line;
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
  context.stroke();
  context.lineCap = "butt";
}

// Where a cell is drawn; null out of view.
/** @param {Pane} pane @param {Layer} layer @param {number} index */
export function cellBox(pane, layer, index) {
  const { row, column } = cellOfIndex(pane.app.matrices[layer.name], index);
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

// A line around cells, none between those that touch.
/**
 * @param {Pane} pane
 * @param {CanvasRenderingContext2D} context
 * @param {Layer} layer
 * @param {number[]} indices
 * @param {(index: number) => boolean} inside
 * @param {string} colour
 * @param {number} line
 * @param {number[]} dash
 */
function outlineCells(pane, context, layer, indices, inside, colour, line, dash = []) {
  const { columns } = pane.app.matrices[layer.name];
  context.strokeStyle = colour;
  context.lineWidth = line;
  context.setLineDash(dash);
  // edges in one line are one stroke, so that dashes continue
  const sides = Array.from({ length: 4 }, () => ({ path: new Path2D(), end: [NaN, NaN] }));
  /**
   * @param {{ path: Path2D, end: number[] }} side
   * @param {boolean} open
   * @param {number} x1
   * @param {number} y1
   * @param {number} x2
   * @param {number} y2
   */
  const edge = (side, open, x1, y1, x2, y2) => {
    if (!open) return;
    if (side.end[0] !== x1 || side.end[1] !== y1) side.path.moveTo(x1, y1);
    side.path.lineTo(x2, y2);
    side.end = [x2, y2];
  };
  for (const index of indices) {
    const cell = cellBox(pane, layer, index);
    if (!cell) continue;
    const { row, column, x, y, width, height } = cell;
    const [right, bottom] = [x + width - 0.5, y + height - 0.5];
    const [across, down] = [column % layer.per, row % layer.down.per];
    edge(sides[0], down === 0 || !inside(index - columns), x - 0.5, y - 0.5, right, y - 0.5);
    edge(sides[1], down === layer.down.per - 1 || !inside(index + columns), x - 0.5, bottom, right, bottom);
    edge(sides[2], across === 0 || !inside(index - 1), x - 0.5, y - 0.5, x - 0.5, bottom);
    edge(sides[3], across === layer.per - 1 || !inside(index + 1), right, y - 0.5, right, bottom);
  }
  for (const { path } of sides) context.stroke(path);
  context.setLineDash([]);
}

// Where cells are pixels, all but those of a lane are dimmed.
/** @param {Pane} pane @param {CanvasRenderingContext2D} context @param {number} lane */
function spotlight(pane, context, lane) {
  if (
    lane < 0 ||
    pane.app.instruction.tensor || // where rows of D are lanes, and the next lane is another row
    !pane.layers.some((layer) => pane.app.matrices[layer.name].lane && (layer.width < 8 || pane.row < 8))
  )
    return;
  context.globalAlpha = 0.6;
  context.fillStyle = pane.app.ink.paper;
  context.fillRect(GUTTER.left, GUTTER.top, pane.width, pane.height);
  context.globalAlpha = 1;
  for (const layer of pane.layers) {
    const matrix = pane.app.matrices[layer.name];
    for (const index of matrix.lane ? cellsOf(matrix, lane) : []) {
      const cell = cellBox(pane, layer, index);
      if (cell) context.clearRect(cell.x, cell.y, cell.width, cell.height);
    }
  }
}
