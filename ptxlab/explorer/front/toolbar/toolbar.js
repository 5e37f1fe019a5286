// The bar above the matrices: undo, play and why, and a menu with everything else: fills, what is shown and how, the
// chips, copies. What was used, or what the author of a notebook asked for, stands on the bar. The menu begins with a
// field for commands and places. Python sends what can be chosen (`toolbar`); choices go back as messages, or as traits
// if they only change the display.

import {
  afterPaint,
  copyText,
  focusOn,
  focusedIn,
  hasModifier,
  make,
  makeButton,
  write,
} from "../common/dom.js";
import { Controls } from "../common/controls.js";
import { holderNoun } from "../matrix/describe.js";
import { WHOLE } from "../pane/camera.js";
import { isEditingText, roveTabindex, nextInBar } from "../common/roving_tabindex.js";

// What always stands on the bar.
const ALWAYS = ["edit", "play"];
const COMMANDS = "button:not([hidden], :disabled), select, input:not(.ptx-name)";

/** @type {[format: "code" | "link" | "page", text: string, hint: string][]} */
const EXPORTS = [
  ["code", "Copy Python", "Copy Python code that computes this D"],
  [
    "link",
    "Copy link",
    "Copy a link: a browser opens what is on the screen, and so does ptxlab.explore(link)",
  ],
  ["page", "Save page", "Save an HTML page that needs no notebook"],
];

/** @param {ToolbarData["patterns"]} patterns */
const namesIn = (patterns) => /** @type {Name[]} */ (Object.keys(patterns));

export class Toolbar {
  /** @param {App} app @param {HTMLElement} parent */
  constructor(app, parent) {
    this.app = app;
    this.content = app.content;
    this.selection = app.selection;
    this.scene = app.scene;
    this.built = "";
    this.updates = /** @type {((toolbar: ToolbarData) => void)[]} */ ([]);
    this.target = /** @type {Name} */ ("A");
    this.pattern = "random";
    this.node = make("div", "ptx-toolbar", parent, { role: "toolbar", "aria-label": "Explorer toolbar" });
    // in the order in which they keep their place
    this.groups = /** @type {HTMLElement[]} */ ([]);
    // the names of those that were used
    this.used = /** @type {Set<string>} */ (new Set());
    this.more = this.makeMore();
    this.updateStops = roveTabindex(this.node, "button, select", nextInBar);
    this.notice = make("div", "ptx-notice", app.root, { role: "status", "data-testid": "notice" });
    app.root.addEventListener("keydown", (event) => this.shortcut(event));
  }

