// The grid of lanes: one is chosen, others can be pinned beside it.

import { make, clamp, write, attribute, isTouch } from "./util.js";
import { lineName } from "./describe.js";
import { roveTabindex, nextInBar } from "./roving_tabindex.js";

const MAX_PINNED = 4; // lanes beside the chosen one
const DASHES = [
  [4, 2],
  [1.5, 1.5],
  [6, 2, 1.5, 2],
  [3, 4],
]; // their outlines in the panes

// The lanes whose registers are shown, and how each is outlined: the chosen one, and those that are pinned.
/** @param {number} lane @param {number[]} pinned */
export function shownLanes(lane, pinned) {
  const others = pinned.filter((each) => each !== lane);
  /** @param {number} each */
  const style = (each) =>
    each === lane
      ? { lane: each, line: 1.25, dash: [] }
      : { lane: each, line: 1.25, dash: DASHES[others.indexOf(each) % DASHES.length] };
  return (pinned.includes(lane) ? pinned : [lane, ...pinned]).map(style);
}

// The pinned lanes with one added or removed; if there are too many, the oldest is removed.
/** @param {number[]} pinned @param {number} lane */
function pinnedWith(pinned, lane) {
  return pinned.includes(lane)
    ? pinned.filter((each) => each !== lane)
    : [...pinned, lane].slice(-MAX_PINNED);
}

export class Lanes {
  /** @param {App} app @param {HTMLElement} parent */
  constructor(app, parent) {
    this.app = app;
    this.key = "";
    this.following = false; // whether the focus goes to the lane that is chosen next
    this.title = make("div", "ptx-lane-title", parent);
    this.name = make("b", "", this.title);
    this.group = make("span", "", this.title);
    this.pin = make("button", "ptx-pin", this.title, {
      title: "Keep this lane in view beside the next one you choose (on a lane: Ctrl+click or Space)",
    });
    this.pin.addEventListener("click", () => this.toggle(app.lane));
    this.warps = make("div", "ptx-warps", parent, { role: "group", "aria-label": "warp" });
    this.updateWarps = roveTabindex(this.warps, "button", nextInBar);
    this.node = make("div", "ptx-lanes", parent, { role: "group", "aria-label": "lane" });
    this.node.addEventListener("keydown", (event) => this.press(event));
    this.node.addEventListener("keyup", (event) => {
      if (event.key === " ") event.preventDefault();
    });
  }

  get pinned() {
    return this.app.model.get("pinned") ?? [];
  }

  /** @param {number} lane */
  toggle(lane) {
    this.app.model.set("pinned", pinnedWith(this.pinned, lane));
    this.app.model.save_changes();
  }

  focus() {
    /** @type {HTMLElement | null} */ (this.node.querySelector("[aria-pressed=true]"))?.focus();
  }

  // A click chooses a lane; with Ctrl, Cmd or Shift it pins one beside the chosen.
  /** @param {MouseEvent} event @param {number} lane */
  click(event, lane) {
    if (event.ctrlKey || event.metaKey || event.shiftKey) this.toggle(lane);
    else this.app.chooseLane(lane);
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    const { app } = this;
    const lane = Number(/** @type {HTMLElement} */ (event.target).dataset.lane);
    if (event.key === " " && !Number.isNaN(lane)) {
      event.preventDefault();
      this.toggle(lane);
      return;
    }
    const [first, last] = /** @type {HTMLElement[]} */ ([this.node.firstChild, this.node.lastChild]);
    const across = first.offsetTop === last.offsetTop ? 4 : 8;
    const by = /** @type {Record<string, number>} */ ({
      ArrowLeft: -1,
      ArrowRight: 1,
      ArrowUp: -across,
      ArrowDown: across,
    })[event.key];
    if (!by) return;
    event.preventDefault();
    const to = clamp(app.lane + by, 0, app.instruction.lanes - 1);
    if (to === app.lane) return;
    this.following = true;
    app.chooseLane(to);
  }

