// One element of D as a tensor core computes it from f16: numerics/fused_plain.py says the rule, and a test compares
// the two bit for bit. Numbers are exact: whole numbers of units of 2^-48, the smallest product of two f16.

/**
 * @typedef {{ units: bigint, exponent: number }} ExactNumber
 * @typedef {{ code: string, name: string, fraction_bits: number, result_bits: number, depth: number }} FusedChip
 * @typedef {{ first: number, terms: bigint[], kept: bigint[], top: number, last: number, sum: bigint }} FusedStep
 */

const F16_FRACTION = 10;
const F16_LEAST_EXPONENT = -14;
export const F16_MOST = 65504;
const UNIT = -48; // exponent of a unit
const F16_UNIT = -24;

// The nearest f16, ties to even; not a number if it is none or too large.
/** @param {number} value */
export function nearestF16(value) {
  if (!Number.isFinite(value)) return Number.NaN;
  const exponent = Math.max(exponentOf(value), F16_LEAST_EXPONENT);
  const grain = 2 ** (exponent - F16_FRACTION);
  const units = value / grain;
  const below = Math.floor(units);
  const isUp = units - below > 0.5 || (units - below === 0.5 && below % 2 !== 0);
  const nearest = (below + (isUp ? 1 : 0)) * grain;
  return Math.abs(nearest) > F16_MOST ? Number.NaN : nearest;
}

// The bits of an f16; of zero those of +0.
/** @param {number} value */
export function codeOfF16(value) {
  if (value === 0) return 0;
  const exponent = Math.max(exponentOf(value), F16_LEAST_EXPONENT);
  const fraction = Math.abs(value) / 2 ** (exponent - F16_FRACTION);
  const hidden = 1 << F16_FRACTION;
  const field = fraction < hidden ? 0 : exponent - F16_LEAST_EXPONENT + 1;
  return (value < 0 ? 1 << 15 : 0) | (field << F16_FRACTION) | (fraction & (hidden - 1));
}

// The exponent of the leading bit; -Infinity of zero.
/** @param {number} value */
function exponentOf(value) {
  if (value === 0) return -Infinity;
  const guess = Math.floor(Math.log2(Math.abs(value)));
  if (2 ** guess > Math.abs(value)) return guess - 1;
  return 2 ** (guess + 1) <= Math.abs(value) ? guess + 1 : guess;
}

/** @param {bigint} units */
const size = (units) => (units < 0n ? -units : units);

// The exponent of the leading bit of a number of units.
/** @param {bigint} units */
const leadingExponent = (units) => size(units).toString(2).length - 1 + UNIT;

/** @param {number} a @param {number} b @returns {ExactNumber} */
export function exactProduct(a, b) {
  const [x, y] = [a, b].map((value) => BigInt(value * 2 ** -F16_UNIT));
  const [i, j] = [a, b].map((value) => Math.max(exponentOf(value), F16_LEAST_EXPONENT));
  return { units: x * y, exponent: i + j }; // the exponent of the factors, also where their product has the next
}

// Toward zero, to a multiple of 2^last.
/** @param {bigint} units @param {number} last */
function truncated(units, last) {
  const shift = BigInt(Math.max(last - UNIT, 0));
  const kept = (size(units) >> shift) << shift;
  return units < 0n ? -kept : kept;
}

// A number in units; null if it is not a whole number of them.
/** @param {number} value */
export function toUnits(value) {
  const units = value * 2 ** -UNIT;
  return Number.isInteger(units) ? BigInt(units) : null;
}

/** @param {bigint} units */
export const toNumber = (units) => Number(units) * 2 ** UNIT;

/** @param {bigint} units @returns {BitBar} */
export function barOf(units) {
  if (!units) return { sign: 0, lead: 0, digits: "" };
  const digits = size(units).toString(2).replace(/0+$/, "");
  return { sign: units < 0n ? -1 : 1, lead: leadingExponent(units), digits };
}

// The steps in which a chip adds the products to C; the sum of the last is D.
/** @param {ExactNumber[]} products @param {FusedChip} chip @param {bigint} C @returns {FusedStep[]} */
export function fusedSteps(products, { fraction_bits: fraction, result_bits: result, depth }, C = 0n) {
  const steps = /** @type {FusedStep[]} */ ([]);
  let sum = C;
  for (let first = 0; first < products.length; first += depth) {
    const own = products.slice(first, first + depth);
    const terms = [sum, ...own.map(({ units }) => units)];
    const exponents = own.filter(({ units }) => units).map(({ exponent }) => exponent);
    if (sum) exponents.push(leadingExponent(sum));
    const top = exponents.length ? Math.max(...exponents) : 0;
    const kept = terms.map((units) => truncated(units, top - fraction));
    const total = kept.reduce((before, units) => before + units, 0n);
    sum = total ? truncated(total, leadingExponent(total) - result) : 0n;
    steps.push({ first, terms, kept, top, last: top - fraction, sum });
  }
  return steps;
}
