// The line about what is pointed at or selected.

import { make, write } from "../common/dom.js";
import { transferHint } from "../tensor/transfers.js";
import { contributionsTo, describeContribution, describeLine } from "./describe.js";
import { lanesOf } from "./matrix.js";

export class Status {
  /** @param {App} app @param {HTMLElement} parent */
  constructor(app, parent) {
    this.app = app;
    this.content = app.content;
    this.selection = app.selection;
    this.node = make("div", "ptx-status", parent, { "aria-live": "polite", "data-testid": "status" });
    this.text = make("div", "ptx-status-text", this.node);
    this.text.addEventListener("click", () => {
      this.node.classList.toggle("ptx-opened"); // all of it, where a line or two are seen
    });
  }

  update() {
    const { content, pointing, selection, panel, timeline, differences } = this.app;
    const { matrices, instruction, quiz, model } = content;
    const { hovered } = pointing;
    const { mark } = selection;
    if (quiz.open) {
      panel.lanes.outline(null, []);
      this.say(hovered?.name ? pointing.facts(hovered) : []);
      return;
    }
    const line = pointing.line ?? selection.line();
    const contributions = this.contributions();
    panel.lanes.outline(line ? lanesOf(matrices, line) : timeline.lanes(), contributions);
    differences.update();
    if (line && !instruction.transfer && (pointing.line || !hovered?.name)) {
      this.say([describeLine(matrices, line, instruction)]);
      return;
    }
    const at = hovered?.name ? hovered : mark;
    if (!at || !matrices[at.name]) {
      const what = instruction.tensor ? "where it is" : "which lane holds it";
      const hint =
        model.get("hint") ?? `Point at a cell to see ${what}; click to select it; type to change it.`;
      this.say([instruction.transfer ? transferHint(instruction, content.isStatic) : hint]);
      return;
    }
    const [value, ...facts] = pointing.facts(at);
    const isSelected = selection.isAt(at);
    // the rows and columns of tcgen05 are always in the same place
    const told = instruction.tensor ? [] : contributions;
    const lanes = told.map((contribution) => describeContribution(matrices, contribution, instruction));
    if (lanes.length) lanes[0] = `outlined: ${lanes[0]}`; // as they are drawn
    const selected = isSelected ? [...differences.words(), ...lanes] : [];
    this.say([value, ...selected, ...facts]);
  }

  // In the corner each part is a line of its own; elsewhere dots stand between them. Nodes are kept, empty if
  // need be, so that only letters change: the page's styles are matched again with every node that comes or goes.
  /** @param {string[]} parts */
  say(parts) {
    const children = /** @type {HTMLCollectionOf<HTMLElement>} */ (this.text.children);
    if (parts.length < 2) while (children.length > 1) children[1].remove(); // a single one looks different
    parts.forEach((part, index) => {
      if (index) write(children[2 * index - 1] ?? make("i", "", this.text), " · ");
      write(children[2 * index] ?? make("span", "", this.text), part);
    });
    for (const node of [...children].slice(Math.max(0, 2 * parts.length - 1))) write(node, "");
  }

  // To the selected cell of D.
  contributions() {
    const { matrices, instruction } = this.content;
    const { mark } = this.selection;
    if (instruction.transfer || mark?.name !== "D" || !matrices.D || mark.row2 !== undefined) return [];
    return contributionsTo(matrices, instruction, mark);
  }
}
