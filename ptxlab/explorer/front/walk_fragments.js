// What anywidget loads below the Explorer of a walk: the fragments of a stop, with their formulas.

import { drawFragments } from "./walk/stop_fragments.js";

export default {
  /** @param {{ model: WalkFragmentsModel, el: HTMLElement }} widget */
  render({ model, el }) {
    const draw = () => drawFragments(el, model.get("fragments"));
    model.on("change:fragments", draw);
    draw();
    return () => model.off("change:fragments", draw);
  },
};
