// The editor of a kernel: a text with the numbers of its lines beside it, in which lines with hazards are marked.
// What one types stands in a field whose letters are not seen; the same text in colours is below it.

import { addTokens, isLit, tokenLines } from "./common/code_text.js";
import { make } from "./common/dom.js";
import { warpsText } from "./debugger/source_columns.js";

/**
 * @typedef {import("./common/code_text.js").Lines} Lines
 * @typedef {{ line: number, text: string }} KernelRemark
 * @typedef {{ line: number, count: number, share: number, conflicts: number, about: string }} KernelCount
 * @typedef {{ next: number, cursor: number, here: Map<number, number[]>, stops: Set<number> }} KernelPlace where a
 *   debugger is: the next line, the chosen one, the warps at lines, breakpoints
 */

const ROW = 18; // pixels of a line, as the style sheet has it
const ABOVE = 8; // the first line
const BEYOND = 4; // lines drawn before and after those in view

export class KernelEditor {
  /**
   * @param {HTMLElement} place
   * @param {import("./common/code_text.js").Syntax} syntax
   * @param {{ changed: () => void, lit: (lines: Lines | null, isCaret: boolean) => void,
   *   pressed: (line: number) => void }} listeners
   */
  constructor(place, syntax, { changed, lit, pressed }) {
    const box = make("div", "ptx-editor", place);
    this.syntax = syntax;
    this.language = "ptx";
    this.numbers = make("div", "ptx-editor-numbers", box, { "aria-hidden": true });
    this.numbers.addEventListener("click", ({ target }) => {
      const row = /** @type {Element} */ (target).closest(".ptx-editor-numbers > span");
      if (row) pressed([...this.numbers.children].indexOf(row) + 1);
    });
    const code = make("div", "ptx-editor-code", box);
    this.shown = make("div", "ptx-editor-shown kernel-code", code, { "aria-hidden": true });
    this.text = make("textarea", "ptx-editor-text", code, {
      spellcheck: false,
      autocapitalize: "off",
      wrap: "off",
      "aria-label": "PTX",
    });
    this.lines = tokenLines("", this.language, syntax);
    this.marks = /** @type {Map<number, { kind: string, text: string }>} */ (new Map());
    this.counts = /** @type {Map<number, KernelCount>} */ (new Map());
    this.place = /** @type {KernelPlace | null} */ (null);
    this.shades = /** @type {Map<number, string>} */ (new Map());
    this.lit = /** @type {Lines | null} */ (null);
    this.isStale = false; // whether the numbers are drawn with the next frame: a text may come line by line
    this.text.addEventListener("input", () => {
      this.marks.clear();
      this.counts.clear();
      this.place = null;
      if (!this.isStale) requestAnimationFrame(() => this.drawLines());
      this.isStale = true;
      changed();
    });
    this.text.addEventListener("scroll", () => this.drawText());
    this.text.addEventListener("pointermove", (event) => {
      const line = Math.floor((event.offsetY + this.text.scrollTop - ABOVE) / ROW) + 1;
      lit(line >= 1 && line <= this.lines.length ? { first: line, last: line } : null, false);
    });
    this.text.addEventListener("pointerleave", () => lit(this.caretLines(), false));
    document.addEventListener("selectionchange", () => {
      if (document.activeElement === this.text) lit(this.caretLines(), true);
    });
    new ResizeObserver(() => this.drawText()).observe(this.text);
  }

  get value() {
    return this.text.value;
  }

  /** @param {string} text */
  set value(text) {
    this.text.value = text;
    this.marks.clear();
    this.counts.clear();
    this.text.scrollTop = this.text.scrollLeft = 0;
    this.text.setSelectionRange(0, 0);
    this.drawLines();
  }

  /** @param {"cuda" | "ptx"} language */
  setLanguage(language) {
    this.language = language;
    this.text.setAttribute("aria-label", language === "ptx" ? "PTX" : "CUDA C++");
    this.drawLines();
  }

