// The mnemonic and the button that opens the picker; the field for commands and places, which the menu has.

import { attribute, copyText, make, makeButton, makeTextInput, write } from "../common/dom.js";
import { appendBreakable } from "../picker/search.js";
import { MATRICES, cellOfIndex, cellsOf } from "../matrix/matrix.js";
import { holderNoun } from "../matrix/describe.js";

export class Header {
  /** @param {App} app @param {HTMLElement} parent */
  constructor(app, parent) {
    this.app = app;
    this.node = make("div", "ptx-header", parent);
    this.text = make("code", "ptx-mnemonic", this.node);
    this.shape = make("code", "ptx-shape", this.node);
    this.shape.hidden = true;
    this.button = makeButton(null, "ptx-tool ptx-copy-name", "copy name", () => this.copy(), {
      "aria-label": "copy the mnemonic",
      "aria-live": "polite",
      title: "Copy the mnemonic",
    });
    this.change = /** @type {HTMLElement | null} */ (null);
    this.timer = 0;
    this.fullScreen = this.makeFullScreenButton();
    this.helpButton = makeButton(null, "ptx-tool ptx-help", "Keys (?)", () => app.help.open(), {
      "aria-haspopup": "dialog",
      title: "Keys, mouse and touch (?)",
      "aria-label": "keys, mouse and touch",
    });
    this.nameBox = new NameBox(app);
  }

  // Shown where the page may use the full screen.
  makeFullScreenButton() {
    const { root } = this.app;
    const isFull = () => document.fullscreenElement === root;
    const toggle = () => (isFull() ? document.exitFullscreen() : root.requestFullscreen());
    const button = makeButton(null, "ptx-tool ptx-full-screen", "Full screen", toggle, {
      "aria-pressed": false,
      title: "Full screen (Escape to leave)",
      "aria-label": "full screen",
    });
    button.hidden = !document.fullscreenEnabled;
    root.addEventListener("fullscreenchange", () => {
      attribute(button, "aria-pressed", isFull());
      this.app.layout();
    });
    return button;
  }

  // The picker adds its button: static pages have none.
  /** @param {Picker} picker @param {string} id */
  addChangeButton(picker, id) {
    this.change = makeButton(null, "ptx-copy ptx-change", "change", () => picker.toggle(), {
      "aria-expanded": false,
      "aria-controls": id,
      title: "Choose another instruction (Ctrl+K)",
    });
    this.shape.after(this.change);
    this.text.classList.add("ptx-clickable");
    this.text.title = "Choose another instruction";
    this.text.addEventListener("click", () => {
      if (getSelection()?.isCollapsed ?? true) picker.open();
    }); // but not if a part of it was selected
  }

  // The mnemonic of tcgen05.mma has no shape; the one in its descriptor is shown beside it.
  /** @param {string} mnemonic @param {string} shape */
  showInstruction(mnemonic, shape = "") {
    write(this.shape, shape);
    this.shape.hidden = !shape;
    if (this.text.textContent === mnemonic) return;
    this.text.replaceChildren();
    appendBreakable(this.text, mnemonic);
    this.app.picker?.update();
  }

  async copy() {
    const done = await copyText(this.text.textContent ?? "");
    if (!done) getSelection()?.selectAllChildren(this.text);
    /** @param {string} text @param {string} label */
    const showOnButton = (text, label) => {
      this.button.textContent = text;
      this.button.setAttribute("aria-label", label);
    };
    if (done) showOnButton("copied", "copied");
    else showOnButton("press Ctrl+C", "the mnemonic is selected: press Ctrl+C");
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => showOnButton("copy name", "copy the mnemonic"), 1600);
  }
}

// A field that takes a command, or the name of a cell, a row, a lane or an element, and goes there: "D[40][200]",
// "lane 14 d3", "E[9] chunk 4", in any case and spacing.

