// A saved page: the same view on a model that answers from what was saved, where no kernel is.

import { make } from "./text.js";
import { App } from "./app.js";

// What was packed in Python: bytes come back as a DataView, as from a kernel, and long lists as they were.
async function unpacked(value) {
  if (value === null || typeof value !== "object") return value;
  if (typeof value.deflated === "string") {
    const packed = Uint8Array.from(atob(value.deflated), (letter) => letter.charCodeAt(0));
    const stream = new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate")));
    return value.json ? stream.json() : new DataView(await stream.arrayBuffer());
  }
  if (Array.isArray(value)) return Promise.all(value.map(unpacked));
  return Object.fromEntries(await Promise.all(Object.entries(value).map(async ([key, inner]) => [key, await unpacked(inner)])));
}

const pick = (columns, ...at) => Object.fromEntries(Object.entries(columns).map(([key, column]) => [key, at.reduce((inner, index) => inner[index], column)]));

// Registers of a lane, put together from the columns in which those of all lanes were saved.
function heldBy(lanes, lane) {
  const register = ({ own, fields }, index) => ({
    ...pick(own, lane, index),
    fields: Array.from(Object.values(fields)[0]?.[lane][index] ?? [], (_, each) => pick(fields, lane, index, each)),
  });
  return Object.fromEntries(Object.entries(lanes).map(([name, saved]) => [name, Array.from({ length: saved.count }, (_, index) => register(saved, index))]));
}

// What anywidget's model does for the view, without Python behind it.
class Still {
  constructor({ state, lanes, reasons, refusal, others }) {
    this.state = state;
    this.lanes = lanes;
    this.reason = state.trace;
    this.reasons = reasons;
    this.refusal = refusal;
    this.others = others;
    this.listeners = [];
    this.fresh = false; // whether something was refused just now
  }

  get(name) { return name === "hint" ? "Point at a cell to see who holds it; click to choose it." : this.state[name]; }

  set(name, value) {
    if (JSON.stringify(this.state[name]) === JSON.stringify(value)) return;
    this.state[name] = value;
    if (name === "lane") this.set("held", heldBy(this.lanes, value));
    if (name === "selected") this.choose(value);
    this.tell(`change:${name}`);
  }

  tell(event) { for (const listener of this.listeners) if (listener.event === event) listener.call(); }

  on(events, call) { for (const event of events.split(" ")) this.listeners.push({ event, call }); }

  off(events, call) {
    const gone = (listener) => (!events || events.split(" ").includes(listener.event)) && (!call || call === listener.call);
    this.listeners = this.listeners.filter((listener) => !gone(listener));
  }

  save_changes() {}

  // Of one cell of D the bits were saved; the dot product also of the others, where D is small.
  choose({ name, row, column }) {
    if (!this.fresh) this.set("problem", "");
    if (name !== "D") return;
    const saved = row === this.reason.row && column === this.reason.column;
    const other = this.reasons[row * this.state.about.matrices.D.columns + column];
    this.set("trace", saved ? this.reason : { row, column, ...other, title: this.others, notes: [this.others], grids: [] });
  }

  // Whatever is typed asks Python, and there is none. The sentence outlives the step to the next cell that comes with Enter.
  send() {
    this.fresh = true;
    setTimeout(() => { this.fresh = false; });
    this.set("problem", this.refusal);
  }
}

// A control for one trait of the view: a choice, a slider or a button that stays pressed.
function drawControl(model, bar, { trait, label, hint, options, range }) {
  const box = options || range ? make("label", "", bar, { title: hint }) : bar;
  if (box !== bar) make("span", "", box).textContent = label;
  const node = make(options ? "select" : range ? "input" : "button", "", box, { "data-trait": trait, title: hint });
  const said = range ? make("output", "", box) : null;
  if (range) Object.assign(node, { type: "range", ...range });
  else if (!options) [node.type, node.textContent] = ["button", label];
  for (const [text, value] of options ?? []) make("option", "", node, { value }).textContent = text;
  const show = () => {
    const value = model.get(trait);
    if (options || range) node.value = value;
    else node.setAttribute("aria-pressed", String(value));
    if (said) said.textContent = `${value} %`;
  };
  if (options) node.addEventListener("change", () => model.set(trait, options[node.selectedIndex][1]));
  else if (range) node.addEventListener("input", () => model.set(trait, Number(node.value)));
  else node.addEventListener("click", () => model.set(trait, !model.get(trait)));
  model.on(`change:${trait}`, show);
  show();
}

async function open(page, text) {
  const notes = make("p", "still-notes", page);
  try {
    const saved = await unpacked(JSON.parse(text));
    const model = new Still(saved);
    for (const note of saved.notes) make("span", "", notes).textContent = note;
    const bar = make("div", "still-controls", page, { role: "toolbar", "aria-label": "how it is shown" });
    for (const control of saved.controls) drawControl(model, bar, control);
    const again = make("details", "still-open", bar);
    make("summary", "", again).textContent = "Open in a notebook";
    make("pre", "", again, { tabindex: "0", title: "one click selects it all" }).textContent = saved.code;
    model.state.held = heldBy(saved.lanes, model.get("lane"));
    const place = make("div", "still-view", page);
    Object.assign(place, { model });
    new App(model, place);
    const theme = matchMedia("(prefers-color-scheme: dark)");
    const follow = () => document.body.setAttribute("data-jp-theme-light", String(!theme.matches)); // the view looks there for a change
    theme.addEventListener("change", follow);
  } catch (error) {
    notes.textContent = `This page could not be drawn: ${error.message}. It needs a browser of 2023 or later.`;
    throw error;
  }
}

open(document.getElementById("page"), document.getElementById("saved").textContent);
