// How large cells are: with digits where those fit, else pixels; at 100 % the product is as wide as the page.

import { clamp } from "./util.js";
import { roomFor } from "./label.js";
import { GUTTER } from "./edges.js";
import { productNames } from "./describe.js";

const GAP = 14; // between A and D
const BETWEEN_ROWS = 10; // between B and what is below it
const HEAD = 17 + GUTTER.top; // caption and headings of a pane
export const SCROLLBAR = 10; // the room that a pane leaves for one
const LEGIBLE = 9; // height of a row whose digits can be read

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

// Larger cards, or larger bits, if B leaves the room for them: whether they are.
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

// Of lanes, registers and the line about the cell; the quadrant itself may be higher, as B is.
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

/** @param {App} app */
export function arrange(app) {
  const { k, chunk, kept } = app.instruction;
  const [m, n] = [app.matrices.A.rows, app.matrices.B.columns]; // of all products, if there are several
  const parts = extraOf(app);
  const stacked = app.instruction.mma_count > 1 || app.layoutWidth < STACKED;
  app.grid.classList.toggle("ptx-stacked", stacked);
  const percent = app.model.get("zoom");
  /** @param {number} size */
  const fine = (size) => Math.floor(size * 4) / 4;
  /** @param {number} size @param {number} roomy */
  const zoomed = (size, roomy) => {
    // 100 % fits the page, at 400 % every number can be read
    const goal = Math.max(size * 1.4, roomy);
    return percent <= 100 ? (size * percent) / 100 : size * (goal / size) ** ((percent - 100) / 300);
  };
  const [a, b, d, c] = app.widest.map((letters) => letters * 5.6 + 4);
  const needN = Math.max(
    b,
    d,
    app.model.get("show_c") ? c : 0,
    app.matrices.SFB ? app.labelSize(app.matrices.SFB).letters * 5.6 + 4 : 0,
  );
  const room = app.layoutWidth - 2 * GUTTER.left - GAP - parts.alongA - parts.between - 12;
  // where lanes and registers are above everything, A may be narrow
  // A needs room for its scale factors, and so does a descriptor
  const leastPanel = app.matrices.SFA || app.instruction.descriptor ? PANEL : LEAST_PANEL;
  const quadrant = clamp(app.layoutWidth - n * needN - GUTTER.left - GAP - 12, leastPanel, PANEL);
  const left = stacked ? 0 : quadrant - GUTTER.left - parts.alongA;
  let [kx, nx] = [a, needN];
  const need = k * kx + n * nx;
  if (need <= room) {
    const grow = Math.min(room / need, 3, 44 / kx);
    [kx, nx] = [kx * grow, nx * grow];
  } else if (n * nx <= 0.4 * room) kx = (room - n * nx) / k;
  else if (k * kx <= 0.5 * room) nx = (room - k * kx) / n;
  else [kx, nx] = [room / (k + n), room / (k + n)];
  kx = Math.max(kx, left / k);
  // the widest cells that leave room for two columns of registers beside B
  const narrow = (app.layoutWidth - TWO_COLUMNS - GUTTER.left - GAP) / n;
  if (nx > needN && left && narrow >= needN) nx = Math.min(nx, narrow);
  if (need <= room) kx = Math.max(kx, Math.min(44, (room - n * nx) / k));
  const leftForN = (room - k * kx) / n; // beside A
  nx = Math.max(2, Math.min(nx, n * needN <= 0.4 * room ? Math.max(needN, leftForN) : leftForN));
  // Zooming changes the cells, not where the panes are, so that a pane can scroll to keep a point in its place:
  // all of what follows is measured at 100 %.
  [kx, nx] = [Math.max(2, fine(kx)), Math.max(2, fine(nx))];
  const legible = kx >= 8 || nx >= 8;
  /** @param {Name} name @param {number} width */
  const lines = (name, width) => {
    // height of a label of several lines, if the cell is wide enough for it
    const label = app.labelSize(app.matrices[name]);
    return roomFor(width) >= label.letters ? label.lines * 9 + 4 : 0;
  };
  let viewN = n * nx;
  let viewK = k * kx;
  if (viewN + viewK > room) {
    viewN = Math.min(viewN, Math.max(0.4 * room, room - viewK));
    viewK = Math.min(viewK, Math.max(room - viewN, left));
    viewN = Math.min(viewN, room - viewK);
  }
  [viewN, viewK] = [viewN + parts.between, viewK + parts.alongA];
  const second = Math.ceil(viewN + GUTTER.left + SCROLLBAR);
  const first = Math.max(0, Math.floor(app.layoutWidth - second - GAP));
  app.grid.style.gridTemplateColumns = `${first}px ${second}px`;
  const wide = stacked ? app.layoutWidth : first;
  app.grid.style.setProperty("--ptx-panel", `${wide - PANEL_PADDING}px`);
  app.grid.classList.toggle("ptx-wide-quadrant", wide >= WIDE_QUADRANT);
  for (const most of PANEL_WIDTHS)
    app.grid.classList.toggle(`ptx-panel-most-${most}`, wide - PANEL_PADDING <= most);
  // all of it in the view: the matrices, and beside B (or above everything) lanes and registers
  const tiers = app.matrices.stored || app.model.get("show_c") ? 2 : 1; // A and D; below them stored A and C
  const after = app.tracePanel.button.offsetHeight; // "why these bits"
  const memory = app.memory.layout() + app.tensor.layout(); // what shared or tensor memory takes
  const extra = parts.downB + tiers * parts.between;
  const wish = {
    rowM: m <= 16 ? (kx > 24 ? 19 : 16) : m <= 32 && legible ? 14 : legible ? 10 : 6,
    rowK: nx >= 8 ? 18 : 9,
  };
  const rows = fitRows(
    app,
    { m: Math.min(m, 32), k: Math.min(k, 64), tiers },
    wish,
    viewHeight(app) - app.grid.offsetTop - after - 14 - extra - memory,
  );
  const budget = rows.budget + extra;
  const panel = quadrantHeight(app);
  const [above, beside] = stacked ? [panel + BETWEEN_ROWS, 0] : [0, panel];
  // B is as high as what is left of it, so that A and D follow without a gap
  const highB = clamp(Math.max(rows.rowK, (beside - HEAD) / k), 2, 18);
  /** @param {number} wideA @param {number} wideN @param {(size: number, roomy: number) => number} scaled */
  const heights = (wideA, wideN, scaled) => {
    const tall = Math.max(
      lines("A", wideA),
      lines("D", wideN),
      app.model.get("show_c") ? lines("C", wideN) : 0,
    );
    const tallB = lines("B", wideN);
    const plainRow = Math.max(2, Math.round(scaled(rows.rowM, 18)));
    return {
      rowM: tall > 13 ? Math.max(tall, plainRow) : plainRow,
      rowK: Math.max(tallB > 13 ? tallB : 0, fine(scaled(highB, 16))),
    };
  };
  const { rowM, rowK } = heights(kx, nx, (size) => size);
  /** @param {number} high @param {number} row @param {number} most */
  const whole = (high, row, most) => (app.unfolded || high <= most ? high : Math.floor(most / row) * row);
  const tier = (/** @type {number} */ row) => BETWEEN_ROWS + HEAD + Math.min(m, 32) * row;
  const viewB = whole(
    k * rowK + parts.downB,
    rowK,
    Math.max(beside - HEAD, budget - above - tiers * tier(rows.rowM) - HEAD, 8 * rowK, 80),
  );
  const spare = (budget - above - Math.max(viewB + HEAD, beside)) / tiers - BETWEEN_ROWS - HEAD;
  const viewM = whole(m * rowM + parts.between, rowM, Math.max(spare, 8 * rowM, 64));
  app.room = { kx: viewK, ky: viewB, n: viewN, m: viewM };
  const cells = {
    kx: Math.max(2, fine(zoomed(kx, a * 1.5))),
    nx: Math.max(2, fine(zoomed(nx, needN * 1.4))),
    rowM,
    rowK,
  };
  const views = { m: viewM, b: viewB };
  if (percent !== 100) {
    Object.assign(cells, heights(cells.kx, cells.nx, zoomed));
    views.m = app.unfolded ? m * cells.rowM + parts.between : Math.max(spare, viewM);
    views.b = app.unfolded ? k * cells.rowK + parts.downB : viewB;
  }
  // bars that only a zoom brings are between the panes, where nothing has to make room for them
  const hasBar = (/** @type {number} */ total, /** @type {number} */ view) => total > view + 1;
  const bars = [
    hasBar(m * cells.rowM + parts.between, views.m) && !hasBar(m * rowM + parts.between, viewM),
    hasBar(n * cells.nx + parts.between, viewN) && !hasBar(n * nx + parts.between, viewN),
  ].map((isNew) => (isNew ? `${-SCROLLBAR}px` : ""));
  [app.places.A.style.marginRight, app.places.stored.style.marginRight] = [bars[0], bars[0]];
  app.places.B.style.marginBottom = bars[1];
  app.places.B.style.minHeight = `${viewB + HEAD}px`;
  app.places.D.style.minHeight = `${viewM + HEAD}px`;
  for (const pane of app.panes) {
    const [name] = pane.names;
    if (name === "A") pane.arrange(layersOfA(app, cells.kx, cells.rowM, parts), cells.rowM, viewK, views.m);
    else if (name === "B") pane.arrange(layersOfB(app, cells.nx, cells.rowK), cells.rowK, viewN, views.b);
    else if (name === "stored") {
      const period = chunk * (cells.kx + parts.alongA / k); // as wide as dense A with its scale factors
      const nibble = Math.min(
        30,
        Math.max(period / (kept + 1), period > 44 ? 26 : Math.min(12, 0.48 * period)),
      );
      const width = (period - nibble - (period > 20 ? 3 : 0)) / kept;
      pane.arrange(
        [
          { name, per: kept, period, offset: nibble, width },
          { name: "E", per: 1, period, offset: 0, width: nibble },
        ],
        cells.rowM,
        viewK,
        views.m,
      );
    } else pane.arrange(layersOfD(app, name, cells.nx, cells.rowM), cells.rowM, viewN, views.m);
  }
}

