// Lanes and registers: those of the chosen lane in full; those of several lanes side by side.

import { ARROWS, attribute, make, makeButton, onMouse, paint, write } from "../common/dom.js";
import { clamp, plural } from "../common/numbers.js";
import { bitsHolder, holderOf, indexOfCell } from "../matrix/matrix.js";
import { drawRegister } from "./register.js";
import { roveTabindex, nextInBar, nextInPlane } from "../common/roving_tabindex.js";
import { holderNoun, lineName } from "../matrix/describe.js";

const PAGE = 4; // registers shown at once of an operand that has more than eight

export class Panel {
  /** @param {App} app @param {HTMLElement} parent */
  constructor(app, parent) {
    this.app = app;
    this.theme = app.theme;
    this.pointing = app.pointing;
    this.selection = app.selection;
    this.content = app.content;
    this.scene = app.scene;
    this.tooltip = app.tooltip;
    this.problem = app.problem;
    this.send = app.send;
    /** @type {Record<string, number>} */
    this.pages = {};
    this.built = "";
    /** @type {((registers: Traits["lane_registers"], lanes: number[]) => void)[]} */
    this.updates = [];
    // the elements that are shown
    this.fields = /** @type {FieldNode[]} */ ([]);
    this.lit = "";
    this.node = make("section", "ptx-panel", parent, { "aria-label": "lanes and registers" });
    this.lanes = new Lanes(app, this.node);
    // on a phone they are behind this
    this.tab = makeButton(null, "ptx-register-tab", "", () => this.setOpen(!this.isOpen));
    parent.before(this.tab);
    this.setOpen(false);
    this.registers = make("div", "ptx-registers", this.node);
  }

  get isOpen() {
    return this.tab.getAttribute("aria-expanded") === "true";
  }

  /** @param {boolean} open */
  setOpen(open) {
    this.tab.setAttribute("aria-expanded", String(open));
    this.nameTab();
  }

  nameTab() {
    const { instruction, lane } = this.content;
    const what = instruction.tensor ? "Descriptor" : `Registers of ${holderNoun(instruction)} ${lane}`;
    write(this.tab, `${this.isOpen ? "▾" : "▸"} ${what}`);
  }

  update() {
    this.nameTab();
    this.node.hidden = Boolean(this.content.instruction.tensor);
    if (this.node.hidden) return;
    this.lanes.update();
    this.drawRegisters();
  }

  // Turns to the page with the register that holds a cell.
  /** @param {Cell} cell */
  turnToCell(cell) {
    const { matrices } = this.content;
    const matrix = matrices[cell.name];
    const [holder, at] = holderOf(matrices, matrix, indexOfCell(matrix, cell));
    if (at >= 0 && holder.registerOf) this.pages[holder.operand] = Math.floor(holder.registerOf[at] / PAGE);
  }

  // Turns to the page of a register, if it is on another one.
  /** @param {Name} name @param {number} register */
  bringIntoView(name, register) {
    const operand = name === "stored" ? "A" : name;
    const isPaged = (this.content.instruction.registers[operand] ?? 0) > 8;
    if (isPaged && (this.pages[operand] ?? 0) !== Math.floor(register / PAGE)) this.turnTo(operand, register);
  }

  /** @param {Name} name @param {number} register */
  turnTo(name, register) {
    this.pages[name] = Math.floor(register / PAGE);
    this.drawRegisters();
  }

  // The bits of the cell under the pointer, or of those that the timeline shows, in every lane that is shown.
  /** @param {Hovered | null} hovered */
  highlight(hovered) {
    const { matrices } = this.content;
    const { timeline } = this.app;
    const held = hovered?.name ? bitsHolder(matrices, hovered) : null;
    const key = JSON.stringify(held ?? timeline?.shown ?? []);
    if (key === this.lit) return;
    this.lit = key;
    for (const field of this.fields) {
      const cell = field.cell();
      const isHeld = held && cell?.name === held.name && cell.row === held.row && cell.column === held.column;
      const lit = Boolean(cell && (held ? isHeld : timeline?.has(cell)));
      if (lit !== field.node.classList.contains("lit")) field.node.classList.toggle("lit", lit);
    }
  }

