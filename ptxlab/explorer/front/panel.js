// Lanes and registers: those of the chosen lane in full or, where there is little room, as cards of a
// few lines; those of several lanes side by side.

import { make, clamp, write, attribute, isTouch, plural } from "./util.js";
import { bitsHolder, cellOfIndex, holderOf, indexOfCell } from "./matrix.js";
import { Lanes } from "./lanes.js";
import { drawRegister } from "./register.js";
import { roveTabindex, nextInBar, nextInPlane } from "./roving_tabindex.js";

const PAGE = 4; // registers shown at once of an operand that has more than eight

const COLUMN_GAP = 16; // as the style says

// Things of these sizes in so many columns, in order, the highest as low as possible: the indices in each.
/** @param {number[]} sizes @param {number} count @returns {number[][]} */
function inColumns(sizes, count) {
  /** @param {number} most */
  const fill = (most) => {
    const columns = /** @type {number[][]} */ ([[]]);
    let high = 0;
    sizes.forEach((size, index) => {
      if (high && high + size > most) {
        columns.push([]);
        high = 0;
      }
      columns[columns.length - 1].push(index);
      high += size;
    });
    return columns;
  };
  let most = Math.max(...sizes);
  while (fill(most).length > count) most += 1;
  const columns = fill(most);
  while (columns.length < count) columns.push([]);
  return columns;
}

export class Panel {
  /** @param {App} app @param {HTMLElement} parent */
  constructor(app, parent) {
    this.app = app;
    /** @type {Record<string, number>} */
    this.pages = {};
    this.built = "";
    this.dense = false; // whether registers are cards
    /** @type {((registers: Traits["lane_registers"], lanes: number[]) => void)[]} */
    this.updates = [];
    this.fields = /** @type {FieldNode[]} */ ([]); // the elements that are shown
    this.lit = "";
    this.node = make("section", "ptx-panel", parent, { "aria-label": "lanes and registers" });
    this.lanes = new Lanes(app, this.node);
    this.registers = make("div", "ptx-registers", this.node);
  }

  update() {
    this.node.hidden = Boolean(this.app.instruction.tensor);
    if (this.node.hidden) return;
    this.lanes.update();
    this.drawRegisters();
  }

  /** @param {boolean} dense */
  setDense(dense) {
    if (dense === this.dense) return;
    this.dense = dense;
    this.app.grid.classList.toggle("ptx-dense", dense);
    this.drawRegisters();
  }

  /** @param {number[] | null} lanes @param {Contribution[]} contributions */
  outline(lanes, contributions) {
    this.lanes.outline(lanes, contributions);
  }

  // Turns to the page with the register that holds a cell.
  /** @param {Cell} cell */
  follow(cell) {
    const { matrices } = this.app;
    const matrix = matrices[cell.name];
    const [holder, at] = holderOf(matrices, matrix, indexOfCell(matrix, cell));
    if (at >= 0 && holder.registerOf) this.pages[holder.operand] = Math.floor(holder.registerOf[at] / PAGE);
  }

  /** @param {Name} name @param {number} register */
  turnTo(name, register) {
    this.pages[name] = Math.floor(register / PAGE);
    this.drawRegisters();
  }

  // The bits of the cell under the pointer, in every lane that is shown.
  /** @param {Hovered | null} hovered */
  highlight(hovered) {
    const cells = hovered?.name ? [bitsHolder(this.app.matrices, hovered)] : this.movedCells();
    const named = new Set(cells.map(({ name, row, column }) => `${name} ${row} ${column}`));
    const key = [...named].join();
    if (key === this.lit) return;
    this.lit = key;
    for (const field of this.fields) {
      const cell = field.cell();
      const lit = cell !== null && named.has(`${cell.name} ${cell.row} ${cell.column}`);
      if (lit !== field.node.classList.contains("lit")) field.node.classList.toggle("lit", lit);
    }
  }

