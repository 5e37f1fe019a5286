// A page with Python in it: the Explorer is drawn from data that the page brings, and live as soon as its
// worker has loaded.

import { make } from "./common/util.js";
import { openPage, unpack } from "./common/saved_model.js";
import { followDeltas } from "./common/deltas.js";
import { LiveModel } from "./common/live_model.js";
import { App } from "./app.js";

// What the address asks for: ?ins= and an instruction, or a link after #; "" for nothing.
function askedFor() {
  const { hash, search } = location;
  let fragment = hash.slice(1);
  try {
    fragment = decodeURIComponent(fragment);
  } catch {
    // as it is: Python says what is wrong with it
  }
  return fragment.startsWith("ptxlab:") ? fragment : (new URLSearchParams(search).get("ins") ?? "");
}

/** @param {HTMLElement} place */
function showProgress(place) {
  const line = make("p", "try-progress", place, { role: "status" });
  const bar = make("progress", "", line, { max: 1, value: 0, "aria-label": "how far Python has loaded" });
  const text = make("span", "", line);
  return {
    /** @param {string} what @param {number} done */
    show(what, done) {
      bar.hidden = done >= 1;
      bar.value = done;
      text.textContent = what;
    },
    /** @param {string} what */
    fail(what) {
      line.classList.add("try-failed");
      this.show(what, 1);
    },
  };
}

openPage(async (page, notes, { settings, state }) => {
  const asked = askedFor();
  const progress = showProgress(notes);
  const worker = new Worker(settings.worker, { type: "module" });
  worker.postMessage({
    load: {
      pyodide: new URL(settings.pyodide, location.href).href,
      archive: new URL(settings.archive, location.href).href,
    },
  });
  const model = new LiveModel(await unpack(state), worker);
  const place = make("div", "static-view", page);
  place.hidden = Boolean(asked); // something else is asked for, which Python has to make
  followDeltas(model);
  Object.assign(place, { model });
  new App(model, place);
  const started = performance.now();
  let [what, done] = ["Loading Python", 0];
  const show = () => {
    const edits = model.edits ? `; ${model.edits} of your edits will be made then` : "";
    progress.show(`${what} …${edits}`, done);
  };
  model.whenWaiting = show;
  show();
  worker.addEventListener("message", ({ data }) => {
    if (data.progress) {
      ({ text: what, done } = data.progress);
      show();
    } else if (data.ready) model.open(asked);
    else if (data.messages) {
      if (place.hidden || done < 1) {
        [done, place.hidden] = [1, false];
        const seconds = ((performance.now() - started) / 1000).toFixed(1);
        progress.show(`Python runs in this tab (loaded in ${seconds} s)`, 1);
        Object.assign(page.dataset, { python: "ready" });
      }
      model.take(data.messages);
    } else if (data.failed) progress.fail(`Python could not go on: ${data.failed}`);
  });
  worker.addEventListener("error", ({ message }) =>
    progress.fail(`Python could not be loaded: ${message ?? "its worker did not start"}`),
  );
  addEventListener("hashchange", () => location.reload());
});