  // The menu: groups that are not on the bar, below the field for commands and places.
  makeMore() {
    const place = make("div", "ptx-more", null);
    const button = makeButton(place, "ptx-tool", "Menu ▾", () => this.setOpen(Boolean(box.hidden)), {
      "aria-expanded": false,
      title: "All tools, and a field for commands and places (/)",
      "data-tool": "more",
    });
    const box = make("div", "ptx-more-box", place, { role: "group", "aria-label": "all tools" });
    box.hidden = true;
    place.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || box.hidden) return;
      event.stopPropagation();
      this.setOpen(false);
      focusOn(button);
    });
    box.addEventListener("change", ({ target }) => this.use(/** @type {HTMLElement} */ (target)));
    box.addEventListener("click", ({ target }) => {
      const pressed = /** @type {Element} */ (target).closest("button");
      if (pressed) this.use(pressed);
    });
    this.app.root.addEventListener("pointerdown", (event) => {
      if (!place.contains(/** @type {Node} */ (event.target))) this.setOpen(false);
    });
    return { place, box, button };
  }

  // What is used in the menu comes to the bar, and the menu closes; where there is no room, some of it stays open.
  /** @param {HTMLElement} control */
  use(control) {
    const name = control.closest("[data-group]")?.getAttribute("data-group");
    if (name && name !== "page") this.used.add(name);
    this.fit();
    const stays = control.matches("select, input, .ptx-zoom button, [data-group=copy] button");
    if (!stays || !this.more.box.contains(control)) this.setOpen(false);
  }

  /** @param {boolean} open */
  setOpen(open) {
    const { box, button } = this.more;
    if (box.hidden === !open) return;
    const focused = /** @type {HTMLElement | null} */ (focusedIn(box));
    box.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
    this.app.header.nameBox.clear();
    this.filter("");
    if (!open && focused) focusOn(focused.closest("[hidden]") ? button : focused);
    this.updateStops();
  }

  // "/" wherever the focus is in the Explorer, unless text is being typed: a cell or a register's field that is merely
  // chosen takes it, too.
  /** @param {KeyboardEvent} event */
  shortcut(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    const isField = target.matches("input:not([type=range]), textarea, select, [contenteditable=true]");
    const isIdle =
      target.matches(".ptx-cell:not(.editing)") ||
      (target.matches(".ptx-register input") && !isEditingText(target));
    if (event.defaultPrevented || event.key !== "/" || hasModifier(event) || (isField && !isIdle)) return;
    event.preventDefault();
    this.setOpen(true);
    this.app.header.nameBox.input.focus();
  }

  // Shows the groups with a command that has these words; returns the commands, the closest first.
  /** @param {string} text */
  filter(text) {
    const words = text.trim().toLowerCase().split(/\s+/);
    /** @param {HTMLElement} node */
    const commandsOf = (node) => /** @type {HTMLElement[]} */ ([...node.querySelectorAll(COMMANDS)]);
    /** @param {Element} node @param {boolean} isOwn */
    const saidOf = (node, isOwn) => {
      const options = [...node.querySelectorAll("option")].map((option) => option.textContent).join(" ");
      const group = node.closest("[data-group]")?.getAttribute("data-group") ?? "";
      const own = `${node.getAttribute("aria-label") ?? node.textContent} ${isOwn ? "" : `${node.getAttribute("title")} ${options} ${group}`}`;
      return own.toLowerCase();
    };
    /** @param {boolean} isOwn */
    const matching = (isOwn) =>
      this.groups
        .flatMap(commandsOf)
        .filter((node) => words.every((word) => saidOf(node, isOwn).includes(word)));
    const commands = matching(false);
    for (const group of this.groups)
      if (this.more.box.contains(group))
        group.hidden = !commandsOf(group).some((node) => commands.includes(node));
    return [...new Set([...matching(true), ...commands])];
  }

  // Presses the command that these words mean, or goes to its list; returns whether there is one.
  /** @param {string} text */
  perform(text) {
    const [command] = this.filter(text);
    if (!command) return false;
    this.filter("");
    if (command.matches("button")) {
      command.click();
      this.setOpen(false);
    } else command.focus();
    return true;
  }

  // On the bar, in one line, what always stands there, what was asked for and what was used; the rest in the menu.
  fit() {
    const { place, box } = this.more;
    const focused = /** @type {HTMLElement | null} */ (focusedIn(this.node));
    const asked = [...ALWAYS, ...this.used, ...(this.content.model.get("tools") ?? [])];
    const [onBar, inMenu] = [true, false].map((isOn) =>
      this.groups.filter(({ dataset: { group = "" } }) => asked.includes(group) === isOn),
    );
    this.node.append(...onBar, place);
    const wraps = () => {
      const nodes = /** @type {HTMLElement[]} */ ([...this.node.children]).filter(
        (node) => node.offsetParent,
      );
      const [first, last] = [nodes[0], nodes[nodes.length - 1]];
      return Boolean(first && last && last.offsetTop > first.offsetTop + first.offsetHeight / 2);
    };
    const fixed = onBar.filter(({ dataset: { group = "" } }) => ALWAYS.includes(group)).length;
    while (onBar.length > fixed && wraps()) {
      const last = /** @type {HTMLElement} */ (onBar.pop());
      last.remove();
      inMenu.push(last);
    }
    box.append(this.app.header.nameBox.node, ...this.groups.filter((group) => inMenu.includes(group)));
    if (focused && focused !== focusedIn(this.node)) focusOn(focused);
    this.updateStops();
  }

  // What can be chosen; Python sends it before anything is shown.
  get data() {
    return /** @type {ToolbarData} */ (this.content.model.get("toolbar"));
  }

  update() {
    const { model } = this.content;
    const toolbar = model.get("toolbar");
    if (!toolbar?.controls) return;
    const key = JSON.stringify([
      toolbar.static,
      toolbar.chips,
      toolbar.patterns,
      toolbar.options.map(({ name, choices }) => [name, choices]),
    ]);
    if (key !== this.built) this.build(toolbar);
    this.built = key;
    for (const update of this.updates) update(toolbar);
    this.updateStops();
    write(this.notice, model.get("notice") ?? "");
  }

  // Nodes are built again only if the choices change, so that the focus stays.
  /** @param {ToolbarData} toolbar */
  build(toolbar) {
    this.updates = [];
    for (const group of this.groups) group.remove();
    this.groups = [];
    const { header, quiz } = this.app;
    if (!toolbar.static) {
      const edit = this.group("edit");
      this.button(edit, "↶", "Undo (Ctrl+Z)", { type: "undo" }, ({ undo }) => undo, "ptx-icon");
      this.button(edit, "↷", "Redo (Ctrl+Shift+Z)", { type: "redo" }, ({ redo }) => redo, "ptx-icon");
    }
    this.play(this.group("play"));
    if (!toolbar.static && Object.keys(toolbar.patterns).length) this.fills(this.group("fill"));
    if (toolbar.options.length) this.modifiers(this.group("modifiers"));
    if (!toolbar.static && toolbar.chips.length) this.chips(this.group("compare"));
    if (toolbar.controls.length) {
      this.display(this.group("show"), toolbar.controls);
      this.zoom(this.group("zoom"), toolbar.controls);
    }
    if (!toolbar.static && toolbar.chips.length) this.gpu(this.group("gpu"));
    this.group("quiz").append(quiz.start);
    const copies = this.group("copy");
    copies.append(header.button);
    if (!toolbar.static)
      for (const [format, text, hint] of EXPORTS) {
        const button = this.button(copies, text, hint, { type: "export", format });
        button.dataset.export = format;
        button.addEventListener("click", () => button.classList.add("busy")); // a page takes a tab's Python seconds
      }
    this.group("page").append(header.fullScreen, header.helpButton);
    if (this.app.layoutWidth) this.fit();
  }

  // From the operands to D, and why D has its bits.
  /** @param {HTMLElement} parent */
  play(parent) {
    const { timeline, tracePanel } = this.app;
    const button = makeButton(parent, "ptx-tool ptx-play-tool", "", () => timeline.toggle(), {
      "data-tool": "play",
    });
    parent.append(tracePanel.ask);
    const show = () => {
      const isPlaying = timeline.timer !== 0;
      write(button, isPlaying ? "❚❚ stop" : "▶ play");
      button.title = isPlaying ? "Stop here" : "Play the instruction, from its operands to D";
      button.hidden = timeline.node.hidden;
    };
    this.playing?.disconnect();
    this.playing = new MutationObserver(show);
    this.playing.observe(timeline.button, { characterData: true, childList: true, subtree: true });
    this.updates.push(show);
    show();
  }

  /** @param {string} name */
  group(name) {
    const group = make("div", "ptx-tool-group", null, {
      role: "group",
      "aria-label": name,
      "data-group": name,
    });
    this.groups.push(group);
    return group;
  }

  /**
   * @param {HTMLElement} parent
   * @param {string} text
   * @param {string} hint
   * @param {Message} message
   * @param {((toolbar: ToolbarData) => boolean) | null} enabled
   */
  button(parent, text, hint, message, enabled = null, classes = "") {
    const press = () => this.app.send(message);
    const node = makeButton(parent, `ptx-tool ${classes}`, text, press, { title: hint });
    if (classes) node.setAttribute("aria-label", hint);
    if (enabled) this.updates.push((toolbar) => (node.disabled = !enabled(toolbar)));
    return node;
  }

  // Lists to choose from, updated with everything that Python sends.
  /**
   * @param {HTMLElement} parent
   * @param {string} key the attribute that holds the name of a list
   * @param {(name: string, value: any, node: Element) => void} choose
   * @param {(toolbar: ToolbarData) => Control[]} controlsFor
   */
  lists(parent, key, choose, controlsFor) {
    const controls = new Controls(parent, key, choose);
    this.updates.push((toolbar) => controls.showControls(controlsFor(toolbar)));
  }

  // What is shown on the cells, and what their colours mean.
  /** @param {HTMLElement} parent @param {DisplayControl[]} controls */
  display(parent, controls) {
    const { model } = this.content;
    /** @param {string} trait @param {any} value */
    const choose = (trait, value) => {
      this.content.set(/** @type {"label" | "colour_by"} */ (trait), value);
      if (trait === "label") afterPaint(() => this.scene.camera.showLabels());
    };
    this.lists(parent, "data-trait", choose, () =>
      controls.flatMap(({ trait, label, hint, options }) => {
        if (!options) return [];
        const chosen = model.get(trait);
        const offered = options.filter(([, value]) => this.isOffered(value) || value === chosen);
        /** @type {Control["choices"]} */
        const choices = offered.map(([text, value]) => [this.optionText(text, value), value]);
        return [{ name: trait, label, hint, value: chosen, choices }];
      }),
    );
  }

  // From all of the scene to single bits.
  /** @param {HTMLElement} parent @param {DisplayControl[]} controls */
  zoom(parent, controls) {
    const control = controls.find(({ range }) => range);
    if (!control?.range) return;
    const { trait, hint, range } = control;
    const { model } = this.content;
    const box = make("span", "ptx-zoom", parent, { role: "group", "aria-label": hint, title: hint });
    /** @param {string} classes @param {string} text @param {string} name @param {() => number} by */
    const button = (classes, text, name, by) =>
      makeButton(box, `ptx-tool ${classes}`, text, () => this.scene.zoomBy(by()), { "aria-label": name });
    const less = button("ptx-icon", "−", "farther", () => -range.step);
    const now = button("ptx-percent", "", "see all of it", () => WHOLE - model.get(trait));
    const more = button("ptx-icon", "+", "nearer", () => range.step);
    now.dataset.trait = trait;
    this.updates.push(() => {
      const percent = model.get(trait);
      write(now, percent > WHOLE ? `${percent} %` : "whole");
      [less.disabled, more.disabled] = [percent <= WHOLE, percent >= range.max];
    });
  }

  // In tensor memory elements are in lanes and columns, and in registers after tcgen05.ld only.
  /** @param {string} text @param {Label | Traits["colour_by"]} value */
  optionText(text, value) {
    const { instruction } = this.content;
    if (!instruction.tensor) return text === "lane·element" ? `${holderNoun(instruction)}·element` : text;
    if (text === "lane·element") return "lane·column";
    return value === "register" ? "thread after ld" : text;
  }

  // Warps and banks are colours only where there are several warps, or operands in shared memory.
  /** @param {Label | Traits["colour_by"]} value */
  isOffered(value) {
    const { instruction } = this.content;
    if (value === "warp") return instruction.lanes > 32;
    if (value !== "bank" && value !== "core matrix") return true;
    return Object.values(instruction.matrices ?? {}).some(({ byte }) => byte);
  }

  /** @param {HTMLElement} parent */
  fills(parent) {
    const { app, content, selection } = this;
    let filled = { name: /** @type {Name} */ ("A"), pattern: "" };
    /** @param {string} list @param {any} value */
    const choose = (list, value) => {
      if (list === "fill") this.target = value;
      else this.pattern = value;
      this.update();
    };
    this.lists(make("span", "ptx-lists", parent), "data-tool", choose, ({ patterns }) => {
      const target = this.target in patterns ? this.target : "A";
      const legal = patterns[target] ?? [];
      const pattern = legal.includes(this.pattern) ? this.pattern : (legal.at(-1) ?? "");
      filled = { name: target, pattern };
      return [
        {
          name: "fill",
          label: "Fill",
          hint: "The matrix to fill",
          value: target,
          choices: namesIn(patterns).map((name) => [content.matrices[name]?.label ?? name, name]),
        },
        {
          name: "pattern",
          label: "with",
          spoken: "fill with", // "with" says nothing where it is read alone
          hint: "The pattern to fill it with",
          value: pattern,
          choices: legal.map((name) => [name, name]),
        },
      ];
    });
    const fill = () => {
      const { row, column } = selection.mark?.name === filled.name ? selection.mark : { row: 0, column: 0 };
      app.send({ type: "fill_matrix", ...filled, row, column });
    };
    makeButton(parent, "ptx-tool", "Fill", fill, {
      title: "Fill the matrix (one-hot puts its 1 at the selected cell)",
      "data-tool": "go",
    });
  }

  // The matrix in which a cell is selected is the one to fill.
  /** @param {Name} name */
  chooseMatrixToFill(name) {
    const toolbar = this.content.model.get("toolbar");
    if (!toolbar?.patterns?.[name] || name === this.target) return;
    this.target = name;
    this.update();
  }

  /** @param {HTMLElement} parent */
  chips(parent) {
    /** @param {string} which @param {string | null} value */
    const choose = (which, value) => {
      const { chip, against } = this.data;
      this.app.send({ type: "set_chips", chip, against, [which]: value });
    };
    this.lists(parent, "data-tool", choose, ({ chips, chip, against }) => [
      {
        name: "chip",
        label: "Chip",
        hint: "The chip whose arithmetic computes D",
        value: chip,
        choices: chips,
      },
      {
        name: "against",
        label: "Compare with",
        hint: "A second chip: cells of D in which the two differ are marked",
        value: against,
        choices: [["none", null], ...chips.filter(([, value]) => value && value !== chip)],
      },
    ]);
  }

  // A mask has no list: lanes, or runs of columns, are typed.
  /** @param {HTMLElement} parent */
  modifiers(parent) {
    const { send } = this.app;
    /** @param {string} name @param {any} value @param {Element} node */
    const choose = (name, value, node) =>
      node.matches("select")
        ? send({ type: "set_option", name, value })
        : send({ type: "set_mask", name, text: value }, { node });
    this.lists(parent, "data-option", choose, ({ options, static: disabled }) =>
      options.map((control) => ({ ...control, disabled })),
    );
  }

  /** @param {HTMLElement} parent */
  gpu(parent) {
    const hint = "Also compute D on the GPU, and mark the cells that differ";
    const node = this.button(parent, "Run on the GPU", hint, { type: "run_on_gpu" });
    node.dataset.tool = "gpu";
    const status = make("span", "ptx-gpu", parent, { role: "status" });
    this.updates.push(({ gpu }) => {
      node.disabled = !gpu.available || gpu.busy;
      write(status, gpu.available ? gpu.status : "no GPU: emulated");
      status.title = gpu.status;
      node.classList.toggle("busy", gpu.busy);
      node.title = gpu.available ? hint : gpu.status;
    });
  }

  // The answer to an export: a text for the clipboard, or a page to save.
  /** @param {ExportAnswer} message */
  async receiveExport({ export: format, text, name }) {
    const button = this.node.querySelector(`[data-export="${CSS.escape(format ?? "")}"]`);
    button?.classList.remove("busy");
    if (!button || typeof text !== "string") return;
    const label = button.textContent;
    let done = "saved";
    if (format === "page") {
      const link = make("a", "", null, {
        download: name ?? "",
        href: URL.createObjectURL(new Blob([text], { type: "text/html" })),
      });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    } else done = (await copyText(text)) ? "copied" : "not copied";
    button.textContent = done;
    window.setTimeout(() => (button.textContent = label), 1600);
  }
}
