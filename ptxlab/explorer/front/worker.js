// Python in a worker: loads Pyodide and ptxlab, opens what the page requests, and answers its messages.

/** @param {string} text @param {number} done parts of a whole */
const report = (text, done) => postMessage({ progress: { text, done } });

/** @param {number} done bytes @param {number} total */
const reportCompiler = (done, total) => postMessage({ compiler: { done, total } });

/** @param {string} address */
async function fetchArchive(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address}: ${response.status}`);
  return response.arrayBuffer();
}

/** @param {WorkerSettings} settings */
async function loadPython({ pyodide, archive, kernels, clang }) {
  report("Loading Python and NumPy", 0.1);
  const archives = Promise.all([archive, kernels ?? []].flat().map(fetchArchive));
  archives.catch(() => {}); // whoever awaits them says so
  const { loadPyodide } = await import(`${pyodide}pyodide.mjs`);
  const env = clang ? { PTXLAB_CLANG: JSON.stringify(clang) } : {};
  // named here, NumPy is fetched while Pyodide starts
  const packages = ["numpy", "ml-dtypes"];
  const python = await loadPyodide({ indexURL: pyodide, packages, env: { HOME: "/home/pyodide", ...env } });
  report("Loading ptxlab", 0.75);
  for (const code of await archives) python.unpackArchive(code, "zip");
  report("Starting ptxlab", 0.85);
  const [module, name] = kernels ? ["cli.kernel_page", "KernelTab"] : ["explorer.worker", "Tab"];
  const Tab = python.runPython(`from ptxlab.${module} import ${name}\n${name}`);
  const tab = kernels ? Tab(reportCompiler) : Tab();
  return { python, tab };
}

const loaded = /** @type {{ python: Promise<any> | null }} */ ({ python: null });

/** @param {any} answer a list of Python's: texts with their bytes */
function sendToPage(answer) {
  const messages = answer.toJs();
  answer.destroy();
  postMessage({ messages });
}

addEventListener("message", async ({ data }) => {
  try {
    if (data.load) {
      loaded.python = loadPython(data.load);
      await loaded.python;
      postMessage({ ready: true });
      return;
    }
    const { python, tab } = await loaded.python;
    if ("ask" in data) {
      const { answer_json: answer } = python.pyimport("ptxlab.cli.ask");
      postMessage({ answer: JSON.parse(answer(data.ask)) });
    } else if ("kernel" in data) sendToPage(tab[data.kernel](data.value));
    else sendToPage("open" in data ? tab.open(data.open, data.waiting) : tab.handle(data.message));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    postMessage({ failed: reason.trim().split("\n").pop() });
  }
});
