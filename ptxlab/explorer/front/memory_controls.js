// What can be chosen in the memory view: the instruction that moves the matrix, how it lies in memory,
// colours.

import { make, makeNumberInput, makeSelect, write, attribute } from "./util.js";
import { roveTabindex, nextInBar } from "./roving_tabindex.js";

const MEMORY_COLOURS = /** @type {Choice<MemoryColour>[]} */ ([
  ["lane", "lane"],
  ["row", "row"],
  ["column", "column"],
  ["wavefront", "wavefront"],
]);

const ONE_LAYOUT = "A saved page has one layout of each matrix; a notebook has all of them";

export class MemoryControls {
  /** @param {MemoryView} view @param {HTMLElement} parent */
  constructor(view, parent) {
    this.view = view;
    this.drawn = "";
    this.colour = /** @type {MemoryColour} */ ("lane");
    this.bar = make("div", "ptx-memory-bar", parent, { role: "toolbar", "aria-label": "shared memory" });
    this.title = make("b", "", this.bar);
    this.node = make("span", "ptx-memory-controls", this.bar);
    this.summary = make("span", "ptx-memory-summary", this.bar, { role: "status" });
    const shut = make("button", "ptx-tool ptx-icon", this.bar, {
      type: "button",
      "aria-label": "close the memory view",
      title: "Close the memory view (Alt+M)",
    });
    shut.textContent = "×";
    shut.addEventListener("click", () => view.toggle(view.data.name));
    this.updateStops = roveTabindex(this.bar, "button, select", nextInBar);
  }

  update() {
    const { data, matrix } = this.view;
    const isStatic = this.view.app.isStatic;
    write(this.title, `${matrix?.label} in shared memory`);
    write(this.summary, data.summary);
    this.summary.classList.toggle("bad", data.wavefronts > data.least);
    attribute(this.summary, "title", data.facts.join("\n"));
    const key = JSON.stringify([data.name, data.controls, this.colour, isStatic]);
    if (key === this.drawn) return;
    this.drawn = key;
    const focused = /** @type {HTMLElement | null} */ (this.view.app.focused());
    const option = this.node.contains(focused) ? focused?.dataset.option : undefined;
    this.node.replaceChildren();
    for (const control of data.controls) {
      const hint = isStatic ? ONE_LAYOUT : control.hint;
      if ("choices" in control) this.list({ ...control, hint }, isStatic);
      else this.number({ ...control, hint }, isStatic);
    }
    const colours = MEMORY_COLOURS.filter(([, value]) => value !== "lane" || matrix?.lane);
    const colour = { option: "colour", label: "Colour", hint: "What the colours mean", value: this.colour };
    this.select({ ...colour, choices: colours }, (value) => {
      this.colour = /** @type {MemoryColour} */ (value);
      this.view.draw();
      this.update();
    });
    this.updateStops();
    if (option)
      /** @type {HTMLElement | null} */ (this.node.querySelector(`[data-option=${option}]`))?.focus();
  }

  /** @param {Extract<MemoryControl, { choices: unknown }>} control @param {boolean} isStatic */
  list(control, isStatic) {
    const { option, choices, value, modifier } = control;
    const node = this.select(control, (chosen) => {
      node.value = String(choices.findIndex(([, each]) => each === value)); // until Python agrees
      if (modifier && option === "major")
        this.view.app.send({
          type: "set_option",
          name: modifier.name,
          value: modifier[/** @type {"row" | "column"} */ (chosen)],
        });
      else this.choose({ [option]: chosen });
    });
    node.disabled = isStatic || choices.length < 2;
  }

  /** @param {MemoryList} list @param {(value: string | number) => void} choose */
  select({ option, label, hint, choices, value }, choose) {
    const node = makeSelect(this.node, label, { title: hint, "data-option": option });
    choices.forEach(([text, , obstacle], index) => {
      const each = make("option", "", node, { value: index });
      each.textContent = text;
      if (!obstacle) return;
      each.disabled = true;
      each.title = obstacle;
    });
    node.value = String(choices.findIndex(([, each]) => each === value));
    node.addEventListener("change", () => choose(choices[Number(node.value)][1]));
    return node;
  }

  /** @param {Exclude<MemoryControl, { choices: unknown }>} control @param {boolean} isStatic */
  number({ option, label, hint, least, most, step, value }, isStatic) {
    const node = makeNumberInput(this.node, label, {
      min: least,
      max: most,
      step,
      title: hint,
      "data-option": option,
    });
    node.value = String(value);
    node.disabled = isStatic;
    node.addEventListener("change", () => {
      if (node.value !== "" && Number.isInteger(Number(node.value)))
        this.choose({ [option]: Number(node.value) });
      else node.value = String(value);
    });
    node.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Escape") node.value = String(value);
    });
  }

  // The same with one thing changed.
  /** @param {{ [option: string]: string | number }} change */
  choose(change) {
    const { name, by, major, pitch, swizzle, controls } = this.view.data;
    const isTile = pitch === null;
    const turns = controls.some((control) => "modifier" in control && control.modifier);
    this.view.app.send({
      type: "show_memory",
      name,
      by,
      major: isTile || turns ? null : major,
      pitch,
      swizzle,
      ...change,
    });
  }
}
