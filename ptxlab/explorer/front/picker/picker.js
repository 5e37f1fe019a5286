// The picker: find an instruction by words or by family, shape, types, qualifiers and target.

import {
  ARROWS,
  focusOn,
  focusedIn,
  hasModifier,
  make,
  makeButton,
  makeTextInput,
  revealInList,
} from "../common/dom.js";
import { clamp, plural } from "../common/numbers.js";
import { COLUMNS, Search, appendBreakable, marksIn } from "./search.js";
import { holderNoun } from "../matrix/describe.js";
import { isEditingText } from "../common/roving_tabindex.js";

/** @param {number} count @param {string} noun */
const counted = (count, noun) => `${count.toLocaleString("en")} ${plural(count, noun)}`;

/** @type {Record<string, string>} */
const HEADINGS = {
  family: "family",
  shape: "shape",
  types: "types D.A.B.C",
  qualifiers: "qualifiers",
  target: "target",
};
const DRAWN = 50; // lines of matches at most

// What is not a search: a line of PTX with operands, an asm statement, an atom of CUTLASS.
const PASTED = /["{;]|\b(?:mma|wmma|wgmma)\.\S*sync|\btcgen05\.|SM\d+_|\d+x\d+x\d+_/;

export class Picker {
  static made = 0;

  /** @param {Pick<App, "root" | "content" | "header" | "send">} parts @param {HTMLElement} parent */
  constructor({ root, content, header, send }, parent) {
    this.root = root;
    this.content = content;
    this.header = header;
    this.send = send;
    this.id = `ptx-picker-${(Picker.made += 1)}`;
    this.search = /** @type {Search | null} */ (null);
    this.choice = this.nothing();
    // the line that Enter chooses
    this.active = 0;
    this.lines = /** @type {Match[]} */ ([]);
    this.space = /** @type {Space} */ ("register");
    // what had the focus
    this.focusedBefore = /** @type {Element | null} */ (null);
    this.scrolled = false;
    this.node = make("section", "ptx-picker", null, {
      id: this.id,
      role: "search",
      "aria-label": "choose an instruction",
    });
    this.node.hidden = true;
    const top = make("div", "ptx-search-row", this.node);
    this.input = makeTextInput(top, "ptx-search", {
      placeholder: "m16n8k64 s4 sparse",
      autocapitalize: "off",
      role: "combobox",
      "aria-autocomplete": "list",
      "aria-expanded": "true",
      "aria-controls": `${this.id}-matches`,
      "aria-label": "search by shape, types and words such as sparse, fp8, hopper",
    });
    this.count = make("span", "ptx-count", top, { role: "status" });
    this.reset = makeButton(top, "ptx-copy", "clear", () => {
      this.clear();
      this.draw();
      this.input.focus();
    });
    makeButton(top, "ptx-copy ptx-close", "✕", () => this.close(), {
      "aria-label": "close the picker",
      title: "Close (Escape)",
    });
    const columns = make("div", "ptx-picker-columns", this.node);
    this.columns = [...COLUMNS, "target"].map(
      (name) => /** @type {OptionList<number>} */ (new OptionList(this, columns, name, HEADINGS[name])),
    );
    this.more = make("div", "ptx-wgmma", this.node);
    this.sizes = /** @type {OptionList<number>} */ (new OptionList(this, this.more, "n", "N", 16));
    this.spaces = /** @type {OptionList<Space>} */ (new OptionList(this, this.more, "space", "A in", 2));
    this.list = make("div", "ptx-matches", this.node, {
      id: `${this.id}-matches`,
      role: "listbox",
      tabindex: "0",
      "aria-label": "instructions that match",
    });
    this.help = make("div", "ptx-picker-help", this.node);
    // static pages have no other instruction
    if (content.isStatic || content.model.get("picker_index") === undefined) return;
    parent.append(this.node);
    header.addChangeButton(this, this.id);
    this.listen();
  }

  listen() {
    this.root.addEventListener("keydown", (event) => this.shortcut(event));
    this.input.addEventListener("input", () => {
      this.active = 0;
      this.draw();
      this.reveal();
    });
    this.input.addEventListener("keydown", (event) => this.keyInMatches(event));
    this.list.addEventListener("keydown", (event) => this.keyInMatches(event));
    this.list.addEventListener("scroll", () => {
      this.scrolled = true;
    });
    this.node.addEventListener("keydown", (event) => this.press(event));
  }

  /** @returns {Choices} */
  nothing() {
    return { at: COLUMNS.map(() => null), target: null, n: null };
  }

  clear() {
    this.choice = this.nothing();
    this.active = 0;
    this.lines = [];
    this.input.value = "";
  }

  // -- opening and closing --

  get opened() {
    return !this.node.hidden;
  }

  // With what was typed in Python in the search box, as long as that may mean several instructions.
  open(takesFocus = true) {
    const { change } = this.header;
    if (!change) return;
    if (!this.opened) {
      this.focusedBefore = focusedIn(this.root);
      this.node.hidden = false;
      change.setAttribute("aria-expanded", "true");
      this.clear();
      this.input.value = this.content.model.get("candidates")?.typed ?? "";
      this.space = this.spaceNow();
      if (!this.content.model.get("picker_index")?.rows) this.send({ type: "request_picker_index" });
      this.update();
      this.reveal();
    }
    if (!takesFocus) return;
    focusOn(this.input);
    this.input.select(); // typing replaces what Python put there
    this.node.scrollIntoView({ block: "nearest" });
  }

  close() {
    const { change } = this.header;
    if (!this.opened || !change) return;
    this.node.hidden = true;
    change.setAttribute("aria-expanded", "false");
    focusOn(this.focusedBefore?.isConnected ? this.focusedBefore : change);
  }

  toggle() {
    if (this.opened) this.close();
    else this.open();
  }

  // Ctrl+K, wherever the focus is in the Explorer, unless text is being typed: a cell or a register's field that is
  // merely chosen takes it, too.
  /** @param {KeyboardEvent} event */
  shortcut(event) {
    const target = /** @type {Element} */ (event.target);
    const isCommand =
      (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k";
    const box = target.matches("input:not([type=range]), textarea, select, [contenteditable=true]");
    const idle =
      target.matches(".ptx-cell:not(.editing)") ||
      (target.matches(".ptx-register input") && !isEditingText(target));
    if (event.defaultPrevented || !isCommand || (box && !idle)) return;
    event.preventDefault();
    this.open();
  }

  // -- drawing --

  update() {
    if (!this.opened) return;
    const index = this.content.model.get("picker_index");
    if (!index?.rows) {
      this.count.textContent = "loading the catalogue …";
      return;
    }
    const first = this.search?.index !== index;
    if (first) this.search = new Search(index);
    this.draw();
    if (first) this.reveal();
  }

  get current() {
    return this.search?.items[this.search.byMnemonic.get(this.content.instruction.mnemonic) ?? -1] ?? null;
  }

  draw() {
    const { search, choice, current } = this;
    if (!search) return;
    const { words, matching } = this.find(search);
    const { targets } = search.index;
    COLUMNS.forEach((_, column) => {
      this.columns[column].showOptions(
        search.options(column, choice, matching),
        (value) => [search.names[column][value]],
        { chosen: choice.at[column], current: current?.at[column] },
        (value) => this.narrow(search.choose(choice, column, value, matching), column),
      );
    });
    this.columns[COLUMNS.length].showOptions(
      search.targetOptions(choice, matching),
      (value) => [targets[value][0], targets[value][1]],
      { chosen: choice.target, current: null },
      (value) => this.narrow({ ...choice, target: value }),
    );
    const matches = search.matches(choice, matching);
    this.drawMore(search, matches, matching);
    const asked = words.length > 0 || choice.at.some((value) => value !== null) || choice.target !== null;
    this.reset.hidden = !asked;
    this.drawMatches(search, matches, words, asked);
  }

  // What the search box finds; what was typed in Python means what Python found.
  /** @param {Search} search */
  find(search) {
    const found = search.search(this.input.value);
    const { typed, mnemonics } = this.content.model.get("candidates") ?? {};
    if (!mnemonics || typed !== this.input.value.trim()) return found;
    const meant = new Set(mnemonics);
    return { words: found.words, matching: search.items.map(({ mnemonic }) => meant.has(mnemonic)) };
  }

  // After a choice in a column, the columns to its right show what is left.
  /** @param {Choices} choice */
  narrow(choice, column = COLUMNS.length) {
    this.choice = choice;
    this.active = 0;
    this.draw();
    this.reveal(column + 1);
  }

  reveal(from = 0) {
    for (const column of this.columns.slice(from)) column.reveal();
  }

  // Where A of the current instruction is.
  /** @returns {Space} */
  spaceNow() {
    const { registers, tensor, transfer } = this.content.instruction ?? {};
    if (transfer) return "shared";
    if (tensor) return tensor.places.A ? "tensor" : "shared";
    return registers?.A ? "register" : "shared";
  }

  // N, and where A is: for warpgroup instructions; for tcgen05 only the latter, since its descriptor has N.
  /** @param {Search} search @param {Item[]} matches @param {boolean[]} matching */
  drawMore(search, matches, matching) {
    const { choice, current } = this;
    const wide = matches.length > 0 && matches.every(({ many }) => many);
    const tensor = matches.length > 0 && matches.every(({ space }) => space === 2);
    this.more.hidden = !wide && !tensor;
    this.sizes.node.hidden = !wide;
    if (this.more.hidden) return;
    this.sizes.showOptions(
      search.sizes(choice, matching),
      (value) => [String(value)],
      { chosen: choice.n, current: current?.many ? current.n : null },
      (n) => this.narrow({ ...choice, n }),
    );
    const isLike = current?.space === matches[0].space;
    this.spaces.showOptions(
      [
        [tensor ? "tensor" : "register", matches.length],
        ["shared", matches.length],
      ],
      (value) => [value === "register" ? "registers" : `${value} memory`],
      { chosen: this.spaceFor(matches[0]), current: isLike ? this.spaceNow() : null },
      (value) => {
        this.space = value ?? this.space;
        this.draw();
      },
    );
  }

  // Where A will be, as chosen: wgmma may have it in registers or shared memory (1), tcgen05 in shared or
  // tensor memory (2), the others in one place only (0).
  /** @param {Item} item @returns {Space} */
  spaceFor({ space }) {
    if (space === 2) return this.space === "tensor" ? "tensor" : "shared";
    return space === 1 && this.space !== "tensor" ? this.space : "register";
  }

  /** @param {Search} search @param {Item[]} matches @param {SearchWord[]} words @param {boolean} asked */
  drawMatches(search, matches, words, asked) {
    const { current } = this;
    const text = this.input.value.trim().toLowerCase();
    let lines = search.lines(matches, this.choice.n ?? current?.n ?? 8);
    if (current && !words.length)
      lines = lines
        .map((line) => ({ ...line, like: search.likeness(line.item, current) }))
        .sort((first, second) => second.like - first.like);
    lines.sort(
      (first, second) => Number(second.item.mnemonic === text) - Number(first.item.mnemonic === text),
    );
    this.count.textContent = asked
      ? `${matches.length.toLocaleString("en")} of ${counted(search.items.length, "instruction")} match`
      : counted(search.items.length, "instruction");
    this.lines = lines.slice(0, DRAWN);
    this.active = clamp(this.active, 0, Math.max(0, this.lines.length - 1));
    this.list.replaceChildren();
    if (this.scrolled) this.list.scrollTop = 0; // reading it would force a layout
    this.scrolled = false;
    this.lines.forEach((line, index) => this.drawLine(search, line, index, words));
    this.list.hidden = !lines.length;
    this.help.textContent = this.helpText(search, matches, lines, words, asked);
    this.highlight(this.active > 0);
  }

  /** @param {Search} search @param {Item[]} matches @param {Match[]} lines @param {SearchWord[]} words @param {boolean} asked */
  helpText(search, matches, lines, words, asked) {
    const [count, families] = search.index.others;
    if (!matches.length) {
      const unknown = words.filter(({ fits }) => !fits.size).map(({ word }) => word);
      const other = families.find((family) =>
        unknown.some((word) => `${word}.`.startsWith(`${family}.`) || family.endsWith(`.${word}`)),
      );
      if (other) return `${other} has no matrices and no data, so there is nothing to show of it.`;
      if (PASTED.test(this.input.value)) return "Press Enter to look this up as PTX or as a CUTLASS atom.";
      if (unknown.length) return `No instruction has ${unknown.join(" or ")}.`;
      return "Nothing matches: remove a word, or a choice in a column.";
    }
    const hidden = lines.slice(DRAWN).reduce((sum, { items }) => sum + items.length, 0);
    const more = hidden ? `and ${hidden.toLocaleString("en")} more · ` : "";
    const others = asked ? "" : ` · ${count} more of tcgen05 have no matrices and no data`;
    return `${more}↑ ↓ to move, Enter to choose, Tab for the columns, Escape to close${others}`;
  }

  /** @param {Search} search @param {Match} line @param {number} index @param {SearchWord[]} words */
  drawLine(search, { item, items }, index, words) {
    const { index: data } = search;
    const node = make("div", "ptx-match", this.list, {
      role: "option",
      id: `${this.id}-match-${index}`,
      "data-mnemonic": item.mnemonic,
    });
    const name = make("code", "ptx-match-name", node);
    let seen = this.appendMarked(name, item.mnemonic, words);
    const tags = make("span", "ptx-match-tags", node);
    if (item === this.current) {
      node.setAttribute("aria-current", "true");
      make("span", "ptx-tag ptx-tag-current", tags, { text: "current" });
    }
    if (items.length > 1)
      make("span", "ptx-tag", tags, { text: `N ${items[0].n} … ${items[items.length - 1].n}` });
    const everyday = data.word_sets[item.wordSet];
    const facts = [
      // each with the words that mean it
      [everyday[0] === "sparse" ? `sparse ${everyday[1]}` : everyday[0]],
      [item.lanes > 1 ? `${item.lanes} ${holderNoun(item)}s` : "1 thread", "warp", "warpgroup", "thread"],
      [data.target_sets[item.targetSet][0], ...search.targetWords[item.targetSet]],
    ];
    for (const [place, [fact, ...spoken]] of facts.entries()) {
      const part = make("span", place === 1 ? "ptx-match-fact ptx-match-lanes" : "ptx-match-fact", node);
      const left = words.filter(({ word }) => !seen.has(word));
      seen = new Set([...seen, ...this.appendMarked(part, fact, left, spoken)]);
    }
    const [, places, ptxVersion] = data.target_sets[item.targetSet];
    const names = places.map((place) => data.targets[place][0]).join(", ");
    node.title = `${names}; PTX ISA ${ptxVersion} and later`;
    for (const { word, known } of words) {
      // an everyday word that is nowhere in the line
      const reason = seen.has(word)
        ? null
        : known.find((word) => search.vocabulary.get(word)?.has(search.byMnemonic.get(item.mnemonic) ?? -1));
      if (reason) make("mark", "ptx-tag", tags, { text: reason });
    }
    node.addEventListener("click", () => this.choose(index));
    node.addEventListener("pointermove", () => {
      if (this.active === index) return;
      this.active = index;
      this.highlight(false);
    });
  }

  /** @param {Element} node @param {string} text @param {SearchWord[]} words @param {string[]} whole */
  appendMarked(node, text, words, whole = []) {
    const { ranges, seen } = marksIn(text, words, this.search?.index.parts_of_words ?? {}, whole);
    let at = 0;
    for (const [start, end] of ranges) {
      if (end <= at) continue;
      appendBreakable(node, text.slice(at, Math.max(at, start)));
      appendBreakable(make("mark", "", node), text.slice(Math.max(at, start), end));
      at = end;
    }
    appendBreakable(node, text.slice(at));
    return seen;
  }

  // Shows which match Enter chooses.
  highlight(reveal = true) {
    [...this.list.children].forEach((node, index) =>
      node.setAttribute("aria-selected", String(index === this.active)),
    );
    const node = /** @type {HTMLElement | undefined} */ (this.list.children[this.active]);
    for (const owner of [this.input, this.list]) {
      if (node) owner.setAttribute("aria-activedescendant", node.id);
      else owner.removeAttribute("aria-activedescendant");
    }
    if (node && reveal) revealInList(this.list, node);
  }

  // -- keys --

  // In the search box and in the list of matches.
  /** @param {KeyboardEvent} event */
  keyInMatches(event) {
    if (event.isComposing) return;
    /** @type {Record<string, number>} */
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
    if (event.key in steps)
      this.active = clamp(this.active + steps[event.key], 0, Math.max(0, this.lines.length - 1));
    else if (event.key === "Enter") this.choose(this.active);
    else return;
    event.preventDefault();
    if (this.opened) this.highlight();
  }

  // Anywhere in the picker. Text typed outside of the search box goes into it.
  /** @param {KeyboardEvent} event */
  press(event) {
    event.stopPropagation();
    if (event.key === "Escape") {
      event.preventDefault();
      this.close();
      return;
    }
    const isLetter = event.key.length === 1 && event.key !== " " && !hasModifier(event);
    if (isLetter && event.target !== this.input) this.input.focus();
  }

  /** @param {object} column @param {number} step */
  focusBeside(column, step) {
    const lists = [...this.columns, ...(this.more.hidden ? [] : [this.sizes, this.spaces])];
    lists[lists.findIndex((list) => list === column) + step]?.focus();
  }

  /** @param {number} index */
  choose(index) {
    const item = this.lines[index]?.item;
    const text = this.input.value.trim();
    if (!item && !PASTED.test(text)) return;
    this.focusedBefore = null;
    this.close();
    const space = item?.space ? this.spaceFor(item) : "as named";
    const mnemonic = item ? item.mnemonic : text; // or pasted code
    this.send({ type: "choose_instruction", mnemonic, a_space: space });
  }
}

// A column of the picker: a list box in which one option has the focus and arrow keys move it.
/** @template T */
class OptionList {
  /** @param {Picker} picker @param {HTMLElement} parent @param {string} name @param {string} heading */
  constructor(picker, parent, name, heading, columns = 1) {
    this.picker = picker;
    this.columns = columns;
    this.options = /** @type {OptionNode<T>[]} */ ([]);
    this.choose = /** @type {(value: T | null) => void} */ (() => {});
    this.values = "";
    const id = `${picker.id}-${name}`;
    this.node = make("div", `ptx-column ptx-list-${name}`, parent);
    make("div", "ptx-column-name", this.node, { id, text: heading });
    this.list = make("div", "ptx-options", this.node, { role: "listbox", "aria-labelledby": id });
    if (columns > 1) this.list.setAttribute("aria-orientation", "horizontal");
    this.list.addEventListener("keydown", (event) => this.press(event));
  }

  // Options with the number of instructions that each leaves, in order; what is chosen, and what the current
  // instruction has.
  /**
   * @param {[value: T, count: number][]} rows
   * @param {(value: T) => string[]} names what it is called, and what it means
   * @param {{ chosen: T | null | undefined, current: T | null | undefined }} marked
   * @param {(value: T | null) => void} choose
   */
  showOptions(rows, names, marked, choose) {
    this.choose = choose;
    const values = JSON.stringify(rows.map(([value]) => value));
    if (values !== this.values) this.build(rows, names);
    this.values = values;
    rows.forEach(([value, count], index) => {
      const option = this.options[index];
      Object.assign(option, { count, chosen: value === marked.chosen, current: value === marked.current });
      const { node, number, name, chosen, current } = option;
      node.setAttribute("aria-selected", String(chosen));
      node.setAttribute("aria-disabled", String(!count));
      node.toggleAttribute("data-current", current);
      number.textContent = count ? count.toLocaleString("en") : "";
      const matches = count ? counted(count, "instruction") : "no match";
      node.title = `${name}: ${matches}${current ? "; current" : ""}`;
    });
    this.moveStop(this.options.find(({ node }) => node === document.activeElement) ?? this.entry());
  }

  /** @param {[value: T, count: number][]} rows @param {(value: T) => string[]} names */
  build(rows, names) {
    this.list.replaceChildren();
    this.options = rows.map(([value, count]) => {
      const [text, more] = names(value);
      const node = make("div", "ptx-option", this.list, { role: "option", "data-value": text });
      make("span", "ptx-option-name", node, { text });
      if (more) make("span", "ptx-option-more", node, { text: more });
      const number = make("span", "ptx-option-count", node, { "aria-hidden": "true" });
      const name = more ? `${text} (${more})` : text;
      const option = { value, count, name, node, number, chosen: false, current: false };
      node.addEventListener("click", () => this.pick(option));
      return option;
    });
  }

  /** @param {OptionNode<T> | undefined} stop */
  moveStop(stop) {
    for (const option of this.options) option.node.tabIndex = option === stop ? 0 : -1;
  }

  // Where the focus enters: at what is chosen, else at the
  // current instruction's option, else at the first with a match.
  entry() {
    const { options } = this;
    return (
      options.find(({ chosen }) => chosen) ??
      options.find(({ count, current }) => count && current) ??
      options.find(({ count }) => count) ??
      options[0]
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
    this.moveStop(option);
    focusOn(option.node);
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

  // Keys across the list go to the list beside it.
  /** @param {KeyboardEvent} event */
  press(event) {
    const { key } = event;
    const at = this.options.findIndex(({ node }) => node === event.target);
    const [down, right] = ARROWS[key] ?? [0, 0];
    const [along, across] = this.columns > 1 ? [right, down] : [down, right];
    if (at < 0) return;
    if (key === "Enter" || key === " ") this.pick(this.options[at]);
    else if (key === "Home") this.focusNext(-1, 1);
    else if (key === "End") this.focusNext(this.options.length, -1);
    else if (along) this.focusNext(at, along);
    else if (across) this.picker.focusBeside(this, across);
    else return;
    event.preventDefault();
  }

  // To the next option with a match.
  /** @param {number} from @param {number} step */
  focusNext(from, step) {
    let at = from + step;
    while (this.options[at] && !this.options[at].count && !this.options[at].chosen) at += step;
    if (this.options[at]) this.focus(this.options[at]);
  }
}
