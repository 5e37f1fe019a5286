// A simulated kernel with a slider through time. Python sends what a step shows; the page asks for steps.

/**
 * @typedef {{ name: string, role: "read" | "written", values: string[] }} LaneRegister
 * @typedef {{ number: number, line: number, ptxLine: number, text: string, lanes: number,
 *   registers: LaneRegister[], hidden: number, notes: string[] }} ShownStep
 * @typedef {{ page: string, title: string, count: number, step: number, lines: number[], shown: ShownStep,
 *   words: DataView, states: DataView }} PlayerTraits
 * @typedef {{ get<K extends keyof PlayerTraits>(name: K): PlayerTraits[K],
 *   set(name: "step", value: number): void, save_changes(): void,
 *   on(event: string, call: () => void): void, off(event: string, call: () => void): void }} PlayerModel
 */

const ROW_WORDS = 32;
const CELL = { width: 15, height: 11 };
const EMPTY = 0; // a word of shared memory that nothing has written

// The colours of words, by their state, and what those mean.
const STATES = [
  ["--rule", ""],
  ["--heat", "written before"],
  ["--changed", "changed before the next step"],
  ["--read", "read by this warp now"],
  ["--hazard-edge", "written by this warp now"],
];

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string} className
 * @param {string} [text]
 * @returns {HTMLElementTagNameMap[Tag]}
 */
function make(tag, className, text = "") {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text;
  return element;
}

/** @param {DataView} view */
const bytesOf = ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength);

class KernelPlayer {
  /** @param {PlayerModel} model @param {HTMLElement} el */
  constructor(model, el) {
    this.model = model;
    this.profile = make("div", "profile");
    this.profile.innerHTML = model.get("page"); // oxlint-disable-line no-restricted-properties -- Python escaped it
    this.panel = make("section", "panel");
    this.slider = make("input", "");
    this.place = make("span", "place");
    this.instruction = make("div", "instruction");
    this.notes = make("div", "notes");
    this.registers = makeRegion("registers", "registers");
    this.memory = make("div", "memory");
    this.memoryHead = make("div", "memory-head");
    this.canvas = make("canvas", "");
    const memoryBox = makeRegion("memory-box", "shared memory");
    memoryBox.append(this.canvas);
    this.memory.append(this.memoryHead, memoryBox);
    this.panel.append(this.makeBar(), this.instruction, this.notes, this.registers, this.memory);
    const root = make("div", "ptx-player");
    root.append(this.profile, this.panel);
    this.profile.querySelector(".ptx-profile footer")?.before(this.panel);
    el.append(root);
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.show = this.show.bind(this);
    model.on("change:shown", this.show);
    this.show();
    requestAnimationFrame(this.show); // colours and places are known once the page has it
    this.theme = new MutationObserver(() => this.showMemory());
    this.theme.observe(document.body, {
      attributes: true,
      attributeFilter: ["data-jp-theme-light", "class"],
    });
  }

  stop() {
    this.model.off("change:shown", this.show);
    this.theme.disconnect();
  }

  makeBar() {
    const { model, slider } = this;
    slider.type = "range";
    slider.min = "0";
    slider.setAttribute("aria-label", "step");
    slider.addEventListener("input", () => this.go(Number(slider.value)));
    const back = makeButton("◀", "one step back", () => this.go(model.get("step") - 1));
    const forward = makeButton("▶", "one step forward", () => this.go(model.get("step") + 1));
    const next = makeButton("next line", "next line of the source", () => this.goToNextLine());
    const bar = make("div", "bar-of-time");
    bar.append(make("b", "", model.get("title")), back, slider, forward, next, this.place);
    return bar;
  }

  /** @param {number} number */
  go(number) {
    const step = Math.min(Math.max(number, 0), this.model.get("count") - 1);
    this.slider.value = String(step);
    this.model.set("step", step);
    this.model.save_changes();
  }

  goToNextLine() {
    const lines = this.model.get("lines");
    let step = this.model.get("step");
    const line = lines[step];
    while (step < lines.length - 1 && (lines[step] === line || lines[step] === 0)) step += 1;
    this.go(step);
  }

  show() {
    const shown = this.model.get("shown");
    const count = this.model.get("count");
    this.slider.max = String(count - 1);
    this.slider.value = String(shown.number);
    this.place.textContent = `step ${shown.number + 1} of ${count}`;
    const line = shown.line === 0 ? "" : `line ${shown.line}, `;
    this.instruction.replaceChildren(
      make("span", "where", `${line}PTX ${shown.ptxLine}`),
      make("code", "", shown.text),
    );
    this.notes.replaceChildren(...shown.notes.map((note) => make("div", "", note)));
    this.showLine(shown.line);
    this.showRegisters(shown);
    this.showMemory();
  }

