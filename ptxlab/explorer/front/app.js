// The whole view: draws what Python sends, and sends messages for what is typed.
// Python decides which lane holds what, what a code means, and what D is.
//
// What updates what:
//
//   a value of the model                        updates
//   instruction, matrices, lane, colours ...    everything: `App.refresh`, once for all that came together
//   zoom                                        `Camera.zoomToModel`
//   step                                        `Timeline.goToModelStep`
//   selected                                    `Selection.readFromModel`, `Timeline.updateFrames`
//   toolbar, notice                             `Toolbar.update`
//   refusal                                     `Pointing.drawMarksSoon`
//   quiz                                        `Quiz.readFromModel`
//   picker_index                                `Picker.update`
//   trace, tracing                              `TracePanel.update`, `Timeline.updateFrames`
//
//   on the page                                 updates
//   the pointer is on a cell, a row, a lane     `Pointing.showSoon`: marks, status, registers, tooltip
//   a cell is selected                          `Selection.select`: registers, toolbar, status; the model
//   a step of the timeline                      `Timeline.showStep`: marks, panes, registers; the model
//   the size, the theme                         `App.layout`, `App.refresh`
//
// The path of an edited cell, from here to Python and back, is at the beginning of explorer/edits.py.

import { make, afterPaint, consume, focusedIn, isTouch } from "./common/dom.js";
import { MATRICES, cellsOf } from "./matrix/matrix.js";
import { Content } from "./matrix/content.js";
import { Pointing } from "./matrix/pointing.js";
import { Status } from "./matrix/status.js";
import { Theme } from "./matrix/colours.js";
import { Scene } from "./pane/scene.js";
import { arrange, scrollers, viewHeight } from "./pane/scene_layout.js";
import { TIMELINE } from "./pane/scene_plan.js";
import { Toolbar } from "./toolbar/toolbar.js";
import { Picker } from "./picker/picker.js";
import { Header } from "./toolbar/header.js";
import { HelpSheet } from "./toolbar/help.js";
import { Tooltip } from "./common/tooltip.js";
import { TracePanel } from "./trace/trace_panel.js";
import { Timeline } from "./trace/timeline.js";
import { Panel } from "./registers/registers_panel.js";
import { Problem } from "./common/problem.js";
import { Selection } from "./matrix/selection.js";
import { Differences } from "./trace/differences.js";
import { flashChanges } from "./common/highlight.js";
import { RegisterFlights } from "./common/flights.js";
import { listenForZoom } from "./pane/camera.js";
import { shareKeys } from "./common/notebook_keys.js";
import { Quiz } from "./quiz/quiz.js";
import { QuizState } from "./quiz/quiz_state.js";
import { MemoryView } from "./memory/memory_view.js";
import { TensorView } from "./tensor/tensor_view.js";
import { DescriptorEditor } from "./memory/descriptor_editor.js";

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
// for styles: up to which of these the Explorer is wide
const WIDTHS = [600, 760, 1200];

