// The bar of a walk: the current stop, what is new there, its question, and a map of all stops.

import { consume, make, makeButton } from "../common/dom.js";
import { clamp } from "../common/numbers.js";

/** @type {Record<string, string>} */
const SIGNS = { right: "✓", wrong: "✗", "not yet": "…" };
const ADDRESS = /^#walk-(.+)-(\d+)$/; // of a stop, in a table of layouts and of a saved page: #walk-mma-12

// The number of the stop that an address names; -1 for none of this walk.
/** @param {string} address @param {WalkShown} shown */
export function stopAt(address, { walk, stops }) {
  const [, name, number] = ADDRESS.exec(address) ?? [];
  return name === walk && stops[Number(number) - 1] ? Number(number) - 1 : -1;
}

/** @param {WalkShown["stops"][number]["images"][number]} image */
function smallPicture({ name, rows, columns, image }) {
  /** @param {number} side */
  const scaleOf = (side) => (side <= 16 ? 3 : side <= 32 ? 2 : 1);
  const [width, height] = [columns, rows].map((side) => clamp(side * scaleOf(side), 12, 96));
  // A, B and D stand as in the Explorer: B above D
  return make("img", `at-${name}`, null, { src: image, alt: name, title: name, width, height });
}

export class WalkBar {
  /** @param {WalkModel} model @param {HTMLElement} el */
  constructor(model, el) {
    this.model = model;
    this.root = make("section", "ptx-walk", el, { "aria-label": "walk", tabindex: "-1" });
    this.unfolded = false; // whether the layouts are seen at a glance
    this.draw = this.draw.bind(this);
    this.openLinkedStop = this.openLinkedStop.bind(this);
    this.root.addEventListener("keydown", (event) => this.press(event));
    document.addEventListener("click", this.openLinkedStop, true);
    model.on("change:shown", this.draw);
    this.draw();
  }

  stop() {
    document.removeEventListener("click", this.openLinkedStop, true);
    this.model.off("change:shown", this.draw);
  }

  get shown() {
    return this.model.get("shown");
  }

  // A link to a stop, anywhere on the page, opens it here.
  /** @param {MouseEvent} event */
  openLinkedStop(event) {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    const stop = link ? stopAt(link.hash, this.shown) : -1;
    if (stop < 0 || event.ctrlKey || event.metaKey) return;
    consume(event);
    this.goToStop(stop);
    this.root.scrollIntoView({ block: "start" });
  }

  // Arrow keys go on, wherever in the bar the focus is, but in the box.
  /** @param {KeyboardEvent} event */
  press(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (event.target instanceof HTMLInputElement) return;
    consume(event);
    this.goToStop(this.shown.number + by);
  }

  /** @param {number} stop */
  goToStop(stop) {
    if (stop >= 0 && stop < this.shown.stops.length) this.model.send({ action: "go", stop });
  }

  draw() {
    const focused = /** @type {HTMLElement | null} */ (this.root.querySelector(":focus"))?.dataset.key;
    this.root.replaceChildren();
    this.drawHead();
    this.drawMap();
    this.drawNews();
    this.drawQuestion();
    if (!focused) return;
    const again = /** @type {HTMLButtonElement | null} */ (
      this.root.querySelector(`[data-key="${focused}"]`)
    );
    (again && !again.disabled ? again : this.root).focus({ preventScroll: true }); // keys still arrive
  }

  drawHead() {
    const { number, stops, title, walk } = this.shown;
    const head = make("div", "head", this.root);
    const done = stops.filter((stop) => stop.done).length;
    this.button(head, "‹", "previous stop", number > 0, () => this.goToStop(number - 1));
    this.button(head, "›", "next stop", number < stops.length - 1, () => this.goToStop(number + 1));
    make("strong", "", head, { text: title });
    const text = `${walk}: stop ${number + 1} of ${stops.length}, ${done} answered`;
    make("span", "count", head, { text });
    const sign = this.unfolded ? "▾" : "▸";
    this.button(head, `${sign} at a glance`, "all layouts at a glance", true, () => {
      this.unfolded = !this.unfolded;
      this.draw();
    });
  }

  /** @param {Element} parent @param {string} text @param {string} label @param {boolean} on @param {() => void} press */
  button(parent, text, label, on, press) {
    const button = makeButton(parent, "", text, press, {
      "aria-label": label,
      title: label,
      "data-key": label,
    });
    button.disabled = !on;
  }

  // A dot for every stop, full where its question was answered, behind the name of its group; or its fragments.
  drawMap() {
    const { number, stops } = this.shown;
    const classes = this.unfolded ? "map glance" : "map";
    const map = make("div", classes, this.root, { role: "group", "aria-label": "stops" });
    let place = map;
    stops.forEach(({ title, done, images, group }, index) => {
      const isFirst = group !== stops[index - 1]?.group;
      if (isFirst && !this.unfolded) {
        place = make("div", "group", map, { role: "group", "aria-label": group });
        make("span", "", place, { text: group });
      }
      const label = `${index + 1}: ${title}${done ? ", answered" : ""}`;
      const attributes = { title: label, "aria-label": label, "data-key": `stop ${index}` };
      const dot = makeButton(place, done ? "dot done" : "dot", "", () => this.goToStop(index), attributes);
      if (index === number) dot.setAttribute("aria-current", "step");
      if (!this.unfolded) return;
      make("span", "", dot, { text: `${done ? "✓ " : ""}${title}` });
      const pictures = make("span", "pictures", dot);
      for (const image of images) pictures.append(smallPicture(image));
    });
  }

  drawNews() {
    const { news, sharing, forms } = this.shown;
    const node = make("div", "news", this.root);
    make("p", "", node, { text: news });
    const shared = make("details", "", node);
    make("summary", "", shared, { text: `shared by ${sharing}`, "data-key": "sharing" });
    make("pre", "", shared, { text: forms.join("\n"), tabindex: "0" });
  }

  drawQuestion() {
    const { question, verdict } = this.shown;
    const form = make("form", "question", this.root);
    if (!question.text) return;
    const label = make("label", "", form, { text: question.text });
    const box = make("input", "", label, {
      placeholder: question.example ?? "",
      autocomplete: "off",
      "data-key": "answer",
    });
    box.value = verdict.answer ?? "";
    make("button", "", form, { type: "submit", text: "check", "data-key": "check" });
    const said = verdict.state ? `${SIGNS[verdict.state]} ${verdict.text}` : "";
    make("output", `verdict ${verdict.state ?? ""}`, form, { text: said, "aria-live": "polite" });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.model.send({ action: "answer", text: box.value });
    });
    for (const kind of ["keydown", "keyup"]) box.addEventListener(kind, (event) => event.stopPropagation());
  }
}
