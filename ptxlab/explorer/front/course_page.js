// Beside JupyterLite in each of its pages: once a kernel runs, the service worker keeps the whole course, and
// the page says so.

const poll = 500; // milliseconds

/** @template T @param {() => T} find @returns {Promise<T>} */
async function waitFor(find) {
  const found = find();
  if (found) return found;
  await new Promise((next) => {
    setTimeout(next, poll);
  });
  return waitFor(find);
}

// Only then: nothing competes with what Python loads. A page without a kernel has none to wait for.
/** @param {any} app */
async function waitForKernel(app) {
  await app.restored;
  const context = app.shell.currentWidget?.sessionContext;
  await context?.ready;
  await context?.session?.kernel?.info;
}

// JupyterLite, when a service worker controls it for the first time, unregisters all of this origin, that of try/
// among them, unless its version is noted.
/** @param {ServiceWorker} worker */
function noteVersion({ scriptURL }) {
  const { appVersion } = JSON.parse(document.querySelector("#jupyter-config-data")?.textContent ?? "{}");
  localStorage.setItem(`${scriptURL}-version`, appVersion);
}

/** @param {ServiceWorker} worker @returns {Promise<{ isNew?: boolean, failed?: boolean }>} */
function keepCourse(worker) {
  const { port1, port2 } = new MessageChannel();
  return new Promise((done) => {
    port1.addEventListener("message", ({ data }) => done(data));
    port1.start();
    worker.postMessage("keep", [port2]);
  });
}

async function start() {
  const { serviceWorker, connection } = /** @type {any} */ (navigator);
  if (!serviceWorker || connection?.saveData) return;
  const app = await waitFor(() => /** @type {any} */ (globalThis).jupyterapp);
  await waitForKernel(app);
  const worker = await waitFor(() => serviceWorker.controller);
  noteVersion(worker);
  const { isNew, failed } = await keepCourse(worker);
  if (failed) return;
  document.documentElement.dataset.offline = "ready";
  const message = "This course now works offline.";
  if (isNew) app.commands.execute("apputils:notify", { message, type: "info", options: { autoClose: 8000 } });
}

start();
