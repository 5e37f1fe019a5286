// The registers of one thread after a tcgen05.ld: which load, which thread, and what each register holds.

import {
  attribute,
  make,
  makeButton,
  makeSection,
  onMouse,
  paint,
  revealInList,
  wholeNumber,
  write,
} from "../common/dom.js";
import { Controls } from "../common/controls.js";
import { clamp, hex } from "../common/numbers.js";
import { cellText, indexOfCell } from "../matrix/matrix.js";
import { warpColours } from "../matrix/colours.js";
import { roveTabindex, nextInBar } from "../common/roving_tabindex.js";
import { LANES, loadMap } from "./word_places.js";
import { columnName, linkedWords, nameOf } from "./transfers.js";

const ONE_LOAD = "A saved page has the loads that it was saved with; a notebook has all of them";

export class ThreadRegisters {
  /** @param {TensorView} view @param {HTMLElement} parent */
  constructor(view, parent) {
    this.view = view;
    this.lines = /** @type {HTMLElement[]} */ ([]);
    this.node = makeSection(parent, "ptx-thread", "registers of a thread after tcgen05.ld", "thread");
    const head = make("div", "ptx-thread-head", this.node);
    this.title = make("span", "", head, { text: "Thread" });
    this.number = make("input", "ptx-number", head, {
      type: "number",
      min: 0,
      step: 1,
      "aria-label": "thread",
      "data-testid": "thread-number",
    });
    this.place = make("span", "", head);
    this.warps = make("span", "ptx-thread-warps", head, { role: "group", "aria-label": "warp" });
    this.updateWarps = roveTabindex(this.warps, "button", nextInBar);
    this.mnemonic = make("code", "ptx-thread-mnemonic", this.node);
    this.load = make("div", "ptx-thread-load", this.node);
    this.controls = new Controls(make("span", "ptx-lists", this.load), "data-option", (name, value) =>
      this.choose(name === "shape" ? { shape: value, count: null, lane: null } : { [name]: value }),
    );
    const pack = make("label", "ptx-choice", this.load, {
      title: ".pack::16b: the lower halves of two columns in one register",
    });
    this.pack = make("input", "", pack, { type: "checkbox" });
    make("span", "", pack, { text: "pack" });
    this.list = make("div", "ptx-thread-registers", this.node, {
      role: "list",
      tabindex: "0",
      "aria-label": "registers",
    });
    this.listen();
  }

  listen() {
    const { view } = this;
    const { pointing, selection, tooltip } = view;
    this.number.addEventListener("change", () => {
      const thread = wholeNumber(this.number);
      if (thread !== null) selection.chooseLane(clamp(thread, 0, this.threads - 1));
      this.update();
    });
    this.number.addEventListener("keydown", (event) => event.stopPropagation());
    this.pack.addEventListener("change", () => this.choose({ pack: this.pack.checked, count: null }));
    onMouse(this.list, "pointermove", (event) => {
      const word = this.wordAt(event.target);
      const [element] = word ? view.elements(word) : [];
      view.pointed = word && !element ? word : null;
      pointing.hover(element ? view.cellOf(element) : null);
      if (word) tooltip.showAt(event, () => this.facts(word));
    });
    this.list.addEventListener("pointerleave", () => {
      view.pointed = null;
      pointing.hover(null);
    });
    this.list.addEventListener("click", (event) => {
      const word = this.wordAt(event.target);
      if (!word) return;
      const [element] = view.elements(word);
      if (element) selection.select(view.cellOf(element), false);
      view.goTo(word, Boolean(this.moved?.editable)); // then it can be typed over
    });
  }

  // The registers that tcgen05.ld fills, or tcgen05.st stores; null for the load beside a tcgen05.mma.
  /** @returns {Matrix | null} */
  get moved() {
    const { instruction, matrices } = this.view.content;
    return instruction.transfer?.registers ? matrices[instruction.transfer.registers] : null;
  }

  get ctas() {
    return this.moved ? 1 : this.view.tensor.ctas;
  }

  // The threads to choose from: a warp, or a warpgroup in each CTA.
  get threads() {
    return this.moved ? this.view.content.instruction.lanes : this.ctas * LANES;
  }

  // Elements in each register that is listed.
  get group() {
    const { blocks } = this.view.tensor;
    return (this.moved && blocks?.[this.moved.name === "D" ? 1 : 0].group) || 1;
  }

  // Request the same load with one thing changed; the view changes when Python answers.
  /** @param {{ shape?: string, count?: number | null, lane?: number | null, column?: number, pack?: boolean }} change */
  choose(change) {
    const { load, send } = this.view;
    if (!load) return;
    const { shape, column, pack } = { ...load, ...change };
    const count = change.count === undefined ? load.count : change.count;
    const lane = change.lane === undefined ? load.lane : change.lane;
    send({ type: "show_load", shape, count, lane, column, pack });
    this.pack.checked = load.pack; // until Python agrees
  }