// -- matrices in parts: blocks with a scale factor each, or several products --

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
        down: stacked(A.rows / A.products.count, row),
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
      down: stacked(each, row),
      shift: (at) => Math.floor(at / each) * aside,
      wide: count * aside,
    },
  ];
}

/** @param {number} per @param {number} size @returns {Along} */
function stacked(per, size) {
  return { per, period: per * size + BETWEEN, offset: 0, size };
}

// The quad pair and lanes of each product, beside it.
/** @param {Pane} pane @param {CanvasRenderingContext2D} context */
export function drawProductNames(pane, context) {
  const { app } = pane;
  const [layer] = pane.layers;
  const { products, rows, columns } = app.matrices[layer.name];
  if (!layer.shift || !products) return;
  const { x: scrollLeft, y: scrollTop } = pane.at;
  context.font = `10px ${app.ink.mono}`;
  context.textBaseline = "middle";
  context.fillStyle = app.ink.faint;
  for (let product = 0; product < products.count; product += 1) {
    const row = (product * rows) / products.count;
    const last = product === products.count - 1;
    const x = last ? pane.x(layer, 0, 0, row) - 8 : pane.x(layer, columns - 1, 1, row) + 8;
    const y = GUTTER.top - scrollTop + pane.y(layer, row) + layer.down.size / 2;
    context.textAlign = last ? "right" : "left";
    productNames(app.instruction, product).forEach((line, index) => {
      context.fillText(line, GUTTER.left - scrollLeft + x, y + index * 13);
    });
  }
}
