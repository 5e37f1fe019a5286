// The tooltip: describes what is under the pointer, with a magnifier where cells are too small to read.

import { LETTER, contextOn, fillBox, setFont, strokeBox } from "./canvas.js";
import { make, write, resizeCanvas } from "./dom.js";
import { clamp } from "./numbers.js";
import { cellLines, indexOfCell } from "../matrix/matrix.js";
import { flashNodes } from "./highlight.js";
import { drawDifference } from "../pane/draw_pane.js";

const LINES = 10;
const LETTER_SIZE = 11; // in the magnifier
const MARGIN = { left: 24, top: 14 };
const EDGE = 4; // between the tip and the edge of the window

export class Tooltip {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.content = app.content;
    this.problem = app.problem;
    // a popover is above the whole page: neither the Explorer nor a notebook's output can clip it
    this.node = make("div", "ptx-tooltip", null, { "aria-hidden": "true", popover: "manual" });
    this.lens = make("canvas", "ptx-lens", this.node, { hidden: "" });
    this.lines = /** @type {HTMLElement[]} */ ([make("b", "", this.node)]);
    this.source = () => /** @type {string[]} */ ([]);
    // where it will be shown, if that changes
    this.next = /** @type {TipPlace | null | undefined} */ (undefined);
    // where it is shown
    this.last = /** @type {TipPlace | null} */ (null);
    this.dismissedAt = /** @type {TipPlace | null} */ (null);
    // whether lines that change are lit
    this.flashes = false;
  }

  /** @param {string[]} lines */
  write(lines) {
    const shownLines = lines.slice(0, LINES);
    while (this.lines.length < shownLines.length) this.lines.push(make("span", "", this.node));
    for (const line of this.lines.slice(shownLines.length)) write(line, ""); // kept, as those of the status
    shownLines.forEach((line, index) => write(this.lines[index], line));
  }

  /** @param {ClientPoint} event @param {() => string[]} source @param {Cell | null} small */
  showAt(event, source, small = null) {
    if (event.clientX === this.dismissedAt?.x && event.clientY === this.dismissedAt?.y) return;
    this.dismissedAt = null;
    this.source = source;
    this.next = { x: event.clientX, y: event.clientY, small };
    this.app.pointing.showSoon();
  }

  // What is pointed at may have changed.
  updateContent() {
    if (!this.last) return;
    this.flashes = true;
    if (this.next === undefined) this.next = this.last;
    this.app.pointing.drawMarksSoon();
  }

  hide() {
    this.next = null;
    this.app.pointing.showSoon();
  }

  // Until the pointer really moves: browsers send an event, too, when what is under it changes.
  dismiss() {
    this.dismissedAt = this.last;
    this.hide();
  }

  /** @param {boolean} open */
  setOpen(open) {
    this.node.classList.toggle("on", open);
    if (this.node.isConnected) this.node.togglePopover?.(open);
  }

  // Where the tip begins, so that it does not cover a sentence that says what went wrong.
  /** @param {TipPlace} place @param {number} left @param {number} below @param {number} wide @param {number} high */
  besideProblem(place, left, below, wide, high) {
    const box = this.problem.box.getBoundingClientRect(); // empty if all is well
    const isApart = (/** @type {number} */ top) =>
      left >= box.right || left + wide <= box.left || top >= box.bottom || top + high <= box.top;
    const tops = [below, place.y - high - 10, box.top - high - EDGE].map(Math.round);
    return tops.find((top) => top >= EDGE && isApart(top)) ?? Math.round(box.bottom + EDGE);
  }

  // Before anything is written: a canvas that is given a font makes the browser lay out what was.
  drawLens() {
    if (this.next?.small) drawLens(this.content, this.lens, this.next.small);
  }

  // After everything else, so that the page is measured once.
  draw() {
    const { next: place, last, flashes } = this;
    if (place === undefined) return;
    this.next = undefined;
    this.last = place;
    this.flashes = false;
    if (!place) {
      if (last) this.setOpen(false);
      return;
    }
    const before = this.lines.map((line) => line.textContent);
    this.write(this.source());
    const changed = this.lines.filter((line) => !before.includes(line.textContent));
    if (flashes) flashNodes(changed);
    this.lens.hidden = !place.small; // a node that comes or goes would make the browser match all styles again
    if (!last) this.setOpen(true);
    const { clientWidth, clientHeight } = document.documentElement;
    const [wide, high] = [this.node.offsetWidth, this.node.offsetHeight];
    const { right, bottom } = this.app.root.getBoundingClientRect();
    const left = placeBeside(place.x, wide, clientWidth, right, 16);
    const below = placeBeside(place.y, high, Math.min(clientHeight, window.innerHeight), bottom, 14);
    const top = this.besideProblem(place, left, below, wide, high);
    this.node.style.transform = `translate(${left}px, ${top}px)`;
  }
}

