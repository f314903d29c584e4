// Above the states: axis, rank names, labels of calls, messages, critical path, marks.

const MOST_ARROWS = 1500;
const DENSE_ARROWS = 260; // where arrows are a pixel or two wide, only fewer arrows are legible
const MOST_LABELLED = 20_000; // calls in view; labels are drawn for fewer
const MOST_PATH_PIECES = 6000;
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

class Overlay {
  constructor(data) { this.data = data; }

  draw(context, view, colours, detail, shown) {
    this.context = context;
    this.view = view;
    this.colours = colours;
    context.save();
    context.beginPath();
    context.rect(view.left, AXIS, view.plotWidth, view.plotHeight);
    context.clip();
    if (detail.spans.length && detail.calls < MOST_LABELLED && view.rowHeight >= 9) this.labels(detail.spans, shown.filter);
    const arrows = shown.arrows ? this.messages(detail.covered, shown) : { drawn: 0, inView: 0 };
    const path = shown.path && this.criticalPath();
    this.waits(shown);
    this.marked(shown);
    context.restore();
    this.axis(detail);
    this.names(shown);
    return { ...arrows, path };
  }

  labels(spans, filter) {
    const { context, view, colours, data } = this;
    const size = Math.min(12, Math.max(9, view.rowHeight * 0.55));
    context.font = `${size}px ${FONT}`;
    context.textBaseline = "middle";
    context.textAlign = "left";
    context.lineWidth = 1;
    const first = Math.max(Math.floor(view.top), 0), last = Math.min(Math.ceil(view.top + view.rows), data.ranks);
    for (const s of spans) {
      for (let rank = first; rank < last; rank++) {
        const [from, to] = data.range(s, rank, view.t0, view.t1);
        const top = view.y(rank), height = view.rowHeight;
        for (let call = from; call < to; call++) {
          const left = view.x(data.begin[call]), right = view.x(data.callEnd(call));
          if (right - left < 4) continue;
          const kind = data.kind[call];
          const faint = filter && !(filter.kinds[kind] && filter.ranks[rank]);
          const state = data.state[call];
          context.fillStyle = faint ? colours.dimmed : colours.edges[state];
          context.fillRect(Math.round(left), top + 2, 1, height - 4);
          if (faint || right - left < 30 || height < 11) continue;
          const from_ = Math.max(left, view.left) + 5, room = Math.min(right, view.width) - from_ - 4;
          const name = fitted(context, data.head.functions[data.kinds.function[kind]].name, room);
          if (!name) continue;
          context.fillStyle = colours.labels[state];
          context.fillText(name, from_, top + height / 2 + 0.5);
        }
      }
    }
  }

  messages(covered, shown) {
    const { context, view, colours, data } = this;
    const { send, receive, from, to, level, offset } = data.arrows;
    const low = Math.floor(view.top) - 1, high = Math.ceil(view.top + view.rows) + 1;
    const visible = [];
    let widths = 0;
    const byLevel = new Uint32Array(32);
    for (const s of covered) {
      for (let i = offset[s]; i < offset[s + 1]; i++) {
        if (data.begin[send[i]] > view.t1 || data.callEnd(receive[i]) < view.t0) continue;
        if ((from[i] < low && to[i] < low) || (from[i] > high && to[i] > high)) continue;
        visible.push(i);
        widths += data.callEnd(receive[i]) - data.begin[send[i]];
        byLevel[level[i]]++;
      }
    }
    const narrow = widths / Math.max(visible.length, 1) / view.span * view.plotWidth < 6;
    const limit = narrow ? DENSE_ARROWS : MOST_ARROWS;
    let most = -1;
    for (let sum = 0; most < 31 && sum + byLevel[most + 1] <= limit; most++) sum += byLevel[most + 1];
    const drawn = most >= 31 ? visible : visible.filter((i) => level[i] <= most);
    const heads = drawn.length <= 500 && view.rowHeight >= 8;
    context.strokeStyle = context.fillStyle = colours.ink;
    context.lineWidth = 1;
    context.globalAlpha = narrow || drawn.length > 600 ? 0.28 : drawn.length > 150 ? 0.5 : 0.8;
    context.beginPath();
    for (const i of drawn) this.arrow(data.begin[send[i]], from[i], data.callEnd(receive[i]), to[i], heads);
    context.stroke();
    context.globalAlpha = 1;
    if (shown.selected >= 0) {
      context.lineWidth = 2.5;
      context.beginPath();
      for (const i of visible) {
        if (send[i] !== shown.selected && receive[i] !== shown.selected) continue;
        this.arrow(data.begin[send[i]], from[i], data.callEnd(receive[i]), to[i], true);
      }
      context.stroke();
    }
    return { drawn: drawn.length, inView: visible.length };
  }

