"""Reports on paper: nothing is closed, figures stand in twos, links can be read."""

from __future__ import annotations

import re

import pytest

from assay.report import build_report
from assay.report.html import to_html
from first_screens import first_screen
from report_builder import make_run, quick_cells
from report_gallery import report_of
from report_pages import drawing_cache

__all__ = ["drawing_cache"]  # a fixture

MOST_PAGES = 5
# A4 without its margins of 12 mm, in px.
PAPER = 703
_CLOSED = """
const shown = (e) => e.checkVisibility() && e.getClientRects().length > 0;
const hidden = [...document.querySelectorAll("details")].filter((each) => shown(each)
  && ![...each.children].slice(1).every((e) => shown(e) && e.getBoundingClientRect().height > 1));
return { of: document.querySelectorAll("details").length,
  hidden: hidden.map((each) => each.querySelector("summary").textContent) };
"""
_FIGURES = """
const still = [...document.querySelectorAll("figure .still")].map((e) => e.getBoundingClientRect());
const rows = {};
for (const figure of document.querySelectorAll("figure")) {
  const box = figure.getBoundingClientRect();
  const row = `${figure.parentElement.className} ${Math.round(box.top)}`;
  (rows[row] = rows[row] || []).push(box.width);
}
return { rows: Object.values(rows), wide: document.documentElement.scrollWidth - innerWidth,
  least: Math.min(...still.map((box) => box.height)), live: [...document.querySelectorAll(".live")]
    .filter((e) => e.checkVisibility()).length };
"""
_LINKS = """
return [...document.querySelectorAll("a")].filter((e) => e.checkVisibility()).map((e) => {
  const channels = getComputedStyle(e).color.match(/[0-9.]+/g).slice(0, 3).map(Number);
  const [r, g, b] = channels.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92
    : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 1.05 / (0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05);
});
"""


@pytest.fixture(scope="module")
def quick(drawing_cache):
    cells = quick_cells()
    return to_html(build_report(make_run(cells), cells))


@pytest.mark.long
def test_a_quick_report_prints_on_few_pages(browser, quick):
    browser.open_text(quick)
    pages = re.findall(rb"/Type\s*/Page\b", browser.printed())
    assert 2 <= len(pages) <= MOST_PAGES


@pytest.mark.slow
def test_what_is_closed_on_the_screen_is_open_on_paper(browser):
    page = to_html(first_screen("many caveats and recommendations"))
    browser.open_text(page)
    on_screen = browser.ask(_CLOSED)
    assert on_screen["of"] >= 2 and len(on_screen["hidden"]) == on_screen["of"]
    # Without the script: printing to a file, and readers that forbid scripts.
    browser.paper(width=PAPER)
    assert browser.ask(_CLOSED)["hidden"] == []


@pytest.mark.slow
def test_the_script_opens_all_for_printing_and_closes_them_again(browser):
    browser.open_text(to_html(first_screen("many caveats and recommendations")))
    opened = browser.ask("""
      const closed = () => document.querySelectorAll("details:not([open])").length;
      const first = document.querySelector("details");
      first.open = true;
      const counts = [closed()];
      dispatchEvent(new Event("beforeprint")); counts.push(closed());
      dispatchEvent(new Event("afterprint")); counts.push(closed());
      return [...counts, first.open];
    """)
    assert opened[0] > 0 and opened == [opened[0], 0, opened[0], True]


@pytest.mark.long
@pytest.mark.parametrize("dark", [False, True])
def test_links_can_be_read_on_white_paper(browser, dark):
    browser.open_text(to_html(first_screen("everything at once")), dark=dark)
    browser.paper(width=PAPER)
    contrasts = browser.ask(_LINKS)
    assert len(contrasts) >= 6 and min(contrasts) >= 7  # WCAG 2.2, 1.4.6


@pytest.mark.long
@pytest.mark.parametrize("name", ["npb", "usage", "network", "nodes", "unsteady"])
def test_figures_stand_in_twos_on_paper(browser, tmp_path, name):
    browser.open_text(to_html(report_of(tmp_path, name)))
    browser.paper(width=PAPER)
    found = browser.ask(_FIGURES)
    assert found["live"] == 0 and found["wide"] <= 0 and found["least"] > 60
    for widths in found["rows"]:
        assert len(widths) <= 2
        assert min(widths) > PAPER * 0.4
    assert name == "nodes" or any(len(widths) == 2 for widths in found["rows"])
    assert browser.ask(_CLOSED)["hidden"] == []
