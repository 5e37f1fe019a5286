// The camera over the scene, from the whole to single bits. It zooms around the point under the pointer or the
// selected cell; along axes that these do not fix, around the middle of the view.

import { focusedIn, reducedMotion } from "../common/dom.js";
import { clamp } from "../common/numbers.js";
import { listenForPinch, listenForWheel } from "../common/zoom_gestures.js";
import { CameraFlight } from "./camera_flight.js";
import { legibleNearness } from "./scene_plan.js";
import { showScene } from "./scene_layout.js";

// Percent: all of the scene is seen at WHOLE, single bits at NEAREST.
export const WHOLE = 100;
const NEAREST = 400;
export const ZOOM_STEP = 25;
const PINCH_STEP = 5;
export const AXES = /** @type {const} */ (["m", "n", "kOfA", "kOfB", "mOfA", "nOfB"]);

export class Camera {
  /** @param {Scene} scene */
  constructor(scene) {
    this.app = scene.app;
    this.scene = scene;
    this.content = scene.content;
    this.selection = scene.app.selection;
    this.percent = zoomOf(scene.content);
    // where the pointer is over a pane, or null
    this.pointer = /** @type {Point | null} */ (null);
    // the point that the next flight keeps in its place
    this.point = /** @type {Point | null} */ (null);
    // the zoom before and after a zoom that nobody asked for, which made room for longer labels
    this.unasked = /** @type {{ from: number, to: number } | null} */ (null);
    this.flight = new CameraFlight(scene);
  }

  // From 0, where all of the scene is seen, to 1.
  get nearness() {
    return (this.percent - WHOLE) / (NEAREST - WHOLE);
  }

  // The zoom from which all digits can be read.
  get legible() {
    return Math.ceil(WHOLE + (NEAREST - WHOLE) * legibleNearness(this.scene.plan));
  }

  get isWhole() {
    return this.percent <= WHOLE;
  }

  // To the zoom that the model has: at once, or with a picture of the flight there.
  zoomToModel() {
    const { app, flight, point, percent: from, content, selection, scene } = this;
    const percent = zoomOf(content);
    if (percent === from) return;
    this.percent = percent;
    this.point = null;
    if (!app.layoutWidth || content.instruction.transfer || !scene.panes.length) return;
    const anchors = anchorsOf(scene, point);
    const before = reducedMotion.matches ? null : flight.capture();
    showScene(scene);
    holdAnchors(scene, anchors);
    scene.syncScroll();
    selection.placeInput();
    if (before) flight.start(before, percent > from, bandsOf(anchors));
  }

  // To a cell, as near as its digits can be read; not if they can be already.
  /** @param {Cell} cell */
  goTo(cell) {
    const { scene } = this;
    const pane = scene.paneOf(cell.name);
    scene.reveal([cell]);
    if (pane && !pane.isFolded && !pane.layer(cell.name).digits) scene.zoomTo(this.legible, null);
  }

  // Where what cells show no longer fits them, it comes near enough; for values it goes back to where it was.
  showLabels() {
    const { percent, unasked, content, selection, scene } = this;
    const isUnasked = percent === unasked?.to;
    if (!isUnasked) this.unasked = null; // somebody zoomed since
    if (content.instruction.transfer) return;
    if (content.model.get("label") === "value") {
      if (unasked && isUnasked) scene.zoomTo(unasked.from, null);
      this.unasked = null;
    } else if (percent < this.legible) {
      scene.zoomTo(this.legible, null);
      this.unasked = { from: isUnasked && unasked ? unasked.from : percent, to: this.percent };
    } else return;
    const { mark } = selection;
    // k of A and of B is one
    const kept = (mark && scene.paneOf(mark.name)?.axes.map(([letter]) => letter)) ?? [];
    for (const axis of AXES) if (!kept.includes(axis[0])) scene.scroll[axis] = 0; // the first ones stay in view
    scene.syncScroll();
  }

  stop() {
    this.flight.stop();
  }
}

/** @param {Content} content */
const zoomOf = ({ model }) => clamp(model.get("zoom") ?? WHOLE, WHOLE, NEAREST);

/** @param {DOMRect} box @param {Point} point */
const isInside = (box, { x, y }) => x >= box.left && x < box.right && y >= box.top && y < box.bottom;

// The middle of the selected cell, if it can be seen.
/** @param {Scene} scene @returns {Point | null} */
function selectedPoint(scene) {
  const { mark } = scene.app.selection;
  const pane = mark && scene.paneOf(mark.name);
  if (!pane || pane.isFolded) return null;
  const { x, y, width, height } = scene.cellRect(mark.name, mark.row, mark.column);
  const middle = { x: x + width / 2, y: y + height / 2 };
  return isInside(pane.scroller.getBoundingClientRect(), middle) ? middle : null;
}

