"""Reports whose page for a board is hard to fit on one sheet."""

from __future__ import annotations

import msgspec

from assay.report.model import ReportModel
from assay.subjects.board import Board, Headline

LONG = "a-very-long-name-without-any-blank-" * 12
WORDS = "One of many findings says that the bandwidth of node n042 is 18% below its peers. "
WIDE = "測定値の中央値は他の計算機より大きい。" * 20


def crowded(report: ReportModel, text: str = WORDS) -> ReportModel:
    """The report with a page of more texts than fit, each of them long."""
    sentences = [f"Finding {number}: {text * 3}" for number in range(1, 41)]
    board = Board(
        verdict=text,
        tone="bad",
        sentence=text * 10,
        headlines=[Headline(text, text, text * 2, "bad") for _ in range(12)],
        decide=sentences,
        sure=sentences,
        what=sentences,
        does=sentences,
        costs=sentences,
    )
    return msgspec.structs.replace(
        report, title=text * 3, machine=text * 3, summary=text * 3, run=text * 2, page=board
    )
