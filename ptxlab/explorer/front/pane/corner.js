// The corner left of B and above A is the stage: what the instruction computes, its timeline, what is pointed at and
// what colours mean; while the camera is near, a map of the scene. What has no room there stands below the scene.

import { contextOn, fillBox, setFont, strokeBox } from "../common/canvas.js";
import { attribute, make, paint, resizeCanvas, write } from "../common/dom.js";
import { clamp } from "../common/numbers.js";
import { legendOf } from "../matrix/colours.js";
import { marksNibbles, numbersShown } from "./draw_pane.js";

// The least size of a corner with words; the least heights that must be left in it for what is pointed at, and for
// a line for every part of that.
const ROOMY = { width: 200, height: 60 };
const STATUS_ROOM = 70;
const LINES_ROOM = 150;
// The width that a map leaves for words.
const BESIDE_MAP = 250;
const MAP = { width: 132, height: 88 };
// below the scene, where the corner has no room for a map
const SMALL_MAP = { width: 104, height: 36 };

export class Corner {
  /** @param {Scene} scene */
  constructor(scene) {
    this.scene = scene;
    this.content = scene.content;
    this.theme = scene.theme;
    const parent = scene.node;
    this.node = make("div", "ptx-corner", parent);
    this.formula = make("div", "ptx-formula", this.node);
    // what is computed, and of which sizes and types
    this.words = [make("div", "", this.formula), make("div", "ptx-formula-types", this.formula)];
    this.legend = make("div", "ptx-legends", this.node);
    this.size = MAP;
    this.map = make("canvas", "ptx-map", parent, {
      role: "img",
      title: "Where the camera is: click to go elsewhere",
    });
    this.map.addEventListener("pointerdown", (event) => this.centreOn(event));
    this.map.addEventListener("pointermove", (event) => {
      if (event.buttons === 1) this.centreOn(event);
    });
    this.legendKey = "";
    // measured once
    this.ends = /** @type {Map<string, { words: number, legend: number }>} */ (new Map());
  }

  /** @param {Size} size @param {number} top below the upper edge of the scene */
  place({ width, height: room }, top = 0) {
    const { node, scene } = this;
    const { status, timeline, tracePanel } = this.scene.app;
    const { isStage, width: wide, strips } = scene.plan;
    // the map is beside the words, or instead of them
    const isNear = !scene.camera.isWhole && !strips;
    // beside strips the map is below the words
    const height = strips && !scene.camera.isWhole ? room - MAP.height - 8 : room;
    const least = isStage ? BESIDE_MAP : 8;
    const holdsMap = isNear && width >= MAP.width + least && height >= MAP.height + 12;
    const left = holdsMap ? width - MAP.width - 12 : width;
    Object.assign(node.style, { width: `${left}px`, height: `${height}px`, top: `${top}px` });
    node.style.left = strips ? `${wide - width}px` : "";
    node.hidden = left < ROOMY.width || height < ROOMY.height;
    node.classList.toggle("ptx-is-stage", isStage);
    if (isStage !== (timeline.node.parentElement === node)) {
      if (isStage) this.formula.after(timeline.node);
      else tracePanel.node.before(timeline.node);
    }
    this.size = holdsMap || !isNear ? MAP : SMALL_MAP;
    this.map.style.left = holdsMap ? `${node.hidden ? 4 : left}px` : "";
    this.map.style.top = holdsMap ? "6px" : "";
    this.update(); // other cells have room for their numbers
    this.placeWords(height);
    const place = this.size === SMALL_MAP ? status.node : scene.node;
    if (this.map.parentElement !== place) place.append(this.map);
  }

