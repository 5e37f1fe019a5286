// The whole view: draws what Python sends, and sends messages for what is typed.
// Python decides which lane holds what, what a code means, and what D is.

import { make, afterPaint, clamp, consume, isTouch, nextTask, write } from "./common/util.js";
import {
  MATRICES,
  cellsOf,
  indexOfCell,
  fewestLetters,
  isZero,
  readMatrix,
  lanesOf,
  labelSize,
} from "./matrix/matrix.js";
import {
  cellFacts,
  describeContribution,
  describeLine,
  contributionsTo,
  relatedCells,
} from "./matrix/describe.js";
import { moveHint } from "./tensor/move.js";
import { FADE } from "./pane/edges.js";
import { painter, readTheme } from "./matrix/colours.js";
import { TIMELINE, arrange, scrollers, viewHeight } from "./pane/layout.js";
import { Toolbar } from "./toolbar/toolbar.js";
import { Picker } from "./picker/picker.js";
import { Pane } from "./pane/pane.js";
import { Header } from "./toolbar/header.js";
import { HelpSheet } from "./toolbar/help.js";
import { Tooltip } from "./common/tooltip.js";
import { TracePanel } from "./trace/trace.js";
import { Timeline } from "./trace/timeline.js";
import { Panel, shownLanes } from "./registers/panel.js";
import { Problem } from "./common/problem.js";
import { Selection } from "./matrix/selection.js";
import { Differences } from "./trace/differences.js";
import { flashChanges, Motion } from "./common/motion.js";
import { AXES, Camera, WHOLE, listenForZoom } from "./pane/camera.js";
import { Corner } from "./pane/corner.js";
import { shareKeys } from "./common/notebook_keys.js";
import { Quiz } from "./quiz/quiz.js";
import { MemoryView } from "./memory/view.js";
import { TensorView } from "./tensor/view.js";
import { Descriptor } from "./memory/descriptor.js";

/** @type {{ [name in Name]?: Name[] }} */
const INSIDE = { A: ["SFA"], B: ["SFB"], stored: ["E"] }; // what is shown between the cells of a matrix
// Traits that change what is drawn, besides the matrices.
const REDRAWN = [
  "instruction",
  "lane_registers",
  "lane",
  "pinned",
  "colour_by",
  "label",
  "show_c",
  "problem",
  "memory",
  "load",
];
const MANY_NUMBERS = 4096; // of a matrix that is never seen whole with its numbers
const WIDTHS = [600, 760, 1200]; // for styles: up to which of these the Explorer is wide

