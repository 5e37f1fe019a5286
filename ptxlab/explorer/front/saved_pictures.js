// The pictures of lessons on a page without Python: the page has the first of each; a file beside it, fetched when
// needed, has all. The address keeps the position: #timeline-2=13.

import { PageModel } from "./common/page_model.js";
import { Pictures } from "./pictures.js";

/** @typedef {import("./pictures.js").PictureTraits} SavedTraits */

/** @extends {PageModel<SavedTraits>} */
class SavedPictures extends PageModel {
  /** @param {SavedTraits} traits @param {string} file @param {string} name of the bar in the address */
  constructor(traits, file, name) {
    super(traits);
    this.file = file;
    this.name = name;
    this.pictures = /** @type {Promise<string[]> | null} */ (null);
  }

  /** @param {"step"} trait @param {number} value */
  set(trait, value) {
    this.state[trait] = value;
  }

  async save_changes() {
    const { step } = this.state;
    history.replaceState(null, "", `#${this.name}=${step}`);
    this.pictures ??= fetch(this.file).then((answer) => answer.json());
    this.state.shown = (await this.pictures)[step];
    if (this.state.step === step) this.notify("change:shown");
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
