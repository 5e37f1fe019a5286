// Zoom gestures: the wheel with Ctrl, and two fingers.

const NOTCH = 40; // pixels that a wheel turns for one step; the fingers on a pad need several events

// Calls back for every notch that the wheel turns with Ctrl.
/**
 * @param {HTMLElement} node
 * @param {(event: WheelEvent) => void} zoom
 * @param {(event: WheelEvent) => boolean} takes
 */
export function listenForWheel(node, zoom, takes = () => true) {
  let turned = 0;
  node.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey || !takes(event)) return;
      event.preventDefault();
      turned = Math.sign(turned) === Math.sign(event.deltaY) ? turned + event.deltaY : event.deltaY;
      if (Math.abs(turned) < NOTCH) return;
      turned = 0;
      zoom(event);
    },
    { passive: false },
  );
}

// Calls back while two fingers move, with what the zoom was, the factor by which they are farther apart, and
// the point between them. One finger scrolls, which the browser does.
/**
 * @param {HTMLElement} node
 * @param {() => number} zoomNow
 * @param {(begun: number, factor: number, middle: ClientPoint) => void} zoom
 * @param {(target: EventTarget) => boolean} takes
 */
export function listenForPinch(node, zoomNow, zoom, takes = () => true) {
  let begun = /** @type {{ apart: number, zoom: number } | null} */ (null);
  /** @param {TouchEvent} event */
  const fingers = ({ touches: [one, other] }) => ({
    apart: Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY),
    middle: { clientX: (one.clientX + other.clientX) / 2, clientY: (one.clientY + other.clientY) / 2 },
  });
  /** @param {TouchEvent} event */
  const areTaken = ({ touches }) => touches.length === 2 && [...touches].every(({ target }) => takes(target));
  node.addEventListener("touchstart", (event) => {
    begun = areTaken(event) ? { apart: fingers(event).apart, zoom: zoomNow() } : null;
  });
  node.addEventListener(
    "touchmove",
    (event) => {
      if (!begun || !areTaken(event)) return;
      event.preventDefault(); // the page does not scroll
      const { apart, middle } = fingers(event);
      zoom(begun.zoom, apart / begun.apart, middle);
    },
    { passive: false },
  );
}
