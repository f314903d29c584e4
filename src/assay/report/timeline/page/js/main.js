// The timeline: joins data, view, drawing and controls.

class App {
  constructor(data) {
    this.data = data;
    const rows = new Map(data.head.ranks.map((rank, row) => [rank.rank, row]));
    for (const wait of data.head.waits) wait.row = rows.get(wait.rank) ?? 0;
    this.canvas = document.getElementById("timeline");
    this.overview = document.getElementById("overview");
    this.tip = document.getElementById("tip");
    this.view = new View(data);
    this.raster = new Raster(data);
    this.overlay = new Overlay(data);
    this.strip = new Overview(data, this.overview);
    this.shown = { arrows: true, path: data.head.pathPieces > 0, filter: null, selected: -1, wait: -1, rank: -1, chosen: null, computing: null };
    this.pending = false;
    this.controls = new Controls(this);
    this.bind();
    this.restyle();
    new ResizeObserver(() => this.layout()).observe(document.querySelector(".stage"));
    this.layout();
  }

  bind() {
    const { head } = this.data;
    document.getElementById("extent").textContent =
      `${countText(head.ranks.length)} ranks, ${timeText(head.end, 4)}, ${countText(head.calls)} calls` +
      (head.clockError > 0 ? `, clocks agree within ${timeText(head.clockError * 1e9)}` : "");
    document.getElementById("contained").textContent = containedText(this.data);
    document.getElementById("path-label").hidden = !head.pathPieces;
    for (const name of ["arrows", "path"]) {
      document.getElementById(name).addEventListener("change", (event) => {
        this.shown[name] = event.target.checked;
        this.redraw();
      });
    }
    const actions = { in: () => this.view.zoom(0.5), out: () => this.view.zoom(2), home: () => this.view.all(),
      window: () => this.nextWindow(1), before: () => this.nextMatch(true) };
    for (const button of document.querySelectorAll("[data-do]")) {
      button.addEventListener("click", () => { actions[button.dataset.do](); this.redraw(); });
    }
    const query = document.getElementById("query");
    query.addEventListener("input", () => this.search(query.value));
    document.getElementById("search").addEventListener("submit", (event) => {
      event.preventDefault();
      this.nextMatch(false);
      this.redraw();
    });
    document.getElementById("theme").addEventListener("click", () => {
      root.dataset.theme = themeName() === "dark" ? "light" : "dark";
      this.restyle();
    });
    darkQuery.addEventListener("change", () => this.restyle());
    fillWaits(head, (i) => { this.showWait(i); this.redraw(); });
    fillTables(head);
  }

  restyle() {
    this.colours = palette(this.data.head);
    const other = themeName() === "dark" ? "Light" : "Dark";
    const button = document.getElementById("theme");
    button.textContent = other;
    button.setAttribute("aria-label", `Show in ${other.toLowerCase()} colours`);
    drawLegend(this.data.head, this.colours);
    if (this.ratio) this.layout();
  }

  layout() {
    const width = document.querySelector(".stage").clientWidth;
    const room = Math.max(Math.min(window.innerHeight * 0.72, window.innerHeight - 250), 240);
    const wanted = AXIS + this.data.ranks * Math.min(44, Math.max(room / this.data.ranks, 0));
    const height = Math.round(Math.max(Math.min(room, wanted), 140));
    this.ratio = window.devicePixelRatio || 1;
    this.canvas.style.height = `${height}px`;
    this.canvas.width = Math.round(width * this.ratio);
    this.canvas.height = Math.round(height * this.ratio);
    document.querySelector(".columns").style.setProperty("--stage", `${Math.max(height + 80, 420)}px`);
    this.view.resize(width, height);
    this.strip.prepare(width, this.ratio, this.view.left, this.colours, this.shown.filter);
    this.draw();
  }

