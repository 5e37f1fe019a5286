// One scene: A left of D, B above it, compressed A above A, as large as the view allows; C left of B, where it
// takes no room from the others, or else below D. A zoom makes the cells larger, and each pane a window on its
// matrix.

import { LETTER } from "../common/canvas.js";
import { clamp } from "../common/numbers.js";
import { fewestLetters } from "../matrix/matrix.js";
import { GUTTER } from "./edges.js";
import {
  BESIDE_DIGITS,
  BIT_FOOT,
  BIT_HEAD,
  BIT_SIZE,
  LANE_NUMBER,
  MIN_LETTER,
  MIN_ROW,
} from "./draw_pane.js";

// All lengths are in pixels.

// The gap between A and D.
const GAP = 14;
// The gap between B and the matrices below it.
const BETWEEN_ROWS = 8;
// The gap between the products of an instruction that has several.
const BETWEEN_PRODUCTS = 8;
// The space left and right of the digits of a cell, together.
const PADDING = 5;
// The space above and below the digits of a cell, together.
const ROW_PADDING = 5;
// The space right of the last matrix.
const RIGHT_EDGE = 6;

// The height of a matrix's name.
const CAPTION = 22;
// The height of a matrix's name and its column numbers.
const HEAD = CAPTION + GUTTER.top;
// The height of C while it is zero.
const STRIP = 22;
// The height of the line about what is pointed at.
const STATUS = 40;
// The height of the button below the timeline.
const TRACE_BUTTON = 30;
// The height planned for the timeline whatever it says now, so that cells do not shrink when it says more.
export const TIMELINE = 60;
// The height of what a notebook shows above and below the Explorer.
const AROUND = 40;
// The least height of a scene.
const MIN_HEIGHT = 260;
// The least height of the view in a frame, which may be only as high as its content.
const MIN_VIEW = 560;
// A scene up to LOW shows one matrix while the memory view is open below it. It may grow by HIGHER, so that the
// matrix shows its digits.
const LOW = 330;
const HIGHER = 48;

// The width of lanes and registers beside the scene.
const BESIDE = 428;
// The least width of a scene that has lanes and registers beside it.
const MIN_SCENE = 400;
// An Explorer narrower than this has its tools in a box.
export const STACKED = 600;
// The padding of the Explorer in full screen, above and below it and at its sides, together.
const FULLSCREEN_PADDING = { high: 20, wide: 32 };
// The margins of an output of a notebook, above and below the Explorer together, at most. What is higher than
// the Explorer by more than this holds other outputs.
const OUTPUT_MARGIN = 40;
// A scrolling part of a page is the view if it is higher than this: a notebook, and no box on it.
const MIN_SCROLLER = 200;
// Digits of this size are read with ease.
const DIGITS = 13;
// Bits of an element in one row, where bits are drawn one by one.
const BITS_IN_ROW = 16;
// Shares of the scene. D may take SHARE of the width for its digits; A keeps at least MIN_OF_A of the width, and
// takes up to MAX_OF_A of it from D; B keeps at least MIN_OF_B of the height.
const SHARE = 0.6;
const MIN_OF_A = 0.22;
const MAX_OF_A = 0.68;
const MIN_OF_B = 0.33;
// A is widened to the width of C above it if it has at least this share of it.
const MIN_CORNER = 0.6;
// Factors by which legible cells may grow: to fill the height of the view where an instruction is small, to fill
// the width of the scene, and to fill its height.
const LARGEST = 1.5;
const WIDEST = 1.8;
const HIGHEST = 1.25;
// The scene is planned this often at most, because the legend below it may need more room each time.
const PASSES = 3;

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

// Whether lanes and registers stand beside the scene, and not below it.
/** @param {App} app */
const isBeside = ({ layoutWidth, root }) =>
  layoutWidth - (document.fullscreenElement === root ? FULLSCREEN_PADDING.wide : 0) >= MIN_SCENE + BESIDE;

