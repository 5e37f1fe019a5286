// What anywidget loads.

import { App } from "./app.js";
import { follow } from "./delta.js";

/** @param {{ model: Model, el: HTMLElement }} given */
function render({ model, el }) {
  const app = new App(model, el);
  return () => app.stop();
}

export default { initialize: (/** @type {{ model: Model }} */ { model }) => follow(model), render };
