// Who wrote a value: a tree that opens node by node, backwards to the arguments.

import { make, makeButton } from "../common/dom.js";

/** @typedef {import("./debugger_view.js").OriginNode} OriginNode */

export class OriginTree {
  /**
   * @param {HTMLElement} place
   * @param {{ follow: (node: number) => void, go: (position: number, warp: number | null) => void }} listeners
   */
  constructor(place, listeners) {
    this.listeners = listeners;
    this.box = make("section", "debug-origins", place, { "aria-label": "who wrote it" });
    this.head = make("div", "debug-origins-head", this.box);
    this.list = make("div", "debug-tree", this.box, { tabindex: 0, role: "group", "aria-label": "origins" });
    this.shown = /** @type {unknown} */ (null);
  }

  /** @param {OriginNode | Record<string, never>} origin */
  show(origin) {
    if (origin === this.shown) return;
    this.shown = origin;
    this.head.replaceChildren();
    this.list.replaceChildren();
    make("h4", "", this.head, { text: "who wrote it" });
    if (!("node" in origin)) {
      make("p", "debug-note", this.list, {
        text: "Click a register or an element: the instruction, thread and line that wrote it last, and so on backwards.",
      });
      return;
    }
    makeButton(this.head, "debug-move", "close", () => this.listeners.follow(0));
    this.add(make("ul", "", this.list), /** @type {OriginNode} */ (origin));
  }

  /** @param {HTMLElement} list @param {OriginNode} origin */
  add(list, origin) {
    const { node, what, note, opcode, where, warp, lane, position, more, sources } = origin;
    const item = make("li", "", list);
    make("b", "", item, { text: what });
    if (position !== null) {
      make("code", "", item, { text: opcode });
      makeButton(item, "debug-link", where, () => this.listeners.go(position, warp), {
        title: `go to position ${position}, before this instruction`,
      });
      make("small", "", item, { text: `warp ${warp}, lane ${lane}` });
    }
    if (more)
      makeButton(item, "debug-move", "and that?", () => this.listeners.follow(node), {
        "aria-label": `who wrote ${what}`,
      });
    else if (note) make("small", "", item, { text: note });
    if (!sources.length) return;
    const inner = make("ul", "", item);
    for (const source of sources) this.add(inner, source);
  }
}