export class App {
  /** @param {Model} model @param {HTMLElement} el */
  constructor(model, el) {
    this.model = model;
    this.instruction = /** @type {InstructionInfo} */ ({}); // until Python sends it
    this.matrices = /** @type {Matrices} */ ({});
    this.lane = 0;
    this.hovered = /** @type {Hovered | null} */ (null);
    this.line = /** @type {Line | null} */ (null);
    this.selection = new Selection(this);
    this.panes = /** @type {Pane[]} */ ([]);
    this.painters = /** @type {WeakMap<Matrix, Painter>} */ (new WeakMap());
    this.labelSizes = /** @type {WeakMap<Matrix, LabelSize>} */ (new WeakMap());
    this.ink = /** @type {Ink} */ ({});
    this.colours = /** @type {Colour[]} */ ([]);
    this.ratio = 1;
    this.look = this.shownLabel = "";
    this.widestLabels = /** @type {Record<string, number[]>} */ ({}); // letters in A, B, D and C, by what is shown
    this.layoutWidth = 0; // the width that everything is laid out for
    this.layoutHeight = 0; // and the height
    this.drawsSoon = false;
    this.pointFrame = 0; // the frame in which what is pointed at will be shown
    this.shownPoint = ""; // and what is shown as such
    this.paneKey = this.layoutKey = ""; // what the panes and the layout were made for
    this.dark = false;
    this.scroll = { m: 0, n: 0, kx: 0, ky: 0 };
    this.plan = /** @type {ScenePlan} */ ({}); // of the scene, for every zoom
    this.camera = new Camera(this);
    this.pointer = /** @type {Point | null} */ (null); // over a pane
    this.tapped = /** @type {Element | null} */ (null); // the bit that the last tap showed
    this.root = make("div", "ptx-explorer", el, {
      tabindex: "-1", // takes the focus when what had it is gone
    });
    this.differences = new Differences(this);
    this.header = new Header(this, this.root);
    this.picker = new Picker(this, make("div", "ptx-picker-place", this.root));
    this.toolbar = new Toolbar(this, this.root);
    this.quiz = new Quiz(this, this.root);
    this.stage = make("div", "ptx-stage", this.root);
    this.scene = make("div", "ptx-scene", this.stage);
    this.corner = new Corner(this, this.scene);
    this.beside = make("div", "ptx-beside", this.stage);
    this.descriptor = new Descriptor(this, this.beside, this.descriptorSource());
    this.panel = new Panel(this, this.beside);
    this.motion = new Motion(this);
    this.status = make("div", "ptx-status", this.root, {
      "aria-live": "polite",
      "data-testid": "status",
    });
    this.statusText = make("div", "ptx-status-text", this.status);
    this.statusText.addEventListener("click", () => {
      this.status.classList.toggle("ptx-opened"); // all of it, where a line or two are seen
    });
    this.memory = new MemoryView(this, this.root);
    this.tensor = new TensorView(this, this.root);
    this.timeline = new Timeline(this, this.root);
    this.tracePanel = new TracePanel(this, this.root);
    this.problem = new Problem(this, this.root);
    this.helpSheet = new HelpSheet(this, this.root);
    this.tooltip = new Tooltip(this, this.root);
    // for tests, which drive the page: where cells, headings and words are
    Object.assign(this.root, {
      cellRect: this.cellRect.bind(this),
      revealCell: (/** @type {Name} */ name, /** @type {number} */ row, /** @type {number} */ column) =>
        this.reveal([{ name, row, column }]),
      headings: () => this.panes.map((pane) => pane.headings()),
      wordRect: (/** @type {number} */ lane, /** @type {number} */ column) =>
        this.tensor.onPage(this.tensor.placeOf({ lane, column })),
    });
    listenForUndo(this);
    listenForZoom(this);
    this.forgetTaps = listenForTaps(this);
    this.forgetKeys = shareKeys(this.root);
    this.root.addEventListener("focusout", () => this.selection.savePending());
    this.observeModel();
    this.observePage();
    this.refresh();
    if (model.get("candidates")?.typed) this.picker.open(false); // the notebook keeps the focus
  }

  /** @returns {DescriptorSource} */
  descriptorSource() {
    return {
      bits: 32,
      title: "Instruction descriptor",
      called: "the descriptor",
      info: () => this.instruction.descriptor,
      setCode: (text, origin) => this.send({ type: "set_descriptor", text }, origin),
      setField: (name, text, origin) => this.send({ type: "set_descriptor_field", name, text }, origin),
    };
  }

  observeModel() {
    const { model } = this;
    let pending = false;
    const refreshOnce = () => {
      if (pending) return;
      pending = true;
      queueMicrotask(() => {
        pending = false;
        this.refresh();
      });
    };
    for (const name of [...REDRAWN, ...MATRICES]) model.on(`change:${name}`, refreshOnce);
    model.on("change:zoom", () => this.camera.follow());
    model.on("change:step", () => this.timeline.followStep());
    model.on("change:selected", () => {
      if (!pending) this.selection.followModel(); // refresh() does otherwise, when all it needs is there
    });
    for (const name of ["toolbar", "notice", "colour_by", "label", "show_c", "zoom"])
      model.on(`change:${name}`, () => {
        const focused = this.focused();
        this.toolbar.update();
        if (focused) this.keepFocus();
      });
    model.on("change:notice", () => this.layout()); // it takes a line above the matrices
    model.on("change:refusal", () => this.drawMarksSoon());
    model.on("change:quiz", () => {
      this.quiz.follow();
      if (this.quiz.open && !this.timeline.idle) this.timeline.goHome();
    });
    model.on("change:selected", () => this.timeline.follow());
    model.on("change:picker_index", () => this.picker.update());
    model.on("msg:custom", (message) => {
      if (message.searched) this.differences.setBusy(false);
      else this.toolbar.receiveExport(message);
    });
    for (const name of ["trace", "tracing"])
      model.on(`change:${name}`, () => {
        this.tracePanel.update();
        this.timeline.follow();
      });
  }

