"""Faults are found that hinder people with weak sight, a screen reader, or the keyboard alone."""

from __future__ import annotations

import pytest

from accessibility import violations
from assay.report import build_report
from assay.report.html import to_html
from report_builder import make_run, quick_cells
from report_pages import drawing_cache

__all__ = ["drawing_cache"]  # a fixture

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def page(drawing_cache):
    cells = quick_cells()
    return to_html(build_report(make_run(cells), cells))


@pytest.mark.parametrize(
    ("harmless", "harmful", "rule"),
    [
        (' lang="en"', "", "html-has-lang"),
        ('<h1>', '<h3>Before</h3><h1>', "heading-order"),
        ('class="skip" href="#answers"', 'href="#nowhere"', "bypass"),
        ('class="scroll" tabindex="0"', 'class="scroll"', "scrollable-region-focusable"),
        ("--quiet: #57606a", "--quiet: #97a0aa", "color-contrast"),
        ('class="still" alt=', 'class="still" data-alt=', "image-alt"),
        ('<th scope="col">', "<th>", "scope-attr-valid"),
        ("<th ", "<td ", "td-headers-attr"),
        ('<th scope="col">Measured</th>', '<th scope="col"></th>', "empty-table-header"),
    ],
)  # fmt: skip
def test_planted_faults_are_found(browser, page, harmless, harmful, rule):
    assert harmless in page
    policy = page.replace("style-src 'sha256", "style-src 'unsafe-inline' 'old", 1)
    changed = (policy if rule == "color-contrast" else page).replace(harmless, harmful)
    if rule == "scrollable-region-focusable":
        changed = changed.replace("max-width: 1136px", "max-width: 236px")
        changed = changed.replace("style-src 'sha256", "style-src 'unsafe-inline' 'old", 1)
    browser.open_text(changed)
    found = violations(browser)["wrong"]
    assert any(each.startswith(f"{rule}:") for each in found), found
