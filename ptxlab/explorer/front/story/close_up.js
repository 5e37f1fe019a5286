// One element of D on a canvas: its products as bars of bits slide to one exponent, what hangs over the edge falls off,
// and the rest is added; on a second chip, beside the first, bits of the result that differ blink.

import { LETTER, fillBox, setFont, strokeBox } from "../common/canvas.js";
import { clamp, short } from "../common/numbers.js";
import { eased } from "./sheet.js";

/** @typedef {import("./sheet.js").StoryInk} StoryInk */

// The steps, which follow each other.
export const CLOSE_UP = { products: 0, align: 1, cut: 2, add: 3, other: 4 };
const MOST_PLACES = 40; // of binary digits beside each other
const MANY_TERMS = 20; // of which zeros have no rows
const BLINKS = 420; // milliseconds
const CHIP_TITLE = 22; // height of the line above its products
const ONE_BELOW = 560; // two chips do not fit beside each other

/** @param {BitBars} bars */
function termRows({ terms }) {
  const shown = terms.length > MANY_TERMS ? terms.filter(({ digits }) => digits) : terms;
  return shown.length ? shown : terms.slice(0, 1);
}

/** @param {BitBar} bar */
const lowest = ({ lead, digits }) => lead - digits.length + 1;

/** @param {BitBar} bar */
const valueOf = ({ sign, lead, digits, value }) =>
  value ?? short(digits ? sign * Number.parseInt(digits, 2) * 2 ** (lead - digits.length + 1) : 0, 9);

/** @param {BitBar} bar @param {number} exponent */
const isBitSet = ({ lead, digits }, exponent) => digits[lead - exponent] === "1";

// Where the products of each chip are: of one, or beside or below each other.
/** @param {Place} place @param {number} at */
export function chipPlaces({ x, y, width, height }, at) {
  const both = eased(at, CLOSE_UP.other - 1, CLOSE_UP.other);
  const isNarrow = width < ONE_BELOW;
  const half = (isNarrow ? height : width) * (1 - both / 2);
  const places = isNarrow
    ? [
        { x, y, width, height: half - 6 * both },
        { x, y: y + half, width, height: height / 2 },
      ]
    : [
        { x, y, width: half - 14 * both, height },
        { x: x + half, y, width: width / 2, height },
      ];
  return places.slice(0, both ? 2 : 1);
}

// The height of a product's row, and the width of its label: none where rows are too low for text.
/** @param {Place} place @param {BitBars} bars */
export function chipSizes({ width, height }, bars) {
  const row = Math.min(19, (height - 24) / (termRows(bars).length + 2));
  return { top: CHIP_TITLE, row, label: row >= 11 ? Math.min(210, width * 0.36) : 0 };
}

/** @param {CanvasRenderingContext2D} context @param {StoryInk} look @param {BitBars[]} chips @param {Place} place @param {number} at */
export function drawCloseUp(context, look, chips, place, at, opacity = 1) {
  const both = eased(at, CLOSE_UP.other - 1, CLOSE_UP.other);
  chipPlaces(place, chips.length > 1 ? at : 0).forEach((own, which) =>
    drawChip(context, look, chips, which, own, at, opacity * (which ? both : 1)),
  );
}

/** @param {CanvasRenderingContext2D} context @param {StoryInk} look @param {BitBars[]} chips @param {number} which @param {Place} place @param {number} at @param {number} fade */
function drawChip(context, look, chips, which, place, at, fade) {
  const bars = chips[which];
  const rows = termRows(bars);
  const [slide, fall, adds] = [CLOSE_UP.align, CLOSE_UP.cut, CLOSE_UP.add].map((step) =>
    eased(at, step - 1, step),
  );
  const shown = chips.flatMap(({ terms, result }) => [...terms, result]).filter(({ digits }) => digits);
  const high = Math.max(...shown.map(({ lead }) => lead), -1e4) + 1;
  const cuts = chips.flatMap(({ terms }) => terms.map(({ last }) => last ?? Infinity));
  const low = Math.max(Math.min(...shown.map(lowest), ...cuts, high - 1), high - MOST_PLACES + 1);
  const { row, label } = chipSizes(place, bars);
  const size = clamp(row - 3, 7, 12);
  const pitch = (place.width - label) / (high - low + 1);
  const xOf = (/** @type {number} */ exponent) => place.x + label + (high - exponent) * pitch;
  const top = place.y + CHIP_TITLE;
  context.save();
  context.globalAlpha = fade;
  setFont(context, `bold 12px ${look.mono}`, look.ink, "left");
  context.fillText(titleOf(bars, at > CLOSE_UP.add || which > 0), place.x, place.y + 9);
  rows.forEach((term, index) => {
    const y = top + index * row;
    context.globalAlpha = fade;
    if (label) drawLabel(context, look, term, { x: place.x, y, width: label, height: row }, size);
    const shift = -(high - term.lead) * pitch * (1 - slide);
    for (let exponent = term.lead; exponent >= Math.max(lowest(term), low); exponent -= 1) {
      const isLost = term.last !== null && exponent < term.last;
      const drop = isLost ? fall : 0;
      const x = xOf(exponent) + shift;
      const box = { x, y: y + drop * drop * row * 5, width: pitch - 1, height: row - 1.5 };
      const colour = isLost && fall > 0 ? look.faint : term.sign < 0 ? look.bad : look.brand;
      const isSet = isBitSet(term, exponent);
      drawBit(context, look, box, isSet, isSet ? colour : look.plain, fade * (1 - drop), label ? size : 0);
    }
  });
  rows.forEach(({ last }, index) => {
    if (last === null || last <= low) return;
    const cut = { x: xOf(last - 1) - 1.5, y: top + index * row - 1, width: 2, height: row };
    fillBox(context, cut, look.bad, fade * fall);
  });
  const below = { x: place.x, y: top + rows.length * row + 4, width: label, height: Math.max(row, 15) };
  if (adds) drawResult(context, look, chips, which, at, below, { high, low, pitch, xOf }, fade * adds);
  if (adds && !label) {
    context.globalAlpha = fade * adds; // where no labels have room, the number stands beside the title
    setFont(context, `bold 12px ${look.mono}`, look.ink, "right");
    context.fillText(`= ${valueOf(bars.result)}`, xOf(low) + pitch, place.y + 9);
  }
  context.restore();
}

