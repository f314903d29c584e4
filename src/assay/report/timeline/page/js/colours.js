// Colours of the theme, as CSS and as pixels.

const root = document.documentElement;
const darkQuery = window.matchMedia("(prefers-color-scheme: dark)");

const themeName = () => root.dataset.theme || (darkQuery.matches ? "dark" : "light");

function channels(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function mixed(a, b, share) {
  const [x, y] = [channels(a), channels(b)];
  return "#" + x.map((value, i) => Math.round(value + (y[i] - value) * share).toString(16).padStart(2, "0")).join("");
}

/** As in ImageData: bytes red, green, blue, alpha. */
function pixel(hex) {
  const [r, g, b] = channels(hex);
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/** Relative luminance of WCAG 2.2; decides between dark and light labels. */
function luminance(hex) {
  const [r, g, b] = channels(hex).map((value) => {
    const c = value / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function palette(head) {
  const theme = head.colours[themeName()];
  const states = head.states.map((state) => theme.states[state.colour]);
  return {
    ...theme,
    states,
    // Darker parts of a whole bar's edge, and the labels in it.
    edges: states.map((colour) => mixed(colour, theme.ground, 0.35)),
    labels: states.map((colour) => (luminance(colour) > 0.3 ? "#101418" : "#ffffff")),
    dimmed: mixed(theme.computing, theme.quiet, 0.35),
    outside: theme.ground,
    pixels: Uint32Array.from([...states, theme.computing, mixed(theme.computing, theme.quiet, 0.35)], pixel),
    blank: pixel(theme.ground),
  };
}
