// Sixteen multiplications, one cell: an mma step by step along k, then one element of D with the bits of its
// products, on two chips. Any number of A and B can be changed; the page computes D itself.

import {
  attribute,
  consume,
  make,
  makeTextInput,
  reducedMotion,
  resizeCanvas,
  write,
} from "../common/dom.js";
import { clamp, short } from "../common/numbers.js";
import { PlaybackBar } from "../common/playback.js";
import { shareKeys } from "../common/notebook_keys.js";
import { drawProducts, factorAt, layoutProducts } from "./draw_products.js";
import { paceOf } from "../story/sheet.js";
import { barOf, exactProduct, fusedSteps, nearestF16, toNumber } from "./fused_sum.js";

/**
 * @typedef {{ A: number[][], B: number[][], cell: [number, number], lanes: number[], chips: FusedChip[],
 *   colours: { light: Colour[], dark: Colour[] } }} ProductsScene
 * @typedef {{ get(name: "scene"): ProductsScene, set(name: "scene", value: ProductsScene): void,
 *   save_changes(): void }} ProductsModel
 * @typedef {{ name: "A" | "B", row: number, column: number, box: Place }} ChosenNumber
 * @typedef {import("./fused_sum.js").FusedChip} FusedChip
 * @typedef {import("./fused_sum.js").FusedStep} FusedStep
 */

// milliseconds
const CLOSE_UP_TIME = 1500; // of the way to a step of it
const PAUSE_AFTER = [150, 1900]; // after a product, and after a step of the close-up
const JUMP = 320;
const FLASH = 900; // how long cells are marked after a change
const BLINK = 2400;

export class SixteenProducts extends PlaybackBar {
  /** @param {ProductsModel} model @param {HTMLElement} el */
  constructor(model, el) {
    const root = make("div", "ptx-sixteen", el, {
      role: "group",
      "aria-label": "sixteen products, one cell",
    });
    const canvas = make("canvas", "ptx-sixteen-canvas", root, { role: "img" });
    const corner = make("div", "ptx-sixteen-corner", root);
    const title = make("div", "ptx-sixteen-title", corner);
    const caption = make("p", "ptx-sixteen-caption", corner, { "aria-live": "polite" });
    super(make("div", "", corner), { label: "sixteen products", name: "play the multiplication" });
    this.root = root;
    this.model = model;
    this.canvas = canvas;
    this.corner = corner;
    this.title = title;
    this.caption = caption;
    this.scene = model.get("scene");
    this.shownAt = 0; // where the picture is on its way to the step
    this.motion = 0;
    this.changed = { until: 0, cells: /** @type {Set<number>} */ (new Set()) };
    this.depth = this.scene.B.length;
    this.layout = layoutProducts(0, this.scene);
    // Partial sums of D after every k, exact so far, and D of each chip.
    this.sums = /** @type {Float64Array[]} */ ([]);
    this.results = /** @type {Float64Array[]} */ ([]);
    // How each chip adds the products of the chosen cell, and their bits.
    this.steps = /** @type {FusedStep[][]} */ ([]);
    this.bars = /** @type {BitBars[]} */ ([]);
    const about = [
      "every k multiplies a column of A by a row of B",
      "one cell of D, and its products",
      "the products at one exponent",
      "what hangs over falls off",
      "the sum",
      "the same cell on another chip",
    ];
    const names = [`k = 0 to ${this.depth - 1}`, "one cell", "align", "cut", "add", "another chip"];
    this.parts = names.map((name, index) => ({
      name,
      about: about[index],
      steps: index ? 1 : this.depth + 1,
    }));
    this.drawNames();
    this.forgetKeys = shareKeys(root);
    this.field = makeTextInput(root, "ptx-sixteen-field", { hidden: "", inputmode: "decimal" });
    this.editing = /** @type {ChosenNumber | null} */ (null);
    this.field.addEventListener("keydown", (event) => this.type(event));
    this.field.addEventListener("blur", () => this.closeField());
    canvas.addEventListener("click", (event) => this.open(this.numberAt(event)));
    canvas.addEventListener("pointermove", (event) => {
      canvas.style.cursor = this.numberAt(event) ? "text" : "default";
    });
    this.redraw = this.redraw.bind(this);
    this.observer = new ResizeObserver(this.redraw);
    this.observer.observe(root);
    // the page's theme is an attribute, here or there
    this.themes = new MutationObserver(this.redraw);
    for (const node of [document.documentElement, document.body])
      this.themes.observe(node, { attributes: true });
    this.compute();
    this.showStep();
  }

  stop() {
    this.pause();
    cancelAnimationFrame(this.motion);
    this.forgetKeys();
    this.observer.disconnect();
    this.themes.disconnect();
  }

  get last() {
    return this.depth + 5;
  }

  get isCloseUp() {
    return this.at > this.depth;
  }

  // How long the way to the step takes.
  get duration() {
    return this.isCloseUp ? CLOSE_UP_TIME : paceOf(this.at, this.depth);
  }

