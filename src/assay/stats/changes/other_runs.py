"""What other runs of the machine show about the cells of a run (``stats.cells.agreement``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from assay.stats.cells.agreement import LASTING, agreement
from assay.stats.cells.headline import headline_metric
from assay.stats.changes.courses import CellCourse
from assay.stats.core.model import CellSummary


def with_other_runs(
    cells: Sequence[CellSummary], courses: Mapping[str, CellCourse], run: str, utc: float
) -> list[CellSummary]:
    """The cells with what other runs show about the interval of their headline metric.

    ``courses``: the cells in the history of the machine, by id. ``run``, ``utc``: the name and the
    start (Unix time, s) of the run of these cells.
    """
    return [_with_others(cell, courses.get(cell.id), run, utc) for cell in cells]


def _with_others(cell: CellSummary, course: CellCourse | None, run: str, utc: float) -> CellSummary:
    headline = headline_metric(cell)
    if cell.evidence is None or course is None or headline is None or headline.ci95 is None:
        return cell
    others = course.others(run, utc, least=LASTING)
    found = agreement(headline.median, headline.ci95, others)
    evidence = msgspec.structs.replace(cell.evidence, others=found)
    return msgspec.structs.replace(cell, evidence=evidence)