  arrow(sent, from, received, to, head) {
    const { context, view } = this;
    const x0 = view.x(sent), y0 = view.y(from + 0.5), x1 = view.x(received), y1 = view.y(to + 0.5);
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    if (!head) return;
    const angle = Math.atan2(y1 - y0, x1 - x0), size = 6;
    for (const turn of [2.7, -2.7]) {
      context.moveTo(x1, y1);
      context.lineTo(x1 + size * Math.cos(angle + turn), y1 + size * Math.sin(angle + turn));
    }
  }

  /** Draws the pieces in view, joined; of many pieces, only those at least a pixel wide. Returns whether any were drawn. */
  criticalPath() {
    const { context, view, colours, data } = this;
    const { row, begin, length } = data.path;
    let first = 0, last = begin.length;
    while (first < last) {
      const middle = (first + last) >> 1;
      if (begin[middle] < view.t0) first = middle + 1;
      else last = middle;
    }
    first = Math.max(first - 1, 0);
    for (last = first; last < begin.length && begin[last] <= view.t1; last++);
    const least = last - first > MOST_PATH_PIECES ? view.span / view.plotWidth : 0;
    // Where pieces are dense, lines between ranks would cover everything else, so only thin lines along ranks are drawn.
    const dense = (last - first) * 8 > view.plotWidth;
    context.beginPath();
    let started = false;
    for (let i = first; i < last; i++) {
      if (length[i] < least) continue;
      const y = view.y(row[i] + 0.5);
      if (started && !dense) context.lineTo(view.x(begin[i]), y);
      else context.moveTo(view.x(begin[i]), y);
      started = true;
      context.lineTo(Math.max(view.x(begin[i] + length[i]), view.x(begin[i]) + (dense ? 1 : 0)), y);
    }
    context.lineJoin = "round";
    for (const [colour, width] of dense ? [[colours.ink, Math.min(3, view.rowHeight / 2)]] : [[colours.ground, 5.5], [colours.ink, 2.5]]) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.stroke();
    }
    return started;
  }

  /** A frame around each of the worst waits; a triangle where it is narrow. */
  waits(shown) {
    const { context, view, colours, data } = this;
    context.strokeStyle = context.fillStyle = colours.ink;
    data.head.waits.forEach((wait, i) => {
      if (wait.end < view.t0 || wait.begin > view.t1) return;
      const left = view.x(wait.begin), right = view.x(wait.end), top = view.y(wait.row);
      const current = shown.wait === i;
      if (right - left < 8) {
        if (view.rowHeight < 7) return;
        context.beginPath();
        context.moveTo((left + right) / 2 - 4, top);
        context.lineTo((left + right) / 2 + 4, top);
        context.lineTo((left + right) / 2, top + 6);
        context.fill();
        return;
      }
      context.lineWidth = current ? 2.5 : 1;
      if (!current) context.setLineDash([3, 2]);
      context.strokeRect(left, top + 1, right - left, view.rowHeight - 2);
      context.setLineDash([]);
    });
  }

  marked(shown) {
    const { context, view, colours, data } = this;
    if (shown.selected >= 0) {
      const [, rank] = data.spanOf(shown.selected);
      const left = view.x(data.begin[shown.selected]), right = view.x(data.callEnd(shown.selected));
      context.strokeStyle = colours.ink;
      context.lineWidth = 2.5;
      context.strokeRect(left - 1, view.y(rank), Math.max(right - left, 2) + 2, view.rowHeight);
    }
    if (shown.chosen) {
      const [a, b] = shown.chosen.map((time) => view.x(time));
      context.globalAlpha = 0.2;
      context.fillStyle = colours.ink;
      context.fillRect(Math.min(a, b), AXIS, Math.abs(b - a), view.plotHeight);
      context.globalAlpha = 1;
    }
  }

  axis(detail) {
    const { context, view, colours, data } = this;
    context.clearRect(0, 0, view.width, AXIS);
    const step = niceStep(view.span / Math.max(view.plotWidth / 95, 2));
    context.font = `12px ${FONT}`;
    context.textBaseline = "middle";
    context.textAlign = "center";
    for (let time = Math.ceil(Math.max(view.t0, 0) / step) * step; time <= Math.min(view.t1, data.end); time += step) {
      const x = Math.round(view.x(time)) + 0.5;
      context.strokeStyle = colours.grid;
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(x, AXIS - 7);
      context.lineTo(x, AXIS);
      context.stroke();
      context.fillStyle = colours.quiet;
      const text = tickText(time, step, Math.max(Math.abs(view.t0), Math.abs(view.t1)));
      const half = context.measureText(text).width / 2;
      if (x - half > view.left - 8 && x + half < view.width) context.fillText(text, x, 9);
    }
    // Where single calls are available.
    context.fillStyle = colours.ink;
    for (const s of detail.covered) {
      const left = Math.max(view.x(data.spans[s][0]), view.left), right = Math.min(view.x(data.spans[s][1]), view.width);
      context.fillRect(left, AXIS - 3, Math.max(right - left, 1), 2);
    }
  }

  names(shown) {
    const { context, view, colours, data } = this;
    context.clearRect(0, AXIS, view.left, view.plotHeight);
    const size = Math.min(12, Math.max(view.rowHeight * 0.8, 9));
    context.font = `${size}px ${FONT}`;
    context.textAlign = "right";
    context.textBaseline = "middle";
    const step = niceStep(Math.max(1, Math.ceil(13 / view.rowHeight)));
    const first = Math.max(Math.ceil(Math.floor(view.top) / step) * step, 0);
    for (let rank = first; rank < Math.min(view.top + view.rows, data.ranks); rank += step) {
      const of = data.head.ranks[rank];
      const y = view.y(rank + 0.5);
      if (y < AXIS + 2) continue;
      context.fillStyle = rank === shown.rank ? colours.ink : colours.quiet;
      context.font = `${rank === shown.rank ? "600 " : ""}${size}px ${FONT}`;
      context.fillText(String(of.rank), view.left - 7, y);
    }
    if (view.left > 60) this.hosts(size);
    if (!data.head.ranks.every((of) => of.complete)) this.cutOff();
  }

  /** The host at its first rank in view, where there is room. */
  hosts(size) {
    const { context, view, colours, data } = this;
    context.textAlign = "left";
    context.fillStyle = colours.quiet;
    context.font = `${Math.max(size, 10)}px ${FONT}`;
    let host = null, free = AXIS;
    for (let rank = Math.max(Math.floor(view.top), 0); rank < Math.min(view.top + view.rows, data.ranks); rank++) {
      const of = data.head.ranks[rank];
      const y = Math.max(view.y(rank + 0.5), AXIS + 7);
      if (of.host === host || y < free) continue;
      context.fillText(fitted(context, of.host, view.left - 34), 10, y);
      host = of.host;
      free = y + 14;
    }
  }

  /** Ranks whose trace ends before the program did. */
  cutOff() {
    const { context, view, colours, data } = this;
    context.fillStyle = colours.quiet;
    context.textAlign = "left";
    context.font = `11px ${FONT}`;
    data.head.ranks.forEach((of, rank) => {
      if (of.complete || view.rowHeight < 9) return;
      const x = view.x(of.end);
      if (x > view.left && x < view.width - 30) context.fillText("trace ends", x + 5, view.y(rank + 0.5));
    });
  }
}

