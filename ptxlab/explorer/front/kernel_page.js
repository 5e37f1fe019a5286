// A kernel in a browser tab: CUDA C++ beside the PTX that Clang makes of it, or PTX alone, its arguments in fields,
// simulated by Python in a worker. What happened is in the margin, and a debugger goes through the launch.

import { make, makeButton, makeLabel, makeSelect, makeTextInput } from "./common/dom.js";
import { openPage } from "./common/saved_model.js";
import { LiveModel, addressed, decodeMessage } from "./common/live_model.js";
import { packText, unpackText } from "./common/packed_text.js";
import { PythonWorker } from "./common/python_worker.js";
import { App } from "./app.js";
import { DebuggerView } from "./debugger/debugger_view.js";
import { KernelEditor } from "./kernel_editor.js";
import { KernelPtx } from "./kernel_ptx.js";

/**
 * @typedef {import("./common/code_text.js").Lines} Lines
 * @typedef {import("./common/code_text.js").Syntax} Syntax
 * @typedef {"cuda" | "ptx"} Language
 * @typedef {{ title: string, source: string, grid: string, block: string, arguments: string[], name?: string,
 *   shared?: string }} KernelExample
 * @typedef {{ name: string, type: string, array: boolean }} KernelParameter
 * @typedef {import("./kernel_editor.js").KernelRemark} KernelRemark
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
const LINK = "#kernel:";
const LANGUAGES = /** @type {[Language, string][]} */ ([
  ["cuda", "C++"],
  ["ptx", "PTX"],
]);

/** @param {string} text @returns {Language} */
const languageOf = (text) => (/^\s*\.version\b/m.test(text) ? "ptx" : "cuda");

