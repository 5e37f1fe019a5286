// What a scene looks like in a room, without the page: sizes of matrices and of their numbers in; out come the sizes of
// cells, what is beside the scene, its height, and whether the corner is the stage. Whole numbers come before larger
// ones, and D before A and B; more room never shows less.

import { LETTER } from "../common/canvas.js";
import { clamp } from "../common/numbers.js";
import { fewestLetters } from "../matrix/matrix.js";
import { BESIDE_DIGITS, MIN_ROW, cellTextFor, codeWidth, rowHeight, cellWidth } from "./cell_text.js";
import { GUTTER } from "./edges.js";
import { BIT_FOOT, BIT_HEAD, BIT_SIZE } from "./draw_pane.js";

// All lengths are in pixels.

// The gap between A and D.
export const GAP = 14;
// The gap between B and the matrices below it.
export const BETWEEN_ROWS = 8;
// The gap between the products of an instruction that has several.
const BETWEEN_PRODUCTS = 8;
// The space right of the last matrix.
export const RIGHT_EDGE = 6;

// The height of a matrix's name.
export const CAPTION = 22;
// The height of a matrix's name and its column numbers.
export const HEAD = CAPTION + GUTTER.top;
// The height of C while it is zero.
const STRIP = 22;
// The height of the line about what is pointed at.
const STATUS = 40;
// The height of the button below the scene that explains D.
const TRACE_BUTTON = 30;
// The height planned for the timeline whatever it says now, so that cells do not shrink when it says more.
export const TIMELINE = 60;
// The least height of a scene, and the greatest to which one grows beyond the view for rows of numbers.
const MIN_HEIGHT = 260;
const GROWN = 740;

// The width of lanes and registers beside the scene: with their bits, and with hexadecimal numbers and values alone.
export const ASIDE = /** @type {Record<RegisterForm, number>} */ ({
  bits: 428,
  values: 202,
  below: 0,
  tab: 0,
});
// The width of a sum that explains D: a row names its products, and has 32 bits.
/** @param {InstructionInfo} instruction */
const asideOfSum = ({ k }) => (k > 16 ? 442 : ASIDE.bits);
// The least width of a scene that has lanes and registers beside it.
const MIN_SCENE = 400;
// The width of an Explorer from which bits may stand beside the scene.
const WIDE = 1000;
// An Explorer narrower than this shows D, and of A and B a row and a column.
export const STACKED = 600;
// The corner is the stage from this size on.
const STAGE = { width: 270, height: 190 };
// Digits of this size are read with ease.
const DIGITS = 13;
// The height of a row under a finger, and of what is seen of a column of B.
const FINGER = 24;
const COLUMN = 11 * FINGER;
// Bits of an element in one row, where bits are drawn one by one.
const BITS_IN_ROW = 16;
// A keeps at least MIN_OF_A of the width, and D takes more than SHARE only for its digits; B keeps at least MIN_OF_B
// of the height, or MIN_B where rows of D would lose their digits.
const SHARE = 0.6;
const MIN_OF_A = 0.22;
const MIN_OF_B = 0.33;
const MIN_B = 64;
// A is widened to the width of C above it if it has at least this share of it.
const MIN_CORNER = 0.6;
// Factors by which legible cells may grow: to fill the height of the view where an instruction is small, to fill
// the width of the scene, and to fill its height.
const LARGEST = 1.5;
const WIDEST = 1.8;
const HIGHEST = 1.25;

// The plan for a stage of this width; `view` is what there is of the height, `legend` what stands below the scene of
// that, and `side` the height of what is beside the scene, which may grow where nothing is open below it.
/** @param {Content} content @param {SceneRoom} frame @returns {ScenePlan} */
export function planScene(content, frame) {
  if (frame.width < STACKED) return planStrips(content, frame);
  const isAbove = content.isUnfolded("C") && !content.matrices.stored;
  const plans = formsFor(content, frame).flatMap((form) => {
    const above = isAbove ? planBeside(content, frame, form, true) : null;
    return [above && hasCorner(above) ? above : planBeside(content, frame, form, false)];
  });
  return plans.reduce((best, plan) => (isBetter(rankOf(content, plan), rankOf(content, best)) ? plan : best));
}