  get wait() {
    return this.duration + PAUSE_AFTER[this.isCloseUp ? 1 : 0];
  }

  // -- numbers ---------------------------------------------------------------------------------------------------

  compute() {
    const { A, B, chips, cell } = this.scene;
    const [rows, columns] = [A.length, B[0].length];
    this.sums = Array.from({ length: this.depth + 1 }, () => new Float64Array(rows * columns));
    this.results = chips.map(() => new Float64Array(rows * columns));
    for (let index = 0; index < rows * columns; index += 1) {
      const [row, column] = [Math.floor(index / columns), index % columns];
      const products = A[row].map((a, k) => exactProduct(a, B[k][column]));
      let sum = 0n;
      products.forEach(({ units }, k) => {
        sum += units;
        this.sums[k + 1][index] = toNumber(sum);
      });
      chips.forEach((chip, which) => {
        const steps = fusedSteps(products, chip);
        this.results[which][index] = toNumber(steps[steps.length - 1].sum);
      });
    }
    const [row, column] = cell;
    const terms = A[row].map((a, k) => exactProduct(a, B[k][column]));
    this.steps = chips.map((chip) => fusedSteps(terms, chip));
    this.bars = chips.map(({ name, depth }, which) => ({
      chip: name,
      depth,
      result: barOf(this.steps[which][this.steps[which].length - 1].sum),
      terms: terms.map(({ units }, k) => {
        const step = Math.floor(k / depth);
        const factors = `${A[row][k]} · ${B[k][column]}`;
        return { ...barOf(units), step, last: this.steps[which][step].last, factors };
      }),
    }));
  }

  // -- the picture -----------------------------------------------------------------------------------------------

  showStep(played = false) {
    const [from, to, start] = [this.shownAt, this.at, performance.now()];
    const duration = played
      ? this.duration
      : Math.abs(to - from) <= 1 && to > from
        ? this.duration / 2
        : JUMP;
    this.say();
    cancelAnimationFrame(this.motion);
    if (reducedMotion.matches || from === to) {
      this.shownAt = to;
      this.redraw();
      return;
    }
    const move = (/** @type {number} */ now) => {
      const part = clamp((now - start) / duration, 0, 1);
      this.shownAt = from + (to - from) * part;
      this.redraw();
      if (part < 1) this.motion = requestAnimationFrame(move);
      else if (to === this.last && this.isApart) this.blink(now + BLINK);
    };
    this.motion = requestAnimationFrame(move);
  }

  // The title, the caption and the bar of the step.
  say() {
    const { title, caption, step } = this.textOf(this.at);
    write(this.title, title);
    write(this.caption, caption);
    attribute(this.canvas, "aria-label", `${title} ${caption}`);
    this.updateBar(step);
  }

  // The bits in which the two chips differ, until a moment has passed.
  /** @param {number} end */
  blink(end) {
    const frame = (/** @type {number} */ now) => {
      this.redraw();
      if (now < end && this.at === this.last) this.motion = requestAnimationFrame(frame);
    };
    this.motion = requestAnimationFrame(frame);
  }

  get isApart() {
    const [first, second] = this.steps.map((steps) => steps[steps.length - 1].sum);
    return first !== second;
  }

  // What is said at a step.
  /** @param {number} at */
  textOf(at) {
    const { cell, chips, B } = this.scene;
    const [name, [ours, other]] = [`D[${cell[0]}][${cell[1]}]`, chips];
    const [mine, theirs] = this.steps.map((steps) => toNumber(steps[steps.length - 1].sum));
    const exact = this.sums[this.depth][cell[0] * B[0].length + cell[1]];
    const shape = `${this.scene.A.length} x ${B[0].length}`;
    if (at === 0)
      return {
        title: "D = A · B",
        caption: `One instruction, 32 threads. A colour is a thread: each holds ${(this.scene.A.length * B[0].length) / 32} cells of D.`,
        step: "before the first product",
      };
    if (at <= this.depth) {
      const k = at - 1;
      const lead =
        at === 1 ? `Column 0 of A times row 0 of B: a sheet of ${shape} products sinks into D.` : "";
      const end = at === this.depth ? "Sixteen products in every cell. The sums are exact so far." : "";
      return {
        title: `k = ${k}`,
        caption: lead || end || `Column ${k} of A, row ${k} of B: another sheet of products.`,
        step: `k = ${k}`,
      };
    }
    const step = this.steps[0][0];
    const lost = toNumber(
      this.steps[0].reduce(
        (sum, { terms, kept }) => sum + terms.reduce((all, term, index) => all + (term - kept[index]), 0n),
        0n,
      ),
    );
    const captions = [
      `One cell, ${this.depth} products: each is a sign and a few bits.`,
      `They slide to one exponent, the largest of all: 2^${step.top}.`,
      `${ours.name} keeps ${ours.fraction_bits} bits below it. What hangs over falls off${lost ? "" : "; here nothing does"}.`,
      `The rest is added: ${name} = ${short(mine, 9)}. The exact sum is ${short(exact, 12)}.`,
      mine === theirs
        ? `${other.name} adds ${other.depth} at a time and keeps ${other.fraction_bits} bits: ${short(theirs, 9)}, the same bits this time. Change a factor.`
        : `${other.name} adds ${other.depth} at a time and keeps ${other.fraction_bits} bits: ${short(theirs, 9)}. Same numbers, two chips, two answers. Change a factor.`,
    ];
    const caption = captions[at - this.depth - 1];
    return { title: name, caption, step: this.parts[at - this.depth].name };
  }

