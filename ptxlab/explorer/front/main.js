// What anywidget loads.

import { App } from "./app.js";
import { followDeltas } from "./delta.js";

/** @param {{ model: Model, el: HTMLElement }} widget */
function render({ model, el }) {
  const app = new App(model, el);
  return () => app.stop();
}

export default { initialize: (/** @type {{ model: Model }} */ { model }) => followDeltas(model), render };