// Bits stand beside a wide scene, hexadecimal numbers and values beside a narrower one. Descriptors, and sums that
// explain D, need the width of bits.
/** @param {Content} content @param {SceneRoom} frame @returns {RegisterForm[]} */
function formsFor({ instruction }, { width, isExplaining }) {
  if (isExplaining && width >= MIN_SCENE + asideOfSum(instruction)) return ["bits"];
  const forms = /** @type {RegisterForm[]} */ (["below"]);
  if (!isExplaining && !instruction.tensor && width >= MIN_SCENE + ASIDE.values) forms.unshift("values");
  if (width >= WIDE) forms.unshift("bits");
  return forms;
}

// What makes a plan better than another, the most important first: numbers in D, in A, in B; registers beside the scene,
// and their bits; codes of four bits, which are wide matrices, in A and B; values instead of codes.
/** @param {Content} content @param {ScenePlan} plan */
function rankOf(content, plan) {
  const { A, B } = content.matrices;
  const [a, b, d] = /** @type {const} */ (["A", "B", "D"]).map((name) => kindIn(content, plan, name));
  /** @param {CellText["kind"]} kind */
  const isValue = (kind) => kind === "whole" || kind === "rounded";
  /** @param {Matrix} matrix */
  const hasCodes = (matrix) => codeWidth(content, matrix) !== null;
  return [
    isValue(d),
    hasCodes(A) || isValue(a),
    hasCodes(B) || isValue(b),
    plan.form !== "below",
    plan.form === "bits",
    a !== "none",
    b !== "none",
    isValue(a),
  ];
}

/** @param {boolean[]} one @param {boolean[]} other */
function isBetter(one, other) {
  const at = one.findIndex((value, index) => value !== other[index]);
  return at >= 0 && one[at];
}

// What the cells of A, B or D show when all of it is seen.
/** @param {Content} content @param {ScenePlan} plan @param {"A" | "B" | "D"} name */
export function kindIn(content, { whole, strips }, name) {
  const cells = strips?.[name] ?? whole;
  const [width, high] =
    name === "A" ? [cells.columnA, cells.rowA] : [cells.columnB, name === "B" ? cells.rowB : cells.rowA];
  return cellTextFor(content, content.matrices[name], width, high).kind;
}

/** @param {Content} content @param {SceneRoom} frame @param {RegisterForm} form @param {boolean} isAbove whether C is left of B @returns {ScenePlan} */
function planBeside(content, frame, form, isAbove) {
  const { width: stage, view, legend, side, timeline, mayGrow } = frame;
  const aside = frame.isExplaining && form === "bits" ? asideOfSum(content.instruction) : ASIDE[form];
  const width = stage - aside;
  const count = countCells(content, isAbove);
  const legible = legibleCells(content);
  const tiers = widthsOf(content);
  const around = aroundCells(content, count);
  // what is below the scene if the corner is no stage: what is pointed at, and the timeline
  const plans = [TRACE_BUTTON, TRACE_BUTTON + STATUS + timeline].map((below) => {
    const most = mayGrow ? GROWN : 0;
    const height = sceneHeight(
      count,
      legible,
      around,
      view - below - legend,
      most,
      form === "below" ? 0 : side,
    );
    const room = { width: width - 2 * GUTTER.left - GAP - RIGHT_EDGE, height: height - around };
    const cells = readableCells(count, legible, tiers, room);
    const whole = isAbove ? withCorner(count, cells) : cells;
    const extent = extentOf(count, whole);
    const isStage = !count.aboveA && extent.a + GUTTER.left >= STAGE.width && HEAD + extent.b >= STAGE.height;
    const near = { ...leastRowsOf(content), ...tiers.full };
    return {
      count,
      whole,
      legible: near,
      nearest: nearestCells(content.matrices, legible, room),
      room,
      width,
      height,
      form,
      isStage,
    };
  });
  return plans[0].isStage ? plans[0] : plans[1];
}

