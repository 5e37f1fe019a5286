// What anywidget loads.

import { App } from "./app.js";
import { follow } from "./delta.js";

function render({ model, el }) {
  const app = new App(model, el);
  return () => app.stop();
}

export default { initialize: ({ model }) => follow(model), render };
