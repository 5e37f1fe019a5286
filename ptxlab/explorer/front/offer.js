// What was refused, shown at the cells at fault: the sentence, and what can be done instead.

import { make } from "./text.js";
import { GUTTER } from "./edges.js";
import { openEditor } from "./keys.js";

// The box belongs to the pane of the matrix and comes after its cells, so that Tab leads from the cell to the buttons.
/** @param {Pane} pane */
export function showOffer(pane) {
  const { app } = pane;
  const offer = app.model.get("offer");
  const here = offer?.sentence && pane.has(offer.name) ? offer : null;
  const fresh = here !== pane.offered;
  if (fresh) {
    pane.offered = here;
    pane.offer?.remove();
    pane.offer = here && offerBox(pane, here);
    if (here) app.reveal([{ name: here.name, row: here.spots[0][0], column: here.spots[0][1] }]);
  }
  if (!here || !pane.offer) return;
  placeOffer(pane, pane.offer, here);
  if (fresh) pane.offer.scrollIntoView({ block: "nearest", inline: "nearest" });
}

/** @param {Pane} pane @param {Offer} offer */
function offerBox(pane, offer) {
  const { app } = pane;
  const node = make("div", "ptx-offer", pane.frame, { role: "group", "aria-label": "refused" });
  make("p", "", node).textContent = offer.sentence;
  if (offer.then) make("p", "ptx-offer-then", node).textContent = offer.then;
  const row = make("div", "ptx-offer-row", node);
  /** @param {string} text @param {string} hint @param {() => void} act */
  const button = (text, hint, act) => {
    const made = make("button", "", row, { type: "button", title: hint });
    made.textContent = text;
    made.addEventListener("click", () => { pane.input.focus({ preventScroll: true }); act(); });
    return made;
  };
  const drop = () => app.send({ do: "drop" });
  if (offer.prune) button(offer.prune, "Keeps what was typed, then the largest; the rest becomes 0", () => app.send({ do: "prune" })).classList.add("first");
  if (offer.text) {
    button("Edit again", `Opens the cell with ${offer.text}`, () => {
      drop();
      app.select({ name: offer.name, row: offer.cell[0], column: offer.cell[1] });
      openEditor(pane, offer.text);
    });
  }
  button("Keep as it was", "Escape does it too", drop);
  node.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key !== "Escape") return;
    event.preventDefault();
    pane.input.focus({ preventScroll: true });
    drop();
  });
  return node;
}

// Above the cells at fault, so that the cell below, where Enter leads, stays in view; below them where there is no room. Never over the edge of the view.
/** @param {Pane} pane @param {HTMLElement} node @param {Offer} offer */
function placeOffer(pane, node, offer) {
  const { app, scroller } = pane;
  const [row, first, last] = offer.spots[0];
  const [from, to] = [pane.rect(offer.name, row, first), pane.rect(offer.name, row, last)];
  const [root, frame] = [app.root.getBoundingClientRect(), pane.frame.getBoundingClientRect()];
  const [wide, high] = [node.offsetWidth, node.offsetHeight];
  /** @param {number} value @param {number} most */
  const inside = (value, most) => Math.max(0, Math.min(value, most));
  const y = GUTTER.top + inside(from.y - scroller.scrollTop, pane.height - from.height);
  const x = GUTTER.left + inside((from.x + to.x + to.width) / 2 - scroller.scrollLeft, pane.width) - wide / 2;
  const above = frame.top - root.top + y - high - 8 >= 0;
  node.style.left = `${Math.max(4, Math.min(frame.left - root.left + x, root.width - wide - 4)) - frame.left + root.left}px`;
  node.style.top = `${above ? y - high - 7 : y + from.height + 7}px`;
}
