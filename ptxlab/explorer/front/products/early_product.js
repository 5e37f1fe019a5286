// D = A · B + C of f16 or of integers, computed in the page while Python loads: the first edits are answered at once.
// What the page cannot compute exactly is left to Python, which makes all edits again when it is there.

import { binary, hex, typed } from "../common/numbers.js";
import { F16_MOST, codeOfF16, exactProduct, fusedSteps, nearestF16, toNumber, toUnits } from "./fused_sum.js";

/** @typedef {import("./fused_sum.js").FusedChip} FusedChip */
/** @typedef {FusedChip | "exact"} Adder how a chip adds f16, or that it adds integers */
/** @typedef {Extract<Message, { type: "set_cell" }>} CellEdit */

const TYPED_NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/;
const NO_POINT = 1e7; // whole numbers below have no point and no exponent
const WHOLE_NUMBER = /^[+-]?\d{1,18}$/;
// the integers of a type
const RANGES = /** @type {Record<string, [number, number]>} */ ({
  s8: [-128, 127],
  u8: [0, 255],
  s4: [-8, 7],
  u4: [0, 15],
  s32: [-(2 ** 31), 2 ** 31 - 1],
});
const OPERANDS = /** @type {Name[]} */ (["A", "B", "C", "D"]);

const asView = (/** @type {Float32Array | Int32Array | Uint32Array} */ numbers) =>
  new DataView(numbers.buffer);
const codeOfF32 = (/** @type {number} */ value) => new Uint32Array(new Float32Array([value]).buffer)[0];

// The number that a typed text means in a matrix of this type; null if Python has to say what it means.
/** @param {string} text @param {string} type */
function numberOf(text, type) {
  const word = text.trim().replace("\u2212", "-").toLowerCase();
  if (type in RANGES) {
    const [least, most] = RANGES[type];
    const whole = WHOLE_NUMBER.test(word) ? Number(word) + 0 : Number.NaN;
    return whole >= least && whole <= most ? whole : null;
  }
  if (type !== "f16" && type !== "f32") return null;
  if (!TYPED_NUMBER.test(word)) return null;
  const number = Number(word);
  if (Object.is(number, -0) || (type === "f16" && Math.abs(number) > F16_MOST)) return null;
  const value = type === "f16" ? nearestF16(number) : Math.fround(number);
  return value === 0 ? 0 : value;
}

/** @param {number} value @param {MatrixInfo} info */
function codeOfNumber(value, { type, bits }) {
  if (type in RANGES) return value & (2 ** bits - 1);
  return type === "f16" ? codeOfF16(value) : codeOfF32(value);
}

// As NumPy writes a number of its type: the fewest digits from which it can be read back.
/** @param {number} value @param {string} type */
function textOf(value, type) {
  if (type in RANGES || (Number.isInteger(value) && Math.abs(value) < NO_POINT)) return String(value);
  const nearest = type === "f16" ? nearestF16 : Math.fround;
  let digits = 1;
  while (digits < 17 && nearest(Number(value.toPrecision(digits))) !== value) digits += 1;
  const rounded = Number(value.toPrecision(digits));
  if (Math.abs(value) >= 1e-4 && Math.abs(value) < NO_POINT) return String(rounded);
  return value.toExponential(digits - 1).replace(/([+-])(\d)$/, "$10$2");
}

export class EarlyProduct {
  /** @param {Traits} state what the page opened with @param {Adder} chip whose D it shows */
  constructor(state, chip) {
    this.chip = chip;
    this.matrices = state.instruction.matrices ?? {};
    this.numbers = /** @type {Record<Name, Float32Array | Int32Array>} */ ({});
    /** @type {ArrayKind<Float32Array | Int32Array>} */
    const Numbers = chip === "exact" ? Int32Array : Float32Array;
    this.codes = /** @type {Record<Name, Uint32Array>} */ ({});
    for (const name of OPERANDS) {
      const sent = state[name];
      Object.assign(this.numbers, { [name]: typed(Numbers, sent.values) });
      Object.assign(this.codes, { [name]: typed(Uint32Array, sent.codes) });
    }
  }

  // What changes on the page by an edit; null where Python has to make it.
  /** @param {Message} message @returns {Partial<Traits> | null} */
  answer(message) {
    if (message.type !== "set_cell") return null;
    const { name, row, column, text } = message;
    const info = this.matrices[name];
    const value = info?.editable ? numberOf(text, info.type) : null;
    if (!info || value === null) return null;
    const index = row * info.columns + column;
    const before = this.numbers[name][index];
    this.numbers[name][index] = value;
    const D = this.product();
    if (!D) {
      this.numbers[name][index] = before;
      return null;
    }
    this.codes[name][index] = codeOfNumber(value, info);
    this.numbers.D = D;
    this.codes.D = new Uint32Array(D.buffer.slice(0));
    return /** @type {Partial<Traits>} */ ({ [name]: this.sent(name), D: this.sent("D") });
  }

  // D as the chip computes it; null if a number is none, or too fine for this.
  product() {
    const { chip } = this;
    const { A, B, C } = this.numbers;
    if (![...A, ...B, ...C].every(Number.isFinite)) return null;
    const [n, k] = [this.matrices.B?.columns ?? 0, this.matrices.B?.rows ?? 0];
    const D = chip === "exact" ? new Int32Array(C.length) : new Float32Array(C.length);
    for (let index = 0; index < D.length; index += 1) {
      const [row, column] = [Math.floor(index / n), index % n];
      const factors = Array.from({ length: k }, (_, at) => [A[row * k + at], B[at * n + column]]);
      if (chip === "exact") {
        D[index] = factors.reduce((sum, [a, b]) => sum + a * b, C[index]); // its lowest 32 bits
        continue;
      }
      const start = toUnits(C[index]);
      if (start === null) return null;
      const products = factors.map(([a, b]) => exactProduct(a, b));
      D[index] = toNumber(fusedSteps(products, chip, start).at(-1)?.sum ?? 0n);
    }
    return D;
  }

  /** @param {Name} name */
  sent(name) {
    return { values: asView(this.numbers[name].slice()), codes: asView(this.codes[name].slice()) };
  }

  // What is in the registers of a lane.
  /** @param {number} lane @returns {Registers} */
  registers(lane) {
    return /** @type {Registers} */ (
      Object.fromEntries(OPERANDS.map((name) => [name, this.registersOf(name, lane)]))
    );
  }

  /** @param {Name} name @param {number} lane @returns {Register[]} */
  registersOf(name, lane) {
    const info = /** @type {MatrixInfo} */ (this.matrices[name]);
    const [lanes, elements, registers, lows] = [info.lane, info.element_map, info.register_map, info.low].map(
      (view) => /** @type {Int16Array} */ (typed(Int16Array, view)),
    );
    const found = /** @type {Register[]} */ ([]);
    const words = /** @type {number[]} */ ([]);
    lanes.forEach((holder, index) => {
      if (holder !== lane) return;
      const code = this.codes[name][index];
      const at = registers[index];
      found[at] ??= { hex: "", fields: [] };
      found[at].fields.push({
        element: elements[index],
        row: Math.floor(index / info.columns),
        column: index % info.columns,
        low: lows[index],
        bits: binary(code, info.bits),
        text: textOf(this.numbers[name][index], info.type),
      });
      words[at] = (words[at] ?? 0) + code * 2 ** lows[index];
    });
    found.forEach((register, at) => {
      register.hex = hex(words[at], 32);
      register.fields.sort((one, other) => other.low - one.low);
    });
    return found;
  }
}
