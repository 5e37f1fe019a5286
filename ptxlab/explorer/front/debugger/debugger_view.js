// The debugger: a launch that one steps through, forwards and backwards. Python moves it and says what is where;
// what takes long it does in slices, each of which the page asks for, so that it can be stopped.

import { applyDeltas } from "../common/deltas.js";
import { consume, hasModifier, make, makeButton, makeLabel, write } from "../common/dom.js";
import { LiveModel } from "../common/live_model.js";
import { MemoryMatrix } from "./memory_matrix.js";
import { OriginTree } from "./origin_tree.js";
import { RegisterTable } from "./register_table.js";
import { SourceColumns } from "./source_columns.js";
import { WarpMap } from "./warp_map.js";

/**
 * @typedef {{ name: string, ptx: boolean, texts: string[], numbers: number[], lines: number[] }} CodeColumn
 * @typedef {{ title: string, columns: CodeColumn[], code: number[], warps: number }} Program
 * @typedef {{ position: number, length: number | null, stopped: string, error: string, fails: boolean, line: number,
 *   ptx_line: number, where: string, text: string, warps: number[], is_matrix: boolean, output: string,
 *   snapshots: number, busy: string, searches: boolean, problem: string }} Place
 * @typedef {{ warp: number, block: number[], state: string, line: number, ptx_line: number, opcode: string,
 *   waits: string, lanes: number, parts: number }} WarpRow
 * @typedef {{ chosen: number, rows: WarpRow[], count: number }} Warps
 * @typedef {{ name: string, means: string, role: string, values: string[], changed: number[] }} RegisterRow
 * @typedef {{ warp: number, rows: RegisterRow[], hidden: number, note: string }} DebuggerRegisters
 * @typedef {{ what: string, dtype: string, rows: number, columns: number, row: number, column: number, offset: number,
 *   swizzle: number, choices: [string, string][], types: string[], cells: string[][], changed: [number, number][],
 *   note: string }} ShownMemory
 * @typedef {{ address: number, phase: number, pending: number, expected: number, bytes: number, valid: boolean
 *   }} ShownMbarrier
 * @typedef {{ breakpoints: { line: number, ptx: boolean, when: string }[], watches: string[] }} Points
 * @typedef {{ node: number, what: string, note: string, opcode: string, where: string, line: number,
 *   warp: number | null, lane: number | null, position: number | null, more: boolean, sources: OriginNode[]
 *   }} OriginNode
 * @typedef {{ program: Program, place: Place, warps: Warps, registers: DebuggerRegisters, memory: ShownMemory,
 *   barriers: ShownMbarrier[], points: Points, origin: OriginNode | Record<string, never>, waiting: string,
 *   _explorer: string }} DebuggerTraits
 * @typedef {{ get<K extends keyof DebuggerTraits>(name: K): DebuggerTraits[K], send(message: object): void,
 *   on(event: string, call: () => void): void, off(event: string, call: () => void): void }} DebuggerModel
 * @typedef {{ show(view: DebuggerView): void }} SourcePlace what shows where warps stand
 */

// Motions by name: what the button says, its tip, and the key.
const BACKWARDS = /** @type {[string, string, string, string][]} */ ([
  ["run_back", "run", "back to the last breakpoint, change of what is watched, or the beginning", "R"],
  ["back_barrier", "barrier", "back to the last barrier or wait", "B"],
  ["back_line", "line", "back by a line of the source", "L"],
  ["back", "step", "back by an instruction", "S"],
]);
const ONWARDS = /** @type {[string, string, string, string][]} */ ([
  ["step", "step", "on by an instruction", "s"],
  ["step_line", "line", "on to the next line of the source", "l"],
  ["step_barrier", "barrier", "on to the next barrier or wait", "b"],
  ["run", "run", "to the next breakpoint, change of what is watched, or the end", "r"],
]);
const STATE_PARTS = ["place", "warps", "registers", "memory", "barriers", "points", "origin", "waiting"];

