// Primitives for drawing on canvases: boxes and small texts.

export const LETTER = 0.602; // width of a letter of the monospaced font, relative to its size
export const SMALLEST_TEXT = 11; // pixels; where it does not fit, colours stand alone

// What draws on a canvas, in pixels of CSS; the canvas is cleared, as its size alone would not do if it stays.
/** @param {HTMLCanvasElement} canvas @param {number} ratio */
export function contextOn(canvas, ratio, isEmpty = true) {
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  if (isEmpty) context.clearRect(0, 0, canvas.width, canvas.height);
  return context;
}

/** @param {CanvasRenderingContext2D} context @param {Place} place @param {string} colour */
export function fillBox(context, { x, y, width, height }, colour, opacity = 1) {
  context.globalAlpha = opacity;
  context.fillStyle = colour;
  context.fillRect(x, y, width, height);
  context.globalAlpha = 1;
}

/** @param {CanvasRenderingContext2D} context @param {Place} place @param {string} colour @param {number} line */
export function strokeBox(
  context,
  { x, y, width, height },
  colour,
  line,
  dash = /** @type {number[]} */ ([]),
) {
  context.strokeStyle = colour;
  context.lineWidth = line;
  context.setLineDash(dash);
  context.strokeRect(x, y, width, height);
  context.setLineDash([]);
}

/** @param {CanvasRenderingContext2D} context @param {string} font @param {string} colour @param {CanvasTextAlign} align */
export function setFont(context, font, colour, align = "center") {
  context.font = font;
  context.fillStyle = colour;
  context.textAlign = align;
  context.textBaseline = "middle";
}

// A line through some points; its colour and width are those of the context.
/** @param {CanvasRenderingContext2D} context @param {[x: number, y: number][]} points */
export function tracePath(context, points) {
  context.beginPath();
  points.forEach(([x, y], index) => (index ? context.lineTo(x, y) : context.moveTo(x, y)));
}

// A heading over the others, for what is pointed at: in reverse, around its middle.
/** @param {CanvasRenderingContext2D} context @param {Ink} ink @param {string} text @param {Point} middle */
export function drawTag(context, ink, text, { x, y }) {
  const width = text.length * 11 * LETTER + 4;
  fillBox(context, { x: x - width / 2, y: y - 7, width, height: 14 }, ink.text);
  setFont(context, `bold 11px ${ink.mono}`, ink.paper);
  context.fillText(text, x, y + 0.5);
}

// A text that reads upwards.
/** @param {CanvasRenderingContext2D} context @param {string} text @param {Point} middle */
export function drawUpwards(context, text, { x, y }) {
  context.save();
  context.translate(x, y);
  context.rotate(-Math.PI / 2);
  context.fillText(text, 0, 0);
  context.restore();
}

/** @type {Map<string, number>} */
const colourWords = new Map();

// A colour as a canvas has it: red in the lowest byte, then green, blue and opacity.
/** @param {string} colour */
export function colourWord(colour) {
  const known = colourWords.get(colour);
  if (known !== undefined) return known;
  const context = /** @type {OffscreenCanvasRenderingContext2D} */ (
    new OffscreenCanvas(1, 1).getContext("2d")
  );
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  const [word] = new Uint32Array(context.getImageData(0, 0, 1, 1).data.buffer);
  colourWords.set(colour, word);
  return word;
}
