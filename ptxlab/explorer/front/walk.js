// What anywidget loads for a walk: the bar above its Explorer.

import { WalkBar } from "./walk/bar.js";

export default {
  /** @param {{ model: WalkModel, el: HTMLElement }} widget */
  render({ model, el }) {
    const view = new WalkBar(model, el);
    return () => view.stop();
  },
};
