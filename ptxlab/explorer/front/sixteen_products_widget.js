// What anywidget loads for the sixteen products.

import { widgetOf } from "./common/dom.js";
import { SixteenProducts } from "./products/sixteen_products.js";

export default widgetOf(SixteenProducts);
