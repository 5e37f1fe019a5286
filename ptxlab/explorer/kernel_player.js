// A simulated kernel with a slider through time. Python sends what a step shows; the page asks for steps.

const ROW_WORDS = 32;
const CELL = { width: 15, height: 11 };

/** @param {string} tag @param {string} name @param {string} [text] */
function make(tag, name, text = "") {
  const element = document.createElement(tag);
  element.className = name;
  element.textContent = text;
  return element;
}

/** @param {any} model @param {string} name */
function bytes(model, name) {
  const view = model.get(name);
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

/** @param {{model: any, el: HTMLElement}} context */
function render({ model, el }) {
  const root = make("div", "ptx-player");
  const bar = make("div", "bar-of-time");
  const back = make("button", "turn", "◀");
  const forward = make("button", "turn", "▶");
  const next = make("button", "turn", "next line");
  back.title = "one step back (left arrow)";
  forward.title = "one step on (right arrow)";
  next.title = "to the next source line";
  const slider = /** @type {HTMLInputElement} */ (document.createElement("input"));
  slider.type = "range";
  slider.min = "0";
  slider.setAttribute("aria-label", "step");
  const place = make("span", "place");
  bar.append(make("b", "", model.get("title")), back, slider, forward, next, place);
  const instruction = make("div", "instruction");
  const notes = make("div", "notes");
  const registers = make("div", "registers");
  const memory = make("div", "memory");
  const canvas = document.createElement("canvas");
  const head = make("div", "memory-head");
  const box = make("div", "memory-box");
  box.append(canvas);
  memory.append(head, box);
  for (const [region, name] of /** @type {[HTMLElement, string][]} */ ([
    [registers, "registers"],
    [box, "shared memory"],
  ])) {
    region.tabIndex = 0;
    region.setAttribute("role", "group");
    region.setAttribute("aria-label", name);
  }
  const profile = make("div", "profile");
  profile.innerHTML = model.get("page");
  const panel = make("section", "panel");
  panel.append(bar, instruction, notes, registers, memory);
  root.append(profile, panel);
  profile.querySelector(".ptx-profile footer")?.before(panel);
  el.append(root);

  /** @param {number} number */
  function go(number) {
    const step = Math.min(Math.max(number, 0), model.get("count") - 1);
    slider.value = String(step);
    model.set("step", step);
    model.save_changes();
  }

  function showLine() {
    const shown = model.get("shown");
    for (const row of profile.querySelectorAll(".row.now")) row.classList.remove("now");
    const row = /** @type {HTMLElement | null} */ (profile.querySelector(`.row[data-line="${shown.line}"]`));
    if (row === null) return;
    row.classList.add("now");
    const code = /** @type {HTMLElement} */ (row.closest(".code"));
    const top = row.offsetTop - code.offsetTop;
    if (top < code.scrollTop + 30 || top > code.scrollTop + code.clientHeight - 40) {
      code.scrollTop = top - code.clientHeight / 2;
    }
  }

  function showRegisters() {
    const shown = model.get("shown");
    const table = make("div", "lanes");
    const names = make("div", "lane-row lane-head");
    names.append(make("i", "", "lane"));
    for (let lane = 0; lane < 32; lane++) {
      const cell = make("i", "lane-name", String(lane));
      cell.style.background = `var(--lane${lane})`;
      names.append(cell);
    }
    table.append(names);
    for (const register of shown.registers) {
      const row = make("div", `lane-row ${register.role}`);
      const name = make("i", "register", `${register.role === "written" ? "→ " : ""}${register.name}`);
      name.title = register.role;
      row.append(name);
      register.values.forEach((/** @type {string} */ value, /** @type {number} */ lane) => {
        const cell = make("i", "value", value);
        if (((shown.lanes >>> lane) & 1) === 0) cell.classList.add("absent");
        row.append(cell);
      });
      table.append(row);
    }
    registers.replaceChildren(table);
    if (shown.hidden > 0) registers.append(make("div", "notes", `${shown.hidden} more registers`));
  }

  function showMemory() {
    const states = bytes(model, "states");
    memory.hidden = states.length === 0;
    if (memory.hidden) return;
    let last = states.length - 1;
    while (last > 0 && states[last] === 0) last--;
    const rows = Math.max(
      4,
      Math.min(Math.ceil(states.length / ROW_WORDS), Math.ceil((last + 1) / ROW_WORDS)),
    );
    const style = getComputedStyle(panel);
    const colour = (/** @type {string} */ name) => style.getPropertyValue(name);
    const fills = ["--rule", "--heat", "--changed", "--read", "--hazard-edge"].map(colour);
    const scale = window.devicePixelRatio || 1;
    canvas.width = ROW_WORDS * CELL.width * scale;
    canvas.height = rows * CELL.height * scale;
    canvas.style.width = `${ROW_WORDS * CELL.width}px`;
    canvas.style.height = `${rows * CELL.height}px`;
    const context = canvas.getContext("2d");
    if (context === null) return;
    context.scale(scale, scale);
    for (let word = 0; word < rows * ROW_WORDS && word < states.length; word++) {
      const x = (word % ROW_WORDS) * CELL.width;
      const y = Math.floor(word / ROW_WORDS) * CELL.height;
      context.fillStyle = fills[states[word]];
      if (states[word] === 0) context.fillRect(x + 5, y + 4, CELL.width - 10, CELL.height - 8);
      else context.fillRect(x, y, CELL.width - 1, CELL.height - 1);
    }
    head.replaceChildren(
      make("b", "", "shared memory"),
      make("span", "", "32 banks across, a row is 128 bytes"),
    );
    [
      ["--heat", "written before"],
      ["--changed", "changed before the next step"],
      ["--read", "read by this warp now"],
      ["--hazard-edge", "written by this warp now"],
    ].forEach(([name, text]) => {
      const key = make("span", "key", text);
      const mark = make("i", "mark");
      mark.style.background = `var(${name})`;
      key.prepend(mark);
      head.append(key);
    });
    head.append(make("span", "under", ""));
  }

  canvas.addEventListener("pointermove", (event) => {
    const word = Math.floor(event.offsetY / CELL.height) * ROW_WORDS + Math.floor(event.offsetX / CELL.width);
    const content = bytes(model, "words");
    const under = head.querySelector(".under");
    if (under === null || 4 * word + 4 > content.length) return;
    const view = new DataView(content.buffer, content.byteOffset + 4 * word, 4);
    const value = view.getUint32(0, true).toString(16).padStart(8, "0");
    under.textContent = `byte ${4 * word}, bank ${word % 32}: 0x${value}, as f32 ${view.getFloat32(0, true).toPrecision(5)}`;
  });

  function show() {
    const shown = model.get("shown");
    slider.max = String(model.get("count") - 1);
    slider.value = String(shown.number);
    const line = shown.line === 0 ? "" : `line ${shown.line}, `;
    place.textContent = `step ${shown.number + 1} of ${model.get("count")}`;
    instruction.replaceChildren(
      make("span", "where", `${line}PTX ${shown.ptxLine}`),
      make("code", "", shown.text),
    );
    notes.replaceChildren(...shown.notes.map((/** @type {string} */ note) => make("div", "", note)));
    showLine();
    showRegisters();
    showMemory();
  }

  slider.addEventListener("input", () => go(Number(slider.value)));
  back.addEventListener("click", () => go(model.get("step") - 1));
  forward.addEventListener("click", () => go(model.get("step") + 1));
  next.addEventListener("click", () => {
    const lines = model.get("lines");
    let step = model.get("step");
    const line = lines[step];
    while (step < lines.length - 1 && (lines[step] === line || lines[step] === 0)) step++;
    go(step);
  });
  model.on("change:shown", show);
  show();
  requestAnimationFrame(show); // colours and places are known once the page has it
  const theme = new MutationObserver(showMemory);
  theme.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] });
  return () => theme.disconnect();
}

export default { render };
