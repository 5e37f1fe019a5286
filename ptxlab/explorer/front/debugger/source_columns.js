// The source and its PTX side by side, lines that belong together in one colour: where warps stand, breakpoints in the
// margin, and the line that comes next.

import { addTokens, shadesOf } from "../common/code_text.js";
import { make } from "../common/dom.js";

/** @typedef {import("./debugger_view.js").DebuggerView} DebuggerView */
/** @typedef {{ row: HTMLElement, point: HTMLElement, who: HTMLElement, number: number, line: number }} CodeRow */

export class SourceColumns {
  /**
   * @param {HTMLElement} place
   * @param {import("./debugger_view.js").Program} program
   * @param {{ choose: (line: number, ptx: boolean) => void, toggle: (line: number, ptx: boolean) => void }} listeners
   */
  constructor(place, { columns, code }, { choose, toggle }) {
    const box = make("div", "debug-source", place);
    const hasCode = new Set(code);
    const shades = shadesOf(columns[columns.length - 1].lines);
    this.columns = columns.map(({ name, ptx, texts, numbers, lines }) => {
      const section = make("section", "", box, { "aria-label": name });
      make("h4", "", section, { text: name });
      const list = make("div", "debug-code", section, {
        tabindex: 0,
        role: "group",
        "aria-label": `lines of ${name}`,
      });
      const table = make("div", "debug-rows", list);
      const rows = texts.map((parts, index) => {
        const number = numbers[index];
        const shade = shades.get(lines[index]) ?? "";
        const row = make("div", `debug-line ${shade}`, table);
        const canStop = ptx ? true : hasCode.has(number);
        const point = make(
          canStop ? "button" : "span",
          "point",
          row,
          canStop ? { type: "button", tabindex: -1 } : {},
        );
        if (canStop) {
          point.setAttribute("aria-label", `breakpoint at ${ptx ? "PTX " : ""}line ${number}`);
          point.addEventListener("click", () => toggle(number, ptx));
        }
        make("span", "at", row, { text: number });
        const who = make("span", "who", row);
        const text = make("span", "text", row);
        addTokens(text, /** @type {any} */ (parts));
        if (canStop) text.addEventListener("click", () => choose(number, ptx));
        row.addEventListener("pointerenter", () => this.light(lines[index]));
        return /** @type {CodeRow} */ ({ row, point, who, number, line: lines[index] });
      });
      list.addEventListener("pointerleave", () => this.light(0));
      return { ptx, list, rows, shown: -1 };
    });
    this.lit = 0;
  }

  // The lines of both columns that belong to a line of the source.
  /** @param {number} line */
  light(line) {
    if (line === this.lit) return;
    this.lit = line;
    if (this.columns.length < 2) return;
    for (const { rows } of this.columns)
      for (const { row, line: own } of rows) row.classList.toggle("lit", line > 0 && own === line);
  }

  /** @param {DebuggerView} view */
  show({ model, line: cursor }) {
    const place = model.get("place");
    const { rows: warps, chosen } = model.get("warps");
    const { breakpoints } = model.get("points");
    const own = warps.find(({ warp }) => warp === chosen);
    for (const column of this.columns) {
      const { ptx, rows } = column;
      const lineOf = (/** @type {import("./debugger_view.js").WarpRow} */ warp) =>
        ptx ? warp.ptx_line : warp.line;
      const here = /** @type {Map<number, number[]>} */ (new Map());
      for (const warp of warps)
        if (lineOf(warp)) here.set(lineOf(warp), [...(here.get(lineOf(warp)) ?? []), warp.warp]);
      const next = ptx ? place.ptx_line : place.line;
      const mine = own ? lineOf(own) : 0;
      for (const { row, point, who, number } of rows) {
        const stop = breakpoints.find((item) => item.line === number && item.ptx === ptx);
        row.classList.toggle("next", number === next);
        row.classList.toggle("mine", number === mine);
        row.classList.toggle("cursor", cursor.line === number && cursor.ptx === ptx);
        point.classList.toggle("set", Boolean(stop));
        if (stop) point.title = stop.when ? `stops if ${stop.when}` : "stops here";
        else if (point.title) point.title = "";
        const text = warpsText(here.get(number) ?? []);
        if (who.textContent !== text) who.textContent = text;
      }
      const shown = mine || next;
      if (shown === column.shown || !column.list.clientHeight) continue; // or not on the page yet
      reveal(column.list, rows.find(({ number }) => number === shown)?.row);
      column.shown = shown;
    }
  }
}

// "w3", or how many.
/** @param {number[]} warps */
export const warpsText = (warps) =>
  warps.length === 0
    ? ""
    : warps.length < 3
      ? warps.map((warp) => `w${warp}`).join(" ")
      : `${warps.length} w`;

// Scrolls a list, not the page.
/** @param {HTMLElement} list @param {HTMLElement | undefined} row */
function reveal(list, row) {
  if (!row) return;
  const top = row.offsetTop - list.offsetTop;
  if (top < list.scrollTop + 20 || top > list.scrollTop + list.clientHeight - 40)
    list.scrollTop = top - list.clientHeight / 2;
}
