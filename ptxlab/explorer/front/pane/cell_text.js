// What is written into cells of a size: all of a number, fewer digits of it, or, of four bits, its code as one
// hexadecimal digit; nothing else ever stands where a value was asked for.

import { LETTER, SMALLEST_TEXT } from "../common/canvas.js";
import { fewestLetters } from "../matrix/matrix.js";

// All lengths are in pixels.

// The height of a line of digits, which have no descenders.
export const MIN_ROW = 12;
// The height of a row that is planned for numbers, in lines of them, and around these.
const DIGIT = SMALLEST_TEXT;
const ROW_PADDING = 5;
// The width of a digit of the smallest size.
export const MIN_LETTER = SMALLEST_TEXT * LETTER;
// The room beside digits, with the gap between cells, and beside a single hexadecimal digit.
export const BESIDE_DIGITS = 4;
const BESIDE_CODE = 3;

/** @param {number} lines @param {number} digits their size */
export const rowHeight = (lines, digits = DIGIT) => lines * digits + ROW_PADDING;

/** @param {number} letters */
export const cellWidth = (letters) => letters * MIN_LETTER + BESIDE_DIGITS;

// The width of a cell for a single hexadecimal digit; none of metadata, whose marks tell more.
/** @param {Content} content @param {Matrix} matrix @returns {number | null} */
export function codeWidth(content, { name, bits, kind }) {
  const isShort = bits > 1 && bits <= 4 && kind !== "bits" && name !== "E";
  return isShort && content.display("label") === "value" ? MIN_LETTER + BESIDE_CODE : null;
}

/** @param {Content} content @param {Matrix} matrix @param {number} width @param {number} high @returns {CellText} */
export function cellTextFor(content, matrix, width, high) {
  const label = content.display("label");
  const { letters, lines } = content.labelSize(matrix);
  const room = Math.floor((width - BESIDE_DIGITS) / MIN_LETTER);
  if (letters <= room && high >= lines * MIN_ROW) return { label, letters, lines, kind: "whole" };
  if (high >= MIN_ROW && label === "value") {
    if (room >= fewestLetters(matrix).most) return { label, letters: room, lines, kind: "rounded" };
    const least = codeWidth(content, matrix);
    if (least !== null && width >= least) return { label: "hex", letters: 1, lines: 1, kind: "code" };
  }
  // nibbles that have no room for the lanes that hold them show their bits
  if (matrix.name === "E" && label !== "value" && room >= 4 && high >= MIN_ROW)
    return { label: "value", letters: 4, lines: 1, kind: "whole" };
  return { label, letters, lines, kind: "none" };
}