// Where the cells are, before they are laid out anew: along each axis a cell, and how far into it the point is,
// from 0 to 1.
/** @param {Scene} scene @param {Point | null} point @returns {Anchor[]} */
function anchorsOf(scene, point) {
  const panes = scene.panes.filter((pane) => pane.layers.length && !pane.isFolded);
  const at = point ?? selectedPoint(scene);
  const pointed = at && panes.find((pane) => isInside(pane.scroller.getBoundingClientRect(), at));
  const anchors = /** @type {Anchor[]} */ ([]);
  for (const axis of AXES) {
    const isHeld = Boolean(pointed?.axes.includes(axis));
    const pane = isHeld ? pointed : panes.find((candidate) => candidate.axes.includes(axis));
    if (!pane) continue;
    const box = pane.scroller.getBoundingClientRect();
    const place = isHeld && at ? at : { x: box.left + pane.width / 2, y: box.top + pane.height / 2 };
    anchors.push({ axis, pane, isHeld, point: isHeld ? point : null, ...pane.pointAt(place) });
  }
  return anchors;
}

// Scrolls the panes until what is pointed at is where it was on the page; what is selected comes to the middle.
/** @param {Scene} scene @param {Anchor[]} anchors */
function holdAnchors(scene, anchors) {
  for (const { axis, pane, point, cell, right, down } of anchors) {
    const across = pane.axes[0] === axis;
    const { x, y, width, height } = pane.rect(cell.name, cell.row, cell.column);
    const [at, view, most] = across
      ? [x + right * width, pane.width, pane.farthest.x]
      : [y + down * height, pane.height, pane.farthest.y];
    const box = point && pane.scroller.getBoundingClientRect();
    const held = box && (across ? point.x - box.left : point.y - box.top);
    scene.scroll[axis] = clamp(at - (held ?? view / 2), 0, Math.max(0, most));
  }
  const held = anchors.find(({ axis, isHeld }) => isHeld && axis.startsWith("k"));
  if (held) scene.scrollBothAlongK(/** @type {"kOfA" | "kOfB"} */ (held.axis));
}

// The rows and columns of the cell that the camera flies to, as parts of their matrix. Columns of A are rows of B.
/** @param {Anchor[]} anchors @returns {AxisBand[]} */
function bandsOf(anchors) {
  const bands = /** @type {AxisBand[]} */ ([]);
  for (const { axis, pane, isHeld, cell } of anchors) {
    if (!isHeld) continue;
    const { x, y, width, height } = pane.rect(cell.name, cell.row, cell.column);
    const { total } = pane;
    const [start, end] =
      pane.axes[0] === axis
        ? [x / total.width, (x + width) / total.width]
        : [y / total.height, (y + height) / total.height];
    const axes = /** @type {Axis[]} */ (axis.startsWith("k") ? ["kOfA", "kOfB"] : [axis]);
    bands.push(...axes.map((flownAxis) => ({ axis: flownAxis, start, end })));
  }
  return bands;
}

// Ctrl and the wheel, or two fingers on a pad or a screen, over a pane; and keys wherever the focus is: they
// are for tensor or shared memory while that has it. Ctrl and + or - belong to the browser; + and - alone to
// numbers.
/** @param {App} app */
export function listenForZoom(app) {
  /** @param {EventTarget | null} target */
  const isOnPane = (target) =>
    app.scene.panes.some(({ node }) => node.contains(/** @type {Node} */ (target)));
  /** @param {WheelEvent} event */
  const zoom = ({ deltaY, clientX, clientY }) =>
    app.scene.zoomBy(deltaY < 0 ? ZOOM_STEP : -ZOOM_STEP, { x: clientX, y: clientY });
  listenForWheel(app.scene.node, zoom, ({ target }) => isOnPane(target));
  listenForPinch(
    app.scene.node,
    () => app.content.model.get("zoom"),
    (begun, factor, { clientX: x, clientY: y }) => {
      const percent = Math.round((begun * factor) / PINCH_STEP) * PINCH_STEP;
      if (percent !== app.content.model.get("zoom")) app.scene.zoomTo(percent, { x, y });
    },
    isOnPane,
  );
  /** @type {Record<string, number>} */
  const steps = { Equal: 1, NumpadAdd: 1, Minus: -1, NumpadSubtract: -1, Digit0: 0 };
  app.root.addEventListener("keydown", (event) => {
    const by = steps[event.code];
    if (!event.altKey || event.ctrlKey || event.metaKey || by === undefined) return;
    event.preventDefault();
    const { tensor, memory } = app;
    if (app.content.instruction.transfer || focusedIn(tensor.node)) tensor.zoomBy(by || -tensor.zoom);
    else if (focusedIn(memory.node)) memory.zoomBy(by || -memory.zoom);
    else
      app.scene.zoomBy(by ? by * ZOOM_STEP : WHOLE - app.content.model.get("zoom"), app.scene.camera.pointer);
  });
}