  // Those that the memory view moves in its current step.
  /** @returns {Cell[]} */
  movedCells() {
    const { memory } = this.app;
    const { matrix } = memory;
    return matrix ? memory.player.moved().map((index) => cellOfIndex(matrix, index)) : [];
  }

  // Registers keep their nodes while only their content changes, so that text being typed is not lost.
  drawRegisters() {
    const { app } = this;
    if (app.instruction.tensor) return;
    const byLane = app.model.get("lane_registers");
    const lanes = app.shownLanes().map(({ lane }) => lane);
    if (!lanes.every((lane) => byLane[lane])) return; // still on their way
    /** @param {Name} name */
    const wanted = (name) => byLane[lanes[0]][name]?.length && (name !== "C" || app.model.get("show_c"));
    const shown = /** @type {[Name, number][]} */ (Object.entries(app.instruction.registers))
      .filter(([name]) => wanted(name))
      .map(([name, count]) => {
        const page = count > 8 ? clamp(this.pages[name] ?? 0, 0, Math.ceil(count / PAGE) - 1) : 0;
        return {
          name,
          count,
          page,
          from: page * PAGE,
          to: count > 8 ? Math.min(count, (page + 1) * PAGE) : count,
        };
      });
    const key = JSON.stringify([app.instruction.mnemonic, shown, lanes.length, app.dark, this.dense]);
    if (key !== this.built) this.build(shown, byLane[lanes[0]], lanes.length);
    this.built = key;
    for (const update of this.updates) update(byLane, lanes);
    this.lit = ""; // fields may hold other cells now
    this.highlight(app.quiz.open ? null : app.hovered);
    app.quiz.markFields();
  }

  /** @param {Block[]} shown @param {Registers} registers @param {number} columns */
  build(shown, registers, columns) {
    const { app } = this;
    const side = columns > 1;
    [this.updates, this.fields] = [[], []];
    this.registers.replaceChildren();
    this.registers.className = `ptx-registers ${side ? "" : this.dense ? "ptx-cards" : "ptx-columns"}`;
    this.registers.classList.toggle("ptx-wide", app.matrices.D.bits === 64);
    this.registers.style.setProperty("--lanes", String(columns));
    // side by side if there is room
    this.registers.style.setProperty("--groups", columns > 3 ? "1" : "2");
    const floats = shown.filter(({ name }) => app.matrices[name].kind === "float"); // whose values are longer
    const least = floats.some(({ name }) => registers[name][0].fields.length === 8)
      ? 164
      : floats.length
        ? 118
        : 96;
    this.registers.style.setProperty("--least", `${least}px`);
    if (!side) {
      for (const block of shown) this.drawBlock(this.registers, block, registers[block.name], 1);
      this.distribute();
      return;
    }
    const groups = app.instruction.registers.B
      ? [
          ["A", "E", "SFA", "C"],
          ["B", "SFB", "D"],
        ]
      : [
          ["A", "E"],
          ["C", "D"],
        ];
    for (const group of groups) {
      const blocks = shown.filter(({ name }) => group.includes(name));
      if (!blocks.length) continue;
      const place = make("div", "ptx-side", this.registers);
      this.drawHeads(place, columns, group === groups[0]);
      roveTabindex(place, ".ptx-side-head button", nextInBar)();
      for (const block of blocks) this.drawBlock(place, block, registers[block.name], columns);
    }
  }

