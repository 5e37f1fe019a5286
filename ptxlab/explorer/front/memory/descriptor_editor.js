// The editor of a descriptor, by bits and by fields: the instruction descriptor of tcgen05.mma, and the matrix
// descriptor of a tile in shared memory. An edit gives another descriptor, or a sentence that says why it is illegal.

import { attribute, fillSelect, make, paint, write } from "../common/dom.js";
import { bitRange, plural } from "../common/numbers.js";
import { TextBox, listenToBits } from "../common/text_box.js";
import { flashNodes } from "../common/highlight.js";
import { roveTabindex, nextInBar, nextInPlane } from "../common/roving_tabindex.js";

export class DescriptorEditor {
  /** @param {Pick<App, "content" | "theme" | "pointing" | "tooltip" | "problem">} parts @param {HTMLElement} parent @param {DescriptorSource} source */
  constructor(parts, parent, source) {
    this.parts = parts;
    this.content = parts.content;
    this.tooltip = parts.tooltip;
    this.theme = parts.theme;
    this.source = source;
    this.built = "";
    this.shown = /** @type {DescriptorInfo | undefined} */ (undefined);
    this.dark = false;
    this.updates = /** @type {((info: DescriptorInfo) => void)[]} */ ([]);
    this.node = make("section", "ptx-descriptor", parent, {
      "aria-label": source.title.toLowerCase(),
      "data-testid": source.title.toLowerCase().replace(" ", "-"),
    });
    this.node.classList.toggle("wide", source.bits > 32);
    this.node.hidden = true;
    const head = make("div", "ptx-descriptor-head", this.node);
    make("b", "", head, { text: source.title });
    this.hex = /** @type {TextBox<string>} */ (
      new TextBox(parts, head, {
        classes: "ptx-hex",
        send: (text, _, origin) => source.setCode(text, origin),
      })
    );
    this.sentence = make("span", "", head);
    this.problems = make("div", "ptx-descriptor-problems", this.node, { role: "status" });
    this.strip = make("div", "ptx-descriptor-bits", this.node, {
      role: "group",
      "aria-label": `bits of ${source.called}; arrow keys move inside`,
    });
    this.fields = make("div", "ptx-descriptor-fields", this.node, {
      role: "group",
      "aria-label": `fields of ${source.called}`,
    });
    this.bits = /** @type {HTMLElement[]} */ ([]);
    listenToBits(this.strip, parts, {
      flip: (node) => this.flip(node),
      facts: (node) => this.bitFacts(Number(node.dataset.bit)),
    });
    this.updateBits = roveTabindex(this.strip, ".ptx-descriptor-bit", nextInBar);
    this.updateStops = roveTabindex(this.fields, "select, input", nextInPlane);
  }

  get info() {
    return this.source.info();
  }

  /** @param {number} bit */
  makeBit(bit) {
    const node = make("span", "ptx-descriptor-bit", this.strip, {
      role: "checkbox",
      tabindex: -1,
      "data-bit": bit,
    });
    this.highlightWith(node, () => this.fieldAt(bit)?.name ?? "");
    return node;
  }

  /** @param {HTMLElement} node */
  flip(node) {
    const { info } = this;
    if (!info) return;
    const code = BigInt(info.hex) ^ (1n << BigInt(node.dataset.bit ?? 0));
    this.source.setCode(`0x${code.toString(16).padStart(this.source.bits / 4, "0")}`, { node });
  }

  /** @param {number} bit */
  fieldAt(bit) {
    return this.info?.fields.find(({ low, bits }) => bit >= low && bit < low + bits);
  }

  /** @param {number} bit */
  bitFacts(bit) {
    const field = this.fieldAt(bit);
    if (!field) return [`bit ${bit} is reserved`, "it must be 0"];
    const { name, low, bits, text } = field;
    const range = `${plural(bits, "bit")} ${bitRange(low, bits)}`;
    return [`${name}, ${range} = ${text}`, field.meaning, `code ${field.code}`, "click to flip this bit"];
  }

  // Highlights a field while the pointer or the focus is on a node of it.
  /** @param {HTMLElement} node @param {() => string} name */
  highlightWith(node, name) {
    for (const type of ["pointerenter", "focusin"]) node.addEventListener(type, () => this.highlight(name()));
    for (const type of ["pointerleave", "focusout"]) node.addEventListener(type, () => this.highlight(""));
  }

  // Highlights a field and its bits.
  /** @param {string} name */
  highlight(name) {
    for (const node of this.node.querySelectorAll("[data-field]"))
      node.classList.toggle("lit", name !== "" && /** @type {HTMLElement} */ (node).dataset.field === name);
  }