export class DebuggerView {
  /**
   * @param {DebuggerModel} model
   * @param {HTMLElement} el
   * @param {{ source?: SourcePlace, openExplorer: (model: LiveModel, place: HTMLElement) => unknown }} host
   */
  constructor(model, el, { source, openExplorer }) {
    this.model = model;
    this.openExplorer = openExplorer;
    this.explorer = /** @type {LiveModel | null} */ (null);
    this.closeExplorer = () => {};
    this.line = { line: 0, ptx: false }; // where the cursor is
    this.draws = 0; // a frame in which everything is drawn
    const root = make("div", "ptx-profile ptx-debug wide", el, { role: "group", "aria-label": "debugger" });
    this.root = root;
    root.addEventListener("keydown", (event) => this.press(event));
    this.scrubbing = 0; // a timer while the slider is dragged
    this.halt = makeButton(null, "debug-move debug-halt", "stop", () => this.send({ type: "halt" }), {
      title: "leave what is being done (Esc)",
    });
    this.whose = make("select", "", null, { "aria-label": "step and line of" });
    this.slider = make("input", "", null, { type: "range", min: 0, step: 1, "aria-label": "position" });
    this.words = make("output", "debug-words");
    this.addBar();
    this.cursor = make("div", "debug-cursor", root, { role: "group", "aria-label": "the chosen line" });
    this.instruction = make("div", "debug-now", root);
    this.problem = make("p", "debug-problem", root, { role: "alert" });
    this.hang = make("div", "debug-hang", root);
    const top = make("div", "debug-top", root);
    this.source =
      source ??
      new SourceColumns(top, model.get("program"), {
        choose: (line, ptx) => this.chooseLine(line, ptx),
        toggle: (line, ptx) => this.toggleBreakpoint(line, ptx),
      });
    const side = make("div", "debug-side", top);
    this.map = new WarpMap(side, (warp) => this.send({ type: "choose_warp", warp }));
    this.barriers = make("div", "debug-barriers", side);
    this.stops = make("div", "debug-stops", side);
    this.registers = new RegisterTable(root, {
      ask: (register, lane) => this.send({ type: "who_wrote", register, lane }),
      watch: (register) => this.send({ type: "set_watch", register }),
    });
    const low = make("div", "debug-low", root);
    this.memory = new MemoryMatrix(low, (message) => this.send(message));
    this.origins = new OriginTree(low, {
      follow: (node) => this.send({ type: "follow", node }),
      go: (position, warp) => {
        this.send({ type: "move", motion: "go", position });
        if (warp !== null) this.send({ type: "choose_warp", warp });
      },
    });
    this.output = make("pre", "debug-output", root, { tabindex: 0, "aria-label": "what the kernel printed" });
    this.explorerHead = make("div", "debug-explorer-head", root);
    this.explorerPlace = make("div", "debug-explorer", el); // which has a style of its own
    this.drawSoon = this.drawSoon.bind(this);
    for (const part of STATE_PARTS) model.on(`change:${part}`, this.drawSoon);
    this.draw();
    this.drawSoon(); // places are known once the page has it
  }

  addBar() {
    const bar = make("div", "debug-bar", this.root);
    /** @param {string} name @param {[string, string, string, string][]} motions */
    const group = (name, motions) => {
      const box = make("div", "debug-group", bar, { role: "group", "aria-label": name });
      for (const [motion, text, about, key] of motions)
        makeButton(box, "debug-move", text, () => this.move(motion), {
          title: `${about} (${key})`,
          "aria-label": `${name} ${text}`,
        });
      return box;
    };
    const back = group("back", BACKWARDS);
    back.prepend(make("b", "", null, { text: "◀" }));
    const on = group("on", ONWARDS);
    make("b", "", on, { text: "▶" });
    bar.append(this.halt);
    makeLabel(bar, "step and line of").append(this.whose);
    for (const text of ["this warp", "any warp"]) make("option", "", this.whose, { text });
    const first = make("div", "debug-group", bar, { role: "group", "aria-label": "first" });
    for (const what of ["NaN", "infinity"])
      makeButton(first, "debug-move", `first ${what}`, () => this.send({ type: "find_first", what }), {
        title: `go behind the first instruction with ${what === "NaN" ? "a NaN" : "an infinity"}, and say from what`,
      });
    const scrub = make("div", "debug-scrub", this.root);
    scrub.append(this.slider, this.words);
    this.slider.addEventListener("input", () => this.scrub());
  }

  // The length of the launch is not known yet: Python looks for it, slice by slice.
  start() {
    if (this.model.get("place").searches) this.send({ type: "go_on" });
  }

  stop() {
    for (const part of STATE_PARTS) this.model.off(`change:${part}`, this.drawSoon);
    cancelAnimationFrame(this.draws);
    this.closeExplorer();
  }

  /** @param {object} message */
  send(message) {
    this.model.send(message);
  }

  // Python has done a slice: it is asked for the next.
  answered() {
    const { busy, searches } = this.model.get("place");
    if (busy || searches) this.send({ type: "go_on" });
  }

