// Transfers: which cell goes where, in words and in colours, and the controls.

import { memoize } from "../common/memoize.js";
import { hex, typed } from "../common/numbers.js";
import { cellOfIndex, cellText, indexOfCell } from "../matrix/matrix.js";

// Words of A that a word of D comes from, and back.
/** @param {Pick<Matrices, "A" | "D">} matrices @returns {TransferLinks | null} */
const linksOf = ({ A, D }) => (A && D?.counterpart ? linksFrom(D.counterpart, D.codes.length) : null);

const linksFrom = memoize((/** @type {Int32Array} */ from, /** @type {number} */ words) => {
  const parts = from.length / words;
  const targets = /** @type {number[][]} */ ([]);
  const sources = Array.from({ length: words }, (_, index) => {
    const sourcesOfWord = /** @type {number[]} */ ([]);
    for (let part = 0; part < parts; part += 1) {
      const source = from[index * parts + part];
      if (source < 0) continue;
      sourcesOfWord.push(source);
      (targets[source] ??= []).push(index);
    }
    return sourcesOfWord;
  });
  return { sources, targets };
});

// The words that a word comes from or goes to.
/** @param {Matrices} matrices @param {Cell} cell @returns {Cell[]} */
export function linkedWords(matrices, { name, row, column }) {
  const links = linksOf(matrices);
  if (!links || (name !== "A" && name !== "D")) return [];
  const index = indexOfCell(matrices[name], { row, column });
  const [other, partners] = name === "A" ? [matrices.D, links.targets] : [matrices.A, links.sources];
  return (partners[index] ?? []).map((at) => cellOfIndex(other, at));
}

/** @param {Matrix} matrix @param {number} column */
export const columnName = ({ column_names: names }, column) => names?.[column] ?? String(column);

/** @param {Matrix} matrix */
const inRegisters = ({ axes }) => axes?.[1] === "register";

// Registers are named by register and thread, since "R[37][r3]" is no PTX; other words as elements of a
// matrix.
/** @param {Matrices} matrices @param {Cell} cell */
export function nameOf(matrices, { name, row, column }) {
  const matrix = matrices[name];
  if (!inRegisters(matrix)) return `${matrix.label}[${row}][${column}]`;
  const after = matrix.label.endsWith("'") ? " after" : "";
  return `${matrix.column_names?.[column] ?? `r${column}`} of ${matrix.axes?.[0]} ${row}${after}`;
}

// A word as a line of text: what it is, and where it comes from or goes to.
/** @param {Matrices} matrices @param {InstructionInfo} instruction @param {Cell} cell */
export function transferFacts(matrices, { transfer, mnemonic }, cell) {
  const matrix = matrices[cell.name];
  const index = indexOfCell(matrix, cell);
  const content = cellText(matrix, index, 9);
  const bits = hex(matrix.codes[index], matrix.bits);
  const value = matrix.kind === "bits" ? bits : `${content} (${bits})`;
  const [rowAxis, columnAxis] = matrix.axes ?? ["row", "column"];
  const facts = [`${nameOf(matrices, cell)} = ${value}`];
  if (!inRegisters(matrix)) facts.push(`${rowAxis} ${cell.row}, ${columnAxis} ${cell.column}`);
  const bytes = typed(Int16Array, matrix.byte_map);
  if (bytes) facts.push(`byte ${bytes[index]} (${hex(bytes[index], 12)})`);
  if (matrix.address_lanes) facts.push(`lane ${cell.row} supplies the address of its row`);
  const linked = linkedWords(matrices, cell);
  const family = transfer?.family ?? mnemonic;
  if (cell.name === "C") return [...facts, `before ${family}`];
  if (linked.length) {
    facts.push(wayOf(matrices, transfer, cell, linked));
  } else if (cell.name === "A") {
    const isRead = Boolean(matrix.lane && matrix.lane[index] >= 0);
    facts.push(
      isRead ? `${family} reads it, but its result comes from other words` : `${family} does not read it`,
    );
  } else facts.push(matrix.column_names?.length ? "computed from the loaded words" : "stays as it was");
  return facts;
}

// "goes to T[41][3]"; for halves, and for elements that become bytes, which ones.
/** @param {Matrices} matrices @param {TransferInfo | undefined} transfer @param {Cell} cell @param {Cell[]} linked */
function wayOf(matrices, transfer, cell, linked) {
  const names = linked.slice(0, 4).map((word) => nameOf(matrices, word));
  const all = names.join(", ") + (linked.length > 4 ? ` and ${linked.length - 4} more` : "");
  if (transfer?.element_bits) {
    const elements = `elements of ${transfer.element_bits} bits`;
    return cell.name === "A"
      ? `its ${elements} become bytes of ${all}`
      : `four ${elements} of ${all}, each in a byte`;
  }
  if (!transfer?.halves) return `${cell.name === "A" ? "goes to" : "comes from"} ${all}`;
  const isLoad = transfer.registers === "D";
  if ((cell.name === "D") === isLoad)
    return isLoad ? `the lower halves of ${all}` : `its halves go to ${all}, the lower one first`;
  const [register] = linked; // which of its two words this one is
  const isUpper = linkedWords(matrices, register).findIndex(
    ({ row, column }) => row === cell.row && column === cell.column,
  );
  const half = `the ${isUpper ? "upper" : "lower"} half of ${all}`;
  return isLoad ? `its lower half goes to ${half}` : `its lower half is ${half}; the upper is 0`;
}

// What the reader can do, and what is assumed about an instruction that no GPU here has run.
/** @param {InstructionInfo} instruction @param {boolean} isSaved */
export function transferHint({ tensor, matrices }, isSaved = false) {
  const edit = isSaved ? "" : "; type to change it";
  const hint = `Point at ${matrices.A?.bits === 32 ? "a word" : "an element"} to see where it goes or comes from; click to select it${edit}.`;
  const note = tensor?.note ?? "";
  return note ? `${hint} ${note[0].toUpperCase()}${note.slice(1)}.` : hint;
}

// The colour of a word: that of the row or column of what is in registers, or of what is read.
/** @param {TensorView} view @param {TensorName} name @returns {(index: number) => Colour} */
export function transferPainter({ colour, before, content, theme }, name) {
  const { matrices, instruction } = content;
  const { colours, ink } = theme;
  const plain = /** @type {Colour} */ ([ink.plain, ink.text]);
  const links = linksOf(matrices);
  const by = instruction.transfer?.by ?? "A";
  if (!links || (name === "D" && before)) return () => plain;
  const { columns } = matrices[by];
  const partners = name === "A" ? links.targets : links.sources;
  return (index) => {
    const linked = partners[index];
    if (!linked?.length) return plain;
    const at = name === by ? index : linked[0];
    return colours[(colour === "row" ? Math.floor(at / columns) : at % columns) % 32];
  };
}
