"""What is wrong, one line per node, cell or finding: for mails, logs and monitoring."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from assay.questions.common.answer import Answer
from assay.units import Interval

#: Where a line is about the whole machine or run.
EVERYWHERE = "-"


@dataclass(frozen=True)
class ReportLine:
    """One thing that is wrong."""

    #: The node, group of nodes, machine or side that it is about; ``-``: all of it.
    where: str
    #: The cell, resource or finding.
    what: str
    #: What happened, or what to check.
    text: str
    #: Relative deviation of the metric; negative is worse. Null if there is no number.
    change: float | None = None
    #: 95% interval of ``change``.
    ci95: Interval | None = None
    #: First day (UTC) of the deviation; empty if unknown.
    since: str = ""


def lines_text(lines: Sequence[ReportLine]) -> str:
    """The lines as text: WHERE, WHAT, CHANGE, SINCE and TEXT, with at least two blanks between
    them, in printable ASCII. ``-`` stands for what is unknown. Empty if nothing is wrong.
    """
    rows = [
        (_field(line.where), _field(line.what), _change(line), line.since or "-", line.text)
        for line in lines
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(4)] if rows else []
    return "".join(
        "  ".join(
            (*(part.ljust(width) for part, width in zip(row, widths, strict=False)), plain(row[4]))
        ).rstrip()
        + "\n"
        for row in rows
    )


def plain(text: str) -> str:
    """Printable ASCII on one line, without two blanks in a row."""
    return printable(" ".join(text.replace("\N{MIDDLE DOT}", ",").split()))


def printable(text: str) -> str:
    """Printable ASCII: a minus sign as "-", a micro sign as "u", other characters as "?"."""
    ascii_text = text.replace("\N{MINUS SIGN}", "-").replace("\N{MICRO SIGN}", "u")
    return "".join(each if " " <= each <= "~" else "?" for each in ascii_text)


def _field(text: str) -> str:
    return plain(text) or "-"


def _change(line: ReportLine) -> str:
    """``-18% [-20, -16]``; a decimal below 10%."""
    if line.change is None:
        return "-"
    digits = 0 if abs(line.change) >= 0.1 else 1
    text = f"{100 * line.change:+.{digits}f}%"
    if line.ci95 is None:
        return text
    return f"{text} [{', '.join(f'{100 * end:+.{digits}f}' for end in line.ci95)}]"


def advice_lines(what: str, answer: Answer) -> list[ReportLine]:
    """What a report without cells and nodes has: impossible numbers, urgent sentences, advice.

    ``what``: what the advice is about.
    """
    sentences = [*(each.sentence for each in answer.impossible), *answer.urgent, *answer.advice]
    return [ReportLine(EVERYWHERE, what, sentence) for sentence in dict.fromkeys(sentences)]


def day_of(utc: float) -> str:
    """The day (UTC) of a Unix time, such as ``2026-06-05``."""
    return time.strftime("%Y-%m-%d", time.gmtime(utc))