  /** @param {string} motion */
  move(motion) {
    const warp = this.whose.selectedIndex === 0 ? { warp: this.model.get("warps").chosen } : {};
    if (motion === "back_line" || motion === "step_line")
      this.send({ type: "move", motion: motion.replace("_line", ""), line: 1, ...warp });
    else if (motion === "step" || motion === "back") this.send({ type: "move", motion, ...warp });
    else this.send({ type: "move", motion });
  }

  scrub() {
    const position = Number(this.slider.value);
    clearTimeout(this.scrubbing);
    this.scrubbing = window.setTimeout(() => {
      this.scrubbing = 0;
      this.send({ type: "move", motion: "go", position });
    }, 30);
  }

  /** @param {number} line @param {boolean} ptx */
  chooseLine(line, ptx) {
    const isSame = this.line.line === line && this.line.ptx === ptx;
    this.line = isSame ? { line: 0, ptx: false } : { line, ptx };
    this.draw();
  }

  /** @param {number} line @param {boolean} ptx */
  toggleBreakpoint(line, ptx) {
    const { breakpoints } = this.model.get("points");
    const isThere = breakpoints.some((point) => point.line === line && point.ptx === ptx);
    this.send({ type: "set_breakpoint", line, ptx, ...(isThere ? { remove: true } : {}) });
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    const { target } = event;
    if (target instanceof HTMLInputElement && target.type !== "range") {
      event.stopPropagation(); // the notebook has keys of its own
      return;
    }
    if (hasModifier(event) || target instanceof HTMLSelectElement) return;
    if (event.key === "Escape" && this.model.get("place").busy) {
      consume(event);
      this.send({ type: "halt" });
    }
    const motion = [...BACKWARDS, ...ONWARDS].find(([, , , key]) => key === event.key);
    if (!motion) return;
    consume(event);
    this.move(motion[0]);
  }

  // -- drawing ---------------------------------------------------------------------------------------------------

  drawSoon() {
    cancelAnimationFrame(this.draws);
    this.draws = requestAnimationFrame(() => this.draw());
  }

  draw() {
    const place = this.model.get("place");
    this.drawBar(place);
    this.drawCursor();
    write(this.problem, place.problem || place.error);
    this.problem.hidden = !this.problem.textContent;
    this.drawHang();
    this.source.show(this);
    this.map.show(this.model.get("warps"), place);
    this.drawBarriers();
    this.drawStops();
    this.registers.show(this.model.get("registers"));
    this.memory.show(this.model.get("memory"));
    this.origins.show(this.model.get("origin"));
    write(this.output, place.output);
    this.output.hidden = !place.output;
  }

  /** @param {Place} place */
  drawBar(place) {
    const { position, length, busy } = place;
    this.root.dataset.busy = busy;
    this.halt.hidden = !busy;
    this.slider.max = String(length ?? Math.max(position, 1));
    if (!this.scrubbing) this.slider.value = String(position);
    this.slider.disabled = length === null;
    const at = position.toLocaleString("en");
    const of = length === null ? "the end is not known yet" : `of ${length.toLocaleString("en")}`;
    const does =
      busy === "look_ahead" ? " · looking for the end …" : busy ? ` · ${busy.replace("_", " ")} …` : "";
    const fails = place.fails && length !== null ? " · ends with an error" : "";
    const megabytes = `${(place.snapshots / 1e6).toFixed(1)} MB of snapshots`;
    write(this.words, `position ${at} ${of}${does}${fails}${place.stopped ? ` · ${place.stopped}` : ""}`);
    this.words.title = `instructions executed so far, each for all threads that were at it together; ${megabytes}`;
    this.instruction.replaceChildren();
    make("span", "", this.instruction, { text: `next: ${place.where}` });
    if (place.text) make("code", "", this.instruction, { text: place.text });
    if (place.is_matrix && place.warps.includes(this.model.get("warps").chosen))
      makeButton(this.instruction, "debug-move", "open in an Explorer", () =>
        this.send({ type: "open_explorer" }),
      );
  }

