// The canvas over the scene on which the instruction is played: factors and products on their way into D, and the
// camera's dive into one element.

import { contextOn, fillBox } from "../common/canvas.js";
import { make, reducedMotion, resizeCanvas } from "../common/dom.js";
import { clamp } from "../common/numbers.js";
import { pictureOfPane } from "../pane/camera_flight.js";
import { CLOSE_UP, drawCloseUp } from "./close_up.js";
import { SUNK, drawLifted, drawNumber, drawSheet, eased, fitting, lettersIn } from "./sheet.js";

const DIRECT = 320; // milliseconds of a way that is not played
const OUTSIDE = CLOSE_UP.products - 1; // before the camera dives
const MANY_BOXES = 1200; // from which products are drawn in blocks
const BLINKING = 3000; // milliseconds
const MORPH = 900; // milliseconds
const MOST_MOVING = 6000; // cells
const LEAST_HEIGHT = 230; // of a close-up that leaves B in view
const STORY_MARGIN = 8; // pixels

export class StoryCanvas {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.scene = app.scene;
    this.canvas = /** @type {HTMLCanvasElement | null} */ (null);
    this.frame = 0;
    // cells on their way to another instruction
    this.moving = /** @type {(PlacedCell & { key: string })[]} */ ([]);
    this.at = OUTSIDE; // of the close-up
    this.dive = /** @type {Dive | null} */ (null);
    this.redraw = this.redraw.bind(this);
  }

  /** @returns {import("./sheet.js").StoryInk} */
  get look() {
    const { ink } = this.app.theme;
    return { ...ink, ink: ink.text };
  }

  context() {
    const { scene, app } = this;
    this.canvas ??= make("canvas", "ptx-story", null, { "aria-hidden": "true" });
    if (!this.canvas.isConnected) scene.node.append(this.canvas);
    const { ratio } = app.theme;
    resizeCanvas(this.canvas, scene.node.clientWidth, scene.node.clientHeight, ratio);
    return contextOn(this.canvas, ratio);
  }

  // Calls back with a part of the way, from 0 to 1, until it is over.
  /** @param {number} duration @param {(part: number) => void} draw @param {() => void} [end] */
  run(duration, draw, end = () => {}) {
    cancelAnimationFrame(this.frame);
    if (reducedMotion.matches || !duration) {
      draw(1);
      end();
      return;
    }
    const start = performance.now();
    const step = (/** @type {number} */ now) => {
      const part = clamp((now - start) / duration, 0, 1);
      draw(part);
      if (part < 1) this.frame = requestAnimationFrame(step);
      else end();
    };
    step(start);
  }

  clear() {
    cancelAnimationFrame(this.frame);
    if (this.moving.length) this.scene.node.classList.remove("ptx-flying");
    this.moving = [];
    this.at = OUTSIDE;
    this.setDive(null);
    this.canvas?.remove();
  }

  // -- one k --------------------------------------------------------------------------------------------------------

  // The factors lift off, their products cross, and sink into D: then `sink` is called.
  /** @param {Path} path @param {number} duration @param {() => void} sink */
  multiply(path, duration, sink) {
    this.clear();
    const { factors, sheet } = this.cellsOf(path);
    let isSunk = false;
    const draw = (/** @type {number} */ part) => {
      const context = this.context();
      for (const { window, cells } of factors)
        this.inWindow(context, window, () => drawLifted(context, this.look, cells, part));
      this.inWindow(context, sheet.window, () => drawSheet(context, this.look, sheet.cells, part));
      if (part < SUNK || isSunk) return;
      isSunk = true;
      sink();
    };
    this.run(duration, draw, () => this.clear());
  }

  /** @param {CanvasRenderingContext2D} context @param {Place} window @param {() => void} draw */
  inWindow(context, { x, y, width, height }, draw) {
    context.save();
    context.beginPath();
    context.rect(x - STORY_MARGIN, y - STORY_MARGIN, width + 2 * STORY_MARGIN, height + 2 * STORY_MARGIN);
    context.clip();
    draw();
    context.restore();
  }

  // What is seen of the column of A, the row of B, and D.
  /** @param {Path} path */
  cellsOf({ first, last }) {
    const { sums } = this.app.timeline;
    const { A, B, D } = this.app.content.matrices;
    const a = this.boxes("A", { ...wholeOf(A), column: first, column2: last });
    const b = this.boxes("B", { ...wholeOf(B), row: first, row2: last });
    const d = this.boxes("D", wholeOf(D));
    /** @param {Matrix} matrix @param {CellBoxes} boxes */
    const lifted = (matrix, { window, cells }) => ({
      window,
      cells: cells
        .filter(({ index }) => !matrix.counterpart || matrix.counterpart[index] >= 0)
        .map(({ box, index, isOne }) => ({
          box,
          text: isOne ? fitting(matrix.values[index], lettersIn(box.width)) : "",
        })),
    });
    const cells = d.cells.map(({ box, index, isOne }) => ({
      box: { ...box, width: box.width - 1, height: box.height - 1 },
      text: isOne ? fitting(sums.products(index, first, last), lettersIn(box.width)) : "",
      right: ((index % D.columns) + 0.5) / D.columns,
      down: (Math.floor(index / D.columns) + 0.5) / D.rows,
    }));
    return { factors: [lifted(A, a), lifted(B, b)], sheet: { window: d.window, cells } };
  }

  // Cells of a matrix that are seen, in pixels of the scene; where there are many, in blocks.
  /** @param {Name} name @param {Omit<CellRange, "name">} range @returns {CellBoxes} */
  boxes(name, { row: top, row2, column: left, column2 }, joins = true) {
    const pane = this.scene.paneOf(name);
    const nowhere = { x: 0, y: 0, width: 0, height: 0 };
    if (!pane || pane.isFolded) return { window: nowhere, cells: [] };
    const { columns } = this.app.content.matrices[name];
    const window = this.windowOf(pane);
    const count = (row2 - top + 1) * (column2 - left + 1);
    const by = joins ? Math.ceil(Math.sqrt(count / MANY_BOXES)) : 1;
    const cells = [];
    for (let row = top; row <= row2; row += by)
      for (let column = left; column <= column2; column += by) {
        const far = { row2: Math.min(row2, row + by - 1), column2: Math.min(column2, column + by - 1) };
        const place = pane.placeOf({ name, row, column, ...far });
        const box = { ...place, x: window.x + place.x - pane.at.x, y: window.y + place.y - pane.at.y };
        const isSeen =
          box.x + box.width > window.x &&
          box.x < window.x + window.width &&
          box.y + box.height > window.y &&
          box.y < window.y + window.height;
        if (isSeen) cells.push({ box, index: row * columns + column, isOne: by === 1 });
      }
    return { window, cells };
  }

  // What a pane shows, in pixels of the scene.
  /** @param {Pane} pane @returns {Place} */
  windowOf({ scroller, width, height }) {
    const [scene, box] = [this.scene.node, scroller].map((node) => node.getBoundingClientRect());
    return { x: box.left - scene.left, y: box.top - scene.top, width, height };
  }

  // -- from one instruction to another ------------------------------------------------------------------------------

  // Where every cell is: by its lane and element, or by its row and column where no lane holds it. Null if there are
  // too many to follow, or none.
  /** @returns {Places | null} */
  places() {
    const { scene, app } = this;
    const places = /** @type {Places} */ ({ cells: new Map(), windows: new Map() });
    for (const pane of scene.stage.hidden ? [] : scene.panes) {
      const [name] = pane.names;
      const matrix = app.content.matrices[name];
      if (!matrix || pane.isFolded || !pane.layers.length) continue;
      if (places.cells.size + matrix.values.length > MOST_MOVING) return null;
      const { window, cells } = this.boxes(name, wholeOf(matrix), false);
      places.windows.set(name, window);
      const paint = app.content.painter(matrix);
      for (const { box, index } of cells) {
        const holder = matrix.lane
          ? `lane ${matrix.lane[index]} ${matrix.elementOf[index]}`
          : `cell ${index % matrix.columns} ${Math.floor(index / matrix.columns)}`;
        const text = matrix.lane ? String(matrix.lane[index]) : "";
        places.cells.set(`${name} ${holder}`, { name, box, colour: paint(index), text });
      }
    }
    return places.cells.size ? places : null;
  }

  // Cells of a lane travel from where they were; new ones grow out of the edge, along k in A and B.
  /** @param {Places} before */
  morph(before) {
    const after = this.places();
    if (!after || reducedMotion.matches) return;
    this.clear();
    const { scene } = this;
    const ways = [...after.cells].map(([key, cell]) => ({
      key,
      cell,
      from: before.cells.get(key)?.box ?? seedOf(cell, before.windows.get(cell.name)),
    }));
    const gone = [...before.cells].filter(([key]) => !after.cells.has(key)).map(([, cell]) => cell);
    scene.node.classList.add("ptx-flying");
    this.run(
      MORPH,
      (part) => {
        const way = eased(part);
        const context = this.context();
        for (const { box, colour } of gone) fillBox(context, box, colour[0], 1 - eased(part, 0, 0.5));
        this.moving = ways.map(({ key, cell, from }) => ({
          ...cell,
          key,
          box: placeBetween(from, cell.box, way),
        }));
        for (const { box, colour, text } of this.moving) {
          const inner = { ...box, width: Math.max(0, box.width - 1), height: Math.max(0, box.height - 1) };
          fillBox(context, inner, colour[0]);
          if (box.width > text.length * 8 && box.height > 12)
            drawNumber(context, this.look, inner, text, colour[1]);
        }
      },
      () => this.clear(),
    );
  }

  // -- one element --------------------------------------------------------------------------------------------------

  // The camera goes to a step of the close-up.
  /** @param {{ row: number, column: number, bits: BitBars[] }} sum @param {number} step @param {number} duration */
  diveTo(sum, step, duration = DIRECT) {
    const from = this.dive ? this.at : OUTSIDE;
    this.setDive({ ...sum, ...this.placeOfDive(), pictures: this.dive?.pictures ?? this.capture() });
    this.run(
      duration,
      (part) => {
        this.at = from + (step - from) * part;
        this.redraw();
      },
      () => {
        if (step === CLOSE_UP.other && !reducedMotion.matches) this.run(BLINKING, this.redraw);
      },
    );
  }

  // Panes below the close-up are hidden.
  /** @param {Dive | null} dive */
  setDive(dive) {
    this.dive = dive;
    for (const pane of this.scene.panes)
      pane.node.classList.toggle("ptx-below-story", Boolean(dive?.hidden.includes(pane)));
  }

  // Over A and D; over all of a low scene.
  placeOfDive() {
    const { scene } = this;
    const [width, height] = [scene.node.clientWidth, scene.node.clientHeight];
    const top = scene.node.getBoundingClientRect().top;
    const beside = scene.panes.filter(({ names: [name] }) => name === "A" || name === "D");
    const y = Math.min(...beside.map(({ node }) => node.getBoundingClientRect().top - top));
    const isLow = height - y < LEAST_HEIGHT || scene.stage.classList.contains("ptx-narrow");
    const place = {
      x: STORY_MARGIN,
      y: isLow ? STORY_MARGIN : y,
      width: width - 2 * STORY_MARGIN,
      height: height - (isLow ? STORY_MARGIN : y) - STORY_MARGIN,
    };
    const hidden = scene.panes.filter(
      ({ node }) => isLow || node.getBoundingClientRect().bottom - top > y + 1,
    );
    return { place, hidden };
  }

  capture() {
    return this.scene.panes
      .filter((pane) => !pane.isFolded && pane.layers.length)
      .map((pane) => ({ pane, window: this.windowOf(pane), picture: pictureOfPane(pane) }));
  }

  redraw() {
    const { dive, look } = this;
    if (!dive) return;
    const context = this.context();
    const deep = eased(this.at, OUTSIDE, CLOSE_UP.products);
    const { place, bits, row, column, pictures, hidden } = dive;
    if (deep < 1) {
      const target = this.boxes("D", { row, row2: row, column, column2: column }).cells[0]?.box;
      context.save();
      if (target) zoomTo(context, target, 1 + 3 * deep * deep);
      context.globalAlpha = 1 - deep;
      for (const { pane, window, picture } of pictures)
        if (hidden.includes(pane))
          context.drawImage(picture, window.x, window.y, window.width, window.height);
      context.restore();
    }
    const opacity = eased(deep, 0.35, 1);
    fillBox(
      context,
      { x: 0, y: place.y, width: place.width + 2 * STORY_MARGIN, height: place.height + STORY_MARGIN },
      look.paper,
      opacity,
    );
    drawCloseUp(context, look, bits, place, this.at, opacity);
  }
}

/** @param {CanvasRenderingContext2D} context @param {Place} target @param {number} zoom */
function zoomTo(context, { x, y, width, height }, zoom) {
  const [right, down] = [x + width / 2, y + height / 2];
  context.translate(right, down);
  context.scale(zoom, zoom);
  context.translate(-right, -down);
}

/** @param {Matrix} matrix */
const wholeOf = ({ rows, columns }) => ({ row: 0, row2: rows - 1, column: 0, column2: columns - 1 });

// Where a cell that was not there grows: below the edge of its matrix, or right of it.
/** @param {PlacedCell} cell @param {Place | undefined} window of its matrix as it was @returns {Place} */
function seedOf({ name, box }, window) {
  if (name === "B")
    return { ...box, y: Math.min(box.y, window ? window.y + window.height : box.y), height: 0 };
  return { ...box, x: Math.min(box.x, window ? window.x + window.width : box.x), width: 0 };
}

/** @param {Place} from @param {Place} to @param {number} part @returns {Place} */
function placeBetween(from, to, part) {
  /** @param {keyof Place} side */
  const at = (side) => from[side] + (to[side] - from[side]) * part;
  return { x: at("x"), y: at("y"), width: at("width"), height: at("height") };
}
