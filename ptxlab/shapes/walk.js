// The bar of a walk: where one is, what is new here, the question, and a map of all stops.

/**
 * @typedef {{ name: string, rows: number, columns: number, image: string }} Small
 * @typedef {{ title: string, done: boolean, images: Small[] }} Stop
 * @typedef {{ walk: string, number: number, title: string, mnemonic: string, news: string, sharing: string,
 *   forms: string[], question: { text?: string, example?: string }, stops: Stop[],
 *   verdict: { state?: string, text?: string, answer?: string } }} Shown
 * @typedef {{ get(name: "shown"): Shown, on(event: string, call: () => void): void,
 *   off(event: string, call: () => void): void, send(message: object): void }} WalkModel
 */

const SIGNS = { right: "✓", wrong: "✗", "not yet": "…" };

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string} className
 * @param {string} [text]
 * @param {Record<string, string>} [attributes]
 * @returns {HTMLElementTagNameMap[Tag]}
 */
function make(tag, className, text = "", attributes = {}) {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

class WalkView {
  /** @param {WalkModel} model @param {HTMLElement} el */
  constructor(model, el) {
    this.model = model;
    this.root = make("section", "ptx-walk", "", { "aria-label": "walk", tabindex: "-1" });
    el.append(this.root);
    this.unfolded = false; // whether the layouts are seen at a glance
    this.typed = "";
    this.draw = this.draw.bind(this);
    this.root.addEventListener("keydown", (event) => this.press(event));
    model.on("change:shown", this.draw);
    this.draw();
  }

  stop() {
    this.model.off("change:shown", this.draw);
  }

  get shown() {
    return this.model.get("shown");
  }

  // Arrow keys go on, wherever the focus is, but in the box.
  /** @param {KeyboardEvent} event */
  press(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof HTMLInputElement) return;
    event.preventDefault();
    event.stopPropagation();
    this.go(this.shown.number + by);
  }

  /** @param {number} stop */
  go(stop) {
    if (stop < 0 || stop >= this.shown.stops.length) return;
    this.model.send({ action: "go", stop });
  }

  draw() {
    const focused = /** @type {HTMLElement | null} */ (this.root.querySelector(":focus"))?.dataset.key;
    this.root.replaceChildren(this.head(), this.map(), this.news(), this.question());
    if (focused)
      /** @type {HTMLElement | null} */ (this.root.querySelector(`[data-key="${focused}"]`))?.focus();
  }

  head() {
    const { number, stops, title, walk } = this.shown;
    const head = make("div", "head");
    const done = stops.filter((stop) => stop.done).length;
    head.append(
      this.button("‹", "previous stop", number > 0, () => this.go(number - 1)),
      this.button("›", "next stop", number < stops.length - 1, () => this.go(number + 1)),
      make("strong", "", title),
      make("span", "count", `${walk}: stop ${number + 1} of ${stops.length}, ${done} answered`),
      this.button(this.unfolded ? "▾ at a glance" : "▸ at a glance", "all layouts at a glance", true, () => {
        this.unfolded = !this.unfolded;
        this.draw();
      }),
    );
    return head;
  }

  /** @param {string} text @param {string} label @param {boolean} enabled @param {() => void} click */
  button(text, label, enabled, click) {
    const button = make("button", "", text, {
      type: "button",
      "aria-label": label,
      title: label,
      "data-key": label,
    });
    button.disabled = !enabled;
    button.addEventListener("click", click);
    return button;
  }

  // A dot for every stop, full where its question was answered; or its fragments.
  map() {
    const { number, stops } = this.shown;
    const map = make("div", this.unfolded ? "map glance" : "map", "", {
      role: "group",
      "aria-label": "stops",
    });
    stops.forEach(({ title, done, images }, index) => {
      const label = `${index + 1}: ${title}${done ? ", answered" : ""}`;
      const dot = make("button", done ? "dot done" : "dot", "", {
        type: "button",
        title: label,
        "aria-label": label,
        "data-key": `stop ${index}`,
      });
      if (index === number) dot.setAttribute("aria-current", "step");
      if (this.unfolded) {
        for (const each of images) dot.append(small(each));
        dot.append(make("span", "", `${done ? "✓ " : ""}${title}`));
      }
      dot.addEventListener("click", () => this.go(index));
      map.append(dot);
    });
    return map;
  }

  news() {
    const { news, sharing, forms } = this.shown;
    const node = make("div", "news");
    node.append(make("p", "", news));
    const shared = make("details", "");
    shared.append(
      make("summary", "", `shared by ${sharing}`),
      make("pre", "", forms.join("\n"), { tabindex: "0" }),
    );
    node.append(shared);
    return node;
  }

  question() {
    const { question, verdict } = this.shown;
    const form = make("form", "question");
    if (!question.text) return form;
    form.append(make("label", "", question.text, { for: "ptx-walk-answer" }));
    const box = make("input", "", "", {
      id: "ptx-walk-answer",
      placeholder: question.example ?? "",
      autocomplete: "off",
      "data-key": "answer",
    });
    box.value = verdict.answer ?? "";
    form.append(box, make("button", "", "check", { type: "submit", "data-key": "check" }));
    const state = /** @type {keyof typeof SIGNS | undefined} */ (verdict.state);
    form.append(
      make("output", `verdict ${state ?? ""}`, state ? `${SIGNS[state]} ${verdict.text}` : "", {
        "aria-live": "polite",
      }),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.model.send({ action: "answer", text: box.value });
    });
    for (const kind of ["keydown", "keyup"]) box.addEventListener(kind, (event) => event.stopPropagation());
    return form;
  }
}

/** @param {Small} each */
function small({ name, rows, columns, image }) {
  const scale = Math.max(rows, columns) <= 16 ? 3 : columns <= 64 ? 2 : 1;
  const picture = make("img", "", "", { src: image, alt: name, title: name });
  picture.width = columns * scale;
  picture.height = rows * scale;
  return picture;
}

export default {
  /** @param {{ model: WalkModel, el: HTMLElement }} widget */
  render({ model, el }) {
    const view = new WalkView(model, el);
    return () => view.stop();
  },
};