// The chip and, beside another one, how many products it adds at a time.
/** @param {BitBars} bars @param {boolean} isCompared */
const titleOf = ({ chip, depth }, isCompared) => (isCompared ? `${chip}: ${depth} at a time` : chip);

/** @param {CanvasRenderingContext2D} context @param {StoryInk} look @param {BitTerm} term @param {Place} place @param {number} size */
function drawLabel(context, look, term, { x, y, width, height }, size) {
  const { digits, factors } = term;
  const value = valueOf(term);
  const middle = y + height / 2;
  setFont(context, `${Math.min(12, size + 1)}px ${look.mono}`, digits ? look.ink : look.faint, "right");
  context.fillText(value, x + width - 8, middle);
  if ((factors.length + value.length + 2) * 12 * LETTER >= width) return;
  setFont(context, `${Math.min(11, size + 1)}px ${look.mono}`, look.faint, "left");
  context.fillText(factors, x, middle);
}

/** @param {CanvasRenderingContext2D} context @param {StoryInk} look @param {Place} box @param {boolean} isSet @param {string} colour @param {number} opacity @param {number} size of its digit; 0 for none */
function drawBit(context, look, box, isSet, colour, opacity, size) {
  fillBox(context, box, colour, opacity);
  if (box.width < 7 || !size) return;
  context.globalAlpha = opacity;
  setFont(context, `${size}px ${look.mono}`, isSet ? look.paper : look.ink);
  context.fillText(isSet ? "1" : "0", box.x + box.width / 2, box.y + box.height / 2 + 0.5);
}

// D of a chip below its products; bits in which the two chips differ blink.
/**
 * @param {CanvasRenderingContext2D} context
 * @param {StoryInk} look
 * @param {BitBars[]} chips
 * @param {number} which
 * @param {number} at
 * @param {Place} place of the label
 * @param {{ high: number, low: number, pitch: number, xOf: (exponent: number) => number }} scale
 * @param {number} opacity
 */
function drawResult(context, look, chips, which, at, place, { high, low, pitch, xOf }, opacity) {
  const [mine, other] = [chips[which].result, chips[1 - which]?.result];
  fillBox(
    context,
    { x: place.x, y: place.y - 3, width: xOf(low) + pitch - place.x, height: 1 },
    look.ink,
    opacity,
  );
  context.globalAlpha = opacity;
  if (place.width) {
    setFont(context, `bold 12px ${look.mono}`, look.ink, "left");
    context.fillText(`= ${valueOf(mine)}`, place.x, place.y + place.height / 2);
  }
  const apart = /** @type {Place[]} */ ([]);
  const leads = [mine, other].map((bar) => (bar?.digits ? bar.lead : low));
  for (let exponent = Math.min(high, Math.max(...leads)); exponent >= low; exponent -= 1) {
    const isSet = isBitSet(mine, exponent);
    const box = { x: xOf(exponent), y: place.y, width: pitch - 1, height: place.height - 1.5 };
    drawBit(context, look, box, isSet, isSet ? look.ink : look.plain, opacity, 11);
    if (!other || at <= CLOSE_UP.add || isSet === isBitSet(other, exponent)) continue;
    const before = apart[apart.length - 1];
    if (before && before.x + before.width > box.x - 2) before.width += pitch; // one frame around neighbours
    else apart.push({ x: box.x - 2, y: box.y - 2, width: box.width + 4, height: box.height + 4 });
  }
  const isDark = at >= CLOSE_UP.other && Math.floor(performance.now() / BLINKS) % 2 === 0;
  context.globalAlpha = opacity * (isDark ? 1 : 0.35);
  for (const box of apart) strokeBox(context, box, look.bad, 2.5);
}