const EXAMPLES = "write a cell such as D[3][5], a row such as A[9], or a lane such as lane 14 or lane 14 d3";
const LANE = /^(?:warp\s*(\d+)\W*lane|lane|thread)\s*(-?\d+)(?:\W*([a-z]+)\W*(\d+)\W*)?$/;
const ELEMENT = /^([a-z]+)\s*(\d+)$/; // of the chosen lane
const BRACKETS = "[\\s\\[\\](),;:]*";
const CELL = new RegExp(
  `^(compressed a|[a-z]+)${BRACKETS}(?:row)?${BRACKETS}(-?\\d+)${BRACKETS}` +
    `(?:(chunk|column|col)${BRACKETS})?(-?\\d+)?${BRACKETS}$`,
);
/** @type {Record<string, Name>} */
const ALIASES = { "compressed a": "stored", stored: "stored", metadata: "E" };

class NameBox {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.content = app.content;
    this.selection = app.selection;
    this.scene = app.scene;
    this.node = make("span", "ptx-name-box", null);
    this.input = makeTextInput(this.node, "ptx-name", {
      placeholder: "a command, or D[3][5]",
      "aria-label": "a command, or a cell, a row, a lane or an element to go to",
      title:
        "Type a command, or a place, and press Enter: D[3][5], A[9], lane 14, lane 14 d3, d3 (of the chosen lane), E[9] chunk 4",
    });
    this.problem = make("span", "ptx-name-problem", this.node, { role: "alert" });
    this.input.addEventListener("focus", () => this.input.select());
    this.input.addEventListener("input", () => {
      this.report("");
      app.toolbar.filter(this.isPlace() ? "" : this.input.value);
    });
    this.input.addEventListener("keydown", (event) => {
      const leaves = event.key === "Escape" && !this.input.value;
      if (!leaves && (event.key !== "?" || this.input.value)) event.stopPropagation();
      if (event.key === "Enter") {
        event.preventDefault(); // the focus goes to a button, which would take the same key
        this.perform();
      }
      if (event.key === "Escape") this.clear();
    });
  }

  clear() {
    this.input.value = "";
    this.report("");
    this.app.toolbar.filter("");
  }

  isPlace() {
    const { content, input } = this;
    return Boolean(content.matrices.D) && !placeNamed(content, input.value).problem;
  }

  // Goes to the place, or does what the words say.
  perform() {
    const text = this.input.value;
    if (!text.trim()) return;
    if (!this.isPlace() && !/[[\d]/.test(text) && this.app.toolbar.perform(text)) return;
    this.goToPlace();
    if (this.input.getAttribute("aria-invalid") !== "true") this.app.toolbar.setOpen(false);
  }

  // Suggests a name that this instruction has.
  suggest() {
    const { D, A } = this.content.matrices;
    const named = this.content.instruction.transfer ? `${(A ?? D).label}[3][1]` : "D[3][5]";
    this.input.placeholder = `a command, or ${named}`;
  }

  /** @param {string} sentence */
  report(sentence) {
    write(this.problem, sentence);
    this.input.setAttribute("aria-invalid", String(sentence !== ""));
  }

  goToPlace() {
    const { app, content, selection, scene } = this;
    if (!this.input.value.trim() || !content.matrices.D) return;
    const place = placeNamed(content, this.input.value);
    this.report(place.problem ?? "");
    if (place.lane !== undefined) selection.chooseLane(place.lane);
    const name = place.cell?.name ?? place.line?.name;
    if (!name) return;
    const select = () => {
      if (place.cell) {
        selection.select(place.cell);
        scene.camera.goTo(place.cell);
      }
      if (place.line) selection.selectLine(place.line);
      scene.paneOf(name)?.node.scrollIntoView({ block: "nearest" });
    };
    if (content.instruction.transfer && place.cell) {
      selection.select(place.cell, false);
      app.tensor.reveal(place.cell);
    } else if (scene.paneOf(name)) select();
    else {
      content.set("show_c", true); // only C is not always shown
      window.setTimeout(select);
    }
  }
}

/** @param {string} word @returns {Name | undefined} */
const matrixName = (word) => ALIASES[word] ?? MATRICES.find((name) => name === word.toUpperCase());

// The words of tcgen05.ld, .st, .cp and .shift are named T, R and S.
/** @param {Content} content @param {string} word @returns {Name | undefined} */
function movedName({ instruction, matrices }, word) {
  if (!instruction.transfer) return undefined;
  return /** @type {Name[]} */ (["A", "D"]).find((name) => matrices[name].label === word.toUpperCase());
}

