"""The page for a board: one sheet of A4 and of letter paper, whatever it says."""

from __future__ import annotations

import re

import pytest

from assay.report import build_report
from assay.report.page.fit import fitted
from assay.report.page.html import to_page
from assay.subjects.board import Board
from board_pages import LONG, WIDE, WORDS, crowded
from report_builder import make_run, quick_cells

A4, LETTER = (8.27, 11.69), (8.5, 11.0)
# Widths of these papers without margins of 12 mm, px.
WIDTHS = (703, 725)
_CUT = """
const main = document.querySelector("main");
return { cut: main.scrollHeight - main.clientHeight, wide: main.scrollWidth - main.clientWidth,
  high: main.getBoundingClientRect().height };
"""


@pytest.fixture(scope="module")
def quick():
    cells = quick_cells()
    return build_report(make_run(cells), cells)


def sheets(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


@pytest.mark.parametrize("text", [None, WORDS, LONG, WIDE], ids=["quick", "many", "long", "wide"])
def test_the_page_is_one_sheet_and_nothing_is_cut_off(browser, quick, text):
    report = quick if text is None else crowded(quick, text)
    browser.open_text(to_page(report))
    assert browser.errors() == []
    assert [sheets(browser.printed(paper)) for paper in (A4, LETTER)] == [1, 1]
    for width in WIDTHS:
        browser.paper(width=width)
        found = browser.ask(_CUT)
        assert found["cut"] <= 0 and found["wide"] <= 0
    if text is not None:  # The room is used: at most a third of 964 px is left.
        assert found["high"] > 640


@pytest.mark.slow
@pytest.mark.parametrize("width", [400, 1200])
def test_the_page_fits_a_window(browser, quick, width):
    browser.open_text(to_page(crowded(quick, LONG)), width=width)
    assert browser.ask("return document.documentElement.scrollWidth - innerWidth") <= 0


def test_the_page_answers_what_it_is_what_it_costs_how_sure_and_what_to_decide(quick):
    page = to_page(quick)
    for heading in ("What it is and does", "What it costs", "How sure it is", "To decide"):
        assert f"<h3>{heading}</h3>" in page
    assert "35.1 GB/s" in page  # the planted bandwidth of two cores


def test_sentences_that_do_not_fit_are_counted(quick):
    sentences = [f"Sentence {number} of many, which is not short." for number in range(100)]
    board = Board(
        verdict="Yes", tone="", sentence="So.", headlines=[], decide=sentences, sure=["Sure."]
    )
    cards = {card.title: card.sentences for card in fitted(quick, board).cards}
    shown = cards["To decide"]
    assert shown[:-1] == sentences[: len(shown) - 1] and len(shown) > 10
    assert shown[-1] == f"{100 - len(shown) + 1} more in the report."


def test_a_page_refers_to_nothing_outside(quick):
    page = to_page(crowded(quick))
    assert not re.search(r"(?:src|href)=\"(?!data:)", page) and "<script" not in page
