// A static page: the same view on a model that answers from saved data, without a kernel.

import { make } from "./common/dom.js";
import { StaticModel, openPage, showWaysOn, unpack } from "./common/saved_model.js";
import { App } from "./app.js";

openPage(async (page, notes, packed) => {
  const saved = await unpack(packed);
  const model = new StaticModel(saved);
  for (const note of saved.notes) make("span", "", notes).textContent = note;
  showWaysOn(page)(saved.code, saved.live);
  const place = make("div", "static-view", page);
  Object.assign(place, { model });
  new App(model, place);
});
