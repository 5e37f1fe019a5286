// The pictures of lessons on a page without Python: the first of each is in the page, all of them are in a file
// beside it, which is fetched when another one is asked for. The address keeps the place: #timeline-2=13.

import { Pictures } from "./pictures.js";

/** @typedef {import("./pictures.js").PictureTraits} SavedTraits */

class SavedPictures {
  /** @param {SavedTraits} traits @param {string} file @param {string} name of the bar in the address */
  constructor(traits, file, name) {
    this.traits = traits;
    this.file = file;
    this.name = name;
    this.pictures = /** @type {Promise<string[]> | null} */ (null);
    this.calls = /** @type {Record<string, () => void>} */ ({});
  }

  /** @template {keyof SavedTraits} K @param {K} trait */
  get(trait) {
    return this.traits[trait];
  }

  /** @param {"step"} trait @param {number} value */
  set(trait, value) {
    this.traits[trait] = value;
  }

  /** @param {string} event @param {() => void} call */
  on(event, call) {
    this.calls[event] = call;
  }

  off() {}

  async save_changes() {
    const { step } = this.traits;
    history.replaceState(null, "", `#${this.name}=${step}`);
    this.pictures ??= fetch(this.file).then((answer) => answer.json());
    this.traits.shown = (await this.pictures)[step];
    if (this.traits.step === step) this.calls["change:shown"]();
  }
}

const places = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".saved-pictures"));
for (const [index, place] of places.entries()) {
  const script = place.querySelector("script");
  const traits = JSON.parse(script?.textContent ?? "{}");
  script?.remove();
  traits.shown = place.innerHTML; // oxlint-disable-line no-restricted-properties -- it is of this page
  const name = `timeline-${index + 1}`;
  const model = new SavedPictures(traits, place.dataset.pictures ?? "", name);
  place.replaceChildren();
  const bar = new Pictures(model, place);
  const [asked, step] = location.hash.slice(1).split("=");
  if (asked !== name) continue;
  bar.jump(Number(step) || 0);
  place.scrollIntoView({ block: "center" });
}
