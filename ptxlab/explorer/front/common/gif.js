// A GIF encoder: each frame has its own 256 colours, and only the part that changed since the frame before. Text
// and flat colours are lossless; it needs neither a library nor a server.

const CODE_BITS = 8; // of a pixel
const CLEAR = 1 << CODE_BITS;
const MAX_CODES = 4096;
const BLOCK = 255; // bytes

/** @param {number} value @returns {[number, number]} the low byte first */
const word = (value) => [value & 0xff, value >> 8];

/** @param {string} text */
const letters = (text) => [...text].map((letter) => letter.charCodeAt(0));

/** @typedef {{ left: number, top: number, width: number, height: number }} Area */

export class Gif {
  /** @param {number} width @param {number} height */
  constructor(width, height) {
    this.width = width;
    this.height = height;
    this.shown = new Uint32Array(0); // the pixels of the last picture,
    this.since = 0; // shown from then on, in hundredths of a second,
    this.waiting = /** @type {Uint8Array<ArrayBuffer> | null} */ (null); // written once it is known for how long
    const loops = [0x21, 0xff, 11, ...letters("NETSCAPE2.0"), 3, 1, 0, 0, 0]; // again and again
    const screen = [...word(width), ...word(height), 0x70, 0, 0];
    this.parts = [new Uint8Array([...letters("GIF89a"), ...screen, ...loops])];
  }

  // The picture from that time on; what is the same as before costs nothing.
  /** @param {ImageData} picture @param {number} time in milliseconds */
  add({ data }, time) {
    const pixels = new Uint32Array(data.buffer);
    const area = this.changed(pixels);
    if (!area) return;
    this.close(time);
    this.since = Math.round(time / 10);
    this.waiting = image(pixels, this.width, area);
    this.shown = pixels;
  }

  /** @param {number} time */
  close(time) {
    if (!this.waiting) return;
    const delay = Math.max(2, Math.round(time / 10) - this.since);
    this.parts.push(new Uint8Array([0x21, 0xf9, 4, 4, ...word(Math.min(delay, 65_535)), 0, 0]), this.waiting);
    this.waiting = null;
  }

  /** @param {number} time @returns {Blob} */
  finish(time) {
    this.close(time);
    return new Blob([...this.parts, new Uint8Array([0x3b])], { type: "image/gif" });
  }

  // The smallest area with all that differs from the last picture; null if nothing does.
  /** @param {Uint32Array} pixels @returns {Area | null} */
  changed(pixels) {
    const { width, height, shown } = this;
    if (!shown.length) return { left: 0, top: 0, width, height };
    let [left, right, top, bottom] = [width, -1, height, -1];
    for (let at = 0; at < pixels.length; at += 1) {
      if (pixels[at] === shown[at]) continue;
      const [row, column] = [Math.floor(at / width), at % width];
      if (row < top) top = row;
      bottom = row;
      if (column < left) left = column;
      if (column > right) right = column;
    }
    return right < 0 ? null : { left, top, width: right - left + 1, height: bottom - top + 1 };
  }
}

// The most frequent colours of an area, and the number of the nearest for each pixel.
/** @param {Uint32Array} pixels @param {number} width @param {Area} area */
function indexed(pixels, width, area) {
  const part = new Uint32Array(area.width * area.height);
  for (let row = 0; row < area.height; row += 1) {
    const start = (area.top + row) * width + area.left;
    part.set(pixels.subarray(start, start + area.width), row * area.width);
  }
  const counts = /** @type {Map<number, number>} */ (new Map());
  for (const pixel of part) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const colours = [...counts].sort(([, one], [, other]) => other - one).map(([colour]) => colour);
  const table = colours
    .slice(0, CLEAR)
    .map((colour) => [colour & 0xff, (colour >> 8) & 0xff, (colour >> 16) & 0xff]);
  const numbers = new Map(colours.slice(0, CLEAR).map((colour, index) => [colour, index]));
  for (const colour of colours.slice(CLEAR)) numbers.set(colour, nearest(table, colour));
  return { table, indices: Uint8Array.from(part, (pixel) => numbers.get(pixel) ?? 0) };
}

/** @param {number[][]} table @param {number} colour */
function nearest(table, colour) {
  let [best, least] = [0, Infinity];
  for (const [index, [red, green, blue]] of table.entries()) {
    const distance =
      (red - (colour & 0xff)) ** 2 +
      (green - ((colour >> 8) & 0xff)) ** 2 +
      (blue - ((colour >> 16) & 0xff)) ** 2;
    if (distance < least) [best, least] = [index, distance];
  }
  return best;
}

/** @param {Uint32Array} pixels @param {number} width @param {Area} area */
function image(pixels, width, area) {
  const { table, indices } = indexed(pixels, width, area);
  const place = [area.left, area.top, area.width, area.height].flatMap(word);
  const colours = new Uint8Array(3 * CLEAR);
  colours.set(table.flat());
  const codes = compress(indices);
  const blocks = [];
  for (let at = 0; at < codes.length; at += BLOCK) {
    const block = codes.slice(at, at + BLOCK);
    blocks.push(block.length, ...block);
  }
  return new Uint8Array([0x2c, ...place, 0x87, ...colours, CODE_BITS, ...blocks, 0]);
}

// LZW with codes that grow from 9 to 12 bits.
/** @param {Uint8Array} indices */
function compress(indices) {
  const bytes = /** @type {number[]} */ ([]);
  let codes = /** @type {Map<number, number>} */ (new Map());
  let [next, size, bits, filled] = [CLEAR + 2, CODE_BITS + 1, 0, 0];
  const emit = (/** @type {number} */ code) => {
    bits |= code << filled;
    for (filled += size; filled >= 8; filled -= 8) {
      bytes.push(bits & 0xff);
      bits >>>= 8;
    }
  };
  emit(CLEAR);
  let prefix = indices[0];
  for (const index of indices.subarray(1)) {
    const key = (prefix << CODE_BITS) | index;
    const known = codes.get(key);
    if (known !== undefined) {
      prefix = known;
      continue;
    }
    emit(prefix);
    prefix = index;
    if (next < MAX_CODES) {
      codes.set(key, next);
      if (next === 1 << size) size += 1;
      next += 1;
    } else {
      emit(CLEAR);
      codes = new Map();
      [next, size] = [CLEAR + 2, CODE_BITS + 1];
    }
  }
  emit(prefix);
  emit(CLEAR + 1);
  if (filled) bytes.push(bits & 0xff);
  return bytes;
}
