// How large a cell is: digits where they fit, else pixels; the whole product as wide as the page at 100 %.

import { clamp } from "./text.js";
import { roomFor } from "./label.js";
import { GUTTER } from "./edges.js";
import { extraOf, layersOfA, layersOfB, layersOfD } from "./blocks.js";

const GAP = 14;
const PANEL = 440; // least width of the quadrant that holds lanes and registers
const TWO_COLUMNS = 850; // width at which registers stand in two columns

/** @param {App} app */
export function arrange(app) {
  const { k, chunk, kept } = app.about;
  const [m, n] = [app.matrices.A.rows, app.matrices.B.columns]; // of all products, where there are several
  const parts = extraOf(app);
  const left = app.about.products > 1 ? 0 : PANEL - GUTTER.left - parts.alongA; // where lanes and registers stand above all, they ask nothing of A
  app.grid.classList.toggle("ptx-stacked", app.about.products > 1);
  const percent = app.model.get("zoom");
  /** @param {number} size */
  const fine = (size) => Math.floor(size * 4) / 4;
  /** @param {number} size @param {number} roomy */
  const zoomed = (size, roomy) => { // 100 % fits the page, at 400 % every number can be read
    const goal = Math.max(size * 1.4, roomy);
    return percent <= 100 ? (size * percent) / 100 : size * (goal / size) ** ((percent - 100) / 300);
  };
  const [a, b, d, c] = app.widest.map((letters) => letters * 5.6 + 4);
  const needN = Math.max(b, d, app.model.get("show_c") ? c : 0, app.matrices.SFB ? app.labelSize(app.matrices.SFB).letters * 5.6 + 4 : 0);
  const room = app.known - 2 * GUTTER.left - GAP - parts.alongA - parts.between - 12;
  let [kx, nx] = [a, needN];
  const need = k * kx + n * nx;
  if (need <= room) {
    const grow = Math.min(room / need, 3, 44 / kx);
    [kx, nx] = [kx * grow, nx * grow];
  } else if (n * nx <= 0.4 * room) kx = (room - n * nx) / k;
  else if (k * kx <= 0.5 * room) nx = (room - k * kx) / n;
  else [kx, nx] = [room / (k + n), room / (k + n)];
  kx = Math.max(kx, left / k);
  const narrow = (app.known - TWO_COLUMNS - GUTTER.left - GAP) / n; // the widest at which registers beside B stand in two columns
  if (nx > needN && left && narrow >= needN) nx = Math.min(nx, narrow);
  if (need <= room) kx = Math.max(kx, Math.min(44, (room - n * nx) / k));
  nx = Math.max(2, n * needN <= 0.4 * room ? nx : Math.min(nx, (room - k * kx) / n));
  [kx, nx] = [Math.max(2, fine(zoomed(kx, a * 1.5))), Math.max(2, fine(zoomed(nx, needN * 1.4)))];
  const legible = kx >= 8 || nx >= 8;
  /** @param {Name} name @param {number} width */
  const lines = (name, width) => { // height of a label of several lines, where the cell is wide enough for it
    const label = app.labelSize(app.matrices[name]);
    return roomFor(width) >= label.letters ? label.lines * 9 + 4 : 0;
  };
  const tall = Math.max(lines("A", kx), lines("D", nx), app.model.get("show_c") ? lines("C", nx) : 0);
  const plainRow = Math.round(zoomed(m <= 16 ? (kx > 24 ? 19 : 16) : m <= 32 && legible ? 14 : legible ? 10 : 6, 18));
  const rowM = tall > 13 ? Math.max(tall, plainRow) : plainRow;
  let viewN = n * nx;
  let viewK = k * kx;
  if (viewN + viewK > room) {
    viewN = Math.min(viewN, Math.max(0.4 * room, room - viewK));
    viewK = Math.min(viewK, Math.max(room - viewN, left));
    viewN = Math.min(viewN, room - viewK);
  }
  [viewN, viewK] = [viewN + parts.between, viewK + parts.alongA];
  app.grid.style.gridTemplateColumns = `minmax(0, ${Math.floor(app.known - viewN - GUTTER.left - GAP - 10)}px) max-content`;
  const beside = app.panel.node.offsetHeight; // B is as high as what stands left of it, so that A and D follow at once
  const tallB = lines("B", nx);
  const rowK = Math.max(tallB > 13 ? tallB : 0, Math.round(zoomed(clamp(Math.floor(beside / k), nx >= 8 ? 11 : 5, 18), 16)));
  /** @param {number} high @param {number} row @param {number} most */
  const whole = (high, row, most) => (app.unfolded || high <= most ? high : Math.floor(most / row) * row);
  const viewM = whole(m * rowM + parts.between, rowM, 640);
  const viewB = whole(k * rowK + parts.downB, rowK, Math.max(beside, k * rowK <= 352 ? 352 : 308));
  for (const pane of app.panes) {
    const [name] = pane.names;
    if (name === "A") pane.arrange(layersOfA(app, kx, rowM, parts), rowM, viewK, viewM);
    else if (name === "B") pane.arrange(layersOfB(app, nx, rowK), rowK, viewN, viewB);
    else if (name === "stored") {
      const period = chunk * (kx + parts.alongA / k); // as wide as dense A with its scale factors
      const nibble = Math.min(30, Math.max(period / (kept + 1), period > 44 ? 26 : Math.min(12, 0.48 * period)));
      const width = (period - nibble - (period > 20 ? 3 : 0)) / kept;
      pane.arrange([{ name, per: kept, period, offset: nibble, width }, { name: "E", per: 1, period, offset: 0, width: nibble }], rowM, viewK, viewM);
    } else pane.arrange(layersOfD(app, name, nx, rowM), rowM, viewN, viewM);
  }
}
