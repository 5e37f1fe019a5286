// Arrow keys among the buttons of a table or a map: one of them has the tab stop.

import { consume, focusOn, hasModifier } from "../common/dom.js";

// Buttons in a row, or in rows of as many as `columns` says.
/** @param {HTMLElement} box @param {() => number} [columns] */
export function onArrows(box, columns = () => 1) {
  box.addEventListener("keydown", (event) => {
    if (hasModifier(event)) return;
    const wide = columns();
    /** @type {Record<string, number>} */
    const moves = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: wide, ArrowUp: -wide };
    const move = moves[event.key];
    if (!move) return;
    const cells = /** @type {HTMLElement[]} */ ([...box.querySelectorAll("button")]);
    const at = cells.indexOf(/** @type {HTMLElement} */ (event.target));
    const target = cells[at + move];
    if (at < 0 || !target) return;
    consume(event);
    cells[at].tabIndex = -1;
    target.tabIndex = 0;
    focusOn(target);
    target.scrollIntoView({ block: "nearest", inline: "nearest" });
  });
}
