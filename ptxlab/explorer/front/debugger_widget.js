// What anywidget loads for a debugger: its page, and the Explorer, which opens in it, as a trait.

import { decodeMessage } from "./common/live_model.js";
import { loadExplorer } from "./common/load_explorer.js";
import { DebuggerView } from "./debugger/debugger_view.js";

/** @typedef {import("./debugger/debugger_view.js").DebuggerModel} DebuggerModel */
/** @typedef {DebuggerModel & { on(event: "msg:custom", call: (content: any, buffers: Uint8Array[]) => void): void,
 *   off(event: "msg:custom", call: (content: any, buffers: Uint8Array[]) => void): void }} NotebookDebugger */

export default {
  /** @param {{ model: NotebookDebugger, el: HTMLElement }} widget */
  render({ model, el }) {
    const view = new DebuggerView(model, el, {
      openExplorer: (explorer, place) =>
        loadExplorer(model.get("_explorer")).then(({ default: page }) =>
          page.render({ model: /** @type {any} */ (explorer), el: place }),
        ),
    });
    /** @param {any} content @param {Uint8Array[]} buffers as views of their bytes */
    const receive = (content, buffers) => {
      if (content.opened) view.showExplorer(decodeMessage([content.opened, buffers]).state);
      else if (content.explorer) view.updateExplorer(decodeMessage([content.explorer, buffers]));
      else if (content.answered) view.answered();
    };
    model.on("msg:custom", receive);
    view.start();
    return () => {
      model.off("msg:custom", receive);
      view.stop();
    };
  },
};
