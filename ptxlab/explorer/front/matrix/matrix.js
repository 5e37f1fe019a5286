// One object for every matrix, as Python described and sent it.

import { memoize } from "../common/memoize.js";
import { typed, short, exact, binary, hex } from "../common/numbers.js";
import { placesOf, threadsOf, LANES } from "../tensor/word_places.js";

/** @type {Name[]} */
export const MATRICES = ["A", "stored", "B", "C", "D", "E", "SFA", "SFB"];

const NO_LOAD = /** @type {Sent<LoadData>} */ ({});

// Which lane holds each cell: fixed for an instruction, so read once.
const mapsOf = memoize((/** @type {MatrixInfo} */ info) => {
  const [lane, elementOf, registerOf, low] = [info.lane, info.element_map, info.register_map, info.low].map(
    (view) => typed(Int16Array, view),
  );
  const [byte, core, line] = [info.byte, info.core, info.line].map((view) => typed(Int16Array, view));
  return /** @type {Maps} */ ({ lane, elementOf, registerOf, low, byte, core, line, place: null });
});

// Where a matrix is in tensor memory and, for C and D, the threads that tcgen05.ld loads it into. Cached by
// what it is made from, so that its cells are sorted by lane only once.
const tensorMaps = memoize((/** @type {object} */ _load) => /** @type {Partial<Record<Name, Maps>>} */ ({}));

/** @param {MatrixInfo} info @param {Name} name @param {TensorPlace} where @param {Sent<LoadData>} load */
function mapsInTensor(info, name, where, load) {
  const known = tensorMaps(load);
  const cached = known[name];
  if (cached?.place?.info === where) return cached;
  const place = placesOf(where, info.rows, info.columns);
  // of words that are moved
  const registers = info.lane ? mapsOf(info) : null;
  const threads = (name === "C" || name === "D") && load.mnemonic ? threadsOf(place, load) : null;
  const nowhere = { lane: null, elementOf: null, registerOf: null, low: place.low };
  const read = /** @type {Maps} */ ({
    ...(registers ?? threads ?? nowhere),
    byte: null,
    core: null,
    line: null,
    place,
  });
  known[name] = read;
  return read;
}

// The place of a matrix in tensor memory: C is in the place of D, and only the compressed form of sparse A is
// there.
/** @param {InstructionInfo} instruction @param {Name} name @returns {TensorPlace | undefined} */
function placeInTensor({ tensor, chunk }, name) {
  if (!tensor || (name === "A" && chunk) || name === "B") return undefined;
  if (name === "C") return tensor.places.D;
  return name === "stored" ? tensor.places.A : tensor.places[name];
}

// A matrix as Python sent it; the earlier object if nothing changed.
/**
 * @param {Model} model
 * @param {InstructionInfo} instruction
 * @param {Name} name
 * @param {Matrix | null} earlier
 * @returns {Matrix | null}
 */
export function readMatrix(model, instruction, name, earlier = null) {
  const info = instruction.matrices?.[name];
  const sent = model.get(name);
  if (!info || !sent?.values) return null;
  const where = placeInTensor(instruction, name);
  const fixed = where ? mapsInTensor(info, name, where, model.get("load") ?? NO_LOAD) : mapsOf(info);
  if (earlier?.sent === sent && earlier.info === info && earlier.maps === fixed) return earlier;
  /** @type {ArrayKind<Values>} */
  const Values = info.kind !== "float" ? Int32Array : info.bits === 64 ? Float64Array : Float32Array;
  /** @type {ArrayKind<Codes>} */
  const Codes = info.bits === 64 ? BigUint64Array : Uint32Array;
  return /** @type {Matrix} */ ({
    ...info,
    ...fixed,
    maps: fixed,
    info,
    sent,
    name,
    values: typed(Values, sent.values),
    codes: typed(Codes, sent.codes),
    otherValues: typed(Values, sent.other_values),
    otherCodes: typed(Codes, sent.other_codes),
    chips: sent.chips,
    counterpart: typed(Int32Array, sent.counterpart),
    differ: typed(Uint8Array, sent.differ),
    differCount: sent.differ_count,
  });
}

