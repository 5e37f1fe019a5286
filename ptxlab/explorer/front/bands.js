// Cells that belong to the one under the pointer: what goes into a cell of D, the other sides of a sparse A, the block of a scale factor.

import { typed } from "./text.js";

/** @param {Given} matrices @param {About} about @param {Hovered | null} hit @returns {Mark[]} */
export function bands(matrices, about, hit) {
  if (!hit?.name || !matrices[hit.name]) return [];
  if (hit.name === "D" || hit.name === "C") return factors(matrices, about, hit);
  return [...(matrices.E ? sides(matrices, about, hit) : []), ...(matrices.SFA ? blocks(matrices, hit) : [])];
}

// The row of A and the column of B, with their scale factors.
/** @param {Given} matrices @param {About} about @param {Cell} cell @returns {Mark[]} */
function factors({ D, SFA, SFB }, { k, column_of_b }, { row, column }) {
  const other = column_of_b ? typed(Int16Array, column_of_b)[row * D.columns + column] : column;
  /** @type {Mark[]} */
  const found = [{ name: "A", row, column: 0, column2: k - 1 }, { name: "B", row: 0, row2: k - 1, column: other }];
  if (!SFA) return found;
  return [...found, { name: "SFA", row, column: 0, column2: SFA.columns - 1 }, { name: "SFB", row: 0, row2: SFB.rows - 1, column: other }];
}

// A cell of dense A, its stored cell and the nibble of its chunk: from each to the others.
/** @param {Given & { stored: Stored }} matrices @param {About} about @param {Cell} cell @returns {Mark[]} */
function sides({ A, stored }, about, { name, row, column }) {
  if (!["A", "stored", "E"].includes(name)) return [];
  const dense = name === "A" ? column : name === "stored" ? stored.home[row * stored.columns + column] : null;
  const chunk = dense === null ? column : Math.floor(dense / about.chunk);
  /** @type {Mark} */
  const whole = { name: "A", row, column: chunk * about.chunk, column2: (chunk + 1) * about.chunk - 1 };
  /** @type {Mark[]} */
  const found = [whole, { name: "E", row, column: chunk }];
  if (dense === null) return [...found, { name: "stored", row, column: chunk * about.kept, column2: (chunk + 1) * about.kept - 1 }];
  const home = A.home ? A.home[row * A.columns + dense] : -1;
  if (name === "stored") found.push({ name: "A", row, column: dense });
  else if (home >= 0) found.push({ name: "stored", row, column: home % stored.columns });
  return found;
}

// A scale factor and the block that it scales: along a row of A, down a column of B.
/** @param {Given & { SFA: Matrix }} matrices @param {Cell} cell @returns {Mark[]} */
function blocks({ A, SFA, stored }, { name, row, column }) {
  const long = A.columns / SFA.columns;
  const dense = name === "stored" && stored ? stored.home[row * stored.columns + column] : column;
  if (["A", "stored", "SFA"].includes(name)) {
    const block = name === "SFA" ? column : Math.floor(dense / long);
    return [{ name: "A", row, column: block * long, column2: (block + 1) * long - 1 }, { name: "SFA", row, column: block }];
  }
  if (name !== "B" && name !== "SFB") return [];
  const block = name === "SFB" ? row : Math.floor(row / long);
  return [{ name: "B", row: block * long, row2: (block + 1) * long - 1, column }, { name: "SFB", row: block, column }];
}
