// What flies over the page: the elements of a lane's registers to their cells and back, and the tiles of the
// timeline. Where the system asks for less motion, registers and their cells are lit one after the other instead.

import { make, reducedMotion, attribute, hasModifier, paint } from "./dom.js";
import { clamp } from "./numbers.js";
import { cellText, indexOfCell } from "../matrix/matrix.js";

const FLIGHT = 800; // milliseconds to the cells, and back
const STAY = 700; // at the cells
const STEP = 600; // for each register, without motion
const MANY = 12; // registers, from which those of an operand are lit together

// Tiles on their way, over everything; the layer goes when they have arrived.
/** @param {HTMLElement} root @param {Tile[]} tiles @param {number} duration */
export function flyTiles(root, tiles, duration) {
  const frame = root.getBoundingClientRect();
  const layer = make("div", "ptx-flight", root, { "aria-hidden": "true" });
  for (const { from, to, colour, text } of tiles) {
    const size = { width: clamp(from.width - 1, 5, 40), height: clamp(from.height - 1, 5, 18) };
    const tile = make("div", "ptx-tile", layer);
    tile.style.cssText = `width:${size.width}px;height:${size.height}px`;
    paint(tile, colour);
    if (size.width >= 12 && size.height >= 11) tile.textContent = text;
    /** @param {Place} place @param {number} opacity @returns {Keyframe} */
    const at = ({ x, y, width, height }, opacity) => ({
      transform: `translate(${x - frame.left + (width - size.width) / 2}px, ${y - frame.top + (height - size.height) / 2}px)`,
      opacity,
    });
    tile.animate([at(from, 1), { ...at(to, 1), offset: 0.85 }, at(to, 0)], {
      duration,
      fill: "both",
      easing: "ease-in-out",
    });
  }
  window.setTimeout(() => layer.remove(), duration + 60);
  return layer;
}

