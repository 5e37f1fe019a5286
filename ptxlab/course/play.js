// A button that goes through the values of a slider, one after the other; again from the start at the end.

/**
 * @typedef {{ get(name: "index" | "last" | "pace"): number, set(name: "index", value: number): void,
 *   save_changes(): void }} PlayModel
 */

/** @param {{ model: PlayModel, el: HTMLElement }} widget */
function render({ model, el }) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "ptx-play-values";
  let timer = 0; // 0 while it pauses
  const show = () => {
    button.textContent = timer ? "❚❚" : "▶";
    button.title = timer ? "Pause" : "Play";
    button.setAttribute("aria-label", button.title);
  };
  const pause = () => {
    window.clearInterval(timer);
    timer = 0;
    show();
  };
  const step = () => {
    const at = model.get("index");
    if (at >= model.get("last")) {
      pause();
      return;
    }
    model.set("index", at + 1);
    model.save_changes();
    if (at + 1 >= model.get("last")) pause();
  };
  button.addEventListener("click", () => {
    if (timer) {
      pause();
      return;
    }
    if (model.get("index") >= model.get("last")) model.set("index", -1);
    timer = window.setInterval(step, model.get("pace"));
    show();
    step();
  });
  show();
  el.append(button);
  return pause;
}

export default { render };
