// The sixteen products on a page without Python, which has their numbers; they play once, when they come into view.

import { PageModel } from "./common/page_model.js";
import { reducedMotion } from "./common/dom.js";
import { SixteenProducts } from "./products/sixteen_products.js";

/** @extends {PageModel<{ scene: import("./products/sixteen_products.js").ProductsScene }>} */
class ProductsOnPage extends PageModel {
  /** @param {"scene"} name @param {import("./products/sixteen_products.js").ProductsScene} value */
  set(name, value) {
    this.state[name] = value;
  }

  save_changes() {}
}

for (const place of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".sixteen-products"))) {
  const numbers = place.querySelector("script");
  const model = new ProductsOnPage({ scene: JSON.parse(numbers?.textContent ?? "{}") });
  place.replaceChildren();
  const products = new SixteenProducts(model, place);
  Object.assign(place, { products });
  if (reducedMotion.matches) continue;
  const observer = new IntersectionObserver(
    ([{ isIntersecting }]) => {
      if (!isIntersecting) return;
      observer.disconnect();
      if (products.at === 0) products.play();
    },
    { threshold: 0.5 },
  );
  observer.observe(place);
}