/** The text, shortened to a width; "" if nothing legible fits. */
function fitted(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  let letters = text.length - 1;
  while (letters > 2 && context.measureText(text.slice(0, letters) + "…").width > room) letters--;
  return letters > 2 ? text.slice(0, letters) + "…" : "";
}

/** The whole run in a strip: mean shares of all ranks, the spans in detail, the view. */
class Overview {
  constructor(data, canvas) {
    this.data = data;
    this.canvas = canvas;
    this.still = document.createElement("canvas");
  }

  /** The part that doesn't depend on the view. */
  prepare(width, ratio, left, colours, filter) {
    const { data, still } = this;
    this.left = left;
    this.width = width;
    this.ratio = ratio;
    still.width = this.canvas.width = Math.round(width * ratio);
    still.height = this.canvas.height = Math.round(44 * ratio);
    const context = still.getContext("2d");
    context.scale(ratio, ratio);
    const wide = width - left;
    for (let x = 0; x < wide; x++) {
      const t0 = x / wide * data.end, t1 = (x + 1) / wide * data.end;
      let y = 36;
      context.fillStyle = colours.computing;
      context.fillRect(left + x, 6, 1, 30);
      for (let s = 0; s < data.states; s++) {
        const height = 30 * data.previews.share(s, 0, data.ranks, t0, t1);
        context.fillStyle = filter && !filter.states[s] ? colours.dimmed : colours.states[s];
        context.fillRect(left + x, y - height, 1, height);
        y -= height;
      }
    }
    context.fillStyle = colours.ink;
    for (const [begin, end] of data.spans) {
      context.fillRect(left + begin / data.end * wide, 39, Math.max((end - begin) / data.end * wide, 1), 2);
    }
  }

  draw(view, colours) {
    const context = this.canvas.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.drawImage(this.still, 0, 0);
    context.scale(this.ratio, this.ratio);
    const wide = this.width - this.left;
    const a = this.left + Math.max(view.t0, 0) / this.data.end * wide;
    const b = Math.max(this.left + Math.min(view.t1, this.data.end) / this.data.end * wide, a + 3);
    context.globalAlpha = 0.62;
    context.fillStyle = colours.ground;
    context.fillRect(this.left, 0, a - this.left, 44);
    context.fillRect(b, 0, this.width - b, 44);
    context.globalAlpha = 1;
    context.strokeStyle = colours.ink;
    context.lineWidth = 1.5;
    context.strokeRect(a, 1, b - a, 42);
  }

  time(x) { return (x - this.left) / (this.width - this.left) * this.data.end; }
}
