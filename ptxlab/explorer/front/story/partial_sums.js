// D while it fills: after every k the exact sum of C and of the products so far, in every cell. A sum that one float64
// cannot hold is several of which none overlaps another (Shewchuk 1997), as in Python's math.fsum.

import { binary, typed } from "../common/numbers.js";
import { editText, indexOfCell } from "../matrix/matrix.js";

const SPLITTER = 2 ** 27 + 1; // halves of a float64
const LEAST_F16 = -14;
// how deep the colour of a cell is before the first product
const PALEST = 0.25;

const word = new Float32Array(1);
const wordCode = new Uint32Array(word.buffer);
const double = new Float64Array(1);
const doubleCode = new BigUint64Array(double.buffer);

// Adds a number to numbers that do not overlap, the least first.
/** @param {number[]} parts @param {number} added */
function grow(parts, added) {
  let count = 0;
  let sum = added;
  for (const part of parts) {
    const total = sum + part;
    const rest = Math.abs(sum) < Math.abs(part) ? sum - (total - part) : part - (total - sum);
    if (rest) parts[count++] = rest;
    sum = total;
  }
  parts.length = count;
  parts.push(sum);
}

// The nearest float64, ties to even.
/** @param {number[]} parts */
function nearest(parts) {
  let at = parts.length - 1;
  let [sum, rest] = [parts[at], 0];
  while (at > 0 && !rest) {
    const part = parts[--at];
    const total = sum + part;
    rest = part - (total - sum);
    sum = total;
  }
  if (at > 0 && rest && rest < 0 === parts[at - 1] < 0) {
    const double = 2 * rest;
    if (sum + double - sum === double) return sum + double; // half-way, and more below
  }
  return sum;
}

// What a product of two float64 loses.
/** @param {number} a @param {number} b @param {number} product */
function restOfProduct(a, b, product) {
  const [x, y] = [a * SPLITTER, b * SPLITTER];
  const [high, top] = [x - (x - a), y - (y - b)];
  const [low, rest] = [a - high, b - top];
  return low * rest - (product - high * top - low * top - high * rest);
}

// The code of a number that the type of a matrix has, or else -1.
/** @param {Matrix} matrix @param {number} value */
function codeOf({ kind, bits }, value) {
  if (kind !== "float") return value === (value | 0) ? value >>> 0 : -1;
  if (bits === 32) {
    word[0] = value;
    return word[0] === value ? wordCode[0] : -1;
  }
  if (bits !== 16 || !Number.isFinite(value)) return -1;
  const size = Math.abs(value);
  word[0] = size; // its exponent
  const exponent = size ? Math.max((wordCode[0] >> 23) - 127, LEAST_F16) : LEAST_F16;
  const units = size / 2 ** (exponent - 10);
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  return Number.isInteger(units) && size <= 65504 ? sign + ((exponent - LEAST_F16) << 10) + units : -1;
}

export class PartialSums {
  /** @param {InstructionInfo} instruction @param {AnyMatrices} matrices of which D is computed */
  constructor(instruction, matrices) {
    const { D } = matrices;
    this.instruction = instruction;
    this.matrices = matrices;
    this.columnOfB = typed(Int16Array, instruction.column_of_b);
    this.bitwise = /\.(xor|and)\.popc/.exec(instruction.mnemonic)?.[1] ?? "";
    this.isKept = cellsThatStay(instruction, D);
    this.k = 0;
    this.sums = new Float64Array(D.values.length);
    // of the cells whose sum is not one float64
    this.parts = /** @type {Map<number, number[]>} */ (new Map());
    this.begin();
  }

  begin() {
    const { instruction, matrices, sums } = this;
    this.k = 0;
    this.parts.clear();
    const { C } = matrices;
    for (let index = 0; index < sums.length; index += 1)
      sums[index] = C ? C.values[index] * (this.isKept(index) ? 1 : instruction.scale_of_c) : 0;
  }

  // D after the products of the first so many k.
  /** @param {number} k @returns {Matrix} */
  after(k) {
    if (k < this.k) this.begin();
    for (; this.k < k; this.k += 1) this.addProducts();
    const { D } = this.matrices;
    const deep = PALEST + ((1 - PALEST) * k) / this.instruction.k;
    const values = Float64Array.from(this.sums);
    const isWide = D.bits === 64;
    const codes = isWide ? new BigUint64Array(values.length) : new Uint32Array(values.length);
    const beyond = new Uint8Array(values.length);
    values.forEach((value, index) => {
      beyond[index] = this.parts.has(index) ? 1 : 0;
      word[0] = double[0] = value;
      if (codes instanceof BigUint64Array) codes[index] = doubleCode[0];
      else {
        const code = codeOf(D, value);
        codes[index] = code < 0 ? wordCode[0] : code; // which tells that the cell changed
        if (code < 0) beyond[index] = 1;
      }
    });
    return asPlayed(D, { values, codes, beyond, deep });
  }

  /** @param {number} row @param {number} k */
  isStored(row, k) {
    const { counterpart, columns } = this.matrices.A;
    return !counterpart || counterpart[row * columns + k] >= 0;
  }