  // The size and the theme of the page.
  observePage() {
    this.sizes = new ResizeObserver(() => {
      // also the first call: only now is the view in the page, with its styles
      if (!this.layoutWidth) this.refresh(); // or it was hidden, and the theme may have changed
      else if (
        Math.abs(this.root.clientWidth - this.layoutWidth) > 1 ||
        Math.abs(viewHeight(this) - this.layoutHeight) > 8
      )
        this.layout();
    });
    this.sizes.observe(this.root);
    this.theme = new MutationObserver(() => this.refresh());
    this.theme.observe(document.body, {
      attributes: true,
      attributeFilter: ["class", "data-jp-theme-light", "data-jp-theme-name"],
    });
  }

  stop() {
    this.selection.savePending();
    window.cancelAnimationFrame(this.pointFrame);
    this.timeline.pause();
    this.forgetTaps();
    this.forgetKeys();
    this.motion.stop();
    this.camera.stop();
    this.sizes?.disconnect();
    this.theme?.disconnect();
    this.model.off();
  }

  // Whether this is a saved page, on which nothing can be changed.
  get isStatic() {
    return Boolean(this.model.get("toolbar")?.static);
  }

  // The node inside the view that has the focus; null if the focus is elsewhere on the page.
  focused() {
    const root = /** @type {Document | ShadowRoot} */ (this.root.getRootNode());
    return this.root.contains(root.activeElement) ? root.activeElement : null;
  }

  refresh() {
    const focused = this.focused();
    this.redraw();
    if (focused) this.keepFocus();
  }

  // If another instruction removes the node with the focus, the view takes it, so that keys still reach it.
  keepFocus() {
    const focused = this.focused();
    if (focused && !(/** @type {HTMLButtonElement} */ (focused).disabled)) return;
    const pane = this.selection.mark && this.paneOf(this.selection.mark.name);
    (pane ? pane.input : this.root).focus({ preventScroll: true });
  }

  redraw() {
    const instruction = this.model.get("instruction");
    if (!instruction?.matrices) return;
    this.instruction = instruction;
    if (!this.root.isConnected) return;
    this.lane = this.model.get("lane");
    const before = { ...this.matrices };
    if (!this.readMatrices(instruction)) return; // some are still on their way
    this.selection.dropIfGone();
    this.followSelector(before.E);
    readTheme(this);
    this.showPanesOrMemory();
    this.memory.follow();
    this.tensor.follow();
    // cells grow for longer numbers, and never shrink again
    const { widest } = this;
    this.widestLabels[this.shownLabel] = this.letterCounts().map((letters, index) =>
      Math.max(letters, widest[index]),
    );
    const isNew = this.drawParts();
    afterPaint(() => flashChanges(this, before)); // D is on the screen first
    this.tooltip.change();
    this.problem.update();
    this.timeline.follow();
    if (isNew && this.timeline.node.offsetHeight > TIMELINE) this.layout(); // its words take more lines
    this.selection.followModel();
    this.updateStatus();
    this.quiz.markFields();
    this.quiz.follow();
    this.quiz.showStart();
    this.header.nameBox.suggest();
  }

  // Returns whether every matrix of the instruction has arrived.
  /** @param {InstructionInfo} instruction */
  readMatrices(instruction) {
    for (const name of MATRICES)
      Object.assign(this.matrices, {
        [name]: readMatrix(this.model, instruction, name, this.matrices[name]),
      });
    return MATRICES.every((name) => !instruction.matrices[name] || this.matrices[name]);
  }

  // Another selector reads the metadata of other lanes of each four: where the chosen lane supplied it, the one
  // that does now is chosen.
  /** @param {Matrix | undefined} before */
  followSelector(before) {
    const { E } = /** @type {AnyMatrices} */ (this.matrices);
    if (!before?.lane || !E?.lane || before.rows !== E.rows || this.quiz.open) return;
    if (!cellsOf(before, this.lane).length || cellsOf(E, this.lane).length) return;
    const first = this.lane - (this.lane % 4);
    const lane = [0, 1, 2, 3].map((each) => first + each).find((each) => cellsOf(E, each).length);
    if (lane !== undefined) queueMicrotask(() => this.chooseLane(lane));
  }