export class App {
  /** @param {Model} model @param {HTMLElement} el */
  constructor(model, el) {
    this.model = model;
    // the width that everything is laid out for
    this.layoutWidth = 0;
    this.layoutHeight = 0; // and the height
    // what the panes and the layout were made for
    this.paneKey = this.layoutKey = "";
    this.send = this.send.bind(this);
    this.root = make("div", "ptx-explorer", el, {
      tabindex: "-1", // takes the focus when what had it is gone
    });
    this.theme = new Theme(this.root);
    this.content = new Content(model, this.theme, new QuizState());
    this.problem = new Problem(this);
    this.tooltip = new Tooltip(this);
    this.pointing = new Pointing(this);
    this.selection = new Selection(this);
    this.help = new HelpSheet(this);
    this.scene = new Scene(this);
    this.differences = new Differences(this);
    this.header = new Header(this, this.root);
    this.picker = new Picker(this, make("div", "ptx-picker-place", this.root));
    this.toolbar = new Toolbar(this, this.header.node);
    this.quiz = new Quiz(this, this.root);
    this.root.append(this.scene.stage);
    this.descriptor = new DescriptorEditor(this, this.scene.beside, this.descriptorSource());
    this.panel = new Panel(this, this.scene.beside);
    this.flights = new RegisterFlights(this);
    this.status = new Status(this, this.root);
    this.timeline = new Timeline(this, this.root);
    this.memory = new MemoryView(this, this.root);
    this.tensor = new TensorView(this, this.root);
    this.root.append(this.timeline.node);
    this.tracePanel = new TracePanel(this, this.root);
    this.root.append(this.problem.box, this.help.node, this.tooltip.node);
    const { scene, tensor } = this;
    // for tests, which drive the page: where cells, headings and words are
    Object.assign(this.root, {
      cellRect: scene.cellRect.bind(scene),
      revealCell: (/** @type {Name} */ name, /** @type {number} */ row, /** @type {number} */ column) =>
        scene.reveal([{ name, row, column }]),
      headings: () => scene.panes.map((pane) => pane.headings()),
      numbers: (/** @type {Name} */ name) => Array.from(this.content.matrices[name].values, String),
      moving: () => this.timeline.story.moving,
      isEmpty: (/** @type {Name} */ name) => Boolean(this.content.matrices[name].unknown),
      wordRect: (/** @type {number} */ lane, /** @type {number} */ column) =>
        tensor.onPage(tensor.placeOf({ lane, column })),
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
      info: () => this.content.instruction.descriptor,
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
    model.on("change:zoom", () => this.scene.camera.zoomToModel());
    model.on("change:step", () => this.timeline.goToModelStep());
    model.on("change:selected", () => {
      if (!pending) this.selection.readFromModel(); // refresh() does otherwise, when all it needs is there
    });
    for (const name of ["toolbar", "notice", "colour_by", "label", "show_c", "zoom"])
      model.on(`change:${name}`, () => {
        const focused = focusedIn(this.root);
        this.toolbar.update();
        if (focused) this.keepFocus();
      });
    model.on("change:notice", () => this.layout()); // it takes a line above the matrices
    model.on("change:refusal", () => this.pointing.drawMarksSoon());
    model.on("change:quiz", () => {
      this.quiz.readFromModel();
      if (this.content.quiz.open && !this.timeline.idle) this.timeline.goHome();
    });
    model.on("change:selected", () => this.timeline.updateFrames());
    model.on("change:picker_index", () => this.picker.update());
    model.on("msg:custom", (message) => {
      if (message.searched) this.differences.setBusy(false);
      else this.toolbar.receiveExport(message);
    });
    for (const name of ["trace", "tracing"])
      model.on(`change:${name}`, () => {
        if (name === "tracing") this.layout(); // the sum needs the width of bits beside the scene
        this.tracePanel.update();
        this.timeline.updateFrames();
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
    this.themes = new MutationObserver(() => this.refresh());
    this.themes.observe(document.body, {
      attributes: true,
      attributeFilter: ["class", "data-jp-theme-light", "data-jp-theme-name"],
    });
  }

  stop() {
    this.selection.savePending();
    this.pointing.stop();
    this.timeline.pause();
    this.timeline.story.clear();
    this.forgetTaps();
    this.forgetKeys();
    this.flights.stop();
    this.scene.camera.stop();
    this.sizes?.disconnect();
    this.themes?.disconnect();
    this.model.off();
  }

  refresh() {
    const focused = focusedIn(this.root);
    this.redraw();
    if (focused) this.keepFocus();
  }

  // If another instruction removes the node with the focus, the view takes it, so that keys still reach it.
  keepFocus() {
    const focused = /** @type {HTMLButtonElement | null} */ (focusedIn(this.root));
    if (focused && !focused.disabled) return;
    const pane = this.selection.mark && this.scene.paneOf(this.selection.mark.name);
    (pane ? pane.input : this.root).focus({ preventScroll: true });
  }

  redraw() {
    const instruction = this.model.get("instruction");
    if (!instruction?.matrices) return;
    const { content } = this;
    const { story } = this.timeline;
    const [places, paneKey] = [instruction === content.instruction ? null : story.places(), this.paneKey];
    content.instruction = instruction;
    if (!this.root.isConnected) return;
    const before = { ...content.matrices };
    if (!content.read()) return; // some matrices are still on their way
    this.selection.dropIfGone();
    this.chooseLaneOfSelector(before.E);
    content.readLook();
    this.showPanesOrMemory();
    this.memory.readFromModel();
    this.tensor.readFromModel();
    content.measure();
    const isNew = this.drawParts();
    afterPaint(() => flashChanges(this.scene.panes, before)); // D is on the screen first
    this.tooltip.updateContent();
    this.problem.update();
    this.timeline.updateFrames();
    if (isNew && this.timeline.node.offsetHeight > TIMELINE) this.layout(); // its words take more lines
    this.selection.readFromModel();
    this.status.update();
    this.quiz.markFields();
    this.quiz.readFromModel();
    this.quiz.showStart();
    this.header.nameBox.suggest();
    if (places && paneKey !== this.paneKey) story.morph(places);
  }

  // Another selector reads the metadata of other lanes of each four: where the chosen lane supplied it, the one
  // that does now is chosen.
  /** @param {Matrix | undefined} before */
  chooseLaneOfSelector(before) {
    const { E } = /** @type {AnyMatrices} */ (this.content.matrices);
    if (!before?.lane || !E?.lane || before.rows !== E.rows || this.content.quiz.open) return;
    const chosen = this.content.lane;
    if (!cellsOf(before, chosen).length || cellsOf(E, chosen).length) return;
    const first = chosen - (chosen % 4);
    const lane = [0, 1, 2, 3]
      .map((offset) => first + offset)
      .find((candidate) => cellsOf(E, candidate).length);
    if (lane !== undefined) queueMicrotask(() => this.selection.chooseLane(lane));
  }

  // A multiplication has a pane for every matrix; tcgen05.ld, .st, .cp and .shift show only tensor memory.
  showPanesOrMemory() {
    const { content, scene, status, tensor, timeline } = this;
    const { mnemonic, m, n, k, transfer } = content.instruction;
    this.root.classList.toggle("ptx-transfers", Boolean(transfer));
    scene.stage.hidden = this.tracePanel.node.hidden = Boolean(transfer);
    if (transfer && status.node.parentElement !== tensor.node) tensor.node.append(status.node);
    if (transfer && scene.corner.node.contains(timeline.node)) this.tracePanel.node.before(timeline.node);
    const names = /** @type {Name[]} */ (["A", "B", "D", "stored", "C"]);
    const shown = names.filter((name) => content.matrices[name] && !transfer);
    const paneKey = `${mnemonic} ${m} ${n} ${k} ${content.matrices.A.note} ${shown}`;
    if (paneKey === this.paneKey) return;
    this.paneKey = paneKey;
    content.widestLabels = {};
    scene.build(shown);
  }

  // Lays everything out again only if something changed its size, and returns whether it does.
  drawParts() {
    const { content, scene } = this;
    const { mnemonic, shape, descriptor, transfer } = content.instruction;
    const layoutKey = [
      this.paneKey,
      content.shownLanes().length,
      content.isUnfolded("C"),
      this.theme.dark,
      content.label,
      content.widest,
      content.fewestLetters(),
      this.memory.version,
      this.tensor.version,
      this.tensor.isOpen,
      descriptor?.fields.length,
    ].join(" ");
    const isSameLayout = layoutKey === this.layoutKey && this.layoutWidth > 0;
    if (isSameLayout) for (const pane of scene.panes) pane.draw(); // before anything is written that needs a layout
    this.header.showInstruction(mnemonic, shape);
    this.toolbar.update();
    this.descriptor.update();
    this.panel.update();
    this.tracePanel.update();
    if (!transfer) scene.corner.update();
    if (isSameLayout) for (const pane of scene.panes) pane.updateCaption();
    else this.layout();
    this.memory.draw();
    this.tensor.draw();
    this.layoutKey = layoutKey;
    return !isSameLayout;
  }

  layout() {
    this.layoutWidth = this.root.clientWidth;
    if (!this.content.instruction.matrices) return;
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
    if (this.content.instruction.transfer) this.tensor.layout();
    else arrange(this);
    this.tracePanel.place();
    this.layoutHeight = viewHeight(this);
    for (const node of scrollers(this.root)) this.sizes?.observe(node);
    this.scene.follow();
    this.scene.syncScroll();
    this.memory.draw();
    this.tensor.draw();
    this.selection.placeInput();
    if (this.timeline.story.dive) this.timeline.showStory(false); // in another place
  }

  // If the kernel is gone (restarted or closed), what was typed is shown, so that it can be typed again. A
  // problem that comes of a message is shown beside the field that it comes from: the one with the focus, if
  // none is named.
  /** @param {Message} message @param {MessageOrigin | null} origin */
  send(message, origin = null) {
    const focused = focusedIn(this.root);
    this.problem.origin = origin ?? (focused && focused !== this.root ? { node: focused } : null);
    if (this.quiz.refuses(message)) return;
    this.selection.savePending();
    try {
      this.model.send(message);
    } catch {
      const typed = "text" in message ? `; you typed ${message.text}` : "";
      this.problem.showSentence(`The kernel no longer has this Explorer: run its cell again${typed}.`);
    }
  }
}

// What the whole Explorer listens to, wherever the focus is: taps, and the keys of undo and redo.

// What a tap shows stays until the next tap, wherever that is. Returns a function that stops listening.
/** @param {App} app */
function listenForTaps(app) {
  /** @param {PointerEvent} event */
  const forget = (event) => {
    if (!isTouch(event)) return;
    app.pointing.hover(null);
    app.pointing.hoverLine(null);
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
      if (!letter || typing === event.target || app.picker.opened || app.content.isStatic) return;
      if (app.scene.panes.some((pane) => pane.editing && pane.input === event.target)) return;
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
