// What is shown: the instruction, its matrices and the chosen lane, and how their cells look. While a question of
// the quiz is open, what would give its answer away is not shown.

import { painter } from "./colours.js";
import { MATRICES, fewestLetters, isZero, labelSize, readMatrix } from "./matrix.js";

// of a matrix that is never seen whole with its numbers
const MANY_NUMBERS = 4096;
// The outlines of pinned lanes in the panes.
const DASHES = [
  [4, 2],
  [1.5, 1.5],
  [6, 2, 1.5, 2],
  [3, 4],
];

export class Content {
  /** @param {Model} model @param {Theme} theme @param {QuizState} quiz */
  constructor(model, theme, quiz) {
    this.model = model;
    this.theme = theme;
    this.quiz = quiz;
    // until Python sends it
    this.instruction = /** @type {InstructionInfo} */ ({});
    this.matrices = /** @type {Matrices} */ ({});
    this.lane = 0;
    // all that the appearance of cells depends on, and what is written into them
    this.look = this.label = "";
    this.painters = /** @type {WeakMap<Matrix, Painter>} */ (new WeakMap());
    this.labelSizes = /** @type {WeakMap<Matrix, LabelSize>} */ (new WeakMap());
    // letters in A, B, D and C, by what is shown
    this.widestLabels = /** @type {Record<string, number[]>} */ ({});
  }

  // A trait that the page may change, in Python as well.
  /** @template {keyof Traits} K @param {K} name @param {Traits[K]} value */
  set(name, value) {
    this.model.set(name, value);
    this.model.save_changes();
  }

  // Returns whether every matrix of the instruction has arrived.
  read() {
    const { model, instruction, matrices } = this;
    this.lane = model.get("lane");
    for (const name of MATRICES)
      Object.assign(matrices, { [name]: readMatrix(model, instruction, name, matrices[name]) });
    return MATRICES.every((name) => !instruction.matrices[name] || matrices[name]);
  }

  // What cells look like is made anew if anything that it depends on changed.
  readLook() {
    this.theme.read(this.instruction.colours);
    this.label = this.display("label");
    const look = [this.display("colour_by"), this.label, this.quiz.look, this.theme.key].join();
    if (look !== this.look)
      [this.look, this.painters, this.labelSizes] = [look, new WeakMap(), new WeakMap()];
  }

  // How cells are shown: colours and labels that tell lanes or codes wait for the answer to a question.
  /** @template {"colour_by" | "label"} K @param {K} trait @returns {Traits[K]} */
  display(trait) {
    const chosen = this.model.get(trait);
    if (!this.quiz.open || chosen === "value") return chosen;
    return /** @type {Traits[K]} */ (trait === "label" ? "value" : "nothing");
  }

  // What a cell looks like: [background, text] of a cell by its index.
  /** @param {Matrix} matrix @returns {Painter} */
  painter(matrix) {
    const paint = this.painters.get(matrix) ?? painter(this, matrix);
    this.painters.set(matrix, paint);
    return paint;
  }

  // Letters and lines of a matrix's labels, measured once for what is on the screen; while it is played, of its end.
  /** @param {Matrix} shown @returns {LabelSize} */
  labelSize(shown) {
    const matrix = shown.whole ?? shown;
    const size = this.labelSizes.get(matrix) ?? labelSize(this.matrices, matrix, this.display("label"));
    this.labelSizes.set(matrix, size);
    return size;
  }

  // Cells grow for longer numbers, and never shrink again while an instruction is shown.
  measure() {
    const { A, B, C, D } = this.matrices;
    const { widest } = this;
    this.widestLabels[this.label] = [A, B, D, C].map(
      (matrix, index) => Math.max(matrix ? this.labelSize(matrix).letters : 1, widest[index]), // a transfer has no B
    );
  }

  get widest() {
    return this.widestLabels[this.label] ?? [1, 1, 1, 1];
  }

  // Those in which numbers can be told, where there may be room for numbers at all.
  fewestLetters() {
    const { A, B, C, D } = this.matrices;
    const shown = [A, B, D, C].filter((matrix) => matrix && matrix.values.length <= MANY_NUMBERS);
    return this.label === "value" ? JSON.stringify(shown.map(fewestLetters)) : "";
  }

  // C is a strip while it is zero.
  /** @param {Name} name */
  isUnfolded(name) {
    const matrix = this.matrices[name];
    return Boolean(matrix) && (name !== "C" || this.model.get("show_c") || !isZero(matrix));
  }

  // Whether this is a saved page, on which nothing can be changed.
  get isStatic() {
    return Boolean(this.model.get("toolbar")?.static);
  }

  get pinned() {
    return this.model.get("pinned") ?? [];
  }

  // The lanes whose registers are shown, and how each is outlined: the chosen one, and those that are pinned.
  /** @returns {LaneOutline[]} */
  shownLanes() {
    const { lane, pinned } = this;
    const others = pinned.filter((pinnedLane) => pinnedLane !== lane);
    return (pinned.includes(lane) ? pinned : [lane, ...pinned]).map((shownLane) => ({
      lane: shownLane,
      line: 1.25,
      dash: shownLane === lane ? [] : DASHES[others.indexOf(shownLane) % DASHES.length],
    }));
  }
}