  // A multiplication has a pane for every matrix; tcgen05.ld, .st, .cp and .shift show only tensor memory.
  showPanesOrMemory() {
    const { mnemonic, m, n, k, move } = this.instruction;
    this.root.classList.toggle("ptx-moves", Boolean(move));
    this.stage.hidden = this.tracePanel.node.hidden = Boolean(move);
    if (move && this.status.parentElement !== this.tensor.node) this.tensor.node.append(this.status);
    const names = /** @type {Name[]} */ (["A", "B", "D", "stored", "C"]);
    const shown = names.filter((name) => this.matrices[name] && !move);
    const paneKey = `${mnemonic} ${m} ${n} ${k} ${this.matrices.A.note} ${shown}`;
    if (paneKey !== this.paneKey) {
      this.widestLabels = {};
      this.build(shown);
    }
    [this.paneKey, this.shownLabel] = [paneKey, this.quiz.display("label")];
  }

  // Lays everything out again only if something changed its size, and returns whether it does.
  drawParts() {
    const layoutKey = [
      this.paneKey,
      this.shownLanes().length,
      this.isUnfolded("C"),
      this.dark,
      this.shownLabel,
      this.widest,
      this.fewestLetters(),
      this.memory.version,
      this.tensor.version,
      this.tensor.isOpen,
      this.instruction.descriptor?.fields.length,
    ].join(" ");
    const isSameLayout = layoutKey === this.layoutKey && this.layoutWidth > 0;
    if (isSameLayout) for (const pane of this.panes) pane.draw(); // before anything is written that needs a layout
    this.header.show(this.instruction.mnemonic, this.instruction.shape);
    this.toolbar.update();
    this.descriptor.update();
    this.panel.update();
    this.tracePanel.update();
    if (!this.instruction.move) this.corner.update();
    if (isSameLayout) for (const pane of this.panes) pane.updateCaption();
    else this.layout();
    this.memory.draw();
    this.tensor.draw();
    this.layoutKey = layoutKey;
    return !isSameLayout;
  }

  /** @param {Name[]} shown */
  build(shown) {
    /** @type {Record<string, Axis[]>} */
    const axes = { A: ["kx", "m"], stored: ["kx", "m"], B: ["n", "ky"], D: ["n", "m"], C: ["n", "m"] };
    for (const pane of this.panes) pane.node.remove();
    this.hovered = this.line = null; // they belonged to the old panes
    this.shownPoint = "";
    this.tooltip.hide();
    this.panes = shown.map((name) => new Pane(this, this.scene, [name, ...(INSIDE[name] ?? [])], axes[name]));
  }

  get widest() {
    return this.widestLabels[this.shownLabel] ?? [1, 1, 1, 1];
  }

  letterCounts() {
    const { A, B, C, D } = this.matrices;
    return [A, B, D, C].map((matrix) => (matrix ? this.labelSize(matrix).letters : 1)); // a move has no B
  }

  // Those in which numbers can be told, where there may be room for numbers at all.
  fewestLetters() {
    const { A, B, C, D } = this.matrices;
    const shown = [A, B, D, C].filter((matrix) => matrix && matrix.values.length <= MANY_NUMBERS);
    return this.shownLabel === "value" ? JSON.stringify(shown.map(fewestLetters)) : "";
  }

  // C is a strip while it is zero.
  /** @param {Name} name */
  isUnfolded(name) {
    const matrix = this.matrices[name];
    return Boolean(matrix) && (name !== "C" || this.model.get("show_c") || !isZero(matrix));
  }

  // Letters and lines of a matrix's labels, measured once for what is on the screen.
  /** @param {Matrix} matrix @returns {LabelSize} */
  labelSize(matrix) {
    const cached = this.labelSizes.get(matrix);
    if (cached) return cached;
    const size = labelSize(this.matrices, matrix, this.quiz.display("label"));
    this.labelSizes.set(matrix, size);
    return size;
  }

  layout() {
    this.layoutWidth = this.root.clientWidth;
    if (!this.instruction.matrices) return;
    if (!this.layoutWidth) {
      // hidden: if only for a moment, as while a theme loads, no event tells when that ends
      requestAnimationFrame(() => {
        if (this.root.clientWidth) this.refresh();
      });
      return;
    }
    this.root.style.setProperty("--ptx-width", `${this.layoutWidth}px`);
    for (const most of WIDTHS) this.root.classList.toggle(`ptx-most-${most}`, this.layoutWidth <= most);
    this.toolbar.fit();
    if (this.instruction.move) this.tensor.layout();
    else arrange(this);
    this.tracePanel.place();
    this.layoutHeight = viewHeight(this);
    for (const node of scrollers(this.root)) this.sizes?.observe(node);
    this.syncScroll();
    this.memory.draw();
    this.tensor.draw();
    this.selection.placeInput();
  }

