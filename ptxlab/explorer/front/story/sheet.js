// One k of a multiplication on a canvas: a column of A and a row of B lift off, cross over D as a sheet of products,
// and sink into its cells.

import { LETTER, fillBox, setFont, strokeBox } from "../common/canvas.js";
import { clamp, short } from "../common/numbers.js";

/**
 * @typedef {Record<"ink" | "faint" | "paper" | "plain" | "line" | "brand" | "bad" | "flash" | "black" | "mono", string>}
 *   StoryInk
 * @typedef {{ box: Place, text: string }} LiftedCell
 * @typedef {LiftedCell & { right: number, down: number }} SheetCell where it is in D, from 0 to 1
 */

// Milliseconds of the way to a step: the first products are slow enough to follow, the last are a blur.
const FIRST_PRODUCT = 2000;
const LAST_PRODUCT = 260;
const SLOWEST_PRODUCTS = 2;
const USUAL_DEPTH = 16;
export const SUNK = 0.8; // the part of the way after which the products are in D
const NUMBER_SIZE = 11;
const LIFT = 3; // pixels

// From 0 to 1, slow at both ends, while `t` goes from `first` to `last`.
/** @param {number} t */
export function eased(t, first = 0, last = 1) {
  const part = clamp((t - first) / (last - first), 0, 1);
  return part * part * (3 - 2 * part);
}

// How long the products of a step are on their way, which is the first of so many.
/** @param {number} step @param {number} depth */
export function paceOf(step, depth) {
  const slow = Math.max(0, step - SLOWEST_PRODUCTS) / (Math.min(depth, USUAL_DEPTH) - SLOWEST_PRODUCTS);
  const least = LAST_PRODUCT * Math.min(1, USUAL_DEPTH / depth);
  return Math.max(least, FIRST_PRODUCT * Math.max(0, 1 - slow) ** 3);
}

// The longest text of a number that fits into some letters; ".5" is as good as "0.5".
/** @param {number} value @param {number} letters */
export function fitting(value, letters) {
  const whole = String(value);
  if (whole.length <= letters) return whole;
  for (let digits = 7; digits > 1; digits -= 1) {
    const text = short(value, digits);
    for (const shown of [text, text.replace(/^(-?)0\./, "$1.")]) if (shown.length <= letters) return shown;
  }
  const text = value.toExponential(0).replace("+", "");
  return text.length <= letters ? text : "";
}

/** @param {number} width of a cell */
export const lettersIn = (width) => Math.floor((width - 3) / (NUMBER_SIZE * LETTER));

/** @param {CanvasRenderingContext2D} context @param {StoryInk} look @param {Place} box @param {string} text @param {string} colour */
export function drawNumber(context, look, box, text, colour, weight = "") {
  if (box.height < NUMBER_SIZE) return;
  setFont(context, `${weight}${NUMBER_SIZE}px ${look.mono}`, colour);
  context.fillText(text, box.x + box.width / 2, box.y + box.height / 2 + 0.5);
}

// The factors of this k, which stand out of their matrices while their products are on the way.
/** @param {CanvasRenderingContext2D} context @param {StoryInk} look @param {LiftedCell[]} cells @param {number} part */
export function drawLifted(context, look, cells, part, opacity = 1) {
  const lift = part < 1 ? LIFT * Math.sin(Math.PI * part) : 0;
  for (const { box, text } of cells) {
    const lifted = { x: box.x - lift, y: box.y - lift, width: box.width - 1, height: box.height - 1 };
    if (lift) fillBox(context, { ...lifted, x: box.x + lift, y: box.y + lift }, look.black, 0.18 * opacity);
    fillBox(context, lifted, look.flash, opacity);
    context.globalAlpha = opacity;
    drawNumber(context, look, lifted, text, look.black);
  }
}

// A product appears where the column of A, which goes right, and the row of B, which goes down, have met, and sinks
// into its cell.
/** @param {CanvasRenderingContext2D} context @param {StoryInk} look @param {SheetCell[]} cells @param {number} part */
export function drawSheet(context, look, cells, part, opacity = 1) {
  if (part >= SUNK) return;
  const front = eased(part, 0.05, 0.5);
  const high = 1 - eased(part, 0.55, SUNK);
  for (const { box, text, right, down } of cells) {
    if (front < right || front < down) continue;
    const raised = { ...box, x: box.x - 5 * high, y: box.y - 5 * high };
    const shadow = { ...raised, x: raised.x + 3 * high, y: raised.y + 3 * high };
    fillBox(context, shadow, look.black, 0.18 * high * opacity);
    fillBox(context, raised, look.paper, (0.35 + 0.65 * high) * opacity);
    context.globalAlpha = (0.4 + 0.6 * high) * opacity;
    if (text) strokeBox(context, raised, look.brand, 1);
    drawNumber(context, look, raised, text, look.ink);
  }
  context.globalAlpha = 1;
}
