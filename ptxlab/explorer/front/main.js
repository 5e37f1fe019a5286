// The Explorer, as a widget shows it.

import { App } from "./app.js";

export default {
  /** @param {{ model: Model, el: HTMLElement }} widget */
  render({ model, el }) {
    const app = new App(model, el);
    return () => app.stop();
  },
};