/** @param {HTMLSelectElement} select @param {string[]} options @param {string} value */
function setOptions(select, options, value) {
  select.replaceChildren(...options.map((text) => make("option", "", null, { text })));
  select.value = options.includes(value) ? value : (options[0] ?? "");
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
  /**
   * @param {HTMLElement} page
   * @param {HTMLElement} notes
   * @param {{ settings: any, examples: KernelExample[], syntax: Syntax }} saved
   */
  constructor(page, notes, { settings, examples, syntax }) {
    this.page = page;
    this.isReady = false;
    this.isBusy = false; // whether Python reads a source, after which another may wait
    this.isStale = false;
    this.compiler = /** @type {{ addresses: string[], packed: number } | null} */ (settings.clang ?? null);
    this.isKeeping = false;
    this.mayLoad = false; // the compiler: it was asked for, or the browser has it
    this.language = /** @type {Language} */ ("ptx");
    this.timer = 0;
    this.debugger = /** @type {DebuggerView | null} */ (null);
    this.rows = /** @type {ArgumentRow[]} */ ([]);
    this.values = /** @type {string[]} */ ([]);
    this.shape = "";
    this.model = /** @type {LiveModel | null} */ (null);
    this.python = new PythonWorker(notes, settings);
    const bar = make("div", "kernel-bar", page);
    const choice = make("div", "kernel-languages", bar, { role: "group", "aria-label": "language" });
    choice.hidden = !this.compiler;
    this.buttons = LANGUAGES.map(([language, text]) =>
      makeButton(choice, "", text, () => this.openExample(this.examplesIn(language)[0]), {
        "data-language": language,
      }),
    );
    this.examples = examples;
    this.example = makeSelect(bar, "Example", {});
    this.example.addEventListener("change", () =>
      this.openExample(this.examplesIn(this.language)[this.example.selectedIndex]),
    );
    this.copy = makeButton(bar, "kernel-copy", "Copy link", () => this.copyLink(), {
      title: "an address of this page with this source and these arguments in it",
    });
    const work = make("div", "kernel-work", page);
    this.work = work;
    const left = make("div", "kernel-left", work);
    const right = make("div", "kernel-right", work);
    this.editor = new KernelEditor(left, syntax, {
      changed: () => {
        this.example.selectedIndex = -1; // what is typed is none of them; choosing one again brings it back
        this.place.classList.add("stale");
        this.askSoon();
      },
      lit: (lines, isCaret) => this.light(lines, isCaret),
      pressed: (line) => this.debugger?.chooseLine(line, this.language === "ptx"),
    });
    this.ptx = new KernelPtx(left, syntax, {
      lit: (lines) => this.light(lines ?? this.editor.caretLines(), false),
      chosen: (line) => this.editor.selectLine(line),
    });
    const form = make("form", "kernel-launch", right, { "aria-label": "launch" });
    const launch = make("div", "kernel-where", form);
    this.name = makeSelect(launch, "Kernel", {});
    this.name.addEventListener("change", () => this.askForParameters());
    const sizes = make("div", "kernel-sizes", launch);
    /** @param {string} label @param {string} value @param {string} title */
    const field = (label, value, title) =>
      makeTextInput(makeLabel(sizes, label), "kernel-size", { value, title });
    this.grid = field("Grid", "1", "blocks: one to three numbers, for example 8x8");
    this.block = field("Block", "32", "threads of a block: one to three numbers");
    this.shared = field("Shared", "0", "bytes of dynamic shared memory");
    const passed = make("div", "kernel-passed", form);
    make("h2", "", passed, { text: "Arguments" });
    this.list = make("div", "kernel-arguments", passed);
    const start = make("div", "kernel-start", form);
    this.go = make("button", "ask-go", start, { type: "submit", text: "Simulate" });
    this.go.disabled = true;
    this.problem = make("p", "answer-problem", start, { role: "alert" });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.simulate();
    });
    this.output = make("section", "kernel-output", right, { "aria-label": "result", "aria-live": "polite" });
    this.place = make("div", "kernel-debugger", page);
    this.openExample(this.examplesIn(this.compiler ? "cuda" : "ptx")[0]);
    this.openLink();
    addEventListener("hashchange", () => this.openLink());
    navigator.serviceWorker?.addEventListener("controllerchange", () => {
      if (page.dataset.compiled) this.keepCompiler();
    });
    this.python.listen({
      ready: async () => {
        this.mayLoad ||= await this.isKept();
        this.isReady = true;
        this.python.showReady();
        this.askForParameters();
        page.dataset.python = "ready";
      },
      compiler: (done, total) => this.ptx.showProgress(done, total),
      messages: (messages) => messages.forEach((message) => this.receive(decodeMessage(message))),
    });
  }

  // Whether the browser has the compiler from another visit: loading it costs nothing then.
  async isKept() {
    try {
      const parts = this.compiler?.addresses ?? [];
      const kept = await Promise.all(parts.map((part) => caches.match(new URL(part, location.href).href)));
      return kept.length > 0 && kept.every(Boolean);
    } catch {
      return false; // a page without caches, such as one from a plain address
    }
  }

  // The service worker keeps what it sees: the compiler may have come before it was there.
  async keepCompiler() {
    const { serviceWorker } = navigator;
    if (!serviceWorker?.controller || this.isKeeping || (await this.isKept())) return;
    this.isKeeping = true;
    const parts = this.compiler?.addresses ?? [];
    await Promise.allSettled(parts.map((part) => fetch(part, { cache: "force-cache" })));
    this.isKeeping = false;
  }

  /** @param {Language} language */
  examplesIn(language) {
    return this.examples.filter(({ source }) => languageOf(source) === language);
  }

  // A link holds a source and its launch.
  async openLink() {
    if (location.hash.startsWith("#ptxlab:")) location.replace(`./${location.hash}`); // of an Explorer
    if (!location.hash.startsWith(LINK)) return;
    try {
      const link = await unpackText(location.hash.slice(LINK.length));
      const texts = ["source", "grid", "block"].map((name) => link[name]);
      const isWhole = [...texts, ...link.arguments].every((text) => typeof text === "string");
      if (!isWhole) throw new Error("something is missing");
      this.openExample(link);
      this.example.selectedIndex = -1;
    } catch {
      this.problem.textContent = "this link holds no kernel: part of it may be missing";
    }
  }

  /** The source and its launch, as Python takes them and a link carries them. */
  readForm() {
    return {
      source: this.editor.value,
      name: this.name.value,
      grid: this.grid.value,
      block: this.block.value,
      shared: this.shared.value,
      arguments: this.rows.map(({ value }) => value),
    };
  }

  async copyLink() {
    const word = await packText(this.readForm());
    history.replaceState(null, "", `${location.pathname}${LINK}${word}`);
    try {
      await navigator.clipboard.writeText(location.href);
      this.copy.textContent = "Copied";
    } catch {
      this.copy.textContent = "In the address"; // a browser that lets no page write to the clipboard
    }
    setTimeout(() => (this.copy.textContent = "Copy link"), 2000);
  }

  /** @param {KernelExample} example */
  openExample({ source, grid, block, arguments: values, name = "", shared = "0" }) {
    this.editor.value = source;
    [this.grid.value, this.block.value, this.shared.value] = [grid, block, shared];
    this.setLanguage(languageOf(source));
    this.example.selectedIndex = this.examplesIn(this.language).findIndex(
      (example) => example.source === source,
    );
    setOptions(this.name, name ? [name] : [], name);
    this.values = values;
    this.shape = "";
    this.clear();
    this.askForParameters();
  }

  // The text decides: PTX begins with .version.
  /** @param {Language} language */
  setLanguage(language) {
    this.language = language;
    this.work.dataset.language = language;
    this.ptx.box.hidden = language === "ptx";
    for (const button of this.buttons)
      button.setAttribute("aria-pressed", String(button.dataset.language === language));
    setOptions(
      this.example,
      this.examplesIn(language).map(({ title }) => title),
      "",
    );
    this.editor.shade(new Map());
    this.editor.setLanguage(language);
  }

  /** @param {Lines | null} lines @param {boolean} isCaret */
  light(lines, isCaret) {
    if (this.language === "ptx") return;
    this.editor.light(lines);
    this.ptx.light(lines, isCaret);
  }

  clear() {
    this.output.replaceChildren();
    this.debugger?.stop();
    this.debugger = this.model = null;
    this.place.replaceChildren();
    this.place.classList.remove("stale");
    this.editor.showPlace(null);
    this.ptx.showPlace(0);
  }

  askSoon() {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.askForParameters(), PAUSE);
  }

  // Python says which kernels the text has, and what the chosen one takes; it compiles C++ for that.
  askForParameters() {
    const language = languageOf(this.editor.value);
    if (this.compiler && this.editor.value.trim() && language !== this.language) {
      this.setLanguage(language);
      this.example.selectedIndex = -1;
    }
    const isCuda = this.language === "cuda";
    if (isCuda && this.compiler && !this.mayLoad) {
      this.go.disabled = true;
      this.editor.shade(new Map());
      this.ptx.offer(this.compiler.packed, () => {
        this.mayLoad = true;
        this.ptx.showProgress(0, this.compiler?.packed ?? 1);
        this.askForParameters();
      });
      return;
    }
    if (!this.isReady) return;
    if (this.isBusy) {
      this.isStale = true;
      return;
    }
    this.isBusy = true;
    if (isCuda) this.ptx.showWaiting();
    this.call("describe", { source: this.editor.value, name: this.name.value });
  }

  simulate() {
    if (!this.isReady || this.go.disabled) return;
    this.clear();
    this.go.disabled = true;
    make("p", "answer-wait", this.output, { text: "Simulating …" });
    this.call("simulate", this.readForm());
  }

  /** @param {"describe" | "simulate" | "debug" | "handle"} method @param {unknown} value */
  call(method, value) {
    this.python.post({ kernel: method, value: JSON.stringify(value) });
  }

  /** @param {any} message */
  receive(message) {
    const { method, state } = message;
    if (method === "described") this.describe(message);
    else if (method === "simulated") this.showResult(message);
    else if (method === "debugged") {
      this.model?.update(state);
      if (message.opened) this.debugger?.showExplorer(message.opened);
      this.debugger?.answered();
    } else if (message.message.method === "update") this.debugger?.updateExplorer(message.message);
    else this.debugger?.updateExplorer({ content: addressed(message.message.content, "./") });
  }

  /**
   * @param {{ names: string[], name?: string, parameters?: KernelParameter[], block?: string, shared?: string,
   *   problem: string, line?: number, again?: boolean, ptx?: { lines: string[], sources: number[], numbers: number[] },
   *   compiler?: string, seconds?: number }} described
   */
  describe({ names, name, parameters, block, shared, problem, line, again, ptx, compiler, seconds }) {
    this.isBusy = false;
    if (this.isStale) {
      this.isStale = false;
      this.askForParameters();
      return;
    }
    setOptions(this.name, names, name ?? this.name.value);
    const isCuda = this.language === "cuda" && Boolean(this.compiler);
    this.problem.textContent = isCuda && !parameters ? "" : problem;
    this.go.disabled = Boolean(problem);
    if (line) this.editor.markLines([{ line, text: problem }], []);
    if (ptx) {
      this.ptx.showLines(ptx, compiler ?? "", seconds ?? 0);
      this.editor.shade(this.ptx.shades);
      this.light(this.editor.caretLines(), true);
    } else if (isCuda) {
      const show = line ? () => this.editor.selectLine(line) : null;
      this.ptx.showProblem(problem, show, again ? () => this.askForParameters() : null);
      this.editor.shade(new Map());
    }
    this.page.dataset.compiled = compiler ? String(seconds) : "";
    if (compiler) this.keepCompiler();
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
  showResult({ problem, line, state, arrays, hazards, notes, margin }) {
    this.output.replaceChildren();
    this.go.disabled = false;
    if (problem) make("p", "answer-problem", this.output, { text: problem, role: "alert" });
    if (line) this.editor.markLines([{ line, text: problem }], []);
    if (!state) return;
    if (!problem) {
      this.editor.markLines(hazards, notes, margin);
      const words = hazards.length === 1 ? "1 hazard" : `${hazards.length || "no"} hazards`;
      make("h2", hazards.length ? "kernel-bad" : "", this.output, { text: words });
      const list = make("ul", "kernel-remarks", this.output);
      for (const remark of [...hazards, ...notes]) this.remark(list, remark, hazards.includes(remark));
    }
    for (const array of arrays) if (array.changed) this.showArray(array);
    this.showDebugger(state);
  }

  // The first rows and columns of an array that the launch has changed.
  /** @param {{ argument: number, type: string, changed: number, cells: string[][] }} array */
  showArray({ argument, type, changed, cells }) {
    const text = `argument ${argument}, ${type}: ${changed} elements changed`;
    make("h3", "", this.output, { text });
    const box = make("div", "kernel-array", this.output, { tabindex: 0, role: "group", "aria-label": text });
    const table = make("table", "", box);
    for (const texts of cells) {
      const row = make("tr", "", table);
      for (const cell of texts) make("td", "", row, { text: cell });
    }
  }

  // The debugger marks lines of the editor and of the PTX beside it.
  /** @param {any} state */
  showDebugger(state) {
    const model = new LiveModel(state, ({ message }) => {
      const { content } = JSON.parse(message);
      if (content.explorer) this.call("handle", content.explorer);
      else this.call("debug", content);
    });
    model.waiting = null;
    this.model = model;
    const view = new DebuggerView(/** @type {any} */ (model), this.place, {
      source: { show: (shown) => this.showPlace(shown) },
      openExplorer: (explorer, place) => {
        Object.assign(place, { model: explorer });
        const app = new App(explorer, place);
        return () => app.stop();
      },
    });
    this.debugger = view;
    view.start();
    const { place, warps } = /** @type {import("./debugger/debugger_view.js").DebuggerTraits} */ (state);
    if (place.is_matrix && place.warps.includes(warps.chosen)) view.send({ type: "open_explorer" });
  }

  /** @param {DebuggerView} view */
  showPlace({ model, line: cursor }) {
    const isPtx = this.language === "ptx";
    const [place, warps, points] = [model.get("place"), model.get("warps"), model.get("points")];
    const here = /** @type {Map<number, number[]>} */ (new Map());
    for (const { line, warp } of warps.rows) here.set(line, [...(here.get(line) ?? []), warp]);
    this.editor.showPlace({
      next: place.line,
      cursor: cursor.line,
      here,
      stops: new Set(points.breakpoints.filter(({ ptx }) => ptx === isPtx).map(({ line }) => line)),
    });
    this.ptx.showPlace(place.ptx_line);
  }

  /** @param {HTMLElement} list @param {KernelRemark} remark @param {boolean} isHazard */
  remark(list, { line, text }, isHazard) {
    const item = make("li", isHazard ? "kernel-bad" : "", list);
    makeButton(item, "ask-example", `line ${line}`, () => this.editor.selectLine(line));
    item.append(`${isHazard ? "" : " note"}: ${text.replace(/^(PTX )?line \d+: /, "")}`);
  }
}

openPage(async (page, notes, saved) => {
  new KernelPage(page, notes, saved);
});
