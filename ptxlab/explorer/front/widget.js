// What anywidget loads: little, because anywidget passes no message on to a widget that is not there after two
// seconds, as on a slow machine. The Explorer itself is a trait, and is loaded once for all widgets of a page.

import { followDeltas } from "./common/deltas.js";

/** @typedef {{ render(widget: { model: Model, el: HTMLElement }): () => void }} Explorer */

const LOADED = Symbol.for("ptxlab.explorers");
/** @type {Map<string, Promise<{ default: Explorer }>>} */
const explorers = (/** @type {any} */ (globalThis)[LOADED] ??= new Map());

/** @param {string} code */
function load(code) {
  const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  const loading = import(url).finally(() => URL.revokeObjectURL(url));
  explorers.set(code, loading);
  loading.catch(() => explorers.delete(code)); // another view tries again
  return loading;
}

export default {
  initialize: (/** @type {{ model: Model }} */ { model }) => followDeltas(model),
  /** @param {{ model: Model, el: HTMLElement }} widget */
  async render(widget) {
    const code = widget.model.get("_explorer");
    const { default: explorer } = await (explorers.get(code) ?? load(code));
    return explorer.render(widget);
  },
};
