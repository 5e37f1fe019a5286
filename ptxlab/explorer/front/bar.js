// The bar above the picture: what is shown and how, fills, undo, who computes D, and ways to take it along.
// Python says what there is to choose (`tools`); choices go back as messages, or as traits where they concern the look alone.

import { make, copyText, write } from "./text.js";

export class Bar {
  /** @param {App} app @param {HTMLElement} parent */
  constructor(app, parent) {
    this.app = app;
    this.built = "";
    this.shows = /** @type {((tools: Tools) => void)[]} */ ([]);
    this.target = /** @type {Name} */ ("A");
    this.how = "random";
    this.take = /** @type {HTMLElement | null} */ (null);
    this.node = make("div", "ptx-bar", parent, { role: "toolbar", "aria-label": "what is shown, and how" });
    this.note = make("div", "ptx-note", parent, { role: "status", "data-testid": "note" });
  }

  // What there is to choose, once there is anything.
  get tools() { return /** @type {Tools} */ (this.app.model.get("tools")); }

  update() {
    const { model } = this.app;
    const tools = model.get("tools");
    if (!tools?.looks) return;
    const key = JSON.stringify([tools.still, tools.chips, tools.fills, tools.options.map(({ name, options }) => [name, options])]);
    if (key !== this.built) this.build(tools);
    this.built = key;
    for (const show of this.shows) show(tools);
    write(this.note, model.get("note") ?? "");
  }

  // Nodes are made anew only where there is something else to choose, so that the focus stays.
  /** @param {Tools} tools */
  build(tools) {
    this.shows = [];
    this.node.replaceChildren();
    if (!tools.still) {
      const edit = this.group("edit");
      this.button(edit, "↶", "Undo (Ctrl+Z)", { do: "undo" }, ({ undo }) => undo, "ptx-icon");
      this.button(edit, "↷", "Redo (Ctrl+Shift+Z)", { do: "redo" }, ({ redo }) => redo, "ptx-icon");
      this.fills(this.group("fill"));
    }
    const look = this.group("look");
    for (const each of tools.looks) this.look(look, each);
    const result = this.group("result");
    if (!tools.still) this.chips(result);
    for (const { name } of tools.options) this.option(result, name);
    if (tools.still) return;
    this.gpu(result);
    this.take?.remove();
    this.take = make("div", "ptx-tools ptx-take", this.app.head.node, { role: "group", "aria-label": "take along" });
    for (const [what, text, hint] of [["code", "Copy Python", "Copy the Python that gives what is on the screen"], ["link", "Copy link", "Copy a text that ptxlab.explore(...) opens again"], ["page", "Save page", "Save this as a page that needs no notebook"]]) {
      const button = this.button(this.take, text, hint, { do: "export", what });
      button.dataset.export = what;
    }
  }

  /** @param {string} name */
  group(name) { return make("div", "ptx-tools", this.node, { role: "group", "aria-label": name }); }

  /** @param {HTMLElement} parent @param {string} text @param {string} hint @param {Message} message @param {((tools: Tools) => boolean) | null} enabled */
  button(parent, text, hint, message, enabled = null, classes = "") {
    const node = make("button", `ptx-tool ${classes}`, parent, { type: "button", title: hint });
    if (classes) node.setAttribute("aria-label", hint);
    node.textContent = text;
    node.addEventListener("click", () => this.app.send(message));
    if (enabled) this.shows.push((tools) => { node.disabled = !enabled(tools); });
    return node;
  }

  // A label and a choice. `options` and `value` are asked for with every change of what Python offers.
  /** @template T @param {HTMLElement} parent @param {string} said @param {string} hint @param {{ options: (tools: Tools) => Choice<T>[], value: (tools: Tools) => T, chosen: (value: T) => void }} how */
  choice(parent, said, hint, { options, value, chosen }) {
    const box = make("label", "ptx-choice", parent);
    make("span", "", box).textContent = said;
    const node = make("select", "", box, { title: hint, "aria-label": said });
    let drawn = "";
    node.addEventListener("change", () => chosen(options(this.tools)[node.selectedIndex][1]));
    this.shows.push((tools) => {
      const offered = options(tools);
      const key = JSON.stringify(offered);
      if (key !== drawn) {
        drawn = key;
        node.replaceChildren();
        for (const [text] of offered) make("option", "", node).textContent = text;
      }
      const place = offered.findIndex(([, each]) => each === value(tools));
      if (node.selectedIndex !== place) node.selectedIndex = place;
    });
    return node;
  }

