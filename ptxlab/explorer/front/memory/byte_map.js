// A matrix in shared memory: which byte holds which cell. Places and wavefronts come from Python; what is in
// the bytes follows from the codes of the matrix, so that an edit sends nothing about memory.

import { LETTER, SMALLEST_TEXT, fillBox, setFont, strokeBox } from "../common/canvas.js";
import { memoize } from "../common/memoize.js";
import { typed, hex } from "../common/numbers.js";
import { cellText, indexOfCell } from "../matrix/matrix.js";
import { laneNames } from "../matrix/describe.js";

// bytes of all banks
export const LINE = 128;
// bytes of a bank
export const WORD = 4;

// Computed once for each message from Python.
export const memoryMap = memoize((/** @type {MemoryData} */ data) => {
  const byte = typed(Int32Array, data.byte);
  const low = typed(Int8Array, data.low);
  const wavefront = typed(Int16Array, data.wavefront);
  const unit = Math.max(1, data.bits / 8);
  const cellAt = new Int32Array(data.size).fill(-1);
  // from the last on, so that of several cells in a byte the lowest is found first
  for (let index = byte.length - 1; index >= 0; index -= 1)
    for (let offset = 0; offset < unit; offset += 1) {
      const at = byte[index] + offset;
      if (cellAt[at] < 0 || !low || low[index] < low[cellAt[at]]) cellAt[at] = index;
    }
  const supplier = new Map(data.suppliers.map(([address, lane, matrix]) => [address, { lane, matrix }]));
  return { byte, low, wavefront, unit, cellAt, supplier, perByte: Math.max(1, Math.floor(8 / data.bits)) };
});

// The cells in some bytes, in the order of their addresses.
/** @param {MemoryMap} map @param {MemoryData} data @param {Matrix} matrix @param {number} address @param {number} size */
export function cellsIn(map, data, matrix, address, size) {
  const cells = /** @type {number[]} */ ([]);
  for (let at = address; at < address + size; at += 1) {
    const first = map.cellAt[at];
    if (first < 0 || cells.at(-1) === first) continue;
    const step = data.major === "row" ? 1 : matrix.columns;
    for (let index = 0; index < map.perByte; index += 1) cells.push(first + index * step);
  }
  return cells;
}

// The number in some bytes; null where there is no cell.
/** @param {MemoryMap} map @param {MemoryData} data @param {Matrix} matrix @param {number} address @param {number} size */
export function numberAt(map, data, matrix, address, size) {
  let number = 0n;
  const cells = cellsIn(map, data, matrix, address, size);
  for (const index of cells) {
    const shift = BigInt((map.byte[index] - address) * 8 + (map.low?.[index] ?? 0));
    const code = BigInt(matrix.codes[index]);
    number |= shift >= 0n ? code << shift : code >> -shift;
  }
  return cells.length ? BigInt.asUintN(8 * size, number) : null;
}

/** @param {number} address */
export const bankOf = (address) => Math.floor((address % LINE) / WORD);

/** @param {number} address */
export const byteName = (address) => `byte ${hex(address, 12)}, bank ${bankOf(address)}`;

// Where a cell is in memory, and when it is moved.
/** @param {MemoryData} data @param {number} index @param {InstructionInfo} instruction */
export function memoryFacts(data, index, instruction) {
  const map = memoryMap(data);
  const address = map.byte[index];
  const bit = map.low && map.perByte > 1 ? `, bit ${map.low[index]}` : "";
  const facts = [
    `${byteName(address)}${bit} of shared memory`,
    `wavefront ${map.wavefront[index] + 1} of ${data.wavefronts}`,
  ];
  const supplier = map.supplier.get(address - (address % 16));
  if (supplier)
    facts.push(
      `in a row of matrix ${supplier.matrix}, whose address ${laneNames([supplier.lane], instruction)} supplies`,
    );
  return facts;
}