  redraw() {
    const width = this.root.clientWidth;
    if (!width) return;
    const ratio = window.devicePixelRatio || 1;
    const style = getComputedStyle(this.root);
    const [red, green, blue] = (style.color.match(/[\d.]+/g) ?? []).map(Number);
    const isDark = red + green + blue > 384;
    this.root.classList.toggle("dark", isDark);
    this.layout = layoutProducts(width, this.scene);
    const { corner, height } = this.layout;
    this.root.classList.toggle("narrow", this.layout.isNarrow);
    Object.assign(this.corner.style, {
      left: `${corner.x}px`,
      top: `${corner.y}px`,
      width: `${corner.width}px`,
      height: `${corner.height}px`,
    });
    resizeCanvas(this.canvas, width, height, ratio);
    const ink = (/** @type {string} */ name) => style.getPropertyValue(`--ptx-${name}`).trim();
    drawProducts(this, {
      ratio,
      lanes: this.scene.colours[isDark ? "dark" : "light"],
      ink: ink("ink"),
      faint: ink("faint"),
      paper: ink("paper"),
      plain: ink("plain"),
      line: ink("line"),
      brand: ink("brand"),
      bad: ink("bad"),
      flash: ink("flash"),
      black: ink("black"),
      mono: ink("mono"),
    });
  }

  // -- changing a number -----------------------------------------------------------------------------------------

  // The number of A or B under the pointer, in a matrix or as a factor of the close-up, with its place.
  /** @param {MouseEvent} event @returns {ChosenNumber | null} */
  numberAt({ offsetX: x, offsetY: y }) {
    if (this.layout.isHidden(this.shownAt)) return factorAt(this, x, y);
    for (const name of /** @type {const} */ (["A", "B"])) {
      const { place, rows, columns, width, height, firstRow, firstColumn } = this.layout.grids(this.shownAt)[
        name
      ];
      const [row, column] = [Math.floor((y - place.y) / height), Math.floor((x - place.x) / width)];
      if (row < 0 || row >= rows || column < 0 || column >= columns) continue;
      const box = { x: place.x + column * width, y: place.y + row * height, width, height };
      return { name, row: row + firstRow, column: column + firstColumn, box };
    }
    return null;
  }

  /** @param {ChosenNumber | null} chosen */
  open(chosen) {
    if (!chosen) return;
    this.pause();
    this.editing = chosen;
    const { name, row, column, box } = chosen;
    const width = Math.max(box.width, 64);
    const left = clamp(box.x - (width - box.width) / 2, 0, this.root.clientWidth - width);
    Object.assign(this.field.style, {
      left: `${left}px`,
      top: `${box.y - 3}px`,
      width: `${width}px`,
      height: `${Math.max(box.height + 6, 24)}px`,
    });
    this.field.hidden = false;
    attribute(this.field, "aria-label", `${name}[${row}][${column}]`);
    this.field.value = String(this.scene[name][row][column]);
    this.field.focus({ preventScroll: true });
    this.field.select();
  }

  /** @param {KeyboardEvent} event */
  type(event) {
    event.stopPropagation();
    if (event.key === "Escape") this.closeField();
    if (event.key !== "Enter" || !this.editing) return;
    consume(event);
    const value = nearestF16(Number(this.field.value.replace(",", ".") || Number.NaN));
    this.field.classList.toggle("wrong", Number.isNaN(value));
    this.field.title = Number.isNaN(value) ? "a number from -65504 to 65504" : "";
    if (!Number.isNaN(value)) this.change(this.editing, value);
  }

  // A number of A changes a row of D, one of B a column.
  /** @param {ChosenNumber} chosen @param {number} value */
  change({ name, row, column }, value) {
    const changed = this.scene[name].map((numbers) => [...numbers]);
    changed[row][column] = value;
    const before = this.results[0];
    this.scene = { ...this.scene, [name]: changed };
    this.model.set("scene", this.scene);
    this.model.save_changes();
    this.compute();
    const cells = [...before.keys()].filter((index) => before[index] !== this.results[0][index]);
    this.changed = { until: performance.now() + FLASH, cells: new Set(cells) };
    this.closeField();
    this.root.dataset.computed = String(cells.length); // tests wait for it
    this.goToStep(Math.max(this.at, this.depth)); // D is whole: nobody has to play it again to see it
    setTimeout(this.redraw, FLASH + 20);
  }

  closeField() {
    this.editing = null;
    this.field.hidden = true;
    this.field.classList.remove("wrong");
  }
}
