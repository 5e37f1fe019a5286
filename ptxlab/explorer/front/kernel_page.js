// A kernel in a browser tab: PTX in an editor, its arguments in fields, simulated by Python in a worker. What
// happened is in the margin, and a player goes through the steps of one warp.

import { make, makeButton, makeLabel, makeSelect, makeTextInput } from "./common/dom.js";
import { openPage } from "./common/saved_model.js";
import { LiveModel, decodeMessage } from "./common/live_model.js";
import { PythonWorker } from "./common/python_worker.js";
import { KernelPlayer } from "./kernel_player.js";

/**
 * @typedef {{ title: string, ptx: string, grid: string, block: string, arguments: string[] }} KernelExample
 * @typedef {{ name: string, type: string, array: boolean }} KernelParameter
 * @typedef {{ line: number, text: string }} KernelRemark
 */

const TYPES = [
  "f32",
  "f16",
  "bf16",
  "f64",
  "s32",
  "u32",
  "s64",
  "u64",
  "s16",
  "int8",
  "uint8",
  "e4m3",
  "e5m2",
];
const FILLS = ["zeros", "ones", "range", "normal", "bits"];
const PAUSE = 400; // milliseconds without a key before the text is read

/** @param {HTMLSelectElement} select @param {string[]} options @param {string} value */
function setOptions(select, options, value) {
  select.replaceChildren(...options.map((text) => make("option", "", null, { text })));
  select.value = options.includes(value) ? value : (options[0] ?? "");
}

// The editor: a text with the numbers of its lines beside it, in which lines with hazards are marked.
class PtxEditor {
  /** @param {HTMLElement} place @param {() => void} changed */
  constructor(place, changed) {
    const box = make("div", "ptx-editor", place);
    this.numbers = make("div", "ptx-editor-numbers", box, { "aria-hidden": true });
    this.text = make("textarea", "ptx-editor-text", box, {
      spellcheck: false,
      autocapitalize: "off",
      wrap: "off",
      "aria-label": "PTX",
    });
    this.marks = /** @type {Map<number, { kind: string, text: string }>} */ (new Map());
    this.isStale = false; // whether the numbers are drawn with the next frame: a text may come line by line
    this.text.addEventListener("input", () => {
      this.marks.clear();
      if (!this.isStale) requestAnimationFrame(() => this.drawNumbers());
      this.isStale = true;
      changed();
    });
    this.text.addEventListener("scroll", () => (this.numbers.scrollTop = this.text.scrollTop));
  }

  get value() {
    return this.text.value;
  }

  /** @param {string} text */
  set value(text) {
    this.text.value = text;
    this.marks.clear();
    this.text.scrollTop = 0;
    this.drawNumbers();
  }

  /** @param {KernelRemark[]} hazards @param {KernelRemark[]} notes */
  markLines(hazards, notes) {
    this.marks.clear();
    for (const { line, text } of notes) this.marks.set(line, { kind: "note", text });
    for (const { line, text } of hazards) this.marks.set(line, { kind: "hazard", text });
    this.drawNumbers();
  }

  drawNumbers() {
    this.isStale = false;
    const count = this.text.value.split("\n").length;
    this.numbers.replaceChildren(
      ...Array.from({ length: count }, (_, index) => {
        const mark = this.marks.get(index + 1);
        return make("span", mark?.kind ?? "", null, { text: index + 1, title: mark?.text ?? "" });
      }),
    );
    this.numbers.scrollTop = this.text.scrollTop;
  }

  /** @param {number} line */
  selectLine(line) {
    const lines = this.text.value.split("\n");
    const start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    this.text.focus();
    this.text.setSelectionRange(start, start + lines[line - 1].length);
    this.scrollTo(line);
  }

  /** @param {number} line */
  scrollTo(line) {
    const lines = this.text.value.split("\n").length;
    this.text.scrollTop = (this.text.scrollHeight * line) / lines - this.text.clientHeight / 2;
  }
}