// D first and whole; below it the chosen row of A and the chosen column of B, whose cells are as large as fingers need.
/** @param {Content} content @param {SceneRoom} frame @returns {ScenePlan} */
function planStrips(content, { width, view }) {
  const count = countCells(content, false);
  const legible = legibleCells(content);
  const tiers = widthsOf(content);
  const room = { width: width - GUTTER.left - RIGHT_EDGE, height: Math.max(MIN_HEIGHT, 0.6 * view) };
  const wide = room.width - count.gaps;
  const [{ columnA, columnB }, near] = [tiers.full, { ...leastRowsOf(content), ...tiers.full }];
  const rowA = Math.min(Math.max(FINGER, legible.rowA), Math.max(room.height / count.m, 4));
  const strip = Math.max(FINGER, legible.rowA);
  const whole = {
    columnA: clamp(wide / count.a, Math.max(FINGER, columnA), WIDEST * Math.max(FINGER, columnA)),
    columnB: Math.min(wide / count.n, 2 * WIDEST * columnB),
    rowA,
    rowB: Math.max(FINGER, legible.rowB),
  };
  const strips = {
    A: { ...whole, rowA: strip },
    B: { ...whole, columnB: Math.max(FINGER, columnB) },
  };
  const height =
    HEAD +
    count.m * rowA +
    count.gaps +
    BETWEEN_ROWS +
    (content.isUnfolded("C") ? HEAD + count.m * rowA : content.matrices.C ? STRIP : 0) +
    BETWEEN_ROWS +
    (count.aboveA ? 2 : 1) * (HEAD + strip + BETWEEN_ROWS) +
    HEAD +
    Math.min(COLUMN, count.b * whole.rowB);
  return {
    count,
    whole,
    legible: near,
    nearest: nearestCells(content.matrices, legible, room),
    room,
    width,
    height: Math.ceil(height),
    form: "tab",
    isStage: false,
    strips,
  };
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
/** @param {Pick<ScenePlan, "count" | "whole">} plan */
function hasCorner({ count, whole }) {
  const { a, n } = extentOf(count, whole);
  return n <= a + 1;
}

// What cells have of the height: all but names and headings.
/** @param {Content} content @param {CellCount} count */
function aroundCells(content, { tiers, isAbove }) {
  const strip = (tiers > 1 ? HEAD : STRIP) + BETWEEN_ROWS;
  return 2 * (HEAD + BETWEEN_ROWS) + (content.matrices.C && !isAbove ? strip : 0);
}

// As high as the view, or as a small instruction and what is beside it need; higher than the view where rows of
// numbers need that, if only those of D.
/** @param {CellCount} count @param {CellSize} legible @param {number} around @param {number} view @param {number} most @param {number} side */
function sceneHeight(count, legible, around, view, most, side) {
  const wanted = LARGEST * heightOf(extentOf(count, legible)) + 4 * (HEAD + BETWEEN_ROWS);
  const rows = extentOf(count, { ...legible, ...leastRows(legible) });
  const all = Math.ceil(heightOf(rows)) + around;
  const onlyD = Math.ceil(heightOf({ ...rows, b: Math.min(rows.b, MIN_B) })) + around;
  const least = all <= most ? all : onlyD;
  const height = Math.max(MIN_HEIGHT, Math.min(view, Math.max(wanted, side)));
  return least <= most ? Math.max(height, least) : height;
}

// Rows whose lines of digits stand as close as they may.
/** @param {Pick<CellSize, "rowA" | "rowB">} rows */
function leastRows({ rowA, rowB }) {
  /** @param {number} row */
  const least = (row) => rowHeight((row - rowHeight(0)) / DIGITS);
  return { rowA: least(rowA), rowB: least(rowB) };
}

// The same of a matrix's labels.
/** @param {Content} content */
const leastRowsOf = (content) => leastRows(legibleCells(content));

// Cells whose digits are read with ease.
/** @param {Content} content @returns {CellSize} */
function legibleCells(content) {
  const { A, B, D, SFB } = /** @type {AnyMatrices} */ (content.matrices);
  /** @param {number} letters */
  const wide = (letters) => letters * DIGITS * LETTER + BESIDE_DIGITS + 1;
  const [a, b, d, c] = content.widest.map(wide);
  const factors = SFB ? wide(content.labelSize(SFB).letters) : 0;
  /** @param {Matrix[]} matrices */
  const high = (...matrices) =>
    rowHeight(Math.max(...matrices.map((matrix) => content.labelSize(matrix).lines)), DIGITS);
  return {
    columnA: a,
    columnB: Math.max(b, d, content.isUnfolded("C") ? c : 0, factors),
    rowA: high(A, D),
    rowB: high(B),
  };
}

// Widths of cells with the smallest digits: for all digits, for all numbers in fewer of them, for most, and for codes.
/** @param {Content} content @returns {CellWidths} */
function widthsOf(content) {
  const { A, B, C, D } = content.matrices;
  const beside = content.isUnfolded("C") ? [B, C, D] : [B, D];
  /** @param {(matrix: Matrix) => number} letters */
  const widths = (letters) => {
    /** @param {Matrix[]} matrices */
    const wide = (matrices) => cellWidth(Math.max(...matrices.map(letters)));
    return { columnA: wide([A]), columnB: wide(beside) };
  };
  const full = widths((matrix) => content.labelSize(matrix).letters);
  if (content.display("label") !== "value") return { full, all: full, most: full, code: null };
  return {
    full,
    all: widths((matrix) => fewestLetters(matrix).all),
    most: widths((matrix) => fewestLetters(matrix).most),
    code: codeWidth(content, A),
  };
}

// Cells with which all of it is seen: their digits as large as there is room for, or smaller ones, rounded ones, codes
// in A; and if that is still too wide, digits in D alone, or in A.
/** @param {CellCount} count @param {CellSize} legible @param {CellWidths} widths @param {Size} room @returns {CellSize} */
function readableCells(count, legible, { full, all, most, code }, { width, height }) {
  const columns = [legible.columnB, full.columnB, all.columnB, most.columnB];
  const choices = [
    [legible.columnA, columns[0]],
    [full.columnA, full.columnB],
    [all.columnA, all.columnB],
    [most.columnA, all.columnB],
    [all.columnA, most.columnB],
    [most.columnA, most.columnB],
    ...(code === null ? [] : columns.slice(0, 2).map((column) => [code, column])),
    ...columns.map((column) => [0, column]),
    ...[full, all, most].map(({ columnA }) => [columnA, 0]),
  ];
  const rows = rowsIn(count, legible, height);
  // what has no numbers takes what the other leaves
  const fitting = choices.find(([a, b]) => {
    const [wideA, wideB] = [a ? count.a * a : MIN_OF_A * width, b ? count.n * b : (1 - SHARE) * width];
    return rows.rowA >= MIN_ROW && wideA + wideB + count.gaps <= width;
  });
  return { ...columnsIn(count, legible, width - count.gaps, fitting), ...rows };
}

// A share of the width follows what its columns need.
/** @param {CellCount} count @param {CellSize} legible @param {number} width @param {number[] | undefined} fitting */
function columnsIn(count, legible, width, fitting) {
  const [a, b] = fitting ?? [0, 0];
  const wider = Math.min(width / (count.a * a + count.n * b || 1), WIDEST);
  if (a && b) return { columnA: a * wider, columnB: b * wider };
  if (b) return { columnA: Math.min((width - count.n * b) / count.a, WIDEST * legible.columnA), columnB: b };
  if (a) return { columnA: a, columnB: Math.min((width - count.a * a) / count.n, WIDEST * legible.columnB) };
  const share = (count.a * legible.columnA) / (count.a * legible.columnA + count.n * legible.columnB);
  const wideA = width * clamp(share, MIN_OF_A, 1 - MIN_OF_A);
  return { columnA: wideA / count.a, columnB: (width - wideA) / count.n };
}

// All rows a little smaller, as long as their digits are drawn; then those of B.
/** @param {CellCount} count @param {CellSize} legible @param {number} height */
function rowsIn(count, legible, height) {
  const { tiers, aboveA } = count;
  const { b } = extentOf(count, legible);
  const higher = Math.min(height / heightOf(extentOf(count, legible)), HIGHEST);
  const least = leastRows(legible);
  if (higher * legible.rowA >= least.rowA && higher * legible.rowB >= least.rowB)
    return { rowA: legible.rowA * higher, rowB: legible.rowB * higher };
  /** @param {number} first the height of what is above D */
  const rowBelow = (first) => ((height - first) / tiers - count.gaps) / count.m;
  const roomy = rowBelow(aboveA ? height / (1 + tiers) : Math.min(b, MIN_OF_B * height));
  const tight = aboveA ? roomy : rowBelow(Math.min(b, MIN_B));
  const rowA = Math.min(legible.rowA, Math.max(roomy, Math.min(least.rowA, tight)));
  return {
    rowA,
    rowB: Math.min(legible.rowB, (height - tiers * (count.m * rowA + count.gaps)) / count.b),
  };
}

// What is planned, as the camera sees it: from all of it, with each side growing by what its digits lack, to single
// bits.
/** @param {ScenePlan} plan @param {number} nearness @returns {CellSize} */
export function cellsSeen({ whole, legible, nearest }, nearness) {
  const enough = legibleNearness({ whole, legible, nearest });
  const seen = { ...whole };
  for (const side of /** @type {(keyof CellSize)[]} */ (Object.keys(whole))) {
    const [from, near] = [whole[side], Math.max(whole[side], legible[side])];
    const far = Math.max(near, nearest[side]);
    seen[side] =
      nearness < enough
        ? from * (near / from) ** (nearness / enough)
        : near * (far / near) ** ((nearness - enough) / (1 - enough));
  }
  return seen;
}

// The nearness, from 0 to 1, from which all digits can be read.
/** @param {Pick<ScenePlan, "whole" | "legible" | "nearest">} plan */
export function legibleNearness({ whole, legible, nearest }) {
  const sides = /** @type {(keyof CellSize)[]} */ (Object.keys(whole));
  const lacks = sides.filter((side) => whole[side] < legible[side] - 0.01);
  return Math.max(
    0,
    ...lacks.map((side) => Math.log(legible[side] / whole[side]) / Math.log(nearest[side] / whole[side])),
  );
}

// How much of each matrix is seen. Where a zoom leaves too little room, D has half of the width, and more of
// the height than B.
/** @param {Extent} extent @param {Size} room @returns {Extent} */
export function windows(extent, { width, height }) {
  const { a, n, b, m, tiers, aboveA, isAbove } = extent;
  const seenN = Math.min(n, Math.max(0.5 * width, width - a));
  const above = Math.min(aboveD(extent), Math.max((isAbove ? 0.5 : MIN_OF_B) * height, height - tiers * m));
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
export function extentOf({ a, n, b, m, gaps, tiers, aboveA, isAbove }, { columnA, columnB, rowA, rowB }) {
  return { a: a * columnA, n: n * columnB + gaps, b: b * rowB, m: m * rowA + gaps, tiers, aboveA, isAbove };
}

// The height of B and what is beside it, and that of everything.
/** @param {Extent} extent */
const aboveD = ({ b, m, aboveA }) => (aboveA ? Math.max(b, m) : b);
/** @param {Extent} extent */
const heightOf = (extent) => aboveD(extent) + extent.tiers * extent.m;

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
export function layersOf({ content, plan }, name, { columnA, columnB, rowA, rowB }) {
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
  const nibble = Math.max(period / (kept + 2), Math.min(cellWidth(4) + 4, 0.48 * period));
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
