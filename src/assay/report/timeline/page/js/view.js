// The part of the data in view: an interval of time and of ranks, and their places on the canvas.

const AXIS = 26; // px above the first rank
const LEAST_SPAN = 200; // ns
const TALLEST_ROW = 64; // px

class View {
  constructor(data) {
    this.data = data;
    this.top = 0; // rank at the upper edge, may be a fraction
    this.rows = data.ranks; // ranks in view
    this.width = 1;
    this.height = 1;
    this.left = 90;
    this.all();
  }

  resize(width, height) {
    this.width = width;
    this.height = height;
    this.left = width < 560 ? 46 : 96;
    this.clamp();
  }

  get plotWidth() { return Math.max(this.width - this.left, 1); }
  get plotHeight() { return Math.max(this.height - AXIS, 1); }
  get span() { return this.t1 - this.t0; }
  get rowHeight() { return Math.min(this.plotHeight / this.rows, TALLEST_ROW); }

  x(time) { return this.left + (time - this.t0) / this.span * this.plotWidth; }
  time(x) { return this.t0 + (x - this.left) / this.plotWidth * this.span; }
  y(rank) { return AXIS + (rank - this.top) * this.rowHeight; }
  rank(y) { return Math.floor(this.top + (y - AXIS) / this.rowHeight); }

  clamp() {
    const longest = this.data.end * 1.02;
    let span = Math.min(Math.max(this.t1 - this.t0, LEAST_SPAN), longest);
    if (!Number.isFinite(span)) span = longest;
    const margin = span * 0.01;
    this.t0 = Math.min(Math.max(this.t0, -margin), this.data.end + margin - span);
    this.t1 = this.t0 + span;
    this.rows = Math.min(Math.max(this.rows, Math.min(2, this.data.ranks)), this.data.ranks);
    this.top = Math.min(Math.max(this.top, 0), this.data.ranks - this.rows);
  }

  show(t0, t1) {
    this.t0 = t0;
    this.t1 = t1;
    this.clamp();
  }

  zoom(factor, at = (this.t0 + this.t1) / 2) {
    const span = Math.max(this.span * factor, LEAST_SPAN);
    const before = (at - this.t0) / this.span;
    this.show(at - before * span, at + (1 - before) * span);
  }

  zoomRanks(factor, at = this.top + this.rows / 2) {
    const before = (at - this.top) / this.rows;
    this.rows *= factor;
    this.clamp();
    this.top = at - before * this.rows;
    this.clamp();
  }

  move(share) { this.show(this.t0 + share * this.span, this.t1 + share * this.span); }
  scroll(ranks) { this.top += ranks; this.clamp(); }
  all() { this.top = 0; this.rows = this.data.ranks; this.show(-Infinity, Infinity); }

  /** Show a call or wait: about `shares` times as wide as itself, its rank in view. */
  goTo(begin, length, rank, shares = 6) {
    const span = Math.max(length * shares, LEAST_SPAN * 4);
    this.show(begin + length / 2 - span / 2, begin + length / 2 + span / 2);
    this.reveal(rank);
  }

  reveal(rank) {
    if (rank < this.top || rank + 1 > this.top + this.rows) {
      this.top = rank - this.rows / 2;
      this.clamp();
    }
  }
}
