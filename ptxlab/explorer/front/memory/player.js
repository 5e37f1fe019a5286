// The access of the memory view, step by step: wavefronts, registers, and the instruction that reads them.

import { make, clamp, write, attribute, reducedMotion } from "../common/util.js";
import { WORD, asMarks, bankOf, bytesPlace } from "./bytes.js";
import { makePlayControls } from "../common/player.js";

const WAVEFRONT_PACE = 900; // milliseconds per wavefront
const WORD_FLIGHT = 600; // of which words fly to their lanes

export class MemoryPlayer {
  /** @param {MemoryView} view @param {HTMLElement} parent */
  constructor(view, parent) {
    this.view = view;
    this.step = 0; // 0 shows all of it, n the n-th step
    this.timer = 0;
    this.flight = /** @type {HTMLElement | null} */ (null);
    this.node = make("div", "ptx-memory-player", parent);
    const { button, slider } = makePlayControls(this.node, "wavefront", this);
    this.button = button;
    this.slider = slider;
    this.text = make("output", "ptx-memory-text", this.node);
  }

  update() {
    const { button, slider, text } = this;
    const { steps, facts } = this.view.data;
    slider.max = String(steps.length);
    slider.value = String(this.step);
    const step = this.current();
    const overview = `${facts.join(" · ")}; play or drag to follow it wavefront by wavefront`;
    write(text, step ? step.text : overview);
    attribute(slider, "aria-valuetext", text.textContent ?? "");
    attribute(text, "aria-live", this.timer ? "off" : "polite");
    write(button, this.timer ? "❚❚" : "▶");
    attribute(button, "aria-label", this.timer ? "pause" : "play the access");
    attribute(this.view.node, "data-step", this.step);
  }

  /** @returns {MemoryStep | undefined} */
  current() {
    return this.view.sent.steps?.[this.step - 1];
  }

  play() {
    if (this.step >= this.view.data.steps.length) this.step = 0;
    this.timer = window.setInterval(() => {
      if (this.step >= this.view.data.steps.length) this.pause();
      else this.go(this.step + 1, true);
    }, WAVEFRONT_PACE);
    this.go(this.step + 1, true);
  }

  pause() {
    window.clearInterval(this.timer);
    this.timer = 0;
    this.flight?.remove();
    this.flight = null;
    if (this.view.sent.steps) this.update();
  }

  /** @param {number} step */
  go(step, flies = false) {
    this.step = step;
    this.update();
    const moved = this.movedCells();
    if (moved && this.current()?.kind === "wavefront") this.reveal(moved);
    this.view.app.panel.highlight(this.view.app.hovered);
    this.view.app.updateStatus();
    this.view.app.drawMarksSoon();
    if (flies && moved) this.fly(moved);
  }

  // Scrolls to the first byte that is moved.
  /** @param {(index: number) => boolean} moved */
  reveal(moved) {
    const { byte } = this.view.map;
    let first = Infinity;
    for (let index = 0; index < byte.length; index += 1)
      if (moved(index) && byte[index] < first) first = byte[index];
    if (first === Infinity) return;
    const { y } = bytesPlace(this.view, first, WORD);
    this.view.scroller.scrollTop = clamp(
      this.view.scroller.scrollTop,
      y + this.view.row - this.view.height,
      y,
    );
  }

  // Whether a cell is moved in the current step; null if all are shown.
  /** @returns {((index: number) => boolean) | null} */
  movedCells() {
    const step = this.view.isOpen ? this.current() : undefined;
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
    const step = this.view.isOpen ? this.current() : undefined;
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
    const step = this.view.isOpen ? this.current() : undefined;
    if (!step || !matrix) return [];
    const marks = asMarks(matrix.name, matrix.columns, this.moved());
    if (step.kind !== "mma" || matrix.name === "D") return marks;
    const { D } = this.view.app.matrices;
    return [...marks, { name: "D", row: 0, column: 0, row2: D.rows - 1, column2: D.columns - 1 }];
  }

  // The lanes that take part in the current step.
  lanes() {
    const { matrix } = this.view;
    if (!matrix?.lane || !this.current()) return null;
    const laneOf = matrix.lane;
    return [...new Set(this.moved().map((index) => laneOf[index]))].sort((first, second) => first - second);
  }

  // Every word flies to the lane that receives it, or from the lane that stores it.
  /** @param {(index: number) => boolean} moved */
  fly(moved) {
    this.flight?.remove();
    this.flight = null;
    const { app, matrix, map } = this.view;
    if (!matrix?.lane || this.current()?.kind !== "wavefront") return;
    if (reducedMotion.matches) return;
    const frame = app.root.getBoundingClientRect();
    const area = this.view.scroller.getBoundingClientRect();
    const layer = make("div", "ptx-flight", app.root, { "aria-hidden": "true" });
    this.flight = layer;
    const seen = new Set();
    map.byte.forEach((address, index) => {
      if (!moved(index) || !matrix.lane) return;
      const lane = matrix.lane[index];
      const key = `${lane} ${Math.floor(address / WORD)}`;
      const button = app.panel.lanes.node.querySelector(`[data-lane="${lane}"]`);
      if (seen.has(key) || !button) return;
      seen.add(key);
      const { x, y, width, height } = bytesPlace(this.view, address, Math.min(map.unit, WORD));
      const to = button.getBoundingClientRect();
      const [left, top] = [
        x - this.view.scroller.scrollLeft + area.left,
        y - this.view.scroller.scrollTop + area.top,
      ];
      if (top < area.top || top > area.bottom) return;
      const tile = make("div", "ptx-tile", layer);
      const [fill, ink] = app.colours[lane % 32];
      tile.style.cssText = `width:${width - 1}px;height:${height - 1}px;background:${fill};color:${ink}`;
      const path = [
        { transform: `translate(${left - frame.left}px, ${top - frame.top}px)`, opacity: 1 },
        {
          transform: `translate(${to.left - frame.left}px, ${to.top - frame.top}px)`,
          opacity: 0.85,
          easing: "ease-in-out",
        },
      ];
      if (matrix.name === "D") path.reverse();
      tile.animate(path, { duration: WORD_FLIGHT, fill: "both", easing: "ease-in-out" });
    });
    window.setTimeout(() => layer.remove(), WORD_FLIGHT + 60);
  }
}