  // Registers keep their nodes while only their content changes, so that text being typed is not lost.
  drawRegisters() {
    const { app, content, theme, pointing } = this;
    if (content.instruction.tensor) return;
    const sent = content.model.get("lane_registers");
    const lanes = content.shownLanes().map(({ lane }) => lane);
    if (!lanes.every((lane) => sent[lane])) return; // still on their way
    const byLane = app.timeline ? app.timeline.registers(sent) : sent; // there is none at first
    /** @param {Name} name */
    const wanted = (name) => byLane[lanes[0]][name]?.length && content.isUnfolded(name);
    const shown = /** @type {[Name, number][]} */ (Object.entries(content.instruction.registers))
      .filter(([name]) => wanted(name))
      .map(([name, count]) => {
        if (count <= 8) return { name, count, page: 0, from: 0, to: count };
        const page = clamp(this.pages[name] ?? 0, 0, Math.ceil(count / PAGE) - 1);
        return { name, count, page, from: page * PAGE, to: Math.min(count, (page + 1) * PAGE) };
      });
    const key = JSON.stringify([content.instruction.mnemonic, shown, lanes.length, theme.dark]);
    if (key !== this.built) this.build(shown, byLane[lanes[0]], lanes.length);
    this.built = key;
    for (const update of this.updates) update(byLane, lanes);
    // fields may hold other cells now
    this.lit = "";
    this.highlight(content.quiz.open ? null : pointing.hovered);
    app.quiz.markFields();
  }

  /** @param {Block[]} shown @param {Registers} registers @param {number} columns */
  build(shown, registers, columns) {
    const { content } = this;
    const side = columns > 1;
    [this.updates, this.fields] = [[], []];
    this.registers.replaceChildren();
    this.registers.className = `ptx-registers ${side ? "" : "ptx-blocks"}`;
    this.registers.classList.toggle("ptx-wide", content.matrices.D.bits === 64);
    this.registers.style.setProperty("--lanes", String(columns));
    const floats = shown.filter(({ name }) => content.matrices[name].kind === "float"); // whose values are longer
    const least = floats.some(({ name }) => registers[name][0].fields.length === 8)
      ? 164
      : floats.length
        ? 118
        : 96;
    this.registers.style.setProperty("--least", `${least}px`);
    if (!side) {
      for (const block of shown) this.drawBlock(this.registers, block, registers[block.name], 1);
      return;
    }
    const inFirst = content.instruction.registers.B ? ["A", "E", "SFA", "C"] : ["A", "E"];
    for (const isFirst of [true, false]) {
      const blocks = shown.filter(({ name }) => inFirst.includes(name) === isFirst);
      if (!blocks.length) continue;
      const place = make("div", "ptx-side", this.registers);
      this.drawHeads(place, columns, isFirst);
      roveTabindex(place, ".ptx-side-head button", nextInBar)();
      for (const block of blocks) this.drawBlock(place, block, registers[block.name], columns);
    }
  }

  // Above each column its lane, in the colours of the lane; a click chooses it.
  /** @param {HTMLElement} place @param {number} columns @param {boolean} first */
  drawHeads(place, columns, first) {
    const { content, theme, pointing, selection } = this;
    place.style.gridTemplateColumns = `14px repeat(${columns}, var(--wide))`;
    make("span", "", place);
    const heads = Array.from({ length: columns }, () => {
      const head = make("div", "ptx-side-head", place);
      let lane = 0;
      const name = makeButton(head, "ptx-side-lane", "", () => selection.chooseLane(lane));
      const drop = () => {
        this.lanes.toggle(lane);
        this.lanes.focus();
      };
      const unpin = first ? makeButton(head, "ptx-unpin", "×", drop) : null;
      name.addEventListener("pointerenter", () => pointing.hover({ lane }));
      onMouse(name, "pointerleave", () => pointing.hover(null));
      /** @param {number} now */
      return (now) => {
        lane = now;
        write(name, `${holderNoun(content.instruction)} ${lane}`);
        paint(name, theme.colours[lane % 32]);
        attribute(name, "aria-pressed", lane === content.lane);
        if (!unpin) return;
        unpin.hidden = !this.content.pinned.includes(lane);
        attribute(unpin, "aria-label", `unpin ${holderNoun(content.instruction)} ${lane}`);
      };
    });
    this.updates.push((_, lanes) => heads.forEach((head, index) => head(lanes[index])));
  }

