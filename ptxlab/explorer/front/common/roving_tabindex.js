// One tab stop for a group of controls: Tab enters and leaves it, arrow keys move inside it.

import { attribute, consume } from "./dom.js";

const HORIZONTAL = ["ArrowLeft", "ArrowRight"];
const VERTICAL = ["ArrowUp", "ArrowDown"];

/** @param {HTMLElement} node */
const isUsable = (node) =>
  !(/** @type {HTMLButtonElement} */ (node).disabled) && !node.closest("[hidden]") && node.isConnected;

// Arrow keys belong to the caret while a text is edited: that is, unless all of it is selected.
/** @param {EventTarget | null} node */
export function isEditingText(node) {
  if (!(node instanceof HTMLInputElement) || node.type !== "text") return false;
  return !(node.selectionStart === 0 && node.selectionEnd === node.value.length);
}

// Makes a group one tab stop. `next` finds where a key leads. Returns a function to be called when the
// controls of the group change.
/**
 * @param {HTMLElement} group
 * @param {string} selector
 * @param {(items: HTMLElement[], at: HTMLElement, key: string) => HTMLElement | undefined} next
 */
export function roveTabindex(group, selector, next) {
  let stop = /** @type {HTMLElement | null} */ (null);
  const usable = () => /** @type {HTMLElement[]} */ ([...group.querySelectorAll(selector)]).filter(isUsable);
  /** @param {HTMLElement} node */
  const moveStop = (node) => {
    if (stop) attribute(stop, "tabindex", -1);
    stop = node;
    attribute(stop, "tabindex", 0);
  };
  group.addEventListener("focusin", ({ target }) => {
    if (target instanceof HTMLElement && target !== stop && target.matches(selector)) moveStop(target);
  });
  group.addEventListener(
    "keydown",
    (event) => {
      const target = /** @type {HTMLElement} */ (event.target);
      const ends = ["Home", "End"].includes(event.key);
      if (![...HORIZONTAL, ...VERTICAL].includes(event.key) && !ends) return;
      if (event.altKey || event.shiftKey || event.metaKey || (event.ctrlKey && !ends)) return;
      if (!target.matches(selector) || isEditingText(target)) return;
      const to = next(usable(), target, event.ctrlKey ? `Ctrl+${event.key}` : event.key);
      if (!to) return;
      consume(event);
      if (to !== target) to.focus();
    },
    true,
  );
  return () => {
    const items = usable();
    for (const item of group.querySelectorAll(selector)) if (item !== stop) attribute(item, "tabindex", -1);
    if (stop && items.includes(stop)) attribute(stop, "tabindex", 0);
    else if (items.length) moveStop(items[0]);
  };
}

// In a bar: one after the other. Up and Down change a list, and move from everything else.
/** @param {HTMLElement[]} items @param {HTMLElement} at @param {string} key */
export function nextInBar(items, at, key) {
  if (key === "Home" || key === "Ctrl+Home") return items[0];
  if (key === "End" || key === "Ctrl+End") return items[items.length - 1];
  if (at.matches("select") && VERTICAL.includes(key)) return undefined;
  const by = key === "ArrowLeft" || key === "ArrowUp" ? -1 : 1;
  return items[(items.indexOf(at) + by + items.length) % items.length];
}

// In a plane: what is nearest on the screen in that direction; at an edge the focus stays.
/** @param {HTMLElement[]} items @param {HTMLElement} at @param {string} key */
export function nextInPlane(items, at, key) {
  if (key === "Ctrl+Home") return items[0];
  if (key === "Ctrl+End") return items[items.length - 1];
  const from = at.getBoundingClientRect();
  const boxes = items.map((item) => ({ item, box: item.getBoundingClientRect() }));
  const middle = (/** @type {DOMRect} */ box) => box.left + box.width / 2;
  const level = (/** @type {DOMRect} */ box) => box.top + box.height / 2;
  if (VERTICAL.includes(key)) {
    const sign = key === "ArrowUp" ? -1 : 1;
    const beyond = boxes.filter(({ box }) => sign * (level(box) - level(from)) > from.height / 3);
    const below = beyond.filter(({ box }) => box.left < from.right && box.right > from.left);
    const away = (/** @type {{ box: DOMRect }} */ { box }) =>
      1000 * Math.abs(level(box) - level(from)) + Math.abs(middle(box) - middle(from));
    return (below.length ? below : beyond).sort((a, b) => away(a) - away(b))[0]?.item ?? at;
  }
  const line = boxes
    .filter(({ box }) => level(box) > from.top && level(box) < from.bottom)
    .sort((a, b) => a.box.left - b.box.left);
  if (key === "Home") return line[0].item;
  if (key === "End") return line[line.length - 1].item;
  const by = key === "ArrowLeft" ? -1 : 1;
  if (line.length === 1) return items[items.indexOf(at) + by] ?? at; // alone in its line, above its bits
  return line[line.findIndex(({ item }) => item === at) + by]?.item ?? at;
}
