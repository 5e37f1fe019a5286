// Small helpers: nodes, events, numbers as text.

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

// What the key or pointer means is dealt with here.
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

// A list, or an input, with its label before it.
/** @param {HTMLElement} parent @param {string} label @param {Record<string, string | number>} attributes */
export function makeSelect(parent, label, attributes) {
  return make("select", "", makeLabel(parent, label), { "aria-label": label, ...attributes });
}

// Its keys are its own.
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
/** @param {HTMLSelectElement} select @param {[text: string, value: string | number, obstacle?: string][]} choices */
export function fillSelect(select, choices) {
  select.replaceChildren();
  for (const [text, value, obstacle] of choices) {
    const option = make("option", "", select, { value, text });
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

/** @param {KeyboardEvent} event */
export const hasModifier = (event) => event.ctrlKey || event.metaKey || event.altKey;

export const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

// Scrolls a list by as little as shows one of its nodes. Unlike scrollIntoView, it leaves the page where it
// is.
/** @param {HTMLElement} list @param {HTMLElement} node */
export function revealInList(list, { offsetTop, offsetHeight }) {
  list.scrollTop = clamp(list.scrollTop, offsetTop + offsetHeight - list.clientHeight, offsetTop);
}

// The bytes of a view as an array of numbers; null for none.
/** @template T @overload @param {ArrayKind<T>} Kind @param {DataView} view @returns {T} */
/** @template T @overload @param {ArrayKind<T>} Kind @param {DataView | undefined} view @returns {T | null} */
/** @template T @param {ArrayKind<T>} Kind @param {DataView | undefined} view */
export function typed(Kind, view) {
  return view ? new Kind(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength)) : null;
}

// A number in few digits. What is rounded never looks like an integer: 1234.5 and not 1235, 2.0 and not 2.
/** @param {number} value @param {number} digits */
export function short(value, digits) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (Object.is(value, -0)) return "-0";
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return String(value);
  if (Math.abs(value) >= 10 ** (digits - 1) && Math.abs(value) < 1e6) return value.toFixed(1);
  const isTiny = value !== 0 && Math.abs(value) < 1e-4;
  const rounded = isTiny ? value.toExponential(digits - 1) : value.toPrecision(digits);
  const [head, tail] = rounded.split("e");
  let mantissa = head.includes(".") ? head.replace(/\.?0+$/, "") : head;
  if (!mantissa.includes(".") && Number(`${mantissa}e${tail ?? 0}`) !== value) mantissa += ".0";
  return tail ? `${mantissa}e${Number(tail)}` : mantissa;
}

// The shortest text that reads back as the same float32, or float64.
/** @param {number} value */
export function exact(value, wide = false) {
  const most = wide ? 17 : 9;
  for (let digits = 1; digits < most; digits += 1) {
    const text = short(value, digits);
    if ((wide ? Number(text) : Math.fround(Number(text))) === value) return text;
  }
  return short(value, most);
}

/** @param {number | bigint} code @param {number} bits */
export const hex = (code, bits) => "0x" + code.toString(16).padStart(Math.ceil(bits / 4), "0");
/** @param {number | bigint} code @param {number} bits */
export const binary = (code, bits) => code.toString(2).padStart(bits, "0");
/** @param {number} count @param {string} noun */
export const plural = (count, noun) => (count === 1 ? noun : `${noun}s`);
// "7..4", from the highest bit to the lowest; "3" for a single one.
/** @param {number} low @param {number} bits */
export const bitRange = (low, bits) => (bits === 1 ? `${low}` : `${low + bits - 1}..${low}`);
// Every how many-th row or column has a label, so that labels have room.
/** @param {number} size of a row or column @param {number} room that a label takes */
export const labelInterval = (size, room) =>
  [1, 2, 4, 8, 16, 32, 64].find((count) => count * size >= room) ?? 128;
/** @param {number} value @param {number} low @param {number} high */
export const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

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

// Rows down and columns to the right.
/** @type {Record<string, [down: number, right: number]>} */
export const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
