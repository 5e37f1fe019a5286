// Search over INDEX, which the builder writes above; and the lane under the pointer, lit up in its figure. No network.
(() => {
  const form = document.getElementById("search");
  const query = document.getElementById("query");
  const found = document.getElementById("found");
  const count = document.getElementById("count");
  const hits = document.getElementById("hits");
  const MOST = 40;
  const words = (text) => text.toLowerCase().split(/[\s.,:;]+/).filter(Boolean);
  const entries = INDEX.rows.map(([name, about, page, anchor], at) => ({
    name, at, about: INDEX.abouts[about], href: `${INDEX.pages[page]}#${INDEX.anchors[anchor]}`,
    low: `${name} ${INDEX.abouts[about]}`.toLowerCase(), words: words(name),
  }));

  // Every word asked for must occur; whole qualifiers count most, then beginnings, then short names.
  const score = (entry, asked) => {
    let sum = 0;
    for (const word of asked) {
      if (!entry.low.includes(word)) return -1;
      sum += entry.words.includes(word) ? 4 : entry.words.some((own) => own.startsWith(word)) ? 2 : 1;
    }
    return sum;
  };
  const search = () => {
    const asked = words(query.value);
    hits.replaceChildren();
    found.hidden = asked.length === 0;
    if (found.hidden) return;
    const fitting = entries
      .map((entry) => [score(entry, asked), entry])
      .filter(([points]) => points >= 0)
      .sort(([p, a], [q, b]) => q - p || a.name.length - b.name.length || a.at - b.at);
    count.textContent = fitting.length === 0 ? "Nothing has all these words." : `${fitting.length} found${fitting.length > MOST ? `, the first ${MOST}` : ""}`;
    for (const [, entry] of fitting.slice(0, MOST)) {
      const link = document.createElement("a");
      link.href = entry.href;
      const name = document.createElement("code");
      name.textContent = entry.name;
      const about = document.createElement("small");
      about.textContent = entry.about;
      link.append(name, " ", about);
      hits.append(Object.assign(document.createElement("li")));
      hits.lastChild.append(link);
    }
  };
  const close = () => { found.hidden = true; };
  query.addEventListener("input", search);
  query.addEventListener("focus", search);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    hits.querySelector("a")?.click();
  });
  hits.addEventListener("click", close);
  form.addEventListener("keydown", (event) => {
    const links = [query, ...hits.querySelectorAll("a")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && !found.hidden) {
      event.preventDefault();
      links[(links.indexOf(document.activeElement) + step + links.length) % links.length].focus();
    } else if (event.key === "Escape") {
      query.focus();
      close();
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      query.focus();
      query.select();
    }
  });
  document.addEventListener("pointerdown", (event) => { if (!form.contains(event.target)) close(); });

  const light = (svg, lane) => {
    svg.classList.toggle("lit", lane !== undefined);
    for (const group of svg.querySelectorAll("g[data-t]")) group.classList.toggle("here", group.dataset.t === lane);
  };
  for (const svg of document.querySelectorAll("figure svg")) {
    svg.addEventListener("pointerover", (event) => light(svg, event.target.closest("g[data-t]")?.dataset.t));
    svg.addEventListener("pointerleave", () => light(svg, undefined));
  }
})();
