/**
 * Timelines of an SM in the outputs of a page: pointing says what a warp does, dragging zooms, a click lights the line of
 * the source. Python writes a call of this function into outputs; one call serves all timelines, those that come later too.
 */
export default function followTimelines() {
  const once = "ptxlabTimelines";
  if (once in document.documentElement.dataset) return;
  document.documentElement.dataset[once] = "";

  /**
   * @typedef {[warp: number, start: number, end: number, reason: number, row: number]} Stripe
   * @typedef {{ start: number, end: number, left: number, right: number, top: number, height: number, bottom: number,
   *   reasons: [string, string, string][], stripes: Stripe[], code: Record<string, [string, string, number, string]> }} Data
   * @typedef {{ data: Data, svg: SVGSVGElement, from: number, to: number, line: number, dragged: number | null }} View
   */
  const NAME = "http://www.w3.org/2000/svg";
  const LEAST = 20; // cycles across
  const STILL = 4; // pixels within which a drag is a click
  const TICKS = 6;
  const views = /** @type {WeakMap<Element, View>} */ (new WeakMap());
  const tip = document.createElement("div");
  tip.className = "ptx-over-time-tip";

  /** @param {EventTarget | null} target @returns {View | null} */
  const viewOf = (target) => {
    const place = target instanceof Element ? target.closest(".ptx-over-time") : null;
    const svg = place?.querySelector("svg");
    if (!place || !svg) return null;
    const known = views.get(svg);
    if (known) return known;
    const data = /** @type {Data} */ (JSON.parse(place.querySelector("script")?.textContent ?? ""));
    const view = { data, svg, from: data.start, to: data.end, line: 0, dragged: null };
    views.set(svg, view);
    return view;
  };

  /** @param {View} view @param {number} cycle */
  const across = ({ data, from, to }, cycle) =>
    data.left + ((data.right - data.left) * (cycle - from)) / (to - from);

  // A point of the picture: its pixel across, the cycle there, and the warp.
  /** @param {View} view @param {MouseEvent} event */
  const placeOf = ({ data, svg, from, to }, { clientX, clientY }) => {
    const box = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / box.width;
    const [x, y] = [(clientX - box.left) * scale, (clientY - box.top) * scale];
    const part = (x - data.left) / (data.right - data.left);
    const cycle = from + Math.max(0, Math.min(1, part)) * (to - from);
    return { x, cycle, inside: part >= 0 && part <= 1, warp: Math.floor((y - data.top) / data.height) };
  };

  /** @param {View} view @param {{ cycle: number, warp: number }} place */
  const stripeAt = ({ data }, { cycle, warp }) =>
    data.stripes.find(([of, start, end]) => of === warp && start <= cycle && cycle < end);

  /** @param {View} view @param {string} part */
  const groupOf = ({ svg }, part) => /** @type {SVGElement} */ (svg.querySelector(`.${part}`));

  // The stripes between the cycles that are shown; those of the lit line, if there is one, above the others.
  /** @param {View} view */
  const drawStripes = (view) => {
    const { data, from, to, line } = view;
    const paths = new Map();
    for (const [warp, start, end, reason, row] of data.stripes) {
      if (end <= from || start >= to) continue;
      const [x0, x1] = [across(view, Math.max(start, from)), across(view, Math.min(end, to))];
      const [y, isLit] = [data.top + warp * data.height, line && data.code[row]?.[2] === line];
      const key = `${isLit ? 1 : 0} ${reason}`;
      const run = (x1 - x0).toFixed(1);
      const box = `M${x0.toFixed(1)} ${y.toFixed(1)}h${run}v${(data.height - 1).toFixed(1)}h-${run}z`;
      paths.set(key, (paths.get(key) ?? "") + box);
    }
    const nodes = [...paths.keys()].sort().map((key) => {
      const path = document.createElementNS(NAME, "path");
      const [isLit, reason] = key.split(" ").map(Number);
      path.setAttribute("d", paths.get(key));
      path.setAttribute("fill", data.reasons[reason][2]);
      if (line && !isLit) path.setAttribute("opacity", "0.25");
      return path;
    });
    groupOf(view, "stripes").replaceChildren(...nodes);
  };

  /** @param {View} view */
  const drawTicks = (view) => {
    const { data, from, to } = view;
    const rough = (to - from) / TICKS;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = Math.max(1, power * ([1, 2, 5].find((digit) => power * digit >= rough) ?? 10));
    const nodes = [];
    for (let value = Math.ceil(from / step) * step; value <= to; value += step) {
      const text = document.createElementNS(NAME, "text");
      const x = across(view, value);
      text.setAttribute("x", x.toFixed(1));
      text.setAttribute("y", String(data.bottom));
      const anchor = x < data.left + 20 ? "start" : "middle";
      text.setAttribute("text-anchor", x > data.right - 20 ? "end" : anchor);
      text.textContent = value.toLocaleString("en");
      nodes.push(text);
    }
    groupOf(view, "ticks").replaceChildren(...nodes);
  };

  /** @param {View} view @param {number} from @param {number} to */
  const show = (view, from, to) => {
    const { data } = view;
    const length = Math.min(Math.max(to - from, LEAST), data.end - data.start);
    view.from = Math.max(data.start, Math.min(from, data.end - length));
    view.to = view.from + length;
    const tracks = groupOf(view, "tracks");
    const width = data.right - data.left;
    const left = data.left + (width * (view.from - data.start)) / (data.end - data.start);
    const shown = (width * length) / (data.end - data.start);
    const [, y, , height] = (tracks.getAttribute("viewBox") ?? "").split(" ");
    tracks.setAttribute("viewBox", `${left} ${y} ${shown} ${height}`);
    drawStripes(view);
    drawTicks(view);
  };

  /** @param {View} view @param {number} x0 @param {number} x1 */
  const drawBrush = ({ svg, data }, x0, x1) => {
    const brush = /** @type {SVGElement} */ (svg.querySelector(".brush"));
    const [left, right] = [Math.max(Math.min(x0, x1), data.left), Math.min(Math.max(x0, x1), data.right)];
    brush.setAttribute("x", String(left));
    brush.setAttribute("width", String(Math.max(right - left, 0)));
  };

  /** @param {string} tag @param {string} text */
  const part = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });

  /** @param {View} view @param {string} text */
  const write = ({ svg }, text) => {
    const below = svg.closest(".ptx-over-time")?.querySelector(".line");
    if (below) below.textContent = text || "Drag to zoom, double-click for all; click a stripe for its line.";
  };

  /** @param {View} view @param {MouseEvent} event */
  const point = (view, event) => {
    if (!view.line) write(view, "");
    const place = placeOf(view, event);
    const stripe = place.inside ? stripeAt(view, place) : undefined;
    if (!stripe) {
      tip.remove();
      return;
    }
    const [warp, start, end, reason, row] = stripe;
    const [name, words] = view.data.reasons[reason];
    const [opcode, ptx, line, text] = view.data.code[row] ?? ["", "", 0, ""];
    const cycles = `cycles ${start.toLocaleString("en")} to ${end.toLocaleString("en")}`;
    tip.replaceChildren(
      part("b", name),
      part("div", words),
      part("div", `warp ${warp}, ${cycles}`),
      part("div", `${opcode}, of ${ptx || "no PTX instruction"}`),
      part("div", line ? `line ${line}: ${text}` : "no line of the source"),
    );
    document.body.append(tip);
    const { offsetWidth: width, offsetHeight: height } = tip;
    tip.style.left = `${Math.min(event.clientX + 14, innerWidth - width - 8)}px`;
    const below = event.clientY + 18;
    tip.style.top = `${below + height > innerHeight ? event.clientY - height - 10 : below}px`;
  };

  // Lights a line here and in listings of the same source; none for 0.
  /** @param {View} view @param {number} line */
  const light = (view, line) => {
    view.line = line;
    drawStripes(view);
    const text = Object.values(view.data.code).find((row) => row[2] === line)?.[3] ?? "";
    write(view, line ? `line ${line}: ${text}` : "");
    for (const row of document.querySelectorAll(".ptx-launch .code .row[data-line]")) {
      const isLine = row.getAttribute("data-line") === String(line);
      const isLit = isLine && Boolean(row.querySelector(".text")?.textContent?.trim().startsWith(text));
      row.classList.toggle("lit", isLit);
      const code = row.closest(".code");
      if (isLit && code) {
        const [box, seen] = [row.getBoundingClientRect(), code.getBoundingClientRect()];
        if (box.top < seen.top || box.bottom > seen.bottom)
          code.scrollTop += box.top - seen.top - seen.height / 2;
      }
    }
  };

  let drag = /** @type {View | null} */ (null);
  document.addEventListener("pointermove", (event) => {
    const view = drag ?? viewOf(event.target);
    if (!view) {
      tip.remove();
      return;
    }
    if (drag?.dragged !== null && drag)
      drawBrush(drag, /** @type {number} */ (drag.dragged), placeOf(drag, event).x);
    point(view, event);
  });
  document.addEventListener("pointerdown", (event) => {
    const view = event.button === 0 && event.target instanceof SVGElement ? viewOf(event.target) : null;
    if (!view || !placeOf(view, event).inside) return;
    drag = view;
    view.dragged = placeOf(view, event).x;
  });
  document.addEventListener("pointerup", (event) => {
    const view = drag;
    if (!view || view.dragged === null) return;
    const [begin, place] = [view.dragged, placeOf(view, event)];
    drag = view.dragged = null;
    drawBrush(view, 0, 0);
    if (Math.abs(place.x - begin) <= STILL) {
      const stripe = stripeAt(view, place);
      const line = stripe ? (view.data.code[stripe[4]]?.[2] ?? 0) : 0;
      light(view, line === view.line ? 0 : line);
      return;
    }
    const { data, from, to } = view;
    const cycle = (/** @type {number} */ x) =>
      from + ((x - data.left) / (data.right - data.left)) * (to - from);
    const [first, last] = [cycle(begin), cycle(Math.max(data.left, Math.min(data.right, place.x)))];
    show(view, Math.min(first, last), Math.max(first, last));
  });
  document.addEventListener("dblclick", ({ target }) => {
    const view = viewOf(target);
    if (view) show(view, view.data.start, view.data.end);
  });
  document.addEventListener("keydown", (event) => {
    const view = event.target instanceof SVGElement ? viewOf(event.target) : null;
    if (!view || event.ctrlKey || event.metaKey || event.altKey) return;
    const { from, to, data } = view;
    const length = to - from;
    const ranges = /** @type {Record<string, [number, number]>} */ ({
      "+": [from + length / 4, to - length / 4],
      "-": [from - length / 2, to + length / 2],
      0: [data.start, data.end],
      ArrowLeft: [from - length / 4, to - length / 4],
      ArrowRight: [from + length / 4, to + length / 4],
    });
    const range = ranges[event.key];
    if (!range) return;
    event.preventDefault();
    event.stopPropagation();
    show(view, ...range);
  });
}