// Where a tip of this size begins: after the pointer; before it, if it would not fit into the Explorer or the
// window there; always inside the window.
/** @param {number} at @param {number} size @param {number} view @param {number} end @param {number} gap */
function placeBeside(at, size, view, end, gap) {
  const [after, before] = [at + gap, at - size - gap + 4];
  const fits = after + size <= Math.min(view - EDGE, end);
  const start = fits || (before < EDGE && after + size <= view - EDGE) ? after : before;
  return Math.round(clamp(start, EDGE, Math.max(EDGE, view - size - EDGE)));
}

// The cells around the pointer, large, in the colours of the pane.
/** @param {Content} content @param {HTMLCanvasElement} canvas @param {Cell} cell */
function drawLens(content, canvas, { name, row, column }) {
  const matrix = content.matrices[name];
  const { letters, lines } = content.labelSize(matrix);
  const width = Math.ceil(letters * LETTER_SIZE * LETTER + 7);
  const height = lines * (LETTER_SIZE + 1) + 5;
  const across = Math.min(matrix.columns, width * 7 <= 330 ? 7 : 5);
  const down = Math.min(matrix.rows, 5);
  const first = clamp(row - 2, 0, matrix.rows - down);
  const from = clamp(column - Math.floor(across / 2), 0, matrix.columns - across);
  /** @param {number} r @param {number} c @returns {Place} */
  const placeOfCell = (r, c) => ({
    x: MARGIN.left + (c - from) * width,
    y: MARGIN.top + (r - first) * height,
    width,
    height,
  });
  resizeCanvas(canvas, MARGIN.left + across * width, MARGIN.top + down * height, content.theme.ratio);
  const context = contextOn(canvas, content.theme.ratio);
  /** @param {number} number @param {boolean} isHere @param {Point} at @param {CanvasTextAlign} align */
  const drawHeading = (number, isHere, { x, y }, align) => {
    const font = `${isHere ? "bold " : ""}11px ${content.theme.ink.mono}`;
    setFont(context, font, isHere ? content.theme.ink.text : content.theme.ink.faint, align);
    context.fillText(String(number), x, y);
  };
  for (let r = first; r < first + down; r += 1)
    drawHeading(r, r === row, { x: MARGIN.left - 4, y: placeOfCell(r, from).y + height / 2 }, "right");
  for (let c = from; c < from + across; c += 1)
    drawHeading(c, c === column, { x: placeOfCell(first, c).x + width / 2, y: MARGIN.top - 7 }, "center");
  for (let r = first; r < first + down; r += 1)
    for (let c = from; c < from + across; c += 1)
      drawLensCell(content, context, { name, row: r, column: c }, placeOfCell(r, c));
  const here = placeOfCell(row, column);
  strokeBox(context, { ...here, x: here.x - 0.5, y: here.y - 0.5 }, content.theme.ink.text, 2);
}

/** @param {Content} content @param {CanvasRenderingContext2D} context @param {Cell} cell @param {Place} place */
function drawLensCell(content, context, cell, { x, y, width, height }) {
  const { matrices, quiz, theme } = content;
  const { ink } = theme;
  const matrix = matrices[cell.name];
  const index = indexOfCell(matrix, cell);
  const [fill, text] = content.painter(matrix)(index);
  const isGhost = matrix.name === "A" && matrix.counterpart && matrix.counterpart[index] < 0;
  const inside = { x, y, width: width - 1, height: height - 1 };
  fillBox(context, inside, fill, isGhost ? 0.22 : 1);
  if (matrix.differ?.[index]) drawDifference(context, ink, inside);
  setFont(context, `${LETTER_SIZE}px ${ink.mono}`, isGhost ? ink.faint : text);
  const isMasked = quiz.masks(cell.name, cell.row, cell.column);
  const lines = isMasked ? ["?"] : cellLines(matrices, matrix, index, content.display("label"));
  lines.forEach((line, at) => {
    context.fillText(line, x + (width - 1) / 2, y + 3 + (at + 0.5) * (LETTER_SIZE + 1), width - 3);
  });
}
