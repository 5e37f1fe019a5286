// The model of a saved page, in place of Python: it answers from packed data.

import { PageModel } from "./page_model.js";
import { make } from "./dom.js";
import { StaticQuiz } from "../quiz/saved_quiz.js";

// What was packed in Python: bytes come back as a DataView, as from a kernel, and long lists as they were.
/** @param {any} value @returns {Promise<any>} */
export async function unpack(value) {
  if (value === null || typeof value !== "object") return value;
  if (typeof value.deflated === "string") {
    const packed = Uint8Array.from(atob(value.deflated), (letter) => letter.charCodeAt(0));
    const stream = new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate")));
    return value.json ? stream.json() : new DataView(await stream.arrayBuffer());
  }
  if (Array.isArray(value)) return Promise.all(value.map(unpack));
  return Object.fromEntries(
    await Promise.all(Object.entries(value).map(async ([key, inner]) => [key, await unpack(inner)])),
  );
}

/** @param {Record<string, any>} columns @param {number[]} at @returns {any} */
const pick = (columns, ...at) =>
  Object.fromEntries(
    Object.entries(columns).map(([key, column]) => [key, at.reduce((inner, index) => inner[index], column)]),
  );

// Registers of a lane, from the columns in which those of all lanes are saved.
/** @param {SavedPage["lanes"]} lanes @param {number} lane */
export function registersOf(lanes, lane) {
  /** @param {Columns} saved @param {number} index @returns {Register} */
  const register = ({ own, fields }, index) => ({
    ...pick(own, lane, index),
    fields: Array.from(Object.values(fields)[0]?.[lane][index] ?? [], (_, field) =>
      pick(fields, lane, index, field),
    ),
  });
  return /** @type {Registers} */ (
    Object.fromEntries(
      Object.entries(lanes).map(([name, saved]) => [
        name,
        Array.from({ length: saved.count }, (_, index) => register(saved, index)),
      ]),
    )
  );
}

/** @param {SavedPage} saved @returns {Traits} */
function firstState({ state, how_to_change: howToChange }) {
  const what = state.instruction.tensor ? "where it is" : "which lane holds it";
  return {
    ...state,
    hint: `Point at a cell to see ${what}; click to select it. ${howToChange}`,
  };
}

// What anywidget's model does for the view, without Python.
/** @extends {PageModel<Traits>} */
export class StaticModel extends PageModel {
  /** @param {SavedPage} saved */
  constructor(saved) {
    super(firstState(saved));
    this.saved = saved;
    this.quiz = new StaticQuiz(saved.quiz);
    // whether an edit was refused in this event
    this.justRefused = false;
    this.showLanes();
  }

  // Show another page's data: the next stop of a walk.
  /** @param {SavedPage} saved */
  open(saved) {
    const before = { ...this.state };
    this.saved = saved;
    Object.assign(this.state, firstState(saved));
    this.quiz = new StaticQuiz(saved.quiz);
    this.showLanes();
    for (const name of /** @type {(keyof Traits)[]} */ (Object.keys(this.state)))
      if (this.state[name] !== before[name]) this.notify(`change:${name}`);
  }

  /** @template {keyof Traits} K @param {K} name @param {Traits[K]} value */
  set(name, value) {
    if (JSON.stringify(this.state[name]) === JSON.stringify(value)) return;
    this.state[name] = value;
    if (name === "lane" || name === "pinned") this.showLanes();
    if (name === "selected") this.showTrace(this.state.selected);
    this.notify(`change:${name}`);
  }

  // Registers of the lanes that are shown, from those of all.
  showLanes() {
    const { lane, pinned } = this.state;
    this.set(
      "lane_registers",
      Object.fromEntries(
        [lane, ...pinned].map((shownLane) => [shownLane, registersOf(this.saved.lanes, shownLane)]),
      ),
    );
  }

  save_changes() {}

  // The bits are saved for one cell of D; the dot products for all cells if D is small.
  /** @param {Sent<Cell>} cell */
  showTrace({ name, row, column }) {
    if (!this.justRefused) this.set("problem", "");
    if (name !== "D") return;
    const isSaved = row === this.saved.state.trace.row && column === this.saved.state.trace.column;
    const other = this.saved.traces[row * (this.state.instruction.matrices?.D?.columns ?? 0) + column];
    this.set(
      "trace",
      isSaved
        ? this.saved.state.trace
        : { row, column, ...other, title: this.saved.not_saved, notes: [this.saved.not_saved], grids: [] },
    );
  }

  // Matrices in shared memory are saved in one layout each. Returns whether the message was about them.
  /** @param {Message} message */
  showMemory(message) {
    if (message.type === "show_memory" && message.descriptor) return false;
    const memory = message.type === "show_memory" ? this.saved.memories[message.name] : {};
    if ((message.type !== "show_memory" && message.type !== "hide_memory") || !memory) return false;
    this.set("memory", memory);
    return true;
  }

  // Loads are saved for every shape. Returns whether the message was about one.
  /** @param {Message} message */
  showLoad(message) {
    if (message.type !== "show_load") return false;
    const same = this.saved.loads.filter(
      ({ shape, lane }) => shape === message.shape && lane === (message.lane ?? 0),
    );
    if (same.length) this.set("load", same[0]);
    return same.length > 0;
  }

  /** @param {Message} message */
  send(message) {
    const quiz = this.quiz.answerMessage(message);
    if (quiz) this.set("quiz", quiz);
    if (message.type === "dismiss_refusal") this.set("problem", "");
    if (quiz || message.type === "dismiss_refusal" || this.showMemory(message) || this.showLoad(message))
      return;
    this.edit(message);
  }

  // Every edit needs Python, and there is none. The sentence stays when Enter moves on to the next cell.
  /** @param {Message} _message */
  edit(_message) {
    this.justRefused = true;
    setTimeout(() => {
      this.justRefused = false;
    });
    this.set("problem", ""); // seen as a change, also if the last edit was refused, too
    queueMicrotask(() => this.set("problem", this.saved.refusal));
  }
}

// The theme of the system, which views and style sheets follow by an attribute of the body.
function followTheme() {
  const theme = matchMedia("(prefers-color-scheme: dark)");
  const applyTheme = () => document.body.setAttribute("data-jp-theme-light", String(!theme.matches));
  theme.addEventListener("change", applyTheme);
  applyTheme();
}

// Draw the page from its data, or say why not.
/** @param {(page: HTMLElement, notes: HTMLElement, saved: any) => Promise<void>} draw */
export async function openPage(draw) {
  const page = document.getElementById("page") ?? document.body;
  const notes = make("p", "static-notes", page);
  try {
    followTheme();
    await draw(page, notes, JSON.parse(document.getElementById("saved")?.textContent ?? ""));
  } catch (error) {
    const reason = error instanceof Error ? error.message : error;
    notes.textContent = `This page could not be drawn: ${reason}. It needs a browser from 2023 or later.`;
    throw error;
  }
}

// How to open the same where it can be edited: in a browser tab, and in a notebook.
/** @param {HTMLElement} page */
export function showWaysOn(page) {
  const again = make("div", "static-open", page);
  const live = make("a", "static-live", again, { target: "_blank", rel: "noopener", text: "Open live" });
  live.title = "the same in a page that can be edited: Python runs in the browser";
  const notebook = make("details", "", again);
  make("summary", "", notebook).textContent = "Open in a notebook";
  const code = make("pre", "", notebook, { tabindex: "0", title: "click to select all of it" });
  /** @param {string} text @param {string} [address] */
  return (text, address) => {
    code.textContent = text;
    live.hidden = !address;
    if (address) live.href = address;
  };
}
