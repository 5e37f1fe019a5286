// The camera's flight on one canvas over the scene: the panes as they were, scaled, while the new ones fade in.
// Cells are laid out and drawn only once, for the place where the camera lands. Cells outside the row or column that
// it flies to dim on the way.

import { contextOn, fillBox } from "../common/canvas.js";
import { make, resizeCanvas } from "../common/dom.js";
import { clamp } from "../common/numbers.js";
import { GUTTER } from "./edges.js";

// milliseconds
const FLIGHT_TIME = 320;
// how far the rest dims, half-way
const DIMMED = 0.6;
// pixels of a row or column that does not dim
const MIN_BAND = 6;

export class CameraFlight {
  /** @param {Scene} scene */
  constructor(scene) {
    this.scene = scene;
    this.theme = scene.theme;
    this.canvas = /** @type {HTMLCanvasElement | null} */ (null);
    this.legs = /** @type {FlightLeg[]} */ ([]);
    this.bands = /** @type {AxisBand[]} */ ([]);
    this.frame = 0;
  }

  // What the panes show, or what the flight that this one replaces has come to.
  /** @returns {Map<Pane, PaneView>} */
  capture() {
    const { canvas, theme, scene } = this;
    const views = /** @type {Map<Pane, PaneView>} */ (new Map());
    const box = scene.node.getBoundingClientRect();
    for (const pane of scene.panes) {
      if (pane.isFolded || !pane.layers.length) continue;
      const leg = this.legs.find((candidate) => candidate.pane === pane);
      const view = leg?.now ?? { ...viewOf(pane, box), picture: pictureOfPane(pane) };
      const { x, y, width, height } = view.window;
      if (leg?.now && canvas) view.picture = pictureFrom([canvas], { x, y, width, height }, theme.ratio);
      views.set(pane, view);
    }
    return views;
  }

  // Flies from what was captured to what the panes show now.
  /** @param {Map<Pane, PaneView>} before @param {boolean} isNearer @param {AxisBand[]} bands */
  start(before, isNearer, bands) {
    this.stop();
    const { theme, scene } = this;
    const box = scene.node.getBoundingClientRect();
    this.bands = bands;
    this.canvas ??= make("canvas", "ptx-scene-flight", scene.node, { "aria-hidden": "true" });
    resizeCanvas(this.canvas, scene.node.clientWidth, scene.node.clientHeight, theme.ratio);
    for (const [pane, from] of before) {
      const to = viewOf(pane, box);
      const [right, down] = [from.window.x - to.window.x, from.window.y - to.window.y];
      const moves = [{ transform: `translate(${right}px, ${down}px)` }, { transform: "none" }];
      pane.caption.animate(moves, { duration: FLIGHT_TIME, easing: "ease-in-out" });
      this.legs.push({ pane, from, to, isNearer, now: null });
    }
    let begin = /** @type {number | null} */ (null); // once what was just laid out is painted
    const step = () => {
      const part = begin === null ? 0 : clamp((performance.now() - begin) / FLIGHT_TIME, 0, 1);
      if (part === 1 || this.legs.some(({ pane }) => !scene.panes.includes(pane))) this.stop();
      else {
        this.draw(part < 0.5 ? 2 * part * part : 1 - 2 * (1 - part) ** 2);
        this.frame = requestAnimationFrame(() => {
          begin ??= performance.now();
          step();
        });
      }
    };
    step();
    scene.node.classList.add("ptx-flying");
  }

  stop() {
    cancelAnimationFrame(this.frame);
    this.legs = [];
    this.scene.node.classList.remove("ptx-flying");
  }

  /** @param {number} part */
  draw(part) {
    const { theme } = this;
    const canvas = /** @type {HTMLCanvasElement} */ (this.canvas);
    const context = contextOn(canvas, theme.ratio);
    for (const leg of this.legs) {
      const { pane, from, to, isNearer } = leg;
      to.picture ??= pictureOfPane(pane); // its marks are drawn by now
      const view = (leg.now = between(from, to, isNearer ? to : from, part));
      const [far, near] = isNearer ? [from, to] : [to, from];
      const { x, y, width, height } = view.window;
      context.save();
      context.beginPath();
      context.rect(x, y, width, height);
      context.clip();
      context.imageSmoothingEnabled = false; // cells are blocks of colour
      drawView(context, far, view);
      context.imageSmoothingEnabled = true;
      context.globalAlpha = isNearer ? part : 1 - part;
      drawView(context, near, view);
      context.globalAlpha = 1;
      this.dim(context, pane, view, DIMMED * 4 * part * (1 - part));
      context.restore();
    }
  }

