"""Finds defects of a page by the places of its texts: overlaps, cuts, crowded ticks, digits.

Texts outside of figures and tables have a module of their own (``text_geometry``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from browser import Browser
from text_geometry import text_defects

# The least distance of the centres of neighbouring labels of an axis, in px.
LEAST_X, LEAST_Y, LEAST_SLANTED = 24, 12, 11
MOST_DIGITS = 7
# Lines of one word each in a field of a table; below the width (px) fields are narrow on purpose.
MOST_LINES, NARROW = 2, 820

_LIMITS = (
    f"const LEAST_X = {LEAST_X}, LEAST_Y = {LEAST_Y}, LEAST_SLANTED = {LEAST_SLANTED}, "
    f"MOST_LINES = {MOST_LINES}, NARROW = {NARROW};"
)
_SCRIPT = r"""
const box = (e) => e.getBoundingClientRect();
// The box of a slanted text is larger than the text: their overlaps are not judged.
const slanted = (text) => {
  const m = text.getCTM();
  return Math.abs(m.a) > 0.01 && Math.abs(m.b) > 0.01;
};
const found = {};
for (const figure of document.querySelectorAll("[data-figure]")) {
  const svg = figure.querySelector(".live svg");
  const problems = [];
  if (!svg) { found[figure.dataset.figure] = { problems: ["is not drawn"], said: [] }; continue; }
  const all = box(svg);
  const texts = [...svg.querySelectorAll("text")]
    .filter((e) => e.textContent.trim() && getComputedStyle(e).opacity > 0
      && (e.closest("[opacity='0']") === null))
    .map((e) => ({ e, said: e.textContent, b: box(e), slant: slanted(e) }))
    .filter(({ b }) => b.width > 0);
  for (const { said, b } of texts) {
    if (b.left < all.left - 1.5 || b.right > all.right + 1.5 || b.top < all.top - 1.5
      || b.bottom > all.bottom + 1.5) problems.push(`leaves the figure: ${said}`);
  }
  for (const { e, said } of texts) {
    if (e.closest(".role-legend-title, .role-axis-title") && said.endsWith("…"))
      problems.push(`cut title: ${said}`);
  }
  const level = texts.filter(({ slant }) => !slant).sort((p, q) => p.b.left - q.b.left);
  level.forEach(({ said, b: a }, i) => {
    for (let j = i + 1; j < level.length && level[j].b.left < a.right - 1.5; j++) {
      const b = level[j].b;
      const w = Math.min(a.right, b.right) - b.left;
      const h = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (w > 1.5 && h > 0.3 * Math.min(a.height, b.height))
        problems.push(`overlap: ${said} | ${level[j].said}`);
    }
  });
  for (const axis of svg.querySelectorAll(".role-axis")) {
    const labels = texts.filter(({ e }) => e.closest(".role-axis-label") && axis.contains(e));
    for (const { said } of labels) {
      // Zeros and exponents in place of a prefix; names may have any numbers.
      if (/^[+−-]?(0\.00\d*|[\d,]{6,}(\.\d+)?|[\d.]+e[+−-]?\d+)%?$/.test(said.trim()))
        problems.push(`no prefix: ${said}`);
    }
    const cut = labels.map(({ said }) => said).filter((said) => said.includes("…"));
    if (innerWidth >= NARROW && new Set(cut).size < cut.length)
      problems.push(`labels cut alike: ${cut[0]}`);
    if (labels.length < 2) continue;
    // A slanted label ends at its tick.
    const x = labels.map(({ b, slant }) => (slant ? b.right : (b.left + b.right) / 2));
    const y = labels.map(({ b, slant }) => (slant ? b.top : (b.top + b.bottom) / 2));
    const span = (v) => Math.max(...v) - Math.min(...v);
    const along = span(x) > span(y) ? x : y;
    const sorted = [...along].sort((p, q) => p - q);
    const least = Math.min(...sorted.slice(1).map((v, k) => v - sorted[k]));
    const slant = labels.some((label) => label.slant);  // slanted labels need but their height
    if (least < (slant ? LEAST_SLANTED : along === x ? LEAST_X : LEAST_Y))
      problems.push(`ticks ${least.toFixed(0)} px apart`);
  }
  // All legends of a figure: an entry in two is one too many.
  const entries = [...svg.querySelectorAll(".role-legend-label text")].map((t) => t.textContent);
  const twice = entries.filter((text, k) => entries.indexOf(text) !== k);
  if (twice.length) problems.push(`twice in a legend: ${twice[0]}`);
  for (const legend of svg.querySelectorAll(".role-legend")) {
    const marks = [...legend.querySelectorAll(".role-legend-symbol path")]
      .map((e) => [e.getAttribute("d"), e.getAttribute("fill"), e.getAttribute("stroke"),
        e.getAttribute("stroke-dasharray")].join());
    const same = marks.findIndex((mark, k) => marks.indexOf(mark) !== k);
    if (same >= 0) problems.push(`two entries of a legend look alike: number ${same + 1}`);
  }
  found[figure.dataset.figure] = { problems, said: texts.map(({ said }) => said) };
}
// A column of a table whose text is broken into many lines while others have room.
const squeezed = [];
for (const table of document.querySelectorAll(".scroll table")) {
  if (!table.offsetWidth || innerWidth < NARROW) continue;
  for (const cell of table.querySelectorAll("tbody td")) {
    const range = document.createRange();
    range.selectNodeContents(cell);
    const lines = new Set([...range.getClientRects()].map((r) => Math.round(r.top))).size;
    const words = cell.textContent.trim().split(/[\s,-]+/).length;
    if (lines > MOST_LINES && lines >= words) { squeezed.push(cell.textContent); break; }
  }
}
return { found, squeezed };
"""
# Vega-Lite says this of every figure whose height follows from its rows.
_HARMLESS = 'WARN Dropping "fit-y"'


def defects(browser: Browser, page: str, widths: Iterable[int]) -> list[str]:
    """The defects of a page at widths in px: ``width, figure: what is wrong``."""
    first, *others = widths
    browser.open_text(page, width=first)
    problems = _defects(browser, first)
    for width in others:
        browser.resize(width)
        problems += _defects(browser, width)
    return problems


def wide(browser: Browser) -> int:
    """By how many px the page is wider than the window."""
    script = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    return max(0, browser.ask(script))


def complaints(browser: Browser) -> list[str]:
    """What the page complained of since the last call."""
    return [each for each in browser.errors() if not each.startswith(_HARMLESS)]


def _defects(browser: Browser, width: int) -> list[str]:
    seen = browser.ask(_LIMITS + _SCRIPT)
    problems = [f"page: {each}" for each in complaints(browser)]
    if overflow := wide(browser):
        problems.append(f"page: {overflow} px wider than the window")
    problems += [f"page: a narrow column: {text}" for text in seen["squeezed"]]
    problems += [f"page: {each}" for each in text_defects(browser)]
    for name, figure in seen["found"].items():
        problems += [f"{name}: {each}" for each in figure["problems"]]
        problems += [f"{name}: digits of {text}" for text in figure["said"] if too_precise(text)]
    return [f"{width} px, {each}" for each in problems]


def too_precise(text: str) -> bool:
    """Whether a number in the text has more significant digits than a reader can use."""
    for number in re.findall(r"\d[\d,]*(?:\.\d+)?", text):
        digits = number.replace(",", "").replace(".", "").lstrip("0")
        if "." not in number:
            digits = digits.rstrip("0")
        if len(digits) > MOST_DIGITS or (len(number) > MOST_DIGITS and number.isdigit()):
            return True
    return False
