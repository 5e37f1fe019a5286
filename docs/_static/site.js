// Draws the Plotly figures of the notebooks when they come into view, with the copy of plotly.js beside this file,
// and tells figures whether the page is dark, in the way JupyterLab does.
(() => {
  const folder = document.currentScript.src.replace(/[^/]*$/, "");

  let loading = null;
  function plotly() {
    loading ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = `${folder}plotly.min.js`;
      script.onload = () => resolve(window.Plotly);
      script.onerror = reject;
      document.head.append(script);
    });
    return loading;
  }

  async function draw(place) {
    const { data, layout, config } = JSON.parse(place.querySelector("script").textContent);
    const library = await plotly();
    await library.newPlot(place, data, layout, { displaylogo: false, ...config });
  }

  function start() {
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting) {
          seen.unobserve(entry.target);
          draw(entry.target);
        }
      }
    }, { rootMargin: "600px" });
    document.querySelectorAll(".plotly-figure").forEach((place) => seen.observe(place));

    const follow = () => { document.body.dataset.jpThemeLight = String(document.documentElement.dataset.theme !== "dark"); };
    new MutationObserver(follow).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    follow();
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
