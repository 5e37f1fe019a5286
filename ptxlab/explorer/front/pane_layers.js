// The layers of a pane: where its cells are, where matrices are in parts. Blocks have a scale factor each,
// compressed A has a nibble for every chunk, and several products have gaps between them.

const TAG = 15; // height of a row of scale factors
const BETWEEN = 8; // pixels between two products

// The room that scale factors and gaps need besides the cells: along k in A and B, along m and n.
/** @param {App} app @returns {Extra} */
export function extraOf(app) {
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
export function layersOf(app, name, { kx, nx, rowM, rowK }, extra) {
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
