// How large cells are: with digits where those fit, else pixels; at 100 % the product is as wide as the page.

import { clamp } from "../common/util.js";
import { roomFor } from "../matrix/matrix.js";
import { GUTTER } from "./edges.js";
import { SCROLLBAR } from "../common/scroll_area.js";

const GAP = 14; // between A and D
const BETWEEN_ROWS = 10; // between B and what is below it
const HEAD = 17 + GUTTER.top; // caption and headings of a pane
const LEGIBLE = 9; // height of a row whose digits can be read
const WIDEST_CELL = 44;

// Which rows become lower, and down to what height, one step after the other until everything fits.
/** @type {[which: "rowM" | "rowK", least: number][]} */
const MANY_ROWS = [
  ["rowK", 6],
  ["rowM", 12],
  ["rowK", 4],
  ["rowM", LEGIBLE],
  ["rowK", 2],
  ["rowM", 2],
];
/** @type {[which: "rowM" | "rowK", least: number][]} */
const FEW_ROWS = [
  ["rowK", 14],
  ["rowM", 14],
  ["rowK", LEGIBLE],
  ["rowM", LEGIBLE],
  ["rowK", 4],
  ["rowM", 3],
];
const PANEL = 440; // width of the quadrant with lanes and registers, if B leaves it
const LEAST_PANEL = 310; // its smallest width
const TWO_COLUMNS = 660; // width from which registers are shown in two columns
const WIDE_QUADRANT = 780; // width from which the title and the lanes are in one line
const PANEL_PADDING = 8;
const PANEL_WIDTHS = [500, 560]; // for styles: up to which of these the panel is wide
export const STACKED = 600; // below this width lanes and registers stand above the matrices
const LEAST_VIEW = 560; // height to plan for in a frame that is as high as what is in it

// The height in which everything should be seen at once: that of the part of the page that scrolls, or less
// where the author of a notebook wants to have something else beside the Explorer on the first screen.
/** @param {App} app */
export function viewHeight({ root, model }) {
  if (document.fullscreenElement === root) return root.clientHeight - 20;
  let view = window.innerHeight;
  for (const node of scrollers(root)) view = Math.min(view, node.clientHeight);
  if (window.self !== window.top) view = Math.max(view, LEAST_VIEW);
  return Math.min(view, model.get("height") || view);
}

// What scrolls around the Explorer: the notebook.
/** @param {HTMLElement} root @returns {HTMLElement[]} */
export function scrollers(root) {
  const nodes = /** @type {HTMLElement[]} */ ([]);
  for (let node = root.parentElement; node && node !== document.body; node = node.parentElement) {
    // an output is as high as what is in it, and does not scroll
    const scrolls = node.scrollHeight > node.clientHeight + 1 || node.clientHeight > root.offsetHeight + 40;
    if (/auto|scroll/.test(getComputedStyle(node).overflowY) && scrolls && node.clientHeight > 200)
      nodes.push(node);
  }
  return nodes;
}

// Heights of the rows of A and D and of those of B with which all of it fits the view. If rows would be
// too low for digits, registers become cards; before that, "why these bits" may leave the view.
/** @param {App} app @param {Tiers} size @param {Rows} wish @param {number} budget @returns {Rows & { budget: number }} */
function fitRows(app, size, wish, budget) {
  app.panel.setDense(false);
  app.grid.classList.remove("ptx-large-cards", "ptx-wide-bits", "ptx-roomy");
  app.panel.distribute();
  const most = budget + app.tracePanel.button.offsetHeight;
  const least = Math.min(LEGIBLE, wish.rowM);
  for (const available of [budget, most]) {
    const rows = rowsWithin(app, size, wish, available);
    const last = available === most && app.shownLanes().length > 1; // these are not cards
    if (rows.rowM >= least || last) {
      const heightOfB = HEAD + size.k * rows.rowK;
      if (enlarge(app, "ptx-wide-bits", heightOfB)) enlarge(app, "ptx-roomy", heightOfB);
      return { ...rows, budget: available };
    }
  }
  if (app.instruction.tensor) return { ...rowsWithin(app, size, wish, budget), budget };
  app.panel.setDense(true);
  const rows = rowsWithin(app, size, wish, budget);
  enlarge(app, "ptx-large-cards", HEAD + size.k * rows.rowK);
  return { ...rows, budget };
}

