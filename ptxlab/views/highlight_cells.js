/**
 * Colours CUDA C++ and PTX in Python strings of the page's cells, and in cells of %%cuda and %%ptx, also while they
 * are edited. The text stays the editor's: ranges of it get colours. Python writes a call of this function into outputs.
 * @param {{ cuda: string, ptx: string, isPtx: string, isSource: string, kinds: string[], style: string }} given
 */
export default function highlightCells({ cuda, ptx, isPtx, isSource, kinds, style }) {
  const once = "ptxlab-cells";
  if (!("highlights" in CSS) || document.getElementById(once)) return;
  document.head.append(Object.assign(document.createElement("style"), { id: once, textContent: style }));

  const CELLS = ".cm-content, .jp-InputArea pre, .cell_input pre"; // of JupyterLab, nbconvert and Sphinx
  const STRINGS = /#.*|("""|''')([^]*?)(?:\1|$(?![^]))|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/gm;
  const MAGIC = /^\s*%%(cuda|ptx)\b.*\n/; // the whole cell is a source
  const magics = /** @type {WeakMap<Element, string>} */ (new WeakMap());
  const highlights = new Map(["source", ...kinds].map((kind) => [kind, new Highlight()]));
  for (const [kind, highlight] of highlights) {
    highlight.priority = kind === "source" ? 0 : 1;
    CSS.highlights.set(`ptxlab-${kind}`, highlight);
  }
  const painted = /** @type {Map<Element, [Highlight, StaticRange][]>} */ (new Map());

  // The text of a cell, and for each character its node and where that begins.
  const read = (/** @type {Element} */ cell) => {
    const places = /** @type {[Text, number][]} */ ([]);
    let text = "";
    for (const line of cell.matches(".cm-content") ? cell.querySelectorAll(".cm-line") : [cell]) {
      const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {
        const node = /** @type {Text} */ (walker.currentNode);
        const place = /** @type {[Text, number]} */ ([node, text.length]);
        text += node.data;
        while (places.length < text.length) places.push(place);
      }
      text += "\n";
      if (places.length > 0) places.push(places[places.length - 1]);
      else places.push([new Text(), 0]);
    }
    return { text, places };
  };

  const paint = (/** @type {Element} */ cell) => {
    for (const [highlight, range] of painted.get(cell) ?? []) highlight.delete(range);
    painted.delete(cell);
    if (!cell.isConnected) return;
    const { text, places } = read(cell);
    const ranges = /** @type {[Highlight, StaticRange][]} */ ([]);
    const add = (/** @type {string} */ kind, /** @type {number} */ start, /** @type {number} */ end) => {
      const highlight = highlights.get(kind);
      if (!highlight) return;
      const [first, firstAt] = places[start];
      const [last, lastAt] = places[end - 1];
      const range = new StaticRange({
        startContainer: first,
        startOffset: Math.min(start - firstAt, first.length),
        endContainer: last,
        endOffset: Math.min(end - lastAt, last.length),
      });
      highlight.add(range);
      ranges.push([highlight, range]);
    };
    const paintSource = (
      /** @type {string} */ source,
      /** @type {number} */ start,
      /** @type {string} */ language,
    ) => {
      if (source) add("source", start, start + source.length);
      for (const token of source.matchAll(new RegExp(language, "gm"))) {
        const kind = kinds.find((each) => token.groups?.[each] !== undefined) ?? "";
        add(kind, start + token.index, start + token.index + token[0].length);
      }
    };
    const magic = MAGIC.exec(text);
    const scrolled = cell.firstElementChild?.matches(".cm-gap"); // the editor has not drawn the first line
    if (!scrolled) magics.set(cell, magic?.[1] ?? "");
    const language = magics.get(cell);
    if (language) {
      const start = magic?.[0].length ?? 0;
      paintSource(text.slice(start), start, language === "ptx" ? ptx : cuda);
    } else
      for (const { index, 1: quotes, 2: source } of text.matchAll(STRINGS)) {
        if (!quotes || !new RegExp(isSource, "m").test(source)) continue;
        paintSource(source, index + quotes.length, new RegExp(isPtx, "m").test(source) ? ptx : cuda);
      }
    if (ranges.length > 0) painted.set(cell, ranges);
  };

  // Cells come, go and change: the editor draws the lines in view.
  const changed = /** @type {Set<Element>} */ (new Set(document.querySelectorAll(CELLS)));
  const paintChanged = () => {
    for (const cell of painted.keys()) if (!cell.isConnected) paint(cell);
    for (const cell of changed) paint(cell);
    changed.clear();
  };
  new MutationObserver((records) => {
    const before = changed.size;
    for (const target of new Set(records.map((record) => record.target))) {
      const cell = (target instanceof Element ? target : target.parentElement)?.closest(CELLS);
      if (cell) changed.add(cell);
    }
    for (const { addedNodes } of records)
      for (const node of addedNodes)
        if (node instanceof Element && node.firstElementChild)
          for (const cell of node.querySelectorAll(CELLS)) changed.add(cell);
    if (before === 0 && changed.size > 0) requestAnimationFrame(paintChanged);
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
  paintChanged();
}