  /** @param {HTMLElement} place @param {Block} block @param {Register[]} registers @param {number} columns */
  drawBlock(place, { name, count, page, from, to }, registers, columns) {
    const { content } = this;
    const matrix = content.matrices[name === "A" && content.matrices.stored ? "stored" : name];
    const block = make("section", "ptx-block", place, {
      "data-operand": name,
      role: "group",
      "aria-label": `registers of ${name}; arrow keys move inside`,
    });
    const head = make("div", "ptx-block-head", block);
    const { label: title, type } = matrix;
    make("b", "", head, { text: title });
    const text = `${count} ${plural(count, "register")} of ${name === "E" ? "8 nibbles" : type}`;
    const elements = registers[from]?.fields.length ?? 0;
    const order = elements === 2 ? " · high | low" : elements > 2 ? " · highest bits left" : "";
    const tip = order && "The highest bits of a register stand first: element 1 before element 0";
    make("span", "", head, { text: `${text}${order}`, title: tip });
    if (count > 8) this.addPager(head, { name, count, page, from, to });
    for (let register = from; register < to; register += 1) {
      if (columns > 1) make("label", "", block).textContent = String(register);
      const small = columns > 1;
      const info = { name, register, matrix, count: registers[register].fields.length, small };
      const updates = Array.from({ length: columns }, () => drawRegister(this, block, info));
      this.updates.push((now, lanes) =>
        updates.forEach((update, index) => update(now[lanes[index]][name][register], lanes[index])),
      );
    }
    roveTabindex(block, ".ptx-hex, .ptx-bit, .ptx-value, .ptx-page-button", nextInPlane)();
  }

  /** @param {HTMLElement} head @param {Block} block */
  addPager(head, { name, count, page, from, to }) {
    /** @param {string} text @param {string} label @param {number} by */
    const turn = (text, label, by) => {
      const press = () => {
        this.pages[name] = clamp(page + by, 0, Math.ceil(count / PAGE) - 1);
        this.drawRegisters();
        // it was built again
        /** @type {HTMLElement | null} */ (this.registers.querySelector(`[aria-label="${label}"]`))?.focus();
      };
      makeButton(head, "ptx-page-button", text, press, { "aria-label": label });
    };
    turn("‹", `earlier registers of ${name}`, -1);
    make("span", "ptx-range", head).textContent = `${from}..${to - 1}`;
    turn("›", `later registers of ${name}`, 1);
  }
}

// The grid of lanes: one is chosen, others can be pinned beside it.

const MAX_PINNED = 4; // lanes beside the chosen one
export class Lanes {
  /** @param {Pick<App, "content" | "theme" | "pointing" | "selection">} parts @param {HTMLElement} parent */
  constructor({ content, theme, pointing, selection }, parent) {
    this.theme = theme;
    this.pointing = pointing;
    this.selection = selection;
    this.content = content;
    this.key = "";
    // whether the focus goes to the lane that is chosen next
    this.takesFocus = false;
    this.title = make("div", "ptx-lane-title", parent);
    const name = make("b", "", this.title);
    this.name = make("span", "", name);
    // of a thread in its warpgroup
    this.place = make("span", "ptx-lane-place", name);
    this.group = make("span", "", this.title, {
      title: "The PTX ISA calls them groupID = %laneid >> 2 and threadID_in_group = %laneid % 4",
    });
    this.pin = makeButton(this.title, "ptx-pin", "", () => this.toggle(content.lane), {
      title:
        "Keep this lane's registers and outline in view beside those of the next lane you choose (on a lane: Ctrl+click or Space)",
    });
    this.warps = make("div", "ptx-warps", parent, { role: "group", "aria-label": "warp" });
    this.updateWarps = roveTabindex(this.warps, "button", nextInBar);
    this.node = make("div", "ptx-lanes", parent, { role: "group", "aria-label": "lane" });
    this.node.addEventListener("keydown", (event) => this.press(event));
    this.node.addEventListener("keyup", (event) => {
      if (event.key === " ") event.preventDefault();
    });
  }

  /** @param {number} lane */
  toggle(lane) {
    const { pinned } = this.content;
    const others = pinned.filter((pinnedLane) => pinnedLane !== lane);
    // if there are too many, the oldest is removed
    this.content.set("pinned", pinned.includes(lane) ? others : [...pinned, lane].slice(-MAX_PINNED));
  }

  focus() {
    /** @type {HTMLElement | null} */ (this.node.querySelector("[aria-pressed=true]"))?.focus();
  }

  // A click chooses a lane; with Ctrl, Cmd or Shift it pins one beside the chosen.
  /** @param {MouseEvent} event @param {number} lane */
  click(event, lane) {
    if (event.ctrlKey || event.metaKey || event.shiftKey) this.toggle(lane);
    else this.selection.chooseLane(lane);
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    const { content, selection } = this;
    const lane = Number(/** @type {HTMLElement} */ (event.target).dataset.lane);
    if (event.key === " " && !Number.isNaN(lane)) {
      event.preventDefault();
      this.toggle(lane);
      return;
    }
    const [first, last] = /** @type {HTMLElement[]} */ ([this.node.firstChild, this.node.lastChild]);
    const across = first.offsetTop === last.offsetTop ? 4 : 8;
    const arrow = ARROWS[event.key];
    if (!arrow) return;
    event.preventDefault();
    const to = clamp(content.lane + arrow[0] * across + arrow[1], 0, content.instruction.lanes - 1);
    if (to === content.lane) return;
    this.takesFocus = true;
    selection.chooseLane(to);
  }

