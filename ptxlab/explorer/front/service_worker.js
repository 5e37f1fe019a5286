// Keeps what the pages of try/ load, so that they open without a network after the first visit. Files have names
// by their content, and Pyodide's address has its version: what is kept is never stale. Pages come from the
// network where there is one.

/** @typedef {{ version: string, files: string[], pyodide: string, core: string[], packages: string[] }} KeptFiles */

const worker = /** @type {any} */ (globalThis);
const keptFiles = /** @type {KeptFiles} */ (worker.settings); // tools.web writes them before this module
const { scope } = worker.registration; // caches belong to all pages of the origin: lite/ has its own
const cacheName = `${scope}#${keptFiles.version}`;

// Packages of Pyodide have their names in its list.
/** @param {Cache} cache */
async function addPyodide(cache) {
  const { pyodide, core, packages } = keptFiles;
  const base = new URL(pyodide, worker.location.href).href;
  await cache.addAll(core.map((name) => base + name));
  const lock = await (await cache.match(`${base}pyodide-lock.json`))?.json();
  await cache.addAll(packages.map((name) => base + lock.packages[name].file_name));
}

async function keepAll() {
  const cache = await caches.open(cacheName);
  await cache.addAll(keptFiles.files);
  await addPyodide(cache);
  await worker.skipWaiting();
}

async function dropOld() {
  const old = (await caches.keys()).filter((name) => name.startsWith(`${scope}#`) && name !== cacheName);
  await Promise.all(old.map((name) => caches.delete(name)));
  await worker.clients.claim();
}

/** @param {Request} request */
async function answerFrom(request) {
  const cache = await caches.open(cacheName);
  const isPage = request.mode === "navigate";
  const found = await cache.match(request, { ignoreSearch: isPage });
  if (found && !isPage) return found;
  try {
    const response = await fetch(request);
    if (response.ok && response.type !== "opaque") await cache.put(request, response.clone());
    return response;
  } catch (error) {
    if (found) return found;
    throw error;
  }
}

worker.addEventListener("install", (/** @type {any} */ event) => event.waitUntil(keepAll()));
worker.addEventListener("activate", (/** @type {any} */ event) => event.waitUntil(dropOld()));
worker.addEventListener("fetch", (/** @type {any} */ event) => {
  const { method, url } = event.request;
  const pyodide = new URL(keptFiles.pyodide, worker.location.href).href;
  if (method === "GET" && (url.startsWith(scope) || url.startsWith(pyodide)))
    event.respondWith(answerFrom(event.request));
});