// The place, or a sentence that says what is wrong.
/** @param {Content} content @param {string} text @returns {Destination} */
function placeNamed(content, text) {
  const name = text.trim().toLowerCase().replace(/\s+/g, " ");
  const lane = LANE.exec(name);
  if (lane) {
    const [, warp, number, letters, element] = lane;
    if (warp !== undefined && Number(number) > 31)
      return { problem: `A warp has lanes 0 to 31: there is no lane ${number} in warp ${warp}.` };
    return placeInLane(content, 32 * Number(warp ?? 0) + Number(number), letters, Number(element));
  }
  const element = ELEMENT.exec(name);
  if (element) return placeInLane(content, content.lane, element[1], Number(element[2]));
  const cell = CELL.exec(name);
  if (!cell) return { problem: `"${text.trim()}" is not the name of a cell or lane: ${EXAMPLES}.` };
  const [, word, row, unit, column] = cell;
  return placeInMatrix(content, word, Number(row), column === undefined ? undefined : Number(column), unit);
}

/** @param {Content} content @param {string} word @returns {Destination} */
function unknownMatrix({ matrices }, word) {
  const labels = MATRICES.filter((name) => matrices[name]).map((name) => matrices[name].label);
  return { problem: `This instruction has no matrix ${word.toUpperCase()}: it has ${labels.join(", ")}.` };
}

/**
 * @param {Content} content
 * @param {string} word
 * @param {number} row
 * @param {number | undefined} column
 * @param {string | undefined} unit
 * @returns {Destination}
 */
function placeInMatrix(content, word, row, column, unit) {
  const name = movedName(content, word) ?? matrixName(word);
  const matrix = name && content.matrices[name];
  if (!matrix) return unknownMatrix(content, word);
  const { label, rows, columns } = matrix;
  if (unit === "chunk" && name !== "E")
    return { problem: `Only metadata has chunks: write ${label}[${row}][column].` };
  if (row < 0 || row >= rows)
    return { problem: `${label} has rows 0 to ${rows - 1}: there is no row ${row}.` };
  if (column === undefined) return { line: { name, row } };
  if (column < 0 || column >= columns) {
    const what = name === "E" ? "chunk" : "column";
    return { problem: `${label} has ${what}s 0 to ${columns - 1}: there is no ${what} ${column}.` };
  }
  return { cell: { name, row, column } };
}

/**
 * @param {Content} content
 * @param {number} lane
 * @param {string | undefined} letters
 * @param {number} element
 * @returns {Destination}
 */
function placeInLane(content, lane, letters, element) {
  const { lanes } = content.instruction;
  const noun = holderNoun(content.instruction);
  const what = noun === "thread" ? "Thread" : "Lane";
  if (lane < 0 || lane >= lanes)
    return { problem: `${what}s are 0 to ${lanes - 1}: there is no ${noun} ${lane}.` };
  if (!letters) return { lane };
  /** @type {AnyMatrices} */
  const matrices = content.matrices;
  const name = letters === "a" && matrices.stored ? "stored" : matrixName(letters);
  const matrix = name && matrices[name];
  if (!matrix) return unknownMatrix(content, letters);
  if (!matrix.lane) {
    const where = matrix.place ? "tensor" : "shared";
    return { problem: `${matrix.label} is in ${where} memory: no thread holds its elements.` };
  }
  const { label, elementOf } = matrix;
  const cells = cellsOf(matrix, lane);
  const index = cells.find((cell) => elementOf[cell] === element);
  if (index !== undefined) return { cell: cellOfIndex(matrix, index) };
  const elements = cells.map((cell) => elementOf[cell]);
  if (!elements.length)
    return { problem: `${what} ${lane} holds no element of ${label} that the instruction reads.` };
  const letter = matrix.element;
  const range = `${letter}${Math.min(...elements)} to ${letter}${Math.max(...elements)}`;
  return { problem: `${what} ${lane} holds ${range}: there is no ${letter}${element}.` };
}
