// Moves a timeline's view a little per frame (t from 0 to 1), and reports the times of the frames.
(async () => {
  await window.assayReady;
  const app = window.assayTimeline, data = app.data, view = app.view;
  const ready = performance.now();
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const span = data.spans[Math.floor(data.spans.length / 2)];
  const middle = (span[0] + span[1]) / 2, wide = span[1] - span[0];
  const scenarios = {
    "zoom, whole run to 10 calls": (t) => {
      const w = data.end * (wide / 400 / data.end) ** t;
      view.show(middle * t + (1 - t) * data.end / 2 - w / 2, middle * t + (1 - t) * data.end / 2 + w / 2);
    },
    "scroll, whole run's quarter": (t) => view.show(data.end * 0.7 * t, data.end * (0.7 * t + 0.25)),
    "scroll, 5 windows wide": (t) => view.show(data.end * 0.7 * t, data.end * 0.7 * t + 5 * wide),
    "scroll, window in detail": (t) => view.show(span[0] - wide / 2 + wide * t, span[0] + wide / 2 + wide * t),
    "scroll, tenth of a window": (t) => view.show(span[0] + 0.9 * wide * t, span[0] + wide * (0.9 * t + 0.1)),
    "scroll in ranks": (t) => { view.rows = data.ranks / 4; view.top = t * data.ranks * 0.75; view.show(span[0], span[1]); },
  };
  const found = { decode: ready, calls: data.begin.length, arrows: data.arrows.send.length, scenarios: {} };
  for (const [name, move] of Object.entries(scenarios)) {
    view.all();
    const gaps = [], draws = [];
    let last = await frame();
    for (let i = 0; i <= 150; i++) {
      const begin = performance.now();
      move(i / 150);
      app.draw();
      draws.push(performance.now() - begin);
      const now = await frame();
      gaps.push(now - last);
      last = now;
    }
    found.scenarios[name] = { gaps, draws };
  }
  await fetch("/found", { method: "POST", body: JSON.stringify(found) });
})();
