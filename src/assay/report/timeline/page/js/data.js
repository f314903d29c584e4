// The data of the file: unpacks the sections, and finds calls and shares.

async function inflated(base64) {
  const text = atob(base64);
  const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Little-endian base 128; values are below 2^53. */
function varints(bytes, at, count) {
  const values = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    let value = bytes[at] & 127;
    let scale = 128;
    while (bytes[at++] & 128) {
      value += (bytes[at] & 127) * scale;
      scale *= 128;
    }
    values[i] = value;
  }
  return values;
}

function unzigzag(values) {
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    values[i] = value % 2 ? -(value + 1) / 2 : value / 2;
  }
  return values;
}

function sections(head, bytes) {
  const found = {};
  let at = 0;
  for (const { name, kind, count, bytes: length } of head.sections) {
    if (kind === "bytes") found[name] = bytes.subarray(at, at + length);
    else found[name] = kind === "signed" ? unzigzag(varints(bytes, at, count)) : varints(bytes, at, count);
    at += length;
  }
  return found;
}

/** Sums of shares over all rectangles that start at (rank 0, bin 0), one table per state. */
class Previews {
  constructor(shares, states, ranks, end) {
    this.bins = states * ranks ? shares.length / (states * ranks) : 1;
    this.states = states;
    this.ranks = ranks;
    this.perBin = end / this.bins;
    const width = this.bins + 1;
    this.tables = [];
    for (let s = 0; s < states; s++) {
      const table = new Float64Array(width * (ranks + 1));
      for (let r = 0; r < ranks; r++) {
        const from = (s * ranks + r) * this.bins;
        let row = 0;
        for (let b = 0; b < this.bins; b++) {
          row += shares[from + b];
          table[(r + 1) * width + b + 1] = table[r * width + b + 1] + row;
        }
      }
      this.tables.push(table);
    }
  }

  /** The sum of a state over ranks [r0, r1) from the beginning to `time` (ns), in shares of bins. */
  upTo(state, r0, r1, time) {
    const at = Math.min(Math.max(time / this.perBin, 0), this.bins);
    const bin = Math.min(Math.floor(at), this.bins - 1);
    const rest = at - bin;
    const table = this.tables[state];
    const low = r0 * (this.bins + 1) + bin;
    const high = r1 * (this.bins + 1) + bin;
    const before = table[high] - table[low];
    return before + rest * (table[high + 1] - table[low + 1] - before);
  }

  /** The mean share of a state over ranks and time. */
  share(state, r0, r1, t0, t1) {
    const bins = (t1 - t0) / this.perBin;
    return (this.upTo(state, r0, r1, t1) - this.upTo(state, r0, r1, t0)) / (255 * bins * (r1 - r0));
  }
}

class TimelineData {
  constructor(head, bytes) {
    this.head = head;
    this.ranks = head.ranks.length;
    this.states = head.states.length;
    this.end = Math.max(head.end, 1);
    const found = sections(head, bytes);
    this.previews = new Previews(found.shares, this.states, this.ranks, this.end);
    this.spans = head.spans;
    this.readKinds(found);
    this.readCalls(found);
    this.readArrows(found);
    this.readPath(found);
    this.samples = head.sampled ? new Samples(head.sampled, found) : null;
  }

  readKinds(found) {
    this.kinds = {};
    for (const name of ["function", "site", "communicator", "peer", "tag", "source", "source_tag",
      "sent", "received", "count", "thread"]) {
      this.kinds[name] = found["kind." + name];
    }
    this.stateOfKind = Uint8Array.from(this.kinds.function, (f) => this.head.functions[f].state);
  }

  /** Calls of all spans. The calls of span s and rank r begin at offset[s * ranks + r]. */
  readCalls(found) {
    const total = found.gap.length;
    this.begin = new Float64Array(total);
    this.length = Float64Array.from(found.length);
    this.kind = Uint32Array.from(found.kind);
    this.state = Uint8Array.from(this.kind, (k) => this.stateOfKind[k]);
    this.offset = new Uint32Array(this.spans.length * this.ranks + 1);
    let at = 0;
    for (let s = 0; s < this.spans.length; s++) {
      for (let r = 0; r < this.ranks; r++) {
        let last = this.spans[s][0];
        const place = s * this.ranks + r;
        const stop = at + found.calls[place];
        for (; at < stop; at++) {
          this.begin[at] = last + found.gap[at];
          last = this.begin[at] + this.length[at];
        }
        this.offset[place + 1] = at;
      }
    }
  }