  /** @param {EventTarget | null} target */
  wordAt(target) {
    const line = target instanceof Element ? target.closest("[data-register]") : null;
    if (!(line instanceof HTMLElement)) return null;
    return this.word(Number(line.dataset.register), 0);
  }

  // The word that a part of a register comes from.
  /** @param {number} register @param {number} part */
  word(register, part) {
    const { moved } = this;
    if (moved)
      return { lane: (moved.place?.lane[0] ?? 0) + this.view.content.lane, column: register * this.group };
    const load = /** @type {LoadData} */ (this.view.load);
    const { lanes, columns, elements } = loadMap(load);
    const thread = this.view.content.lane;
    const index = (thread % 32) * elements + register * load.parts + part;
    return { lane: thread - (thread % 32) + lanes[index], column: columns[index] };
  }

  /** @param {TensorWord} word */
  facts(word) {
    const [first, ...rest] = this.view.wordFacts(word);
    return [...rest, first].filter(Boolean);
  }

  // -- drawing --

  /** @param {number} height */
  layout(height) {
    this.node.style.height = this.view.node.classList.contains("ptx-tensor-narrow") ? "" : `${height}px`;
    this.update();
  }

  update() {
    const { view } = this;
    const { load, content } = view;
    const { moved, ctas } = this;
    this.node.hidden = !load && !moved;
    if (this.node.hidden || !view.isOpen) return;
    const thread = content.lane;
    this.load.hidden = this.mnemonic.hidden = Boolean(moved);
    attribute(this.node, "aria-label", `registers of a thread${moved ? "" : " after tcgen05.ld"}`);
    attribute(this.number, "max", this.threads - 1);
    if (document.activeElement !== this.number || Number(this.number.value) !== thread)
      this.number.value = String(thread);
    const cta = ctas > 1 ? `CTA ${Math.floor(thread / LANES)}, ` : "";
    const warp = `${cta}warp ${Math.floor(thread / 32) % 4}`;
    const isWarp = this.threads === 32;
    const where = moved ? `lane ${thread % 32} of ${warp}` : `${warp}, after`;
    write(this.title, isWarp ? "Lane" : "Thread");
    write(this.place, isWarp ? "of the warp" : where);
    this.warps.hidden = isWarp;
    this.showWarps(ctas, thread);
    if (moved) this.showTransferRegisters(moved);
    if (moved || !load) return;
    this.showLoad(load);
    this.showRegisters(load);
  }

  /** @param {number} ctas @param {number} thread */
  showWarps(ctas, thread) {
    const { content, theme, selection } = this.view;
    const key = `${ctas} ${theme.dark}`;
    if (this.warps.dataset.key !== key) {
      this.warps.dataset.key = key;
      this.warps.replaceChildren();
      for (let warp = 0; warp < 4 * ctas; warp += 1) {
        const own = warp % 4;
        const press = () => selection.chooseLane(warp * 32 + (content.lane % 32));
        const button = makeButton(this.warps, "ptx-warp", String(own), press, {
          "data-warp": warp,
          "aria-label": `warp ${own}${ctas > 1 ? ` of CTA ${Math.floor(warp / 4)}` : ""}`,
          title: `Warp ${own}: it can read only lanes ${own * 32} to ${own * 32 + 31}`,
        });
        paint(button, warpColours(theme, own));
      }
      this.updateWarps();
    }
    for (const button of this.warps.querySelectorAll("button"))
      attribute(button, "aria-pressed", Number(button.dataset.warp) === Math.floor(thread / 32));
  }

  /** @param {LoadData} load */
  showLoad({ controls, pack, mnemonic, summary }) {
    const { isStatic } = this.view.content;
    this.controls.showControls(
      controls.map((control) => {
        const spoken = { ...control, spoken: control.hint };
        const isSaved = !isStatic || control.name === "shape" || control.name === "lane";
        return isSaved ? spoken : { ...spoken, disabled: true, hint: ONE_LOAD };
      }),
    );
    this.pack.disabled = isStatic;
    this.pack.checked = pack;
    write(this.mnemonic, mnemonic);
    attribute(this.mnemonic, "title", summary);
  }

  // A line for each register: its number, its bits, the cells in it or their places in memory, and their values.
  /** @param {RegisterLine[]} registers */
  showLines(registers) {
    const count = registers.length;
    this.list.style.setProperty("--lines", String(count)); // its box ends with the last of them
    while (this.lines.length < count) {
      const line = make("div", "ptx-thread-register", this.list, {
        role: "listitem",
        "data-register": this.lines.length,
      });
      for (const name of ["number", "hex", "cell", "value"]) make("span", `ptx-thread-${name}`, line);
      this.lines.push(line);
    }
    while (this.lines.length > count) this.lines.pop()?.remove();
    registers.forEach(({ texts, isFree = false, isHere }, register) => {
      const line = this.lines[register];
      texts.forEach((text, index) => write(line.children[index], text));
      line.classList.toggle("free", isFree);
      line.classList.toggle("here", isHere);
    });
  }

