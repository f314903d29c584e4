"""A report of the suite quick prints on four pages."""

from __future__ import annotations

import re

import pytest

from assay.report import build_report
from assay.report.html import to_html
from report_builder import make_run, quick_cells
from report_pages import drawing_cache

__all__ = ["drawing_cache"]  # a fixture

MOST_PAGES = 4


@pytest.mark.long
def test_a_quick_report_prints_on_few_pages(browser):
    cells = quick_cells()
    browser.open_text(to_html(build_report(make_run(cells), cells)))
    pages = re.findall(rb"/Type\s*/Page\b", browser.printed())
    assert 2 <= len(pages) <= MOST_PAGES
