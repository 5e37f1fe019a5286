// A column of the picker: a list box in which one option has the focus and arrow keys move it.

import { make, clamp, plural } from "./util.js";

/** @param {number} count @param {string} noun */
export const counted = (count, noun) => `${count.toLocaleString("en")} ${plural(count, noun)}`;

/** @template T */
export class OptionList {
  /** @param {Picker} picker @param {HTMLElement} parent @param {string} name @param {string} heading */
  constructor(picker, parent, name, heading, columns = 1) {
    this.picker = picker;
    this.columns = columns;
    this.options = /** @type {OptionNode<T>[]} */ ([]);
    this.choose = /** @type {(value: T | null) => void} */ (() => {});
    this.values = "";
    const id = `${picker.id}-${name}`;
    this.node = make("div", `ptx-column ptx-list-${name}`, parent);
    make("div", "ptx-column-name", this.node, { id }).textContent = heading;
    this.list = make("div", "ptx-options", this.node, { role: "listbox", "aria-labelledby": id });
    if (columns > 1) this.list.setAttribute("aria-orientation", "horizontal");
    this.list.addEventListener("keydown", (event) => this.press(event));
  }

  // `options`: {value, text, more, count, chosen, current} of each, in order.
  /** @param {PickerOption<T>[]} options @param {(value: T | null) => void} choose */
  show(options, choose) {
    this.choose = choose;
    const values = JSON.stringify(options.map(({ value }) => value));
    if (values !== this.values) this.build(options);
    this.values = values;
    options.forEach((shown, index) => {
      const option = this.options[index];
      Object.assign(option, shown);
      option.node.setAttribute("aria-selected", String(shown.chosen));
      option.node.setAttribute("aria-disabled", String(!shown.count));
      option.node.toggleAttribute("data-current", shown.current);
      option.number.textContent = shown.count ? shown.count.toLocaleString("en") : "";
      const name = shown.more ? `${shown.text} (${shown.more})` : shown.text;
      const count = shown.count ? counted(shown.count, "instruction") : "no match";
      option.node.title = `${name}: ${count}${shown.current ? "; current" : ""}`;
    });
    const stop =
      this.options.find((option) => option.node === option.node.ownerDocument.activeElement) ?? this.entry();
    for (const option of this.options) option.node.tabIndex = option === stop ? 0 : -1;
  }

  /** @param {PickerOption<T>[]} options */
  build(options) {
    this.list.replaceChildren();
    this.options = options.map((shown) => {
      const node = make("div", "ptx-option", this.list, { role: "option", "data-value": shown.text });
      make("span", "ptx-option-name", node).textContent = shown.text;
      if (shown.more) make("span", "ptx-option-more", node).textContent = shown.more;
      const number = make("span", "ptx-option-count", node, { "aria-hidden": "true" });
      const option = { ...shown, node, number };
      node.addEventListener("click", () => this.pick(option));
      return option;
    });
  }

  // Where the focus enters: at what is chosen, else at the
  // current instruction's option, else at the first with a match.
  entry() {
    const open = this.options.filter(({ count }) => count);
    return (
      this.options.find(({ chosen }) => chosen) ??
      open.find(({ current }) => current) ??
      open[0] ??
      this.options[0]
    );
  }

  /** @param {OptionNode<T>} option */
  pick(option) {
    if (!option.count && !option.chosen) return;
    this.focus(option);
    this.choose(option.chosen ? null : option.value);
  }

  /** @param {OptionNode<T>} option */
  focus(option = this.entry()) {
    if (!option) return;
    for (const each of this.options) each.node.tabIndex = each === option ? 0 : -1;
    option.node.focus({ preventScroll: true });
    this.reveal(option, true);
  }

  // Scrolls its own list only, not the notebook. What was out of sight comes to the middle.
  /** @param {OptionNode<T>} option */
  reveal(option = this.entry(), nearest = false) {
    if (!option) return;
    const { offsetTop: top, offsetHeight: height } = option.node;
    const [list, room] = [this.list, this.list.clientHeight - height];
    const seen = clamp(list.scrollTop, top - room + 4, top - 4);
    if (seen !== list.scrollTop) list.scrollTop = nearest ? seen : top - room / 2;
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    const at = this.options.findIndex(({ node }) => node === event.target);
    if (at < 0) return;
    if (event.key === "Enter" || event.key === " ") this.pick(this.options[at]);
    else if (event.key === "Home" || event.key === "End")
      this.move(event.key === "Home" ? -1 : this.options.length, event.key === "Home" ? 1 : -1);
    else if (event.key === "ArrowDown" || event.key === "ArrowUp")
      this.move(at, event.key === "ArrowDown" ? 1 : -1, this.columns > 1);
    else if (event.key === "ArrowRight" || event.key === "ArrowLeft")
      this.move(at, event.key === "ArrowRight" ? 1 : -1, this.columns === 1);
    else return;
    event.preventDefault();
  }

  // To the next option with a match, or (`across`) to the next list.
  /** @param {number} from @param {number} step */
  move(from, step, across = false) {
    if (across) {
      this.picker.focusBeside(this, step);
      return;
    }
    for (let at = from + step; at >= 0 && at < this.options.length; at += step) {
      if (this.options[at].count || this.options[at].chosen) {
        this.focus(this.options[at]);
        return;
      }
    }
  }
}
