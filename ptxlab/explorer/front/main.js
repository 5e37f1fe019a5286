// The Explorer as a widget.

import { App } from "./app.js";
import { widgetOf } from "./common/util.js";

export default widgetOf(App);