// One argument: an array, which is made by a rule, or a number.
class ArgumentRow {
  /** @param {HTMLElement} place @param {KernelParameter} parameter @param {string} value FILL:TYPE:SHAPE, or a number */
  constructor(place, { name, type, array }, value) {
    const row = make("div", "kernel-argument", place, { role: "group", "aria-label": `argument ${name}` });
    make("code", "", row, { text: name });
    make("span", "kernel-type", row, { text: type });
    const [fill, dtype, shape] = value.includes(":") ? value.split(":") : ["zeros", "f32", "1024"];
    const isArray = value ? value.includes(":") : array;
    this.kind = makeSelect(row, "", { "aria-label": "kind" });
    setOptions(this.kind, array ? ["array", "number"] : ["number"], isArray ? "array" : "number");
    this.number = makeTextInput(row, "kernel-number", {
      "aria-label": "value",
      value: isArray ? "0" : value || "0",
    });
    this.fill = makeSelect(row, "", { "aria-label": "filled with" });
    setOptions(this.fill, FILLS, fill);
    this.dtype = makeSelect(row, "", { "aria-label": "element type" });
    setOptions(this.dtype, TYPES, dtype);
    this.shape = makeTextInput(row, "kernel-shape", {
      "aria-label": "shape",
      value: shape,
      title: "for example 1024 or 64x32",
    });
    this.kind.addEventListener("change", () => this.update());
    this.update();
  }

  update() {
    const isArray = this.kind.value === "array";
    this.number.hidden = isArray;
    for (const node of [this.fill, this.dtype, this.shape]) node.hidden = !isArray;
  }

  get value() {
    if (this.kind.value === "number") return this.number.value.trim();
    return `${this.fill.value}:${this.dtype.value}:${this.shape.value.trim()}`;
  }
}