  readArrows(found) {
    const total = found["arrow.receive"].length;
    this.arrows = { send: new Uint32Array(total), receive: new Uint32Array(total), from: new Uint16Array(total),
      to: new Uint16Array(total), level: new Uint8Array(total), offset: new Uint32Array(this.spans.length + 1) };
    const { send, receive, from, to, level, offset } = this.arrows;
    let at = 0, span = 0, rank = 0, place = 0;
    for (let i = 0; i < total; i++) {
      at += found["arrow.receive"][i];
      while (at >= this.offset[place + 1]) place++;
      rank = place % this.ranks;
      while (span < Math.floor(place / this.ranks)) offset[++span] = i;
      receive[i] = at;
      to[i] = rank;
      from[i] = rank + found["arrow.sender"][i];
      send[i] = this.offset[span * this.ranks + from[i]] + (at - this.offset[place]) + found["arrow.send"][i];
    }
    while (span < this.spans.length) offset[++span] = total;
    // The longest first: level k holds the messages at places 2^k - 1 to 2^(k+1) - 2.
    const length = Float64Array.from(receive, (to_, i) => this.callEnd(to_) - this.begin[send[i]]);
    const order = Uint32Array.from(length, (_, i) => i).sort((a, b) => length[b] - length[a]);
    order.forEach((arrow, place_) => { level[arrow] = 31 - Math.clz32(place_ + 1); });
  }

  readPath(found) {
    const begin = found["path.begin"];
    for (let i = 1; i < begin.length; i++) begin[i] += begin[i - 1];
    this.path = { row: found["path.row"], begin, length: found["path.length"] };
  }

  callEnd(call) { return this.begin[call] + this.length[call]; }

  /** The first call of [from, to) that begins at `time` or later. */
  firstFrom(from, to, time) {
    while (from < to) {
      const middle = (from + to) >> 1;
      if (this.begin[middle] < time) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  /** The range of a rank's calls in a span that overlap [t0, t1). */
  range(span, rank, t0, t1) {
    const place = span * this.ranks + rank;
    const start = this.offset[place], stop = this.offset[place + 1];
    let first = this.firstFrom(start, stop, t0);
    // The call before may reach into the view; with several threads, more than one.
    while (first > start && this.callEnd(first - 1) > t0) first--;
    return [first, this.firstFrom(first, stop, t1)];
  }

  /** The span that contains a time, or -1. */
  spanAt(time) {
    let low = 0, high = this.spans.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.spans[middle][1] <= time) low = middle + 1;
      else high = middle;
    }
    return low < this.spans.length && this.spans[low][0] <= time ? low : -1;
  }

  spanOf(call) {
    let low = 0, high = this.offset.length - 1;
    while (low + 1 < high) {
      const middle = (low + high) >> 1;
      if (this.offset[middle] <= call) low = middle;
      else high = middle;
    }
    return [Math.floor(low / this.ranks), low % this.ranks];
  }

  /** The call of a rank at a time, or -1; the innermost call if several threads call. */
  callAt(rank, time) {
    const span = this.spanAt(time);
    if (span < 0) return -1;
    const [first, last] = this.range(span, rank, time, time + 1);
    for (let call = last - 1; call >= first; call--) if (this.callEnd(call) >= time) return call;
    return -1;
  }

  /** What a call did, for people. */
  describe(call) {
    const kind = this.kind[call];
    const of = (name) => this.kinds[name][kind];
    const [, rank] = this.spanOf(call);
    const world = this.head.ranks[rank].rank;
    const other = (code) => {
      if (code < 3) return ["", "MPI_PROC_NULL", "unknown"][code];
      return String(world + ((code - 3) % 2 ? -(code - 2) / 2 : (code - 3) / 2));
    };
    const sites = this.head.sites;
    const comm = this.head.communicators[of("communicator")];
    return {
      rank, world, peer: other(of("peer")), source: other(of("source")), state: this.state[call], begin: this.begin[call], length: this.length[call],
      name: this.head.functions[of("function")].name, place: sites[of("site")] ?? "", tag: of("tag"),
      sent: of("sent"), received: of("received"), count: of("count"), thread: of("thread"),
      communicator: comm ? `${comm.number}${comm.size ? ` (${comm.size} ranks)` : ""}` : "",
    };
  }
}