// Plans the scene for the width and height of the view, and shows it as the camera sees it.
/** @param {App} app */
export function arrange(app) {
  const beside = isBeside(app);
  app.scene.stage.classList.toggle("ptx-narrow", !beside);
  const width = app.scene.stage.clientWidth - (beside ? BESIDE : 0);
  // the scene leaves room for the legend where that is below it, and less of the scene may need more words
  let legend = 0;
  for (let pass = 0; pass < PASSES; pass += 1) {
    placeScene(app, width, beside, legend);
    const { heightBelow } = app.scene.corner;
    if (!beside || heightBelow <= legend) break;
    legend = heightBelow;
  }
}

/** @param {App} app @param {number} width @param {boolean} beside @param {number} legend its height below the scene */
function placeScene(app, width, beside, legend) {
  app.scene.beside.classList.remove("ptx-roomy"); // what it needs does not depend on what it had
  const isAbove = app.content.isUnfolded("C") && !app.content.matrices.stored;
  const above = isAbove ? planScene(app, width, beside, legend, true) : null;
  const { plan, height } =
    above && hasCorner(above.plan) ? above : planScene(app, width, beside, legend, false);
  const one = planOne(app, plan, height);
  app.scene.plan = one?.plan ?? plan;
  const { only } = app.scene.plan;
  app.root.dataset.only = only && app.content.matrices[only].lane ? only : ""; // whose registers alone are shown
  placeMemory(app, beside);
  app.scene.node.style.width = `${width}px`;
  const high = one?.height ?? height;
  app.scene.node.style.height = `${high}px`;
  app.scene.beside.style.maxHeight = beside ? `${high}px` : "";
  app.scene.beside.classList.add("ptx-roomy"); // larger bits, with their numbers, if all of them fit
  if (beside && app.scene.beside.scrollHeight > high) app.scene.beside.classList.remove("ptx-roomy");
  showScene(app.scene);
}

/** @param {App} app @param {number} width @param {boolean} beside @param {number} legend @param {boolean} isAbove whether C is left of B */
function planScene(app, width, beside, legend, isAbove) {
  const count = countCells(app.content, isAbove);
  const legible = legibleCells(app.content);
  const widths = narrowestCells(app.content);
  /** @param {number} height */
  const plan = (height) => {
    const room = roomIn(app.content, width, height, count);
    return { height, room, cells: readableCells(count, legible, widths, room) };
  };
  const { view, height: planned } = sceneHeight(app, count, legible, beside, legend);
  let { height, room, cells } = plan(planned);
  const isWide = cells.columnA >= widths.most.columnA && cells.columnB >= widths.most.columnB;
  const needed = heightOf(extentOf(count, { ...cells, ...leastRows(legible) })) + height - room.height + 1;
  // the timeline is below the view where that alone makes rows high enough for digits
  if (isWide && needed > height && needed <= view) ({ height, room, cells } = plan(needed));
  // and the button below it, where that alone makes them high enough for numbers of lanes
  const higher = cells.rowA < LANE_NUMBER ? plan(height + TRACE_BUTTON) : null;
  if (higher && higher.cells.rowA >= LANE_NUMBER) ({ height, room, cells } = higher);
  const whole = isAbove ? withCorner(count, cells) : cells;
  return {
    height,
    plan: { count, whole, legible, nearest: nearestCells(app.content.matrices, legible, room), room, width },
  };
}

// The plan of a low scene while the memory of a matrix is shown: that matrix alone, as long as the timeline does
// not show others. They are names below it. The scene is a little higher if that is all its digits need.
/** @param {App} app @param {ScenePlan} plan @param {number} height */
function planOne(app, plan, height) {
  const name = app.memory.isOpen && !app.timeline.movesOn && app.memory.matrix?.name;
  const { count, legible, whole, width } = plan;
  const across = name === "A" || name === "stored" ? "columnA" : "columnB";
  const down = name === "B" ? "rowB" : "rowA";
  const least = leastRows(legible)[down];
  if (!name || !app.content.isUnfolded(name) || height > LOW || whole[down] >= least) return null;
  const [columns, rows] = [across === "columnA" ? count.a : count.n, down === "rowB" ? count.b : count.m];
  const around = HEAD + CAPTION + BETWEEN_ROWS + count.gaps;
  const needed = rows * least + around + 1;
  const high = needed <= height + HIGHER ? Math.max(height, needed) : height;
  const room = { width: width - GUTTER.left - RIGHT_EDGE - count.gaps, height: high - around };
  const cells = {
    ...whole,
    [across]: Math.min(room.width / columns, WIDEST * legible[across]),
    [down]: Math.min(room.height / rows, HIGHEST * legible[down]),
  };
  return { height: high, plan: { ...plan, whole: cells, room, only: name } };
}

