// Search: which kinds of calls and ranks match, and where the next match is.

/** "allreduce", "solve.f90:120", "rank 3" or "3", a host. All words must match. */
class Filter {
  constructor(data, query) {
    this.data = data;
    const { head } = data;
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const numbers = [];
    const names = [];
    for (let i = 0; i < words.length; i++) {
      if (words[i] === "rank") continue;
      const hosts = head.ranks.some((rank) => rank.host.toLowerCase() === words[i]);
      if (/^\d+$/.test(words[i]) || hosts) numbers.push(words[i]);
      else names.push(words[i]);
    }
    this.ranks = Uint8Array.from(head.ranks, (rank) =>
      numbers.every((word) => String(rank.rank) === word || rank.host.toLowerCase() === word));
    const text = (f, site) => `${head.functions[f].name} mpi_${head.functions[f].name} ${head.sites[site] ?? ""}`.toLowerCase();
    const matches = (f, site) => names.every((word) => text(f, site).includes(word));
    this.kinds = Uint8Array.from(data.kinds.function, (f, k) => matches(f, data.kinds.site[k]));
    this.places = head.places.filter((place) => matches(place.function, place.site));
    this.states = new Uint8Array(data.states + 1);
    for (const place of this.places) this.states[head.functions[place.function].state] = 1;
    this.calls = this.places.reduce((sum, place) => sum + place.calls, 0);
    this.time = this.places.reduce((sum, place) => sum + place.time, 0);
    this.byRank = numbers.length > 0;
    this.empty = !this.places.length || !this.ranks.some(Boolean);
  }

  /** The nearest matching call after (before) a time: among the calls in detail and the
   * places' first and longest calls. [rank, begin, end], or null. */
  next(time, rank, back) {
    const { data } = this;
    let best = null;
    const better = (begin, row) => {
      const later = begin > time || (begin === time && row > rank);
      const earlier = begin < time || (begin === time && row < rank);
      if (back ? !earlier : !later) return false;
      if (!best) return true;
      return back ? begin > best[1] || (begin === best[1] && row > best[0]) : begin < best[1] || (begin === best[1] && row < best[0]);
    };
    const spans = back ? data.spans.map((_, s) => s).reverse() : data.spans.map((_, s) => s);
    for (const s of spans) {
      if (back ? data.spans[s][0] > time : data.spans[s][1] < time) continue;
      for (let row = 0; row < data.ranks; row++) {
        if (!this.ranks[row]) continue;
        const place = s * data.ranks + row;
        const start = data.offset[place], stop = data.offset[place + 1];
        if (back) {
          let call = data.firstFrom(start, stop, time + 1) - 1;
          while (call >= start && !(this.kinds[data.kind[call]] && better(data.begin[call], row))) call--;
          if (call >= start) best = [row, data.begin[call], data.callEnd(call), call];
        } else {
          let call = data.firstFrom(start, stop, time);
          while (call < stop && !(this.kinds[data.kind[call]] && better(data.begin[call], row))) call++;
          if (call < stop) best = [row, data.begin[call], data.callEnd(call), call];
        }
      }
      if (best) break;
    }
    for (const place of this.places) {
      for (const [number, begin, end] of [place.first, place.longest]) {
        const row = data.head.ranks.findIndex((of) => of.rank === number);
        if (this.ranks[row] && better(begin, row)) best = [row, begin, end, -1];
      }
    }
    return best;
  }
}