  // Each register that is filled or stored, its elements, and the words that they come from or go to.
  /** @param {Matrix} moved */
  showTransferRegisters(moved) {
    const { content, selection } = this.view;
    const { matrices } = content;
    const { group } = this;
    const arrow = moved.name === "D" ? "←" : "→";
    const registers = Array.from({ length: moved.columns / group }, (_, register) => {
      const cells = Array.from({ length: group }, (_, element) => ({
        name: moved.name,
        row: content.lane,
        column: register * group + element,
      }));
      const linked = cells.flatMap((cell) => linkedWords(matrices, cell));
      const names = linked.map((word) => nameOf(matrices, word));
      const own = moved.column_names?.length ? columnName(moved, register * group) : `r${register}`;
      const isNumber = moved.kind !== "bits" && !own.startsWith("mdata");
      const values = isNumber ? cells.map((cell) => cellText(moved, indexOfCell(moved, cell))) : [];
      const places = names.length ? `${arrow} ${firstAndLast(names)}` : "";
      const number = group > 1 ? `r${register}` : own;
      const isHere = cells.some((cell) => selection.isAt(cell));
      return { texts: [number, registerText(moved, cells), places, firstAndLast(values)], isHere };
    });
    this.showLines(registers);
    const isLong = group === 1 && registers.some((_, column) => columnName(moved, column).length > 4);
    this.list.classList.toggle("ptx-long-names", isLong);
    this.list.classList.toggle("ptx-wide-registers", moved.bits === 64);
  }

  /** @param {LoadData} load */
  showRegisters(load) {
    this.list.classList.remove("ptx-long-names", "ptx-wide-registers");
    this.showLines(Array.from({ length: load.registers }, (_, register) => this.loaded(load, register)));
  }

  // A register of the chosen thread after a load.
  /** @param {LoadData} load @param {number} register @returns {RegisterLine} */
  loaded(load, register) {
    const { view } = this;
    const elements = Array.from({ length: load.parts }, (_, part) =>
      view
        .elements(this.word(register, part))
        .filter(({ low }) => !load.pack || low < 16)
        .map((element) => ({ ...element, part, matrix: view.content.matrices[element.name] })),
    ).flat();
    const most = 2 ** (load.pack ? 16 : 32);
    const content = elements.reduce(
      (sum, { matrix, index, low, part }) =>
        sum + ((Number(matrix.codes[index]) * 2 ** low) % most) * 2 ** (16 * part),
      0,
    );
    const cells = elements.map((element) => view.cellOf(element));
    const names = cells.map(({ row, column }, index) => `${elements[index].matrix.label}[${row}][${column}]`);
    const values = elements.map(({ matrix, index }) => cellText(matrix, index));
    const isKnown = elements.every(({ matrix }) => !matrix.unknown);
    const bits = isKnown ? hex(content, 32) : "?";
    return {
      texts: [`r${register}`, cells.length ? bits : "free", firstAndLast(names), firstAndLast(values)],
      isFree: !cells.length,
      isHere: cells.some((cell) => view.selection.isAt(cell)),
    };
  }

  // The register of the chosen thread that a word is in, comes from or goes to; -1 for none.
  /** @param {Cell} cell */
  movedColumn(cell) {
    const { content } = this.view;
    const { registers } = content.instruction.transfer ?? {};
    const cells = [cell, ...linkedWords(content.matrices, cell)];
    const column = cells.find(({ name, row }) => name === registers && row === content.lane)?.column ?? -1;
    return Math.floor(column / this.group);
  }

  // The register that holds what is pointed at.
  highlight() {
    const { view } = this;
    const { load, content, pointing } = view;
    const { moved } = this;
    if ((!load && !moved) || !view.isOpen) return;
    const { hovered } = pointing;
    const matrix = hovered?.name ? content.matrices[hovered.name] : null;
    const index = hovered?.name && matrix ? indexOfCell(matrix, hovered) : -1;
    const own = matrix?.lane && matrix.lane[index] === content.lane ? matrix.registerOf[index] : -1;
    const shown = moved && hovered?.name ? this.movedColumn(hovered) : own;
    this.lines.forEach((line, register) => line.classList.toggle("lit", register === shown));
    const line = this.lines[shown];
    if (!line || this.list.matches(":hover")) return;
    revealInList(this.list, line);
  }
}

// The bits of a register, which its elements share.
/** @param {Matrix} matrix @param {Cell[]} cells */
function registerText(matrix, cells) {
  const [first] = cells;
  if (cells.length === 1) return hex(matrix.codes[indexOfCell(matrix, first)], Math.max(32, matrix.bits));
  let content = 0;
  for (const cell of cells) {
    const index = indexOfCell(matrix, cell);
    content += Number(matrix.codes[index]) * 2 ** (matrix.low?.[index] ?? 0);
  }
  return hex(content, 32);
}

// The first and the last of several.
/** @param {string[]} texts */
function firstAndLast(texts) {
  if (texts.length < 3) return texts.join(", ");
  return `${texts[0]} … ${texts[texts.length - 1]}`;
}
