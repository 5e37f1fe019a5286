// The timeline as a video, for slides: the Explorer is drawn on a canvas while it plays, and recorded.

import { make } from "../common/dom.js";

const FRAMES = 15; // a second
const LAST_STAYS = 1200; // milliseconds
const FILM_MARGIN = 12; // pixels around the Explorer
const TOOLS = "button:not(.ptx-lane), .ptx-header input, .ptx-memory-bar, .ptx-status"; // are not of the film
const FORMATS = ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm", "video/mp4"];

/** @returns {string} what the browser can write; "" if nothing */
function format() {
  if (typeof MediaRecorder === "undefined" || !HTMLCanvasElement.prototype.captureStream) return "";
  return FORMATS.find((format) => MediaRecorder.isTypeSupported(format)) ?? "";
}

export const canRecord = () => format() !== "";

/** @param {HTMLCanvasElement} canvas @returns {(call: (film: Blob) => void) => void} what ends the recording */
function videoRecorder(canvas) {
  const type = format();
  const recorder = new MediaRecorder(canvas.captureStream(FRAMES), {
    mimeType: type,
    videoBitsPerSecond: 6_000_000,
  });
  const chunks = /** @type {Blob[]} */ ([]);
  recorder.ondataavailable = ({ data }) => chunks.push(data);
  recorder.start();
  return (call) => {
    recorder.onstop = () => call(new Blob(chunks, { type }));
    recorder.stop();
  };
}

// Plays the whole timeline once; the file is offered when it ends. Pausing ends it earlier.
/** @param {Timeline} timeline @param {HTMLButtonElement} button */
export function recordTimeline(timeline, button) {
  const { app } = timeline;
  const { root } = app;
  const canvas = document.createElement("canvas");
  const shown = [app.header.node, app.scene.stage, app.memory.node, app.tensor.node, timeline.words];
  const scale = Math.min(2, 1920 / root.clientWidth);
  const context = canvas.getContext("2d");
  const height = Math.max(...shown.map((node) => node.offsetTop + node.offsetHeight)) + 2 * FILM_MARGIN;
  canvas.width = 2 * Math.round(((root.clientWidth + 2 * FILM_MARGIN) * scale) / 2); // codecs want even numbers
  canvas.height = 2 * Math.round((height * scale) / 2);
  if (!context || button.disabled) return;
  const draw = () => {
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.fillStyle = app.theme.ink.paper;
    context.fillRect(0, 0, canvas.width, canvas.height);
    const { left, top } = root.getBoundingClientRect();
    const origin = new DOMRect(left - FILM_MARGIN, top - FILM_MARGIN);
    for (const node of [...shown, ...(timeline.flight ? [timeline.flight] : [])])
      drawNode(context, node, origin);
  };
  button.disabled = true;
  button.textContent = "recording";
  timeline.pause();
  timeline.goToStep(0);
  const finish = videoRecorder(canvas);
  draw();
  timeline.play();
  let ended = 0;
  const clock = window.setInterval(() => {
    draw();
    if (timeline.timer) return;
    ended ||= performance.now();
    if (performance.now() - ended < LAST_STAYS) return;
    window.clearInterval(clock);
    finish((film) => {
      button.disabled = false;
      button.textContent = "video";
      const href = URL.createObjectURL(film);
      const ending = film.type.replace(/.*\/(\w+).*/, "$1"); // webm or mp4
      make("a", "", null, { href, download: `${app.content.instruction.mnemonic}.${ending}` }).click();
      window.setTimeout(() => URL.revokeObjectURL(href), 60_000);
    });
  }, 1000 / FRAMES);
}

// A node as the page shows it: its colours, its border, its text, and what its canvases hold.
/** @param {CanvasRenderingContext2D} context @param {Element} node @param {DOMRect} origin */
function drawNode(context, node, origin) {
  if (!(node instanceof HTMLElement) || node.hidden) return;
  if (node.matches(TOOLS)) return;
  const box = node.getBoundingClientRect();
  if (!box.width || !box.height) return;
  const style = getComputedStyle(node);
  if (style.visibility === "hidden" || style.opacity === "0") return;
  const [x, y] = [box.left - origin.left, box.top - origin.top];
  context.save();
  context.globalAlpha *= Number(style.opacity);
  if (style.overflowX !== "visible" || style.overflowY !== "visible") {
    context.beginPath();
    context.rect(x, y, box.width, box.height);
    context.clip();
  }
  context.fillStyle = style.backgroundColor;
  context.fillRect(x, y, box.width, box.height);
  if (style.borderTopStyle !== "none" && Number.parseFloat(style.borderTopWidth)) {
    context.strokeStyle = style.borderTopColor;
    context.lineWidth = Number.parseFloat(style.borderTopWidth);
    if (style.borderLeftStyle === "none") context.fillRect(x, y, box.width, 0);
    else context.strokeRect(x + 0.5, y + 0.5, box.width - 1, box.height - 1);
  }
  if (node instanceof HTMLCanvasElement && node.width) context.drawImage(node, x, y, box.width, box.height);
  context.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  context.fillStyle = style.color;
  context.textBaseline = "middle";
  for (const child of node.childNodes) {
    if (child instanceof Element) drawNode(context, child, origin);
    else drawText(context, child, origin);
  }
  const isField = node instanceof HTMLInputElement && node.type === "text";
  const value = node instanceof HTMLSelectElement ? node.selectedOptions[0]?.text : isField && node.value;
  if (value) context.fillText(value, x + Number.parseFloat(style.paddingLeft), y + box.height / 2);
  context.restore();
}

// Line by line, as the page breaks it.
/** @param {CanvasRenderingContext2D} context @param {Node} text @param {DOMRect} origin */
function drawText(context, text, origin) {
  const content = text.textContent ?? "";
  if (!content.trim()) return;
  const range = document.createRange();
  range.selectNodeContents(text);
  const lines = range.getClientRects();
  let start = 0;
  for (const line of lines) {
    let end = content.length;
    if (lines.length > 1)
      for (end = start + 1; end < content.length; end += 1) {
        range.setStart(text, end);
        range.setEnd(text, end + 1);
        if (range.getBoundingClientRect().top > line.bottom - 1) break;
      }
    context.fillText(
      lines.length > 1 ? content.slice(start, end).trim() : content,
      line.left - origin.left,
      (line.top + line.bottom) / 2 - origin.top,
    );
    start = end;
  }
}
