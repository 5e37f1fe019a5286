// The module of the Explorer, which is a trait of widgets: it is loaded once for all of them on a page.

/** @typedef {{ render(widget: { model: Model, el: HTMLElement }): () => void }} ExplorerModule */

/** @typedef {{ explorers: Map<string, Promise<{ default: ExplorerModule }>>, turn: Promise<unknown> }} SharedModules */

const SHARED = Symbol.for("ptxlab.explorers");
/** @type {SharedModules} what the widgets of a page share, each of which has a module of its own */
export const sharedModules = (/** @type {any} */ (globalThis)[SHARED] ??= {
  explorers: new Map(),
  turn: Promise.resolve(),
});

/** @param {string} code */
export function loadExplorer(code) {
  const { explorers } = sharedModules;
  const known = explorers.get(code);
  if (known) return known;
  const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  const loading = import(url).finally(() => URL.revokeObjectURL(url));
  explorers.set(code, loading);
  loading.catch(() => explorers.delete(code)); // another view tries again
  return loading;
}
