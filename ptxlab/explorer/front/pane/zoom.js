// Zooming keeps a point in its place: the one under the pointer, else the selected cell, if it is in view;
// along axes that these do not have, the middle of the pane.

import { clamp } from "../common/util.js";
import { scrollers } from "./layout.js";

const ZOOM_STEP = 25; // percent
const PINCH_STEP = 5; // percent
const NOTCH = 40; // pixels that a wheel turns for one step; the fingers on a pad need several events
export const AXES = /** @type {const} */ (["m", "n", "kx", "ky"]);
const FROM_END = ["kx", "ky"]; // A is beside D, and B above it: what is smaller than its room is at the end of it

/** @param {DOMRect} box @param {Point} point */
const isInside = (box, { x, y }) => x >= box.left && x < box.right && y >= box.top && y < box.bottom;

// The middle of the selected cell, if it can be seen.
/** @param {App} app @returns {Point | null} */
function selectedPoint(app) {
  const { mark } = app.selection;
  const pane = mark && app.paneOf(mark.name);
  if (!pane) return null;
  const { x, y, width, height } = app.cellRect(mark.name, mark.row, mark.column);
  const middle = { x: x + width / 2, y: y + height / 2 };
  return isInside(pane.scroller.getBoundingClientRect(), middle) ? middle : null;
}

// Where the cells are, before they are laid out anew.
/** @param {App} app @param {Point | null} point @returns {Anchor[]} */
export function anchorsOf(app, point) {
  const panes = app.panes.filter((pane) => pane.layers.length);
  const at = point ?? selectedPoint(app);
  const pointed = at && panes.find((pane) => isInside(pane.scroller.getBoundingClientRect(), at));
  const anchors = /** @type {Anchor[]} */ ([]);
  for (const axis of AXES) {
    const isHeld = Boolean(pointed?.axes.includes(axis));
    const pane = isHeld ? pointed : panes.find((each) => each.axes.includes(axis));
    if (!pane) continue;
    const box = pane.scroller.getBoundingClientRect();
    const middle = { x: box.left + pane.width / 2, y: box.top + pane.height / 2 };
    const place = isHeld && at ? at : middle;
    anchors.push({ axis, pane, isHeld, place, ...pane.pointAt(place) });
  }
  return anchors;
}

// Scrolls the panes, or moves those that are smaller than their room, until the anchors are where they were.
/** @param {App} app @param {Anchor[]} anchors */
export function holdAnchors(app, anchors) {
  for (const { axis, pane, isHeld, place, cell, right, down } of anchors) {
    const across = pane.axes[0] === axis;
    const { x, y, width, height } = pane.rect(cell.name, cell.row, cell.column);
    const box = pane.scroller.getBoundingClientRect();
    const middle = across ? pane.width / 2 : pane.height / 2;
    const offset = across ? place.x - box.left : place.y - box.top;
    const wanted = (across ? x + right * width : y + down * height) - (isHeld ? offset : middle);
    const [total, view] = across ? [pane.total.width, pane.width] : [pane.total.height, pane.height];
    app.scroll[axis] = clamp(wanted, 0, Math.max(0, total - view));
    const slack = isHeld ? Math.max(0, app.room[axis] - view) : 0;
    const [least, most] = FROM_END.includes(axis) ? [-slack, 0] : [0, slack];
    app.shift[axis] = clamp(Math.round(app.scroll[axis] - wanted), least, most);
  }
  const held = anchors.find(({ axis, isHeld }) => isHeld && FROM_END.includes(axis));
  if (held) app.followK(/** @type {"kx" | "ky"} */ (held.axis));
}

// If the pane itself had to move, as below a B that shows all of its rows, the page scrolls.
/** @param {App} app @param {Anchor[]} anchors */
export function scrollToAnchor(app, anchors) {
  const anchor = anchors.find(({ isHeld, axis, pane }) => isHeld && pane.axes[1] === axis);
  if (!anchor) return;
  const { y, height } = app.cellRect(anchor.cell.name, anchor.cell.row, anchor.cell.column);
  const by = y + anchor.down * height - anchor.place.y;
  if (Math.abs(by) > 3) (scrollers(app.root)[0] ?? window).scrollBy({ top: by, behavior: "instant" });
}

// Ctrl and the wheel, or two fingers on a pad, over a pane; and keys wherever the focus is. Ctrl and + or -
// belong to the browser, + and - alone to numbers.
/** @param {App} app */
export function listenForZoom(app) {
  /** @param {WheelEvent} event */
  const isOnPane = ({ target }) => app.panes.some(({ node }) => node.contains(/** @type {Node} */ (target)));
  /** @param {WheelEvent} event */
  const zoom = ({ deltaY, clientX, clientY }) =>
    app.zoomBy(deltaY < 0 ? ZOOM_STEP : -ZOOM_STEP, { x: clientX, y: clientY });
  listenForWheel(app.grid, zoom, isOnPane);
  listenForPinch(app);
  app.root.addEventListener("keydown", (event) => {
    if (!event.altKey || event.ctrlKey || event.metaKey) return;
    const by = { Equal: ZOOM_STEP, NumpadAdd: ZOOM_STEP, Minus: -ZOOM_STEP, NumpadSubtract: -ZOOM_STEP }[
      event.code
    ];
    if (by === undefined && event.code !== "Digit0") return;
    event.preventDefault();
    app.zoomBy(by ?? 100 - app.model.get("zoom"), app.pointer);
  });
}

// Calls back for every notch that the wheel turns with Ctrl.
/**
 * @param {HTMLElement} node
 * @param {(event: WheelEvent) => void} zoom
 * @param {(event: WheelEvent) => boolean} takes
 */
export function listenForWheel(node, zoom, takes = () => true) {
  let turned = 0;
  node.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey || !takes(event)) return;
      event.preventDefault();
      turned = Math.sign(turned) === Math.sign(event.deltaY) ? turned + event.deltaY : event.deltaY;
      if (Math.abs(turned) < NOTCH) return;
      turned = 0;
      zoom(event);
    },
    { passive: false },
  );
}

// Two fingers on a pane; one scrolls, which the browser does.
/** @param {App} app */
function listenForPinch(app) {
  let begun = /** @type {{ apart: number, zoom: number } | null} */ (null);
  /** @param {TouchEvent} event */
  const fingers = ({ touches: [one, other] }) => ({
    apart: Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY),
    middle: { x: (one.clientX + other.clientX) / 2, y: (one.clientY + other.clientY) / 2 },
  });
  /** @param {TouchEvent} event */
  const areOnPane = ({ touches }) =>
    touches.length === 2 &&
    [...touches].every(({ target }) =>
      app.panes.some(({ frame }) => frame.contains(/** @type {Node} */ (target))),
    );
  app.grid.addEventListener("touchstart", (event) => {
    begun = areOnPane(event) ? { apart: fingers(event).apart, zoom: app.model.get("zoom") } : null;
  });
  app.grid.addEventListener(
    "touchmove",
    (event) => {
      if (!begun || !areOnPane(event)) return;
      event.preventDefault(); // the page does not scroll
      const { apart, middle } = fingers(event);
      const zoom = Math.round((begun.zoom * apart) / begun.apart / PINCH_STEP) * PINCH_STEP;
      if (zoom !== app.model.get("zoom")) app.zoomTo(zoom, middle);
    },
    { passive: false },
  );
}
