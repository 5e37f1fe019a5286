// The Explorer as a widget.

import { App } from "./app.js";
import { widgetOf } from "./common/dom.js";

export default widgetOf(App);
