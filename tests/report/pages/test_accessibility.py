"""Reports can be read with little contrast vision, a screen reader, and the keyboard alone."""

from __future__ import annotations

import pytest

from accessibility import violations
from assay.report import build_report
from assay.report.html import to_html
from browser import CHROMIUM
from report_builder import make_run, quick_cells
from report_pages import drawing_cache

__all__ = ["drawing_cache"]  # a fixture

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(CHROMIUM is None, reason="There is no Chromium on this machine."),
]


@pytest.fixture(scope="module")
def page(drawing_cache):
    cells = quick_cells()
    return to_html(build_report(make_run(cells), cells))


@pytest.mark.parametrize("dark", [False, True])
def test_a_report_breaks_no_rule(page, tmp_path, dark):
    found = violations(page, tmp_path, dark=dark)
    assert found["wrong"] == []
    assert found["measured"] > 500


@pytest.mark.parametrize(
    ("harmless", "harmful", "rule"),
    [
        (' lang="en"', "", "html-has-lang"),
        ('<h1>', '<h3>Before</h3><h1>', "heading-order"),
        ('class="skip" href="#answers"', 'href="#nowhere"', "bypass"),
        ('class="scroll" tabindex="0"', 'class="scroll"', "scrollable-region-focusable"),
        ("--quiet: #57606a", "--quiet: #97a0aa", "color-contrast"),
        ('class="still" alt=', 'class="still" data-alt=', "image-alt"),
    ],
)  # fmt: skip
def test_planted_faults_are_found(page, tmp_path, harmless, harmful, rule):
    assert harmless in page
    policy = page.replace("style-src 'sha256", "style-src 'unsafe-inline' 'old", 1)
    changed = (policy if rule == "color-contrast" else page).replace(harmless, harmful)
    if rule == "scrollable-region-focusable":
        changed = changed.replace("max-width: 1136px", "max-width: 236px")
        changed = changed.replace("style-src 'sha256", "style-src 'unsafe-inline' 'old", 1)
    found = violations(changed, tmp_path, dark=False)["wrong"]
    assert any(each.startswith(f"{rule}:") for each in found), found
