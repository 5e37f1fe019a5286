// One scene: A left of D, B above it, compressed A above A, as large as the view allows; C left of B, where it
// takes no room from the others, or else below D. On a phone D stands first, and below it the row of A and the column
// of B that make the chosen cell. A zoom makes the cells larger, and each pane a window on its matrix.

import { GUTTER } from "./edges.js";
import {
  ASIDE,
  BETWEEN_ROWS,
  CAPTION,
  GAP,
  HEAD,
  RIGHT_EDGE,
  TIMELINE,
  cellsSeen,
  extentOf,
  layersOf,
  planScene,
  windows,
} from "./scene_plan.js";
import { rowHeight } from "./cell_text.js";

// All lengths are in pixels.

// The height of what a notebook shows above and below the Explorer.
const AROUND = 24;
// The least height of the view in a frame, which may be only as high as its content.
const MIN_VIEW = 560;
// A scene up to LOW shows one matrix while the memory view is open below it. It may grow by HIGHER, so that the
// matrix shows its digits.
const LOW = 420;
const HIGHER = 80;

// The padding of the Explorer in full screen, above and below it and at its sides, together.
const FULLSCREEN_PADDING = { high: 20, wide: 32 };
// The margins of an output of a notebook, above and below the Explorer together, at most. What is higher than
// the Explorer by more than this holds other outputs.
const OUTPUT_MARGIN = 40;
// A scrolling part of a page is the view if it is higher than this: a notebook, and no box on it.
const MIN_SCROLLER = 200;
// The scene is planned this often at most, because the legend below it may need more room each time.
const PASSES = 3;
// The factor by which columns of a matrix that is seen alone may be wider than its digits need.
const WIDEST_ALONE = 1.8;

// The height in which everything should be seen at once: that of the part of the page that scrolls, or less
// where the author of a notebook wants to have something else beside the Explorer on the first screen.
/** @param {App} app */
export function viewHeight({ root, model }) {
  if (document.fullscreenElement === root) return root.clientHeight - FULLSCREEN_PADDING.high;
  let view = window.innerHeight;
  for (const node of scrollers(root)) view = Math.min(view, node.clientHeight);
  if (window.self !== window.top) view = Math.max(view, MIN_VIEW);
  return Math.min(view, model.get("height") || view);
}

// The height of the lines above a saved page, which cannot be scrolled away, and of the bar of a walk.
/** @param {App} app */
export function linesAbove({ content, root }) {
  if (document.fullscreenElement === root) return 0;
  const bar = /** @type {HTMLElement | null | undefined} */ (
    root.closest(".widget-vbox")?.querySelector(".ptx-walk")
  );
  if (!content.isStatic) return bar?.offsetHeight ?? 0;
  return root.getBoundingClientRect().top + window.scrollY;
}

// What scrolls around the Explorer: the notebook.
/** @param {HTMLElement} root @returns {HTMLElement[]} */
export function scrollers(root) {
  const nodes = /** @type {HTMLElement[]} */ ([]);
  for (let node = root.parentElement; node && node !== document.body; node = node.parentElement) {
    // an output is as high as what is in it, and does not scroll
    const scrolls =
      node.scrollHeight > node.clientHeight + 1 || node.clientHeight > root.offsetHeight + OUTPUT_MARGIN;
    const isHigh = node.clientHeight > MIN_SCROLLER;
    if (/auto|scroll/.test(getComputedStyle(node).overflowY) && scrolls && isHigh) nodes.push(node);
  }
  return nodes;
}

// The height of the timeline below the scene; a question of the quiz hides it.
/** @param {App} app */
function timelineHeight({ content, scene, timeline }) {
  if (content.quiz.data) return 0;
  return scene.plan.isStage ? TIMELINE : Math.max(TIMELINE, timeline.node.offsetHeight);
}