/** @param {Pick<Matrix, "columns">} matrix @param {{ row: number, column: number }} cell */
export const indexOfCell = ({ columns }, { row, column }) => row * columns + column;

/** @param {Pick<Matrix, "name" | "columns">} matrix @param {number} index @returns {Cell} */
export const cellOfIndex = ({ name, columns }, index) => ({
  name,
  row: Math.floor(index / columns),
  column: index % columns,
});

// Whether elements are bits without a type; metadata and single bits have texts of their own.
/** @param {Pick<Matrix, "kind"> & { bits?: number }} matrix */
const isWord = ({ kind, bits = 0 }) => kind === "bits" && bits > 1;

// Empty where no model computes D.
/** @param {Pick<Matrix, "name" | "kind" | "codes" | "values" | "unknown"> & { bits?: number }} matrix @param {number} index */
export function cellText(matrix, index, digits = 4) {
  if (matrix.unknown) return "";
  if (matrix.name === "E") return binary(matrix.codes[index], 4);
  if (isWord(matrix)) return hex(matrix.codes[index], matrix.bits ?? 32).slice(2);
  return matrix.kind === "float" ? short(matrix.values[index], digits) : String(matrix.values[index]);
}

/** @param {Matrix} matrix @param {number} index */
export function editText(matrix, index) {
  if (matrix.unknown) return "?";
  if (matrix.name === "E") return "0b" + binary(matrix.codes[index], 4);
  if (isWord(matrix)) return hex(matrix.codes[index], matrix.bits);
  return matrix.kind === "float"
    ? exact(matrix.values[index], matrix.bits === 64)
    : String(matrix.values[index]);
}

/** @param {Matrix} matrix */
function longest(matrix) {
  if (matrix.name === "E") return 4;
  let most = 1;
  const { length } = matrix.values;
  const step = Math.max(1, Math.floor(length / 4096));
  for (let index = 0; index < length; index += step) most = Math.max(most, cellText(matrix, index).length);
  // a part of them has numbers as long as any, unless nearly all are short
  for (let index = 0; step > 1 && most < 7 && index < length; index += 1)
    most = Math.max(most, cellText(matrix, index).length);
  return Math.min(most, 9);
}

// of a number that is rounded to fit its cell
const FEWEST_DIGITS = 2;
// the part of the cells that may not be shortened further: an edit changes a row of D
const USUAL = 0.85;

// Letters in which most numbers of a matrix can be written with the fewest digits, and those in which all can,
// if need be with an exponent. While it is played, they are those of its end.
/** @param {Matrix} matrix */
export const fewestLetters = (matrix) => fewestLettersOf(matrix.whole ?? matrix);

const fewestLettersOf = memoize((/** @type {Matrix} */ matrix) => {
  const { length } = matrix.values;
  const step = Math.max(1, Math.floor(length / 2048));
  const lengths = /** @type {number[]} */ ([]);
  let all = 0;
  for (let index = 0; index < length; index += step) {
    const texts = shorterTexts(matrix, index).map((text) => text.length);
    lengths.push(texts[0]);
    all = Math.max(all, Math.min(...texts));
  }
  const most = lengths.sort((one, other) => one - other)[Math.ceil(USUAL * lengths.length) - 1];
  return { most, all: Math.max(most, all) };
});

// A number with the fewest digits: then without the zero before its point, with nothing behind it, and with an
// exponent.
/** @param {Matrix} matrix @param {number} index */
function shorterTexts(matrix, index) {
  const [text, value] = [cellText(matrix, index, FEWEST_DIGITS), matrix.values[index]];
  if (matrix.kind === "bits" || text.length <= 3 || !Number.isFinite(value)) return [text];
  const pointed = text.includes(".") && !text.includes("e");
  const shorter = Math.abs(value) < 1 ? text.replace(/^(-?)0\./, "$1.") : `${Math.round(value)}.`;
  const exponents = [1, 0].map((digits) => value.toExponential(digits).replace("e+", "e"));
  return [
    text,
    ...(pointed && (Math.abs(value) < 1 || Math.abs(value) >= 10) ? [shorter] : []),
    ...exponents,
  ];
}