  // The lines that are selected, or that of the caret, while keys go here.
  caretLines() {
    if (document.activeElement !== this.text) return null;
    const { value, selectionStart, selectionEnd } = this.text;
    /** @param {number} at */
    const lineAt = (at) => value.slice(0, at).split("\n").length;
    return { first: lineAt(selectionStart), last: lineAt(selectionEnd) };
  }

  /** @param {KernelRemark[]} hazards @param {KernelRemark[]} notes @param {KernelCount[]} counts */
  markLines(hazards, notes, counts = []) {
    this.marks.clear();
    this.counts = new Map(counts.map((count) => [count.line, count]));
    for (const { line, text } of notes) this.marks.set(line, { kind: "note", text });
    for (const { line, text } of hazards) this.marks.set(line, { kind: "hazard", text });
    this.drawLines();
  }

  // Where a debugger is; null without one.
  /** @param {KernelPlace | null} place */
  showPlace(place) {
    const former = this.place?.next;
    this.place = place;
    this.drawLines();
    if (place && place.next && place.next !== former) this.scrollTo(place.next);
  }

  // The colours of lines, and which lines are those that the pointer or the caret is on, here or in the PTX.
  /** @param {Map<number, string>} shades */
  shade(shades) {
    this.shades = shades;
    this.drawText();
  }

  /** @param {Lines | null} lit */
  light(lit) {
    if (lit?.first === this.lit?.first && lit?.last === this.lit?.last) return;
    this.lit = lit;
    this.drawText();
  }

  drawLines() {
    this.isStale = false;
    this.lines = tokenLines(this.text.value, this.language, this.syntax);
    this.numbers.replaceChildren(...this.lines.map((_, index) => this.numberOf(index + 1)));
    this.drawText();
  }

  // What stands before a line: a breakpoint, warps, how often it was executed, conflicts, and its number.
  /** @param {number} line */
  numberOf(line) {
    const [mark, count, place] = [this.marks.get(line), this.counts.get(line), this.place];
    const title = [mark?.text, count?.about].filter(Boolean).join("\n");
    const row = make("span", mark?.kind ?? "", null, title ? { title } : {});
    if (place) {
      row.classList.toggle("chosen", place.cursor === line);
      make("i", place.stops.has(line) ? "point set" : "point", row);
      make("i", "who", row, { text: warpsText(place.here.get(line) ?? []) });
    }
    if (this.counts.size) {
      if ([...this.counts.values()].some(({ conflicts }) => conflicts))
        make("i", "conflicts", row, { text: count?.conflicts ? `+${count.conflicts}` : "" });
      const heat = make("i", "heat", row, { text: count?.count.toLocaleString("en") ?? "" });
      heat.style.setProperty("--share", `${Math.round(100 * (count?.share ?? 0))}%`);
    }
    make("b", "", row, { text: line });
    return row;
  }

  // The lines in view.
  drawText() {
    const { scrollTop, scrollLeft, clientHeight } = this.text;
    const first = Math.max(0, Math.floor(scrollTop / ROW) - BEYOND);
    const last = Math.ceil((scrollTop + clientHeight) / ROW) + BEYOND;
    this.numbers.scrollTop = scrollTop;
    this.shown.replaceChildren(
      ...this.lines.slice(first, last).map((parts, index) => {
        const line = first + index + 1;
        const row = make("div", this.shades.get(line) ?? "");
        row.classList.toggle("lit", isLit(this.lit, line));
        row.classList.toggle("next", this.place?.next === line);
        addTokens(row, parts);
        return row;
      }),
    );
    this.shown.style.transform = `translate(${-scrollLeft}px, ${first * ROW - scrollTop}px)`;
  }

  /** @param {number} line */
  selectLine(line) {
    const lines = this.text.value.split("\n");
    if (line < 1 || line > lines.length) return;
    const start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    this.text.focus();
    this.text.setSelectionRange(start, start + lines[line - 1].length);
    this.scrollTo(line);
  }

  /** @param {number} line */
  scrollTo(line) {
    const top = ABOVE + (line - 1) * ROW;
    const { scrollTop, clientHeight } = this.text;
    if (top < scrollTop || top + ROW > scrollTop + clientHeight) this.text.scrollTop = top - clientHeight / 2;
  }
}