  // Blocks of the chosen lane, in as many columns as fit, each as high as the others as far as possible. Not
  // in columns of CSS: browsers lay those out completely whenever a bit in them changes.
  distribute() {
    if (!this.registers.classList.contains("ptx-columns") || !this.registers.clientWidth) return;
    const least = Number(getComputedStyle(this.registers).getPropertyValue("--column"));
    const count = Math.max(1, Math.floor((this.registers.clientWidth + COLUMN_GAP) / (least + COLUMN_GAP)));
    const blocks = /** @type {HTMLElement[]} */ ([...this.registers.querySelectorAll(".ptx-block")]);
    const sizes = blocks.map((block) => 1 + 2 * block.querySelectorAll(".ptx-register").length);
    const columns = inColumns(sizes, count);
    const placed = [...this.registers.children].map((column) => column.children.length).join();
    if (
      this.registers.querySelector(".ptx-register-column") &&
      placed === columns.map((each) => each.length).join()
    )
      return;
    const focused = this.app.focused();
    this.registers.replaceChildren(
      ...columns.map((indices) => {
        const column = make("div", "ptx-register-column");
        column.append(...indices.map((index) => blocks[index]));
        return column;
      }),
    );
    if (focused instanceof HTMLElement && this.registers.contains(focused))
      focused.focus({ preventScroll: true });
  }

  // Above each column its lane, in the colours of the lane; a click chooses it.
  /** @param {HTMLElement} place @param {number} columns @param {boolean} first */
  drawHeads(place, columns, first) {
    const { app } = this;
    place.style.gridTemplateColumns = `14px repeat(${columns}, var(--wide))`;
    make("span", "", place);
    const heads = Array.from({ length: columns }, () => {
      const head = make("div", "ptx-side-head", place);
      const name = make("button", "ptx-side-lane", head);
      const unpin = first ? make("button", "ptx-unpin", head) : null;
      if (unpin) unpin.textContent = "×";
      let lane = 0;
      name.addEventListener("click", () => app.chooseLane(lane));
      name.addEventListener("pointerenter", () => app.hover({ lane }));
      name.addEventListener("pointerleave", (event) => {
        if (!isTouch(event)) app.hover(null);
      });
      unpin?.addEventListener("click", () => {
        this.lanes.toggle(lane);
        this.lanes.focus();
      });
      /** @param {number} now */
      return (now) => {
        lane = now;
        write(name, `lane ${lane}`);
        [name.style.background, name.style.color] = app.colours[lane % 32];
        attribute(name, "aria-pressed", lane === app.lane);
        if (!unpin) return;
        unpin.hidden = !this.lanes.pinned.includes(lane);
        attribute(unpin, "aria-label", `unpin lane ${lane}`);
      };
    });
    this.updates.push((_, lanes) => heads.forEach((head, index) => head(lanes[index])));
  }

  /** @param {HTMLElement} place @param {Block} block @param {Register[]} registers @param {number} columns */
  drawBlock(place, { name, count, page, from, to }, registers, columns) {
    const { app } = this;
    const matrix = app.matrices[name === "A" && app.matrices.stored ? "stored" : name];
    const block = make("section", "ptx-block", place, {
      "data-operand": name,
      role: "group",
      "aria-label": `registers of ${name}; arrow keys move inside`,
    });
    const head = make("div", "ptx-block-head", block);
    make("b", "", head, { title: matrix.label }).textContent =
      this.dense && columns === 1 ? name : matrix.label;
    make("span", "", head).textContent =
      `${count} ${plural(count, "register")} of ${name === "E" ? "8 nibbles" : matrix.type}`;
    if (count > 8) this.addPager(head, { name, count, page, from, to });
    for (let register = from; register < to; register += 1) {
      if (columns > 1) make("label", "", block).textContent = String(register);
      const small = columns > 1 || this.dense;
      const info = { name, register, matrix, count: registers[register].fields.length, small };
      const updates = Array.from({ length: columns }, () => drawRegister(app, block, info));
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
      const button = make("button", "ptx-page-button", head, { "aria-label": label });
      button.textContent = text;
      button.addEventListener("click", () => {
        this.pages[name] = clamp(page + by, 0, Math.ceil(count / PAGE) - 1);
        this.drawRegisters();
        // it was built again
        /** @type {HTMLElement | null} */ (this.registers.querySelector(`[aria-label="${label}"]`))?.focus();
      });
    };
    turn("‹", `earlier registers of ${name}`, -1);
    make("span", "ptx-range", head).textContent = `${from}..${to - 1}`;
    turn("›", `later registers of ${name}`, 1);
  }
}
