// Colours: those of the theme, and what a cell looks like by its lane, register, warp or value.

import { clamp } from "../common/util.js";
import { largest } from "./matrix.js";

const WARPS = [1, 29, 25, 17]; // blue, orange, green, purple among the colours of the lanes

/** @param {App} app @param {number} warp */
export const warpColours = (app, warp) => app.colours[WARPS[warp]];

/** @param {App} app */
export function readTheme(app) {
  const style = getComputedStyle(app.root);
  const [red, green, blue] = (style.color.match(/[\d.]+/g) ?? []).map(Number);
  app.dark = red + green + blue > 384;
  app.root.classList.toggle("dark", app.dark);
  /** @param {string} name */
  const own = (name) => getComputedStyle(app.root).getPropertyValue(name).trim();
  app.ink = {
    text: own("--ptx-ink"),
    faint: own("--ptx-faint"),
    paper: own("--ptx-paper"),
    brand: own("--ptx-brand"),
    bad: own("--ptx-bad"),
    step: own("--ptx-step"),
    flash: own("--ptx-flash"),
    plain: own("--ptx-plain"),
    line: own("--ptx-line"),
    mono: own("--ptx-mono"),
    sign: own("--ptx-blue"), // as in the registers
    exponent: own("--ptx-orange"),
  };
  app.colours = app.instruction.colours[app.dark ? "dark" : "light"];
  app.ratio = window.devicePixelRatio || 1;
  const look = [
    app.quiz.display("colour_by"),
    app.quiz.display("label"),
    app.quiz.look,
    app.dark,
    app.ratio,
    ...Object.values(app.ink),
  ].join();
  if (look !== app.look) [app.look, app.painters, app.labelSizes] = [look, new WeakMap(), new WeakMap()];
}

// Whether the colours of a matrix show where its cells are.
/** @param {App} app @param {Matrix} matrix */
export function isTinted(app, matrix) {
  return (
    Boolean(matrix.lane ?? matrix.place) ||
    (matrix.core !== null && app.quiz.display("colour_by") !== "nothing")
  );
}

// In shared memory: by the bank or the core matrix where colours mean that; else no lane holds a cell, and
// two greys tell core matrices apart.
/** @param {App} app @param {Matrix} matrix @returns {Painter | null} */
function memoryPainter({ quiz, colours, ink }, { byte, core, core_tints: cores, bank_tints: banks }) {
  if (!byte || !core || !cores || !banks) return null;
  const by = quiz.display("colour_by");
  if (by === "bank") return (index) => colours[banks[Math.floor(byte[index] / 16) % banks.length]];
  if (by === "core matrix") return (index) => colours[cores[core[index]]];
  const greys = /** @type {Colour[]} */ ([
    [ink.plain, ink.text],
    [ink.line, ink.text],
  ]);
  return (index) => greys[(cores[core[index]] % 2) ^ (Math.floor(cores[core[index]] / 4) % 2)];
}

// What the colours of a matrix mean; lanes are named beside the registers.
/** @param {App} app @param {Matrix} matrix @returns {Legend | undefined} */
export function legendOf(app, { lane, legends }) {
  const by = app.quiz.display("colour_by");
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
/** @param {App} app @param {Matrix} matrix @param {TensorPlaces} place @param {Colour} plain @returns {Painter} */
function tensorPainter(app, matrix, place, plain) {
  const { colours } = app;
  const by = app.quiz.display("colour_by");
  if (by === "bank" || by === "core matrix") return () => plain;
  if (by === "warp") return (index) => warpColours(app, Math.floor(place.lane[index] / 32) % 4);
  if (by === "lane") return (index) => colours[place.lane[index] % 32];
  const thread = matrix.lane;
  return (index) => (thread && thread[index] >= 0 ? colours[thread[index] % 32] : plain);
}

// Four shades of a colour for negative values, four of another for positive ones.
/** @param {App} app @param {Matrix} matrix @returns {Painter} */
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
/** @param {App} app @param {Matrix} matrix @returns {Painter} */
export function painter(app, matrix) {
  const { colours, ink } = app;
  const by = app.quiz.display("colour_by");
  const plain = /** @type {Colour} */ ([ink.plain, ink.text]);
  if (by === "value") return valuePainter(app, matrix);
  if (by === "nothing" || !isTinted(app, matrix)) return () => plain;
  if (matrix.place) return tensorPainter(app, matrix, matrix.place, plain);
  if (!matrix.lane) return memoryPainter(app, matrix) ?? (() => plain);
  if (by === "bank" || by === "core matrix") return () => plain;
  if (by === "register") return (index) => colours[(matrix.registerOf[index] % 8) * 4 + 1];
  if (by === "warp") return (index) => warpColours(app, Math.floor(matrix.lane[index] / 32));
  return (index) => colours[matrix.lane[index] % 32];
}
