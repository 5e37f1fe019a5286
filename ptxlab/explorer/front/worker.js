// Python in a worker: it loads Pyodide and ptxlab, opens what the page asks for, and answers its messages.

/** @param {string} text @param {number} done parts of a whole */
const report = (text, done) => postMessage({ progress: { text, done } });

/** @param {WorkerSettings} settings */
async function loadPython({ pyodide, archive }) {
  report("Loading Python", 0.1);
  const code = fetch(archive).then((response) => {
    if (!response.ok) throw new Error(`${archive}: ${response.status}`);
    return response.arrayBuffer();
  });
  const { loadPyodide } = await import(`${pyodide}pyodide.mjs`);
  const python = await loadPyodide({ indexURL: pyodide });
  report("Loading NumPy", 0.5);
  await python.loadPackage(["numpy", "ml-dtypes"], { messageCallback() {} });
  report("Loading ptxlab", 0.75);
  python.unpackArchive(await code, "zip");
  report("Starting ptxlab", 0.85);
  return python.runPython("from ptxlab.explorer.worker import Tab\nTab()");
}

const tab = /** @type {{ python: Promise<any> | null }} */ ({ python: null });

/** @param {any} answer a list of Python's: texts with their bytes */
function sendToPage(answer) {
  const messages = answer.toJs();
  answer.destroy();
  postMessage({ messages });
}

addEventListener("message", async ({ data }) => {
  try {
    if (data.load) {
      tab.python = loadPython(data.load);
      await tab.python;
      postMessage({ ready: true });
      return;
    }
    const python = await tab.python;
    sendToPage("open" in data ? python.open(data.open, data.waiting) : python.handle(data.message));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    postMessage({ failed: reason.trim().split("\n").pop() });
  }
});
