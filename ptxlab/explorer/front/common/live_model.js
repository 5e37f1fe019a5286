// The model of a page in a browser tab, in place of a notebook's comm: its Python runs in a worker.

import { PageModel } from "./page_model.js";

// A message of Python: its JSON names the places of the bytes that come beside it.
/** @param {EncodedMessage} encoded @returns {any} */
export function decodeMessage([text, buffers]) {
  const { bytes, ...message } = JSON.parse(text);
  bytes.forEach((/** @type {(string | number)[]} */ path, /** @type {number} */ index) => {
    const holder = path.slice(0, -1).reduce((part, key) => part[key], message);
    const { buffer, byteOffset, byteLength } = buffers[index];
    holder[path[path.length - 1]] = new DataView(buffer, byteOffset, byteLength);
  });
  return message;
}

/** @extends {PageModel<Traits>} */
export class LiveModel extends PageModel {
  /** @param {Traits} state what is shown before Python has loaded @param {(message: any) => void} toWorker */
  constructor(state, toWorker) {
    super(state);
    this.toWorker = toWorker;
    this.unsaved = /** @type {Set<keyof Traits>} */ (new Set());
    // for Python; null when it is there
    this.waiting = /** @type {PageMessage[] | null} */ ([]);
    /** @type {(message: PageMessage) => void} */
    this.whenWaiting = () => {};
  }

  /** @template {keyof Traits} K @param {K} name @param {Traits[K]} value */
  set(name, value) {
    this.unsaved.add(name);
    this.update({ [name]: value });
  }

  save_changes() {
    const state = Object.fromEntries([...this.unsaved].map((name) => [name, this.state[name]]));
    this.unsaved.clear();
    this.post({ method: "update", state });
  }

  /** @param {Message} content */
  send(content) {
    this.post({ method: "custom", content });
  }

  /** @param {PageMessage} message */
  post(message) {
    if (this.waiting) {
      this.waiting.push(message);
      this.whenWaiting(message);
    } else this.toWorker({ message: JSON.stringify(message) });
  }

  // Drop the queued messages: they were meant for the instruction that Python is about to replace.
  forget() {
    this.waiting = [];
  }

  // Python is there: it opens what was asked for, and does what waited. Later, it opens something else.
  /** @param {string} asked */
  open(asked) {
    this.toWorker({ open: asked, waiting: JSON.stringify(this.waiting ?? []) });
    this.waiting = null;
  }

  /** @param {Partial<Traits>} values */
  update(values) {
    const names = /** @type {(keyof Traits)[]} */ (Object.keys(values)).filter(
      (name) => this.state[name] !== values[name],
    );
    Object.assign(this.state, values);
    for (const name of names) this.notify(`change:${name}`);
  }

  /** @param {EncodedMessage[]} messages */
  receive(messages) {
    for (const encoded of messages) {
      const message = decodeMessage(encoded);
      if (message.method === "update") this.update(message.state);
      else this.notify("msg:custom", addressed(message.content, location.pathname));
    }
  }
}

// A link that is copied here opens this page, or another that shows an Explorer, wherever it is.
/** @param {ExportAnswer} answer @param {string} page @returns {ExportAnswer} */
export function addressed(answer, page) {
  if (answer.export !== "link") return answer;
  const link = answer.text?.replace(/^[^#]*/, "");
  return { ...answer, text: new URL(`${page}${link}`, location.href).href };
}