  // What a row of A contributes at a k; and, below, a column of B.
  /** @param {number} row @param {number} k */
  factorOfA(row, k) {
    const { A, SFA } = this.matrices;
    const scale = SFA ? SFA.values[row * SFA.columns + this.blockOf(k)] : 1;
    return this.instruction.product_sign * A.values[row * A.columns + k] * scale;
  }

  /** @param {number} index of D @param {number} k */
  factorOfB(index, k) {
    const { B, D, SFB } = this.matrices;
    const column = index % D.columns;
    if (this.instruction.zero_columns?.includes(column)) return 0;
    const other = this.columnOfB ? this.columnOfB[index] : column;
    return B.values[k * B.columns + other] * (SFB ? SFB.values[this.blockOf(k) * SFB.columns + other] : 1);
  }

  /** @param {number} k */
  blockOf(k) {
    const { A, SFA } = this.matrices;
    return SFA ? Math.floor((k * SFA.columns) / A.columns) : 0;
  }

  /** @param {number} a @param {number} b */
  product(a, b) {
    return this.bitwise === "xor" ? Math.abs(a - b) : a * b;
  }

  // Of a cell, the products of some k.
  /** @param {number} index @param {number} first @param {number} last */
  products(index, first, last) {
    const row = Math.floor(index / this.matrices.D.columns);
    let sum = 0;
    for (let k = first; k <= last; k += 1)
      if (this.isStored(row, k)) sum += this.product(this.factorOfA(row, k), this.factorOfB(index, k));
    return sum + 0; // never -0
  }

  addProducts() {
    const { matrices, k, sums, bitwise } = this;
    const { D } = matrices;
    const stacked = new Float64Array(D.columns).map((_, column) => this.factorOfB(column, k));
    for (let index = 0; index < sums.length; index += 1) {
      const [row, column] = [Math.floor(index / D.columns), index % D.columns];
      if (this.isKept(index) || !this.isStored(row, k)) continue;
      const [a, b] = [this.factorOfA(row, k), this.columnOfB ? this.factorOfB(index, k) : stacked[column]];
      const product = this.product(a, b);
      if (bitwise) sums[index] += product;
      else this.add(index, product);
      if (D.bits === 64) this.add(index, restOfProduct(a, b, product) || 0);
    }
  }

  /** @param {number} index @param {number} added */
  add(index, added) {
    const { sums, parts } = this;
    const [known, sum] = [parts.get(index), sums[index]];
    if (known && Number.isFinite(added)) {
      grow(known, added);
      sums[index] = nearest(known);
      if (known.length === 1) parts.delete(index);
      return;
    }
    const total = sum + added;
    const part = total - sum;
    const rest = sum - (total - part) + (added - part);
    sums[index] = total;
    parts.delete(index);
    if (rest) parts.set(index, [rest, total]); // not if it is infinite or no number
  }
}

// Whether a cell stays as it was: in lanes of tensor memory that are not written.
/** @param {InstructionInfo} instruction @param {Matrix} D @returns {(index: number) => boolean} */
function cellsThatStay({ disabled_lanes: lanes }, { place }) {
  if (!lanes?.length || !place) return () => false;
  return (index) => lanes.includes(place.lane[index]);
}

// D before its first sum.
/** @param {Matrix} D */
export function blank(D) {
  const { length } = D.values;
  const codes = D.bits === 64 ? new BigUint64Array(length) : new Uint32Array(length);
  return asPlayed(D, { values: new Float64Array(length), codes, unknown: "not computed yet", deep: PALEST });
}

// D as it is shown while the instruction is played; no chip differs from another yet.
/** @param {Matrix} D @param {Partial<Matrix>} parts @returns {Matrix} */
function asPlayed(D, parts) {
  const compared = D.differ ? { differ: new Uint8Array(D.values.length), differCount: 0 } : {};
  return /** @type {Matrix} */ ({ ...D, ...compared, ...parts, whole: D });
}

// The registers of lanes, with D as it is shown; a sum so far that its type cannot hold has no bits.
/** @param {Traits["lane_registers"]} byLane @param {Matrix} D @returns {Traits["lane_registers"]} */
export function playedRegisters(byLane, D) {
  if (!D.whole) return byLane;
  /** @param {Register} register @returns {Register} */
  const played = ({ hex, fields }) => {
    const indices = fields.map((field) => indexOfCell(D, field));
    const isKnown = !D.unknown && !indices.some((index) => D.beyond?.[index]);
    const code = fields.reduce(
      (sum, { low }, place) => sum + (isKnown ? BigInt(D.codes[indices[place]]) << BigInt(low) : 0n),
      0n,
    );
    return {
      hex: isKnown ? `0x${code.toString(16).padStart(hex.length - 2, "0")}` : "",
      fields: fields.map((field, place) => ({
        ...field,
        bits: isKnown ? binary(D.codes[indices[place]], D.bits) : "·".repeat(D.bits),
        text: D.unknown ? "" : editText(D, indices[place]),
      })),
    };
  };
  return Object.fromEntries(
    Object.entries(byLane).map(([lane, registers]) => [
      lane,
      { ...registers, D: registers.D?.map(played) ?? [] },
    ]),
  );
}
