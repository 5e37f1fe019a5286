// The PTX that C++ was compiled to, in the colours of the lines that it comes from; before that, the offer to load
// the compiler, and while it comes, how far it is.

import { addTokens, isLit, shadesOf, tokenLines } from "./common/code_text.js";
import { make, makeButton } from "./common/dom.js";

/** @typedef {import("./common/code_text.js").Lines} Lines */

/** @param {number} bytes */
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

export class KernelPtx {
  /**
   * @param {HTMLElement} place
   * @param {import("./common/code_text.js").Syntax} syntax
   * @param {{ lit: (lines: Lines | null) => void, chosen: (line: number) => void }} listeners
   */
  constructor(place, syntax, { lit, chosen }) {
    this.box = make("section", "kernel-ptx", place, { "aria-label": "compiled PTX" });
    this.syntax = syntax;
    const head = make("header", "", this.box);
    make("b", "", head, { text: "PTX" });
    this.said = make("span", "", head, { role: "status" });
    this.body = make("div", "kernel-ptx-lines kernel-code", this.box, {
      tabindex: 0,
      role: "group",
      "aria-label": "lines of PTX",
    });
    this.shades = /** @type {Map<number, string>} */ (new Map());
    this.body.addEventListener("pointerover", (event) => {
      const line = lineOf(event.target);
      lit(line ? { first: line, last: line } : null);
    });
    this.body.addEventListener("pointerleave", () => lit(null));
    this.body.addEventListener("click", (event) => {
      const line = lineOf(event.target);
      if (line) chosen(line);
    });
  }

  /** @param {number} bytes @param {() => void} load */
  offer(bytes, load) {
    this.said.textContent = "";
    this.shades = new Map();
    const offer = make("div", "kernel-offer");
    make("p", "", offer, {
      text: `Clang 22 compiles C++ in this tab. It is loaded once, ${megabytes(bytes)}, and kept by the browser.`,
    });
    makeButton(offer, "ask-go", `Load Clang and compile`, load);
    this.body.replaceChildren(offer);
  }

  /** @param {number} done @param {number} total */
  showProgress(done, total) {
    const offer = make("div", "kernel-offer");
    const text =
      done < total ? `Loading Clang: ${megabytes(done)} of ${megabytes(total)}` : "Starting Clang …";
    make("p", "", offer, { text, role: "status" });
    make("progress", "", offer, { max: total, value: done, "aria-label": "how far Clang has loaded" });
    this.body.replaceChildren(offer);
  }

  showWaiting() {
    this.said.textContent = "compiling …";
  }

  /**
   * @param {{ lines: string[], sources: number[], numbers: number[] }} listing
   * @param {string} compiler
   * @param {number} seconds
   */
  showLines({ lines, sources, numbers }, compiler, seconds) {
    this.shades = shadesOf(sources);
    this.said.textContent = `${compiler}, ${seconds.toFixed(1)} s`;
    const rows = tokenLines(lines.join("\n"), "ptx", this.syntax).map((parts, index) => {
      const source = sources[index];
      const row = make("div", this.shades.get(source) ?? "", null, {
        "data-line": source,
        "data-ptx": numbers[index],
      });
      make("span", "kernel-ptx-source", row, { text: source || "" });
      addTokens(make("span", "", row), parts);
      return row;
    });
    const rowsBox = make("div", "kernel-ptx-rows");
    rowsBox.append(...rows);
    this.body.replaceChildren(rowsBox);
  }

  /**
   * @param {string} problem
   * @param {(() => void) | null} show the line that it is about
   * @param {(() => void) | null} again asks once more
   */
  showProblem(problem, show, again) {
    this.said.textContent = "not compiled";
    this.shades = new Map();
    const box = make("div", "kernel-offer");
    make("p", "answer-problem", box, { text: problem, role: "alert" });
    if (show) makeButton(box, "ask-example", "show the line", show);
    if (again) makeButton(box, "ask-go", "Try again", again);
    this.body.replaceChildren(box);
  }

  // Marks the instruction that comes next in a debugger.
  /** @param {number} line of the PTX, 0 for none */
  showPlace(line) {
    for (const row of this.body.querySelectorAll(".next")) row.classList.remove("next");
    const row = /** @type {HTMLElement | null} */ (this.body.querySelector(`[data-ptx="${line}"]`));
    if (!row) return;
    row.classList.add("next");
    this.reveal(row);
  }

  // Scrolls to the first of the lines if the caret is there, not if the pointer only passes.
  /** @param {Lines | null} lit @param {boolean} isCaret */
  light(lit, isCaret) {
    let isFirst = isCaret;
    for (const row of /** @type {NodeListOf<HTMLElement>} */ (this.body.querySelectorAll("[data-line]"))) {
      const isThis = Number(row.dataset.line) > 0 && isLit(lit, Number(row.dataset.line));
      row.classList.toggle("lit", isThis);
      if (!isThis || !isFirst) continue;
      isFirst = false;
      this.reveal(row);
    }
  }

  /** @param {HTMLElement} row */
  reveal(row) {
    const top = row.offsetTop - this.body.offsetTop;
    const { scrollTop, clientHeight } = this.body;
    if (top < scrollTop || top + row.offsetHeight > scrollTop + clientHeight)
      this.body.scrollTop = top - clientHeight / 3;
  }
}

/** @param {EventTarget | null} target */
const lineOf = (target) =>
  Number(/** @type {Element | null} */ (target)?.closest("[data-line]")?.getAttribute("data-line") ?? 0);
