// A simulated kernel with a slider through time. Python sends what a step shows; the page asks for steps.

import { make, makeIcon, write, resizeCanvas, widgetOf } from "./common/dom.js";
import { hex } from "./common/numbers.js";
import { PlaybackBar } from "./common/playback.js";

/**
 * @typedef {{ name: string, role: "read" | "written", values: string[] }} LaneRegister
 * @typedef {{ number: number, line: number, ptxLine: number, text: [string, string][], lanes: number,
 *   registers: LaneRegister[], hidden: number, notes: string[] }} ShownStep
 * @typedef {{ page: string, title: string, count: number, step: number, lines: number[], shown: ShownStep,
 *   words: DataView, states: DataView }} PlayerTraits
 * @typedef {{ get<K extends keyof PlayerTraits>(name: K): PlayerTraits[K],
 *   set(name: "step", value: number): void, save_changes(): void,
 *   on(event: string, call: () => void): void, off(event: string, call: () => void): void }} PlayerModel
 */

const ROW_WORDS = 32;
const WORD_CELL = { width: 15, height: 11 };
const PACE = 700; // milliseconds for a step while they are played
const EMPTY = 0; // a word of shared memory that nothing has written

// The colours of words, by their state, and what those mean.
const STATES = [
  ["--rule", ""],
  ["--heat", "written before"],
  ["--changed", "changed before the next step"],
  ["--read", "read by this warp now"],
  ["--hazard-edge", "written by this warp now"],
];

// The attributes as data: a page whose policy allows no styles in its text can still set them.
/** @param {string} text HTML, in which only tags have a < */
const withoutStyles = (text) => text.replace(/(<\w+ [^<>]*?)\bstyle="/g, '$1data-style="');

/** @param {DataView} view */
const bytesOf = ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength);

export class KernelPlayer extends PlaybackBar {
  /** @param {PlayerModel} model @param {HTMLElement} el */
  constructor(model, el) {
    const bar = make("div", "");
    super(bar, { label: "step", name: "play the steps", pace: PACE });
    this.model = model;
    this.profile = make("div", "profile");
    this.profile.innerHTML = withoutStyles(model.get("page")); // oxlint-disable-line no-restricted-properties -- Python escaped it
    for (const node of /** @type {NodeListOf<HTMLElement>} */ (this.profile.querySelectorAll("[data-style]")))
      node.style.cssText = node.dataset.style ?? "";
    this.panel = make("section", "panel");
    this.panel.append(bar);
    this.words.prepend(make("b", "", null, { text: model.get("title") }));
    makeIcon(bar, "next line", "next line of the source (PageUp)", () => this.goToNextPart(), "ptx-step");
    this.instruction = make("div", "instruction", this.panel);
    this.notes = make("div", "notes", this.panel);
    this.registers = makeRegion(this.panel, "registers", "registers");
    this.memory = make("div", "memory", this.panel);
    this.memoryHead = make("div", "memory-head", this.memory);
    this.canvas = make("canvas", "", makeRegion(this.memory, "memory-box", "shared memory"));
    const root = make("div", "ptx-player", el);
    root.append(this.profile, this.panel);
    this.profile.querySelector(".ptx-profile footer")?.before(this.panel);
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.drawShownStep = this.drawShownStep.bind(this);
    model.on("change:shown", this.drawShownStep);
    this.drawShownStep();
    requestAnimationFrame(this.drawShownStep); // colours and places are known once the page has it
    this.theme = new MutationObserver(() => this.showMemory());
    this.theme.observe(document.body, {
      attributes: true,
      attributeFilter: ["data-jp-theme-light", "class"],
    });
  }

  stop() {
    this.pause();
    this.model.off("change:shown", this.drawShownStep);
    this.theme.disconnect();
  }

  get last() {
    return this.model.get("count") - 1;
  }

  // The lines of the source: a step that belongs to none belongs to the one before.
  get starts() {
    let line = 0;
    return this.model.get("lines").flatMap((lineOfStep, step) => {
      const isNew = lineOfStep !== 0 && lineOfStep !== line;
      if (isNew) line = lineOfStep;
      return isNew ? [step] : [];
    });
  }

  // Python sends what a step shows.
  showStep() {
    this.model.set("step", this.at);
    this.model.save_changes();
  }

  drawShownStep() {
    const shown = this.model.get("shown");
    this.at = shown.number;
    const text = `step ${shown.number + 1} of ${this.model.get("count")}`;
    write(this.text, text);
    this.updateBar(text);
    const line = shown.line === 0 ? "" : `line ${shown.line}, `;
    this.instruction.replaceChildren();
    make("span", "where", this.instruction, { text: `${line}PTX ${shown.ptxLine}` });
    const code = make("code", "", this.instruction);
    for (const [kind, text] of shown.text) make("span", kind, code, { text });
    this.notes.replaceChildren();
    for (const text of shown.notes) make("div", "", this.notes, { text });
    this.showLine(shown.line);
    this.showRegisters(shown);
    this.showMemory();
  }

