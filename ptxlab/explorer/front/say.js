// What is said of a cell, a row or a column: in the line below the registers, in the tip, and to screen readers.

import { hex, binary } from "./text.js";
import { cellText, editText, holderOf, lanesOf } from "./matrix.js";

// "4..7, 36": lanes in a row are drawn together.
/** @param {number[]} lanes */
function runs(lanes) {
  const found = /** @type {[number, number][]} */ ([]);
  for (const lane of lanes) {
    const last = found.at(-1);
    if (last && last[1] === lane - 1) last[1] = lane;
    else found.push([lane, lane]);
  }
  return found.map(([first, last]) => (last > first ? `${first}..${last}` : first)).join(", ");
}

/** @param {Matrices} matrices @param {Line} line */
export function describeLine(matrices, line) {
  const matrix = matrices[line.name];
  const said = line.row === undefined ? `column ${line.column} of ${matrix.label}` : `row ${line.row} of ${matrix.label}`;
  const lanes = lanesOf(matrices, line);
  return lanes ? `${said} is held by lane${lanes.length > 1 ? "s" : ""} ${runs(lanes)}` : `${said}: ${matrix.note}`;
}

// Which of several products a cell belongs to.
/** @param {Matrix} matrix @param {Products} products @param {number} row @param {number} column */
export function productOf({ rows, columns }, { along, count }, row, column) {
  return Math.floor((along === "rows" ? row / rows : column / columns) * count);
}

/** @param {About} about @param {number} product */
export const nameOfProduct = (about, product) => `quad pair ${product}, lanes ${runs(about.lanes_of?.[product] ?? [])}`;

/** @param {number} first @param {number} last */
const span = (first, last) => (last > first ? `${first}..${last}` : `${first}`);

/** @param {Int16Array} low @param {number} bits @param {number} at */
function bitsOf(low, bits, at) { return bits === 1 ? `bit ${low[at]}` : `bits ${low[at] + bits - 1}..${low[at]}`; }

// Where an element is: lane, element, register and bits; or its place in shared memory.
/** @param {Matrix} matrix @param {number} at */
function whereHeld(matrix, at) {
  if (matrix.byte) {
    const bit = matrix.low ? `, ${bitsOf(matrix.low, matrix.bits, at)}` : "";
    return [`in shared memory, byte ${matrix.byte[at]} (${hex(matrix.byte[at], 12)})${bit}`, `core matrix ${matrix.core[at]}, row ${matrix.line[at]}`, matrix.memory ?? ""];
  }
  if (!matrix.lane) return [matrix.note];
  const byte = matrix.name.startsWith("SF") ? `, byte ${matrix.low[at] / 8}` : "";
  return [`lane ${matrix.lane[at]}`, `element ${matrix.element}${matrix.elementOf[at]}`, `register ${matrix.registerOf[at]}, ${bitsOf(matrix.low, matrix.bits, at)}${byte}`];
}

// The nibble that decides about a chunk of sparse A, and who holds it.
/** @param {Matrices} matrices @param {number} row @param {number} chunk */
function nibbleOf({ E }, row, chunk) {
  const at = row * E.columns + chunk;
  return [`nibble 0b${binary(E.codes[at], 4)}`, `lane ${E.lane[at]}, register ${E.registerOf[at]}, ${bitsOf(E.low, E.bits, at)}`];
}

// What a nibble keeps: columns of A.
/** @param {Matrices} matrices @param {number} row @param {number} chunk */
function kept({ E, stored }, row, chunk) {
  const each = stored.columns / E.columns;
  const columns = Array.from(stored.home.slice(row * stored.columns + chunk * each, row * stored.columns + (chunk + 1) * each));
  return `keeps column${columns.length > 1 ? "s" : ""} ${columns.join(", ")} of chunk ${chunk}`;
}

// A cell and its block's scale factor, either way.
/** @param {Given} matrices @param {Name} name @param {number} row @param {number} column */
function scaled({ A, B, SFA, SFB }, name, row, column) {
  if (!SFA) return [];
  const long = A.columns / SFA.columns;
  /** @param {number} block */
  const range = (block) => span(block * long, (block + 1) * long - 1);
  /** @param {Matrix} scale @param {number} r @param {number} c */
  const factor = (scale, r, c) => `scaled by ${scale.label}[${r}][${c}] = ${editText(scale, r * scale.columns + c)}`;
  if (name === "A") return [factor(SFA, row, Math.floor(column / long))];
  if (name === "B") return [factor(SFB, Math.floor(row / long), column)];
  if (name === "SFA") return [`scales ${A.label}[${row}][${range(column)}]`];
  return name === "SFB" ? [`scales ${B.label}[${range(row)}][${column}]`] : [];
}

/** @param {Matrices} matrices @param {About} about @param {Cell} cell */
export function describe(matrices, about, { name, row, column }) {
  const matrix = matrices[name];
  const index = row * matrix.columns + column;
  const said = [`${matrix.label}[${row}][${column}] = ${editText(matrix, index)}`];
  const [holder, at] = holderOf(matrices, matrix, index);
  const sparse = name === "A" && matrix.home;
  const chunk = matrices.E && Math.floor((column * matrices.E.columns) / matrix.columns);
  if (at < 0) {
    const [nibble, place] = nibbleOf(matrices, row, chunk);
    return [...said, `not stored: ${nibble} keeps others of chunk ${chunk}`, `that nibble is in ${place}`, ...scaled(matrices, name, row, column)].join(" · ");
  }
  if (sparse) said.push(`stored at [${row}][${at % holder.columns}]`);
  if (name === "stored") said.push(`stands for A[${row}][${matrices.stored.home[index]}]`);
  if (name === "E") said.push(kept(matrices, row, column));
  said.push(...whereHeld(holder, at));
  if (name !== "E") said.push(`code ${hex(holder.codes[at], holder.bits)}`);
  said.push(...scaled(matrices, name, row, column));
  if (sparse || name === "stored") said.push(nibbleOf(matrices, row, chunk).join(" in "));
  if (matrix.products) said.push(nameOfProduct(about, productOf(matrix, matrix.products, row, column)));
  else if (holder.lane && holder.note) said.push(holder.note);
  if (matrix.differ?.[index]) said.push(`${matrix.by[1]} gives ${cellText({ ...matrix, values: matrix.otherValues }, index, 9)}, code ${hex(matrix.otherCodes[index], matrix.bits)}`);
  return said.join(" · ");
}