// Makes cards or bits larger if there is room beside B; returns whether there is.
/** @param {App} app @param {string} name @param {number} heightOfB */
function enlarge(app, name, heightOfB) {
  if (app.grid.classList.contains("ptx-stacked")) return false;
  const most = Math.max(heightOfB, quadrantHeight(app));
  app.grid.classList.add(name);
  app.panel.distribute();
  const { scrollWidth, clientWidth } = app.panel.registers;
  const fits = quadrantHeight(app) <= most && scrollWidth <= clientWidth + 1;
  if (!fits) {
    app.grid.classList.remove(name);
    app.panel.distribute();
  }
  return fits;
}

// The height of descriptor, lanes, registers and status; the quadrant itself may be higher, as high as B.
/** @param {App} app */
function quadrantHeight(app) {
  return app.descriptor.node.offsetHeight + app.panel.node.offsetHeight + app.status.offsetHeight;
}

// B loses height first if it has many rows; digits go last.
/** @param {App} app @param {Tiers} size @param {Rows} wish @param {number} budget @returns {Rows} */
function rowsWithin(app, { m, k, tiers }, wish, budget) {
  const stacked = app.grid.classList.contains("ptx-stacked");
  const quadrant = quadrantHeight(app);
  const room = budget - tiers * (BETWEEN_ROWS + HEAD) - (stacked ? quadrant + BETWEEN_ROWS : 0);
  let { rowM, rowK } = wish;
  const over = () => {
    const high = HEAD + k * rowK;
    return tiers * m * rowM + (stacked ? high : Math.max(high, quadrant)) - room;
  };
  for (const [which, least] of k > 32 ? MANY_ROWS : FEW_ROWS) {
    while (over() > 0 && (which === "rowK" ? rowK : rowM) > least) {
      if (which === "rowK") rowK = Math.max(least, rowK - 0.5);
      else rowM -= 1;
    }
  }
  return { rowM, rowK };
}

// Lays out everything for the available width and height.
/** @param {App} app */
export function arrange(app) {
  const size = measure(app);
  app.grid.classList.toggle("ptx-stacked", size.isStacked);
  // Zooming changes the cells, not where the panes are, so that a pane can scroll to keep a point in its
  // place: columns, rows and panes are measured at 100 %.
  const columns = columnWidths(app, size);
  const width = paneWidths(size, columns);
  placeColumns(app, size, width.n);
  const rows = rowHeights(app, size, columns);
  const height = paneHeights(app, size, rows);
  app.room = { kx: width.k, ky: height.b, n: width.n, m: height.m };
  const cells = zoomedCells(app, columns, rows);
  const view = zoomedHeights(app, size, cells, height);
  makeRoomForBars(app, size, { before: { ...columns, ...rows.cells }, after: cells, width, height, view });
  for (const pane of app.panes) {
    const [name] = pane.names;
    const layers = layersOf(app, name, cells, size.extra);
    const [row, seen] = name === "B" ? [cells.rowK, view.b] : [cells.rowM, view.m];
    pane.arrange(layers, row, name === "A" || name === "stored" ? width.k : width.n, seen);
  }
}

// What there is to lay out: rows and columns, of all products if there are several.
/** @param {App} app @returns {LayoutSize} */
function measure(app) {
  const { A, B, stored } = app.matrices;
  return {
    m: A.rows,
    n: B.columns,
    k: app.instruction.k,
    tiers: stored || app.model.get("show_c") ? 2 : 1, // A and D; below them compressed A and C
    isStacked: app.instruction.mma_count > 1 || app.layoutWidth < STACKED,
    extra: extraOf(app),
  };
}

/** @param {number} pixels */
const toQuarter = (pixels) => Math.floor(pixels * 4) / 4;

/** @param {number} letters */
const widthFor = (letters) => letters * 5.6 + 4;

