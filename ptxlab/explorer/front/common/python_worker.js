// The page's side of Python in a worker: loading progress, and messages both ways.

import { make } from "./dom.js";

/** @typedef {{ ready: () => void, compiler?: (done: number, total: number) => void, messages?: (messages: EncodedMessage[]) => void,
 *    answer?: (answer: any) => void }} PythonListeners */

export class PythonWorker {
  /** @param {HTMLElement} notes @param {WorkerSettings & { worker: string, offline: string }} settings */
  constructor(notes, { worker, offline, ...load }) {
    this.offline = offline;
    this.more = load.kernels;
    this.line = make("p", "try-progress", notes, { role: "status" });
    this.bar = make("progress", "", this.line, {
      max: 1,
      value: 0,
      "aria-label": "how far Python has loaded",
    });
    this.text = make("span", "", this.line);
    this.started = performance.now();
    this.what = "Loading Python";
    this.waiting = "";
    this.hasFailed = false;
    this.showProgress(this.loading, 0);
    this.worker = new Worker(worker, { type: "module" });
    const { clang, ...addresses } = load;
    /** @param {string} address */
    const whole = (address) => new URL(address, location.href).href;
    const full = Object.entries(addresses).map(([name, address]) => [name, whole(address)]);
    const compiler = clang && { ...clang, addresses: clang.addresses.map(whole) };
    this.worker.postMessage({ load: { ...Object.fromEntries(full), clang: compiler } });
  }

  /** @param {string} what @param {number} done parts of a whole */
  showProgress(what, done) {
    this.bar.hidden = done >= 1;
    this.bar.value = done;
    this.text.textContent = what;
  }

  /** @param {string} what */
  fail(what) {
    this.hasFailed = true;
    this.line.classList.add("try-failed");
    this.showProgress(what, 1);
  }

  /** @param {string} [more] that it says of itself */
  showReady(more) {
    const seconds = ((performance.now() - this.started) / 1000).toFixed(1);
    const text = `Python runs in this tab (loaded in ${seconds} s)${more ? `; ${more}` : ""}`;
    this.showProgress(text, 1);
    this.keepForOffline().then((isKept) => {
      if (isKept && !this.hasFailed) this.showProgress(`${text} · works offline`, 1);
    });
  }

  // Only now: nothing competes with what Python loads.
  async keepForOffline() {
    if (!("serviceWorker" in navigator)) return false;
    try {
      await navigator.serviceWorker.register(this.offline);
      if (!navigator.serviceWorker.controller)
        await new Promise((controlled) => {
          navigator.serviceWorker.addEventListener("controllerchange", controlled, { once: true });
        });
      if (this.more) await fetch(this.more); // which the service worker does not keep by itself
      return true;
    } catch {
      return false; // a folder of files, or a browser that allows none: the page works all the same
    }
  }

  /** @param {string} words about edits that were typed before Python was there */
  showWaiting(words) {
    this.waiting = words;
    this.showProgress(this.loading, this.bar.value);
  }

  get loading() {
    return `${this.what} …${this.waiting ? `; ${this.waiting}` : ""}`;
  }

  /** @param {PythonListeners} listeners */
  listen({ ready, compiler, messages, answer }) {
    this.worker.addEventListener("message", ({ data }) => {
      if (data.progress) {
        this.what = data.progress.text;
        this.showProgress(this.loading, data.progress.done);
      } else if (data.ready) ready();
      else if (data.compiler) compiler?.(data.compiler.done, data.compiler.total);
      else if (data.messages) messages?.(data.messages);
      else if (data.answer) answer?.(data.answer);
      else if (data.failed) this.fail(`Python could not go on: ${data.failed}`);
    });
    this.worker.addEventListener("error", ({ message }) =>
      this.fail(`Python could not be loaded: ${message ?? "its worker did not start"}`),
    );
  }

  /** @param {object} message */
  post(message) {
    this.worker.postMessage(message);
  }

  /** @param {string} question */
  ask(question) {
    this.post({ ask: question });
  }
}
