// Numbers as text: times in ns, sizes in bytes, with units.

const NBSP = "\u00a0";

/** With a minus sign, as in reports. */
const fixed = (value, places) => value.toFixed(places).replace("-", "\u2212");

/** A length of time with `digits` significant digits or a few more. */
function timeText(ns, digits = 3) {
  const size = Math.abs(ns);
  const [scale, unit] = size >= 1e9 ? [1e9, "s"] : size >= 1e6 ? [1e6, "ms"] : size >= 1e3 ? [1e3, "µs"] : [1, "ns"];
  const value = ns / scale;
  const whole = Math.max(Math.floor(Math.log10(Math.abs(value) || 1)) + 1, 1);
  const places = scale === 1 ? 0 : Math.max(digits - whole, 0);
  return fixed(value, places) + NBSP + unit;
}

/** A time of day on the axis: all with the unit and places that `step` needs. */
function tickText(ns, step, span) {
  const [scale, unit] = span >= 1e9 ? [1e9, "s"] : span >= 1e6 ? [1e6, "ms"] : span >= 1e3 ? [1e3, "µs"] : [1, "ns"];
  const places = Math.max(0, Math.ceil(-Math.log10(step / scale) - 1e-9));
  return fixed(ns / scale, places) + NBSP + unit;
}

/** Exact: all nanoseconds, in the most readable unit. */
function exactTime(ns) {
  const [scale, unit, places] = Math.abs(ns) >= 1e9 ? [1e9, "s", 9] : Math.abs(ns) >= 1e6 ? [1e6, "ms", 6]
    : Math.abs(ns) >= 1e3 ? [1e3, "µs", 3] : [1, "ns", 0];
  return fixed(ns / scale, places) + NBSP + unit;
}

const countText = (n) => n.toLocaleString("en-US");
const bytesText = (n) => (n < 0 ? "unknown" : countText(n) + NBSP + "B");

function percentText(share) {
  const value = 100 * share;
  if (value === 0) return "0" + NBSP + "%";
  if (value < 0.1) return "<0.1" + NBSP + "%";
  return (value < 10 ? value.toFixed(1) : value.toFixed(0)) + NBSP + "%";
}

/** The step of 1, 2 or 5 times a power of ten that is at least `least`. */
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  for (const factor of [1, 2, 5]) if (factor * power >= least) return factor * power;
  return 10 * power;
}
