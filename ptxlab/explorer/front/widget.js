// What anywidget loads. It is small, because anywidget drops messages to a widget that has not loaded after two
// seconds, e.g. on a slow machine. The Explorer itself is a trait, and is loaded once for all widgets of a page.

import { applyDeltas } from "./common/deltas.js";

/** @typedef {{ render(widget: { model: Model, el: HTMLElement }): () => void }} Explorer */

/** @typedef {{ explorers: Map<string, Promise<{ default: Explorer }>>, turn: Promise<unknown> }} Shared */

const SHARED = Symbol.for("ptxlab.explorers");
/** @type {Shared} what the widgets of a page share, each of which has a module of its own */
const shared = (/** @type {any} */ (globalThis)[SHARED] ??= {
  explorers: new Map(),
  turn: Promise.resolve(),
});
const { explorers } = shared;

/** @param {string} code */
function load(code) {
  const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  const loading = import(url).finally(() => URL.revokeObjectURL(url));
  explorers.set(code, loading);
  loading.catch(() => explorers.delete(code)); // another view tries again
  return loading;
}

// Widgets are drawn one after the other, when the page has nothing else to do: meanwhile others are loaded.
function turn() {
  const idle = () =>
    new Promise((resolve) => {
      if ("requestIdleCallback" in globalThis) requestIdleCallback(resolve, { timeout: 500 });
      else setTimeout(resolve, 20);
    });
  shared.turn = shared.turn.then(idle);
  return shared.turn;
}

export default {
  initialize: (/** @type {{ model: Model }} */ { model }) => applyDeltas(model),
  /** @param {{ model: Model, el: HTMLElement }} widget */
  async render(widget) {
    const code = widget.model.get("_explorer");
    const { default: explorer } = await (explorers.get(code) ?? load(code));
    await turn();
    return explorer.render(widget);
  },
};
