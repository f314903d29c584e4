"""A report of the suite quick prints on four pages."""

from __future__ import annotations

import re
import subprocess

import pytest

from assay.report import build_report
from assay.report.html import to_html
from browser import CHROMIUM
from report_builder import make_run, quick_cells
from report_pages import drawing_cache

__all__ = ["drawing_cache"]  # a fixture

MOST_PAGES = 4


@pytest.mark.long
@pytest.mark.skipif(CHROMIUM is None, reason="There is no Chromium on this machine.")
def test_a_quick_report_prints_on_few_pages(tmp_path):
    cells = quick_cells()
    page, printed = tmp_path / "page.html", tmp_path / "page.pdf"
    page.write_text(to_html(build_report(make_run(cells), cells)), encoding="utf-8")
    subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer",
            "--virtual-time-budget=15000", "--no-first-run", f"--user-data-dir={tmp_path / 'p'}",
            f"--print-to-pdf={printed}", page.as_uri(),
        ],
        capture_output=True,
        timeout=120,
        check=True,
    )  # fmt: skip
    pages = re.findall(rb"/Type\s*/Page\b", printed.read_bytes())
    assert 2 <= len(pages) <= MOST_PAGES
