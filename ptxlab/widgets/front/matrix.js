// One object for every matrix, as Python described and sent it.

import { typed, short, exact, binary } from "./text.js";

export const MATRICES = ["A", "stored", "B", "C", "D", "E", "SFA", "SFB"];

export function readMatrix(model, about, name) {
  const info = about.matrices?.[name];
  const sent = model.get(name);
  if (!info || !sent?.values) return null;
  const Values = info.kind !== "float" ? Int32Array : info.bits === 64 ? Float64Array : Float32Array;
  const Codes = info.bits === 64 ? BigUint64Array : Uint32Array;
  return {
    ...info,
    name,
    values: typed(Values, sent.values),
    codes: typed(Codes, sent.codes),
    otherValues: typed(Values, sent.other_values),
    otherCodes: typed(Codes, sent.other_codes),
    by: sent.by?.map((side) => (side === "gpu" ? "GPU" : side)),
    home: typed(Int32Array, sent.home),
    differ: typed(Uint8Array, sent.differ),
    count: sent.count,
    lane: typed(Int16Array, info.lane),
    elementOf: typed(Int16Array, info.element_map),
    registerOf: typed(Int16Array, info.register_map),
    low: typed(Int16Array, info.low),
    byte: typed(Int16Array, info.byte),
    core: typed(Int16Array, info.core),
    line: typed(Int16Array, info.line),
  };
}

export function cellText(matrix, index, digits = 4) {
  if (matrix.name === "E") return binary(matrix.codes[index], 4);
  return matrix.kind === "float" ? short(matrix.values[index], digits) : String(matrix.values[index]);
}

export function editText(matrix, index) {
  if (matrix.name === "E") return "0b" + binary(matrix.codes[index], 4);
  return matrix.kind === "float" ? exact(matrix.values[index], matrix.bits === 64) : String(matrix.values[index]);
}

export function longest(matrix) {
  if (matrix.name === "E") return 4;
  let most = 1;
  const step = Math.max(1, Math.floor(matrix.values.length / 4096));
  for (let index = 0; index < matrix.values.length; index += step) most = Math.max(most, cellText(matrix, index).length);
  return Math.min(most, 7);
}

// The matrix and index whose lane holds a cell: for a dense A of a sparse instruction its stored half, -1 where it is not stored.
export function holderOf(matrices, matrix, index) {
  return matrix.name === "A" && matrix.home ? [matrices.stored, matrix.home[index]] : [matrix, index];
}

export function largest(values) {
  let most = 1e-30;
  for (const value of values) if (Number.isFinite(value)) most = Math.max(most, Math.abs(value));
  return most;
}

// Indices of the cells that a lane holds; sorted out once for each matrix.
export function cellsOf(matrix, lane) {
  if (!matrix.byLane) {
    matrix.byLane = [];
    matrix.lane.forEach((holder, index) => { (matrix.byLane[holder] ??= []).push(index); });
  }
  return matrix.byLane[lane] ?? [];
}

export function differing(matrix) {
  matrix.differing ??= Array.from(matrix.differ.keys()).filter((index) => matrix.differ[index]);
  return matrix.differing;
}

// Lanes that hold a row or a column, in ascending order; null where no lane does.
export function lanesOf(matrices, { name, row, column }) {
  const matrix = matrices[name];
  if (!holderOf(matrices, matrix, 0)[0].lane) return null;
  const found = new Set();
  const [count, step] = row === undefined ? [matrix.rows, matrix.columns] : [matrix.columns, 1];
  const start = row === undefined ? column : row * matrix.columns;
  for (let each = 0; each < count; each += 1) {
    const [holder, at] = holderOf(matrices, matrix, start + each * step);
    if (at >= 0) found.add(holder.lane[at]);
  }
  return [...found].sort((one, other) => one - other);
}

// A rectangle of cells as a spreadsheet copies it: tabs between columns, a line for every row.
export function block({ top, left, bottom, right }, text) {
  const lines = [];
  for (let row = top; row <= bottom; row += 1) {
    const words = [];
    for (let column = left; column <= right; column += 1) words.push(text(row, column));
    lines.push(words.join("\t"));
  }
  return lines.join("\n");
}
