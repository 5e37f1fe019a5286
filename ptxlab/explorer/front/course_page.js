// Beside JupyterLite in each of its pages: it says what a kernel loads and how long that takes; once the kernel runs, the
// service worker keeps the whole course, and the page says so.

const poll = 500; // milliseconds
const second = 1000;
const readable = 8 * second; // how long a message stays that needs no answer

const secondsSoFar = () => Math.round(performance.now() / second);

// A line at the lower left, where neither outputs nor registers are.
class LoadingLine {
  constructor() {
    this.closing = 0;
    this.node = document.createElement("div");
    this.node.id = "ptxlab-course";
    this.node.setAttribute("role", "status");
    Object.assign(this.node.style, {
      position: "fixed",
      zIndex: "1000",
      left: "12px",
      bottom: "12px",
      maxWidth: "calc(100vw - 24px)",
      boxSizing: "border-box",
      padding: "6px 12px",
      borderRadius: "4px",
      border: "1px solid var(--jp-border-color1, gray)",
      background: "var(--jp-layout-color1, white)",
      color: "var(--jp-ui-font-color1, black)",
      font: "13px/1.4 var(--jp-ui-font-family, sans-serif)",
    });
    this.node.addEventListener("click", () => this.node.remove());
  }

  /** @param {string} text */
  show(text) {
    clearTimeout(this.closing);
    this.node.textContent = text;
    document.body.append(this.node);
  }

  // The seconds are not read out: only the first sentence is.
  /** @param {string} megabytes */
  count(megabytes) {
    const spent = document.createElement("span");
    spent.setAttribute("aria-hidden", "true");
    spent.textContent = ` ${secondsSoFar()} s so far.`;
    this.node.replaceChildren(
      `Python is loading into this tab: ${megabytes}, once; cells run when it is there, mostly within 30 s.`,
      spent,
    );
    document.body.append(this.node);
  }

  close() {
    this.closing = setTimeout(() => this.node.remove(), readable);
  }
}

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
  const script = /** @type {HTMLElement | null} */ (document.querySelector("script[data-loads]"));
  const app = await waitFor(() => /** @type {any} */ (globalThis).jupyterapp);
  const line = new LoadingLine();
  await app.restored;
  const hasKernel = Boolean(app.shell.currentWidget?.sessionContext);
  const megabytes = script?.dataset.loads ?? "30 MB";
  const counting = hasKernel ? setInterval(() => line.count(megabytes), second) : 0;
  await waitForKernel(app);
  clearInterval(counting);
  if (hasKernel) line.show(`Python runs in this tab, after ${secondsSoFar()} s.`);
  line.close();
  const { serviceWorker, connection } = /** @type {any} */ (navigator);
  if (!serviceWorker || connection?.saveData) return;
  const worker = await waitFor(() => serviceWorker.controller);
  noteVersion(worker);
  const { isNew, failed } = await keepCourse(worker);
  if (failed) return;
  document.documentElement.dataset.offline = "ready";
  if (!isNew) return;
  line.show("This course now works offline.");
  line.close();
}

start();