  redraw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.draw();
    });
  }

  draw() {
    const context = this.canvas.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.view.width, this.view.height);
    this.detail = this.raster.draw(this.view, this.colours, this.shown.filter, context);
    const arrows = this.overlay.draw(context, this.view, this.colours, this.detail, this.shown);
    this.strip.draw(this.view, this.colours);
    this.report(arrows);
  }

  /** What the picture shows, and what it leaves out. */
  report(arrows) {
    const { view, detail, data, shown } = this;
    const parts = [`${timeText(Math.max(view.t0, 0), 5)} to ${timeText(Math.min(view.t1, data.end), 5)}`];
    if (detail.spans.length) parts.push(`${countText(detail.calls)} calls in view`);
    else if (detail.covered.length) parts.push("shares of the states per pixel, summed over all calls");
    else parts.push(`shares of the states per ${timeText(data.previews.perBin)}: the file has no single calls of this interval (d: next window with single calls)`);
    if (shown.arrows && arrows.inView) {
      parts.push(arrows.drawn < arrows.inView ? `the ${countText(arrows.drawn)} longest of ${countText(arrows.inView)} messages` : `${countText(arrows.drawn)} messages`);
    }
    if (shown.path && !arrows.path) parts.push("the critical path is shown when zoomed in");
    const text = parts.join(" · ");
    const target = document.getElementById("view");
    if (target.textContent !== text) target.textContent = text;
  }

  search(text) {
    this.shown.filter = text.trim() ? new Filter(this.data, text) : null;
    const { filter } = this.shown;
    document.getElementById("matches").textContent = !filter ? "" : filter.empty ? "no match"
      : filter.byRank && filter.places.length === this.data.head.places.length ? "rank marked"
        : `${countText(filter.calls)} calls, ${timeText(filter.time * 1e9)}`;
    if (filter && filter.empty) this.shown.filter = null;
    this.strip.prepare(this.view.width, this.ratio, this.view.left, this.colours, this.shown.filter);
    this.redraw();
  }

  nextMatch(back) {
    const { filter, selected } = this.shown;
    if (!filter) return;
    const from = this.match ?? (selected >= 0 ? [this.data.spanOf(selected)[1], this.data.begin[selected]] : [-1, this.view.t0]);
    const found = filter.next(from[1], from[0], back) ?? filter.next(back ? Infinity : -1, -1, back);
    if (!found) return;
    const [row, begin, end, call] = found;
    this.match = [row, begin];
    this.view.goTo(begin, Math.max(end - begin, 1000), row, 12);
    this.mark(call >= 0 ? call : this.data.callAt(row, (begin + end) / 2));
    this.shown.rank = row;
  }

  chooseRank(step) {
    const next = this.shown.rank < 0 ? (step > 0 ? 0 : this.data.ranks - 1) : this.shown.rank + step;
    this.shown.rank = Math.min(Math.max(next, 0), this.data.ranks - 1);
    this.view.reveal(this.shown.rank);
    this.shown.computing = null;
    this.showSelection(-1);
  }

  /** The call before or after the selected one, or the first in view, of the chosen rank. */
  step(by) {
    const { data, view, shown } = this;
    let call = shown.selected >= 0 ? shown.selected + by : -1;
    if (call < 0 || call >= data.begin.length || (shown.selected < 0)) {
      const rank = Math.max(shown.rank, 0);
      const span = data.spans.findIndex(([, end]) => end > view.t0);
      if (span < 0) return;
      [call] = data.range(span, rank, view.t0, Infinity);
      if (call >= data.offset[span * data.ranks + rank + 1]) return;
    } else if (data.spanOf(call)[1] !== data.spanOf(shown.selected)[1]) {
      return; // the rank has no other call in this window
    }
    this.mark(call);
    const [begin, end] = [data.begin[call], data.callEnd(call)];
    if (begin < view.t0 || end > view.t1) view.show(begin - view.span * 0.3, begin + view.span * 0.7);
    shown.rank = data.spanOf(call)[1];
    view.reveal(shown.rank);
  }

  select(x, y) {
    const { view, data } = this;
    const rank = view.rank(y);
    if (x < view.left || rank < 0 || rank >= data.ranks) return;
    this.shown.rank = rank;
    this.match = null;
    const call = this.detail.covered.length ? data.callAt(rank, view.time(x)) : -1;
    this.shown.computing = call < 0 && this.detail.covered.length ? computingAt(data, rank, view.time(x)) : null;
    this.mark(call);
  }

  mark(call) {
    this.shown.selected = call;
    this.showSelection(call);
  }

  showSelection(call) {
    const target = document.getElementById("selection");
    const { data, view, shown } = this;
    if (call >= 0) {
      const described = data.describe(call);
      target.replaceChildren(callTitle(described, this.colours), values(callValues(described, data)));
    } else if (shown.computing) {
      target.replaceChildren(element("div", "Computing", { class: "title" }), values(computingValues(data, shown.rank, shown.computing)));
    } else if (shown.rank >= 0) {
      const rank = data.head.ranks[shown.rank];
      const [t0, t1] = [Math.max(view.t0, 0), Math.min(view.t1, data.end)];
      target.replaceChildren(element("div", `Rank ${rank.rank}, ${rank.host}`, { class: "title" }),
        values([...shareValues(data, shown.rank, t0, t1), ...functionValues(data, shown.rank, t0, t1)]));
    }
  }

  showWait(i) {
    const wait = this.data.head.waits[i];
    this.shown.wait = i;
    this.shown.rank = wait.row;
    this.view.goTo(wait.begin, wait.end - wait.begin, wait.row, 3);
    this.mark(this.data.callAt(wait.row, (wait.begin + wait.end) / 2));
    document.querySelectorAll("#wait-list a").forEach((link, place) => link.setAttribute("aria-current", String(place === i)));
  }

  nextWait(by) {
    const count = this.data.head.waits.length;
    if (count) this.showWait((this.shown.wait + by + count) % count);
  }

  nextWindow(by) {
    const { data, view } = this;
    if (!data.spans.length) return;
    const middle = (view.t0 + view.t1) / 2;
    const inside = data.spans.findIndex(([begin, end]) => begin <= middle && middle < end && view.span < 1.3 * (end - begin));
    let next = inside >= 0 ? inside + by : by > 0 ? data.spans.findIndex(([begin]) => begin > middle) : data.spans.findLastIndex(([, end]) => end < middle);
    if (next < 0 || next >= data.spans.length) next = by > 0 ? 0 : data.spans.length - 1;
    view.show(...data.spans[next]);
  }

  toggle(name) {
    if (name === "path" && !this.data.head.pathPieces) return;
    this.shown[name] = !this.shown[name];
    document.getElementById(name).checked = this.shown[name];
  }

  clear() {
    document.getElementById("query").value = "";
    this.search("");
    this.match = null;
    this.shown.selected = this.shown.wait = this.shown.rank = -1;
    document.getElementById("selection").replaceChildren(element("p", "Nothing is selected.", { class: "quiet" }));
    this.canvas.focus();
    this.redraw();
  }

  hover(event) {
    const { tip, view, data } = this;
    if (!event || event.offsetX < view.left || event.offsetY < AXIS) {
      tip.hidden = true;
      return;
    }
    const rank = view.rank(event.offsetY), time = view.time(event.offsetX), perPixel = view.span / view.plotWidth;
    if (rank < 0 || rank >= data.ranks || time < 0 || time > data.end) {
      tip.hidden = true;
      return;
    }
    const call = this.detail.spans.length ? this.callNear(rank, time, perPixel) : -1;
    if (call >= 0) {
      const described = data.describe(call);
      tip.replaceChildren(callTitle(described, this.colours), values(callValues(described, data)));
    } else {
      const width = Math.max(perPixel, this.detail.spans.length ? 0 : data.previews.perBin);
      const of = data.head.ranks[rank];
      const title = element("div", `Rank ${of.rank}, ${of.host}`, { class: "title" });
      const inSpan = this.detail.spans.length && data.spanAt(time) >= 0;
      tip.replaceChildren(title, values(inSpan ? [["Time", timeText(time, 7)], ["", ""], ["State", "Computing"], ...this.functionsAt(rank, time)]
        : shareValues(data, rank, Math.max(time - width / 2, 0), Math.min(time + width / 2, data.end))));
    }
    tip.hidden = false;
    const left = Math.min(event.offsetX + 14, view.width - tip.offsetWidth - 6);
    const below = event.offsetY + 18 + tip.offsetHeight < view.height;
    tip.style.left = `${Math.max(left, 4)}px`;
    tip.style.top = `${Math.max(below ? event.offsetY + 18 : event.offsetY - tip.offsetHeight - 12, 0)}px`;
  }

  functionsAt(rank, time) {
    const computing = this.data.samples ? computingAt(this.data, rank, time) : null;
    return computing ? functionValues(this.data, rank, ...computing, MOST_IN_TIP) : [];
  }

  /** The call under the pointer, or otherwise the nearest call within a pixel. */
  callNear(rank, time, perPixel) {
    const call = this.data.callAt(rank, time);
    if (call >= 0) return call;
    const span = this.data.spanAt(time);
    if (span < 0) return -1;
    const [first, last] = this.data.range(span, rank, time - 1.5 * perPixel, time + 1.5 * perPixel);
    return last > first ? first : -1;
  }
}

async function start() {
  const head = JSON.parse(document.getElementById("head").textContent);
  const bytes = await inflated(document.getElementById("payload").textContent);
  document.getElementById("payload").textContent = "";
  window.assayTimeline = new App(new TimelineData(head, bytes));
}

window.assayReady = start().catch((error) => {
  const failure = document.getElementById("failure");
  failure.textContent = `The timeline can't be shown: ${error.message}. It needs a browser from 2023 or later (DecompressionStream).`;
  failure.hidden = false;
  throw error;
});
