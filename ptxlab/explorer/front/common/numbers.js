// Numbers: as text, within limits, and as typed arrays.

// The bytes of a view as an array of numbers; null for none.
/** @template T @overload @param {ArrayKind<T>} Kind @param {DataView} view @returns {T} */
/** @template T @overload @param {ArrayKind<T>} Kind @param {DataView | undefined} view @returns {T | null} */
/** @template T @param {ArrayKind<T>} Kind @param {DataView | undefined} view */
export function typed(Kind, view) {
  return view ? new Kind(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength)) : null;
}

// A number in few digits. What is rounded never looks like an integer: 1234.5 and not 1235, 2.0 and not 2.
/** @param {number} value @param {number} digits */
export function short(value, digits) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (Object.is(value, -0)) return "-0";
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return String(value);
  if (Math.abs(value) >= 10 ** (digits - 1) && Math.abs(value) < 1e6) return value.toFixed(1);
  const isTiny = value !== 0 && Math.abs(value) < 1e-4;
  const rounded = isTiny ? value.toExponential(digits - 1) : value.toPrecision(digits);
  const [head, tail] = rounded.split("e");
  let mantissa = head.includes(".") ? head.replace(/\.?0+$/, "") : head;
  if (!mantissa.includes(".") && Number(`${mantissa}e${tail ?? 0}`) !== value) mantissa += ".0";
  return tail ? `${mantissa}e${Number(tail)}` : mantissa;
}

// The shortest text that reads back as the same float32, or float64.
/** @param {number} value */
export function exact(value, wide = false) {
  const most = wide ? 17 : 9;
  for (let digits = 1; digits < most; digits += 1) {
    const text = short(value, digits);
    if ((wide ? Number(text) : Math.fround(Number(text))) === value) return text;
  }
  return short(value, most);
}

/** @param {number | bigint} code @param {number} bits */
export const hex = (code, bits) => "0x" + code.toString(16).padStart(Math.ceil(bits / 4), "0");

/** @param {number | bigint} code @param {number} bits */
export const binary = (code, bits) => code.toString(2).padStart(bits, "0");

/** @param {number} count @param {string} noun */
export const plural = (count, noun) => (count === 1 ? noun : `${noun}s`);

// "7..4", from the highest bit to the lowest; "3" for a single one.
/** @param {number} low @param {number} bits */
export const bitRange = (low, bits) => (bits === 1 ? `${low}` : `${low + bits - 1}..${low}`);

// Every how many-th row or column has a label, so that labels have room.
/** @param {number} size of a row or column @param {number} room that a label takes */
export const labelInterval = (size, room) =>
  [1, 2, 4, 8, 16, 32, 64].find((count) => count * size >= room) ?? 128;

/** @param {number} value @param {number} low @param {number} high */
export const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
