// Functions inside computing: samples of call stacks, between calls of MPI.

const MOST_FUNCTIONS = 12, MOST_OVERLAPPING = 64, MOST_IN_TIP = 4;

/** Samples by rank: times (ns) in ascending order, and the function of each. */
class Samples {
  constructor(head, found) {
    this.functions = head.functions;
    this.period = head.period;
    this.offset = [0];
    for (const count of found["sample.counts"]) this.offset.push(this.offset.at(-1) + count);
    this.time = found["sample.gap"];
    this.function = found["sample.function"];
    for (let row = 0; row + 1 < this.offset.length; row++) {
      for (let i = this.offset[row] + 1; i < this.offset[row + 1]; i++) this.time[i] += this.time[i - 1];
    }
  }

  first(row, time) {
    let from = this.offset[row], to = this.offset[row + 1];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (this.time[middle] < time) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  /** Names and CPU times (s) of the functions of a rank in [t0, t1), the most time first. */
  within(row, t0, t1) {
    const counts = new Map();
    const last = this.first(row, t1);
    for (let i = this.first(row, t0); i < last; i++) {
      counts.set(this.function[i], (counts.get(this.function[i]) ?? 0) + 1);
    }
    return [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0])
      .map(([place, count]) => [this.functions[place], count * this.period]);
  }
}

/** The time between two calls of a rank, or null if there is a call. */
function computingAt(data, row, time) {
  const span = data.spanAt(time);
  if (span < 0 || data.callAt(row, time) >= 0) return null;
  const { begin, end } = data.head.ranks[row];
  const [low, high] = data.spans[span];
  const place = span * data.ranks + row;
  const [start, stop] = [data.offset[place], data.offset[place + 1]];
  const next = data.firstFrom(start, stop, time);
  let from = Math.max(low, begin);
  // Calls of other threads may end later than the last one that began.
  for (let call = Math.max(start, next - MOST_OVERLAPPING); call < next; call++) from = Math.max(from, data.callEnd(call));
  return [from, next < stop ? data.begin[next] : Math.min(high, end)];
}

/** Rows of the functions of a rank within a time; a sentence if none of its samples is there. */
function functionValues(data, row, t0, t1, most = MOST_FUNCTIONS) {
  if (!data.samples) return [];
  const found = data.samples.within(row, t0, t1);
  if (!found.length) return [["Functions", "no sample in this time"]];
  const total = found.reduce((sum, [, time]) => sum + time, 0);
  const rows = found.slice(0, most).map(([name, time]) => [name, `${percentText(time / total)}, ${timeText(time * 1e9)}`]);
  const rest = found.slice(most).reduce((sum, [, time]) => sum + time, 0);
  return rest ? [...rows, [`${found.length - most} more`, percentText(rest / total)]] : rows;
}

function computingValues(data, row, [t0, t1], most = MOST_FUNCTIONS) {
  const rank = data.head.ranks[row];
  return [["Rank", `${rank.rank}, ${rank.host}`], ["Begin", exactTime(t0)], ["Duration", exactTime(t1 - t0)],
    ...functionValues(data, row, t0, t1, most)];
}