  // What can be done with the line that was clicked.
  drawCursor() {
    const { line, ptx } = this.line;
    this.cursor.hidden = line === 0;
    if (this.cursor.contains(document.activeElement) && document.activeElement instanceof HTMLInputElement)
      return;
    this.cursor.replaceChildren();
    if (!line) return;
    const name = `${ptx ? "PTX " : ""}line ${line}`;
    /** @param {string} motion @param {string} text */
    const go = (motion, text) =>
      makeButton(this.cursor, "debug-move", text, () => {
        const warp = this.whose.selectedIndex === 0 ? { warp: this.model.get("warps").chosen } : {};
        this.send({ type: "move", motion, line, ptx, ...warp });
      });
    make("b", "", this.cursor, { text: name });
    go("back_to", "◀ last time");
    go("run_to", "next time ▶");
    const point = this.model.get("points").breakpoints.find((item) => item.line === line && item.ptx === ptx);
    makeButton(this.cursor, "debug-move", point ? "no breakpoint" : "breakpoint", () =>
      this.toggleBreakpoint(line, ptx),
    );
    const when = make("input", "debug-when", this.cursor, {
      type: "text",
      spellcheck: false,
      placeholder: "if, in Python: r4 > 100",
      "aria-label": "condition of the breakpoint",
      value: point?.when ?? "",
    });
    when.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      when.blur();
      this.send({ type: "set_breakpoint", line, ptx, when: when.value });
    });
  }

  drawHang() {
    const picture = this.model.get("waiting");
    if (this.hang.dataset.picture === picture) return;
    this.hang.dataset.picture = picture;
    // a page whose policy allows no styles in its text can still set them
    this.hang.innerHTML = picture.replace(/ style="width/g, ' data-style="width'); // oxlint-disable-line no-restricted-properties -- Python escaped it
    for (const node of /** @type {NodeListOf<HTMLElement>} */ (this.hang.querySelectorAll("[data-style]")))
      node.style.cssText = node.dataset.style ?? "";
  }

  drawBarriers() {
    const barriers = this.model.get("barriers");
    this.barriers.replaceChildren();
    this.barriers.hidden = barriers.length === 0;
    if (!barriers.length) return;
    make("h4", "", this.barriers, { text: "mbarriers of this block" });
    const table = make("table", "", this.barriers);
    const head = make("tr", "", table);
    for (const text of ["byte", "phase", "arrivals", "bytes"]) make("th", "", head, { text, scope: "col" });
    for (const { address, phase, pending, expected, bytes, valid } of barriers) {
      const row = make("tr", valid ? "" : "invalid", table);
      const arrived = `${expected - pending} of ${expected}`;
      for (const text of [address, phase, arrived, bytes ? `${bytes} to come` : "–"])
        make("td", "", row, { text });
    }
  }

  drawStops() {
    const { breakpoints, watches } = this.model.get("points");
    this.stops.replaceChildren();
    this.stops.hidden = !breakpoints.length && !watches.length;
    if (this.stops.hidden) return;
    make("h4", "", this.stops, { text: "stops" });
    for (const { line, ptx, when } of breakpoints) {
      const row = make("div", "", this.stops);
      row.append(`● ${ptx ? "PTX " : ""}line ${line}${when ? ` if ${when}` : ""}`);
      makeButton(row, "debug-move", "remove", () =>
        this.send({ type: "set_breakpoint", line, ptx, remove: true }),
      );
    }
    watches.forEach((name, index) => {
      const row = make("div", "", this.stops);
      row.append(`◆ ${name}`);
      makeButton(row, "debug-move", "remove", () => this.send({ type: "set_watch", remove: index }));
    });
  }

  // -- the Explorer of a matrix instruction ----------------------------------------------------------------------

  /** @param {Traits} state */
  showExplorer(state) {
    this.closeExplorer();
    const model = new LiveModel(state, ({ message }) => this.send({ explorer: JSON.parse(message) }));
    model.waiting = null;
    applyDeltas(model);
    this.explorer = model;
    this.explorerHead.replaceChildren();
    make("b", "", this.explorerHead, {
      text: `what the matrix instruction reads, ${this.model.get("place").where}`,
    });
    makeButton(this.explorerHead, "debug-move", "close", () => this.closeExplorer());
    const closing = Promise.resolve(this.openExplorer(model, this.explorerPlace));
    this.closeExplorer = () => {
      this.closeExplorer = () => {};
      this.explorer = null;
      this.explorerHead.replaceChildren();
      this.explorerPlace.replaceChildren();
      closing.then((close) => typeof close === "function" && close());
    };
    this.explorerHead.scrollIntoView({ block: "nearest" });
  }

  /** @param {any} message */
  updateExplorer(message) {
    if (message.method === "update") this.explorer?.update(message.state);
    else this.explorer?.notify("msg:custom", message.content);
  }
}
