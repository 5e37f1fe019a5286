// The fragments of a stop, each with the manual's formula beside it.

import { make } from "../common/dom.js";

const [PICTURE_WIDTH, PICTURE_HEIGHT] = [112, 200]; // pixels, at most
const THIN = { width: 32, height: 64 }; // pixels: thinner pictures are stretched, up to
const STRETCHED = 4; // pixels of an element
const SCALES = [8, 6, 4, 3, 2, 1]; // pixels of an element

/** @param {Element} parent @param {WalkFragment[]} fragments */
export function drawFragments(parent, fragments) {
  const row = make("div", "ptx-walk-fragments");
  for (const { name, title, formula, image, rows, columns } of fragments) {
    const figure = make("figure", "", row);
    make("figcaption", "", figure, { text: title });
    const scale =
      SCALES.find((scale) => scale * columns <= PICTURE_WIDTH && scale * rows <= PICTURE_HEIGHT) ?? 1;
    if (image)
      make("img", "", figure, {
        src: image,
        alt: `${name}: the lane that holds each element`,
        width: Math.max(columns * scale, Math.min(columns * STRETCHED, THIN.width)),
        height: Math.max(rows * scale, Math.min(rows * STRETCHED, THIN.height)),
      });
    make("pre", "", figure, { text: formula });
  }
  parent.replaceChildren(row);
}
