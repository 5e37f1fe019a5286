// A box that takes the name of a cell, a row, a lane or an element, and goes there.

import { make, write } from "./util.js";
import { placeNamed } from "./names.js";

export class NameBox {
  /** @param {App} app @param {HTMLElement} parent */
  constructor(app, parent) {
    this.app = app;
    this.node = make("span", "ptx-name-box", parent);
    this.input = make("input", "ptx-name", this.node, {
      type: "text",
      spellcheck: "false",
      autocomplete: "off",
      placeholder: "go to D[3][5]",
      "aria-label": "go to a cell, a row, a lane or an element",
      title:
        "Go to D[3][5], A[9], lane 14, lane 14 d3, d3 (of the chosen lane), E[9] chunk 4; Enter goes there",
    });
    this.problem = make("span", "ptx-name-problem", this.node, { role: "alert" });
    this.input.addEventListener("focus", () => this.input.select());
    this.input.addEventListener("input", () => this.report(""));
    this.input.addEventListener("keydown", (event) => {
      if (event.key !== "?" || this.input.value) event.stopPropagation();
      if (event.key === "Enter") this.go();
      if (event.key !== "Escape") return;
      this.input.value = "";
      this.report("");
    });
  }

  // An example of a name that is there.
  suggest() {
    const { D, A } = this.app.matrices;
    const named = this.app.instruction.move ? `${(A ?? D).label}[3][1]` : "D[3][5]";
    this.input.placeholder = `go to ${named}`;
  }

  /** @param {string} sentence */
  report(sentence) {
    write(this.problem, sentence);
    this.input.setAttribute("aria-invalid", String(sentence !== ""));
  }

  go() {
    const { app } = this;
    if (!this.input.value.trim() || !app.matrices.D) return;
    const place = placeNamed(app, this.input.value);
    this.report(place.problem ?? "");
    if (place.lane !== undefined) app.chooseLane(place.lane);
    const name = place.cell?.name ?? place.line?.name;
    if (!name) return;
    const select = () => {
      if (place.cell) app.selection.select(place.cell);
      if (place.line) app.selection.selectLine(place.line);
      app.paneOf(name)?.node.scrollIntoView({ block: "nearest" });
    };
    if (app.instruction.move && place.cell) {
      app.selection.select(place.cell, false);
      app.tensor.reveal(place.cell);
    } else if (app.paneOf(name)) select();
    else {
      app.model.set("show_c", true); // only C is not always shown
      app.model.save_changes();
      window.setTimeout(select);
    }
  }
}