// Plans the scene for the width and height of the view, and shows it as the camera sees it.
/** @param {App} app */
export function arrange(app) {
  const { scene, content } = app;
  const memory = app.memory.layout() + app.tensor.layout();
  const frame = {
    width: scene.stage.clientWidth,
    view: viewHeight(app) - scene.stage.offsetTop - memory - Math.max(AROUND, linesAbove(app)),
    legend: 0,
    side: 0,
    timeline: timelineHeight(app),
    isExplaining: content.model.get("tracing"),
    mayGrow: !app.memory.isOpen && !app.tensor.isOpen && !content.model.get("height"),
  };
  // the scene leaves room for the legend where that is below it, and less of the scene may need more words
  for (let pass = 0; pass < PASSES; pass += 1) {
    scene.beside.classList.remove("ptx-roomy"); // what it needs does not depend on what it had
    const planned = planScene(content, frame);
    const { form, height } = planOne(app, planned);
    const beside = ASIDE[form] > 0;
    const isNew = scene.stage.dataset.form !== form;
    scene.stage.dataset.form = form;
    scene.stage.classList.toggle("ptx-narrow", !beside);
    scene.node.style.width = `${scene.plan.width}px`; // what is beside it has the rest
    if (isNew && beside) app.tracePanel.place();
    const side = beside ? scene.beside.scrollHeight : 0;
    placeScene(app, beside, height);
    const { heightBelow } = scene.corner;
    if (heightBelow <= frame.legend && side <= frame.side) break;
    frame.legend = Math.max(frame.legend, heightBelow);
    frame.side = Math.max(frame.side, side);
  }
}

/** @param {App} app @param {boolean} beside @param {number} height */
function placeScene(app, beside, height) {
  const { scene, root, content } = app;
  const { only } = scene.plan;
  root.dataset.only = only && content.matrices[only].lane ? only : ""; // whose registers alone are shown
  placeMemory(app, beside);
  scene.node.style.height = `${height}px`;
  scene.beside.style.maxHeight = beside ? `${height}px` : "";
  scene.beside.classList.add("ptx-roomy"); // larger bits, with their numbers, if all of them fit
  if (beside && scene.beside.scrollHeight > height) scene.beside.classList.remove("ptx-roomy");
  showScene(scene);
}

// The plan that is shown. A low scene shows, while the memory of a matrix is open, that matrix alone, as long as the
// timeline does not show others. They are names below it. The scene is a little higher if that is all its digits need.
/** @param {App} app @param {ScenePlan} plan */
function planOne(app, plan) {
  app.scene.plan = plan;
  const name = app.memory.isOpen && !app.timeline.movesOn && app.memory.matrix?.name;
  const { count, legible, whole, width, height } = plan;
  const across = name === "A" || name === "stored" ? "columnA" : "columnB";
  const down = name === "B" ? "rowB" : "rowA";
  const least = legible[down];
  const isLow = height <= LOW && !plan.strips;
  if (!name || !app.content.isUnfolded(name) || !isLow || whole[down] >= least) return plan;
  const [columns, rows] = [across === "columnA" ? count.a : count.n, down === "rowB" ? count.b : count.m];
  const around = HEAD + CAPTION + BETWEEN_ROWS + count.gaps;
  const needed = rows * least + around + 1;
  const high = needed <= height + HIGHER ? Math.max(height, needed) : height;
  const room = { width: width - GUTTER.left - RIGHT_EDGE - count.gaps, height: high - around };
  const cells = {
    ...whole,
    [across]: Math.min(room.width / columns, WIDEST_ALONE * legible[across]),
    [down]: Math.min(room.height / rows, rowHeight(2)),
  };
  app.scene.plan = { ...plan, whole: cells, room, height: high, only: name };
  return app.scene.plan;
}

// Memory is below the scene; where lanes and registers are there, before them.
/** @param {App} app @param {boolean} beside */
function placeMemory({ memory, tensor, scene }, beside) {
  const next = beside ? tensor.node : scene.beside;
  if (memory.node.nextElementSibling !== next) next.before(memory.node);
}

// What is planned, as the camera sees it: from all of it to single bits.
/** @param {Scene} scene */
export function showScene(scene) {
  const { plan, camera } = scene;
  const cells = cellsSeen(plan, camera.nearness);
  const extent = extentOf(plan.count, cells);
  if (plan.only) placeOne(scene, plan.only, cells, extent);
  else if (plan.strips) placeStrips(scene, cells, extent);
  else placePanes(scene, cells, windows(extent, plan.room), plan.width);
}