  // All but the rows and columns that the camera flies to.
  /** @param {CanvasRenderingContext2D} context @param {Pane} pane @param {PaneView} view @param {number} opacity */
  dim(context, pane, { window, origin, total }, opacity) {
    if (!this.bands.length) return;
    /** @param {Axis} wanted @param {number} start @param {number} end @param {number} first @param {number} long */
    const beside = (wanted, start, end, first, long) => {
      const band = this.bands.find(({ axis }) => axis === wanted);
      if (!band) return [{ start, end }];
      const from = clamp(first + band.start * long, start, end);
      return [
        { start, end: from },
        { start: clamp(Math.max(first + band.end * long, from + MIN_BAND), start, end), end },
      ];
    };
    const { x, y, width, height } = window;
    const columns = beside(pane.axes[0], x, x + width, origin.x, total.width);
    const rows = beside(pane.axes[1], y, y + height, origin.y, total.height);
    for (const { start: left, end: right } of columns)
      for (const { start: top, end: bottom } of rows) {
        const box = { x: left, y: top, width: right - left, height: bottom - top };
        fillBox(context, box, this.theme.ink.paper, opacity);
      }
  }
}

// Where a pane's window is in the scene, and where in it all of its matrix.
/** @param {Pane} pane @param {DOMRect} scene @returns {PaneView} */
function viewOf({ scroller, at, width, height, total }, scene) {
  const box = scroller.getBoundingClientRect();
  const window = { x: box.left - scene.left, y: box.top - scene.top, width, height };
  return { window, origin: { x: window.x - at.x, y: window.y - at.y }, total, picture: null };
}

/** @param {Pane} pane */
export function pictureOfPane({ base, overlay, width, height, theme }) {
  return pictureFrom([base, overlay], { x: GUTTER.left, y: GUTTER.top, width, height }, theme.ratio);
}

/** @param {HTMLCanvasElement[]} canvases @param {Place} place @param {number} ratio */
function pictureFrom(canvases, { x, y, width, height }, ratio) {
  const picture = new OffscreenCanvas(
    Math.max(1, Math.round(width * ratio)),
    Math.max(1, Math.round(height * ratio)),
  );
  const context = /** @type {OffscreenCanvasRenderingContext2D} */ (picture.getContext("2d"));
  for (const canvas of canvases) context.drawImage(canvas, -x * ratio, -y * ratio);
  return picture;
}

// A part of the way. Sizes grow by the same factor in the same time, around the middle of the nearer view.
/** @param {PaneView} from @param {PaneView} to @param {PaneView} near @param {number} part @returns {PaneView} */
function between(from, to, near, part) {
  /** @param {number} start @param {number} end */
  const straight = (start, end) => start + (end - start) * part;
  /** @param {"x" | "y"} side @param {"width" | "height"} along */
  const along = (side, along) => {
    const middle = (near.window[side] + near.window[along] / 2 - near.origin[side]) / near.total[along];
    /** @param {PaneView} view */
    const place = ({ origin, total }) => origin[side] + middle * total[along];
    const long = from.total[along] * (to.total[along] / from.total[along]) ** part;
    return {
      start: straight(from.window[side], to.window[side]),
      size: straight(from.window[along], to.window[along]),
      long,
      first: straight(place(from), place(to)) - middle * long,
    };
  };
  const [across, down] = [along("x", "width"), along("y", "height")];
  return {
    window: { x: across.start, y: down.start, width: across.size, height: down.size },
    origin: { x: across.first, y: down.first },
    total: { width: across.long, height: down.long },
    picture: null,
  };
}

// The picture of one view, as large as another view has it.
/** @param {CanvasRenderingContext2D} context @param {PaneView} own @param {PaneView} view */
function drawView(context, { window, origin, total, picture }, view) {
  const [across, down] = [view.total.width / total.width, view.total.height / total.height];
  if (!picture) return;
  context.drawImage(
    picture,
    view.origin.x + (window.x - origin.x) * across,
    view.origin.y + (window.y - origin.y) * down,
    window.width * across,
    window.height * down,
  );
}
