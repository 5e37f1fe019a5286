// An array, shared memory or tensor memory as a matrix, through any type, width and swizzle. What changed since it was
// shown last is marked; a click on an element asks who wrote it.

import { make, makeButton, makeLabel, write } from "../common/dom.js";
import { onArrows } from "./cell_keys.js";

const MOST_CELLS = 32; // rows and columns at once

export class MemoryMatrix {
  /** @param {HTMLElement} place @param {(message: object) => void} send */
  constructor(place, send) {
    this.send = send;
    this.box = make("section", "debug-memory", place, { "aria-label": "memory" });
    const head = make("div", "debug-memory-head", this.box);
    this.what = make("select", "", head, { "aria-label": "what is shown" });
    this.what.addEventListener("change", () => send({ type: "show_memory", what: this.what.value }));
    const form = make("details", "debug-layout", head);
    make("summary", "", form, { text: "layout" });
    const fields = make("div", "", form);
    this.type = make("select", "", makeLabel(fields, "as"), { "aria-label": "as" });
    this.type.addEventListener("change", () => send({ type: "show_memory", dtype: this.type.value }));
    this.swizzle = make("select", "", makeLabel(fields, "swizzle"), { "aria-label": "swizzle" });
    for (const bytes of [0, 32, 64, 128])
      make("option", "", this.swizzle, { text: bytes ? `${bytes} bytes` : "none", value: bytes });
    this.swizzle.addEventListener("change", () =>
      send({ type: "show_memory", swizzle: Number(this.swizzle.value) }),
    );
    this.fields = ["rows", "columns", "offset"].map((name) => this.field(fields, name));
    this.moves = make("div", "debug-window", head);
    this.chosen = make("div", "debug-element", this.box);
    this.note = make("p", "debug-note", this.box);
    this.scroll = make("div", "debug-cells", this.box, {
      tabindex: 0,
      role: "group",
      "aria-label": "elements",
    });
    this.at = /** @type {{ row: number, column: number } | null} */ (null);
    this.shown = /** @type {import("./debugger_view.js").ShownMemory | null} */ (null);
    this.scroll.addEventListener("click", (event) => {
      const cell = /** @type {HTMLElement | null} */ (
        /** @type {Element} */ (event.target).closest("[data-at]")
      );
      if (!cell) return;
      const [row, column] = String(cell.dataset.at).split(" ").map(Number);
      this.at = { row, column };
      this.draw();
      send({ type: "who_wrote", row, column });
    });
    onArrows(this.scroll, () => this.shown?.cells[0]?.length ?? 1);
  }

  /** @param {HTMLElement} place @param {string} name */
  field(place, name) {
    const input = make("input", "debug-number", makeLabel(place, name), {
      type: "number",
      min: 0,
      "aria-label": name,
    });
    input.addEventListener("change", () =>
      this.send({ type: "show_memory", [name]: Math.trunc(Number(input.value)) }),
    );
    return { name, input };
  }

  /** @param {import("./debugger_view.js").ShownMemory} memory */
  show(memory) {
    if (memory.what !== this.shown?.what) this.at = null;
    this.shown = memory;
    this.draw();
  }

  draw() {
    const memory = this.shown;
    if (!memory) return;
    const { what, choices, types, dtype, swizzle, cells, changed, row, column, rows, columns, note } = memory;
    setChoices(this.what, choices, what);
    setChoices(
      this.type,
      types.map((name) => [name, name]),
      dtype,
    );
    this.swizzle.value = String(swizzle);
    for (const { name, input } of this.fields)
      if (document.activeElement !== input) input.value = String(memory[/** @type {"rows"} */ (name)]);
    write(this.note, note);
    this.note.hidden = !note;
    this.drawWindow(row, rows, column, columns);
    this.drawElement();
    const isChanged = new Set(changed.map(([down, across]) => `${down} ${across}`));
    const table = make("table", "");
    const head = make("tr", "", make("thead", "", table));
    make("td", "", head);
    for (const at of cells[0]?.keys() ?? []) make("th", "", head, { text: column + at, scope: "col" });
    const body = make("tbody", "", table);
    cells.forEach((texts, down) => {
      const line = make("tr", "", body);
      make("th", "", line, { text: row + down, scope: "row" });
      texts.forEach((text, across) => {
        const at = `${row + down} ${column + across}`;
        const cell = make(
          "button",
          isChanged.has(`${down} ${across}`) ? "changed" : "",
          make("td", "", line),
          {
            type: "button",
            text,
            "data-at": at,
            tabindex: down || across ? -1 : 0,
            "aria-label": `[${row + down}][${column + across}]: ${text}`,
          },
        );
        if (text === "0") cell.classList.add("zero");
        if (this.at && at === `${this.at.row} ${this.at.column}`) cell.setAttribute("aria-pressed", "true");
      });
    });
    this.scroll.replaceChildren(table);
    this.scroll.hidden = cells.length === 0;
  }

  // Which rows and columns are shown, and those before and after them.
  /** @param {number} row @param {number} rows @param {number} column @param {number} columns */
  drawWindow(row, rows, column, columns) {
    this.moves.replaceChildren();
    for (const [name, first, count] of /** @type {[string, number, number][]} */ ([
      ["row", row, rows],
      ["column", column, columns],
    ])) {
      if (count <= MOST_CELLS) continue;
      const last = Math.min(first + MOST_CELLS, count) - 1;
      /** @param {string} text @param {number} to @param {string} label */
      const go = (text, to, label) =>
        makeButton(this.moves, "debug-move", text, () => this.send({ type: "show_memory", [name]: to }), {
          "aria-label": label,
        });
      if (first > 0) go("‹", Math.max(0, first - MOST_CELLS), `${name}s before`);
      make("span", "", this.moves, { text: `${name}s ${first}–${last} of ${count}` });
      if (last + 1 < count) go("›", first + MOST_CELLS, `${name}s after`);
    }
  }

  drawElement() {
    this.chosen.replaceChildren();
    this.chosen.hidden = this.at === null;
    if (!this.at) return;
    const { row, column } = this.at;
    make("b", "", this.chosen, { text: `[${row}][${column}]` });
    for (const [text, more] of /** @type {[string, object][]} */ ([
      ["stop where it changes", {}],
      ["stop where it becomes a NaN", { nan: true }],
    ]))
      makeButton(this.chosen, "debug-move", text, () =>
        this.send({ type: "set_watch", row, column, ...more }),
      );
  }
}

/** @param {HTMLSelectElement} select @param {[string, string][]} choices value and text @param {string} chosen */
function setChoices(select, choices, chosen) {
  const key = JSON.stringify(choices);
  if (select.dataset.choices !== key) {
    select.dataset.choices = key;
    select.replaceChildren(...choices.map(([value, text]) => make("option", "", null, { value, text })));
  }
  select.value = chosen;
}