  // What is pointed at, and then the legend, are in the corner if that has room for all of it, and else below the
  // scene.
  /** @param {number} height */
  placeWords(height) {
    const { node, legend, scene } = this;
    const { status, timeline } = this.scene.app;
    const { isStage } = scene.plan;
    const last = isStage ? timeline.node : this.formula;
    const key = [isStage, this.formula.textContent, this.legendKey, node.style.width].join();
    if (!node.hidden && !this.ends.has(key)) {
      last.after(legend);
      /** @param {HTMLElement} part */
      const endOf = (part) => part.offsetTop + part.offsetHeight;
      this.ends.set(key, { words: endOf(last), legend: endOf(legend) });
    }
    const ends = (node.hidden ? null : this.ends.get(key)) ?? { words: Infinity, legend: Infinity };
    const isTold = ends.words + STATUS_ROOM <= height;
    const isRoomy = ends.legend + (isTold ? STATUS_ROOM : 0) <= height;
    const free = height - (isRoomy ? ends.legend : ends.words);
    const above = scene.stage.classList.contains("ptx-narrow") ? scene.node : scene.stage;
    node.classList.toggle("ptx-tight", free < LINES_ROOM);
    if (isTold) {
      if (status.node.parentElement !== node) node.append(status.node);
    } else if (status.node.parentElement !== above.parentElement) above.after(status.node);
    const after = isRoomy ? last : above;
    if (after.nextElementSibling !== legend) after.after(legend);
  }

  // The height of the legend, and of what is pointed at, if the corner is the stage and has no room for them.
  get heightBelow() {
    const { status } = this.scene.app;
    const parts = [this.legend, ...(this.scene.plan.isStage ? [status.node] : [])];
    return parts.reduce((sum, part) => sum + (part.parentElement === this.node ? 0 : part.offsetHeight), 0);
  }

  update() {
    const { scene, content } = this;
    const { A, B, C, D } = content.matrices;
    const shape = `${A.rows}×${A.columns} ${A.type} · ${B.rows}×${B.columns} ${B.type}`;
    const added = content.instruction.accumulator ?? (C ? "C" : "");
    const bits = /\.(xor|and)\.popc/.exec(content.instruction.mnemonic)?.[1];
    const product = bits ? `popc(A ${bits} B)` : "A · B";
    write(this.words[0], `D = ${product}${added ? ` + ${added}` : ""}`);
    write(this.words[1], `${shape} → ${D.type}`);
    const by = content.display("colour_by");
    const shown = numberNotes(scene);
    const key = [content.look, content.instruction.mnemonic, by, shown].join();
    if (key === this.legendKey) return;
    this.legendKey = key;
    this.legend.replaceChildren();
    for (const [text, ...tints] of meanings(content)) {
      const line = make("span", "ptx-meaning", this.legend);
      for (const tint of tints) paint(make("i", "", line, { "aria-hidden": "true" }), tint);
      line.append(text);
    }
    for (const text of shown) make("span", "ptx-meaning", this.legend, { text });
  }

  // -- the map: panes as they are when all is seen, and what the camera sees of each --

  drawMap() {
    const { map, content, theme, scene } = this;
    map.hidden = scene.camera.isWhole || Boolean(content.instruction.transfer);
    if (map.hidden) return;
    const { width, height } = this.size;
    resizeCanvas(map, width, height, theme.ratio);
    attribute(map, "aria-label", `zoom ${Math.round(scene.camera.percent)} %`);
    const context = contextOn(map, theme.ratio);
    fillBox(context, { x: 0, y: 0, width, height }, theme.ink.paper, 0.9);
    for (const { pane, box } of this.boxes()) {
      fillBox(context, box, theme.ink.plain);
      const seen = {
        x: box.x + (pane.at.x / pane.total.width) * box.width,
        y: box.y + (pane.at.y / pane.total.height) * box.height,
        width: Math.max(3, (pane.width / pane.total.width) * box.width),
        height: Math.max(3, (pane.height / pane.total.height) * box.height),
      };
      fillBox(context, seen, theme.ink.brand, 0.35);
      strokeBox(context, seen, theme.ink.brand, 1.25);
      setFont(context, `600 11px ${theme.ink.mono}`, theme.ink.text);
      const name = pane.names[0] === "stored" ? "" : pane.names[0];
      if (box.height > 14) context.fillText(name, box.x + box.width / 2, box.y + box.height / 2 + 0.5);
    }
  }