// Cells as few rectangles: runs of a row, joined where rows below have the same.
/** @param {Name} name @param {number} columns @param {number[]} cells @returns {Mark[]} */
export function asMarks(name, columns, cells) {
  const marks = /** @type {Required<Mark>[]} */ ([]);
  const runs = /** @type {Required<Mark>[]} */ ([]);
  for (const index of [...cells].sort((first, second) => first - second)) {
    const [row, column] = [Math.floor(index / columns), index % columns];
    const last = runs.at(-1);
    if (last && last.row === row && last.column2 === column - 1) last.column2 = column;
    else runs.push({ name, row, column, row2: row, column2: column });
  }
  for (const run of runs) {
    const above = marks.find(
      (mark) => mark.row2 === run.row - 1 && mark.column === run.column && mark.column2 === run.column2,
    );
    if (above) above.row2 = run.row;
    else marks.push(run);
  }
  return marks;
}

// What the memory view looks like: a line for every 128 bytes, a column for every bank.

export const MEMORY_HEAD = { left: 46, top: 15 };
const BANKS = LINE / WORD;

// One of 32 colours: neighbours differ in hue, every eighth in shade.
/** @param {number} number */
export const tint = (number) => (number % 8) * 4 + (Math.floor(number / 8) % 4);

// The appearance of the cells, by the meaning of the colours.
/** @param {MemoryView} view @param {Matrix} matrix @returns {Painter} */
function bytePainter({ theme, map, controls: { colour } }, matrix) {
  const { colours } = theme;
  const { columns, lane } = matrix;
  if (colour === "row") return (index) => colours[tint(Math.floor(index / columns))];
  if (colour === "column") return (index) => colours[tint(index % columns)];
  if (colour === "wavefront" || !lane) return (index) => colours[tint(map.wavefront[index])];
  return (index) => colours[lane[index] % 32];
}

// Where some bytes of one line are, in the pixels of what scrolls.
/** @param {MemoryView} view @param {number} address @param {number} size @returns {Place} */
export function bytesPlace({ cell, theme }, address, size) {
  /** @param {number} at */
  const x = (at) => Math.round((at / WORD) * cell.width * theme.ratio) / theme.ratio;
  const [line, at] = [Math.floor(address / LINE), address % LINE];
  return { x: x(at), y: line * cell.height, width: x(at + size) - x(at), height: cell.height };
}

/** @param {MemoryView} view */
function visibleLines({ scroller, cell, height, data }) {
  const first = Math.floor(scroller.scrollTop / cell.height);
  const last = Math.min(data.size / LINE - 1, Math.floor((scroller.scrollTop + height) / cell.height));
  return [first, last];
}

/** @param {MemoryView} view @param {Matrix} matrix */
export function drawMemory(view, matrix) {
  const { base, map, cell, content, theme } = view;
  const { width: word, height: row } = cell;
  const context = view.contextOf(base);
  const paint = bytePainter(view, matrix);
  const [first, last] = visibleLines(view);
  view.clipAndScroll(context);
  const label = content.display("label");
  const unit = Math.min(map.unit, WORD);
  /** @param {number} width */
  const lettersIn = (width) => Math.floor((width - 1.5) / (SMALLEST_TEXT * LETTER));
  // either every cell has its label, or every word its number
  const fits =
    map.perByte === 1 &&
    map.unit <= WORD &&
    unitLetters(content, matrix, label) <= lettersIn((word / WORD) * unit);
  const readable = row >= SMALLEST_TEXT + 2 && (fits || wordLetters(content, label) <= lettersIn(word));
  view.hasDigits = readable;
  setFont(context, `${SMALLEST_TEXT}px ${theme.ink.mono}`, theme.ink.text);
  /** @param {string} text @param {number} index @param {Place} place */
  const put = (text, index, place) => {
    context.fillStyle = paint(index)[1];
    context.fillText(text, place.x + (place.width - 1) / 2, place.y + row / 2);
  };
  for (let line = first; line <= last; line += 1)
    for (let bank = 0; bank < BANKS; bank += 1) {
      const address = line * LINE + bank * WORD;
      const place = bytesPlace(view, address, WORD);
      if (map.cellAt[address] < 0) {
        // bytes that are not of this matrix
        fillBox(context, { ...place, width: place.width - 1, height: row - 1 }, theme.ink.plain, 0.4);
        continue;
      }
      for (let at = address; at < address + WORD; at += unit) {
        const index = map.cellAt[at];
        const part = bytesPlace(view, at, unit);
        const width = part.width - (part.width >= 8 ? 1 : 0);
        fillBox(context, { ...part, width, height: row - 1 }, paint(index)[0]);
        if (fits && readable) put(unitText(matrix, index, label), index, part);
      }
      if (!fits && readable) put(wordText(view, matrix, address, label), map.cellAt[address], place);
    }
  context.restore();
  drawHeads(view, context, first, last);
}

