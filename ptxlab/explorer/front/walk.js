// What anywidget loads for a walk: the bar above its Explorer.

import { widgetOf } from "./common/util.js";
import { WalkBar } from "./walk/bar.js";

export default widgetOf(WalkBar);
