// The text of a cell: its value, its code in hexadecimal or binary, or the lane and element that hold it.

import { binary } from "./util.js";
import { cellText, longest, holderOf } from "./matrix.js";
import { LANES } from "./tensor_map.js";

export const LETTER = 0.602; // width of a letter of the monospaced font, relative to its size

// How many letters of the smallest size fit a cell of this width.
/** @param {number} width */
export const roomFor = (width) => Math.floor((width - 1) / (8 * LETTER));

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
export function cellLines(matrices, matrix, index, label, digits = 4) {
  if (matrix.unknown && label !== "lane") return [""];
  if (label === "hex")
    return split(matrix.codes[index].toString(16).padStart(Math.ceil(matrix.bits / 4), "0"), 8);
  if (label === "binary") return split(binary(matrix.codes[index], matrix.bits), matrix.bits === 64 ? 16 : 8);
  if (label === "lane") {
    const [holder, at] = holderOf(matrices, matrix, index);
    if (at < 0) return [""];
    if (holder.place) return [`${holder.place.lane[at] % LANES}·${holder.place.column[at]}`];
    if (holder.lane) return [`${holder.lane[at]}·${holder.element}${holder.elementOf[at]}`];
  }
  return [cellText(matrix, index, digits)];
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
