// The bar above tensor memory: what colours mean, D before or after the instruction, zoom, and a summary.

import { attribute, fillSelect, make, makeIcon, makeSelect, paint, write } from "../common/dom.js";
import { Controls } from "../common/controls.js";
import { ZOOMS } from "../common/canvas_grid.js";
import { tint } from "../memory/byte_map.js";
import { roveTabindex, nextInBar } from "../common/roving_tabindex.js";
import { operandColour } from "./draw_tensor.js";

const TENSOR_COLOURS = /** @type {Choice<TensorColour>[]} */ ([
  ["matrix", "operand"],
  ["row", "row"],
  ["column", "column"],
  ["scale", "scale"],
  ["thread", "thread"],
  ["value", "value"],
]);

export class TensorControls {
  /** @param {TensorView} view @param {HTMLElement} parent */
  constructor(view, parent) {
    this.view = view;
    this.bar = make("div", "ptx-memory-bar", parent, { role: "toolbar", "aria-label": "tensor memory" });
    this.title = make("b", "", this.bar, { text: "Tensor memory" });
    const moved = make("span", "ptx-memory-controls ptx-transfer-controls", this.bar, {
      "data-testid": "transfer-controls",
    });
    this.transferControls = new Controls(moved, "data-transfer", (name, value, node) =>
      view.send({ type: "set_transfer", name, text: String(value) }, { node }),
    );
    const controls = make("span", "ptx-memory-controls", this.bar);
    this.colours = makeSelect(controls, "Colour", { title: "What the colours mean" });
    this.colours.addEventListener("change", () => {
      view.colour = /** @type {TensorColour} */ (this.colours.value);
      view.draw();
      this.update();
    });
    this.times = makeSelect(controls, "D", { title: "D after the instruction, or before it: then it is C" });
    make("option", "", this.times, { value: "after", text: "after" });
    make("option", "", this.times, { value: "before" });
    this.times.addEventListener("change", () => {
      view.before = this.times.value === "before";
      view.draw();
      view.thread.update();
    });
    const zoom = make("span", "ptx-tensor-zoom", controls, {
      role: "group",
      "aria-label": "zoom of tensor memory",
    });
    this.zoomOut = makeIcon(zoom, "−", "Smaller words", () => view.zoomBy(-1));
    this.zoomIn = makeIcon(zoom, "+", "Larger words (Ctrl and the wheel)", () => view.zoomBy(1));
    this.legend = make("span", "ptx-legend ptx-tensor-legend", this.bar, {
      role: "group",
      "aria-label": "colours",
    });
    this.summary = make("span", "ptx-memory-summary", this.bar, { role: "status" });
    this.close = makeIcon(this.bar, "×", "Close tensor memory (Alt+T)", () => view.toggle());
    this.updateStops = roveTabindex(this.bar, "button, select", nextInBar);
  }

  update() {
    const { view } = this;
    const { tensor, content } = view;
    const { transfer } = content.instruction;
    this.title.hidden = this.close.hidden = Boolean(transfer);
    const controls = transfer?.controls ?? [];
    this.transferControls.node.hidden = !controls.length;
    this.transferControls.showControls(
      controls.map(({ options, most, ...rest }) => ({
        ...rest,
        choices: options,
        range: { min: 0, max: most ?? 0 },
        disabled: content.isStatic,
      })),
    );
    this.updateTimes(transfer);
    this.updateColours(transfer);
    write(this.summary, tensor.summary);
    attribute(this.summary, "title", tensor.note);
    this.zoomOut.disabled = view.zoom === 0;
    this.zoomIn.disabled = view.zoom === ZOOMS;
    this.showLegend();
    this.updateStops();
  }

  /** @param {TransferInfo | undefined} transfer */
  updateTimes(transfer) {
    const { before, content } = this.view;
    const label = /** @type {HTMLElement} */ (this.times.parentElement);
    label.hidden = Boolean(transfer) && !content.matrices.C;
    write(/** @type {Element} */ (label.firstElementChild), content.matrices.D?.label ?? "D");
    write(this.times.options[1], "before");
    this.times.value = before ? "before" : "after";
  }

  /** @param {TransferInfo | undefined} transfer */
  updateColours(transfer) {
    const { view } = this;
    const colours = transfer
      ? this.transferColours(transfer)
      : TENSOR_COLOURS.filter(([, value]) => value !== "scale" || view.tensor.places.SFA);
    if (transfer && !colours.some(([, value]) => value === view.colour)) view.colour = "row";
    const key = colours.map(([text]) => text).join();
    if (this.colours.dataset.key !== key) fillSelect(this.colours, colours);
    this.colours.dataset.key = key;
    this.colours.value = view.colour;
  }

  // Words have the colours of the registers, or else of what is read; colours by value only where there are
  // numbers.
  /** @param {TransferInfo} transfer @returns {Choice<TensorColour>[]} */
  transferColours({ by }) {
    const { axes, kind } = this.view.content.matrices[by];
    const [row, column] = axes ?? ["row", "column"];
    const colours = /** @type {Choice<TensorColour>[]} */ ([
      [row, "row"],
      [column, "column"],
    ]);
    return kind === "bits" ? colours : [...colours, ["value", "value"]];
  }

  // Operands by name, or blocks of K, in their colours; other colours need no legend.
  showLegend() {
    const { view } = this;
    this.legend.replaceChildren();
    if (view.colour === "scale") this.showScaleLegend();
    if (view.colour !== "operand") return;
    Object.entries(view.tensor.places).forEach(([name, { text, source }], index) => {
      this.addKey(name, `${text}; ${source}`, operandColour(view, index));
    });
  }

  // The blocks of K that share a scale.
  showScaleLegend() {
    const { content, theme } = this.view;
    const { k, scale_blocks: blocks } = content.instruction;
    const long = k / blocks;
    make("span", "", this.legend, { text: "k" });
    for (let block = 0; block < blocks; block += 1) {
      const range = `${block * long}..${(block + 1) * long - 1}`;
      this.addKey(range, `block ${block} of K`, theme.colours[tint(block) + 1]);
    }
  }

  /** @param {string} text @param {string} title @param {Colour} colour */
  addKey(text, title, colour) {
    paint(make("span", "ptx-key", this.legend, { title, text }), colour);
  }
}
