// A page with Python in it: the Explorer is drawn from data in the page, and becomes live when the worker has loaded.
// It opens the instruction, or answers the question, that its address names.

import { make } from "./common/dom.js";
import { openPage, unpack } from "./common/saved_model.js";
import { applyDeltas } from "./common/deltas.js";
import { LiveModel } from "./common/live_model.js";
import { PythonWorker } from "./common/python_worker.js";
import { EarlyEdits } from "./products/early_edits.js";
import { AskBox } from "./ask_box.js";
import { App } from "./app.js";

// What the address asks for: a link after #, ?ins= and an instruction, or ?ask= and a question.
function askedFor() {
  const { hash, search } = location;
  let fragment = hash.slice(1);
  try {
    fragment = decodeURIComponent(fragment);
  } catch {
    // as it is: Python says what is wrong with it
  }
  const asked = new URLSearchParams(search);
  const isLink = fragment.startsWith("ptxlab:");
  return {
    explorer: isLink ? fragment : (asked.get("ins") ?? ""),
    question: isLink ? "" : (asked.get("ask") ?? ""),
  };
}

class TryPage {
  /** @param {HTMLElement} page @param {HTMLElement} notes @param {any} saved */
  constructor(page, notes, { settings, examples, adder }) {
    this.page = page;
    this.adder = adder;
    this.python = new PythonWorker(notes, settings);
    this.box = new AskBox(page, examples, (question) => this.python.ask(question));
    this.place = make("div", "static-view", page);
    this.app = /** @type {App | null} */ (null);
    this.model = /** @type {LiveModel | null} */ (null);
    this.early = /** @type {EarlyEdits | null} */ (null);
    this.shown = ""; // what the Explorer was opened with
    this.opening = false; // whether Python opens something else in it
  }

  // Draw what the page brought, and what the address asks for once Python is there.
  /** @param {Traits} state */
  start(state) {
    const { python, place, page } = this;
    const model = new LiveModel(state, (message) => python.post(message));
    Object.assign(place, { model });
    this.model = model;
    this.drawExplorer(model);
    const { explorer, question } = askedFor();
    this.shown = explorer;
    this.opening = place.hidden = Boolean(explorer); // something else, which Python has to make
    this.early = new EarlyEdits(model, python, () => this.app, this.adder);
    python.listen({
      ready: () => {
        model.open(this.shown); // the address may have changed meanwhile
        if (question) this.box.askQuestion(question);
      },
      messages: (messages) => {
        const isFirst = page.dataset.python !== "ready";
        if (isFirst) python.showReady(this.early?.confirm(() => model.receive(messages)));
        else model.receive(messages);
        place.hidden = false;
        if (this.opening) this.drawExplorer(model);
        if (this.opening && !isFirst) place.scrollIntoView({ block: "start" });
        this.opening = false;
        page.dataset.python = "ready";
      },
      answer: (answer) => this.box.showAnswer(answer),
    });
    for (const event of ["popstate", "hashchange"]) addEventListener(event, () => this.openAddress());
  }

  /** @param {LiveModel} model */
  drawExplorer(model) {
    this.app?.stop();
    this.place.replaceChildren();
    applyDeltas(model);
    this.app = new App(model, this.place);
  }

  // The address has changed: another link, or another question. What Python cannot open yet it opens first.
  openAddress() {
    const { explorer, question } = askedFor();
    if (question) {
      if (question !== this.box.input.value) this.box.askQuestion(question);
      return;
    }
    if (!explorer || explorer === this.shown) return;
    this.shown = explorer;
    this.opening = true;
    if (this.model?.waiting) {
      this.model.forget();
      this.early?.forget();
      this.place.hidden = true;
    } else this.model?.open(explorer);
  }
}

openPage(async (page, notes, saved) => {
  const tryPage = new TryPage(page, notes, saved);
  tryPage.start(await unpack(saved.state));
});
