// What the whole Explorer listens to, wherever the focus is: taps, and the keys of undo and redo.

import { isTouch } from "./util.js";

// What a tap shows stays until the next tap, wherever that is. Returns a function that stops listening.
/** @param {App} app */
export function listenForTaps(app) {
  /** @param {PointerEvent} event */
  const forget = (event) => {
    if (!isTouch(event)) return;
    app.hover(null);
    app.hoverLine(null);
  };
  document.addEventListener("pointerdown", forget, true);
  return () => document.removeEventListener("pointerdown", forget, true);
}

// Ctrl+Z, Ctrl+Shift+Z and Ctrl+Y (Cmd on macOS), wherever the focus is: they are taken on the way down,
// before fields and lists stop them. Text being typed has its own undo until it is committed, and so has the
// picker's search.
/** @param {App} app */
export function listenForUndo(app) {
  let typing = /** @type {EventTarget | null} */ (null);
  app.root.addEventListener("input", ({ target }) => {
    // a cell has its own flag for this: pane.editing
    const isText = target instanceof HTMLInputElement && target.type === "text";
    typing = isText && !target.matches(".ptx-cell") ? target : null;
  });
  for (const committed of ["change", "focusout"])
    app.root.addEventListener(committed, () => {
      typing = null;
    });
  app.root.addEventListener(
    "keydown",
    (event) => {
      if (event.key === "Enter" || event.key === "Escape") typing = null;
      const letter = undoLetter(event);
      if (!letter || typing === event.target || app.picker.opened || app.isStatic) return;
      if (app.panes.some((pane) => pane.editing && pane.input === event.target)) return;
      event.preventDefault();
      event.stopPropagation();
      app.send({ type: event.shiftKey || letter === "y" ? "redo" : "undo" });
    },
    true,
  );
}

// "z", "y" or "". On a keyboard without Latin letters the key is recognised by its position.
/** @param {KeyboardEvent} event */
function undoLetter(event) {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return "";
  const letter = /^[\x20-\x7e]$/.test(event.key)
    ? event.key.toLowerCase()
    : event.code.replace("Key", "").toLowerCase();
  return letter === "z" || letter === "y" ? letter : "";
}
