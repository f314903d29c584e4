"""Runs compared as a subject of reports."""

from __future__ import annotations

import math

from assay.questions.common.lines import ReportLine
from assay.questions.common.tables import Tone, fact_table
from assay.subjects.board import Board, Headline, answer_board
from assay.subjects.compare.answer import answer
from assay.subjects.compare.figures import figures
from assay.subjects.compare.findings import find
from assay.subjects.compare.model import ComparedCell, CompareFindings
from assay.subjects.compare.tables import cell_table, speed_text, tables
from assay.subjects.subject import ReportFrame, Subject
from assay.units import counted, format_limit
from assay.version import VERSION

_WORDS: dict[str, tuple[str, Tone]] = {
    "faster": ("Faster", "good"),
    "slower": ("Slower", "bad"),
    "same": ("The same", ""),
    "open": ("Undecided", "warn"),
}
_MOST_CELLS = 4


def frame(found: CompareFindings) -> ReportFrame:
    """The rows are the compared cells."""
    reference = found.runs[0]
    names = " and ".join(run.run for run in found.runs[1:3])
    more = f" and {len(found.runs) - 3} more" if len(found.runs) > 3 else ""
    times = [run.utc for run in found.runs if run.utc is not None]
    facts = [
        ("Reference", reference.run),
        ("Cells are the same within", format_limit(found.margin)),
        ("assay", VERSION),
    ]
    return ReportFrame(
        name=reference.run,
        suite=reference.suite,
        title=f"{reference.run} compared with {names}{more}",
        system=reference.system,
        utc=max(times, default=0.0),
        complete=all(run.complete for run in found.runs),
        summary=f"{counted(len(found.runs), 'run')} · {counted(len(found.cells), 'comparison')}",
        rows=cell_table(found),
        facts=fact_table("system", "Comparison", facts),
    )


def lines(found: CompareFindings) -> list[ReportLine]:
    """In the order of the cells."""
    names = {run.name: run.run for run in found.runs}
    reference = found.runs[0].run
    return [
        ReportLine(
            names[cell.side],
            cell.name,
            f"slower than {reference}{_doubt(cell)}",
            change=None if cell.speed is None else cell.speed - 1.0,
            ci95=None if cell.speed_ci95 is None else _change(cell.speed_ci95),
        )
        for cell in found.cells
        if cell.verdict == "slower"
    ]


def _change(speed: tuple[float, float]) -> tuple[float, float]:
    return speed[0] - 1.0, speed[1] - 1.0


def _doubt(cell: ComparedCell) -> str:
    return ", other processes were busy" if cell.disturbed else ""


def board(found: CompareFindings) -> Board:
    """Who is faster and by how much, and how many cells are undecided."""
    word, tone = _verdict(found)
    return answer_board(
        answer(found),
        word,
        tone=tone,
        headlines=[*_counts(found), *_means(found)],
        what=[
            f"Side {run.name} is {run.run} ({run.system or 'unknown system'}, "
            f"{counted(run.cells, 'cell')})."
            for run in found.runs
        ],
        does=[*(_sentence(each, found) for each in _largest(found))],
        costs=["A comparison states no prices. `assay design` weighs rates against prices."],
    )


def _verdict(found: CompareFindings) -> tuple[str, Tone]:
    verdicts = {cell.verdict for cell in found.cells} - {"none"}
    changed = verdicts & {"faster", "slower"}
    if len(changed) == 2:
        return "Faster and slower", "warn"
    for verdict in ("slower", "faster", "open", "same"):
        if verdict in verdicts:
            return _WORDS[verdict]
    return "No verdict", "warn"


def _counts(found: CompareFindings) -> list[Headline]:
    counts = dict.fromkeys(_WORDS, 0)
    for cell in found.cells:
        if cell.verdict in counts:
            counts[cell.verdict] += 1
    of = f"of {counted(len(found.cells), 'comparison')}"
    return [
        Headline(_WORDS[verdict][0], str(number), of, _WORDS[verdict][1] if number else "")
        for verdict, number in counts.items()
    ]


def _means(found: CompareFindings) -> list[Headline]:
    names = {run.name: run.run for run in found.runs}
    return [
        Headline(
            f"Speed of {mean.side}",
            speed_text(mean.speed, mean.speed_ci95),
            f"{names[mean.side]} over {found.runs[0].run}, mean of {mean.what}",
        )
        for mean in found.means
        if mean.what == "all cells" and mean.speed is not None
    ][:2]


def _largest(found: CompareFindings) -> list[ComparedCell]:
    """The decided cells with the largest changes."""
    changed = [cell for cell in found.cells if cell.verdict in ("faster", "slower") and cell.speed]
    return sorted(changed, key=lambda cell: -abs(math.log(cell.speed or 1.0)))[:_MOST_CELLS]


def _sentence(cell: ComparedCell, found: CompareFindings) -> str:
    side = f" on {cell.side}" if len(found.runs) > 2 else ""
    assert cell.speed is not None
    return f"{cell.name}{side}: {speed_text(cell.speed, cell.speed_ci95)} times as fast."


SUBJECT = Subject(
    name="compare",
    title="Runs compared (`assay compare`)",
    find=find,
    answer=answer,
    frame=frame,
    figures=figures,
    tables=tables,
    lines=lines,
    board=board,
)
