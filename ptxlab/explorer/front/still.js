// A saved page: the same view on a model that answers from what was saved, where no kernel is.

import { make } from "./text.js";
import { App } from "./app.js";

// What was packed in Python: bytes come back as a DataView, as from a kernel, and long lists as they were.
/** @param {any} value @returns {Promise<any>} */
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

/** @param {Record<string, any>} columns @param {number[]} at @returns {any} */
const pick = (columns, ...at) => Object.fromEntries(Object.entries(columns).map(([key, column]) => [key, at.reduce((inner, index) => inner[index], column)]));

// Registers of a lane, put together from the columns in which those of all lanes were saved.
/** @param {Saved["lanes"]} lanes @param {number} lane */
function heldBy(lanes, lane) {
  /** @param {Columns} saved @param {number} index @returns {Register} */
  const register = ({ own, fields }, index) => ({
    ...pick(own, lane, index),
    fields: Array.from(Object.values(fields)[0]?.[lane][index] ?? [], (_, each) => pick(fields, lane, index, each)),
  });
  return /** @type {Registers} */ (Object.fromEntries(Object.entries(lanes).map(([name, saved]) => [name, Array.from({ length: saved.count }, (_, index) => register(saved, index))])));
}

// What anywidget's model does for the view, without Python behind it.
class Still {
  /** @param {Saved} saved */
  constructor({ state, lanes, reasons, refusal, others }) {
    /** @type {Traits} */
    this.state = { ...state, hint: "Point at a cell to see who holds it; click to choose it." };
    this.lanes = lanes;
    this.reason = state.trace;
    this.reasons = reasons;
    this.refusal = refusal;
    this.others = others;
    this.listeners = /** @type {Listener[]} */ ([]);
    this.fresh = false; // whether something was refused just now
  }

  /** @template {keyof Traits} K @param {K} name */
  get(name) { return this.state[name]; }

  /** @template {keyof Traits} K @param {K} name @param {Traits[K]} value */
  set(name, value) {
    if (JSON.stringify(this.state[name]) === JSON.stringify(value)) return;
    this.state[name] = value;
    if (name === "lane" || name === "pinned") this.hold();
    if (name === "selected") this.choose(this.state.selected);
    this.tell(`change:${name}`);
  }

  // Registers of the lanes that are shown, from those of all.
  hold() {
    const { lane, pinned } = this.state;
    this.set("held", Object.fromEntries([lane, ...pinned].map((each) => [each, heldBy(this.lanes, each)])));
  }

  /** @param {string} event */
  tell(event) { for (const listener of this.listeners) if (listener.event === event) listener.call({}); }

  /** @param {string} events @param {Listener["call"]} call */
  on(events, call) { for (const event of events.split(" ")) this.listeners.push({ event, call }); }

  /** @param {string} [events] @param {Listener["call"]} [call] */
  off(events, call) {
    /** @param {Listener} listener */
    const gone = (listener) => (!events || events.split(" ").includes(listener.event)) && (!call || call === listener.call);
    this.listeners = this.listeners.filter((listener) => !gone(listener));
  }

  save_changes() {}

  // Of one cell of D the bits were saved; the dot product also of the others, where D is small.
  /** @param {Sent<Cell>} cell */
  choose({ name, row, column }) {
    if (!this.fresh) this.set("problem", "");
    if (name !== "D") return;
    const saved = row === this.reason.row && column === this.reason.column;
    const other = this.reasons[row * (this.state.about.matrices?.D?.columns ?? 0) + column];
    this.set("trace", saved ? this.reason : { row, column, ...other, title: this.others, notes: [this.others], grids: [] });
  }

  // Whatever is typed asks Python, and there is none. The sentence outlives the step to the next cell that comes with Enter.
  send() {
    this.fresh = true;
    setTimeout(() => { this.fresh = false; });
    this.set("problem", this.refusal);
  }
}

/** @param {HTMLElement} page @param {string} text */
async function open(page, text) {
  const notes = make("p", "still-notes", page);
  try {
    const saved = await unpacked(JSON.parse(text));
    const model = new Still(saved);
    for (const note of saved.notes) make("span", "", notes).textContent = note;
    const again = make("details", "still-open", page);
    make("summary", "", again).textContent = "Open in a notebook";
    make("pre", "", again, { tabindex: "0", title: "one click selects it all" }).textContent = saved.code;
    model.hold();
    const place = make("div", "still-view", page);
    Object.assign(place, { model });
    new App(model, place);
    const theme = matchMedia("(prefers-color-scheme: dark)");
    const follow = () => document.body.setAttribute("data-jp-theme-light", String(!theme.matches)); // the view looks there for a change
    theme.addEventListener("change", follow);
  } catch (error) {
    notes.textContent = `This page could not be drawn: ${error instanceof Error ? error.message : error}. It needs a browser of 2023 or later.`;
    throw error;
  }
}

open(document.getElementById("page") ?? document.body, document.getElementById("saved")?.textContent ?? "");
