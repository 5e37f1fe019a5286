// Every warp as a small cell, block by block, in the colour of what it does: it comes next, is ready, waits, has ended
// or has not begun. A cell shows the line at which the warp stands.

import { make } from "../common/dom.js";
import { onArrows } from "./cell_keys.js";

const WARP_STATES = /** @type {[string, string][]} */ ([
  ["next", "next"],
  ["ready", "ready"],
  ["waits", "waits"],
  ["ended", "ended"],
  ["not-begun", "not begun"],
]);

export class WarpMap {
  /** @param {HTMLElement} place @param {(warp: number) => void} choose */
  constructor(place, choose) {
    this.box = make("section", "debug-map", place, { "aria-label": "warps" });
    this.head = make("div", "debug-map-head", this.box);
    this.list = make("div", "debug-blocks", this.box);
    this.words = make("p", "debug-warp", this.box);
    this.key = "";
    this.cells = /** @type {Map<number, HTMLElement>} */ (new Map());
    this.list.addEventListener("click", (event) => {
      const cell = /** @type {Element} */ (event.target).closest("[data-warp]");
      if (cell) choose(Number(cell.getAttribute("data-warp")));
    });
    onArrows(this.list);
  }

  /** @param {import("./debugger_view.js").Warps} warps @param {import("./debugger_view.js").Place} _place */
  show({ chosen, rows, count }, _place) {
    const key = JSON.stringify(rows.map(({ warp, block }) => [warp, block]));
    if (key !== this.key) this.build(rows);
    this.key = key;
    this.head.replaceChildren();
    make("h4", "", this.head, { text: `${count} ${count === 1 ? "warp" : "warps"}` });
    const used = new Set(rows.map(({ state }) => state));
    for (const [name, text] of WARP_STATES)
      if (used.has(text)) {
        const item = make("span", "debug-key", this.head, { text });
        item.prepend(make("i", `state-${name}`));
      }
    for (const row of rows) {
      const cell = this.cells.get(row.warp);
      if (!cell) continue;
      const { warp, state, line, ptx_line: ptx, waits, parts, lanes } = row;
      cell.className = `debug-cell state-${state.replace(" ", "-")}${parts > 1 ? " split" : ""}`;
      cell.textContent = line ? String(line) : ptx ? `p${ptx}` : state === "ended" ? "✓" : "·";
      cell.setAttribute("aria-pressed", String(warp === chosen));
      cell.tabIndex = warp === chosen ? 0 : -1;
      const where = line ? ` at line ${line}` : "";
      const split = parts > 1 ? `, its lanes stand at ${parts} places` : lanes < 32 ? `, ${lanes} lanes` : "";
      cell.title = `warp ${warp}: ${state}${where}${waits ? `, for ${waits}` : ""}${split}`;
      cell.setAttribute("aria-label", cell.title);
      if (warp === chosen) this.words.textContent = `${cell.title}${row.opcode ? ` (${row.opcode})` : ""}`;
    }
  }

  /** @param {import("./debugger_view.js").WarpRow[]} rows */
  build(rows) {
    this.cells.clear();
    this.list.replaceChildren();
    const blocks = /** @type {Map<string, HTMLElement>} */ (new Map());
    for (const { warp, block } of rows) {
      const name = block.join(", ");
      let box = blocks.get(name);
      if (!box) {
        const part = make("div", "debug-block", this.list, { role: "group", "aria-label": `block ${name}` });
        make("small", "", part, {
          text: block.slice(1).some(Boolean) ? name : block[0],
          title: `block ${name}`,
        });
        box = make("span", "", part);
        blocks.set(name, box);
      }
      this.cells.set(warp, make("button", "debug-cell", box, { type: "button", "data-warp": warp }));
    }
  }
}
