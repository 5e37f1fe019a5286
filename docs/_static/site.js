// Draws the Plotly figures of the notebooks when they come into view, with the copy of plotly.js beside this file,
// and tells figures whether the page is dark, in the way JupyterLab does.
(() => {
  const script = /** @type {HTMLScriptElement} */ (document.currentScript);
  const folder = script.src.replace(/[^/]*$/, "");

  /** @type {Promise<any> | null} */
  let loading = null;
  function loadPlotly() {
    loading ??= new Promise((resolve, reject) => {
      const library = document.createElement("script");
      library.src = `${folder}plotly.min.js`;
      library.onload = () => resolve(Reflect.get(window, "Plotly"));
      library.onerror = reject;
      document.head.append(library);
    });
    return loading;
  }

  /** @param {Element} place */
  async function draw(place) {
    const { data, layout, config } = JSON.parse(place.querySelector("script")?.textContent ?? "{}");
    const plotly = await loadPlotly();
    await plotly.newPlot(place, data, layout, { displaylogo: false, ...config });
  }

  function drawFiguresInView() {
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) {
          if (!isIntersecting) continue;
          observer.unobserve(target);
          draw(target);
        }
      },
      { rootMargin: "600px" },
    );
    document.querySelectorAll(".plotly-figure").forEach((place) => observer.observe(place));
  }

  function followTheme() {
    const { body, documentElement } = document;
    body.dataset.jpThemeLight = String(documentElement.dataset.theme !== "dark");
  }

  function start() {
    drawFiguresInView();
    new MutationObserver(followTheme).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    followTheme();
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