// Memory is below the scene; where lanes and registers are there, before them.
/** @param {App} app @param {boolean} beside */
function placeMemory({ memory, tensor, scene }, beside) {
  const next = beside ? tensor.node : scene.beside;
  if (memory.node.nextElementSibling !== next) next.before(memory.node);
}

// Where A is a little narrower than C above it, the two get the same width.
/** @param {CellCount} count @param {CellSize} cells @returns {CellSize} */
function withCorner(count, cells) {
  const { a, n } = extentOf(count, cells);
  if (n <= a || a < MIN_CORNER * n) return cells;
  const half = (a + n) / 2;
  return { ...cells, columnA: half / count.a, columnB: (half - count.gaps) / count.n };
}

// Whether C is narrow enough for the corner left of B and above A.
/** @param {ScenePlan} plan */
function hasCorner({ count, whole }) {
  const { a, n } = extentOf(count, whole);
  return n <= a + 1;
}

// What is planned, as the camera sees it: from all of it to single bits.
/** @param {Scene} scene */
export function showScene(scene) {
  const { count, whole, nearest, room, width } = scene.plan;
  const { nearness } = scene.camera;
  /** @param {keyof CellSize} side */
  const between = (side) => whole[side] * Math.max(1, nearest[side] / whole[side]) ** nearness;
  const cells = {
    columnA: between("columnA"),
    columnB: between("columnB"),
    rowA: between("rowA"),
    rowB: between("rowB"),
  };
  const extent = extentOf(count, cells);
  if (scene.plan.only) placeOne(scene, scene.plan.only, cells, extent);
  else placePanes(scene, cells, windows(extent, room), width);
}

// The nearness, from 0 to 1, from which all digits can be read.
/** @param {ScenePlan} plan */
export function legibleNearness({ whole, legible, nearest }) {
  const sides = /** @type {(keyof CellSize)[]} */ (Object.keys(whole));
  return Math.max(
    ...sides.map((side) =>
      whole[side] < legible[side]
        ? Math.log(legible[side] / whole[side]) / Math.log(nearest[side] / whole[side])
        : 0,
    ),
  );
}

// How many cells there are along each side; scale factors and gaps count as parts of cells.
/** @param {Content} content @param {boolean} isAbove @returns {CellCount} */
function countCells(content, isAbove) {
  const { A, B, SFA, SFB, stored } = /** @type {AnyMatrices} */ (content.matrices);
  const products = content.instruction.mma_count;
  const gaps = products > 1 ? products * BETWEEN_PRODUCTS : 0;
  return {
    a: A.columns + (SFA ? SFA.columns * tagShare(content) : 0),
    n: B.columns,
    b: B.rows + (SFB ? SFB.rows : 0),
    m: A.rows,
    gaps,
    // C is below D, or left of B
    tiers: content.isUnfolded("C") && !isAbove ? 2 : 1,
    isAbove,
    // compressed A or C is above A
    aboveA: Boolean(stored) || isAbove,
  };
}

// Cells whose digits are of the least size that is read with ease.
/** @param {Content} content @returns {CellSize} */
function legibleCells(content) {
  const { A, B, D, SFB } = /** @type {AnyMatrices} */ (content.matrices);
  /** @param {number} letters */
  const wide = (letters) => letters * DIGITS * LETTER + PADDING;
  const [a, b, d, c] = content.widest.map(wide);
  const factors = SFB ? wide(content.labelSize(SFB).letters) : 0;
  /** @param {Matrix[]} matrices */
  const high = (...matrices) =>
    Math.max(...matrices.map((matrix) => content.labelSize(matrix).lines)) * DIGITS + ROW_PADDING;
  return {
    columnA: a,
    columnB: Math.max(b, d, content.isUnfolded("C") ? c : 0, factors),
    rowA: high(A, D),
    rowB: high(B),
  };
}