// The elements in the registers of the chosen lane fly to their cells and back.
export class RegisterFlights {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.content = app.content;
    this.theme = app.theme;
    this.scene = app.scene;
    // over everything, while it plays
    this.layer = /** @type {HTMLElement | null} */ (null);
    this.animations = /** @type {Animation[]} */ ([]);
    this.timer = 0;
    this.button = make("button", "ptx-pin ptx-fly", app.panel.lanes.title, {
      type: "button",
      title: "Show where this lane's registers belong: their elements fly to their cells and back (F)",
      "aria-pressed": "false",
    });
    this.button.textContent = "fly";
    this.button.addEventListener("click", () => this.toggle());
    const { root } = app;
    root.addEventListener("keydown", (event) => this.shortcut(event));
    root.addEventListener("scroll", () => this.stop(), true);
    root.addEventListener(
      "pointerdown",
      ({ target }) => {
        if (target !== this.button) this.stop();
      },
      true,
    );
    for (const name of ["lane", "pinned", "instruction", "zoom"])
      app.content.model.on(`change:${name}`, () => this.stop());
  }

  get playing() {
    return this.layer !== null;
  }

  /** @param {KeyboardEvent} event */
  shortcut(event) {
    const target = /** @type {Element} */ (event.target);
    if (event.key === "Escape" && this.playing) this.stop();
    const isField = target.matches("input, select, textarea");
    if (isField || hasModifier(event) || event.key.toLowerCase() !== "f") return;
    event.preventDefault();
    this.toggle();
  }

  toggle() {
    if (this.playing) this.stop();
    else if (!this.content.quiz.open) this.play();
  }

  stop() {
    window.clearTimeout(this.timer);
    for (const animation of this.animations) animation.cancel();
    this.animations = [];
    this.layer?.remove();
    this.layer = null;
    attribute(this.button, "aria-pressed", false);
  }

  play() {
    const flights = this.flightsOfLane();
    if (!flights.length) return;
    this.layer = make("div", "ptx-flight", this.app.root, {
      "aria-hidden": "true",
      "data-lane": this.content.lane,
    });
    attribute(this.button, "aria-pressed", true);
    if (reducedMotion.matches) this.lightInSteps(flights);
    else this.fly(flights);
  }

  // Every element of the lane: where it is in the registers, and the cells that it stands for.
  /** @returns {Flight[]} */
  flightsOfLane() {
    const { app, content, scene } = this;
    const registers = content.model.get("lane_registers")[content.lane];
    if (!registers) return [];
    const box = app.root.getBoundingClientRect();
    const nodes = /** @type {Map<string, HTMLElement[]>} */ (new Map());
    for (const { node, cell } of app.panel.fields) {
      const at = cell();
      if (!at) continue;
      const key = `${at.name} ${at.row} ${at.column}`;
      nodes.set(key, [...(nodes.get(key) ?? []), node]);
    }
    const flights = /** @type {Flight[]} */ ([]);
    for (const [operand, words] of /** @type {[Name, Register[]][]} */ (Object.entries(registers))) {
      const name = operand === "A" && content.matrices.stored ? "stored" : operand;
      const matrix = content.matrices[name];
      if (!scene.paneOf(name)) continue;
      // registers on another page start at the heading of their block
      const head = app.panel.registers.querySelector(`[data-operand=${operand}] .ptx-block-head`);
      words.forEach(({ fields }, register) => {
        for (const { row, column, text } of fields) {
          const index = row * matrix.columns + column;
          // of metadata and scale factors a lane may hold copies that are not read
          if (["E", "SFA", "SFB"].includes(name) && matrix.lane?.[index] !== content.lane) continue;
          const origin = nodes.get(`${name} ${row} ${column}`)?.shift() ?? head;
          if (!origin) continue;
          const start = origin.getBoundingClientRect();
          const from = {
            x: start.left - box.left,
            y: start.top - box.top,
            width: start.width,
            height: start.height,
          };
          const cells = [this.target({ name, row, column }, box)];
          if (name === "stored" && matrix.counterpart)
            cells.push(this.target({ name: "A", row, column: matrix.counterpart[index] }, box));
          flights.push({ operand, register, text, from, cells });
        }
      });
    }
    return flights;
  }

  // Flights of the timeline on the page: from a cell to a lane, or to another cell; D goes to its lanes, too.
  /** @param {TileFlight[]} flights @returns {Tile[]} */
  tilesOf(flights) {
    const { app, content, theme } = this;
    const tiles = /** @type {Tile[]} */ ([]);
    for (const { cell, lane, to } of flights) {
      const matrix = content.matrices[cell.name];
      const index = indexOfCell(matrix, cell);
      const holder = lane ?? matrix.lane?.[index] ?? -1;
      const from = this.onPage(cell);
      const end = to ? this.onPage(to) : app.panel.lanes.buttonOf(holder)?.getBoundingClientRect();
      const plain = /** @type {Colour} */ ([theme.ink.paper, theme.ink.text]);
      const colour = holder >= 0 ? theme.colours[holder % 32] : plain;
      if (from && end) tiles.push({ from, to: end, colour, text: cellText(matrix, index, 5) });
    }
    return tiles;
  }

  // Where a cell or a word is seen; null if it is not.
  /** @param {Cell} cell @returns {Place | null} */
  onPage(cell) {
    const { app, content, scene } = this;
    if (content.instruction.transfer) {
      const { place, columns } = content.matrices[cell.name];
      const lane = place?.lane[cell.row * columns + cell.column] ?? 0;
      return app.tensor.onPage(app.tensor.placeOf({ lane, column: cell.column }));
    }
    if (!scene.paneOf(cell.name) || scene.paneOf(cell.name)?.isFolded) return null;
    const box = app.root.getBoundingClientRect();
    const { seen, ...place } = this.target(cell, box);
    return seen ? { ...place, x: place.x + box.left, y: place.y + box.top } : null;
  }

  // Where a cell is; the nearest point of its pane's edge if it is scrolled out of view.
  /** @param {Cell} cell @param {DOMRect} box @returns {Place & { seen: boolean }} */
  target({ name, row, column }, box) {
    const { scene } = this;
    const pane = /** @type {Pane} */ (scene.paneOf(name));
    const { x, y, width, height } = scene.cellRect(name, row, column);
    const frame = pane.scroller.getBoundingClientRect();
    const left = clamp(x, frame.left, Math.max(frame.left, frame.left + pane.width - width));
    const top = clamp(y, frame.top, Math.max(frame.top, frame.top + pane.height - height));
    const seen = Math.abs(left - x) < width / 2 && Math.abs(top - y) < height / 2;
    return { x: left - box.left, y: top - box.top, width, height, seen };
  }

  /** @param {Flight[]} flights */
  fly(flights) {
    const { content, theme } = this;
    const [fill, ink] = theme.colours[content.lane % 32];
    const total = 2 * FLIGHT + STAY;
    for (const { text, from, cells } of flights) {
      const last = cells[cells.length - 1];
      const size = { width: clamp(last.width, 7, 40), height: clamp(last.height, 7, 18) };
      const tile = make("div", "ptx-tile", this.layer);
      tile.style.cssText = `width:${size.width}px;height:${size.height}px;background:${fill};color:${ink}`;
      if (size.width >= 12 && size.height >= 9) tile.textContent = text;
      /** @param {Place} place */
      const at = ({ x, y, width, height }) =>
        `translate(${x + (width - size.width) / 2}px, ${y + (height - size.height) / 2}px)`;
      const steps = [from, ...cells];
      /** @type {Keyframe[]} */
      const out = steps.map((place, index) => ({
        transform: at(place),
        opacity: index === steps.length - 1 && !last.seen ? 0.25 : 1,
        offset: (FLIGHT / total) * (index / (steps.length - 1)),
        easing: "ease-in-out",
      }));
      const back = [...out].reverse().map((frame) => ({ ...frame, offset: 1 - Number(frame.offset) }));
      this.animations.push(tile.animate([...out, ...back], { duration: total, fill: "both" }));
    }
    this.timer = window.setTimeout(() => this.stop(), total);
  }

  /** @param {Flight[]} flights */
  lightInSteps(flights) {
    const groups = /** @type {Map<string, Flight[]>} */ (new Map());
    const registers = new Set(flights.map(({ operand, register }) => `${operand} ${register}`));
    for (const flight of flights) {
      const key = registers.size > MANY ? flight.operand : `${flight.operand} ${flight.register}`;
      groups.set(key, [...(groups.get(key) ?? []), flight]);
    }
    const steps = [...groups.values()];
    const lightGroup = (/** @type {number} */ index) => {
      if (index === steps.length) {
        this.stop();
        return;
      }
      this.layer?.replaceChildren();
      for (const { from, cells } of steps[index])
        for (const { x, y, width, height } of [from, ...cells.filter(({ seen }) => seen)])
          make("div", "ptx-tile still", this.layer).style.cssText =
            `width:${width}px;height:${height}px;transform:translate(${x}px, ${y}px)`;
      this.timer = window.setTimeout(() => lightGroup(index + 1), STEP);
    };
    lightGroup(0);
  }
}
