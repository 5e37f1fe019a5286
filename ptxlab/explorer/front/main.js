// What anywidget loads.

import { App } from "./app.js";
import { followDeltas } from "./common/deltas.js";

export default {
  initialize: (/** @type {{ model: Model }} */ { model }) => followDeltas(model),
  /** @param {{ model: Model, el: HTMLElement }} widget */
  render({ model, el }) {
    const app = new App(model, el);
    return () => app.stop();
  },
};
