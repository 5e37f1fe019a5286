// The access of the memory view, as the timeline plays it: what each wavefront moves, what waits, which lanes
// take part.

import { clamp } from "../common/numbers.js";
import { WORD, asMarks, bankOf, bytesPlace } from "./byte_map.js";

export class Access {
  /** @param {MemoryView} view */
  constructor(view) {
    this.view = view;
  }

  /** @returns {MemoryStep | undefined} the one that the timeline shows */
  get current() {
    const { sent, isOpen, timeline } = this.view;
    const index = timeline.current?.memory;
    return isOpen && index !== undefined ? sent.steps?.[index] : undefined;
  }

  // Scrolls to the first byte that is moved.
  reveal() {
    const isMoved = this.movedFilter();
    if (!isMoved || this.current?.kind !== "wavefront") return;
    const { byte } = this.view.map;
    const first = byte.reduce((least, at, index) => (isMoved(index) ? Math.min(least, at) : least), Infinity);
    if (first === Infinity) return;
    const { scroller, cell, height } = this.view;
    const { y } = bytesPlace(this.view, first, WORD);
    scroller.scrollTop = clamp(scroller.scrollTop, y + cell.height - height, y);
  }

  // Whether a cell is moved in the current step; null if all are shown.
  /** @returns {((index: number) => boolean) | null} */
  movedFilter() {
    const step = this.current;
    const { matrix } = this.view;
    if (!step || !matrix) return null;
    const { lane, registerOf } = matrix;
    const { wavefront } = this.view.map;
    if (step.kind === "mma") return () => true;
    if (step.kind === "wavefront")
      return (index) => wavefront[index] === step.wavefront && this.isInFirstWarp(index);
    return (index) =>
      Boolean(lane && this.isInFirstWarp(index) && step.registers.includes(registerOf[index]));
  }

  // Whether a cell waits: it is in a bank that the current wavefront takes another word from.
  /** @returns {((index: number) => boolean) | null} */
  waitingFilter() {
    const step = this.current;
    if (!step || step.group.length < 2 || step.group[1] - step.group[0] < 2) return null;
    const [first, stop] = step.group;
    const { byte, wavefront } = this.view.map;
    const taken = new Set(this.movedIndices().map((index) => bankOf(byte[index])));
    return (index) =>
      wavefront[index] >= first &&
      wavefront[index] < stop &&
      wavefront[index] !== step.wavefront &&
      this.isInFirstWarp(index) &&
      taken.has(bankOf(byte[index]));
  }

  // The cells that are moved in the current step.
  movedIndices() {
    const isMoved = this.movedFilter();
    return isMoved ? Array.from(this.view.map.byte.keys()).filter(isMoved) : [];
  }

  // Whether a cell belongs to a lane of the first warp, whose accesses are shown, or to no lane.
  /** @param {number} index */
  isInFirstWarp(index) {
    const lane = this.view.matrix?.lane;
    return !lane || lane[index] < 32;
  }

  // What the panes mark: the cells that are moved; what the instruction then reads and writes.
  /** @returns {Mark[]} */
  marks() {
    const { matrix, content } = this.view;
    if (!this.current || !matrix) return [];
    const marks = asMarks(matrix.name, matrix.columns, this.movedIndices());
    if (this.current.kind !== "mma" || matrix.name === "D") return marks;
    const { D } = content.matrices;
    return [...marks, { name: "D", row: 0, column: 0, row2: D.rows - 1, column2: D.columns - 1 }];
  }

  // The lanes that take part in the current step.
  lanes() {
    const { matrix } = this.view;
    if (!matrix?.lane || !this.current) return null;
    const laneOf = matrix.lane;
    return [...new Set(this.movedIndices().map((index) => laneOf[index]))].sort(
      (first, second) => first - second,
    );
  }

  // Every word flies to the lane that receives it, or from the lane that stores it.
  /** @returns {Tile[]} */
  flights() {
    const { app, matrix, map, scroller, theme } = this.view;
    const isMoved = this.movedFilter();
    if (!matrix?.lane || !isMoved || this.current?.kind !== "wavefront") return [];
    const laneOf = matrix.lane;
    const area = scroller.getBoundingClientRect();
    const seen = new Set();
    const flights = /** @type {Tile[]} */ ([]);
    map.byte.forEach((address, index) => {
      if (!isMoved(index)) return;
      const lane = laneOf[index];
      const key = `${lane} ${Math.floor(address / WORD)}`;
      const button = app.panel.lanes.buttonOf(lane)?.getBoundingClientRect();
      if (seen.has(key) || !button) return;
      seen.add(key);
      const word = this.view.onPage(bytesPlace(this.view, address, Math.min(map.unit, WORD)));
      if (word.y < area.top || word.y > area.bottom) return;
      const [from, to] = matrix.name === "D" ? [button, word] : [word, button];
      flights.push({ from, to, colour: theme.colours[lane % 32], text: "" });
    });
    return flights;
  }
}
