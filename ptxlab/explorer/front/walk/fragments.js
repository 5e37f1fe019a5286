// The fragments of a stop, each with the manual's formula beside it.

import { make } from "../common/util.js";

const [PICTURE_WIDTH, PICTURE_HEIGHT] = [112, 200]; // pixels, at most
const NARROW = 32; // pixels: narrower pictures are stretched
const SCALES = [8, 6, 4, 3, 2, 1]; // pixels of an element

/** @param {Element} parent @param {WalkFragment[]} fragments */
export function drawFragments(parent, fragments) {
  const row = make("div", "ptx-walk-fragments");
  for (const { name, title, formula, image, rows, columns } of fragments) {
    const figure = make("figure", "", row);
    make("figcaption", "", figure, { text: title });
    const scale =
      SCALES.find((each) => each * columns <= PICTURE_WIDTH && each * rows <= PICTURE_HEIGHT) ?? 1;
    if (image)
      make("img", "", figure, {
        src: image,
        alt: `${name}: the lane that holds each element`,
        width: Math.max(columns * scale, NARROW),
        height: Math.max(rows * scale, NARROW),
      });
    make("pre", "", figure, { text: formula });
  }
  parent.replaceChildren(row);
}