  // Marks the line of the source, and scrolls to it if it is not in view.
  /** @param {number} line */
  showLine(line) {
    for (const row of this.profile.querySelectorAll(".row.now")) row.classList.remove("now");
    const row = /** @type {HTMLElement | null} */ (this.profile.querySelector(`.row[data-line="${line}"]`));
    if (row === null) return;
    row.classList.add("now");
    const code = /** @type {HTMLElement} */ (row.closest(".code"));
    const top = row.offsetTop - code.offsetTop;
    if (top < code.scrollTop + 30 || top > code.scrollTop + code.clientHeight - 40)
      code.scrollTop = top - code.clientHeight / 2;
  }

  // A column for each lane, or for as many as fit side by side: 16, or 8 with registers of 64 bits.
  /** @param {ShownStep} shown */
  showRegisters(shown) {
    for (const columns of [32, 16, 8]) {
      this.fillRegisters(shown, columns);
      if (this.registers.scrollWidth <= this.registers.clientWidth + 1) break;
    }
    const { hidden } = shown;
    if (hidden > 0) make("div", "notes", this.registers, { text: `${hidden} more registers` });
  }

  /** @param {ShownStep} shown @param {number} columns */
  fillRegisters({ registers, lanes }, columns) {
    this.registers.replaceChildren();
    const table = make("div", "lanes", this.registers);
    for (let first = 0; first < 32; first += columns) {
      const head = make("div", "lane-row lane-head", table);
      make("i", "", head, { text: "lane" });
      for (let lane = first; lane < first + columns; lane += 1)
        make("i", "", head, {
          text: lane,
        }).style.cssText = `background: var(--lane${lane}); color: var(--on-lane${lane})`;
      for (const { name, role, values } of registers) {
        const row = make("div", `lane-row ${role}`, table);
        make("i", "", row, { text: `${role === "written" ? "→ " : ""}${name}`, title: role });
        values.slice(first, first + columns).forEach((text, index) => {
          const isActive = ((lanes >>> (first + index)) & 1) === 1;
          make("i", isActive ? "value" : "value absent", row, { text });
        });
      }
    }
  }

  showMemory() {
    const states = bytesOf(this.model.get("states"));
    this.memory.hidden = states.length === 0;
    if (this.memory.hidden) return;
    this.drawMemory(states);
    this.memoryHead.replaceChildren();
    make("b", "", this.memoryHead, { text: "shared memory" });
    make("span", "", this.memoryHead, { text: "32 banks across; a row is 128 bytes" });
    for (const [colour, meaning] of STATES.slice(1)) {
      const key = make("span", "", this.memoryHead);
      make("i", "mark", key).style.background = `var(${colour})`;
      key.append(meaning);
    }
    make("span", "under", this.memoryHead);
  }

  // A rectangle for every word that was written, a dot for the others; rows at the end without any are left
  // out.
  /** @param {Uint8Array} states */
  drawMemory(states) {
    const { canvas } = this;
    const used = states.findLastIndex((state) => state !== EMPTY) + 1;
    const rows = Math.max(4, Math.ceil(Math.max(used, 1) / ROW_WORDS));
    const style = getComputedStyle(this.panel);
    const fills = STATES.map(([colour]) => style.getPropertyValue(colour));
    const scale = window.devicePixelRatio || 1;
    resizeCanvas(canvas, ROW_WORDS * WORD_CELL.width, rows * WORD_CELL.height, scale);
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.scale(scale, scale);
    states.subarray(0, rows * ROW_WORDS).forEach((state, word) => {
      const x = (word % ROW_WORDS) * WORD_CELL.width;
      const y = Math.floor(word / ROW_WORDS) * WORD_CELL.height;
      context.fillStyle = fills[state];
      if (state === EMPTY) context.fillRect(x + 5, y + 4, WORD_CELL.width - 10, WORD_CELL.height - 8);
      else context.fillRect(x, y, WORD_CELL.width - 1, WORD_CELL.height - 1);
    });
  }

  // The word under the pointer.
  /** @param {MouseEvent} event */
  point(event) {
    const word =
      Math.floor(event.offsetY / WORD_CELL.height) * ROW_WORDS + Math.floor(event.offsetX / WORD_CELL.width);
    const words = this.model.get("words");
    const under = this.memoryHead.querySelector(".under");
    if (under === null || 4 * word + 4 > words.byteLength) return;
    const bits = hex(words.getUint32(4 * word, true), 32);
    const float = words.getFloat32(4 * word, true).toPrecision(5);
    under.textContent = `byte ${4 * word}, bank ${word % 32}: ${bits}, as f32 ${float}`;
  }
}

// Something that scrolls, which keys can reach.
/** @param {HTMLElement} parent @param {string} classes @param {string} label */
const makeRegion = (parent, classes, label) =>
  make("div", classes, parent, { tabindex: 0, role: "group", "aria-label": label });

export default widgetOf(KernelPlayer);
