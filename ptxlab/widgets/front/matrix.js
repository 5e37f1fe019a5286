// One object for every matrix, as Python described and sent it, and what is said of its cells.

import { typed, short, exact, hex, binary } from "./text.js";

export const MATRICES = ["A", "stored", "B", "C", "D", "E", "SFA", "SFB"];

export function readMatrix(model, about, name) {
  const info = about.matrices?.[name];
  const sent = model.get(name);
  if (!info || !sent?.values) return null;
  return {
    ...info,
    name,
    values: typed(info.kind !== "float" ? Int32Array : info.bits === 64 ? Float64Array : Float32Array, sent.values),
    codes: typed(info.bits === 64 ? BigUint64Array : Uint32Array, sent.codes),
    home: typed(Int32Array, sent.home),
    differ: typed(Uint8Array, sent.differ),
    count: sent.count,
    lane: typed(Int16Array, info.lane),
    elementOf: typed(Int16Array, info.element_map),
    registerOf: typed(Int16Array, info.register_map),
    low: typed(Int16Array, info.low),
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

export function largest(values) {
  let most = 1e-30;
  for (const value of values) if (Number.isFinite(value)) most = Math.max(most, Math.abs(value));
  return most;
}

export function describe(matrices, name, row, column) {
  const matrix = matrices[name];
  const index = row * matrix.columns + column;
  const said = [`${matrix.label}[${row}][${column}] = ${editText(matrix, index)}`];
  let holder = matrix;
  let at = index;
  if (name === "A" && matrix.home) {
    at = matrix.home[index];
    holder = matrices.stored;
    if (at < 0) {
      const chunk = Math.floor((column * matrices.E.columns) / matrix.columns);
      said.push(`not stored: nibble 0b${binary(matrices.E.codes[row * matrices.E.columns + chunk], 4)} keeps others of chunk ${chunk}`);
      return said.join(" · ");
    }
    said.push(`stored at [${row}][${at % holder.columns}]`);
  }
  if (name === "stored") said.push(`stands for A[${row}][${matrix.home[index]}]`);
  if (!holder.lane) {
    said.push(holder.note);
  } else {
    const low = holder.low[at];
    const bits = holder.bits === 1 ? `bit ${low}` : `bits ${low + holder.bits - 1}..${low}`;
    said.push(`lane ${holder.lane[at]}`, `element ${holder.element}${holder.elementOf[at]}`, `register ${holder.registerOf[at]}, ${bits}`);
  }
  said.push(`code ${hex(holder.codes[at], holder.bits)}`);
  if (holder.lane && holder.note) said.push(holder.note);
  if (matrix.differ?.[index]) said.push("emulator and GPU differ here");
  return said.join(" · ");
}
