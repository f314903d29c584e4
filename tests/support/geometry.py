"""Finds defects of a page by the places of its texts: overlaps, cuts, crowded ticks, digits."""

# ruff: noqa: E501 - the script

from __future__ import annotations

import re
from pathlib import Path

from browser import look, with_probe

# The least distance of the centres of neighbouring labels of an axis, in px.
LEAST_X, LEAST_Y = 24, 12
MOST_DIGITS = 7

_SCRIPT = """
<script>
(async () => {
  await window.assayReady;
  const box = (e) => e.getBoundingClientRect();
  const shown = (e) => e.textContent.trim() && getComputedStyle(e).opacity > 0
    && (e.closest("[opacity='0']") === null) && box(e).width > 0;
  const found = {};
  for (const figure of document.querySelectorAll("[data-figure]")) {
    const svg = figure.querySelector(".live svg");
    const problems = [];
    if (!svg) { found[figure.dataset.figure] = ["is not drawn"]; continue; }
    const all = box(svg);
    const texts = [...svg.querySelectorAll("text")].filter(shown);
    for (const text of texts) {
      const b = box(text);
      if (b.left < all.left - 1.5 || b.right > all.right + 1.5 || b.top < all.top - 1.5
        || b.bottom > all.bottom + 1.5) problems.push(`leaves the figure: ${text.textContent}`);
    }
    // The box of a slanted text is larger than the text: their overlaps are not judged.
    const slanted = (text) => {
      const m = text.getCTM();
      return Math.abs(m.a) > 0.01 && Math.abs(m.b) > 0.01;
    };
    for (let i = 0; i < texts.length; i++) for (let j = i + 1; j < texts.length; j++) {
      if (slanted(texts[i]) || slanted(texts[j])) continue;
      const a = box(texts[i]), b = box(texts[j]);
      const w = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const h = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (w > 1.5 && h > 0.3 * Math.min(a.height, b.height))
        problems.push(`overlap: ${texts[i].textContent} | ${texts[j].textContent}`);
    }
    for (const axis of svg.querySelectorAll(".role-axis")) {
      const labels = [...axis.querySelectorAll(".role-axis-label text")].filter(shown)
        .map((text) => ({ b: box(text), end: slanted(text) }));
      if (labels.length < 2) continue;
      // A slanted label ends at its tick.
      const x = labels.map(({ b, end }) => (end ? b.right : (b.left + b.right) / 2)), y = labels.map(({ b, end }) => (end ? b.top : (b.top + b.bottom) / 2));
      const span = (v) => Math.max(...v) - Math.min(...v);
      const along = span(x) > span(y) ? x : y;
      const sorted = [...along].sort((p, q) => p - q);
      const least = Math.min(...sorted.slice(1).map((v, k) => v - sorted[k]));
      const slant = labels.some(({ end }) => end);  // slanted labels need but their height
      if (least < (along === x && !slant ? LEAST_X : LEAST_Y)) problems.push(`ticks ${least.toFixed(0)} px apart`);
    }
    // All legends of a figure: an entry in two is one too many.
    const entries = [...svg.querySelectorAll(".role-legend-label text")].map((t) => t.textContent);
    const twice = entries.filter((text, k) => entries.indexOf(text) !== k);
    if (twice.length) problems.push(`twice in a legend: ${twice[0]}`);
    const said = texts.map((text) => text.textContent);
    found[figure.dataset.figure] = { problems, said };
  }
  const overflow = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  const out = document.createElement("pre");
  out.id = "probe";
  out.textContent = JSON.stringify({ errors: window.assayErrors, found, overflow });
  document.body.append(out);
})();
</script>
""".replace("LEAST_X", str(LEAST_X)).replace("LEAST_Y", str(LEAST_Y))


def defects(page: str, folder: Path, width: int) -> list[str]:
    """The defects of a page at a width in px: ``figure: what is wrong``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"page-{width}.html"
    path.write_text(with_probe(page, _SCRIPT), encoding="utf-8")
    seen = look(path, folder / "profile", dark=False, width=width)
    # Vega-Lite says this of every figure whose height follows from its rows.
    harmless = 'WARN Dropping "fit-y"'
    problems = [f"page: {error}" for error in seen["errors"] if not error.startswith(harmless)]
    if seen["overflow"] > 0:
        problems.append(f"page: {seen['overflow']} px wider than the window")
    for name, figure in seen["found"].items():
        if isinstance(figure, list):
            problems += [f"{name}: {each}" for each in figure]
            continue
        problems += [f"{name}: {each}" for each in figure["problems"]]
        problems += [f"{name}: digits of {text}" for text in figure["said"] if too_precise(text)]
    return problems


def too_precise(text: str) -> bool:
    """Whether a number in the text has more significant digits than a reader can use."""
    for number in re.findall(r"\d[\d,]*(?:\.\d+)?", text):
        digits = number.replace(",", "").replace(".", "").lstrip("0")
        if "." not in number:
            digits = digits.rstrip("0")
        if len(digits) > MOST_DIGITS or (len(number) > MOST_DIGITS and number.isdigit()):
            return True
    return False
