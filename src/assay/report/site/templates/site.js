"use strict";
// The search of a site. Its data are scripts, because pages of files can't read other files.
(() => {
  const root = document.body.dataset.root;
  const box = document.querySelector(".search");
  const input = document.getElementById("search");
  const list = document.getElementById("found");
  const said = document.getElementById("said");
  const MOST = 20;
  const entries = [];
  let loaded = null;
  let at = -1;

  function script(name) {
    return new Promise((done) => {
      const element = document.createElement("script");
      element.src = root + name;
      element.onload = done;
      element.onerror = done;
      document.head.append(element);
    });
  }

  // A date may be written as 2026-03-15 or as in names of runs.
  const plain = (text) => text.toLowerCase().replace(/(\d{4})-(\d{2})(?:-(\d{2}))?/g, "$1$2$3");

  // Called by the files of the search: the machine's folder and name, its cells, its runs.
  window.assaySearch = (part) => {
    const place = `machines/${part.folder}/`;
    const add = (kind, text, page, more) =>
      entries.push({ kind, text, more, page: place + page, words: plain(`${text} ${more}`) });
    if (part.first) {
      add("Machine", part.name, "index.html", "");
      for (const cell of part.cells) add("Cell", cell, "index.html#cells", part.name);
    }
    for (const [page, runs] of part.pages) {
      for (const [name, suite, state] of runs) add("Run", name, page, `${part.name} ${suite} ${state}`);
    }
  };

  function load() {
    loaded ||= script("search/index.js").then(
      () => Promise.all((window.assaySearchFiles || []).map((name) => script(`search/${name}`))));
    return loaded;
  }

  function select(next) {
    const items = [...list.children];
    at = items.length ? (next + items.length) % items.length : -1;
    items.forEach((item, place) => item.setAttribute("aria-selected", String(place === at)));
    if (at < 0) input.removeAttribute("aria-activedescendant");
    else {
      input.setAttribute("aria-activedescendant", items[at].id);
      items[at].scrollIntoView({ block: "nearest" });
    }
  }

  function close() {
    list.hidden = true;
    list.replaceChildren();
    at = -1;
    said.textContent = "";
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function show() {
    const words = plain(input.value).split(/\s+/).filter(Boolean);
    if (!words.length) return close();
    const found = entries.filter((entry) => words.every((word) => entry.words.includes(word)));
    // The newest runs first, after machines and cells.
    const order = ["Machine", "Cell", "Run"];
    found.sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind)
      || (a.kind === "Run" ? (a.text < b.text ? 1 : -1) : 0));
    list.replaceChildren(...found.slice(0, MOST).map((entry, place) => {
      const item = document.createElement("li");
      item.id = `found-${place}`;
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", "false");
      const link = document.createElement("a");
      link.href = root + entry.page;
      link.tabIndex = -1;
      link.textContent = entry.text;
      const more = document.createElement("span");
      more.textContent = [entry.kind, entry.more].filter(Boolean).join(" · ");
      link.append(more);
      item.append(link);
      return item;
    }));
    at = -1;
    list.hidden = !found.length;
    input.setAttribute("aria-expanded", String(found.length > 0));
    said.textContent = !found.length ? "Nothing found."
      : found.length > MOST ? `${found.length} found; the first ${MOST} are shown.`
        : `${found.length} found.`;
  }

  function search() {
    if (!entries.length) said.textContent = "Loading …";
    window.assayReady = load().then(show);
  }

  input.addEventListener("focus", load, { once: true });
  input.addEventListener("input", search);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") select(at + 1);
    else if (event.key === "ArrowUp") select(at < 0 ? -1 : at - 1);
    else if (event.key === "Enter") {
      const chosen = list.children[Math.max(at, 0)];
      if (chosen) chosen.querySelector("a").click();
    } else if (event.key === "Escape") {
      input.value = "";
      close();
    } else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName || "");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      input.focus();
    }
  });
  document.addEventListener("click", (event) => { if (!box.contains(event.target)) close(); });
  box.hidden = false;
})();
