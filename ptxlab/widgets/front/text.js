// Small helpers: nodes, numbers as text.

export function make(tag, classes, parent, attributes = {}) {
  const node = document.createElement(tag);
  if (classes) node.className = classes;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  parent?.append(node);
  return node;
}

// Written only where it differs: a page lays out anew what is written, even where it is the same.
export function write(node, text) {
  if (node.textContent !== String(text)) node.textContent = text;
}

export function attribute(node, name, value) {
  if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

export function typed(Kind, view) {
  return view ? new Kind(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength)) : null;
}

export function short(value, digits) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (Object.is(value, -0)) return "-0";
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return String(value);
  const [head, tail] = value.toPrecision(digits).split("e");
  const mantissa = head.includes(".") ? head.replace(/\.?0+$/, "") : head;
  return tail ? `${mantissa}e${Number(tail)}` : mantissa;
}

// The shortest text that reads back as the same float32, or float64.
export function exact(value, wide = false) {
  const most = wide ? 17 : 9;
  for (let digits = 1; digits < most; digits += 1) {
    const text = short(value, digits);
    if ((wide ? Number(text) : Math.fround(Number(text))) === value) return text;
  }
  return short(value, most);
}

export const hex = (code, bits) => "0x" + code.toString(16).padStart(Math.ceil(bits / 4), "0");
export const binary = (code, bits) => code.toString(2).padStart(bits, "0");
export const step = (size, least) => [1, 2, 4, 8, 16, 32, 64].find((count) => count * size >= least) ?? 128;
export const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

// Pages that are not served securely have no clipboard: there the old command is tried.
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const box = make("textarea", "", document.body, { readonly: "", style: "position:fixed;opacity:0" });
    box.value = text;
    box.select();
    const done = document.execCommand("copy");
    box.remove();
    return done;
  }
}