/** @param {Content} content @param {Matrix} matrix @param {Label} label */
function unitLetters(content, matrix, label) {
  if (label === "lane") return String(content.instruction.lanes).length;
  return label === "value" ? content.labelSize(matrix).letters : Math.ceil(matrix.bits / 4);
}

/** @param {Matrix} matrix @param {number} index @param {Label} label */
function unitText(matrix, index, label) {
  if (label === "lane") return matrix.lane ? String(matrix.lane[index]) : "";
  if (label === "value") return cellText(matrix, index);
  return matrix.codes[index].toString(16).padStart(Math.ceil(matrix.bits / 4), "0");
}

/** @param {Content} content @param {Label} label */
const wordLetters = ({ instruction }, label) => (label === "lane" ? String(instruction.lanes).length : 8);

/** @param {MemoryView} view @param {Matrix} matrix @param {number} address @param {Label} label */
function wordText({ map, data }, matrix, address, label) {
  if (label === "lane") return matrix.lane ? String(matrix.lane[map.cellAt[address]]) : "";
  return hex(numberAt(map, data, matrix, address, WORD) ?? 0, 32).slice(2);
}

/** @param {MemoryView} view @param {CanvasRenderingContext2D} context @param {number} first @param {number} last */
function drawHeads(view, context, first, last) {
  const { cell, scroller, theme } = view;
  const { width: word, height: row } = cell;
  setFont(context, `11px ${theme.ink.mono}`, theme.ink.faint, "right");
  context.fillText("bank", MEMORY_HEAD.left - 5, MEMORY_HEAD.top - 6);
  const interval = Math.max(1, Math.ceil(10 / row));
  for (let line = first; line <= last; line += 1) {
    const y = MEMORY_HEAD.top + line * row - scroller.scrollTop + row / 2;
    if (line % interval || y < MEMORY_HEAD.top || y > MEMORY_HEAD.top + view.height - 3) continue;
    context.fillText(hex(line * LINE, 12), MEMORY_HEAD.left - 5, y);
  }
  context.textAlign = "center";
  for (let bank = 0; bank < BANKS; bank += word < 14 ? 4 : 1) {
    const x = bank * word + word / 2 - scroller.scrollLeft;
    if (x > 0 && x < view.width) context.fillText(String(bank), MEMORY_HEAD.left + x, MEMORY_HEAD.top - 6);
  }
}

// Over the bytes: what is pointed at, lanes, the selection, and what the current wavefront moves.
/** @param {MemoryView} view @param {Matrix} matrix */
export function drawMemoryMarks(view, matrix) {
  const { overlay, map, content, theme, pointing, selection } = view;
  const context = view.contextOf(overlay);
  view.clipAndScroll(context);
  const { hovered } = pointing;
  const isMoved = view.access.movedFilter();
  if (isMoved) dimOthers(view, context, isMoved);
  const lane = pointing.hoveredLane();
  if (matrix.lane && !isMoved) {
    const laneOf = matrix.lane;
    const colour = theme.ink.text;
    for (const { lane: by, line, dash } of content.shownLanes())
      outlineBytes(view, context, (index) => laneOf[index] === by, { colour, line, dash });
    if (lane >= 0) outlineBytes(view, context, (index) => laneOf[index] === lane, { colour, line: 1.25 });
  }
  for (const mark of pointing.related().filter(({ name }) => name === matrix.name))
    for (const index of cellsOfMark(mark, matrix.columns)) {
      const place = unitPlace(view, index);
      fillBox(context, { ...place, height: place.height - 1 }, theme.ink.brand, 0.3);
    }
  const { mark } = selection;
  /** @param {Place} place @param {string} colour @param {number} line */
  const box = (place, colour, line) =>
    strokeBox(context, { ...place, x: place.x - 0.5, y: place.y - 0.5 }, colour, line);
  if (mark?.name === matrix.name) box(unitPlace(view, indexOfCell(matrix, mark)), theme.ink.brand, 1.5);
  if (hovered?.name === matrix.name) box(unitPlace(view, indexOfCell(matrix, hovered)), theme.ink.text, 2);
  if (document.activeElement === view.input) box(view.placeOf(view.at), theme.ink.brand, 2.25);
  if (view.pointed !== null) box(view.placeOf(view.limited(view.pointed)), theme.ink.faint, 1);
  context.restore();
  const cell = hovered?.name === matrix.name ? indexOfCell(matrix, hovered) : -1;
  if (cell >= 0) litHeads(view, context, map.byte[cell]);
  else if (view.pointed !== null) litHeads(view, context, view.pointed);
}