  update() {
    const { content, theme } = this;
    const { pinned } = this.content;
    const { lane, instruction } = content;
    const warp = Math.floor(lane / 32);
    const own = lane % 32; // lanes are numbered in their warp
    write(this.name, instruction.lanes > 32 ? `Thread ${lane}: ` : `Lane ${lane}`);
    write(this.place, instruction.lanes > 32 ? `warp ${warp}, lane ${own}` : "");
    write(this.group, `group ${Math.floor(own / 4)}, thread ${own % 4} of 4`);
    write(this.pin, pinned.includes(lane) ? "pinned" : "pin");
    attribute(this.pin, "aria-pressed", pinned.includes(lane));
    attribute(
      this.pin,
      "aria-label",
      `${pinned.includes(lane) ? "unpin" : "pin"} ${holderNoun(instruction)} ${lane}`,
    );
    const key = `${instruction.lanes} ${warp} ${theme.dark}`;
    if (key !== this.key) this.build(warp);
    this.key = key;
    for (const button of this.node.querySelectorAll("button")) {
      const buttonLane = Number(button.dataset.lane);
      attribute(button, "aria-pressed", buttonLane === lane);
      attribute(
        button,
        "aria-label",
        `${holderNoun(instruction)} ${buttonLane}${pinned.includes(buttonLane) ? ", pinned" : ""}`,
      );
      button.classList.toggle("pinned", pinned.includes(buttonLane));
      attribute(button, "tabindex", buttonLane === lane ? 0 : -1);
    }
    if (this.takesFocus) this.focus();
    this.takesFocus = false;
    for (const button of this.warps.querySelectorAll("button")) {
      button.classList.toggle(
        "pinned",
        pinned.some((pinnedLane) => Math.floor(pinnedLane / 32) === Number(button.dataset.warp)),
      );
    }
  }

  /** @param {number} warp */
  build(warp) {
    const { content, theme, pointing, selection } = this;
    this.warps.replaceChildren();
    for (
      let shownWarp = 0;
      content.instruction.lanes > 32 && shownWarp < content.instruction.lanes / 32;
      shownWarp += 1
    ) {
      makeButton(
        this.warps,
        "ptx-warp",
        `warp ${shownWarp}`,
        () => selection.chooseLane(shownWarp * 32 + (content.lane % 32)),
        { "aria-pressed": shownWarp === warp, "data-warp": shownWarp },
      );
    }
    this.updateWarps();
    this.node.replaceChildren();
    this.node.classList.toggle("ptx-long-numbers", content.instruction.lanes > 100);
    for (let group = 0; group < 8; group += 1) {
      const box = make("div", "ptx-group", this.node);
      for (let thread = 0; thread < 4; thread += 1) {
        const lane = warp * 32 + group * 4 + thread;
        const press = (/** @type {MouseEvent} */ event) => this.click(event, lane);
        const button = makeButton(box, "ptx-lane", String(lane), press, { "data-lane": lane });
        paint(button, theme.colours[lane % 32]);
        button.addEventListener("pointerenter", () => pointing.hover({ lane }));
        onMouse(button, "pointerleave", () => pointing.hover(null));
      }
    }
  }

  // The button of a lane; null of a lane in another warp.
  /** @param {number} lane @returns {HTMLElement | null} */
  buttonOf(lane) {
    return this.node.querySelector(`[data-lane="${lane}"]`);
  }

  // Lanes that hold the row or column in question, or else contribute to the selected cell of D, and the
  // warps they are in. Lanes that contribute nothing lose their colour.
  /** @param {number[] | null} lanes @param {Contribution[]} contributions */
  outline(lanes, contributions) {
    const parts = lanes ? [] : contributions;
    const holders = new Set(lanes ?? parts.flatMap((part) => part.lanes));
    for (const button of this.node.querySelectorAll("button")) {
      const lane = Number(button.dataset.lane);
      const names = parts
        .filter((part) => part.lanes.includes(lane))
        .map(({ line }) => lineName(line, line.name));
      button.classList.toggle("holds", lanes !== null && holders.has(lane));
      button.classList.toggle("contributes", names.length > 0);
      button.classList.toggle(
        "aside",
        !lanes && holders.size > 0 && !names.length && lane !== this.content.lane,
      );
      if (names.length) attribute(button, "title", `holds ${names.join(" and ")}`);
      else button.removeAttribute("title");
    }
    const warps = new Set([...holders].map((lane) => String(Math.floor(lane / 32))));
    for (const button of this.warps.querySelectorAll("button"))
      button.classList.toggle("holds", warps.has(button.dataset.warp ?? ""));
  }
}