// Cells whose bits are drawn one by one, if one fits its pane.
/** @param {Matrices} matrices @param {CellSize} legible @param {Size} room @returns {CellSize} */
function nearestCells({ A, B, D }, legible, room) {
  /** @param {Matrix[]} matrices */
  const wide = (...matrices) =>
    Math.max(...matrices.map(({ bits }) => Math.min(bits, BITS_IN_ROW))) * BIT_SIZE.width + 16;
  /** @param {Matrix[]} matrices */
  const high = (...matrices) =>
    Math.max(...matrices.map(({ bits }) => Math.ceil(bits / BITS_IN_ROW))) * BIT_SIZE.height +
    BIT_HEAD +
    BIT_FOOT +
    6;
  const most = 0.45 * room.width;
  const sizes = {
    columnA: Math.min(most, wide(A)),
    columnB: Math.min(most, wide(B, D)),
    rowA: high(A, D),
    rowB: high(B),
  };
  const sides = /** @type {(keyof CellSize)[]} */ (Object.keys(sizes));
  for (const side of sides) sizes[side] = Math.max(sizes[side], 1.5 * legible[side]);
  return sizes;
}

/** @param {CellCount} count @param {CellSize} cells @returns {Extent} */
function extentOf({ a, n, b, m, gaps, tiers, aboveA, isAbove }, { columnA, columnB, rowA, rowB }) {
  return { a: a * columnA, n: n * columnB + gaps, b: b * rowB, m: m * rowA + gaps, tiers, aboveA, isAbove };
}

// The height of B and what is beside it, and that of everything.
/** @param {Extent} extent */
const aboveD = ({ b, m, aboveA }) => (aboveA ? Math.max(b, m) : b);
/** @param {Extent} extent */
const heightOf = (extent) => aboveD(extent) + extent.tiers * extent.m;

// What cells have of the scene: all but names and headings.
/** @param {Content} content @param {number} width @param {number} height @param {CellCount} count @returns {Size} */
function roomIn(content, width, height, { tiers, isAbove }) {
  const strip = (tiers > 1 ? HEAD : STRIP) + BETWEEN_ROWS;
  return {
    width: width - 2 * GUTTER.left - GAP - RIGHT_EDGE,
    height: height - 2 * (HEAD + BETWEEN_ROWS) - (content.matrices.C && !isAbove ? strip : 0),
  };
}

// As high as the view without what is below the scene, or as a small instruction and what is beside it need.
/** @param {App} app @param {CellCount} count @param {CellSize} legible @param {boolean} beside @param {number} legend */
function sceneHeight(app, count, legible, beside, legend) {
  const memory = app.memory.layout() + app.tensor.layout();
  const timeline = Math.max(TIMELINE, app.timeline.node.offsetHeight) + TRACE_BUTTON;
  // a question of the quiz hides the timeline
  const below = STATUS + legend + (app.content.quiz.data ? 0 : timeline);
  const around = Math.max(AROUND, beside ? linesAbove(app) : 0);
  const view = viewHeight(app) - app.scene.stage.offsetTop - memory - around;
  const needed = LARGEST * heightOf(extentOf(count, legible)) + 4 * (HEAD + BETWEEN_ROWS);
  const side = beside ? Math.min(view - below, app.scene.beside.scrollHeight) : 0;
  return { view, height: Math.max(MIN_HEIGHT, Math.min(view - below, Math.max(needed, side))) };
}

// Rows whose lines of digits stand as close as they may.
/** @param {Pick<CellSize, "rowA" | "rowB">} rows */
function leastRows({ rowA, rowB }) {
  /** @param {number} row */
  const least = (row) => ((row - ROW_PADDING) / DIGITS) * MIN_ROW;
  return { rowA: least(rowA), rowB: least(rowB) };
}

