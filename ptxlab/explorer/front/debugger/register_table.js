// The registers of a warp, a column for each lane in its colour. Those that the next instruction uses come first, then
// those that changed. A click on a value asks who wrote it.

import { make, makeButton, write } from "../common/dom.js";
import { onArrows } from "./cell_keys.js";

const LANE_NUMBERS = Array.from({ length: 32 }, (_, lane) => lane);
const ROLE_WORDS = /** @type {Record<string, string>} */ ({ read: "read next", written: "written next" });
const FEW_REGISTERS = 14; // rows that are shown at first

export class RegisterTable {
  /**
   * @param {HTMLElement} place
   * @param {{ ask: (register: string, lane: number) => void, watch: (register: string) => void }} listeners
   */
  constructor(place, { ask, watch }) {
    this.box = make("section", "debug-registers", place, { "aria-label": "registers" });
    this.isWhole = false; // whether all registers are shown
    this.head = make("div", "debug-registers-head", this.box);
    this.title = make("h4", "", this.head);
    this.filter = make("input", "", this.head, {
      type: "text",
      spellcheck: false,
      placeholder: "find: %r4, x …",
      "aria-label": "find registers",
    });
    this.filter.addEventListener("input", () => this.draw());
    this.all = makeButton(this.head, "debug-move", "", () => {
      this.isWhole = !this.isWhole;
      this.draw();
    });
    this.note = make("span", "debug-note", this.head, { text: "click a value: who wrote it?" });
    this.scroll = make("div", "debug-lanes", this.box, { tabindex: 0, role: "group", "aria-label": "lanes" });
    const table = make("table", "", this.scroll);
    const head = make("tr", "", make("thead", "", table));
    make("th", "name", head, { text: "lane", scope: "col" });
    for (const lane of LANE_NUMBERS)
      make("th", "", head, {
        text: lane,
        scope: "col",
      }).style.cssText = `background: var(--lane${lane}); color: var(--on-lane${lane})`;
    this.body = make("tbody", "", table);
    this.rows = /** @type {{ row: HTMLElement, name: HTMLElement, cells: HTMLElement[] }[]} */ ([]);
    this.body.addEventListener("click", (event) => {
      const target = /** @type {Element} */ (event.target);
      const register = target.closest("tr")?.dataset.register;
      const lane = target.closest("[data-lane]")?.getAttribute("data-lane");
      if (register && lane) ask(register, Number(lane));
      else if (register && target.closest(".watch")) watch(register);
    });
    onArrows(this.body, () => 33);
    this.shown = /** @type {import("./debugger_view.js").DebuggerRegisters | null} */ (null);
  }

  /** @param {import("./debugger_view.js").DebuggerRegisters} registers */
  show(registers) {
    this.shown = registers;
    this.draw();
  }

  draw() {
    if (!this.shown) return;
    const { warp, rows, hidden, note } = this.shown;
    const word = this.filter.value.trim().toLowerCase();
    const found = rows.filter(({ name, means }) => `${name} ${means}`.toLowerCase().includes(word));
    const shown = this.isWhole || word ? found : found.slice(0, FEW_REGISTERS);
    write(this.title, `registers of warp ${warp}`);
    write(this.note, note || "click a value: who wrote it?");
    this.all.hidden = rows.length <= FEW_REGISTERS || Boolean(word);
    write(this.all, this.isWhole ? "fewer" : `all ${rows.length + hidden}`);
    while (this.rows.length < shown.length) this.rows.push(this.addRow());
    while (this.rows.length > shown.length) this.rows.pop()?.row.remove();
    this.rows.forEach(({ row, name, cells }, index) => {
      const { name: register, means, role, values, changed } = shown[index];
      const isChanged = new Set(changed);
      const isUniform = values.every((value) => value === values[0]);
      row.dataset.register = register;
      row.className = role ? `role-${role}` : "";
      write(name.children[0], means ? `${register} ${means}` : register);
      write(name.children[1], ROLE_WORDS[role] ?? "");
      cells.forEach((cell, lane) => {
        const box = /** @type {HTMLTableCellElement} */ (cell.parentElement);
        box.hidden = isUniform && lane > 0;
        box.colSpan = isUniform ? 32 : 1;
        write(cell, isUniform ? `${values[0]} in every lane` : values[lane]);
        cell.classList.toggle("changed", isChanged.has(lane));
        cell.tabIndex = index === 0 && lane === 0 ? 0 : -1;
        cell.setAttribute("aria-label", `${register}, lane ${lane}: ${values[lane]}`);
      });
    });
  }

  addRow() {
    const row = make("tr", "", this.body);
    const name = make("th", "name", row, { scope: "row" });
    make("span", "", name);
    make("small", "", name);
    makeButton(name, "watch", "◇", () => {}, {
      title: "stop where it changes",
      tabindex: -1,
      "aria-label": "watch",
    });
    const cells = LANE_NUMBERS.map((lane) =>
      make("button", "", make("td", "", row), { type: "button", "data-lane": lane }),
    );
    return { row, name, cells };
  }
}