// Widths of the columns of A, and of B and D: wide enough for the numbers of both, if there is room; else for
// those of one of them; else a few pixels.
/** @param {App} app @param {LayoutSize} size @returns {ColumnWidths} */
function columnWidths(app, { n, k, isStacked, extra }) {
  const { SFA, SFB } = app.matrices;
  const [a, b, d, c] = app.widest.map(widthFor);
  const needN = Math.max(
    b,
    d,
    app.model.get("show_c") ? c : 0,
    SFB ? widthFor(app.labelSize(SFB).letters) : 0,
  );
  const room = app.layoutWidth - 2 * GUTTER.left - GAP - extra.alongA - extra.between - 12;
  // A needs room for its scale factors, and so does a descriptor
  const leastPanel = SFA || app.instruction.descriptor ? PANEL : LEAST_PANEL;
  const quadrant = clamp(app.layoutWidth - n * needN - GUTTER.left - GAP - 12, leastPanel, PANEL);
  // where lanes and registers are above everything, A may be narrow
  const leastA = isStacked ? 0 : quadrant - GUTTER.left - extra.alongA;
  let [kx, nx] = [a, needN];
  const need = k * kx + n * nx;
  if (need <= room) {
    const grow = Math.min(room / need, 3, WIDEST_CELL / kx);
    [kx, nx] = [kx * grow, nx * grow];
  } else if (n * nx <= 0.4 * room) kx = (room - n * nx) / k;
  else if (k * kx <= 0.5 * room) nx = (room - k * kx) / n;
  else [kx, nx] = [room / (k + n), room / (k + n)];
  kx = Math.max(kx, leastA / k);
  // the widest cells that leave room for two columns of registers beside B
  const narrow = (app.layoutWidth - TWO_COLUMNS - GUTTER.left - GAP) / n;
  if (nx > needN && leastA && narrow >= needN) nx = Math.min(nx, narrow);
  if (need <= room) kx = Math.max(kx, Math.min(WIDEST_CELL, (room - n * nx) / k));
  const besideA = (room - k * kx) / n;
  nx = Math.max(2, Math.min(nx, n * needN <= 0.4 * room ? Math.max(needN, besideA) : besideA));
  return {
    kx: Math.max(2, toQuarter(kx)),
    nx: Math.max(2, toQuarter(nx)),
    need: { kx: a, nx: needN },
    room,
    leastA,
  };
}

// How much of A, and of B and D, is seen at once.
/** @param {LayoutSize} size @param {ColumnWidths} columns */
function paneWidths({ n, k, extra }, { kx, nx, room, leastA }) {
  let viewN = n * nx;
  let viewK = k * kx;
  if (viewN + viewK > room) {
    viewN = Math.min(viewN, Math.max(0.4 * room, room - viewK));
    viewK = Math.min(viewK, Math.max(room - viewN, leastA));
    viewN = Math.min(viewN, room - viewK);
  }
  return { k: viewK + extra.alongA, n: viewN + extra.between };
}

/** @param {App} app @param {LayoutSize} size @param {number} widthOfD */
function placeColumns({ grid, layoutWidth }, { isStacked }, widthOfD) {
  const second = Math.ceil(widthOfD + GUTTER.left + SCROLLBAR);
  const first = Math.max(0, Math.floor(layoutWidth - second - GAP));
  const quadrant = isStacked ? layoutWidth : first;
  grid.style.gridTemplateColumns = `${first}px ${second}px`;
  grid.style.setProperty("--ptx-panel", `${quadrant - PANEL_PADDING}px`);
  grid.classList.toggle("ptx-wide-quadrant", quadrant >= WIDE_QUADRANT);
  for (const most of PANEL_WIDTHS)
    grid.classList.toggle(`ptx-panel-most-${most}`, quadrant - PANEL_PADDING <= most);
}

// Heights of rows with which everything is in view: the matrices, lanes and registers beside B (or above
// everything), memory, and the button "why these bits".
/** @param {App} app @param {LayoutSize} size @param {ColumnWidths} columns @returns {RowHeights} */
function rowHeights(app, { m, k, tiers, isStacked, extra }, { kx, nx }) {
  const memory = app.memory.layout() + app.tensor.layout();
  const after = app.tracePanel.button.offsetHeight;
  const inParts = extra.downB + tiers * extra.between;
  const rows = fitRows(
    app,
    { m: Math.min(m, 32), k: Math.min(k, 64), tiers },
    { rowM: wantedRowOfA(m, kx, nx), rowK: nx >= 8 ? 18 : 9 },
    viewHeight(app) - app.grid.offsetTop - after - 14 - inParts - memory,
  );
  const panel = quadrantHeight(app);
  const [above, beside] = isStacked ? [panel + BETWEEN_ROWS, 0] : [0, panel];
  // B is as high as what is left of it, so that A and D follow without a gap
  const plain = { rowM: rows.rowM, rowK: clamp(Math.max(rows.rowK, (beside - HEAD) / k), 2, 18) };
  const cells = labelledRows(app, { kx, nx }, plain);
  return { plain, cells, budget: rows.budget + inParts - above, beside };
}