// The number of a cell in so many letters: with fewer digits, then with an exponent, and never without its
// fraction. A number that cannot be told in them is "…".
/** @param {Matrix} matrix @param {number} index @param {number} letters */
function textThatFits(matrix, index, letters) {
  for (const digits of [4, 3]) {
    const text = cellText(matrix, index, digits);
    if (text.length <= letters) return text;
  }
  return shorterTexts(matrix, index).find((text) => text.length <= letters) ?? "…";
}

// The matrix and index whose lane holds a cell: for dense A of a
// sparse instruction those of compressed A, -1 if it is not stored.
/**
 * @param {Pick<Matrices, "stored">} matrices
 * @param {Matrix} matrix
 * @param {number} index
 * @returns {[Matrix, number]}
 */
export function holderOf(matrices, matrix, index) {
  return matrix.name === "A" && matrix.counterpart
    ? [matrices.stored, matrix.counterpart[index]]
    : [matrix, index];
}

// The cell whose element in a register holds a cell; of dense A that is not stored, the nibble of its chunk.
/** @param {Matrices} matrices @param {Cell} cell @returns {Cell} */
export function bitsHolder(matrices, { name, row, column }) {
  const matrix = matrices[name];
  const [holder, at] = holderOf(matrices, matrix, indexOfCell(matrix, { row, column }));
  return at < 0
    ? { name: "E", row, column: Math.floor((column * matrices.E.columns) / matrix.columns) }
    : { name: holder.name, row, column: at % holder.columns };
}

// The lane that holds a cell or its nibble; -1 if none does.
/** @param {Matrices} matrices @param {Cell} cell */
export function laneOf(matrices, cell) {
  const holder = bitsHolder(matrices, cell);
  const matrix = matrices[holder.name];
  return matrix.lane?.[indexOfCell(matrix, holder)] ?? -1;
}

export const largest = memoize((/** @type {Matrix} */ matrix) => {
  let most = 1e-30;
  for (const value of matrix.values) if (Number.isFinite(value)) most = Math.max(most, Math.abs(value));
  return most;
});

export const isZero = memoize((/** @type {Matrix} */ matrix) => !matrix.codes.some(Boolean));

// Indices of the cells that a lane holds; sorted once for each instruction.
/** @param {Matrix & InLanes} matrix @param {number} lane */
export const cellsOf = (matrix, lane) => cellsByLane(matrix.lane)[lane] ?? [];

const cellsByLane = memoize((/** @type {Int16Array} */ laneOf) => {
  const sorted = /** @type {number[][]} */ ([]);
  laneOf.forEach((lane, index) => {
    (sorted[lane] ??= []).push(index);
  });
  return sorted;
});

// Runs of rows whose first cells are in one warp.
/** @param {Matrix & InLanes} matrix */
export function warpRows({ lane, rows, columns }) {
  const runs = /** @type {{ warp: number, first: number, stop: number }[]} */ ([]);
  for (let row = 0; row < rows; row += 1) {
    const warp = Math.floor(lane[row * columns] / 32);
    const last = runs.at(-1);
    if (last?.warp === warp) last.stop = row + 1;
    else runs.push({ warp, first: row, stop: row + 1 });
  }
  return runs;
}

// Indices of the cells of a matrix that changed.
/** @param {Matrix} before @param {Matrix} matrix */
export function changedCells(before, matrix) {
  const changed = /** @type {number[]} */ ([]);
  if (before === matrix) return changed;
  const { codes, counterpart } = matrix;
  for (let index = 0; index < codes.length; index += 1)
    if (codes[index] !== before.codes[index] || counterpart?.[index] !== before.counterpart?.[index])
      changed.push(index);
  return changed;
}