  syncScroll() {
    for (const pane of this.panes) {
      const [x, y] = pane.axes;
      if (x) pane.scroller.scrollLeft = this.scroll[x];
      if (y) pane.scroller.scrollTop = this.scroll[y];
    }
    for (const pane of this.panes) {
      pane.readScroll();
      pane.draw();
    }
    this.corner.drawMap();
  }

  // Panes share their axes: m (rows of A and D), n (columns of B and D), k (columns of A, rows of B).
  /** @param {Pane} pane */
  scrolled(pane) {
    const [x, y] = pane.axes;
    const before = { ...this.scroll };
    pane.readScroll();
    if (x && pane.total.width > pane.width + 1) this.scroll[x] = pane.at.x;
    if (y && pane.total.height > pane.height + 1) this.scroll[y] = pane.at.y;
    if (AXES.every((axis) => Math.abs(before[axis] - this.scroll[axis]) < 1)) return;
    if (this.scroll.kx !== before.kx) this.followK("kx");
    else if (this.scroll.ky !== before.ky) this.followK("ky");
    this.syncScroll();
  }

  // Rows of B follow columns of A, and the other way round.
  /** @param {"kx" | "ky"} leading */
  followK(leading) {
    /** @param {Name} name */
    const find = (name) => /** @type {Pane} */ (this.panes.find((each) => each.names[0] === name));
    const [A, B] = [find("A"), find("B")];
    const [wide, high] = [A.total.width, B.total.height];
    if (leading === "kx")
      this.scroll.ky = Math.min((this.scroll.kx / wide) * high, Math.max(0, high - B.height));
    else this.scroll.kx = Math.min((this.scroll.ky / high) * wide, Math.max(0, wide - A.width));
  }

  // What a cell looks like: [background, text] of a cell by its index.
  /** @param {Matrix} matrix @returns {Painter} */
  painter(matrix) {
    const cached = this.painters.get(matrix);
    if (cached) return cached;
    const paint = painter(this, matrix);
    this.painters.set(matrix, paint);
    return paint;
  }

  /** @param {Name} name */
  paneOf(name) {
    return this.panes.find((each) => each.has(name));
  }

  // -- hovering and selecting --

  /** @param {Hovered | null} hit @param {MouseEvent} [event] */
  hover(hit, event) {
    this.hovered = hit;
    if (event && hit?.name) this.showTip(event, hit);
    else this.tooltip.hide();
    this.point();
  }

  // Several events come when the pointer leaves one cell for another: only the outcome is shown, once, in the
  // next frame, and drawn before it if there is time.
  point() {
    if (this.pointFrame) return;
    const show = () => {
      if (!this.pointFrame) return;
      cancelAnimationFrame(this.pointFrame);
      this.pointFrame = 0;
      const pointed = JSON.stringify([this.hovered, this.line]);
      if (pointed !== this.shownPoint) {
        this.shownPoint = pointed;
        this.drawMarks(); // first: a canvas that is given a font makes the browser lay out what was written
        this.updateStatus();
        this.panel.highlight(this.quiz.open ? null : this.hovered);
        this.tensor.thread.highlight();
      }
      this.tooltip.draw();
    };
    this.pointFrame = requestAnimationFrame(show);
    nextTask(show);
  }

  /** @param {MouseEvent} event @param {Cell} hit */
  showTip(event, hit) {
    const small = hit.name !== "E" && !this.paneOf(hit.name)?.layer(hit.name).digits;
    this.tooltip.show(event, () => this.facts(hit), small ? hit : null);
  }

  // A cell in words; only its name while a question of the quiz is open.
  /** @param {Cell} cell */
  facts(cell) {
    if (!this.quiz.open) return this.cellFacts(cell);
    return [`${this.matrices[cell.name].label}[${cell.row}][${cell.column}]`];
  }

  /** @param {Cell} cell */
  cellFacts(cell) {
    return cellFacts(this.matrices, this.instruction, cell, (name, at) => this.memory.facts(name, at));
  }

  // -- rows and columns: which lanes hold one --

  /** @param {Line | null} line @param {MouseEvent} [event] */
  hoverLine(line, event) {
    if (this.quiz.open) line = null; // it would tell the lanes
    if (line && event) this.tooltip.show(event, () => [describeLine(this.matrices, line, this.instruction)]);
    else if (this.line && !this.hovered) this.tooltip.hide();
    this.line = line;
    this.point();
  }