/** @param {number} m @param {number} kx @param {number} nx */
function wantedRowOfA(m, kx, nx) {
  if (m <= 16) return kx > 24 ? 19 : 16;
  const isLegible = kx >= 8 || nx >= 8;
  if (!isLegible) return 6;
  return m <= 32 ? 14 : 10;
}

// Rows with labels of several lines are as high as those need, where the cells are wide enough for them.
/** @param {App} app @param {{ kx: number, nx: number }} columns @param {Rows} plain @returns {Rows} */
function labelledRows(app, { kx, nx }, plain) {
  /** @param {Name} name @param {number} width */
  const heightFor = (name, width) => {
    const { letters, lines } = app.labelSize(app.matrices[name]);
    const height = roomFor(width) >= letters ? lines * 9 + 4 : 0;
    return height > 13 ? height : 0;
  };
  const heightOfC = app.model.get("show_c") ? heightFor("C", nx) : 0;
  return {
    rowM: Math.max(heightFor("A", kx), heightFor("D", nx), heightOfC, 2, Math.round(plain.rowM)),
    rowK: Math.max(heightFor("B", nx), toQuarter(plain.rowK)),
  };
}

// Heights of A and D, and of B; `spare` is what there is for A and D.
/** @param {App} app @param {LayoutSize} size @param {RowHeights} rows */
function paneHeights(app, { m, k, tiers, extra }, { plain, cells: { rowM, rowK }, budget, beside }) {
  /** @param {number} high @param {number} row @param {number} most */
  const wholeRows = (high, row, most) => (app.unfolded || high <= most ? high : Math.floor(most / row) * row);
  const tier = BETWEEN_ROWS + HEAD + Math.min(m, 32) * plain.rowM;
  const mostB = Math.max(beside - HEAD, budget - tiers * tier - HEAD, 8 * rowK, 80);
  const b = wholeRows(k * rowK + extra.downB, rowK, mostB);
  const spare = (budget - Math.max(b + HEAD, beside)) / tiers - BETWEEN_ROWS - HEAD;
  return { m: wholeRows(m * rowM + extra.between, rowM, Math.max(spare, 8 * rowM, 64)), b, spare };
}

// 100 % fits the page; at 400 % every number can be read.
/** @param {number} percent @param {number} size @param {number} legible */
function zoomed(percent, size, legible) {
  if (percent <= 100) return (size * percent) / 100;
  const goal = Math.max(size * 1.4, legible);
  return size * (goal / size) ** ((percent - 100) / 300);
}

/** @param {App} app @param {ColumnWidths} columns @param {RowHeights} rows @returns {CellSize} */
function zoomedCells(app, { kx, nx, need }, { plain, cells }) {
  const percent = app.model.get("zoom");
  const widths = {
    kx: Math.max(2, toQuarter(zoomed(percent, kx, need.kx * 1.5))),
    nx: Math.max(2, toQuarter(zoomed(percent, nx, need.nx * 1.4))),
  };
  if (percent === 100) return { ...widths, ...cells };
  const { rowM, rowK } = plain;
  const heights = { rowM: zoomed(percent, rowM, 18), rowK: zoomed(percent, rowK, 16) };
  return { ...widths, ...labelledRows(app, widths, heights) };
}

/** @param {App} app @param {LayoutSize} size @param {CellSize} cells @param {PaneHeights} height */
function zoomedHeights(app, { m, k, extra }, cells, height) {
  if (app.model.get("zoom") === 100) return height;
  if (app.unfolded) return { m: m * cells.rowM + extra.between, b: k * cells.rowK + extra.downB };
  return { m: Math.max(height.spare, height.m), b: height.b };
}

// Scroll bars that only a zoom brings are between the panes, where nothing has to make room for them.
/**
 * @param {App} app
 * @param {LayoutSize} size
 * @param {{ before: CellSize, after: CellSize, width: { n: number }, height: PaneHeights, view: { m: number } }} zoom
 */
function makeRoomForBars({ places }, { m, n, extra }, { before, after, width, height, view }) {
  /** @param {number} total @param {number} seen */
  const hasBar = (total, seen) => total + extra.between > seen + 1;
  const isNewDown = hasBar(m * after.rowM, view.m) && !hasBar(m * before.rowM, height.m);
  const isNewAcross = hasBar(n * after.nx, width.n) && !hasBar(n * before.nx, width.n);
  places.A.style.marginRight = places.stored.style.marginRight = isNewDown ? `${-SCROLLBAR}px` : "";
  places.B.style.marginBottom = isNewAcross ? `${-SCROLLBAR}px` : "";
  places.B.style.minHeight = `${height.b + HEAD}px`;
  places.D.style.minHeight = `${height.m + HEAD}px`;
}

