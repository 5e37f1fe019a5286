// The timeline of one wgmma: draws what Python sends, and sends back what the reader moves.

/**
 * @typedef {{ name: string, lines: string[], purpose: string, movable: boolean, wait: boolean,
 *   undefined: boolean }} Step
 * @typedef {{ start: number, width: number, state: string, text: string }} Run
 * @typedef {{ steps: Step[], rows: { name: string, runs: Run[] }[], defined: boolean, verdict: string,
 *   reasons: string[], left_out: string[] }} Shown
 * @typedef {{ get(name: "shown"): Shown, on(event: string, call: () => void): void,
 *   off(event: string, call: () => void): void, send(message: object): void }} TimelineModel
 */

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string} className
 * @param {string} [text]
 * @returns {HTMLElementTagNameMap[Tag]}
 */
function make(tag, className, text = "") {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text;
  return element;
}

class TimelineView {
  /**
   * @param {TimelineModel} model
   * @param {HTMLElement} root
   */
  constructor(model, root) {
    this.model = model;
    this.root = make("div", "ptx-wgmma-timeline");
    this.verdict = make("div", "verdict");
    this.verdict.setAttribute("role", "status");
    this.grid = make("div", "steps");
    this.tray = make("div", "tray");
    this.root.append(this.grid, this.tray, this.verdict);
    root.append(this.root);
    this.focus = ""; // the button that has the focus after the next drawing, as "action step"
    this.draw = this.draw.bind(this);
    model.on("change:shown", this.draw);
    this.draw();
  }

  stop() {
    this.model.off("change:shown", this.draw);
  }

  draw() {
    const shown = this.model.get("shown");
    this.grid.replaceChildren();
    this.grid.style.setProperty("--steps", String(shown.steps.length));
    shown.steps.forEach((step, at) => this.grid.append(this.column(step, at, shown.steps.length)));
    shown.rows.forEach((row, at) => this.drawRow(row, at + 2));
    this.drawTray(shown.left_out);
    this.verdict.replaceChildren(make("strong", "", `${shown.defined ? "✓" : "✗"} ${shown.verdict}`));
    this.verdict.classList.toggle("defined", shown.defined);
    const list = make("ul", "");
    shown.reasons.forEach((reason) => list.append(make("li", "", reason)));
    if (shown.reasons.length) this.verdict.append(list);
    if (this.focus) {
      const wanted = [...this.root.querySelectorAll("button")].find((b) => b.dataset.id === this.focus);
      wanted?.focus();
      this.focus = "";
    }
  }

  /**
   * @param {Step} step
   * @param {number} at
   * @param {number} count
   */
  column(step, at, count) {
    const column = make("div", step.movable ? "step movable" : "step");
    column.style.gridColumn = String(at + 2);
    column.title = `${step.name}: ${step.purpose}`;
    column.classList.toggle("undefined", step.undefined);
    const label = make("div", "label");
    step.lines.forEach((line) => label.append(make("div", "", line)));
    column.append(label);
    if (!step.movable) return column;
    this.dragging(column, step);
    const tools = make("div", "tools");
    const add = (/** @type {string} */ sign, /** @type {string} */ action, /** @type {object} */ message) =>
      tools.append(this.button(sign, `${action} ${step.name}`, `${action} ${step.name}`, message));
    const move = { action: "move", step: step.name };
    if (at > 0) add("◀", "move left", { ...move, to: at - 1 });
    if (step.name !== "other work") add("✕", "leave out", { action: "leave out", step: step.name });
    if (at < count - 1) add("▶", "move right", { ...move, to: at + 2 });
    column.append(tools);
    if (step.wait) {
      const other = step.name.endsWith("0") ? "1" : "0";
      column.append(
        this.button(`N = ${other}`, `wait_group ${other} instead`, "other wait", { action: "other wait" }),
      );
    }
    return column;
  }

  /**
   * @param {string} sign
   * @param {string} name what it does, in words
   * @param {string} id
   * @param {object} message
   */
  button(sign, name, id, message) {
    const button = make("button", "tool", sign);
    button.type = "button";
    button.title = name;
    button.setAttribute("aria-label", name);
    button.dataset.id = id;
    button.addEventListener("click", () => {
      this.focus = id;
      this.model.send(message);
    });
    return button;
  }

  /**
   * @param {{ name: string, runs: Run[] }} row
   * @param {number} line
   */
  drawRow(row, line) {
    const name = make("div", "name", row.name);
    name.style.gridRow = String(line);
    this.grid.append(name);
    for (const run of row.runs) {
      const bar = make("div", `run ${run.state || "idle"}`, run.text);
      bar.style.gridRow = String(line);
      bar.style.gridColumn = `${run.start + 2} / span ${run.width}`;
      this.grid.append(bar);
    }
  }

  /** @param {string[]} leftOut */
  drawTray(leftOut) {
    this.tray.replaceChildren();
    this.tray.append(
      make(
        "span",
        "",
        leftOut.length ? "Left out: " : "Drag a fence, or use its buttons: ◀ ▶ move it, ✕ leaves it out.",
      ),
    );
    for (const step of leftOut) {
      this.tray.append(
        this.button(`+ ${step}`, `put back ${step}`, `put back ${step}`, { action: "put back", step }),
      );
    }
    this.tray.append(this.button("Reset", "reset the program", "reset", { action: "reset" }));
  }

  /**
   * Let a column be dragged to another place; a line shows where it would go.
   * @param {HTMLElement} column
   * @param {Step} step
   */
  dragging(column, step) {
    let startX = 0;
    let to = -1;
    const columns = () => [.../** @type {NodeListOf<HTMLElement>} */ (this.grid.querySelectorAll(".step"))];
    const unmark = () => columns().forEach((each) => each.classList.remove("before", "after"));
    const moved = (/** @type {PointerEvent} */ event) => {
      if (to < 0 && Math.abs(event.clientX - startX) < 5) return;
      column.classList.add("dragged");
      column.style.transform = `translateX(${event.clientX - startX}px)`;
      const all = columns();
      const next = all.findIndex((each) => {
        const box = each.getBoundingClientRect();
        return each !== column && box.left + box.width / 2 > event.clientX;
      });
      to = next < 0 ? all.length : next;
      unmark();
      if (to < all.length) all[to].classList.add("before");
      else all[to - 1].classList.add("after");
    };
    const stopped = () => {
      column.removeEventListener("pointermove", moved);
      column.classList.remove("dragged");
      column.style.transform = "";
      unmark();
      if (to >= 0) this.model.send({ action: "move", step: step.name, to });
      to = -1;
    };
    column.addEventListener("pointerdown", (event) => {
      if (event.button || (event.target instanceof HTMLElement && event.target.closest("button"))) return;
      event.preventDefault();
      startX = event.clientX;
      column.setPointerCapture(event.pointerId);
      column.addEventListener("pointermove", moved);
      column.addEventListener("pointerup", stopped, { once: true });
      column.addEventListener("pointercancel", stopped, { once: true });
    });
  }
}

/** @param {{ model: TimelineModel, el: HTMLElement }} widget */
function render({ model, el }) {
  const view = new TimelineView(model, el);
  return () => view.stop();
}

export default { render };