  hoveredLane() {
    if (!this.hovered || this.quiz.open) return -1;
    if (this.hovered.lane !== undefined) return this.hovered.lane;
    const matrix = this.matrices[this.hovered.name];
    return matrix?.lane ? matrix.lane[indexOfCell(matrix, this.hovered)] : -1;
  }

  related() {
    if (this.quiz.open) return [];
    return relatedCells(this.matrices, this.instruction, this.hovered);
  }

  // Draws once per event, however often it is called, and in this frame: there is time left in it.
  drawMarksSoon() {
    if (this.drawsSoon) return;
    this.drawsSoon = true;
    queueMicrotask(() => {
      this.drawsSoon = false;
      this.drawMarks();
      this.tooltip.draw();
    });
  }

  drawMarks() {
    for (const pane of this.panes) pane.drawMarks();
    this.memory.drawMarks();
    this.tensor.drawMarks();
    this.tooltip.drawLens();
  }

  // Scrolls the marked cells into view.
  /** @param {Mark[]} marks */
  reveal(marks) {
    const before = { ...this.scroll };
    for (const mark of marks) {
      const pane = this.paneOf(mark.name);
      if (!pane) continue;
      const { x, y, width, height } = pane.rect(mark.name, mark.row, mark.column);
      /** @param {Axis} axis @param {number} start @param {number} end @param {number} view @param {number} most */
      const show = (axis, start, end, view, most) => {
        if (most <= 1) return;
        this.scroll[axis] = clamp(clamp(this.scroll[axis], end - view + FADE, start - FADE), 0, most);
      };
      show(pane.axes[0], x, x + width, pane.width, pane.farthest.x);
      show(pane.axes[1], y, y + height, pane.height, pane.farthest.y);
    }
    // all at once: scrolled one after the other, A and B would drag each other along
    if (AXES.some((axis) => before[axis] !== this.scroll[axis])) this.syncScroll();
  }

  updateStatus() {
    const { mark } = this.selection;
    if (this.quiz.open) {
      this.panel.lanes.outline(null, []);
      this.say(this.hovered?.name ? this.facts(this.hovered) : []);
      return;
    }
    const line = this.line ?? this.selection.line();
    const contributions = this.contributions();
    const holders = line ? lanesOf(this.matrices, line) : this.timeline.lanes();
    this.panel.lanes.outline(holders, contributions);
    this.differences.update();
    if (line && !this.instruction.move && (this.line || !this.hovered?.name)) {
      this.say([describeLine(this.matrices, line, this.instruction)]);
      return;
    }
    const at = this.hovered?.name ? this.hovered : mark;
    if (!at || !this.matrices[at.name]) {
      const what = this.instruction.tensor ? "where it is" : "which lane holds it";
      const hint =
        this.model.get("hint") ?? `Point at a cell to see ${what}; click to select it; type to change it.`;
      this.say([this.instruction.move ? moveHint(this.instruction, this.isStatic) : hint]);
      return;
    }
    const [value, ...facts] = this.cellFacts(at);
    const isSelected = at.name === mark?.name && at.row === mark.row && at.column === mark.column;
    // the rows and columns of tcgen05 are always in the same place
    const told = this.instruction.tensor ? [] : contributions;
    const lanes = told.map((each) => describeContribution(this.matrices, each, this.instruction));
    if (lanes.length) lanes[0] = `outlined: ${lanes[0]}`; // as they are drawn
    const selected = isSelected ? [...this.differences.words(), ...lanes] : [];
    this.say([value, ...selected, ...facts]);
  }

  // In the corner each part is a line of its own; elsewhere dots stand between them. Nodes are kept, empty if
  // need be, so that only letters change: the page's styles are matched again with every node that comes or goes.
  /** @param {string[]} parts */
  say(parts) {
    const children = /** @type {HTMLCollectionOf<HTMLElement>} */ (this.statusText.children);
    if (parts.length < 2) while (children.length > 1) children[1].remove(); // a single one looks different
    parts.forEach((part, index) => {
      if (index) write(children[2 * index - 1] ?? make("i", "", this.statusText), " · ");
      write(children[2 * index] ?? make("span", "", this.statusText), part);
    });
    for (const node of [...children].slice(Math.max(0, 2 * parts.length - 1))) write(node, "");
  }