  // Marks the line of the source, and scrolls to it if it is not in view.
  /** @param {number} line */
  showLine(line) {
    for (const row of this.profile.querySelectorAll(".row.now")) row.classList.remove("now");
    const row = /** @type {HTMLElement | null} */ (this.profile.querySelector(`.row[data-line="${line}"]`));
    if (row === null) return;
    row.classList.add("now");
    const code = /** @type {HTMLElement} */ (row.closest(".code"));
    const top = row.offsetTop - code.offsetTop;
    if (top < code.scrollTop + 30 || top > code.scrollTop + code.clientHeight - 40)
      code.scrollTop = top - code.clientHeight / 2;
  }

  /** @param {ShownStep} shown */
  showRegisters({ registers, lanes, hidden }) {
    const table = make("div", "lanes");
    const head = make("div", "lane-row lane-head");
    head.append(make("i", "", "lane"));
    for (let lane = 0; lane < 32; lane += 1) {
      const cell = make("i", "", String(lane));
      cell.style.background = `var(--lane${lane})`;
      head.append(cell);
    }
    table.append(head);
    for (const { name, role, values } of registers) {
      const row = make("div", `lane-row ${role}`);
      const label = make("i", "", `${role === "written" ? "→ " : ""}${name}`);
      label.title = role;
      row.append(label);
      values.forEach((value, lane) => {
        const isActive = ((lanes >>> lane) & 1) === 1;
        row.append(make("i", isActive ? "value" : "value absent", value));
      });
      table.append(row);
    }
    this.registers.replaceChildren(table);
    if (hidden > 0) this.registers.append(make("div", "notes", `${hidden} more registers`));
  }

  showMemory() {
    const states = bytesOf(this.model.get("states"));
    this.memory.hidden = states.length === 0;
    if (this.memory.hidden) return;
    this.drawMemory(states);
    this.memoryHead.replaceChildren(
      make("b", "", "shared memory"),
      make("span", "", "32 banks across; a row is 128 bytes"),
    );
    for (const [colour, meaning] of STATES.slice(1)) {
      const key = make("span", "", meaning);
      const mark = make("i", "mark");
      mark.style.background = `var(${colour})`;
      key.prepend(mark);
      this.memoryHead.append(key);
    }
    this.memoryHead.append(make("span", "under"));
  }

  // A rectangle for every word that was written, a dot for the others; rows at the end without any are left
  // out.
  /** @param {Uint8Array} states */
  drawMemory(states) {
    const { canvas } = this;
    const used = states.findLastIndex((state) => state !== EMPTY) + 1;
    const rows = Math.max(4, Math.ceil(Math.max(used, 1) / ROW_WORDS));
    const style = getComputedStyle(this.panel);
    const fills = STATES.map(([colour]) => style.getPropertyValue(colour));
    const scale = window.devicePixelRatio || 1;
    canvas.width = ROW_WORDS * CELL.width * scale;
    canvas.height = rows * CELL.height * scale;
    canvas.style.width = `${ROW_WORDS * CELL.width}px`;
    canvas.style.height = `${rows * CELL.height}px`;
    const context = canvas.getContext("2d");
    if (context === null) return;
    context.scale(scale, scale);
    states.subarray(0, rows * ROW_WORDS).forEach((state, word) => {
      const x = (word % ROW_WORDS) * CELL.width;
      const y = Math.floor(word / ROW_WORDS) * CELL.height;
      context.fillStyle = fills[state];
      if (state === EMPTY) context.fillRect(x + 5, y + 4, CELL.width - 10, CELL.height - 8);
      else context.fillRect(x, y, CELL.width - 1, CELL.height - 1);
    });
  }

  // The word under the pointer.
  /** @param {MouseEvent} event */
  point(event) {
    const word = Math.floor(event.offsetY / CELL.height) * ROW_WORDS + Math.floor(event.offsetX / CELL.width);
    const words = this.model.get("words");
    const under = this.memoryHead.querySelector(".under");
    if (under === null || 4 * word + 4 > words.byteLength) return;
    const hex = words
      .getUint32(4 * word, true)
      .toString(16)
      .padStart(8, "0");
    const float = words.getFloat32(4 * word, true).toPrecision(5);
    under.textContent = `byte ${4 * word}, bank ${word % 32}: 0x${hex}, as f32 ${float}`;
  }
}

/** @param {string} text @param {string} name @param {() => void} press */
function makeButton(text, name, press) {
  const button = make("button", "turn", text);
  button.type = "button";
  button.title = name;
  button.setAttribute("aria-label", name);
  button.addEventListener("click", press);
  return button;
}

// Something that scrolls, which keys can reach.
/** @param {string} className @param {string} label */
function makeRegion(className, label) {
  const region = make("div", className);
  region.tabIndex = 0;
  region.setAttribute("role", "group");
  region.setAttribute("aria-label", label);
  return region;
}

/** @param {{ model: PlayerModel, el: HTMLElement }} widget */
function render({ model, el }) {
  const player = new KernelPlayer(model, el);
  return () => player.stop();
}

export default { render };
