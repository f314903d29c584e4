"""What is wrong in a run, one line each: failed cells, missed expectations, impossible numbers,
and cells that became slower.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from assay.hostnames import names_text
from assay.kernels.naming import cell_name
from assay.questions.common.answer import Answer
from assay.questions.common.lines import EVERYWHERE, ReportLine, day_of
from assay.records.model import RunData
from assay.report.expectations.judge import Judgement
from assay.stats.changes.courses import CellCourse
from assay.stats.core.model import UNTRIED, CellSummary
from assay.units import counted


def run_lines(
    run: RunData,
    cells: Sequence[CellSummary],
    courses: Mapping[str, CellCourse],
    answers: Sequence[Answer],
) -> list[ReportLine]:
    """``courses``: the cells in the history of the machine, by id."""
    return [
        *_lost_hosts(run),
        *_failures(cells),
        *_sentences(answers),
        *(line for cell in cells for line in _slower(run, cell, courses.get(cell.id))),
    ]


def expectation_lines(judgements: Sequence[Judgement]) -> list[ReportLine]:
    """A line for each expectation that is missed or has no result."""
    return [
        ReportLine(each.node or EVERYWHERE, each.cell, f"{each.outcome}: {each.sentence}")
        for each in judgements
        if each.failed
    ]


def _lost_hosts(run: RunData) -> Iterator[ReportLine]:
    lost = dict.fromkeys(host for launch in run.launches for host in launch.lost)
    for host in lost:
        yield ReportLine(host, "run", "stopped responding")


def _failures(cells: Sequence[CellSummary]) -> Iterator[ReportLine]:
    """A line for the cells of a kernel that failed for the same reason on the same host."""
    failed: dict[tuple[str, str, str], list[CellSummary]] = defaultdict(list)
    for cell in cells:
        where = cell.hosts[0] if len(cell.hosts) == 1 else EVERYWHERE
        if cell.verified is False:
            why = f"wrong result: {cell.error or 'its check failed'}"
        elif cell.status == "failed" and not cell.left_out and cell.error != UNTRIED:
            why = f"failed: {cell.error or 'no result'}"
        else:
            continue
        failed[where, cell.kernel, why].append(cell)
    for (where, kernel, why), found in failed.items():
        one = len(found) == 1
        text = why if one else f"{counted(len(found), 'cell')}: {why}"
        yield ReportLine(where, cell_name(found[0].cell) if one else kernel, text)


def _sentences(answers: Sequence[Answer]) -> Iterator[ReportLine]:
    """Impossible numbers, and what readers must know before they use any number."""
    stated: set[str] = set()
    for answer in answers:
        found = [(each.label, each.sentence) for each in answer.impossible]
        for what, sentence in (*found, *((answer.question, text) for text in answer.urgent)):
            if sentence not in stated:
                stated.add(sentence)
                yield ReportLine(EVERYWHERE, what, sentence)


def _slower(run: RunData, cell: CellSummary, course: CellCourse | None) -> Iterator[ReportLine]:
    """The change of level by which a run's segment begins, if it is for the worse."""
    segment = None if course is None else course.segment(run.manifest.run, run.manifest.utc)
    if course is None or segment is None:
        return
    for change in course.changes.changes:
        sign = 1.0 if course.better == "more" else -1.0
        if (
            change.kind in ("step", "drift")
            and change.at == segment.start
            and sign * change.size < 0
        ):
            low, high = sorted(sign * end for end in change.size_ci95)
            yield ReportLine(
                names_text(cell.hosts) if cell.hosts else EVERYWHERE,
                cell_name(cell.cell),
                f"{change.kind} against earlier runs; see assay history",
                change=sign * change.size,
                ci95=(low, high),
                since=day_of(float(course.of_runs.utc[change.at])),
            )