// Cells with which all of it is seen. Those of D are legible as long as that leaves enough for A and B.
/** @param {CellCount} count @param {CellSize} legible @param {Size} room @returns {CellSize} */
function wholeCells(count, legible, { width, height }) {
  const { a, n, b, m, tiers, aboveA } = extentOf(count, legible);
  let { columnA, columnB, rowA, rowB } = legible;
  const wider = Math.min(width / (a + n), WIDEST);
  if (wider >= 1) [columnA, columnB] = [columnA * wider, columnB * wider];
  else {
    const wideA =
      n <= SHARE * width ? width - n : Math.min(a, clamp(a * wider, MIN_OF_A * width, MAX_OF_A * width));
    columnA = wideA / count.a;
    columnB = (width - wideA - count.gaps) / count.n;
  }
  const higher = Math.min(height / heightOf({ a, n, b, m, tiers, aboveA, isAbove: false }), HIGHEST);
  // all of them a little smaller, as long as their digits are drawn; then those of B
  const least = leastRows(legible);
  if (higher * rowA >= least.rowA && higher * rowB >= least.rowB)
    [rowA, rowB] = [rowA * higher, rowB * higher];
  else {
    const most = height - (aboveA ? height / (1 + tiers) : Math.min(b, MIN_OF_B * height));
    rowA = Math.min(rowA, (most / tiers - count.gaps) / count.m);
    rowB = Math.min(rowB, (height - tiers * (count.m * rowA + count.gaps)) / count.b);
  }
  return { columnA, columnB, rowA, rowB };
}

// Cells that show all digits or, where there is no room for them, condensed and then rounded ones: in as many
// matrices as can have their numbers.
/** @param {CellCount} count @param {CellSize} legible @param {NarrowestCells} widths @param {Size} room @returns {CellSize} */
function readableCells(count, legible, { full, all, most }, room) {
  const choices = [
    full,
    all,
    { columnA: most.columnA, columnB: all.columnB },
    { columnA: all.columnA, columnB: most.columnB },
    most,
  ];
  const needed = [legible, ...choices.map((widths) => ({ ...legible, ...widths }))];
  const fitting = needed.find(
    ({ columnA, columnB }) => count.a * columnA + count.n * columnB + count.gaps <= room.width,
  );
  if (fitting) return wholeCells(count, fitting, room);
  // numbers in as many as can have them, then all of their digits
  const plans = [legible, ...[full, most].map((widths) => ({ ...legible, ...widths }))];
  /** @param {CellSize} cells */
  const readable = (cells) =>
    [most, full].reduce(
      (sum, { columnA, columnB }) =>
        2 * sum + Number(cells.columnA > columnA - 0.01) + Number(cells.columnB > columnB - 0.01),
      0,
    );
  return plans
    .map((cells) => wholeCells(count, cells, room))
    .reduce((best, cells) => (readable(cells) > readable(best) ? cells : best));
}

// Widths of cells with condensed digits: for all digits, for all numbers in fewer of them, and for most.
/** @param {Content} content @returns {NarrowestCells} */
function narrowestCells(content) {
  const { A, B, C, D } = content.matrices;
  const isValue = content.display("label") === "value";
  const beside = content.isUnfolded("C") ? [B, C, D] : [B, D];
  /** @param {(matrix: Matrix) => number} letters */
  const widths = (letters) => {
    /** @param {Matrix[]} matrices */
    const wide = (matrices) => Math.max(...matrices.map(letters)) * MIN_LETTER + BESIDE_DIGITS;
    return { columnA: wide([A]), columnB: wide(beside) };
  };
  const full = widths((matrix) => content.labelSize(matrix).letters);
  if (!isValue) return { full, all: full, most: full };
  return {
    full,
    all: widths((matrix) => fewestLetters(matrix).all),
    most: widths((matrix) => fewestLetters(matrix).most),
  };
}

