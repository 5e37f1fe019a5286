// What anywidget loads for a walk: the bar above its Explorer.

import { widgetOf } from "./common/dom.js";
import { WalkBar } from "./walk/walk_bar.js";

export default widgetOf(WalkBar);
