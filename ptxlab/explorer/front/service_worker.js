// Caches what the pages of try/ or lite/ load, so that they open offline after the first visit. Pages come from the
// network if there is one, everything else from the cache once it is complete.

/** @typedef {{ version: string, files: string[], pyodide: string, core: string[], packages: string[],
 *    compiler: string, whenAsked: boolean }} KeptFiles */

const worker = /** @type {any} */ (globalThis);
const keptFiles = /** @type {KeptFiles} */ (worker.settings); // tools.web writes them before this module
const { scope } = worker.registration; // caches belong to all pages of the origin
const cacheName = `${scope}#${keptFiles.version}`;
const compilers = "ptxlab compiler "; // before the folder of one: its cache is for pages of try/ and of lite/
const complete = `${scope}complete`; // no file: a mark that is kept last
const atOnce = 8; // requests, beside those of a page that works

// Adds the missing files; if the tab is closed too early, the next visit continues.
/** @param {Cache} cache @param {string[]} files @param {string} base */
async function add(cache, files, base) {
  const kept = new Set((await cache.keys()).map(({ url }) => url));
  const missing = files.map((name) => new URL(name, base).href).filter((url) => !kept.has(url));
  for (let at = 0; at < missing.length; at += atOnce) await cache.addAll(missing.slice(at, at + atOnce));
}

// Whether it was not complete before.
async function keepAll() {
  const cache = await caches.open(cacheName);
  const { files, pyodide, core, packages } = keptFiles;
  const base = new URL(pyodide, worker.location.href).href;
  const isNew = !(await cache.match(complete));
  await add(cache, files, scope);
  await add(cache, core, base);
  const lock = await (await cache.match(`${base}pyodide-lock.json`))?.json();
  const wheels = packages.map((name) => lock.packages[name].file_name); // have their names in Pyodide's list
  await add(cache, wheels, base);
  await cache.put(complete, new Response());
  await worker.skipWaiting();
  return isNew;
}

async function dropOld() {
  const isOld = (/** @type {string} */ name) =>
    (name.startsWith(`${scope}#`) && name !== cacheName) ||
    (keptFiles.compiler !== "" && name.startsWith(compilers) && name !== compilers + compilerFolder());
  const old = (await caches.keys()).filter(isOld);
  await Promise.all(old.map((name) => caches.delete(name)));
  await worker.clients.claim();
}

const compilerFolder = () => new URL(keptFiles.compiler, worker.location.href).href;

// The compiler of C++, of which a page asks for all parts when it needs the first.
/** @param {Request} request */
async function answerCompiler(request) {
  const cache = await caches.open(compilers + compilerFolder());
  const found = await cache.match(request);
  if (found) return found;
  const response = await fetch(request);
  if (response.ok) await cache.put(request, response.clone()).catch(() => {});
  return response;
}

// The query is for the page's script: all queries load the same file.
/** @param {Request} request */
async function answerFrom(request) {
  const cache = await caches.open(cacheName);
  const isPage = request.mode === "navigate";
  const found = await cache.match(request, { ignoreSearch: true });
  const isComplete = Boolean(await cache.match(complete));
  if (found && isComplete && !isPage) return found;
  try {
    const response = await fetch(request);
    const isKept = isComplete && !isPage && response.ok && response.type !== "opaque";
    // what cannot be kept, on a full disk or of a part of a file, is an answer all the same
    if (isKept) await cache.put(request, response.clone()).catch(() => {});
    return response;
  } catch (error) {
    if (found) return found;
    throw error;
  }
}

// JupyterLite needs its service worker for a kernel's files, long before all is kept: it asks later.
worker.addEventListener("install", (/** @type {any} */ event) => {
  if (!keptFiles.whenAsked || worker.registration.active) event.waitUntil(keepAll());
});
worker.addEventListener("activate", (/** @type {any} */ event) => event.waitUntil(dropOld()));
worker.addEventListener("message", (/** @type {any} */ event) => {
  const [port] = event.ports;
  const answer = keepAll().then(
    (isNew) => port.postMessage({ isNew }),
    () => port.postMessage({ failed: true }),
  );
  event.waitUntil(answer);
});
worker.addEventListener("fetch", (/** @type {any} */ event) => {
  const { method, url } = event.request;
  const pyodide = new URL(keptFiles.pyodide, worker.location.href).href;
  const isCompiler = keptFiles.compiler !== "" && url.startsWith(compilerFolder());
  if (method !== "GET" || !(isCompiler || url.startsWith(scope) || url.startsWith(pyodide))) return;
  event.stopImmediatePropagation(); // JupyterLite's own, which stands below in lite/, answers the rest
  event.respondWith(isCompiler ? answerCompiler(event.request) : answerFrom(event.request));
});