/** @param {Scene} scene @param {CellSize} cells @param {Extent} seen @param {number} width */
function placePanes(scene, cells, seen, width) {
  const left = Math.max(0, Math.floor((width - (seen.a + seen.n + 2 * GUTTER.left + GAP)) / 2));
  const x = { a: left, n: left + GUTTER.left + Math.ceil(seen.a) + GAP };
  // the height of what is above A and D
  const first = Math.ceil(Math.max(seen.b, seen.above ?? 0));
  const second = HEAD + first + BETWEEN_ROWS;
  /** @type {Record<string, [x: number, y: number, width: number, height: number]>} */
  const places = {
    stored: [x.a, first - Math.ceil(seen.above ?? 0), seen.a, seen.above ?? 0],
    B: [x.n, first - Math.ceil(seen.b), seen.n, seen.b],
    A: [x.a, second, seen.a, seen.m],
    D: [x.n, second, seen.n, seen.m],
    C: seen.isAbove
      ? [x.n - GAP - GUTTER.left - Math.ceil(seen.n), first - Math.ceil(seen.m), seen.n, seen.m]
      : [x.n, second + HEAD + Math.ceil(seen.m) + BETWEEN_ROWS, seen.n, seen.m],
  };
  for (const pane of scene.panes) {
    const [name] = pane.names;
    const [right, down, wide, high] = places[name];
    pane.node.style.transform = `translate(${right}px, ${down}px)`;
    const row = name === "B" ? cells.rowB : cells.rowA;
    pane.arrange(layersOf(scene, name, cells), row, { width: wide, height: high });
  }
  scene.corner.place({
    width: (seen.isAbove ? places.C[0] : x.n) - GAP,
    height: seen.above && !seen.isAbove ? places.stored[1] : second - BETWEEN_ROWS,
  });
}

// D first; below it the chosen row of A and the chosen column of B, which scroll by themselves.
/** @param {Scene} scene @param {CellSize} cells @param {Extent} extent */
function placeStrips(scene, cells, { n, m, b }) {
  const { strips, room, width, height } = scene.plan;
  if (!strips) return;
  const [wide, high] = [Math.min(n, room.width), Math.min(m, scene.plan.count.m * scene.plan.whole.rowA)];
  const column = strips.B.columnB;
  let below = 0;
  for (const name of /** @type {Name[]} */ (["D", "C", "stored", "A", "B"])) {
    const pane = scene.paneNamed(name);
    if (!pane) continue;
    const isWhole = name === "D" || name === "C";
    const own = isWhole
      ? cells
      : { ...cells, ...(name === "B" ? { columnB: column } : { rowA: strips.A.rowA }) };
    const row = name === "B" ? own.rowB : own.rowA;
    const size = isWhole ? { width: wide, height: high } : { width: room.width, height: row };
    if (name === "B") Object.assign(size, { width: column, height: Math.min(b, height - below - HEAD) });
    pane.node.style.transform = `translate(0px, ${below}px)`;
    pane.arrange(layersOf(scene, name, own), row, size);
    if (name === "B")
      scene.corner.place({ width: width - column - GUTTER.left - GAP, height: height - below }, below);
    else below += (pane.isFolded ? CAPTION : HEAD + Math.ceil(size.height)) + BETWEEN_ROWS;
  }
}

// One matrix, and the names of the others below it.
/** @param {Scene} scene @param {Name} only @param {CellSize} cells @param {Extent} extent */
function placeOne(scene, only, cells, { a, n, b, m }) {
  const { room, width } = scene.plan;
  const others = scene.panes.filter(({ names }) => names[0] !== only);
  let below = 0;
  for (const pane of [...scene.panes.filter(({ names }) => names[0] === only), ...others]) {
    const [name] = pane.names;
    const size = {
      width: Math.min(name === "A" || name === "stored" ? a : n, room.width),
      height: Math.min(name === "B" ? b : m, room.height),
    };
    const share = width / others.length;
    const [right, down] = name === only ? [0, 0] : [others.indexOf(pane) * share, below];
    if (name === only) below = HEAD + Math.ceil(size.height) + BETWEEN_ROWS;
    else size.width = share - GUTTER.left;
    pane.node.style.transform = `translate(${right}px, ${down}px)`;
    pane.arrange(layersOf(scene, name, cells), name === "B" ? cells.rowB : cells.rowA, size);
  }
  scene.corner.place({ width: 0, height: 0 });
}