  /** @param {HTMLElement} parent @param {Look} look */
  look(parent, { trait, said, hint, options, range }) {
    const { model } = this.app;
    const set = (/** @type {Traits[Look["trait"]]} */ value) => { model.set(trait, value); model.save_changes(); };
    if (options) {
      this.choice(parent, said, hint, { options: () => options, value: () => model.get(trait), chosen: set }).dataset.trait = trait;
    } else if (range) {
      const box = make("span", "ptx-zoom", parent, { role: "group", "aria-label": hint, title: hint });
      /** @param {string} text @param {string} name @param {number} by */
      const step = (text, name, by) => {
        const node = make("button", "ptx-tool ptx-icon", box, { type: "button", "aria-label": name });
        node.textContent = text;
        node.addEventListener("click", () => set(Math.min(range.max, Math.max(range.min, model.get(trait) + by))));
        this.shows.push(() => { node.disabled = by < 0 ? model.get(trait) <= range.min : model.get(trait) >= range.max; });
      };
      step("−", "smaller cells", -range.step);
      const now = make("button", "ptx-tool ptx-percent", box, { type: "button", "aria-label": "cells as wide as the page", "data-trait": trait });
      now.addEventListener("click", () => set(100));
      this.shows.push(() => write(now, `${model.get(trait)} %`));
      step("+", "larger cells", range.step);
    } else {
      const node = make("button", "ptx-tool", parent, { type: "button", title: hint, "data-trait": trait });
      node.textContent = said;
      node.addEventListener("click", () => set(!model.get(trait)));
      this.shows.push(() => node.setAttribute("aria-pressed", String(model.get(trait))));
    }
  }

  /** @param {HTMLElement} parent */
  fills(parent) {
    const { app } = this;
    const target = this.choice(parent, "Fill", "Matrix to fill", {
      options: ({ fills }) => /** @type {Name[]} */ (Object.keys(fills)).map((name) => [app.matrices[name]?.label ?? name, name]),
      value: ({ fills }) => (this.target in fills ? this.target : "A"),
      chosen: (name) => { this.target = name; this.update(); },
    });
    target.dataset.tool = "fill";
    const legal = (/** @type {Tools} */ { fills }) => fills[this.target] ?? fills.A ?? [];
    const how = this.choice(parent, "with", "What to fill it with", {
      options: (tools) => legal(tools).map((each) => [each, each]),
      value: (tools) => (legal(tools).includes(this.how) ? this.how : legal(tools).at(-1) ?? ""),
      chosen: (each) => { this.how = each; this.update(); },
    });
    how.dataset.tool = "how";
    const go = make("button", "ptx-tool", parent, { type: "button", title: "Fill the matrix; one-hot puts its one at the chosen cell", "data-tool": "go" });
    go.textContent = "Fill";
    go.addEventListener("click", () => {
      const name = target.value && this.target in this.tools.fills ? this.target : "A";
      const at = app.selection?.name === name ? app.selection : { row: 0, column: 0 };
      app.send({ do: "fill", name, how: how.value, row: at.row, column: at.column });
    });
  }

  // A matrix that is chosen in the picture is the one to fill.
  /** @param {Name} name */
  follow(name) {
    const tools = this.app.model.get("tools");
    if (!tools?.fills?.[name] || name === this.target) return;
    this.target = name;
    this.update();
  }

  /** @param {HTMLElement} parent */
  chips(parent) {
    const { app } = this;
    const send = (/** @type {"chip" | "against"} */ which) => (/** @type {string} */ value) => {
      const { chip, against } = this.tools;
      app.send({ do: "chips", chip, against, [which]: value });
    };
    this.choice(parent, "D by", "The chip whose model gives D, or the GPU", { options: (tools) => tools.chips, value: (tools) => tools.chip, chosen: send("chip") }).dataset.tool = "chip";
    this.choice(parent, "against", "Another to compare it with: cells of D that differ are marked", {
      options: (tools) => [["nothing", ""], ...tools.chips], value: (tools) => tools.against, chosen: send("against"),
    }).dataset.tool = "against";
  }

  /** @param {HTMLElement} parent @param {string} name */
  option(parent, name) {
    const found = (/** @type {Tools} */ { options }) => /** @type {Tools["options"][0]} */ (options.find((each) => each.name === name));
    const { said } = found(this.tools);
    const node = this.choice(parent, said, `the instruction's ${said}`, {
      options: (tools) => found(tools).options,
      value: (tools) => found(tools).value,
      chosen: (place) => this.app.send({ do: "option", name, place }),
    });
    node.dataset.option = name;
    this.shows.push((tools) => { node.disabled = Boolean(tools.still); });
  }

  /** @param {HTMLElement} parent */
  gpu(parent) {
    const node = this.button(parent, "Run on the GPU", "Have the GPU give D too, and mark where it differs", { do: "gpu" }, ({ gpu }) => gpu.there && !gpu.busy);
    node.dataset.tool = "gpu";
    const says = make("span", "ptx-gpu", parent, { role: "status" });
    this.shows.push(({ gpu }) => {
      write(says, gpu.there ? gpu.says : "no GPU here: emulated");
      says.title = gpu.says;
      node.classList.toggle("busy", gpu.busy);
      node.title = gpu.there ? "Have the GPU give D too, and mark where it differs" : gpu.says;
    });
  }

  // What a button asked for: a text for the clipboard, or a page to save.
  /** @param {Handed} message */
  async hand({ export: what, text, name }) {
    const button = this.take?.querySelector(`[data-export="${CSS.escape(what ?? "")}"]`);
    if (!button || typeof text !== "string") return;
    const said = button.textContent;
    let done = "saved";
    if (what === "page") {
      const link = make("a", "", null, { download: name ?? "", href: URL.createObjectURL(new Blob([text], { type: "text/html" })) });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    } else done = (await copyText(text)) ? "copied" : "not copied";
    button.textContent = done;
    window.setTimeout(() => { button.textContent = said; }, 1600);
  }
}
