// What a cell looks like by its lane, register, warp or value. The colours come from views/palette.py: those of
// lanes with the instruction, the others in the style sheet.

import { clamp } from "../common/numbers.js";
import { largest } from "./matrix.js";

/** @param {Theme} theme @param {number} warp */
export const warpColours = (theme, warp) => theme.colours[theme.warps[warp]];

// The colours of the page around the Explorer, and how fine its pixels are.
export class Theme {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.dark = false;
    this.ratio = 1;
    this.ink = /** @type {Ink} */ ({});
    this.colours = /** @type {Colour[]} */ ([]);
    // the lanes whose colours the warps have
    this.warps = /** @type {number[]} */ ([]);
    // all of it
    this.key = "";
  }

  /** @param {{ light: Colour[], dark: Colour[], warps: number[] }} colours */
  read(colours) {
    const style = getComputedStyle(this.root);
    const [red, green, blue] = (style.color.match(/[\d.]+/g) ?? []).map(Number);
    this.dark = red + green + blue > 384;
    this.root.classList.toggle("dark", this.dark);
    /** @param {string} name */
    const own = (name) => getComputedStyle(this.root).getPropertyValue(name).trim();
    this.ink = {
      text: own("--ptx-ink"),
      faint: own("--ptx-faint"),
      paper: own("--ptx-paper"),
      brand: own("--ptx-brand"),
      bad: own("--ptx-bad"),
      step: own("--ptx-step"),
      flash: own("--ptx-flash"),
      plain: own("--ptx-plain"),
      line: own("--ptx-line"),
      black: own("--ptx-black"),
      mono: own("--ptx-mono"),
      // as in the registers
      sign: own("--ptx-blue"),
      exponent: own("--ptx-orange"),
    };
    this.colours = colours[this.dark ? "dark" : "light"];
    this.warps = colours.warps;
    this.ratio = window.devicePixelRatio || 1;
    this.key = [this.dark, this.ratio, ...Object.values(this.ink)].join();
  }
}

// Whether the colours of a matrix show where its cells are.
/** @param {Content} content @param {Matrix} matrix */
export function isTinted(content, matrix) {
  return (
    Boolean(matrix.lane ?? matrix.place) ||
    (matrix.core !== null && content.display("colour_by") !== "nothing")
  );
}

// In shared memory: by the bank or the core matrix where colours mean that; else no lane holds a cell, and
// two greys tell core matrices apart.
/** @param {Theme} theme @param {Traits["colour_by"]} by @param {Matrix} matrix @returns {Painter | null} */
function memoryPainter({ colours, ink }, by, { byte, core, core_tints: cores, bank_tints: banks }) {
  if (!byte || !core || !cores || !banks) return null;
  if (by === "bank") return (index) => colours[banks[Math.floor(byte[index] / 16) % banks.length]];
  if (by === "core matrix") return (index) => colours[cores[core[index]]];
  const greys = /** @type {Colour[]} */ ([
    [ink.plain, ink.text],
    [ink.line, ink.text],
  ]);
  return (index) => greys[(cores[core[index]] % 2) ^ (Math.floor(cores[core[index]] / 4) % 2)];
}

// What the colours of a matrix mean; lanes are named beside the registers.
/** @param {Traits["colour_by"]} by @param {Matrix} matrix @returns {Legend | undefined} */
export function legendOf(by, { lane, legends }) {
  if (by === "value")
    return {
      title: "value",
      cells: [
        ["−", 3, "negative; the darker, the larger"],
        ["+", 15, "positive; the darker, the larger"],
      ],
    };
  if (by === "nothing") return undefined;
  if (!lane) return by === "bank" || by === "core matrix" ? legends?.[by] : undefined;
  return by === "register" || by === "warp" ? legends?.[by] : undefined;
}

// In tensor memory: by lane, by the warp that may read it, or D by the thread that tcgen05.ld loads it into.
/** @param {Theme} theme @param {Traits["colour_by"]} by @param {Matrix} matrix @param {TensorPlaces} place @param {Colour} plain @returns {Painter} */
function tensorPainter(theme, by, matrix, place, plain) {
  const { colours } = theme;
  if (by === "bank" || by === "core matrix") return () => plain;
  if (by === "warp") return (index) => warpColours(theme, Math.floor(place.lane[index] / 32) % 4);
  if (by === "lane") return (index) => colours[place.lane[index] % 32];
  const thread = matrix.lane;
  return (index) => (thread && thread[index] >= 0 ? colours[thread[index] % 32] : plain);
}

// Four shades of a colour for negative values, four of another for positive ones.
/** @param {Theme} theme @param {Matrix} matrix @returns {Painter} */
export function valuePainter({ colours, ink }, matrix) {
  const most = largest(matrix);
  return (index) => {
    const value = matrix.values[index];
    if (value === 0) return [ink.plain, ink.text];
    const shade = Number.isFinite(value) ? clamp(Math.ceil((4 * Math.abs(value)) / most), 1, 4) - 1 : 3;
    return colours[(value < 0 ? 0 : 12) + shade];
  };
}

// [background, text] of a cell by its index.
/** @param {Content} content @param {Matrix} matrix @returns {Painter} */
export function painter(content, matrix) {
  const { theme } = content;
  const { colours, ink } = theme;
  const by = content.display("colour_by");
  const plain = /** @type {Colour} */ ([ink.plain, ink.text]);
  if (by === "value") return valuePainter(theme, matrix);
  if (by === "nothing" || !isTinted(content, matrix)) return () => plain;
  if (matrix.place) return tensorPainter(theme, by, matrix, matrix.place, plain);
  if (!matrix.lane) return memoryPainter(theme, by, matrix) ?? (() => plain);
  if (by === "bank" || by === "core matrix") return () => plain;
  if (by === "register") return (index) => colours[(matrix.registerOf[index] % 8) * 4 + 1];
  if (by === "warp") return (index) => warpColours(theme, Math.floor(matrix.lane[index] / 32));
  return (index) => colours[matrix.lane[index] % 32];
}
