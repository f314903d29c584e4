"""Nouns and verbs of finished texts agree with their numbers: "1 rank repeats", "2 nodes are".

``tests/report/pages/test_all_pages.py`` asks the same of the reports of all suites and commands.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from language import wrong_numbers, wrong_numbers_in
from report_gallery import report_of


@pytest.mark.parametrize("name", ["quick", "profile", "simulate"])
def test_numbers_agree_in_reports(tmp_path: Path, name: str) -> None:
    assert wrong_numbers_in(report_of(tmp_path, name)) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("1 rank repeat their calls", 1),
        ("1 rank are late", 1),
        ("1 rank have no profile", 1),
        ("only 1 nodes failed", 1),
        ("1 launches", 1),
        ("2 nodes is late", 1),
        ("0 cells has a result", 1),
        ("1 node is late, 2 are not", 0),
        ("1 rank per node", 0),
        ("1 of 2 cells has regressed", 0),
        ("in 1 s, 1 process of 1 class was busy", 0),
        ("0.1 launches per second, 2.1 runs, 1,001 nodes", 0),
        ("1 s and 1 ms", 0),
        ("1/1 runs, window=1 buffers=one", 0),
    ],
)
def test_disagreement_is_found(text: str, wrong: int) -> None:
    assert len(wrong_numbers(text)) == wrong