  update() {
    const { app, pinned } = this;
    const { lane, instruction } = app;
    const warp = Math.floor(lane / 32);
    const inWarp = instruction.lanes > 32 ? `warp ${warp}, ` : "";
    write(this.name, `Lane ${lane}`);
    write(this.group, `${inWarp}group ${Math.floor((lane % 32) / 4)}, thread ${lane % 4}`);
    write(this.pin, pinned.includes(lane) ? "pinned" : "pin");
    attribute(this.pin, "aria-pressed", pinned.includes(lane));
    attribute(this.pin, "aria-label", `${pinned.includes(lane) ? "unpin" : "pin"} lane ${lane}`);
    const key = `${instruction.lanes} ${warp} ${app.dark}`;
    if (key !== this.key) this.build(warp);
    this.key = key;
    for (const button of this.node.querySelectorAll("button")) {
      const each = Number(button.dataset.lane);
      attribute(button, "aria-pressed", each === lane);
      attribute(button, "aria-label", `lane ${each}${pinned.includes(each) ? ", pinned" : ""}`);
      button.classList.toggle("pinned", pinned.includes(each));
      attribute(button, "tabindex", each === lane ? 0 : -1);
    }
    if (this.following) this.focus();
    this.following = false;
    for (const button of this.warps.querySelectorAll("button")) {
      button.classList.toggle(
        "pinned",
        pinned.some((each) => Math.floor(each / 32) === Number(button.dataset.warp)),
      );
    }
  }

  /** @param {number} warp */
  build(warp) {
    const { app } = this;
    this.warps.replaceChildren();
    for (let each = 0; app.instruction.lanes > 32 && each < app.instruction.lanes / 32; each += 1) {
      const button = make("button", "ptx-warp", this.warps, {
        "aria-pressed": String(each === warp),
        "data-warp": each,
      });
      button.textContent = `warp ${each}`;
      button.addEventListener("click", () => app.chooseLane(each * 32 + (app.lane % 32)));
    }
    this.updateWarps();
    this.node.replaceChildren();
    this.node.classList.toggle("ptx-long-numbers", app.instruction.lanes > 100);
    for (let group = 0; group < 8; group += 1) {
      const box = make("div", "ptx-group", this.node);
      for (let thread = 0; thread < 4; thread += 1) {
        const lane = warp * 32 + group * 4 + thread;
        const button = make("button", "ptx-lane", box, { "data-lane": lane });
        [button.style.background, button.style.color] = app.colours[lane % 32];
        button.textContent = String(lane);
        button.addEventListener("click", (event) => this.click(event, lane));
        button.addEventListener("pointerenter", () => app.hover({ lane }));
        button.addEventListener("pointerleave", (event) => {
          if (!isTouch(event)) app.hover(null);
        });
      }
    }
  }

  // Lanes that hold the row or column in question, or else contribute to the selected cell of D, and the
  // warps they are in. Lanes that contribute nothing lose their colour.
  /** @param {number[] | null} lanes @param {Contribution[]} contributions */
  outline(lanes, contributions) {
    const parts = lanes ? [] : contributions;
    const holders = new Set(lanes ?? parts.flatMap((part) => part.lanes));
    for (const button of this.node.querySelectorAll("button")) {
      const lane = Number(button.dataset.lane);
      const names = parts
        .filter((part) => part.lanes.includes(lane))
        .map(({ line }) => lineName(line, line.name));
      button.classList.toggle("holds", lanes !== null && holders.has(lane));
      button.classList.toggle("contributes", names.length > 0);
      button.classList.toggle("aside", !lanes && holders.size > 0 && !names.length && lane !== this.app.lane);
      if (names.length) attribute(button, "title", `holds ${names.join(" and ")}`);
      else button.removeAttribute("title");
    }
    const warps = new Set([...holders].map((lane) => String(Math.floor(lane / 32))));
    for (const button of this.warps.querySelectorAll("button"))
      button.classList.toggle("holds", warps.has(button.dataset.warp ?? ""));
  }
}
