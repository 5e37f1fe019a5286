// The quiz: a bar with the question, which is answered by pointing or by typing. While a question is open,
// nothing else on the screen gives its answer away. Python asks, checks and counts.

import {
  attribute,
  consume,
  focusOn,
  hasModifier,
  make,
  makeButton,
  makeSection,
  makeTextInput,
  write,
} from "../common/dom.js";
import { cellKey } from "./quiz_state.js";

// What may be sent while a question is open: edits would show which register a cell is in.
const ALLOWED = [
  "answer_question",
  "skip_question",
  "next_question",
  "start_quiz",
  "stop_quiz",
  "choose_instruction",
  "request_picker_index",
  "export",
  "resend_matrices",
];
const CLOSED = "Answer or skip the question first: nothing can be changed while it is open.";
/** @type {Record<QuizQuestion["takes"], string>} */
const ANSWER_EXAMPLES = {
  register: "lane … register …",
  cell: "[row][column]",
  text: "number or bits",
  numbers: "numbers",
  words: "number or type",
};

// A cell as an answer names it.
/** @param {Cell} cell */
function cellName({ name, row, column }) {
  if (name === "E") return `E[${row}] chunk ${column}`;
  return `${name === "stored" ? "compressed A" : name}[${row}][${column}]`;
}

export class Quiz {
  /** @param {App} app @param {HTMLElement} parent */
  constructor(app, parent) {
    this.app = app;
    this.content = app.content;
    this.pointing = app.pointing;
    this.selection = app.selection;
    this.scene = app.scene;
    this.state = app.content.quiz;
    this.sent = /** @type {Traits["quiz"] | null} */ (null);
    // the question that is shown, to tell when another one comes
    this.asked = "";
    // pixels that the bar takes
    this.high = 0;
    // the cell on which the pointer went down
    this.pressed = "";
    // whether this view began the quiz, and so takes the focus
    this.began = false;
    const start = () => this.send({ type: "start_quiz" });
    this.start = makeButton(null, "ptx-tool ptx-quiz-start", "Quiz me", start, {
      title: "Answer questions about this instruction: where cells are, what lanes hold",
    });
    this.node = makeSection(parent, "ptx-quiz", "quiz", "quiz");
    this.node.hidden = true;
    const line = make("div", "ptx-quiz-line", this.node);
    this.number = make("span", "ptx-quiz-number", line);
    this.text = make("b", "ptx-quiz-text", line, { "aria-live": "polite" });
    this.input = this.makeAnswer(line);
    /** @param {string} text @param {() => void} act */
    const button = (text, act) => makeButton(line, "ptx-tool", text, act);
    this.check = button("Check", () => this.submit());
    this.skip = button("Skip", () => this.send({ type: "skip_question" }));
    this.next = button("Next", () => this.send({ type: "next_question" }));
    this.again = button("Again", start);
    this.score = make("span", "ptx-quiz-score", line);
    this.stop = button("Stop", () => {
      app.send({ type: "stop_quiz" });
      this.start.focus();
    });
    this.result = make("p", "ptx-quiz-result", this.node, { role: "status" });
    this.listen();
  }