// The same, and those that begin or cease to differ between two chips: all that must be drawn again.
/** @param {Matrix} before @param {Matrix} matrix */
export function repaintedCells(before, matrix) {
  const changed = changedCells(before, matrix);
  if (before.differ === matrix.differ || !(before.differ || matrix.differ)) return changed;
  const cells = new Set(changed);
  for (let index = 0; index < matrix.codes.length; index += 1)
    if ((before.differ?.[index] ?? 0) !== (matrix.differ?.[index] ?? 0)) cells.add(index);
  return [...cells];
}

export const differing = memoize((/** @type {Matrix & Compared} */ { differ }) =>
  Array.from(differ.keys()).filter((index) => differ[index]),
);

// Lanes that hold a row or a column, in ascending order; null where no lane does.
/** @param {Matrices} matrices @param {Line} line */
export function lanesOf(matrices, { name, row, column }) {
  const matrix = matrices[name];
  if (!holderOf(matrices, matrix, 0)[0].lane) return null;
  const lanes = /** @type {Set<number>} */ (new Set());
  const [count, step] = row === undefined ? [matrix.rows, matrix.columns] : [matrix.columns, 1];
  const start = row === undefined ? column : row * matrix.columns;
  for (let cell = 0; cell < count; cell += 1) {
    const [holder, at] = holderOf(matrices, matrix, start + cell * step);
    if (at >= 0 && holder.lane && holder.lane[at] >= 0) lanes.add(holder.lane[at]);
  }
  return [...lanes].sort((first, second) => first - second);
}

// A rectangle of cells as a spreadsheet copies it: tabs between columns, a line for every row.
/** @param {CellRange} range @param {(row: number, column: number) => string} text */
export function blockText({ row, column, row2, column2 }, text) {
  const lines = [];
  for (let r = row; r <= row2; r += 1) {
    const words = [];
    for (let c = column; c <= column2; c += 1) words.push(text(r, c));
    lines.push(words.join("\t"));
  }
  return lines.join("\n");
}

// The text of a cell: its value, its code in hexadecimal or binary, or the lane and element that hold it.

/** @param {string} text @param {number} length */
const split = (text, length) => text.match(new RegExp(`.{1,${length}}`, "g")) ?? [];

// One line of text, or several for a code of more than one byte.
/**
 * @param {Matrices} matrices
 * @param {Matrix} matrix
 * @param {number} index
 * @param {Label} label
 * @returns {string[]}
 */
export function cellLines(matrices, matrix, index, label, letters = Infinity) {
  if (matrix.unknown && label !== "lane") return [""];
  if (matrix.beyond?.[index] && (label === "hex" || label === "binary")) return ["…"];
  if (label === "hex")
    return split(matrix.codes[index].toString(16).padStart(Math.ceil(matrix.bits / 4), "0"), 8);
  if (label === "binary") return split(binary(matrix.codes[index], matrix.bits), matrix.bits === 64 ? 16 : 8);
  if (label === "lane") {
    const [holder, at] = holderOf(matrices, matrix, index);
    if (at < 0) return [""];
    if (holder.place) return [`${holder.place.lane[at] % LANES}·${holder.place.column[at]}`];
    if (holder.lane) return [`${holder.lane[at]}·${holder.element}${holder.elementOf[at]}`];
  }
  return [textThatFits(matrix, index, letters)];
}

// Letters of the longest line, and how many lines.
/** @param {Matrices} matrices @param {Matrix} matrix @param {Label} label @returns {LabelSize} */
export function labelSize(matrices, matrix, label) {
  if (label === "value") return { letters: longest(matrix), lines: 1 };
  const words =
    label === "lane"
      ? Array.from(matrix.values, (_, index) => cellLines(matrices, matrix, index, label))
      : [cellLines(matrices, matrix, 0, label)];
  return { letters: words.reduce((most, [word]) => Math.max(most, word.length), 1), lines: words[0].length };
}
