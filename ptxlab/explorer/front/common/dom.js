// Nodes of the page: made, written, focused and listened to.

import { clamp } from "./numbers.js";

// A node; `text` among its attributes is what it says.
/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {string} classes
 * @param {Element | null} [parent]
 * @param {Record<string, string | number | boolean>} [attributes]
 */
export function make(tag, classes, parent, attributes = {}) {
  const node = document.createElement(tag);
  if (classes) node.className = classes;
  for (const [name, value] of Object.entries(attributes))
    if (name === "text") node.textContent = String(value);
    else node.setAttribute(name, String(value));
  parent?.append(node);
  return node;
}

/**
 * @param {Element | null} parent
 * @param {string} classes
 * @param {string} text
 * @param {(event: MouseEvent) => void} press
 * @param {Record<string, string | number | boolean>} attributes
 */
export function makeButton(parent, classes, text, press, attributes = {}) {
  const button = make("button", classes, parent, { type: "button", text, ...attributes });
  button.addEventListener("click", press);
  return button;
}

// A button that shows only a sign: its tip, without the keys in brackets, is its name.
/** @param {Element} parent @param {string} text @param {string} title @param {() => void} press */
export function makeIcon(parent, text, title, press, classes = "ptx-tool ptx-icon") {
  const label = title.replace(/ \(.*/, "").toLowerCase();
  return makeButton(parent, classes, text, press, { title, "aria-label": label });
}

// A part of the view, which tests find by its id.
/** @param {Element} parent @param {string} classes @param {string} label @param {string} id */
export function makeSection(parent, classes, label, id) {
  return make("section", classes, parent, { "aria-label": label, "data-testid": id });
}

// A field for text, in which the browser corrects nothing.
/** @param {Element} parent @param {string} classes @param {Record<string, string | number>} attributes */
export function makeTextInput(parent, classes, attributes = {}) {
  return make("input", classes, parent, {
    type: "text",
    spellcheck: false,
    autocomplete: "off",
    ...attributes,
  });
}

// Stops an event: neither the browser nor another part of the page acts on it.
/** @param {Event} event */
export function consume(event) {
  event.preventDefault();
  event.stopPropagation();
}

// Calls back unless a finger did it: that scrolls, and taps are heard as clicks.
/**
 * @param {HTMLElement} node
 * @param {"pointermove" | "pointerenter" | "pointerleave"} type
 * @param {(event: PointerEvent) => void} call
 */
export function onMouse(node, type, call) {
  node.addEventListener(type, (event) => {
    if (!isTouch(event)) call(event);
  });
}

// What anywidget loads: a view of a model, which stops when it is no longer shown.
/** @template M @param {new (model: M, el: HTMLElement) => { stop(): void }} View */
export const widgetOf = (View) => ({
  /** @param {{ model: M, el: HTMLElement }} widget */
  render({ model, el }) {
    const view = new View(model, el);
    return () => view.stop();
  },
});

// The focus, without scrolling the page.
/** @param {Element | null | undefined} node */
export const focusOn = (node) =>
  /** @type {HTMLElement | null | undefined} */ (node)?.focus({ preventScroll: true });

// The node with the focus, if it is in a part of the page; else null.
/** @param {Element} part @returns {HTMLElement | null} */
export function focusedIn(part) {
  const { activeElement } = /** @type {Document | ShadowRoot} */ (part.getRootNode());
  return part.contains(activeElement) ? /** @type {HTMLElement | null} */ (activeElement) : null;
}

// A colour of the palette: of the background, and of the text on it.
/** @param {HTMLElement} node @param {Colour} colour */
export function paint(node, [background, text]) {
  node.style.background = background;
  node.style.color = text;
}

// A list with its label before it.
/** @param {HTMLElement} parent @param {string} label @param {Record<string, string | number>} attributes */
export function makeSelect(parent, label, attributes) {
  return make("select", "", makeLabel(parent, label), { "aria-label": label, ...attributes });
}

// An input for a number, with its label before it. Keys pressed in it do not reach the Explorer.
/** @param {HTMLElement} parent @param {string} label @param {Record<string, string | number>} attributes */
export function makeNumberInput(parent, label, attributes) {
  const box = makeLabel(parent, label);
  const node = make("input", "ptx-number", box, { type: "number", "aria-label": label, ...attributes });
  node.addEventListener("keydown", (event) => event.stopPropagation());
  return node;
}

// The whole number in an input; null if there is none.
/** @param {{ value: string }} node */
export const wholeNumber = ({ value }) =>
  value !== "" && Number.isInteger(Number(value)) ? Number(value) : null;

/** @param {HTMLElement} parent @param {string} text */
export function makeLabel(parent, text) {
  const label = make("label", "ptx-choice", parent);
  if (text) make("span", "", label, { text });
  return label;
}

// The options of a list; one with an obstacle cannot be chosen, and its tip says why.
/** @param {HTMLSelectElement} select @param {NonNullable<Control["choices"]>} choices */
export function fillSelect(select, choices) {
  select.replaceChildren();
  for (const [text, value, obstacle] of choices) {
    const option = make("option", "", select, { value: String(value), text });
    option.disabled = Boolean(obstacle);
    if (obstacle) option.title = obstacle;
  }
}

// Writes only what differs: browsers lay out again what is written, even if it is the same. And into the text
// node that is there: a new one would be matched against every rule with :has() and :empty.
/** @param {Element} node @param {string | number} text */
export function write(node, text) {
  const { firstChild } = node;
  if (firstChild instanceof Text && firstChild === node.lastChild) {
    if (firstChild.data !== String(text)) firstChild.data = String(text);
  } else if (node.textContent !== String(text)) node.textContent = String(text);
}

/** @param {Element} node @param {string} name @param {string | number | boolean} value */
export function attribute(node, name, value) {
  if (node.getAttribute(name) !== String(value)) node.setAttribute(name, String(value));
}

// Calls back when the next frame is on the screen.
/** @param {() => void} call */
export function afterPaint(call) {
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(call)));
}

// In a task of its own, right after this one: a timer would wait some milliseconds.
/** @param {() => void} call */
export function nextTask(call) {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = call;
  port2.postMessage(null);
}

// Browsers from before 2024 send clicks without a pointer type.
/** @param {MouseEvent & { pointerType?: string }} event */
export const isTouch = (event) => event.pointerType === "touch";

/** @param {KeyboardEvent | WheelEvent} event */
export const hasModifier = (event) => event.ctrlKey || event.metaKey || event.altKey;

export const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

// Scrolls a list by as little as shows one of its nodes. Unlike scrollIntoView, it leaves the page where it
// is.
/** @param {HTMLElement} list @param {HTMLElement} node */
export function revealInList(list, { offsetTop, offsetHeight }) {
  list.scrollTop = clamp(list.scrollTop, offsetTop + offsetHeight - list.clientHeight, offsetTop);
}

// Pages that are not served securely have no clipboard API: there the old command is tried.
/** @param {string} text */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const box = make("textarea", "", document.body, { readonly: "" });
    Object.assign(box.style, { position: "fixed", opacity: "0" });
    box.value = text;
    box.select();
    const done = document.execCommand("copy");
    box.remove();
    return done;
  }
}

/** @param {HTMLCanvasElement} canvas @param {number} width @param {number} height @param {number} ratio */
export function resizeCanvas(canvas, width, height, ratio) {
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width === wide && canvas.height === high) return; // setting it clears the canvas
  canvas.width = wide;
  canvas.height = high;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
}

// What arrow keys do: rows down and columns to the right.
/** @type {Record<string, [down: number, right: number]>} */
export const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
