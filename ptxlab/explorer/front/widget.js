// What anywidget loads. It is small, because anywidget drops messages to a widget that has not loaded after two
// seconds, e.g. on a slow machine. The Explorer itself is a trait, and is loaded once for all widgets of a page.

import { applyDeltas } from "./common/deltas.js";
import { loadExplorer, sharedModules } from "./common/load_explorer.js";

// Widgets are drawn one after the other, when the page has nothing else to do: meanwhile others are loaded.
function turn() {
  const idle = () =>
    new Promise((resolve) => {
      if ("requestIdleCallback" in globalThis) requestIdleCallback(resolve, { timeout: 500 });
      else setTimeout(resolve, 20);
    });
  sharedModules.turn = sharedModules.turn.then(idle);
  return sharedModules.turn;
}

export default {
  initialize: (/** @type {{ model: Model }} */ { model }) => applyDeltas(model),
  /** @param {{ model: Model, el: HTMLElement }} widget */
  async render(widget) {
    const { default: explorer } = await loadExplorer(widget.model.get("_explorer"));
    await turn();
    return explorer.render(widget);
  },
};
