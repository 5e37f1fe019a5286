// An Explorer in a page of a lesson: a saved page that wakes at the first edit. Python is then loaded from the browser
// edition beside the site, and makes the edits that were typed meanwhile.

import { make } from "./common/dom.js";
import { StaticModel, openPage, registersOf, showWaysOn, unpack } from "./common/saved_model.js";
import { applyDeltas } from "./common/deltas.js";
import { LiveModel } from "./common/live_model.js";
import { PythonWorker } from "./common/python_worker.js";
import { EarlyEdits } from "./products/early_edits.js";
import { App } from "./app.js";

/** @typedef {SavedPage & { python: string, adder: import("./products/early_product.js").Adder | null }} LessonPage */

// what the reader chose before
const CHOSEN = /** @type {const} */ (["lane", "pinned", "selected", "colour_by", "label", "show_c", "zoom"]);

class SleepingModel extends StaticModel {
  /** @param {SavedPage} saved @param {(edit: Message) => void} wake */
  constructor(saved, wake) {
    super(saved);
    this.wake = wake;
  }

  /** @param {Message} message */
  edit(message) {
    this.wake(message);
  }
}

// Where Python is; null without the browser edition, or in a folder of files.
/** @param {string} address */
async function findPython(address) {
  const from = new URL(address, location.href);
  try {
    const response = await fetch(from);
    const found = response.ok ? Object.entries(await response.json()) : [];
    const whole = found.map(([name, part]) => [name, new URL(part, from).href]);
    return whole.length ? Object.fromEntries(whole) : null;
  } catch {
    return null;
  }
}

class Lesson {
  /** @param {HTMLElement} page @param {HTMLElement} notes @param {LessonPage} saved */
  constructor(page, notes, saved) {
    this.page = page;
    this.notes = notes;
    this.saved = saved;
    this.early = /** @type {Message[] | null} */ (null); // from the first one until Python is found
    this.place = make("div", "static-view", page);
    this.sleeping = new SleepingModel(saved, (edit) => this.wake(edit));
    this.app = new App(this.sleeping, this.place);
    Object.assign(this.place, { model: this.sleeping });
  }

  // The first edit, and those that come while it is looked for Python.
  /** @param {Message} edit */
  async wake(edit) {
    if (this.early) {
      this.early.push(edit);
      return;
    }
    this.early = [edit];
    const settings = await findPython(this.saved.python);
    if (settings) this.startPython(settings);
    else StaticModel.prototype.edit.call(this.sleeping, edit);
    this.early = null;
  }

  // The same picture, on a model that Python answers.
  /** @param {any} settings */
  startPython(settings) {
    const { place, saved, sleeping, page } = this;
    const { state } = sleeping;
    this.app.stop();
    place.replaceChildren();
    this.notes.replaceChildren(); // it is a saved page no longer,
    page.querySelector(".static-open")?.remove(); // and the ways on lead to what was saved
    const python = new PythonWorker(this.notes, settings);
    const toolbar = /** @type {ToolbarData} */ ({ ...state.toolbar, static: false });
    const model = new LiveModel({ ...state, toolbar, hint: undefined, problem: "" }, (message) =>
      python.post(message),
    );
    applyDeltas(model);
    this.app = new App(model, place);
    Object.assign(place, { model });
    const early = new EarlyEdits(
      model,
      python,
      () => this.app,
      saved.adder,
      (lane) => registersOf(saved.lanes, lane),
    );
    for (const name of CHOSEN) model.set(name, state[name]);
    model.unsaved = new Set(CHOSEN);
    model.save_changes();
    for (const edit of this.early ?? []) model.send(edit);
    this.app.selection.showSelection(true);
    python.listen({
      ready: () => model.open(saved.live.replace(/^[^#]*#/, "")),
      messages: (messages) => {
        if (page.dataset.python !== "ready") python.showReady(early.confirm(() => model.receive(messages)));
        else model.receive(messages);
        page.dataset.python = "ready";
      },
    });
  }
}

openPage(async (page, notes, packed) => {
  const saved = await unpack(packed);
  for (const note of saved.notes) make("span", "", notes).textContent = note;
  showWaysOn(page)(saved.code, saved.live);
  new Lesson(page, notes, saved);
});
