// Keys while the Explorer has the focus: those that edit or move stay inside, others, such as Ctrl+S, go to the
// notebook. Shift+Enter and Ctrl+Enter run the cell, and Escape returns the focus.

// With Ctrl or Cmd: undo, clipboard, filling, selecting, searching, and moving to an edge.
const OWN = ["z", "y", "c", "x", "v", "a", "d", "r", "k", " ", "home", "end"];

/** @param {KeyboardEvent} event */
function isOwn({ key, ctrlKey, metaKey, altKey }) {
  if (!ctrlKey && !metaKey) return altKey ? key !== "Enter" : true;
  return !altKey && (OWN.includes(key.toLowerCase()) || key.startsWith("Arrow"));
}

// Shift, Ctrl or Alt and Enter.
/** @param {KeyboardEvent} event */
export const runsCell = ({ key, shiftKey, ctrlKey, metaKey, altKey }) =>
  key === "Enter" && (shiftKey || ctrlKey || metaKey || altKey);

// JupyterLab sees keys before any element does, and leaves those alone whose target has this attribute.
/** @param {HTMLElement} root @returns {() => void} stops listening */
export function shareKeys(root) {
  /** @param {KeyboardEvent} event */
  const share = (event) => {
    if (!root.contains(/** @type {Node} */ (event.composedPath()[0]))) return;
    root.toggleAttribute("data-lm-suppress-shortcuts", isOwn(event) || runsCell(event));
  };
  window.addEventListener("keydown", share, true);
  root.addEventListener("keydown", (event) => {
    // commands such as Ctrl+Enter are for what has the focus in the notebook, not for the notebook itself
    const cell = /** @type {HTMLElement | null} */ (root.closest(".jp-Notebook .jp-Cell"));
    if (event.defaultPrevented || !cell) return;
    if (event.key === "Escape") cell.focus({ preventScroll: true });
    if (!runsCell(event)) return;
    event.preventDefault();
    cell.focus({ preventScroll: true }); // commands are not for text boxes
    const { key, code, keyCode, shiftKey, ctrlKey, metaKey, altKey } = event;
    const init = { key, code, keyCode, shiftKey, ctrlKey, metaKey, altKey, bubbles: true, cancelable: true };
    cell.dispatchEvent(new KeyboardEvent("keydown", init));
  });
  return () => window.removeEventListener("keydown", share, true);
}
