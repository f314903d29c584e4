// Keyboard, pointer and wheel.

class Controls {
  constructor(app) {
    this.app = app;
    const { canvas, overview } = app;
    document.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.drag(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("pointerleave", () => { if (!this.from) app.hover(null); });
    canvas.addEventListener("pointercancel", () => { this.from = null; });
    canvas.addEventListener("dblclick", (event) => { app.view.zoom(0.25, app.view.time(event.offsetX)); app.redraw(); });
    const seek = (event) => {
      if (!(event.buttons & 1)) return;
      const { view } = app, middle = app.strip.time(event.offsetX);
      view.show(middle - view.span / 2, middle + view.span / 2);
      app.redraw();
    };
    overview.addEventListener("pointerdown", (event) => { overview.setPointerCapture(event.pointerId); seek(event); });
    overview.addEventListener("pointermove", seek);
  }

  key(event) {
    const { app } = this;
    const typing = event.target.matches("input[type=search]");
    if (event.key === "Escape") return void app.clear();
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("button, summary, a, input") && (event.key === " " || event.key === "Enter")) return;
    const act = KEYS[event.key];
    if (!act) return;
    event.preventDefault();
    act(app, event);
    app.redraw();
  }

  wheel(event) {
    const { view } = this.app;
    event.preventDefault();
    const amount = (event.deltaMode === 1 ? 30 : 1) * (event.deltaY || event.deltaX);
    if (event.ctrlKey) view.zoomRanks(1.0015 ** amount, view.top + (event.offsetY - AXIS) / view.rowHeight);
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) view.move((event.deltaX || event.deltaY) / view.plotWidth);
    else view.zoom(1.0022 ** amount, view.time(event.offsetX));
    this.app.redraw();
  }

  press(event) {
    const { canvas, view } = this.app;
    canvas.setPointerCapture(event.pointerId);
    this.from = { x: event.offsetX, y: event.offsetY, t0: view.t0, top: view.top, moved: false, choose: event.shiftKey };
  }

  drag(event) {
    const { app, from } = this;
    if (!from) return void app.hover(event);
    const dx = event.offsetX - from.x, dy = event.offsetY - from.y;
    if (!from.moved && Math.hypot(dx, dy) < 4) return;
    from.moved = true;
    app.hover(null);
    const { view } = app;
    if (from.choose) {
      app.shown.chosen = [view.time(from.x), view.time(event.offsetX)];
    } else {
      app.canvas.classList.add("moving");
      const t0 = from.t0 - dx / view.plotWidth * view.span;
      view.show(t0, t0 + view.span);
      view.top = from.top - dy / view.rowHeight;
      view.clamp();
    }
    app.redraw();
  }

  release(event) {
    const { app, from } = this;
    this.from = null;
    app.canvas.classList.remove("moving");
    if (!from) return;
    const chosen = app.shown.chosen;
    app.shown.chosen = null;
    if (chosen && Math.abs(chosen[1] - chosen[0]) > 0) app.view.show(Math.min(...chosen), Math.max(...chosen));
    else if (!from.moved) app.select(event.offsetX, event.offsetY);
    app.redraw();
  }
}

const KEYS = {
  ArrowLeft: (app) => app.view.move(-0.15),
  ArrowRight: (app) => app.view.move(0.15),
  ArrowUp: (app) => app.chooseRank(-1),
  ArrowDown: (app) => app.chooseRank(1),
  PageUp: (app) => app.view.scroll(-0.8 * app.view.rows),
  PageDown: (app) => app.view.scroll(0.8 * app.view.rows),
  "+": (app, event) => (event.shiftKey && event.code === "NumpadAdd" ? app.view.zoomRanks(0.7) : app.view.zoom(0.7)),
  "=": (app) => app.view.zoom(0.7),
  "-": (app) => app.view.zoom(1 / 0.7),
  "*": (app) => app.view.zoomRanks(0.7),
  _: (app) => app.view.zoomRanks(1 / 0.7),
  Home: (app) => app.view.all(),
  End: (app) => app.view.show(app.data.end - app.view.span, app.data.end),
  "[": (app) => app.step(-1),
  "]": (app) => app.step(1),
  w: (app) => app.nextWait(1),
  W: (app) => app.nextWait(-1),
  d: (app) => app.nextWindow(1),
  D: (app) => app.nextWindow(-1),
  n: (app) => app.nextMatch(false),
  N: (app) => app.nextMatch(true),
  m: (app) => app.toggle("arrows"),
  c: (app) => app.toggle("path"),
  "/": () => document.getElementById("query").focus(),
};
