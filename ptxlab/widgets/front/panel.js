// Lanes and registers.

import { make, clamp } from "./text.js";

const PAGE = 4; // registers shown at once of an operand that has more than eight

export class Panel {
  constructor(app, parent) {
    this.app = app;
    /** @type {Record<string, number>} */
    this.pages = {};
    this.key = "";
    this.node = make("section", "ptx-panel", parent, { "aria-label": "lanes and registers" });
    this.title = make("div", "ptx-lane-title", this.node);
    this.warps = make("div", "ptx-warps", this.node, { role: "group", "aria-label": "warp" });
    this.lanes = make("div", "ptx-lanes", this.node, { role: "group", "aria-label": "lane" });
    this.registers = make("div", "ptx-registers", this.node);
    this.lanes.addEventListener("keydown", (event) => {
      const across = this.lanes.firstChild.offsetTop === this.lanes.lastChild.offsetTop ? 4 : 8;
      const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -across, ArrowDown: across }[event.key];
      if (!by) return;
      event.preventDefault();
      app.chooseLane(clamp(app.lane + by, 0, app.about.lanes - 1));
      this.lanes.querySelector("[aria-pressed=true]")?.focus();
    });
  }

  update() {
    const { app } = this;
    const { lane, about } = app;
    this.title.replaceChildren();
    make("b", "", this.title).textContent = `Lane ${lane}`;
    const warp = about.lanes > 32 ? `warp ${Math.floor(lane / 32)}, ` : "";
    make("span", "", this.title).textContent = `${warp}group ${Math.floor((lane % 32) / 4)}, thread ${lane % 4} of it`;
    this.drawLanes(Math.floor(lane / 32));
    this.drawRegisters();
  }

  drawLanes(warp) {
    const { app } = this;
    const key = `${app.about.lanes} ${warp} ${app.dark}`;
    if (key !== this.key) {
      this.key = key;
      this.warps.replaceChildren();
      for (let each = 0; app.about.lanes > 32 && each < app.about.lanes / 32; each += 1) {
        const button = make("button", "ptx-warp", this.warps, { "aria-pressed": String(each === warp), "data-warp": each });
        button.textContent = `warp ${each}`;
        button.addEventListener("click", () => app.chooseLane(each * 32 + (app.lane % 32)));
      }
      this.lanes.replaceChildren();
      for (let group = 0; group < 8; group += 1) {
        const box = make("div", "ptx-group", this.lanes);
        for (let thread = 0; thread < 4; thread += 1) {
          const lane = warp * 32 + group * 4 + thread;
          const button = make("button", "ptx-lane", box, { "data-lane": lane, "aria-label": `lane ${lane}` });
          [button.style.background, button.style.color] = app.colours[lane % 32];
          button.textContent = lane;
          button.addEventListener("click", () => app.chooseLane(lane));
          button.addEventListener("pointerenter", () => app.hover({ lane }));
          button.addEventListener("pointerleave", () => app.hover(null));
        }
      }
    }
    for (const button of this.lanes.querySelectorAll("button")) {
      const chosen = Number(button.dataset.lane) === app.lane;
      button.setAttribute("aria-pressed", String(chosen));
      button.tabIndex = chosen ? 0 : -1;
    }
  }

  // Lanes that hold the row or column in question, and the warps they are in.
  outline(lanes) {
    const held = new Set(lanes ?? []);
    for (const button of this.lanes.querySelectorAll("button")) button.classList.toggle("holds", held.has(Number(button.dataset.lane)));
    const warps = new Set([...held].map((lane) => String(Math.floor(lane / 32))));
    for (const button of this.warps.querySelectorAll("button")) button.classList.toggle("holds", warps.has(button.dataset.warp));
  }

  // Registers keep their nodes while only their content changes, so that what is being typed in one of them stays.
  drawRegisters() {
    const { app } = this;
    const held = app.model.get("held");
    const wanted = (name) => held[name]?.length && (name !== "C" || app.model.get("show_c"));
    const shown = Object.entries(app.about.registers).filter(([name]) => wanted(name)).map(([name, count]) => {
      const page = count > 8 ? clamp(this.pages[name] ?? 0, 0, Math.ceil(count / PAGE) - 1) : 0;
      return { name, count, page, from: page * PAGE, to: count > 8 ? Math.min(count, (page + 1) * PAGE) : count };
    });
    const key = JSON.stringify([app.about.mnemonic, shown]);
    if (key !== this.built) {
      this.built = key;
      this.lines = [];
      this.registers.replaceChildren();
      this.registers.classList.toggle("ptx-wide", app.matrices.D.bits === 64);
      const groups = app.about.registers.B ? [["A", "E", "SFA", "C"], ["B", "SFB", "D"]] : [["A", "E"], ["C", "D"]];
      for (const group of groups) {
        const blocks = shown.filter(({ name }) => group.includes(name));
        const place = blocks.length && make("div", "", this.registers);
        for (const block of blocks) this.drawBlock(place, block);
      }
    }
    for (const line of this.lines) line(held);
  }

  drawBlock(place, { name, count, page, from, to }) {
    const { app } = this;
    const matrix = app.matrices[name === "A" && app.matrices.stored ? "stored" : name];
    const block = make("section", "ptx-block", place, { "data-operand": name, "aria-label": `registers of ${name}` });
    const head = make("div", "ptx-block-head", block);
    make("b", "", head).textContent = matrix.label;
    make("span", "", head).textContent = `${count} register${count > 1 ? "s" : ""} of ${name === "E" ? "8 nibbles" : matrix.type}`;
    if (count > 8) this.pager(head, name, page, from, to, count);
    for (let register = from; register < to; register += 1) this.drawRegister(block, name, register, matrix);
  }

  pager(head, name, page, from, to, count) {
    const turn = (text, label, by) => {
      const button = make("button", "ptx-turn", head, { "aria-label": label });
      button.textContent = text;
      button.addEventListener("click", () => { this.pages[name] = clamp(page + by, 0, Math.ceil(count / PAGE) - 1); this.drawRegisters(); });
    };
    turn("‹", `earlier registers of ${name}`, -1);
    make("span", "ptx-range", head).textContent = `${from}..${to - 1}`;
    turn("›", `later registers of ${name}`, 1);
  }

  drawRegister(block, name, register, matrix) {
    const { app } = this;
    const line = make("div", "ptx-register", block);
    make("label", "", line).textContent = register;
    const hexes = this.box(line, "ptx-hex", name, (text, lane) => app.send({ do: "set_register", name, lane, register, text }));
    hexes.node.dataset.operand = name;
    hexes.node.dataset.register = register;
    const { fields } = app.model.get("held")[name][register];
    const strip = make("div", `ptx-fields of-${fields.length}`, line);
    const parts = fields.map((_, index) => this.drawField(strip, name, register, matrix, index, fields.length));
    this.lines.push((held) => {
      const content = held[name][register];
      hexes.show(content.hex, `${name}, lane ${app.lane}, register ${register}, hexadecimal`);
      parts.forEach((part, index) => part(content.fields[index]));
    });
  }

  // One element of a register: its bits (a click turns one over), its value, and the cell it is. Returns what updates it.
  drawField(strip, name, register, matrix, index, count) {
    const { app } = this;
    let cell = null;
    const node = make("div", "ptx-field", strip);
    node.addEventListener("pointerenter", () => app.hover(cell));
    node.addEventListener("pointerleave", () => app.hover(null));
    const row = make("div", "ptx-bits", node);
    const bits = matrix.parts.flatMap(([role, length]) => Array.from({ length }, () => make("span", `ptx-bit ${role}`, row)));
    row.addEventListener("click", (event) => {
      if (event.target.dataset.bit && name !== "D") app.send({ do: "flip", name, lane: app.lane, register, bit: Number(event.target.dataset.bit) });
    });
    const value = count > 8 || name === "E" ? null : this.box(node, "ptx-value", name, (text) => app.send({ do: "paste", ...cell, text }));
    const label = count > 8 ? null : make("div", "ptx-where", node);
    const [element, place] = label ? [make("b", "", label), make("span", "", label)] : [];
    return (field) => {
      cell = { name: matrix.name, row: field.row, column: field.column };
      const called = `${matrix.element}${field.element}`;
      const at = app.selection;
      node.classList.toggle("here", Boolean(at) && at.name === cell.name && at.row === cell.row && at.column === cell.column);
      node.dataset.element = called;
      node.title = `${called} is ${matrix.label}[${field.row}][${field.column}]`;
      bits.forEach((bit, each) => {
        bit.textContent = field.bits[each];
        bit.dataset.bit = field.low + field.bits.length - 1 - each;
      });
      value?.show(field.text, `${called}, ${matrix.label} row ${field.row} column ${field.column}`);
      if (label) [element.textContent, place.textContent] = [called, `[${field.row}][${field.column}]`];
    };
  }

  // A text box that sends what was typed on Enter or when it is left, and shows what Python has.
  box(parent, classes, name, send) {
    const node = make("input", classes, parent, { type: "text", spellcheck: "false", autocomplete: "off" });
    node.readOnly = name === "D";
    let [shown, lane] = ["", 0];
    const commit = () => {
      const text = node.value.trim();
      node.value = shown; // a refused text leaves what was there; an accepted one comes back from Python
      if (text && text !== shown) send(text, lane);
    };
    node.addEventListener("focus", () => node.select());
    node.addEventListener("blur", commit);
    node.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") { event.preventDefault(); commit(); node.select(); }
      if (event.key === "Escape") { node.value = shown; node.blur(); }
    });
    const show = (text, label) => {
      if (document.activeElement === node && node.value !== shown) return;
      [shown, lane, node.value] = [text, this.app.lane, text];
      node.setAttribute("aria-label", label);
    };
    return { node, show };
  }
}
