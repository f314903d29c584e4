// States as pixels: each column of a row shows the shares of the states in its time, stacked from
// below. A call wider than a pixel fills its columns completely.

// Columns narrower than this many bins are drawn from the previews, wider ones from single calls.
const BIN_LIMIT = 0.8;
const MOST_RASTERED = 500_000; // calls in view; more are drawn from the previews

class Raster {
  constructor(data) {
    this.data = data;
    this.canvas = document.createElement("canvas");
    this.context = this.canvas.getContext("2d");
    this.image = null;
  }

  /** Draws the states; returns the detailed spans in view, and their number of calls. */
  draw(view, colours, filter, target) {
    const width = Math.max(Math.round(view.plotWidth), 1);
    const height = Math.max(Math.round(view.plotHeight), 1);
    if (!this.image || this.image.width !== width || this.image.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
      this.image = this.context.createImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.shares = new Float32Array((this.data.states + 1) * width);
    }
    this.pixels.fill(colours.blank);
    const detail = this.spansInView(view, width);
    const height1 = view.rowHeight;
    const group = Math.max(1, Math.ceil(1.5 / height1));
    const first = Math.max(Math.floor(view.top), 0);
    const last = Math.min(Math.ceil(view.top + view.rows), this.data.ranks);
    for (let rank = first - first % group; rank < last; rank += group) {
      const upper = Math.round(view.y(rank) - AXIS);
      const lower = Math.round(view.y(Math.min(rank + group, this.data.ranks)) - AXIS);
      const gap = height1 >= 26 ? 4 : height1 >= 9 ? 2 : height1 >= 5 ? 1 : 0;
      const ranks = Math.min(group, this.data.ranks - rank);
      this.measure(view, width, rank, ranks, group === 1 ? detail.spans : [], filter);
      this.paint(view, width, height, rank, ranks, upper + (gap >> 1), lower - ((gap + 1) >> 1), colours);
    }
    this.context.putImageData(this.image, 0, 0);
    target.imageSmoothingEnabled = false;
    target.drawImage(this.canvas, view.left, AXIS, view.plotWidth, view.plotHeight);
    return detail;
  }

  spansInView(view, width) {
    const data = this.data;
    const perPixel = view.span / width;
    const spans = [];
    let calls = 0;
    for (let s = 0; s < data.spans.length; s++) {
      if (data.spans[s][1] <= view.t0 || data.spans[s][0] >= view.t1) continue;
      spans.push(s);
    }
    if (perPixel > BIN_LIMIT * data.previews.perBin) return { spans: [], calls: Infinity, covered: spans };
    const first = Math.max(Math.floor(view.top), 0);
    const last = Math.min(Math.ceil(view.top + view.rows), data.ranks);
    for (const s of spans) {
      for (let rank = first; rank < last; rank++) {
        const [from, to] = data.range(s, rank, view.t0, view.t1);
        calls += to - from;
      }
    }
    return { spans: calls <= MOST_RASTERED ? spans : [], calls, covered: spans };
  }

  /** Shares of each state (and, last, of calls that the search leaves out) by column. */
  measure(view, width, rank, ranks, spans, filter) {
    const { data, shares } = this;
    shares.fill(0);
    const perPixel = view.span / width;
    const covered = spans.map((s) => data.spans[s].map((time) => (time - view.t0) / perPixel));
    let x = 0;
    for (let i = 0; i <= covered.length; i++) {
      const until = i < covered.length ? covered[i][0] : width;
      this.fromPreviews(view, width, perPixel, rank, ranks, x, Math.min(Math.max(Math.floor(until), 0), width), filter);
      if (i < covered.length) {
        x = Math.min(Math.max(Math.ceil(covered[i][1]), 0), width);
        this.fromCalls(view, width, perPixel, spans[i], rank, Math.max(Math.floor(until), 0), x, filter);
      }
    }
  }

  fromPreviews(view, width, perPixel, rank, ranks, from, to, filter) {
    if (to <= from) return;
    const { previews, states } = this.data;
    const scale = previews.perBin / (255 * perPixel * ranks);
    for (let s = 0; s < states; s++) {
      const row = (filter && !filter.states[s] ? states : s) * width;
      let before = previews.upTo(s, rank, rank + ranks, view.t0 + from * perPixel);
      for (let x = from; x < to; x++) {
        const after = previews.upTo(s, rank, rank + ranks, view.t0 + (x + 1) * perPixel);
        this.shares[row + x] += (after - before) * scale;
        before = after;
      }
    }
  }

  fromCalls(view, width, perPixel, span, rank, from, to, filter) {
    const { data, shares } = this;
    const [first, last] = data.range(span, rank, view.t0 + from * perPixel, view.t0 + to * perPixel);
    for (let call = first; call < last; call++) {
      let left = Math.max((data.begin[call] - view.t0) / perPixel, from);
      let right = Math.min((data.callEnd(call) - view.t0) / perPixel, to);
      if (right - left > 4) {
        left = Math.round(left); // wide calls have sharp edges
        right = Math.round(right);
      }
      if (right <= left) continue;
      const state = filter && !(filter.kinds[data.kind[call]] && filter.ranks[rank]) ? data.states : data.state[call];
      const row = state * width;
      let x = Math.floor(left);
      const end = Math.floor(right);
      if (x === end) {
        shares[row + x] += right - left;
        continue;
      }
      shares[row + x] += x + 1 - left;
      for (x++; x < end; x++) shares[row + x] += 1;
      if (end < width && right > end) shares[row + end] += right - end;
    }
  }

  paint(view, width, height, rank, ranks, upper, lower, colours) {
    if (lower <= upper) lower = upper + 1;
    const { data, shares, pixels } = this;
    const tall = lower - upper;
    const computing = colours.pixels[data.states === 0 ? 0 : colours.pixels.length - 2];
    const dimmed = colours.pixels[colours.pixels.length - 1];
    const of = data.head.ranks[rank];
    const begin = ranks > 1 ? 0 : Math.floor((of.begin - view.t0) / view.span * width);
    const end = ranks > 1 ? Math.ceil((data.end - view.t0) / view.span * width) : Math.ceil((of.end - view.t0) / view.span * width);
    const low = Math.min(lower, height), high = Math.max(upper, 0);
    for (let x = Math.max(begin, 0, ranks > 1 ? Math.floor(-view.t0 / view.span * width) : 0); x < Math.min(end, width); x++) {
      let sum = 0, y = lower;
      for (let s = 0; s <= data.states; s++) {
        const share = shares[s * width + x];
        if (share <= 0) continue;
        sum += share;
        const next = Math.max(lower - Math.round(Math.min(sum, 1) * tall), upper);
        const colour = s < data.states ? colours.pixels[s] : dimmed;
        for (; y > next; y--) if (y <= low && y > high) pixels[(y - 1) * width + x] = colour;
      }
      for (; y > upper; y--) if (y <= low && y > high) pixels[(y - 1) * width + x] = computing;
    }
  }
}