  // Of the selected cell of D.
  contributions() {
    const { mark } = this.selection;
    if (this.instruction.move || mark?.name !== "D" || !this.matrices.D || mark.row2 !== undefined) return [];
    return contributionsTo(this.matrices, this.instruction, mark);
  }

  shownLanes() {
    return shownLanes(this.lane, this.model.get("pinned") ?? []);
  }

  // A trait that the page may change, in Python as well.
  /** @template {keyof Traits} K @param {K} name @param {Traits[K]} value */
  set(name, value) {
    this.model.set(name, value);
    this.model.save_changes();
  }

  /** @param {number} lane */
  chooseLane(lane) {
    this.selection.lane = null; // what is chosen now counts
    this.set("lane", lane);
  }

  /** @param {number} percent @param {Point | null} point */
  zoomBy(percent, point = null) {
    this.zoomTo(this.model.get("zoom") + percent, point);
  }

  // Zooms around a point of the page, or around what `anchorsOf` finds.
  /** @param {number} percent @param {Point | null} point */
  zoomTo(percent, point) {
    const range = this.toolbar.data.controls.find(({ trait }) => trait === "zoom")?.range;
    if (!range) return;
    this.camera.point = point;
    this.set("zoom", clamp(Math.round(percent), WHOLE, range.max));
  }

  // If the kernel is gone (restarted or closed), what was typed is shown, so that it can be typed again. A
  // problem that comes of a message is shown beside the field that it comes from: the one with the focus, if
  // none is named.
  /** @param {Message} message @param {MessageOrigin | null} origin */
  send(message, origin = null) {
    const focused = this.focused();
    this.problem.origin = origin ?? (focused && focused !== this.root ? { node: focused } : null);
    if (this.quiz.refuses(message)) return;
    this.selection.savePending();
    try {
      this.model.send(message);
    } catch {
      const typed = "text" in message ? `; you typed ${message.text}` : "";
      this.problem.show(`The kernel no longer has this Explorer: run its cell again${typed}.`);
    }
  }

  /** @param {Name} name @param {number} row @param {number} column @returns {Place} */
  cellRect(name, row, column) {
    const pane = /** @type {Pane} */ (this.paneOf(name));
    return pane.onPage(pane.rect(name, row, column));
  }
}

// What the whole Explorer listens to, wherever the focus is: taps, and the keys of undo and redo.

// What a tap shows stays until the next tap, wherever that is. Returns a function that stops listening.
/** @param {App} app */
function listenForTaps(app) {
  /** @param {PointerEvent} event */
  const forget = (event) => {
    if (!isTouch(event)) return;
    app.hover(null);
    app.hoverLine(null);
  };
  document.addEventListener("pointerdown", forget, true);
  return () => document.removeEventListener("pointerdown", forget, true);
}

// Ctrl+Z, Ctrl+Shift+Z and Ctrl+Y (Cmd on macOS), wherever the focus is: they are taken on the way down,
// before fields and lists stop them. Text being typed has its own undo until it is committed, and so has the
// picker's search.
/** @param {App} app */
function listenForUndo(app) {
  let typing = /** @type {EventTarget | null} */ (null);
  app.root.addEventListener("input", ({ target }) => {
    // a cell has its own flag for this: pane.editing
    const isText = target instanceof HTMLInputElement && target.type === "text";
    typing = isText && !target.matches(".ptx-cell") ? target : null;
  });
  for (const committed of ["change", "focusout"])
    app.root.addEventListener(committed, () => {
      typing = null;
    });
  app.root.addEventListener(
    "keydown",
    (event) => {
      if (event.key === "Enter" || event.key === "Escape") typing = null;
      const letter = undoLetter(event);
      if (!letter || typing === event.target || app.picker.opened || app.isStatic) return;
      if (app.panes.some((pane) => pane.editing && pane.input === event.target)) return;
      consume(event);
      app.send({ type: event.shiftKey || letter === "y" ? "redo" : "undo" });
    },
    true,
  );
}

// "z", "y" or "". On a keyboard without Latin letters the key is recognised by its position.
/** @param {KeyboardEvent} event */
function undoLetter(event) {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return "";
  const letter = /^[\x20-\x7e]$/.test(event.key)
    ? event.key.toLowerCase()
    : event.code.replace("Key", "").toLowerCase();
  return letter === "z" || letter === "y" ? letter : "";
}