// How much of each matrix is seen. Where a zoom leaves too little room, D has half of the width, and more of
// the height than B.
/** @param {Extent} extent @param {Size} room @returns {Extent} */
function windows(extent, { width, height }) {
  const { a, n, b, m, tiers, aboveA, isAbove } = extent;
  const seenN = Math.min(n, Math.max(0.5 * width, width - a));
  const above = Math.min(aboveD(extent), Math.max((isAbove ? 0.5 : 0.4) * height, height - tiers * m));
  const seenM = Math.min(m, (height - above) / tiers);
  return {
    n: isAbove ? Math.min(seenN, a, width - seenN) : seenN, // of C and D as much
    a: Math.min(a, width - seenN),
    b: Math.min(b, above),
    m: isAbove ? Math.min(seenM, above) : seenM,
    above: aboveA ? Math.min(m, above) : 0,
    tiers,
    aboveA,
    isAbove,
  };
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

// The layers of a pane: where its cells are, where matrices are in parts. Blocks have a scale factor each,
// compressed A has a nibble for every chunk, and several products have gaps between them.

// The width of a scale factor of A in columns.
/** @param {Content} content */
function tagShare(content) {
  const [letters] = content.widest;
  const own = content.labelSize(content.matrices.SFA).letters;
  return Math.max(3, own + 0.6) / Math.max(1.5, letters + 0.6); // its heading has three letters
}

/** @param {Scene} scene @param {Name} name @param {CellSize} cells @returns {Plan[]} */
function layersOf({ content, plan }, name, { columnA, columnB, rowA, rowB }) {
  if (name === "A") return layersOfA(content, columnA, rowA);
  if (name === "B") return layersOfB(content, columnB, rowB);
  return name === "stored"
    ? layersOfStored(content.instruction, plan.count, columnA)
    : layersOfD(content, name, columnB, rowA);
}

// A with the scale factor of each block of a row before it; several products have a gap between them.
/** @param {Content} content @param {number} width @param {number} row @returns {Plan[]} */
function layersOfA(content, width, row) {
  /** @type {AnyMatrices} */
  const { A, SFA } = content.matrices;
  if (A.products)
    return [
      {
        name: "A",
        per: A.columns,
        period: A.columns * width,
        offset: 0,
        width,
        down: withGaps(A.rows / A.products.count, row),
      },
    ];
  if (!SFA) return [{ name: "A", per: A.columns, period: A.columns * width, offset: 0, width }];
  const per = A.columns / SFA.columns;
  const tag = tagShare(content) * width;
  const period = per * width + tag;
  return [
    { name: "A", per, period, offset: tag, width },
    { name: "SFA", per: 1, period, offset: 0, width: 0.88 * tag },
  ];
}

// Compressed A, as wide as dense A with its scale factors: each chunk begins with its nibble.
/** @param {InstructionInfo} instruction @param {CellCount} count @param {number} width @returns {Plan[]} */
function layersOfStored({ k, chunk, kept }, count, width) {
  const period = (chunk * width * count.a) / k;
  const nibble = Math.max(period / (kept + 2), Math.min(4 * DIGITS * LETTER + PADDING, 0.48 * period));
  const gap = period > 20 ? 3 : 0;
  return [
    { name: "stored", per: kept, period, offset: nibble, width: (period - nibble - gap) / kept },
    { name: "E", per: 1, period, offset: 0, width: nibble },
  ];
}

// B with the scale factor of each block of a column above it; several products are side by side.
/** @param {Content} content @param {number} width @param {number} row @returns {Plan[]} */
function layersOfB(content, width, row) {
  /** @type {AnyMatrices} */
  const { B, SFB } = content.matrices;
  const across = { per: B.columns, period: B.columns * width, offset: 0, width };
  if (B.products)
    return [
      {
        name: "B",
        ...across,
        per: B.columns / B.products.count,
        period: across.period / B.products.count + BETWEEN_PRODUCTS,
      },
    ];
  if (!SFB) return [{ name: "B", ...across }];
  const per = B.rows / SFB.rows;
  const period = (per + 1) * row;
  return [
    { name: "B", ...across, down: { per, period, offset: row, size: row } },
    { name: "SFB", ...across, down: { per: 1, period, offset: 0, size: 0.9 * row } },
  ];
}

// C or D. Each of several products is placed where its rows of A and its columns of B meet.
/** @param {Content} content @param {Name} name @param {number} width @param {number} row @returns {Plan[]} */
function layersOfD(content, name, width, row) {
  const matrix = content.matrices[name];
  const across = { name, per: matrix.columns, period: matrix.columns * width, offset: 0, width };
  if (!matrix.products) return [across];
  const { count } = matrix.products;
  const [rowsEach, aside] = [matrix.rows / count, matrix.columns * width + BETWEEN_PRODUCTS];
  return [
    {
      ...across,
      down: withGaps(rowsEach, row),
      shift: (at) => Math.floor(at / rowsEach) * aside,
      wide: count * aside,
    },
  ];
}

// Rows in parts with a gap after each.
/** @param {number} per @param {number} size @returns {Along} */
function withGaps(per, size) {
  return { per, period: per * size + BETWEEN_PRODUCTS, offset: 0, size };
}