  update() {
    const { info, theme } = this;
    if (info === this.shown && theme.dark === this.dark) return;
    [this.shown, this.dark] = [info, theme.dark];
    this.node.hidden = !info;
    if (!info) return;
    const key = JSON.stringify([info.fields.map(({ name, low, bits }) => [name, low, bits]), theme.dark]);
    if (key !== this.built) this.build(info);
    this.built = key;
    const { title } = this.source;
    this.hex.showValue(info.hex, `${title.toLowerCase()}, hexadecimal`, info.hex);
    write(this.problems, (info.problems ?? []).join("; "));
    write(this.sentence, info.sentence);
    this.sentence.title = info.sentence;
    const code = BigInt(info.hex);
    const flipped = /** @type {HTMLElement[]} */ ([]);
    this.bits.forEach((node, index) => {
      const bit = this.source.bits - 1 - index;
      const digit = String((code >> BigInt(bit)) & 1n);
      if (node.textContent && node.textContent !== digit) flipped.push(node);
      write(node, digit);
      attribute(node, "aria-checked", digit === "1");
      const field = this.fieldAt(bit);
      attribute(node, "aria-label", `bit ${bit}, ${field ? `${field.name}: ${field.text}` : "reserved"}`);
    });
    flashNodes(flipped);
    for (const update of this.updates) update(info);
    this.updateBits();
    this.updateStops();
  }

  /** @param {DescriptorInfo} info */
  build(info) {
    const { tooltip } = this;
    this.updates = [];
    const { bits } = this.source;
    if (!this.bits.length)
      this.bits = Array.from({ length: bits }, (_, index) => this.makeBit(bits - 1 - index));
    for (const node of this.bits) {
      const field = this.fieldAt(Number(node.dataset.bit));
      const place = field ? info.fields.indexOf(field) : -1;
      node.dataset.field = field?.name ?? "";
      node.classList.toggle("reserved", !field);
      node.classList.toggle("first", Boolean(field) && Number(node.dataset.bit) === (field?.low ?? 0));
      paint(node, field ? this.colour(place) : ["", ""]);
    }
    this.fields.replaceChildren();
    [...info.fields].reverse().forEach((field) => this.makeField(field, info.fields.indexOf(field)));
    tooltip.hide();
  }

  /** @param {number} place @returns {Colour} */
  colour(place) {
    return this.theme.colours[(place % 8) * 4 + (place > 7 ? 2 : 0)];
  }

  /** @param {DescriptorField} field @param {number} place */
  makeField(field, place) {
    const { name } = field;
    const node = make("label", "ptx-descriptor-field", this.fields, { "data-field": name });
    paint(make("span", "ptx-descriptor-name", node, { text: name }), this.colour(place));
    make("span", "ptx-descriptor-range", node, { text: bitRange(field.low, field.bits) });
    node.title = field.meaning;
    this.highlightWith(node, () => name);
    if (field.typed) this.addTextBox(node, field);
    else this.addSelect(node, field);
  }

  /** @param {HTMLElement} node @param {DescriptorField} field */
  addTextBox(node, { name }) {
    const box = /** @type {TextBox<string>} */ (
      new TextBox(this.parts, node, {
        classes: "ptx-value",
        send: (text, _, origin) => this.source.setField(name, text, origin),
      })
    );
    this.onUpdate(name, ({ text, meaning }) => {
      box.showValue(text, `${name} of ${this.source.called}`, name);
      node.title = meaning;
    });
  }

  /** @param {HTMLElement} node @param {DescriptorField} field */
  addSelect(node, { name }) {
    const { content } = this;
    const select = make("select", "", node, { "aria-label": `${name} of ${this.source.called}` });
    let shown = "";
    select.addEventListener("change", () => {
      const value = select.value;
      select.value = shown; // until Python agrees
      this.source.setField(name, value, { node: select });
    });
    this.onUpdate(name, ({ text, meaning, choices }) => {
      const key = JSON.stringify(choices);
      if (select.dataset.choices !== key) {
        select.dataset.choices = key;
        fillSelect(
          select,
          choices.map(([value, obstacle]) => [value, value, obstacle]),
        );
      }
      shown = text;
      select.value = text;
      const possible = choices.filter(([, obstacle]) => !obstacle);
      select.disabled = possible.length < 2 || content.isStatic;
      const other = choices.find(([value, obstacle]) => obstacle && value !== text);
      node.title = select.disabled && other ? `${meaning}. ${other[1]}` : meaning;
    });
  }

  // Calls back with a field whenever Python sends the descriptor.
  /** @param {string} name @param {(field: DescriptorField) => void} show */
  onUpdate(name, show) {
    this.updates.push(({ fields }) => {
      const field = fields.find((candidate) => candidate.name === name);
      if (field) show(field);
    });
  }
}
