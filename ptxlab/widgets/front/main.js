// What anywidget loads.

import { App } from "./app.js";

function render({ model, el }) {
  const app = new App(model, el);
  return () => app.stop();
}

export default { render };
