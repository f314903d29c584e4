"""One line per cell that has regressed, or whose newest runs are worse."""

from __future__ import annotations

from collections.abc import Iterator

from assay.questions.common.lines import ReportLine, day_of
from assay.subjects.history.model import CellHistory, History


def lines(history: History) -> list[ReportLine]:
    """In the order of the cells."""
    return [line for cell in history.cells for line in _of_cell(cell)]


def _of_cell(cell: CellHistory) -> Iterator[ReportLine]:
    if cell.state == "regression" and cell.against is not None:
        worse = [each for each in cell.events if each.worse and each.kind != "spread"]
        ends = cell.against_ci95 and tuple(cell.worsening(-end) for end in cell.against_ci95)
        yield ReportLine(
            cell.system,
            cell.label,
            (worse[-1].remark if worse else "") or "slower than before",
            change=-cell.worsening(cell.against),
            ci95=None if ends is None else (min(ends), max(ends)),
            since=day_of(worse[-1].utc) if worse else "",
        )
    elif cell.suspect is not None and cell.worsening(cell.suspect.size) > 0:
        yield ReportLine(
            cell.system,
            cell.label,
            f"newest runs ({cell.suspect.runs}) worse; not yet certain",
            change=-cell.worsening(cell.suspect.size),
            since=day_of(cell.points.utc[-cell.suspect.runs]),
        )