// The layers of a pane: where its cells are, where matrices are in parts. Blocks have a scale factor each,
// compressed A has a nibble for every chunk, and several products have gaps between them.

const TAG = 15; // height of a row of scale factors
const BETWEEN = 8; // pixels between two products

// The room that scale factors and gaps need besides the cells: along k in A and B, along m and n.
/** @param {App} app @returns {Extra} */
function extraOf(app) {
  /** @type {AnyMatrices} */
  const { SFA, SFB } = app.matrices;
  const products = app.instruction.mma_count;
  const letters = SFA ? app.labelSize(SFA).letters : 0;
  const tag = SFA ? Math.max(24, letters * 5.6 + 6) : 0; // its heading has three letters
  return {
    tag,
    alongA: SFA ? SFA.columns * tag : 0,
    downB: SFB ? SFB.rows * TAG : 0,
    between: products > 1 ? products * BETWEEN : 0,
  };
}

/** @param {App} app @param {Name} name @param {CellSize} cells @param {Extra} extra @returns {Plan[]} */
function layersOf(app, name, { kx, nx, rowM, rowK }, extra) {
  if (name === "A") return layersOfA(app, kx, rowM, extra);
  if (name === "B") return layersOfB(app, nx, rowK);
  return name === "stored" ? layersOfStored(app, kx, extra) : layersOfD(app, name, nx, rowM);
}

// A with the scale factor of each block of a row before it; several products have a gap between them.
/** @param {App} app @param {number} width @param {number} row @param {Extra} parts @returns {Plan[]} */
function layersOfA(app, width, row, { tag }) {
  /** @type {AnyMatrices} */
  const { A, SFA } = app.matrices;
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
  const period = per * width + tag;
  return [
    { name: "A", per, period, offset: tag, width },
    { name: "SFA", per: 1, period, offset: 0, width: tag - 3 },
  ];
}

// Compressed A, as wide as dense A with its scale factors: each chunk begins with its nibble.
/** @param {App} app @param {number} width @param {Extra} extra @returns {Plan[]} */
function layersOfStored({ instruction: { k, chunk, kept } }, width, { alongA }) {
  const period = chunk * (width + alongA / k);
  const wanted = Math.max(period / (kept + 1), period > 44 ? 26 : Math.min(12, 0.48 * period));
  const nibble = Math.min(30, wanted);
  const gap = period > 20 ? 3 : 0;
  return [
    { name: "stored", per: kept, period, offset: nibble, width: (period - nibble - gap) / kept },
    { name: "E", per: 1, period, offset: 0, width: nibble },
  ];
}

// B with the scale factor of each block of a column above it; several products are side by side.
/** @param {App} app @param {number} width @param {number} row @returns {Plan[]} */
function layersOfB(app, width, row) {
  /** @type {AnyMatrices} */
  const { B, SFB } = app.matrices;
  const across = { per: B.columns, period: B.columns * width, offset: 0, width };
  if (B.products)
    return [
      {
        name: "B",
        ...across,
        per: B.columns / B.products.count,
        period: across.period / B.products.count + BETWEEN,
      },
    ];
  if (!SFB) return [{ name: "B", ...across }];
  const per = B.rows / SFB.rows;
  const period = per * row + TAG;
  return [
    { name: "B", ...across, down: { per, period, offset: TAG, size: row } },
    { name: "SFB", ...across, down: { per: 1, period, offset: 0, size: TAG - 2 } },
  ];
}

// C or D. Each of several products is placed where its rows of A and its columns of B meet.
/** @param {App} app @param {Name} name @param {number} width @param {number} row @returns {Plan[]} */
function layersOfD(app, name, width, row) {
  const matrix = app.matrices[name];
  const across = { name, per: matrix.columns, period: matrix.columns * width, offset: 0, width };
  if (!matrix.products) return [across];
  const { count } = matrix.products;
  const [each, aside] = [matrix.rows / count, matrix.columns * width + BETWEEN];
  return [
    {
      ...across,
      down: withGaps(each, row),
      shift: (at) => Math.floor(at / each) * aside,
      wide: count * aside,
    },
  ];
}

// Rows in parts with a gap after each.
/** @param {number} per @param {number} size @returns {Along} */
function withGaps(per, size) {
  return { per, period: per * size + BETWEEN, offset: 0, size };
}