class KernelPage {
  /** @param {HTMLElement} page @param {HTMLElement} notes @param {{ settings: any, examples: KernelExample[] }} saved */
  constructor(page, notes, { settings, examples }) {
    this.page = page;
    this.isReady = false;
    this.timer = 0;
    this.player = /** @type {KernelPlayer | null} */ (null);
    this.rows = /** @type {ArgumentRow[]} */ ([]);
    this.values = /** @type {string[]} */ ([]);
    this.shape = "";
    this.model = /** @type {LiveModel | null} */ (null);
    this.python = new PythonWorker(notes, settings);
    const work = make("div", "kernel-work", page);
    this.editor = new PtxEditor(work, () => {
      example.selectedIndex = -1; // what is typed is none of them; choosing one again brings it back
      this.readSoon();
    });
    const form = make("form", "kernel-launch", work, { "aria-label": "launch" });
    const example = makeSelect(form, "Example", {});
    setOptions(
      example,
      examples.map(({ title }) => title),
      "",
    );
    example.addEventListener("change", () => this.openExample(examples[example.selectedIndex]));
    this.name = makeSelect(form, "Kernel", {});
    this.name.addEventListener("change", () => this.askForParameters());
    const sizes = make("div", "kernel-sizes", form);
    /** @param {string} label @param {string} value @param {string} title */
    const field = (label, value, title) =>
      makeTextInput(makeLabel(sizes, label), "kernel-size", { value, title });
    this.grid = field("Grid", "1", "blocks: one to three numbers, for example 8x8");
    this.block = field("Block", "32", "threads of a block: one to three numbers");
    this.shared = field("Shared", "0", "bytes of dynamic shared memory");
    this.warp = field("Follow warp", "0", "the warp whose steps the player shows");
    make("h2", "", form, { text: "Arguments" });
    this.list = make("div", "kernel-arguments", form);
    this.go = make("button", "ask-go", form, { type: "submit", text: "Simulate" });
    this.go.disabled = true;
    this.problem = make("p", "answer-problem", form, { role: "alert" });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.simulate();
    });
    this.output = make("section", "kernel-output", page, { "aria-label": "result", "aria-live": "polite" });
    this.place = make("div", "kernel-player", page);
    this.openExample(examples[0]);
    this.python.listen({
      ready: () => {
        this.isReady = true;
        this.python.showReady();
        this.askForParameters();
        page.dataset.python = "ready";
      },
      messages: (messages) => messages.forEach((message) => this.receive(decodeMessage(message))),
    });
  }

  /** @param {KernelExample} example */
  openExample({ ptx, grid, block, arguments: values }) {
    this.editor.value = ptx;
    [this.grid.value, this.block.value, this.shared.value, this.warp.value] = [grid, block, "0", "0"];
    this.values = values;
    this.shape = "";
    this.clear();
    this.askForParameters();
  }

  clear() {
    this.output.replaceChildren();
    this.player?.stop();
    this.player = null;
    this.place.replaceChildren();
  }

  readSoon() {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.askForParameters(), PAUSE);
  }

  // Python says which kernels the text has, and what the chosen one takes.
  askForParameters() {
    if (this.isReady) this.call("describe", { ptx: this.editor.value, name: this.name.value });
  }

  simulate() {
    if (!this.isReady || this.go.disabled) return;
    this.clear();
    this.go.disabled = true;
    make("p", "answer-wait", this.output, { text: "Simulating …" });
    this.call("simulate", {
      ptx: this.editor.value,
      name: this.name.value,
      grid: this.grid.value,
      block: this.block.value,
      shared: this.shared.value,
      warp: this.warp.value,
      arguments: this.rows.map(({ value }) => value),
    });
  }

  /** @param {"describe" | "simulate" | "step"} method @param {unknown} value */
  call(method, value) {
    this.python.post({ kernel: method, value: JSON.stringify(value) });
  }

  /** @param {any} message */
  receive(message) {
    if (message.method === "described") this.describe(message);
    else if (message.method === "simulated") this.showResult(message);
    else this.model?.update(message.state);
  }

  /**
   * @param {{ names: string[], name?: string, parameters?: KernelParameter[], block?: string, shared?: string,
   *   problem: string }} described
   */
  describe({ names, name, parameters, block, shared, problem }) {
    setOptions(this.name, names, name ?? this.name.value);
    this.problem.textContent = problem;
    this.go.disabled = Boolean(problem);
    if (!parameters) return;
    const shape = JSON.stringify([name, parameters]);
    if (shape === this.shape) return; // what was filled in stays
    const isNew = this.shape !== "";
    this.shape = shape;
    if (isNew && block) this.block.value = block;
    if (isNew && shared) this.shared.value = shared;
    const values = isNew ? [] : this.values;
    this.list.replaceChildren();
    this.rows = parameters.map(
      (parameter, index) => new ArgumentRow(this.list, parameter, values[index] ?? ""),
    );
  }

  /** @param {any} result */
  showResult({ problem, state, arrays, hazards, notes }) {
    this.output.replaceChildren();
    this.go.disabled = false;
    if (problem) {
      make("p", "answer-problem", this.output, { text: problem, role: "alert" });
      return;
    }
    this.editor.markLines(hazards, notes);
    if (hazards.length) this.editor.scrollTo(hazards[0].line);
    const words = hazards.length === 1 ? "1 hazard" : `${hazards.length || "no"} hazards`;
    make("h2", hazards.length ? "kernel-bad" : "", this.output, { text: words });
    const list = make("ul", "kernel-remarks", this.output);
    for (const remark of [...hazards, ...notes]) this.remark(list, remark, hazards.includes(remark));
    const lines = arrays.map(
      (/** @type {{ argument: number, type: string, changed: number, values: string }} */ array) =>
        `argument ${array.argument}, ${array.type}: ${array.changed} elements changed; ${array.values}`,
    );
    make("pre", "answer-text", this.output, { text: lines.join("\n"), tabindex: "0" });
    const model = new LiveModel(state, ({ message }) => this.call("step", JSON.parse(message).state.step));
    model.waiting = null;
    this.model = model;
    this.player = new KernelPlayer(/** @type {any} */ (model), this.place);
  }

  /** @param {HTMLElement} list @param {KernelRemark} remark @param {boolean} isHazard */
  remark(list, { line, text }, isHazard) {
    const item = make("li", isHazard ? "kernel-bad" : "", list);
    makeButton(item, "ask-example", `line ${line}`, () => this.editor.selectLine(line));
    item.append(`${isHazard ? "" : " note"}: ${text.replace(/^PTX line \d+: /, "")}`);
  }
}

openPage(async (page, notes, saved) => {
  new KernelPage(page, notes, saved);
});
