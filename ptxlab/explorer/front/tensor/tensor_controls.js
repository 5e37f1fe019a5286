// The bar above tensor memory: what colours mean, D before or after the instruction, zoom, and a summary.

import { attribute, make, makeIcon, paint, write } from "../common/dom.js";
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
    this.display = new Controls(make("span", "ptx-lists", controls), "data-display", (name, value) => {
      if (name === "colour") view.colour = value;
      else view.before = value === "before";
      view.draw();
      view.thread.update();
      this.update();
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
      controls.map((control) => ({ ...control, disabled: content.isStatic })),
    );
    this.display.showControls([this.colours(transfer), ...this.times(transfer)]);
    write(this.summary, tensor.summary);
    attribute(this.summary, "title", tensor.note);
    this.zoomOut.disabled = view.zoom === 0;
    this.zoomIn.disabled = view.zoom === ZOOMS;
    this.showLegend();
    this.updateStops();
  }

  // D before the instruction is C, which not every transfer has.
  /** @param {TransferInfo | undefined} transfer @returns {Control[]} */
  times(transfer) {
    const { before, content } = this.view;
    if (transfer && !content.matrices.C) return [];
    return [
      {
        name: "time",
        label: content.matrices.D?.label ?? "D",
        spoken: "D",
        hint: "D after the instruction, or before it: then it is C",
        value: before ? "before" : "after",
        choices: ["after", "before"].map((time) => [time, time]),
      },
    ];
  }

  /** @param {TransferInfo | undefined} transfer @returns {Control} */
  colours(transfer) {
    const { view } = this;
    const choices = transfer
      ? this.transferColours(transfer)
      : TENSOR_COLOURS.filter(([, value]) => value !== "scale" || view.tensor.places.SFA);
    if (transfer && !choices.some(([, value]) => value === view.colour)) view.colour = "row";
    return { name: "colour", label: "Colour", hint: "What the colours mean", value: view.colour, choices };
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

  // Operands by name, blocks of K, or lanes of registers, in their colours; other colours need no legend.
  showLegend() {
    const { view } = this;
    const { transfer } = view.content.instruction;
    this.legend.replaceChildren();
    if (view.colour === "scale") this.showScaleLegend();
    const noun = transfer && view.content.matrices[transfer.by].axes?.[0];
    if (noun === "lane" && view.colour === "row") this.showLaneLegend();
    if (view.colour !== "operand") return;
    Object.entries(view.tensor.places).forEach(([name, { text, source }], index) => {
      this.addKey(name, `${text}; ${source}`, operandColour(view, index));
    });
  }

  // Four lanes have one hue, in four shades.
  showLaneLegend() {
    for (const lane of [12, 13, 14, 15])
      this.addKey(String(lane), `lane ${lane}`, this.view.theme.colours[lane]);
    make("span", "", this.legend, { text: "hue: lane // 4, shade: % 4" });
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
