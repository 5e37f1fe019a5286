// Where a name leads: "D[40][200]", "lane 14 d3", "E[9] chunk 4", in any case and spacing.

import { MATRICES, cellOfIndex, cellsOf } from "./matrix.js";

const EXAMPLES = "write a cell such as D[3][5], a row such as A[9], or a lane such as lane 14 or lane 14 d3";
const LANE = /^lane\s*(-?\d+)(?:\W*([a-z]+)\W*(\d+)\W*)?$/;
const ELEMENT = /^([a-z]+)\s*(\d+)$/; // of the chosen lane
const BRACKETS = "[\\s\\[\\](),;:]*";
const CELL = new RegExp(
  `^(compressed a|[a-z]+)${BRACKETS}(?:row)?${BRACKETS}(-?\\d+)${BRACKETS}` +
    `(?:(chunk|column|col)${BRACKETS})?(-?\\d+)?${BRACKETS}$`,
);
/** @type {Record<string, Name>} */
const ALIASES = { "compressed a": "stored", stored: "stored", metadata: "E" };

/** @param {string} word @returns {Name | undefined} */
const matrixName = (word) => ALIASES[word] ?? MATRICES.find((name) => name === word.toUpperCase());

// What is moved goes by its letter: T, R, S.
/** @param {App} app @param {string} word @returns {Name | undefined} */
function movedName({ instruction, matrices }, word) {
  if (!instruction.move) return undefined;
  return /** @type {Name[]} */ (["A", "D"]).find((name) => matrices[name].label === word.toUpperCase());
}

// The place, or a sentence that says what is wrong.
/** @param {App} app @param {string} text @returns {Destination} */
export function placeNamed(app, text) {
  const name = text.trim().toLowerCase().replace(/\s+/g, " ");
  const lane = LANE.exec(name);
  if (lane) return placeInLane(app, Number(lane[1]), lane[2], Number(lane[3]));
  const element = ELEMENT.exec(name);
  if (element) return placeInLane(app, app.lane, element[1], Number(element[2]));
  const cell = CELL.exec(name);
  if (!cell) return { problem: `"${text.trim()}" is not the name of a cell or lane: ${EXAMPLES}.` };
  const [, word, row, unit, column] = cell;
  return placeInMatrix(app, word, Number(row), column === undefined ? undefined : Number(column), unit);
}

/** @param {App} app @param {string} word @returns {Destination} */
function unknownMatrix({ matrices }, word) {
  const labels = MATRICES.filter((name) => matrices[name]).map((name) => matrices[name].label);
  return { problem: `This instruction has no matrix ${word.toUpperCase()}: it has ${labels.join(", ")}.` };
}

/**
 * @param {App} app
 * @param {string} word
 * @param {number} row
 * @param {number | undefined} column
 * @param {string | undefined} unit
 * @returns {Destination}
 */
function placeInMatrix(app, word, row, column, unit) {
  const name = movedName(app, word) ?? matrixName(word);
  const matrix = name && app.matrices[name];
  if (!matrix) return unknownMatrix(app, word);
  const { label, rows, columns } = matrix;
  if (unit === "chunk" && name !== "E")
    return { problem: `Only metadata has chunks: write ${label}[${row}][column].` };
  if (row < 0 || row >= rows)
    return { problem: `${label} has rows 0 to ${rows - 1}: there is no row ${row}.` };
  if (column === undefined) return { line: { name, row } };
  if (column < 0 || column >= columns) {
    const what = name === "E" ? "chunk" : "column";
    return { problem: `${label} has ${what}s 0 to ${columns - 1}: there is no ${what} ${column}.` };
  }
  return { cell: { name, row, column } };
}

/**
 * @param {App} app
 * @param {number} lane
 * @param {string | undefined} letters
 * @param {number} element
 * @returns {Destination}
 */
function placeInLane(app, lane, letters, element) {
  const { lanes } = app.instruction;
  if (lane < 0 || lane >= lanes) return { problem: `Lanes are 0 to ${lanes - 1}: there is no lane ${lane}.` };
  if (!letters) return { lane };
  /** @type {AnyMatrices} */
  const matrices = app.matrices;
  const name = letters === "a" && matrices.stored ? "stored" : matrixName(letters);
  const matrix = name && matrices[name];
  if (!matrix) return unknownMatrix(app, letters);
  if (!matrix.lane) {
    const where = matrix.place ? "tensor" : "shared";
    return { problem: `${matrix.label} is in ${where} memory: no thread holds its elements.` };
  }
  const { label, elementOf } = matrix;
  const cells = cellsOf(matrix, lane);
  const index = cells.find((each) => elementOf[each] === element);
  if (index !== undefined) return { cell: cellOfIndex(matrix, index) };
  const elements = cells.map((each) => elementOf[each]);
  if (!elements.length)
    return { problem: `Lane ${lane} holds no element of ${label} that the instruction reads.` };
  const letter = matrix.element;
  const range = `${letter}${Math.min(...elements)} to ${letter}${Math.max(...elements)}`;
  return { problem: `Lane ${lane} holds ${range}: there is no ${letter}${element}.` };
}
