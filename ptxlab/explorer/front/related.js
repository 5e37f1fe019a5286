// Cells related to the one under the pointer: the factors of a cell
// of D, both forms of a sparse A, the block of a scale factor.

import { typed } from "./util.js";
import { lanesOf } from "./matrix.js";
import { linkedWords } from "./move.js";

/**
 * @param {AnyMatrices} matrices
 * @param {InstructionInfo} instruction
 * @param {Hovered | null} hit
 * @returns {Mark[]}
 */
export function relatedCells(matrices, instruction, hit) {
  if (!hit?.name || !matrices[hit.name]) return [];
  if (instruction.move) return linkedWords(/** @type {Matrices} */ (matrices), hit);
  if (hit.name === "D" || hit.name === "C") return factors(matrices, instruction, hit);
  return [
    ...(matrices.E ? sparseForms(matrices, instruction, hit) : []),
    ...(matrices.SFA ? blocks(matrices, hit) : []),
  ];
}

// The row of A and the column of B, with their scale factors.
/** @param {AnyMatrices} matrices @param {InstructionInfo} instruction @param {Cell} cell @returns {Mark[]} */
function factors({ D, SFA, SFB }, { k, column_of_b }, { row, column }) {
  const columnOfB = column_of_b ? typed(Int16Array, column_of_b)[row * D.columns + column] : column;
  /** @type {Mark[]} */
  const marks = [
    { name: "A", row, column: 0, column2: k - 1 },
    { name: "B", row: 0, row2: k - 1, column: columnOfB },
  ];
  if (!SFA) return marks;
  return [
    ...marks,
    { name: "SFA", row, column: 0, column2: SFA.columns - 1 },
    { name: "SFB", row: 0, row2: SFB.rows - 1, column: columnOfB },
  ];
}

// The lanes that contribute to a cell of D: those that hold its row of A and its column of B.
// None where those are in shared memory.
/** @param {Matrices} matrices @param {InstructionInfo} instruction @param {Cell} cell @returns {Contribution[]} */
export function contributionsTo(matrices, instruction, cell) {
  const marks = factors(/** @type {AnyMatrices} */ (matrices), instruction, cell);
  return marks
    .filter(({ name }) => name === "A" || name === "B")
    .map(({ name, row, column, row2 }) => {
      /** @type {Line} */
      const line = row2 === undefined ? { name, row } : { name, column };
      return { line, lanes: lanesOf(matrices, line) ?? [] };
    });
}

// A cell of dense A, its stored cell and the nibble of its chunk: from each to the others.
/**
 * @param {AnyMatrices & { stored: Stored }} matrices
 * @param {InstructionInfo} instruction
 * @param {Cell} cell
 * @returns {Mark[]}
 */
function sparseForms({ A, stored }, instruction, { name, row, column }) {
  if (!["A", "stored", "E"].includes(name)) return [];
  const dense =
    name === "A" ? column : name === "stored" ? stored.counterpart[row * stored.columns + column] : null;
  const chunk = dense === null ? column : Math.floor(dense / instruction.chunk);
  /** @type {Mark} */
  const whole = {
    name: "A",
    row,
    column: chunk * instruction.chunk,
    column2: (chunk + 1) * instruction.chunk - 1,
  };
  /** @type {Mark[]} */
  const marks = [whole, { name: "E", row, column: chunk }];
  if (dense === null)
    return [
      ...marks,
      { name: "stored", row, column: chunk * instruction.kept, column2: (chunk + 1) * instruction.kept - 1 },
    ];
  const index = A.counterpart ? A.counterpart[row * A.columns + dense] : -1;
  if (name === "stored") marks.push({ name: "A", row, column: dense });
  else if (index >= 0) marks.push({ name: "stored", row, column: index % stored.columns });
  return marks;
}

// A scale factor and the block that it scales: along a row of A, down a column of B.
/** @param {AnyMatrices & { SFA: Matrix }} matrices @param {Cell} cell @returns {Mark[]} */
function blocks({ A, SFA, stored }, { name, row, column }) {
  const long = A.columns / SFA.columns;
  const dense = name === "stored" && stored ? stored.counterpart[row * stored.columns + column] : column;
  if (["A", "stored", "SFA"].includes(name)) {
    const block = name === "SFA" ? column : Math.floor(dense / long);
    return [
      { name: "A", row, column: block * long, column2: (block + 1) * long - 1 },
      { name: "SFA", row, column: block },
    ];
  }
  if (name !== "B" && name !== "SFB") return [];
  const block = name === "SFB" ? row : Math.floor(row / long);
  return [
    { name: "B", row: block * long, row2: (block + 1) * long - 1, column },
    { name: "SFB", row: block, column },
  ];
}
