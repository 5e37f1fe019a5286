// The access of the memory view, step by step: wavefronts, registers, and the instruction that reads them.

import { attribute, clamp, make, paint, reducedMotion, write } from "../common/util.js";
import { WORD, asMarks, bankOf, bytesPlace } from "./bytes.js";
import { Player } from "../common/player.js";

const WAVEFRONT_PACE = 900; // milliseconds per wavefront
const WORD_FLIGHT = 600; // of which words fly to their lanes

export class MemoryPlayer extends Player {
  /** @param {MemoryView} view @param {HTMLElement} parent */
  constructor(view, parent) {
    const node = make("div", "ptx-memory-player", parent);
    super(node, { label: "wavefront", name: "play the access", pace: WAVEFRONT_PACE });
    this.view = view;
    this.flight = /** @type {HTMLElement | null} */ (null);
    this.text = make("output", "ptx-memory-text", node);
  }

  get last() {
    return this.view.sent.steps?.length ?? 0;
  }

  /** @returns {MemoryStep | undefined} of which step 0 shows all, and n the n-th */
  get current() {
    return this.view.sent.steps?.[this.at - 1];
  }

  write() {
    const { sent, node } = this.view;
    const overview = `${sent.facts?.join(" · ")}; play or drag to follow it wavefront by wavefront`;
    const text = this.current?.text ?? overview;
    write(this.text, text);
    attribute(this.text, "aria-live", this.timer ? "off" : "polite");
    attribute(node, "data-step", this.at);
    this.update(text);
  }

  pause() {
    super.pause();
    this.flight?.remove();
    this.flight = null;
    if (this.view.sent.steps) this.write();
  }

  /** @param {boolean} played */
  show(played) {
    this.write();
    const { app } = this.view;
    const moved = this.movedCells();
    if (moved && this.current?.kind === "wavefront") this.reveal(moved);
    app.panel.highlight(app.hovered);
    app.updateStatus();
    app.drawMarksSoon();
    if (played && moved) this.fly(moved);
  }

  // Scrolls to the first byte that is moved.
  /** @param {(index: number) => boolean} moved */
  reveal(moved) {
    const { byte } = this.view.map;
    const first = byte.reduce((least, at, index) => (moved(index) ? Math.min(least, at) : least), Infinity);
    if (first === Infinity) return;
    const { scroller, row, height } = this.view;
    const { y } = bytesPlace(this.view, first, WORD);
    scroller.scrollTop = clamp(scroller.scrollTop, y + row - height, y);
  }

  // Whether a cell is moved in the current step; null if all are shown.
  /** @returns {((index: number) => boolean) | null} */
  movedCells() {
    const step = this.view.isOpen ? this.current : undefined;
    const { matrix } = this.view;
    if (!step || !matrix) return null;
    const { lane, registerOf } = matrix;
    const { wavefront } = this.view.map;
    if (step.kind === "mma") return () => true;
    if (step.kind === "wavefront")
      return (index) => wavefront[index] === step.wavefront && !(lane && lane[index] >= 32);
    return (index) => Boolean(lane && lane[index] < 32 && step.registers.includes(registerOf[index]));
  }

  // Whether a cell waits: it is in a bank that the current wavefront takes another word from.
  /** @returns {((index: number) => boolean) | null} */
  waitingCells() {
    const step = this.view.isOpen ? this.current : undefined;
    if (!step || step.group.length < 2 || step.group[1] - step.group[0] < 2) return null;
    const [first, stop] = step.group;
    const { byte, wavefront } = this.view.map;
    const lane = this.view.matrix?.lane;
    const taken = new Set(this.moved().map((index) => bankOf(byte[index])));
    return (index) =>
      wavefront[index] >= first &&
      wavefront[index] < stop &&
      wavefront[index] !== step.wavefront &&
      !(lane && lane[index] >= 32) &&
      taken.has(bankOf(byte[index]));
  }

  // What is moved, by the index of its cells.
  moved() {
    const moved = this.movedCells();
    if (!moved) return [];
    return Array.from(this.view.map.byte.keys()).filter(moved);
  }

  // What the panes mark: the cells that are moved; what the instruction then reads and writes.
  /** @returns {Mark[]} */
  marks() {
    const { matrix } = this.view;
    const step = this.view.isOpen ? this.current : undefined;
    if (!step || !matrix) return [];
    const marks = asMarks(matrix.name, matrix.columns, this.moved());
    if (step.kind !== "mma" || matrix.name === "D") return marks;
    const { D } = this.view.app.matrices;
    return [...marks, { name: "D", row: 0, column: 0, row2: D.rows - 1, column2: D.columns - 1 }];
  }

  // The lanes that take part in the current step.
  lanes() {
    const { matrix } = this.view;
    if (!matrix?.lane || !this.current) return null;
    const laneOf = matrix.lane;
    return [...new Set(this.moved().map((index) => laneOf[index]))].sort((first, second) => first - second);
  }

  // Every word flies to the lane that receives it, or from the lane that stores it.
  /** @param {(index: number) => boolean} moved */
  fly(moved) {
    this.flight?.remove();
    this.flight = null;
    const { app, matrix, map, scroller } = this.view;
    if (!matrix?.lane || this.current?.kind !== "wavefront" || reducedMotion.matches) return;
    const laneOf = matrix.lane;
    const frame = app.root.getBoundingClientRect();
    const area = scroller.getBoundingClientRect();
    const layer = make("div", "ptx-flight", app.root, { "aria-hidden": "true" });
    this.flight = layer;
    const seen = new Set();
    map.byte.forEach((address, index) => {
      if (!moved(index)) return;
      const lane = laneOf[index];
      const key = `${lane} ${Math.floor(address / WORD)}`;
      const button = app.panel.lanes.node.querySelector(`[data-lane="${lane}"]`);
      if (seen.has(key) || !button) return;
      seen.add(key);
      const from = this.view.onPage(bytesPlace(this.view, address, Math.min(map.unit, WORD)));
      if (from.y < area.top || from.y > area.bottom) return;
      const tile = make("div", "ptx-tile", layer);
      tile.style.cssText = `width:${from.width - 1}px;height:${from.height - 1}px`;
      paint(tile, app.colours[lane % 32]);
      /** @param {Point} point @param {number} opacity */
      const frameAt = ({ x, y }, opacity) => ({
        transform: `translate(${x - frame.left}px, ${y - frame.top}px)`,
        opacity,
      });
      const path = [frameAt(from, 1), frameAt(button.getBoundingClientRect(), 0.85)];
      if (matrix.name === "D") path.reverse();
      tile.animate(path, { duration: WORD_FLIGHT, fill: "both", easing: "ease-in-out" });
    });
    window.setTimeout(() => layer.remove(), WORD_FLIGHT + 60);
  }
}
