"use strict";
(() => {
  const root = document.documentElement;
  const data = JSON.parse(document.getElementById("figures-data").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const button = document.getElementById("theme");
  const views = new Map();

  const theme = () => root.dataset.theme || (dark.matches ? "dark" : "light");

  // A specification without its legends: the first of its panels has them.
  const bare = (part) => {
    if (Array.isArray(part)) return part.map(bare);
    if (!part || typeof part !== "object") return part;
    return Object.fromEntries(
      Object.entries(part).map(([key, value]) => [key, key === "legend" ? null : bare(value)]));
  };

  const options = () => ({
    mode: "vega-lite", actions: false, renderer: "svg",
    // The Content Security Policy forbids eval and styles that scripts insert.
    ast: true, defaultStyle: false, tooltip: { theme: theme(), disableDefaultStyle: true },
  });

  async function draw(figure) {
    const id = figure.dataset.figure;
    const live = figure.querySelector(".live");
    const still = figure.querySelector(".still");
    live.hidden = false;
    const { data: rows, ...marks } = data.specs[id];
    const whole = {
      data: rows,
      ...marks,
      width: "container",
      // Width of legends; axes take the rest.
      params: [{ name: "room", value: live.clientWidth - 90 }],
      autosize: { type: "fit-x", contains: "padding" },
      config: data.configs[theme()],
    };
    // One below the other, panels are too far from the first one's legend.
    const column = getComputedStyle(figure.parentElement).gridTemplateColumns.split(" ");
    const alone = !data.legendless.includes(id) || column.length === 1;
    const spec = alone ? whole : { ...whole, ...bare(marks) };
    try {
      if (views.has(id)) views.get(id).finalize();
      const drawn = await window.vegaEmbed(live, spec, options());
      views.set(id, drawn);
      // Vega names the container by its own words; the figure's description says what it shows.
      live.setAttribute("role", "img");
      live.setAttribute("aria-label", still.alt);
      live.removeAttribute("aria-roledescription");
      // The container has role and label; hide the SVG, or screen readers read them twice.
      live.querySelector("svg")?.setAttribute("aria-hidden", "true");
      still.style.display = "none";
      offerPng(figure, async () => {
        if (alone) return drawn.view;
        const width = live.clientWidth;
        return (await window.vegaEmbed(document.createElement("div"), { ...whole, width }, options()))
          .view;
      });
    } catch (error) {
      live.hidden = true;
      still.style.display = "";
      throw error;
    }
  }

  function offerPng(figure, whole) {
    const link = figure.querySelector(".png");
    link.hidden = false;
    link.onclick = async (event) => {
      event.preventDefault();
      const ground = getComputedStyle(root).getPropertyValue("--paper").trim();
      const view = await whole();
      const address = await view.background(ground).runAsync().then(() => view.toImageURL("png", 2));
      await view.background("transparent").runAsync();
      const file = document.createElement("a");
      file.href = address;
      file.download = link.download;
      file.click();
    };
  }

  function drawAll() {
    button.textContent = theme() === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Show in ${button.textContent.toLowerCase()} colours`);
    if (!window.vegaEmbed) return Promise.resolve();
    return Promise.all([...document.querySelectorAll("[data-figure]")].map(draw));
  }

  function show() {
    window.assayReady = drawAll().then(() => { root.dataset.drawn = "yes"; });
  }

  // Vega follows the width of the window; the room for legends and labels is set here.
  function fit() {
    const fitted = [...views].map(([id, { view }]) => {
      const live = document.querySelector(`[data-figure="${CSS.escape(id)}"] .live`);
      return view.signal("room", live.clientWidth - 90).runAsync();
    });
    window.assayReady = Promise.all([window.assayReady, ...fitted]);
  }

  function sortBy(table, index) {
    const head = table.tHead.rows[0].cells[index];
    const up = head.getAttribute("aria-sort") !== "ascending";
    for (const cell of table.tHead.rows[0].cells) cell.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = (row) => {
      const cell = row.cells[index];
      const value = cell.dataset.v ?? cell.textContent;
      const number = Number(value);
      return value !== "" && Number.isFinite(number) ? number : value;
    };
    const order = (a, b) => {
      if (typeof a === "number" && typeof b === "number") return a - b;
      if (typeof a === "number") return -1;
      if (typeof b === "number") return 1;
      return a.localeCompare(b, undefined, { numeric: true });
    };
    const rows = [...table.tBodies[0].rows].map((row) => [key(row), row]);
    rows.sort((a, b) => (up ? order(a[0], b[0]) : order(b[0], a[0])));
    table.tBodies[0].append(...rows.map(([, row]) => row));
  }

  // Filters: a list of the values of each column by which tables can be filtered. They apply to
  // all tables of a section that have the column; totals follow the visible rows.
  const nameOf = (head) => head.dataset.name;
  const cellsOf = (table, name) => {
    const index = [...table.tHead.rows[0].cells].findIndex((head) => nameOf(head) === name);
    return [...table.tBodies[0].rows].map((row) => row.cells[index]);
  };

  function total(table, rows, head, index) {
    const cells = rows.map((row) => row.cells[index]).filter((cell) => "v" in cell.dataset);
    if (!head.dataset.total || !cells.length) return "";
    const weight = head.dataset.total === "sum" ? -1
      : [...table.tHead.rows[0].cells].findIndex((each) => nameOf(each) === head.dataset.total);
    const weights = cells.map((cell) => weight < 0 ? 1 : Number(cell.parentNode.cells[weight].dataset.v));
    const sum = cells.reduce((part, cell, at) => part + weights[at] * Number(cell.dataset.v), 0);
    const whole = weight < 0 ? 1 : weights.reduce((part, each) => part + each, 0);
    return whole > 0 ? scaled(sum / whole, cells[0].textContent) : "";
  }

  // A number in the unit of another cell's text: hours, percent, Wh, W or a count.
  function scaled(value, like) {
    const digits = (number) => number.toLocaleString(
      "en", number < 100 ? { maximumSignificantDigits: 3 } : { maximumFractionDigits: 0 });
    if (like.endsWith("%")) return `${digits(100 * value)}%`;
    if (like.endsWith(" h")) return `${digits(value / 3600)} h`;
    if (like.endsWith("Wh")) return `${digits(value / 3.6e6)} kWh`;
    return digits(value);
  }

  function filterTables(form) {
    const chosen = new Map([...form.elements].filter((each) => each.value).map((each) => [each.name, each.value]));
    for (const table of form.parentNode.querySelectorAll("table[data-filters]")) {
      const rows = [...table.tBodies[0].rows];
      const mine = table.dataset.filters.split(" ").filter((name) => chosen.has(name));
      const without = [...chosen.keys()].filter((name) => !mine.includes(name));
      const kept = new Set(rows);
      for (const name of mine) {
        cellsOf(table, name).forEach((cell, at) => {
          if (cell.textContent !== chosen.get(name)) kept.delete(rows[at]);
        });
      }
      for (const row of rows) row.hidden = !kept.has(row);
      const folded = table.closest("details");
      if (folded && mine.length) folded.open = true;
      const shown = rows.filter((row) => kept.has(row));
      const foot = table.tFoot;
      foot.hidden = !table.querySelector("th[data-total]");
      [...table.tHead.rows[0].cells].forEach((head, index) => {
        foot.rows[0].cells[index].textContent = index ? total(table, shown, head, index)
          : `${shown.length} of ${rows.length} rows`
            + (without.length ? ` (not by ${without.map((name) => form.elements[name].dataset.label).join(", ")})` : "");
      });
    }
  }

  for (const form of document.querySelectorAll("form.filters")) {
    const tables = [...form.parentNode.querySelectorAll("table[data-filters]")];
    const names = [...new Set(tables.flatMap((table) => table.dataset.filters.split(" ")))];
    for (const name of names) {
      const having = tables.filter((table) => table.dataset.filters.split(" ").includes(name));
      const values = [...new Set(having.flatMap((table) => cellsOf(table, name).map((cell) => cell.textContent)))];
      if (values.length < 2) continue;
      values.sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
      const label = document.createElement("label");
      const list = document.createElement("select");
      const heads = [...having[0].tHead.rows[0].cells];
      list.name = name;
      list.append(new Option("all", ""), ...values.filter(Boolean).map((value) => new Option(value, value)));
      list.dataset.label = heads.find((head) => nameOf(head) === name).textContent;
      label.append(list.dataset.label, list);
      form.append(label);
    }
    form.hidden = !form.elements.length;
    form.onchange = () => filterTables(form);
    filterTables(form);
  }

  button.hidden = false;
  button.onclick = () => {
    root.dataset.theme = theme() === "dark" ? "light" : "dark";
    show();
  };
  dark.addEventListener("change", show);
  addEventListener("resize", fit);
  // On paper nothing can be opened.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const each of closed) each.open = true;
  });
  addEventListener("afterprint", () => {
    for (const each of closed.splice(0)) each.open = false;
  });
  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((cell, index) => {
      cell.querySelector("button").onclick = () => sortBy(table, index);
    });
  }
  show();
})();