/** @param {MemoryView} view @param {number} index */
function unitPlace(view, index) {
  const { byte, unit } = view.map;
  return bytesPlace(view, byte[index], unit);
}

/** @param {Mark} mark @param {number} columns */
function cellsOfMark({ row, column, row2 = row, column2 = column }, columns) {
  const cells = [];
  for (let r = row; r <= row2; r += 1) for (let c = column; c <= column2; c += 1) cells.push(r * columns + c);
  return cells;
}

// A line around the bytes of some cells, none between neighbours in a line.
/**
 * @param {MemoryView} view
 * @param {CanvasRenderingContext2D} context
 * @param {(index: number) => boolean} inside
 * @param {BoxStyle} style
 */
function outlineBytes(view, context, inside, { colour, line, dash = [] }) {
  const { map } = view;
  const [first, last] = visibleLines(view);
  const step = Math.min(map.unit, WORD);
  for (let address = first * LINE; address < (last + 1) * LINE; address += step) {
    if (map.cellAt[address] < 0 || !inside(map.cellAt[address])) continue;
    const start = address;
    const end = Math.floor(address / LINE + 1) * LINE;
    while (address + step < end && map.cellAt[address + step] >= 0 && inside(map.cellAt[address + step]))
      address += step;
    const place = bytesPlace(view, start, address + step - start);
    strokeBox(context, { ...place, x: place.x - 0.5, y: place.y - 0.5 }, colour, line, dash);
  }
}

// Dims everything but the cells of the current step.
/** @param {MemoryView} view @param {CanvasRenderingContext2D} context @param {(index: number) => boolean} isMoved */
function dimOthers(view, context, isMoved) {
  const { map, scroller, width, height, theme } = view;
  fillBox(context, { x: scroller.scrollLeft, y: scroller.scrollTop, width, height }, theme.ink.paper, 0.72);
  const [first, last] = visibleLines(view);
  const step = Math.min(map.unit, WORD);
  for (let address = first * LINE; address < (last + 1) * LINE; address += step) {
    const index = map.cellAt[address];
    if (index < 0 || !isMoved(index)) continue;
    const { x, y, width: wide, height: high } = bytesPlace(view, address, step);
    context.clearRect(x, y, wide, high);
  }
  const isWaiting = view.access.waitingFilter();
  if (isWaiting) outlineBytes(view, context, isWaiting, { colour: theme.ink.bad, line: 1.25, dash: [3, 2] });
  outlineBytes(view, context, isMoved, { colour: theme.ink.step, line: 2 });
}

// The headings of a byte's line and bank.
/** @param {MemoryView} view @param {CanvasRenderingContext2D} context @param {number} address */
function litHeads(view, context, address) {
  const { cell, scroller, theme } = view;
  const { width: word, height: row } = cell;
  const line = Math.floor(address / LINE);
  const y = MEMORY_HEAD.top + line * row - scroller.scrollTop + row / 2;
  const x = MEMORY_HEAD.left + bankOf(address) * word + word / 2 - scroller.scrollLeft;
  /** @param {string} text @param {number} left @param {number} middle @param {CanvasTextAlign} align */
  const write = (text, left, middle, align) => {
    const width = text.length * 11 * LETTER + 2;
    const start = align === "right" ? left - width + 1 : left - width / 2;
    fillBox(context, { x: start, y: middle - 6, width, height: 12 }, theme.ink.paper);
    setFont(context, `bold 11px ${theme.ink.mono}`, theme.ink.text, align);
    context.fillText(text, left, middle);
  };
  if (y > MEMORY_HEAD.top && y < MEMORY_HEAD.top + view.height)
    write(hex(line * LINE, 12), MEMORY_HEAD.left - 5, y, "right");
  if (x > MEMORY_HEAD.left && x < MEMORY_HEAD.left + view.width)
    write(String(bankOf(address)), x, MEMORY_HEAD.top - 6, "center");
}
