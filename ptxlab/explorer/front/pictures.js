// The pictures of a lesson, one after the other, on the bar of the Explorer's timeline.

import { make, reducedMotion, widgetOf, write } from "./common/dom.js";
import { shareKeys } from "./common/notebook_keys.js";
import { PlaybackBar } from "./common/playback.js";

/**
 * @typedef {{ label: string, names: string[], captions: string[], step: number, shown: string }} PictureTraits
 * @typedef {{ get<K extends keyof PictureTraits>(name: K): PictureTraits[K],
 *   set(name: "step", value: number): void, save_changes(): void,
 *   on(event: string, call: () => void): void, off(event: string, call: () => void): void }} PictureModel
 */

const PICTURE_STAYS = 1600; // milliseconds that a picture stays while they are played
const MAX_NAMES = 16; // on the bar; of more pictures, or where names are long, every so many have a name
const NAMES_WIDTH = 740; // pixels of the widest bar, for names with so much beside them and such letters
const [BESIDE_NAME, NAME_LETTER] = [7, 6.2];

/** @param {string[]} names */
const widthOf = (names) =>
  names.length > 1 ? names.reduce((width, name) => width + BESIDE_NAME + NAME_LETTER * name.length, 0) : 0;

export class Pictures extends PlaybackBar {
  /** @param {PictureModel} model @param {HTMLElement} el */
  constructor(model, el) {
    const [label, names] = [model.get("label"), model.get("names")];
    const root = make("div", "ptx-pictures", el, { role: "group", "aria-label": label });
    super(make("div", "", root), { label, name: "play the pictures", pace: PICTURE_STAYS });
    this.model = model;
    this.stack = make("div", "ptx-picture-stack", root);
    let steps = names.length > MAX_NAMES ? Math.ceil(names.length / (MAX_NAMES / 2)) : 1;
    while (widthOf(names.filter((_, step) => step % steps === 0)) > NAMES_WIDTH) steps += 1;
    for (let first = 0; first < names.length; first += steps)
      this.parts.push({
        name: names[first],
        about: model.get("captions")[first],
        steps: Math.min(steps, names.length - first),
      });
    this.drawNames();
    this.forgetKeys = shareKeys(root);
    this.goToModelStep = this.goToModelStep.bind(this);
    this.drawPicture = this.drawPicture.bind(this);
    model.on("change:step", this.goToModelStep);
    model.on("change:shown", this.drawPicture);
    new ResizeObserver(() => this.updateBar("")).observe(root); // the bar has its width once the page has it
    this.goToModelStep();
    this.drawPicture();
  }

  stop() {
    this.pause();
    this.forgetKeys();
    this.model.off("change:step", this.goToModelStep);
    this.model.off("change:shown", this.drawPicture);
  }

  get last() {
    return this.model.get("names").length - 1;
  }

  // Python, or a saved page, sends the picture.
  showStep() {
    this.model.set("step", this.at);
    this.model.save_changes();
    this.goToModelStep();
  }

  goToModelStep() {
    this.at = this.model.get("step");
    const text = this.model.get("captions")[this.at];
    write(this.text, text);
    this.updateBar(text);
  }

  // The picture before fades: what both show stays as it is.
  drawPicture() {
    for (const node of [...this.stack.children].slice(1)) node.remove();
    const before = this.stack.firstElementChild;
    const picture = make("div", "");
    picture.innerHTML = this.model.get("shown"); // oxlint-disable-line no-restricted-properties -- Python escaped it
    this.stack.prepend(picture);
    if (reducedMotion.matches) before?.remove();
    before?.classList.add("before");
    before?.setAttribute("aria-hidden", "true");
    before?.addEventListener("animationend", () => before.remove());
  }
}

export default widgetOf(Pictures);
