// Edits before Python is there: the page answers those that it can compute, and marks the others as waiting.

import { WaitingMarks } from "../common/waiting_marks.js";
import { plural } from "../common/numbers.js";
import { EarlyProduct } from "./early_product.js";

/** @typedef {import("./early_product.js").Adder} Adder */

// messages that change no number
const REQUEST = /^(request|run|find|export|resend|show|hide|set_memory|dismiss|start|answer|skip|next|stop)_/;

export class EarlyEdits {
  /**
   * @param {import("../common/live_model.js").LiveModel} model
   * @param {import("../common/python_worker.js").PythonWorker} python
   * @param {() => App | null} app
   * @param {Adder | null} chip that computes D; null if the page cannot
   * @param {((lane: number) => Registers) | null} saved registers, where it cannot
   */
  constructor(model, python, app, chip, saved = null) {
    this.model = model;
    this.python = python;
    const product = chip && new EarlyProduct(model.state, chip);
    this.product = product;
    this.registers = product ? (/** @type {number} */ lane) => product.registers(lane) : saved;
    this.marks = new WaitingMarks(app);
    this.computed = this.left = 0; // edits
    model.whenWaiting = (message) => this.take(message);
  }

  // A message that is kept for Python.
  /** @param {PageMessage} message */
  take(message) {
    const { content } = message;
    if (!content) this.showLanes();
    else if (!REQUEST.test(content.type)) this.edit(content);
    this.python.showWaiting(this.words);
  }

  // What comes after an edit that waits waits, too.
  /** @param {Message} edit */
  edit(edit) {
    const answer = this.left ? null : this.product?.answer(edit);
    if (answer) {
      this.computed += 1;
      this.model.update(answer);
      this.showLanes();
      return;
    }
    this.left += 1;
    if (edit.type === "set_cell")
      this.marks.add({ name: edit.name, row: edit.row, column: edit.column }, edit.text);
  }

  showLanes() {
    const { model, registers } = this;
    if (!registers) return;
    const lanes = [model.get("lane"), ...model.get("pinned")];
    model.update({
      lane_registers: Object.fromEntries(lanes.map((lane) => [lane, registers(lane)])),
    });
  }

  get words() {
    const parts = [];
    if (this.computed) parts.push("this page has computed D; Python will check it");
    if (this.left) parts.push(`${this.left} ${plural(this.left, "edit")} waiting`);
    return parts.join("; ");
  }

  // Python is about to open something else.
  forget() {
    this.marks.clear();
    this.computed = this.left = 0;
    this.python.showWaiting("");
  }

  // Python has made all edits: what it says of the D that this page computed.
  /** @param {() => void} receive */
  confirm(receive) {
    const codes = this.computed && !this.left ? this.product?.codes.D.join() : "";
    this.marks.clear();
    receive();
    const { codes: sent } = this.model.get("D");
    if (!codes || !sent) return "";
    const same =
      codes === new Uint32Array(sent.buffer.slice(sent.byteOffset, sent.byteOffset + sent.byteLength)).join();
    return same ? "it gives the same D as this page did" : "it gives another D than this page did";
  }
}