  /** @param {HTMLElement} parent */
  makeAnswer(parent) {
    const input = makeTextInput(parent, "ptx-quiz-answer", { "aria-label": "your answer" });
    input.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") {
        event.preventDefault(); // the focus goes to a button, which would take the same key
        this.submit();
      }
      if (event.key === "Escape") this.leave(input);
    });
    return input;
  }

  // Escape takes back what is typed, then it leaves the quiz.
  /** @param {HTMLInputElement} input */
  leave(input) {
    if (input.value) input.value = "";
    else this.stop.click();
  }

  /** @param {Message} message */
  send(message) {
    this.began = true;
    this.app.send(message);
  }

  // Edits are refused while a question is open; the bar says so.
  /** @param {Message} message */
  refuses(message) {
    if (!this.state.open || ALLOWED.includes(message.type)) return false;
    write(this.result, CLOSED);
    return true;
  }

  submit() {
    const text = this.input.value.trim();
    if (text) this.answer(text);
  }

  /** @param {string} text */
  answer(text) {
    this.send({ type: "answer_question", text });
  }

  // What Python sent last, as soon as there is something to show it on.
  readFromModel() {
    const sent = this.content.model.get("quiz");
    if (sent === this.sent || (!this.scene.panes.length && !this.content.instruction.transfer)) return;
    this.sent = sent;
    this.update(sent);
  }

  /** @param {Traits["quiz"]} sent */
  update(sent) {
    const { app, state, pointing } = this;
    const { open: wasOpen, verdict: before } = state;
    state.read(sent);
    const { question, verdict } = state;
    app.root.classList.toggle("ptx-quiz-on", this.state.data !== null);
    app.root.classList.toggle("ptx-quizzing", this.state.open);
    attribute(app.root, "data-quiz", this.state.open ? (question?.takes ?? "") : "");
    app.header.nameBox.input.disabled = this.state.open;
    this.drawBar();
    const asked = this.state.data && question ? `${this.state.data.number} ${question.text}` : "";
    const isNew = asked !== this.asked;
    this.asked = asked;
    if (question && isNew) this.ask(question);
    const high = this.node.offsetHeight;
    if (high !== this.high) app.layout(); // the matrices fit below it
    this.high = high;
    if (wasOpen !== this.state.open || isNew) {
      pointing.hover(null);
      app.refresh();
    }
    if (isNew && question) this.zoomToRead(question);
    if (verdict && !before) this.showAnswer(verdict);
    this.takeFocus(isNew);
    pointing.drawMarksSoon();
  }

  // There are no questions about moves.
  showStart() {
    this.start.hidden = this.state.data !== null || Boolean(this.content.instruction.transfer);
  }

  // What is in the bar.
  drawBar() {
    const { data, question, verdict } = this.state;
    this.node.hidden = data === null;
    this.showStart();
    if (!data) return;
    write(this.number, question ? `${data.number} of ${data.count}` : "");
    const total = `${data.right} of ${data.answered}`;
    write(this.text, question ? question.text : `Quiz finished: ${total} right.`);
    write(this.score, data.answered && question ? `${total} right` : "");
    const isOpen = this.state.open;
    for (const node of [this.input, this.check, this.skip]) node.hidden = !isOpen;
    this.next.hidden = !verdict;
    this.again.hidden = question !== null;
    write(this.stop, question ? "Stop" : "Close");
    if (question) attribute(this.input, "placeholder", question.example || ANSWER_EXAMPLES[question.takes]);
    if (question) write(this.next, data.number < data.count ? "Next" : "Finish");
    write(this.result, verdict?.sentence ?? (data.problem || (question?.hint ?? "")));
    this.result.classList.toggle("right", verdict?.right === true);
    this.result.classList.toggle("wrong", verdict !== null && !verdict.right && !verdict.skipped);
    this.result.classList.toggle("bad", isOpen && data.problem !== "");
    attribute(this.input, "aria-invalid", isOpen && data.problem !== "");
  }

  // Brings what the question is about into view.
  /** @param {QuizQuestion} question */
  ask(question) {
    const { app, content, selection, scene } = this;
    this.input.value = "";
    app.flights.stop();
    scene.reveal(question.marked);
    if (question.lane < 0) return;
    if (question.lane !== content.lane) selection.chooseLane(question.lane);
    const [, letters, element] = /^([a-z]+)(\d+)$/.exec(question.element) ?? [];
    const name = /** @type {Name} */ (letters?.toUpperCase());
    const [lane] = Object.values(content.model.get("lane_registers")); // all lanes have the same elements
    const registers = lane?.[name] ?? [];
    const register = registers.findIndex(({ fields }) =>
      fields.some((field) => field.element === Number(element)),
    );
    if (register >= 0) app.panel.turnTo(name, register);
  }

  // Numbers that are asked for follow from others: the camera comes so near that they can be read.
  /** @param {QuizQuestion} question */
  zoomToRead({ takes, marked }) {
    const { scene } = this;
    const isRead = scene.panes.every(({ isFolded, layers }) => isFolded || layers[0]?.digits);
    if (isRead || !marked.length || (takes !== "text" && takes !== "numbers")) return;
    scene.zoomTo(scene.camera.legible, null);
    scene.reveal(marked);
  }

  // The right place: its cell is selected, which chooses the lane and turns to the register.
  /** @param {QuizVerdict} verdict */
  showAnswer({ cells }) {
    const { selection, scene } = this;
    const [cell] = cells;
    if (!cell || !scene.paneOf(cell.name)) return;
    selection.select(cell, false);
    scene.reveal(cells);
  }

  // For the answer, or for Enter to go on; but not while the reader works elsewhere on the page.
  /** @param {boolean} isNew */
  takeFocus(isNew) {
    if (!this.began || !this.state.data) return;
    if (this.state.verdict) focusOn(this.next);
    else if (!this.state.question) focusOn(this.again);
    else if (isNew) focusOn(this.input);
  }

  // The element that the question names, among those in the registers.
  markFields() {
    const { app, content } = this;
    const { question } = this.state;
    const wanted = this.state.open && question?.lane === content.lane ? question.element : "";
    for (const { node } of app.panel.fields)
      node.classList.toggle("asked", wanted !== "" && node.dataset.element === wanted);
  }

  // -- answers by pointing, taken before anything else sees them --

  listen() {
    const { root } = this.app;
    root.addEventListener("pointerdown", (event) => this.press(event), true);
    root.addEventListener("click", (event) => this.click(event), true);
    /** @param {MouseEvent} event */
    const ignore = (event) => this.state.open && this.paneAt(event) && event.stopPropagation();
    root.addEventListener("dblclick", ignore, true);
    root.addEventListener("keydown", (event) => this.key(event), true);
  }

  /** @param {MouseEvent} event */
  paneAt(event) {
    return this.scene.panes.find((pane) => pane.frame.contains(/** @type {Node} */ (event.target)));
  }

  // The cell under the pointer; none on a scroll bar.
  /** @param {MouseEvent} event @returns {Cell | null} */
  cellAt(event) {
    const pane = this.paneAt(event);
    if (!pane) return null;
    const box = pane.scroller.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const inside = x >= 0 && y >= 0 && x < pane.scroller.clientWidth && y < pane.scroller.clientHeight;
    return inside ? pane.hit(event) : null;
  }

  /** @param {PointerEvent} event */
  press(event) {
    if (!this.state.open || !this.paneAt(event)) return;
    event.stopPropagation(); // the cell is not selected: its lane would be, too
    const cell = this.cellAt(event);
    this.pressed = cell ? cellKey(cell) : "";
  }

  /** @param {MouseEvent} event */
  click(event) {
    if (!this.state.open) return;
    if (this.paneAt(event)) {
      event.stopPropagation();
      const cell = this.cellAt(event);
      if (cell && this.state.question?.takes === "cell" && cellKey(cell) === this.pressed)
        this.answer(cellName(cell));
      return;
    }
    const target = /** @type {Element} */ (event.target);
    const { operand, lane, register } =
      /** @type {HTMLElement | null} */ (target.closest(".ptx-register")?.querySelector(".ptx-hex"))
        ?.dataset ?? {};
    if (operand === undefined) return;
    event.stopPropagation();
    if (this.state.question?.takes === "register")
      this.answer(`lane ${lane} ${operand} register ${register}`);
  }

  // Arrows move through the cells, Enter answers with one; nothing can be typed into it.
  /** @param {KeyboardEvent} event */
  key(event) {
    const target = /** @type {Element} */ (event.target);
    const isShown = !this.node.hidden && this.node.isConnected;
    if (event.key === "Escape" && isShown && !target.matches("input, .ptx-picker *, dialog *")) {
      consume(event);
      this.stop.click();
      return;
    }
    if (!this.state.open || !target.matches(".ptx-cell")) return;
    const { mark } = this.selection;
    const types = event.key.length === 1 || ["Enter", "F2", "Delete", "Backspace"].includes(event.key);
    if (!types || hasModifier(event)) return;
    consume(event);
    if (event.key === "Enter" && mark && this.state.question?.takes === "cell") this.answer(cellName(mark));
  }
}
