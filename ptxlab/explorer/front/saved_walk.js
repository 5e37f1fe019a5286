// A walk as a static page: its bar above one Explorer, which opens the saved data of a stop when it is reached.

import { make } from "./common/dom.js";
import { PageModel } from "./common/page_model.js";
import { StaticModel, openPage, showWaysOn, unpack } from "./common/saved_model.js";
import { App } from "./app.js";
import { WalkBar, stopAt } from "./walk/walk_bar.js";
import { drawFragments } from "./walk/stop_fragments.js";

const ANSWERED = "ptxlab-walk"; // names of the stops whose questions were answered, in this browser

/** @returns {string[]} */
function answeredStops() {
  try {
    return JSON.parse(localStorage.getItem(ANSWERED) ?? "[]");
  } catch {
    return []; // a browser may keep nothing for a page from a file
  }
}

/** @param {string} name */
function rememberAnswer(name) {
  try {
    localStorage.setItem(ANSWERED, JSON.stringify([...new Set([...answeredStops(), name])]));
  } catch {
    // then it lasts as long as the page
  }
}

// What Python says to an answer: `Stop.check` of ptxlab/shapes/stops.py.
/** @param {SavedStop} stop @param {string} text @returns {WalkShown["verdict"]} */
function verdictOn({ question, answers, hints }, text) {
  const numbers = (text.match(/\d+/g) ?? []).map((digits) => Number(digits.slice(0, 9)));
  if (numbers.length !== 2) return { state: "not yet", text: hints.unread, answer: text };
  const [first, second] = numbers;
  if (answers.some((answer) => answer[0] === first && answer[1] === second)) {
    const asked = question.example ?? "";
    const said = `${asked[0].toUpperCase()}${asked.slice(1)}: ${first}, ${second}.`;
    return { state: "right", text: said, answer: text };
  }
  if (answers.some((answer) => answer[0] === second && answer[1] === first))
    return { state: "wrong", text: hints.swapped, answer: text };
  let start = "";
  if (answers.some((answer) => answer[0] === first)) start = hints.first;
  else if (answers.some((answer) => answer[1] === second)) start = hints.second;
  return { state: "wrong", text: start + (hints.held[first]?.[second] ?? hints.beyond), answer: text };
}

// What the bar has as its model, and the Explorer below it.
/** @extends {PageModel<{ shown: WalkShown }>} */
class SavedWalkPage extends PageModel {
  /** @param {HTMLElement} page @param {SavedWalk} saved @param {any[]} explorers */
  constructor(page, saved, explorers) {
    super({ shown: /** @type {WalkShown} */ ({}) });
    this.saved = saved;
    this.explorers = explorers; // packed; null for a stop without a matrix
    this.answered = new Set(answeredStops());
    const asked = stopAt(location.hash, this.shownAt(saved.start));
    this.showStop(this.shownAt(asked < 0 ? saved.start : asked));
    this.model = /** @type {StaticModel | null} */ (null);
    this.bar = new WalkBar(this, page);
    this.place = make("div", "static-view", page);
    this.fragments = make("div", "", page);
    this.showWays = showWaysOn(page);
    addEventListener("hashchange", () => {
      const stop = stopAt(location.hash, this.shown);
      if (stop < 0) return;
      this.goToStop(stop);
      page.scrollIntoView(); // also in the page around a frame
    });
    document.addEventListener("keydown", (event) => {
      if (event.target === document.body) this.bar.press(event);
    });
  }

  /** @param {number} number @param {WalkShown["verdict"]} verdict @returns {WalkShown} */
  shownAt(number, verdict = {}) {
    const { walk, stops } = this.saved;
    const map = stops.map(({ name, title, group, images }) => ({
      title,
      group,
      images,
      done: this.answered.has(name),
    }));
    return { ...stops[number], walk, number, verdict, stops: map };
  }

  get shown() {
    return this.state.shown;
  }

  /** @param {WalkMessage} message */
  send(message) {
    if (message.action === "go") {
      this.goToStop(message.stop);
      return;
    }
    const stop = this.saved.stops[this.shown.number];
    const verdict = verdictOn(stop, message.text);
    if (verdict.state === "right") {
      this.answered.add(stop.name);
      rememberAnswer(stop.name);
    }
    this.showStop(this.shownAt(this.shown.number, verdict));
  }

  /** @param {WalkShown} shown */
  showStop(shown) {
    this.state.shown = shown;
    this.notify("change:shown");
  }

  /** @param {number} number */
  async goToStop(number) {
    this.showStop(this.shownAt(number));
    history.replaceState(null, "", `#walk-${this.saved.walk}-${number + 1}`);
    await this.openStop();
  }

  // Unpack what this stop shows; a slower one that was left in between is not shown any more.
  async openStop() {
    const { number } = this.shown;
    const stop = this.saved.stops[number];
    const data = await unpack(this.explorers[number]);
    if (number !== this.shown.number) return;
    drawFragments(this.fragments, stop.fragments);
    this.showWays(stop.code, data?.live);
    this.place.hidden = !data;
    if (!data) return;
    if (this.model) {
      this.model.open(data);
      return;
    }
    this.model = new StaticModel(data);
    Object.assign(this.place, { model: this.model });
    new App(this.model, this.place);
  }
}

openPage(async (page, notes, packed) => {
  const saved = await unpack(packed.walk);
  for (const note of saved.notes) make("span", "", notes, { text: note });
  await new SavedWalkPage(page, saved, packed.explorers).openStop();
});
