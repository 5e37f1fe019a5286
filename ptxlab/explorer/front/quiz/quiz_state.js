// The quiz as Python sent it: the question, the verdict on the answer, and what must stay hidden until then.

/** @param {Cell} cell */
export const cellKey = ({ name, row, column }) => `${name} ${row} ${column}`;

export class QuizState {
  constructor() {
    this.data = /** @type {QuizData | null} */ (null);
    this.masked = /** @type {Set<string>} */ (new Set());
  }

  /** @param {Traits["quiz"]} sent */
  read(sent) {
    this.data = sent?.count ? sent : null;
    this.masked = new Set((this.question?.masked ?? []).map(cellKey));
  }

  /** @returns {QuizQuestion | null} */
  get question() {
    const question = this.data?.question;
    return question?.text ? question : null;
  }

  /** @returns {QuizVerdict | null} */
  get verdict() {
    const verdict = this.data?.verdict;
    return verdict?.sentence ? verdict : null;
  }

  // Whether a question waits for its answer: then everything is hidden that would give it away.
  get open() {
    return this.question !== null && this.verdict === null;
  }

  // What the drawing depends on.
  get look() {
    return this.open ? `open ${[...this.masked].join()}` : "";
  }

  /** @param {Name} name @param {number} row @param {number} column */
  masks(name, row, column) {
    return this.open && this.masked.size > 0 && this.masked.has(cellKey({ name, row, column }));
  }

  // Cells to mark: what the question is about; then what is right, and what was answered instead.
  /** @returns {{ asked: Cell[], right: Cell[], wrong: Cell[] }} */
  marks() {
    const { question, verdict } = this;
    if (verdict) return { asked: [], right: verdict.cells, wrong: verdict.chosen };
    return { asked: question?.marked ?? [], right: [], wrong: [] };
  }
}
