// Matrices in parts: blocks with a scale factor each, and the products of an instruction that computes several.

import { GUTTER } from "./edges.js";
import { nameOfProduct } from "./say.js";

const TAG = 15; // height of a row of scale factors
const BETWEEN = 8; // pixels between two products

// What the parts take beside the cells themselves: along k in A and B, along m and n.
/** @param {App} app @returns {Extra} */
export function extraOf(app) {
  /** @type {Given} */
  const { SFA, SFB } = app.matrices;
  const { products } = app.about;
  const letters = SFA ? app.labelSize(SFA).letters : 0;
  const tag = SFA ? Math.max(22, letters * 5.6 + 6) : 0;
  return {
    tag,
    alongA: SFA ? SFA.columns * tag : 0,
    downB: SFB ? SFB.rows * TAG : 0,
    between: products > 1 ? products * BETWEEN : 0,
  };
}

// A with the factor of each block of a row before it; of several products with a gap between them.
/** @param {App} app @param {number} width @param {number} row @param {Extra} parts @returns {Plan[]} */
export function layersOfA(app, width, row, { tag }) {
  /** @type {Given} */
  const { A, SFA } = app.matrices;
  if (A.products) return [{ name: "A", per: A.columns, period: A.columns * width, offset: 0, width, down: stacked(A.rows / A.products.count, row) }];
  if (!SFA) return [{ name: "A", per: A.columns, period: A.columns * width, offset: 0, width }];
  const per = A.columns / SFA.columns;
  const period = per * width + tag;
  return [{ name: "A", per, period, offset: tag, width }, { name: "SFA", per: 1, period, offset: 0, width: tag - 3 }];
}

// B with the factor of each block of a column above it; of several products beside each other.
/** @param {App} app @param {number} width @param {number} row @returns {Plan[]} */
export function layersOfB(app, width, row) {
  /** @type {Given} */
  const { B, SFB } = app.matrices;
  const across = { per: B.columns, period: B.columns * width, offset: 0, width };
  if (B.products) return [{ name: "B", ...across, per: B.columns / B.products.count, period: across.period / B.products.count + BETWEEN }];
  if (!SFB) return [{ name: "B", ...across }];
  const per = B.rows / SFB.rows;
  const period = per * row + TAG;
  return [{ name: "B", ...across, down: { per, period, offset: TAG, size: row } }, { name: "SFB", ...across, down: { per: 1, period, offset: 0, size: TAG - 2 } }];
}

// C or D. Of several products each stands where its rows of A and its columns of B meet.
/** @param {App} app @param {Name} name @param {number} width @param {number} row @returns {Plan[]} */
export function layersOfD(app, name, width, row) {
  const matrix = app.matrices[name];
  const across = { name, per: matrix.columns, period: matrix.columns * width, offset: 0, width };
  if (!matrix.products) return [across];
  const { count } = matrix.products;
  const [each, aside] = [matrix.rows / count, matrix.columns * width + BETWEEN];
  return [{ ...across, down: stacked(each, row), shift: (at) => Math.floor(at / each) * aside, wide: count * aside }];
}

/** @param {number} per @param {number} size @returns {Along} */
function stacked(per, size) {
  return { per, period: per * size + BETWEEN, offset: 0, size };
}

// Whose product it is, beside each.
/** @param {Pane} pane @param {CanvasRenderingContext2D} context */
export function nameProducts(pane, context) {
  const { app } = pane;
  const [layer] = pane.layers;
  const { products, rows, columns } = app.matrices[layer.name];
  if (!layer.shift || !products) return;
  const { scrollLeft, scrollTop } = pane.scroller;
  context.font = `10px ${app.ink.mono}`;
  context.textBaseline = "middle";
  context.fillStyle = app.ink.faint;
  for (let product = 0; product < products.count; product += 1) {
    const row = (product * rows) / products.count;
    const last = product === products.count - 1;
    const x = last ? pane.x(layer, 0, 0, row) - 8 : pane.x(layer, columns - 1, 1, row) + 8;
    const y = GUTTER.top - scrollTop + pane.y(layer, row) + layer.down.size / 2;
    context.textAlign = last ? "right" : "left";
    nameOfProduct(app.about, product).split(", lanes ").forEach((line, index) => {
      context.fillText(index ? `lanes ${line}` : line, GUTTER.left - scrollLeft + x, y + index * 13);
    });
  }
}
