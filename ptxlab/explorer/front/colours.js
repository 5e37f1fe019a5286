// Colours: those of the theme, and what a cell looks like by its lane, register, warp or value.

import { clamp } from "./util.js";
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
    mono: own("--ptx-mono"),
  };
  app.colours = app.instruction.colours[app.dark ? "dark" : "light"];
  app.ratio = window.devicePixelRatio || 1;
  const look = [
    app.model.get("colour_by"),
    app.model.get("label"),
    app.dark,
    app.ratio,
    ...Object.values(app.ink),
  ].join();
  if (look !== app.look) [app.look, app.painters, app.measured] = [look, new WeakMap(), new WeakMap()];
}

// [background, text] of a cell by its index.
/** @param {App} app @param {Matrix} matrix @returns {Painter} */
export function painter(app, matrix) {
  const { colours, ink } = app;
  const by = app.model.get("colour_by");
  const plain = /** @type {Colour} */ ([ink.plain, ink.text]);
  if (by === "value") {
    const most = largest(matrix);
    /** @param {number} value */
    const shade = (value) => clamp(Math.ceil((4 * Math.abs(value)) / most), 1, 4) - 1;
    return (index) => {
      const value = matrix.values[index];
      return value === 0
        ? plain
        : colours[(value < 0 ? 0 : 12) + (Number.isFinite(value) ? shade(value) : 3)];
    };
  }
  if (by === "nothing" || !matrix.lane) return () => plain;
  if (by === "register") return (index) => colours[(matrix.registerOf[index] % 8) * 4 + 1];
  if (by === "warp") return (index) => warpColours(app, Math.floor(matrix.lane[index] / 32));
  return (index) => colours[matrix.lane[index] % 32];
}
