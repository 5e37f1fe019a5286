// A search box: a question in one line goes to Python, and its answer is shown as text and as a picture.

import { copyText, make, makeButton } from "./common/dom.js";

const MIN_WIDTH = 320; // pixels of a picture that is drawn smaller where the page is narrow

/** @param {string} svg */
const asImage = (svg) => `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;

export class AskBox {
  /**
   * @param {HTMLElement} place
   * @param {string[]} examples
   * @param {(question: string) => void} ask sends the question to Python
   */
  constructor(place, examples, ask) {
    this.ask = ask;
    this.form = make("form", "ask", place, { role: "search" });
    const label = make("label", "ask-label", this.form, { text: "Ask" });
    this.input = make("textarea", "ask-input", label, {
      rows: 1,
      spellcheck: false,
      autocapitalize: "off",
      placeholder: "an element, a descriptor, pasted PTX …",
      "aria-describedby": "ask-examples",
    });
    make("button", "ask-go", this.form, { type: "submit", text: "Answer" });
    const list = make("p", "ask-examples", place, { id: "ask-examples" });
    make("span", "", list, { text: "For example: " });
    for (const example of examples) makeButton(list, "ask-example", example, () => this.put(example));
    this.answer = make("section", "answer", place, { "aria-live": "polite", "aria-label": "answer" });
    this.answer.hidden = true;
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.put(this.input.value);
    });
    this.input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.put(this.input.value);
    });
  }

  // Ask, and let the address be that of the answer.
  /** @param {string} question */
  put(question) {
    if (!question.trim()) return;
    const address = `?ask=${encodeURIComponent(question.trim())}`;
    if (location.search + location.hash !== address) history.pushState(null, "", address);
    this.askQuestion(question);
  }

  /** @param {string} question */
  askQuestion(question) {
    this.input.value = question;
    this.answer.hidden = false;
    this.answer.replaceChildren();
    this.answer.setAttribute("aria-busy", "true");
    make("p", "answer-wait", this.answer, { text: "Asking Python …" });
    this.ask(question);
  }

  hide() {
    this.input.value = "";
    this.answer.hidden = true;
  }

  /** @param {{ command?: string, text?: string, picture?: string, dark?: string, explorer?: string, problem?: string }} answer */
  showAnswer({ command, text, picture, dark, explorer, problem }) {
    this.answer.replaceChildren();
    this.answer.removeAttribute("aria-busy");
    if (problem) {
      make("p", "answer-problem", this.answer, { text: problem, role: "alert" });
      return;
    }
    make("p", "answer-command", this.answer, { text: `$ ${command}` });
    make("pre", "answer-text", this.answer, { text: text ?? "", tabindex: "0" });
    const links = make("p", "answer-links", this.answer);
    if (explorer) make("a", "", links, { href: `#${explorer}`, text: "Open in the Explorer" });
    const copy = makeButton(links, "answer-copy", "Copy link to this answer", async () => {
      const done = await copyText(location.href);
      copy.textContent = done ? "Copied" : "Not copied";
    });
    if (!picture) return;
    const box = make("div", "answer-picture", this.answer, {
      tabindex: "0",
      role: "group",
      "aria-label": "picture",
    });
    const both = make("picture", "", box);
    if (dark) make("source", "", both, { media: "(prefers-color-scheme: dark)", srcset: asImage(dark) });
    const image = make("img", "", both, {
      alt: `picture of the answer to ${command}`,
      src: asImage(picture),
    });
    image.addEventListener("load", () => {
      image.width = Math.max(MIN_WIDTH, image.naturalWidth);
    });
  }
}
