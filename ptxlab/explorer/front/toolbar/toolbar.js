// The toolbar above the matrices: undo, fills, what is shown and how, the chip
// that computes D, and exports. Python sends what can be chosen (`toolbar`);
// choices go back as messages, or as traits if they only change the display.

import { afterPaint, copyText, make, makeButton, write } from "../common/dom.js";
import { Controls } from "../common/controls.js";
import { holderNoun } from "../matrix/describe.js";
import { STACKED } from "../pane/scene_layout.js";
import { WHOLE } from "../pane/camera.js";
import { roveTabindex, nextInBar } from "../common/roving_tabindex.js";

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
    this.exportGroup = /** @type {HTMLElement | null} */ (null);
    this.node = make("div", "ptx-toolbar", parent, { role: "toolbar", "aria-label": "Explorer toolbar" });
    // in the order in which they keep their place
    this.groups = /** @type {HTMLElement[]} */ ([]);
    this.more = this.makeMore();
    this.updateStops = roveTabindex(this.node, "button, select", nextInBar);
    this.notice = make("div", "ptx-notice", parent, { role: "status", "data-testid": "notice" });
  }

  // The groups that do not fit into one line are in a box that a button opens.
  makeMore() {
    const place = make("div", "ptx-more", null);
    /** @param {boolean} open */
    const setOpen = (open) => {
      box.hidden = !open;
      button.setAttribute("aria-expanded", String(open));
      this.updateStops();
    };
    const button = makeButton(place, "ptx-tool", "More ▾", () => setOpen(Boolean(box.hidden)), {
      "aria-expanded": false,
      title: "More tools",
      "data-tool": "more",
    });
    const box = make("div", "ptx-more-box", place);
    box.hidden = true;
    place.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || box.hidden) return;
      event.stopPropagation();
      setOpen(false);
      button.focus();
    });
    this.app.root.addEventListener("pointerdown", (event) => {
      if (!place.contains(/** @type {Node} */ (event.target))) setOpen(false);
    });
    return { place, box };
  }

  // One line: what does not fit goes into the box, the last group first.
  fit() {
    const { place, box } = this.more;
    const groups = this.exportGroup ? [...this.groups, this.exportGroup] : this.groups;
    for (const group of this.groups) this.node.append(group);
    if (this.exportGroup) this.app.header.node.append(this.exportGroup);
    place.remove();
    const header = this.app.header.node;
    const wraps = (/** @type {HTMLElement} */ line) => {
      const nodes = /** @type {HTMLElement[]} */ ([...line.children]).filter((node) => node.offsetParent);
      const [first, last] = [nodes[0], nodes[nodes.length - 1]];
      return Boolean(first && last && last.offsetTop > first.offsetTop + first.offsetHeight / 2);
    };
    const moved = /** @type {HTMLElement[]} */ ([]);
    if (this.exportGroup && (wraps(header) || this.app.layoutWidth < STACKED)) moved.push(this.exportGroup);
    if (moved.length) this.node.append(place);
    for (const group of [...this.groups].reverse()) {
      for (const movedGroup of moved) box.append(movedGroup);
      if (!wraps(this.node)) break;
      this.node.append(place);
      moved.push(group);
    }
    for (const group of groups) if (moved.includes(group)) box.append(group);
    // a wide group leaves room for those after it
    for (const group of this.groups.filter((candidate) => moved.includes(candidate))) {
      place.before(group);
      if (wraps(this.node)) box.append(group);
    }
    if (!box.children.length) place.remove();
    this.updateStops();
    this.app.header.updateStops();
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
    this.groups = [];
    this.node.replaceChildren();
    this.more.box.replaceChildren();
    if (!toolbar.static) {
      const edit = this.group("edit");
      this.button(edit, "↶", "Undo (Ctrl+Z)", { type: "undo" }, ({ undo }) => undo, "ptx-icon");
      this.button(edit, "↷", "Redo (Ctrl+Shift+Z)", { type: "redo" }, ({ redo }) => redo, "ptx-icon");
      this.fills(this.group("fill"));
    }
    const zoom = this.group("zoom");
    if (toolbar.options.length) this.modifiers(this.group("modifiers"));
    if (!toolbar.static && toolbar.chips.length) this.chips(this.group("result"));
    this.display(this.group("display"), toolbar.controls);
    this.zoom(zoom, toolbar.controls);
    if (toolbar.static) return;
    if (toolbar.chips.length) this.gpu(this.group("GPU"));
    this.exportGroup?.remove();
    this.exportGroup = make("div", "ptx-tool-group ptx-export", this.app.header.node, {
      role: "group",
      "aria-label": "export",
    });
    for (const [format, text, hint] of EXPORTS) {
      const button = this.button(this.exportGroup, text, hint, { type: "export", format });
      button.dataset.export = format;
      button.addEventListener("click", () => button.classList.add("busy")); // a page takes a tab's Python seconds
    }
    if (this.app.layoutWidth) this.fit();
  }

  /** @param {string} name */
  group(name) {
    const group = make("div", "ptx-tool-group", this.node, { role: "group", "aria-label": name });
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
    const button = this.exportGroup?.querySelector(`[data-export="${CSS.escape(format ?? "")}"]`);
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
