// The timeline as a video or a GIF, for slides: the Explorer is drawn on a canvas while it plays, and recorded.

import { Gif } from "../common/gif.js";
import { make } from "../common/util.js";

const FRAMES = { video: 15, GIF: 8 }; // a second
const LAST_STAYS = 1200; // milliseconds
const FILM_MARGIN = 12; // pixels around the Explorer
const TOOLS = "button:not(.ptx-lane), .ptx-header input, .ptx-memory-bar, .ptx-status"; // are not of the film
const FORMATS = ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm", "video/mp4"];

/** @typedef {{ draw(): void, finish(call: (film: Blob) => void): void }} Recorder */

/** @returns {string} what the browser can write; "" if nothing */
function format() {
  if (typeof MediaRecorder === "undefined" || !HTMLCanvasElement.prototype.captureStream) return "";
  return FORMATS.find((each) => MediaRecorder.isTypeSupported(each)) ?? "";
}

export const canRecord = () => format() !== "";

/** @param {HTMLCanvasElement} canvas @returns {Recorder} */
function videoRecorder(canvas) {
  const type = format();
  const recorder = new MediaRecorder(canvas.captureStream(FRAMES.video), {
    mimeType: type,
    videoBitsPerSecond: 6_000_000,
  });
  const chunks = /** @type {Blob[]} */ ([]);
  recorder.ondataavailable = ({ data }) => chunks.push(data);
  recorder.start();
  return {
    draw() {},
    finish(call) {
      recorder.onstop = () => call(new Blob(chunks, { type }));
      recorder.stop();
    },
  };
}

// A step lasts as long in it as it should, also where the machine was too busy to be on time.
/** @param {Timeline} timeline @param {CanvasRenderingContext2D} context @returns {Recorder} */
function gifRecorder(timeline, context) {
  const { width, height } = context.canvas;
  const gif = new Gif(width, height);
  let [at, hold, since, before] = [0, 0, 0, 0];
  const time = () => {
    const now = performance.now();
    if (timeline.at !== at) [at, hold, since, before] = [timeline.at, timeline.wait, now, before + hold];
    return before + Math.min(now - since, hold);
  };
  return {
    draw: () => gif.add(context.getImageData(0, 0, width, height), time()),
    finish: (call) => call(gif.finish(before + hold + LAST_STAYS)),
  };
}

// Plays the whole timeline once; the file is offered when it ends. Pausing ends it earlier.
/** @param {Timeline} timeline @param {HTMLButtonElement} button @param {"video" | "GIF"} kind */
export function recordTimeline(timeline, button, kind) {
  const { app, films } = timeline;
  const { root } = app;
  const isGif = kind === "GIF";
  const canvas = document.createElement("canvas");
  const shown = [app.header.node, app.scene.stage, app.memory.node, app.tensor.node, timeline.words];
  const scale = isGif ? 1 : Math.min(2, 1920 / root.clientWidth); // a GIF has the pixels of the page
  const context = canvas.getContext("2d", { willReadFrequently: isGif });
  const height = Math.max(...shown.map((node) => node.offsetTop + node.offsetHeight)) + 2 * FILM_MARGIN;
  canvas.width = 2 * Math.round(((root.clientWidth + 2 * FILM_MARGIN) * scale) / 2); // codecs want even numbers
  canvas.height = 2 * Math.round((height * scale) / 2);
  if (!context || films.some((each) => each.disabled)) return;
  const draw = () => {
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.fillStyle = app.theme.ink.paper;
    context.fillRect(0, 0, canvas.width, canvas.height);
    const { left, top } = root.getBoundingClientRect();
    const origin = new DOMRect(left - FILM_MARGIN, top - FILM_MARGIN);
    for (const node of [...shown, ...(timeline.flight ? [timeline.flight] : [])])
      drawNode(context, node, origin);
    recorder.draw();
  };
  for (const each of films) each.disabled = true;
  button.textContent = "recording";
  timeline.pause();
  timeline.go(0);
  const recorder = isGif ? gifRecorder(timeline, context) : videoRecorder(canvas);
  draw();
  timeline.play();
  let ended = 0;
  const clock = window.setInterval(() => {
    draw();
    if (timeline.timer) return;
    ended ||= performance.now();
    if (performance.now() - ended < LAST_STAYS) return;
    window.clearInterval(clock);
    recorder.finish((film) => {
      for (const each of films) each.disabled = false;
      button.textContent = kind;
      const href = URL.createObjectURL(film);
      const ending = film.type.replace(/.*\/(\w+).*/, "$1"); // gif, webm or mp4
      make("a", "", null, { href, download: `${app.content.instruction.mnemonic}.${ending}` }).click();
      window.setTimeout(() => URL.revokeObjectURL(href), 60_000);
    });
  }, 1000 / FRAMES[kind]);
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