  // Where each pane is on the map.
  boxes() {
    const panes = this.scene.panes.filter((pane) => !pane.isFolded && pane.total.width);
    /** @param {Axis} axis @param {"width" | "height"} along */
    const long = (axis, along) => {
      const pane = panes.find((candidate) => candidate.axes[along === "width" ? 0 : 1] === axis);
      return pane ? pane.total[along] : 0;
    };
    const [a, n, b, m] = [
      long("kOfA", "width"),
      long("n", "width"),
      long("kOfB", "height"),
      long("m", "height"),
    ];
    const { tiers, aboveA, isAbove } = this.scene.plan.count;
    const first = aboveA ? Math.max(b, m) : b;
    const across = (this.size.width - 14) / (a + n);
    const down = (this.size.height - 14) / (first + tiers * m);
    /** @type {Record<string, [x: number, y: number]>} */
    const places = { A: [0, 1], B: [1, 0], D: [1, 1], stored: [0, 0], C: isAbove ? [0, 0] : [1, 2] };
    return panes.map((pane) => {
      const [right, below] = places[pane.names[0]];
      const { width, height } = pane.total;
      const top = below ? first + (below - 1) * m : first - height;
      // beside B
      const aside = pane.names[0] === "C" && isAbove ? a - n : 0;
      const box = { x: 5 + right * (a * across + 4) + aside * across, y: 5 + top * down + 4 * below };
      return { pane, box: { ...box, width: width * across, height: height * down } };
    });
  }

  // The camera goes to where the map was pressed.
  /** @param {PointerEvent} event */
  centreOn({ offsetX, offsetY }) {
    const { scene } = this;
    for (const { pane, box } of this.boxes()) {
      const [right, down] = [(offsetX - box.x) / box.width, (offsetY - box.y) / box.height];
      if (right < 0 || right > 1 || down < 0 || down > 1) continue;
      const [x, y] = pane.axes;
      scene.scroll[x] = clamp(right * pane.total.width - pane.width / 2, 0, pane.farthest.x);
      scene.scroll[y] = clamp(down * pane.total.height - pane.height / 2, 0, pane.farthest.y);
      if (x === "kOfA") scene.scrollBothAlongK("kOfA");
      else if (y === "kOfB") scene.scrollBothAlongK("kOfB");
      scene.syncScroll();
      return;
    }
  }
}

// What is on the cells, where it is not all of what Show asks for.
/** @param {Scene} scene */
function numberNotes(scene) {
  /** @param {CellText["kind"]} kind */
  const namesOf = (kind) =>
    scene.panes
      .filter((pane) => numbersShown(pane) === kind)
      .map(({ names }) => scene.content.matrices[names[0]].label)
      .join(", ")
      .replace(/, (?=[^,]*$)/, " and ");
  const notes = /** @type {string[]} */ ([]);
  if (scene.panes.some(marksNibbles)) notes.push("marks: the quarters a nibble keeps");
  if (namesOf("rounded")) notes.push(`${namesOf("rounded")}: rounded to fit; point at a cell for all digits`);
  if (namesOf("code")) notes.push(`${namesOf("code")}: codes in hexadecimal`);
  return notes;
}

// What the colours mean, in words.
/** @param {Content} content @returns {[text: string, ...colours: Colour[]][]} */
function meanings(content) {
  const { matrices } = content;
  const { colours, ink } = content.theme;
  const by = content.display("colour_by");
  const rows = /** @type {[string, ...Colour[]][]} */ ([]);
  const inMemory = [matrices.A, matrices.B].filter((matrix) => matrix?.byte).map(({ label }) => label);
  if (by === "lane" && content.instruction.tensor)
    rows.push(["colour of D: the lane of tensor memory that holds a cell", colours[13]]);
  else if (by === "lane")
    rows.push(["hue: lane // 4, shade:\u00a0%\u00a04", colours[12], colours[13], colours[14], colours[15]]);
  else if (by === "register" || by === "warp") rows.push([`colour: the ${by} that holds a cell`, colours[5]]);
  else if (by === "core matrix" || by === "bank")
    rows.push([`colour: the ${by} of a cell in shared memory`, colours[13]]);
  else if (by === "value")
    for (const [text, tint, tip] of legendOf(by, matrices.D)?.cells ?? [])
      rows.push([`${text} ${tip}`, colours[tint]]);
  if (inMemory.length && (by === "lane" || by === "register" || by === "warp"))
    rows.push([`grey: core matrices of ${inMemory.join(" and ")}`, [ink.line, ink.text]]);
  if (matrices.stored) rows.push(["faint: not stored; compressed A has the others", [ink.plain, ink.text]]);
  return rows;
}
