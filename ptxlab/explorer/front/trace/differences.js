// Cells of D in which two chips differ: their number, buttons to step through them and, if there are none, a search
// by Python for inputs that have one.

import { consume, focusOn, focusedIn, make, makeButton, makeIcon, write } from "../common/dom.js";
import { cellOfIndex, differing, indexOfCell } from "../matrix/matrix.js";

export class Differences {
  /** @param {Pick<App, "content" | "selection" | "scene" | "root" | "send">} parts */
  constructor({ content, selection, scene, root, send }) {
    this.content = content;
    this.selection = selection;
    this.scene = scene;
    // while Python searches
    this.busy = false;
    this.node = make("span", "ptx-differences", null, { "data-testid": "differences" });
    this.count = make("em", "", this.node);
    this.arrows = make("span", "ptx-arrows", this.node, { role: "group", "aria-label": "differences" });
    makeIcon(this.arrows, "‹", "Previous difference (Shift+F8)", () => this.goToDifference(-1), "ptx-tool");
    makeIcon(this.arrows, "›", "Next difference (F8)", () => this.goToDifference(1), "ptx-tool");
    const find = () => {
      if (this.busy) return;
      this.setBusy(true);
      send({ type: "find_difference" });
    };
    this.search = makeButton(this.node, "ptx-tool ptx-find", "", find, {
      title: "Fill in inputs on which the two chips give different bits; undo restores yours",
      "data-tool": "find",
    });
    this.setBusy(false);
    root.addEventListener("keydown", (event) => {
      if (event.key !== "F8" || !this.indices().length) return;
      consume(event);
      this.goToDifference(event.shiftKey ? -1 : 1);
    });
  }

  // aria-disabled instead of disabled: a disabled button loses the focus, and Ctrl+Z would go elsewhere.
  /** @param {boolean} busy */
  setBusy(busy) {
    this.busy = busy;
    this.search.setAttribute("aria-disabled", String(busy));
    this.search.textContent = busy ? "searching …" : "find";
    if (!busy) make("span", "", this.search, { text: " a difference" }); // where there is room
  }

  // Cells of D that differ, by their index.
  indices() {
    const { D } = this.content.matrices;
    return D?.differ ? differing(D) : [];
  }

  // Where the selected cell is among those that differ, from 1 on; 0 if it does not differ.
  selected() {
    const { mark } = this.selection;
    if (mark?.name !== "D" || mark.row2 !== undefined) return 0;
    return this.indices().indexOf(indexOfCell(this.content.matrices.D, mark)) + 1;
  }

  // Selects the next difference after the selected cell, or the previous one; wraps around.
  /** @param {number} by */
  goToDifference(by) {
    const { mark } = this.selection;
    const { D } = this.content.matrices;
    const indices = this.indices();
    const outside = by > 0 ? -1 : Infinity;
    const at = mark?.name === "D" ? indexOfCell(D, mark) : outside;
    const after = indices.filter((index) => (by > 0 ? index > at : index < at));
    const among = after.length ? after : indices;
    const cell = cellOfIndex(D, among[by > 0 ? 0 : among.length - 1]);
    this.selection.select(cell, false);
    this.scene.reveal([cell]);
  }

  // In the caption of D, where D is compared.
  update() {
    const { D } = this.content.matrices;
    if (!D?.differ) return;
    if (D.whole) {
      write(this.count, "");
      this.arrows.hidden = this.search.hidden = true;
      return;
    }
    const count = D.differCount;
    const cells = count > 1 ? `${count} cells` : "1 cell";
    const at = this.selected();
    this.count.className = count ? "bad" : "";
    this.count.title = `${D.chips.join(" and ")} ${count ? `differ in ${cells}` : "agree"}`;
    const differ = count > 1 ? "differ" : "differs";
    write(this.count, count ? `${at ? `${at} of ` : ""}${count} ${differ}` : "all agree");
    this.arrows.hidden = !count;
    const hadFocus = focusedIn(this.search) !== null;
    this.search.hidden = Boolean(count) || this.content.isStatic;
    if (hadFocus && this.search.hidden) focusOn(this.scene.paneOf("D")?.input);
  }

  // For the line about the selected cell.
  words() {
    const at = this.selected();
    return at ? [`difference ${at} of ${this.indices().length}`] : [];
  }
}
