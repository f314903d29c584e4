"""How fast is it, and how far from its limits? Parts of the kernel families, and one verdict."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.arithmetic import KERNEL as DGEMM
from assay.answers.arithmetic import PEAK, dgemm_part, peak_part
from assay.answers.bandwidth import KERNEL as STREAM
from assay.answers.bandwidth import stream_part
from assay.answers.benchmarks import TITLES as BENCHMARKS
from assay.answers.benchmarks import benchmarks_part
from assay.answers.confidence import AGAIN, caveats_of, describe, is_broken, judge, why_broken
from assay.answers.linpack import KERNELS as LINPACK
from assay.answers.linpack import linpack_part
from assay.answers.memory_access import KERNELS as MEMORY_ACCESS
from assay.answers.memory_access import memory_access_part
from assay.answers.messages import messages_part
from assay.answers.model import QUESTIONS, Answer
from assay.answers.select import Growth, Part, Point, measured_text
from assay.answers.storage import KERNELS as STORAGE
from assay.answers.storage import storage_part
from assay.records.model import RunData
from assay.stats.model import CellSummary
from assay.units import counted

# The kernels whose failure touches this answer; messages are only context.
_KERNELS = (STREAM, DGEMM, PEAK, *LINPACK, *BENCHMARKS, *MEMORY_ACCESS, *STORAGE)


def answer_speed(
    cells: Sequence[CellSummary], run: RunData, history: Sequence[RunData] = ()
) -> Answer:
    """Speed against limits. ``history``: stored runs of the same system, for the best ever seen."""
    stream = stream_part(cells, history)
    access = memory_access_part(cells, run)
    dgemm = dgemm_part(cells, run)
    peak = None if dgemm else peak_part(cells, run)
    linpack = linpack_part(cells, run)
    benchmarks = benchmarks_part(cells, run)
    messages = messages_part(cells)
    storage = storage_part(cells, run)
    parts = [
        part
        for part in (
            stream[0] if stream else None,
            access,
            dgemm[0] if dgemm else peak,
            linpack,
            benchmarks,
            messages,
            storage,
        )
        if part is not None
    ]
    broken = [cell for cell in cells if cell.kernel in _KERNELS and is_broken(cell)]
    if not parts:
        return _unmeasured(broken)
    confidence, why = judge(
        [point for part in parts for point in part.headline], broken, run.complete
    )
    return Answer(
        question="speed",
        title=QUESTIONS["speed"],
        status="answered",
        verdict=_verdict(linpack, stream, dgemm, [access, peak, storage], benchmarks, messages),
        confidence=confidence,
        confidence_why=why,
        evidence=[row for part in parts for row in part.evidence],
        advice=[
            *([AGAIN] if confidence == "low" else []),
            *(sentence for part in parts for sentence in part.advice),
        ],
        caveats=[
            *(f"{describe(cell)}: {why_broken(cell)}" for cell in broken),
            *(sentence for part in parts for sentence in part.caveats),
            *caveats_of([point for part in parts for point in part.headline]),
        ],
        method=[sentence for part in parts for sentence in part.method],
        limits=[sentence for part in parts for sentence in part.limits],
    )


def _verdict(
    linpack: Part | None,
    stream: tuple[Part, Point] | None,
    dgemm: tuple[Part, Point] | None,
    context: Sequence[Part | None],
    benchmarks: Part | None,
    messages: Part | None,
) -> str:
    """One sentence: who sustains what, at which share of the limit, and where it stops growing."""
    memory = (
        f"{measured_text(stream[1])} from memory (STREAM {stream[1].parameter('op')})"
        if stream
        else ""
    )
    floats = f"{measured_text(dgemm[1])} in DGEMM" if dgemm else ""
    if dgemm and dgemm[0].remark:
        floats += f", {dgemm[0].remark}"
    if stream and dgemm and stream[1].cores == dgemm[1].cores:
        main = f"{_subject(stream[1])} {memory} and {floats}"
    elif stream and dgemm:
        main = f"{_subject(stream[1])} {memory}; {_subject(dgemm[1])} {floats}"
    elif stream or dgemm:
        measured = stream or dgemm
        assert measured is not None
        main = f"{_subject(measured[1])} {memory or floats}"
    else:
        main = ""
    growth = [
        *(stream[0].growth if stream else []),
        *(dgemm[0].growth if dgemm else []),
        *(linpack.growth if linpack else []),
        *(benchmarks.growth if benchmarks else []),
    ]
    remarks = [
        stream[0].remark if stream else "",
        *(part.remark for part in context if part),
        _growth(growth),
    ]
    head = linpack.remark if linpack else ""
    if not head and not main and messages and not any(remarks):
        remarks.append(messages.remark)
    clauses = [clause for clause in (head, main, *remarks) if clause]
    if not clauses:
        clauses = _plain_clauses(benchmarks)
    sentence = "; ".join(clauses)
    return sentence[:1].upper() + sentence[1:] + "."


def _growth(growth: Sequence[Growth]) -> str:
    """``from 1 to 2 cores memory bandwidth grows 1.80-fold, EP 1.98-fold``."""
    clauses = []
    for few, most in dict.fromkeys((row.few, row.most) for row in growth):
        first, *others = (row for row in growth if (row.few, row.most) == (few, most))
        words = [f"{first.what} {_times(first, 'grows ')}"]
        words += [f"{row.what} {_times(row)}" for row in others]
        clauses.append(f"from {few} to {most} cores {', '.join(words)}")
    return "; ".join(clauses)


def _times(row: Growth, verb: str = "") -> str:
    if row.times >= 1:
        return f"{verb}{row.times:.2f}-fold"
    return f"falls to {row.times:.2f} of it" if row.times >= 0.1 else "falls to less than 0.1 of it"


def _plain_clauses(benchmarks: Part | None) -> list[str]:
    """For a run of nothing but NPB on a single core count: its rates as they are."""
    points = benchmarks.headline if benchmarks else []
    return [
        f"{BENCHMARKS[point.summary.kernel]} class {point.parameter('class')} runs at "
        f"{measured_text(point)} on {counted(point.cores, 'core')}"
        for point in points
    ] or ["only barriers were measured"]


def _subject(point: Point) -> str:
    return f"{counted(point.cores, 'core')} {'sustains' if point.cores == 1 else 'sustain'}"


def _unmeasured(broken: Sequence[CellSummary]) -> Answer:
    reason = (
        f"{'all' if len(broken) > 1 else 'the'} {_cells(len(broken))} that would tell failed or "
        f"{'were' if len(broken) > 1 else 'was'} interrupted"
        if broken
        else "this run holds no cell that would tell (STREAM, DGEMM, Linpack, NPB, storage)"
    )
    return Answer(
        question="speed",
        title=QUESTIONS["speed"],
        status="unmeasured",
        verdict=f"Not measured: {reason}.",
        confidence=None,
        confidence_why="",
        evidence=[],
        advice=[],
        caveats=[f"{describe(cell)}: {why_broken(cell)}" for cell in broken],
    )


def _cells(number: int) -> str:
    return "one cell" if number == 1 else f"{number} cells"
