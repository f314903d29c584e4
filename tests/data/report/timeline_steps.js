// The body of a function that uses a timeline by keys, links and search, and returns what it found.
const app = window.assayTimeline, { data, view, canvas } = app, found = {};
const frame = async () => { await new Promise((resolve) => setTimeout(resolve, 20)); app.draw(); };
const press = async (key) => {
  canvas.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  await frame();
};
const colours = () => {
  const context = canvas.getContext("2d");
  const bytes = context.getImageData(0, 0, canvas.width, canvas.height).data;
  const seen = new Set();
  for (let i = 0; i < bytes.length; i += 4) seen.add((bytes[i] << 16) | (bytes[i + 1] << 8) | bytes[i + 2]);
  return [...seen];
};
found.calls = [...data.begin].map((_, i) => {
  const one = data.describe(i);
  return [one.rank, one.begin, one.length, one.name, one.place, one.peer, one.tag, one.sent, one.received];
});
found.arrows = [...data.arrows.send].map((send, i) => [send, data.arrows.receive[i], data.arrows.from[i], data.arrows.to[i]]);
found.whole = [view.t0, view.t1];
const { previews } = data;
found.shares = data.head.ranks.map((_, r) => data.head.states.map((_, s) => previews.share(s, r, r + 1, 0, data.end)));
found.wholeColours = colours();
await press("+"); found.zoomed = view.span;
await press("ArrowRight"); found.moved = view.t0;
await press("ArrowLeft"); found.back = view.t0;
await press("Home"); found.home = [view.t0, view.t1];
await press("w"); found.wait = [view.t0, view.t1, document.getElementById("selection").textContent,
  document.getElementById("view").textContent];
found.detailColours = colours();
await press("Home");
await press("ArrowDown"); await press("]"); await press("]");
found.second = app.shown.selected;
await press("["); found.first = app.shown.selected;
document.querySelector("#wait-list li:nth-child(2) a").click(); await frame();
found.link = app.shown.wait;
const query = document.getElementById("query");
query.value = "allreduce rank 1"; query.dispatchEvent(new Event("input"));
found.matches = document.getElementById("matches").textContent;
await press("n");
found.match = data.describe(app.shown.selected);
query.value = "nothing like it"; query.dispatchEvent(new Event("input"));
found.none = document.getElementById("matches").textContent;
await press("Escape");
await press("m"); found.arrowsShown = app.shown.arrows;
await press("d"); found.window = [view.t0, view.t1];
const rectangle = canvas.getBoundingClientRect();
const point = (type, x, y) => canvas.dispatchEvent(new PointerEvent(type, { clientX: rectangle.left + x, clientY: rectangle.top + y, bubbles: true, pointerId: 1 }));
point("pointermove", view.left + 40, 40);
found.tip = document.getElementById("tip").textContent;
document.getElementById("theme").click(); await frame();
found.ground = getComputedStyle(document.body).backgroundColor;
found.overflow = document.documentElement.scrollWidth > innerWidth;
found.status = document.getElementById("view").textContent;
found.contained = document.getElementById("contained").textContent;
found.rows = document.querySelectorAll("#rank-table tbody tr").length;
found.errors = window.assayErrors;
return found;
