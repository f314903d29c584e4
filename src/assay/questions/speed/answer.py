"""How fast is it, and how far from its limits? The parts of all topics and one verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.kernels.naming import cell_name, kernel_name
from assay.questions.common.answer import QUESTIONS, Answer
from assay.questions.common.confidence import why_broken
from assay.questions.common.parts import Growth, Part, answer_of, merge
from assay.questions.common.selection import Point, measured_text
from assay.questions.common.unmeasured import unmeasured_answer
from assay.questions.speed.findings import TOPICS, SpeedFindings
from assay.stats.core.model import CellSummary
from assay.units import capitalised, counted


def answer(found: SpeedFindings) -> Answer:
    """The answer; unmeasured where no topic has a part."""
    parts: dict[str, Part] = {}
    for topic in TOPICS:
        findings = getattr(found, topic.name)
        part = topic.part(findings) if findings is not None else None
        if part is not None:
            parts[topic.name] = part
    if not parts:
        return unmeasured_answer(
            "speed",
            f"Not measured: {_why_unmeasured(found.broken)}.",
            caveats=[f"{cell_name(cell.cell)}: {why_broken(cell)}" for cell in found.broken],
        )
    return answer_of(
        "speed",
        QUESTIONS["speed"],
        _verdict(found, parts),
        merge(list(parts.values())),
        broken=found.broken,
        complete=found.complete,
    )


def _verdict(found: SpeedFindings, parts: Mapping[str, Part]) -> str:
    """One sentence: sustained rates, their shares of the limits, growth with cores."""
    dgemm = found.arithmetic.dgemm if found.arithmetic else None
    remarks = {name: part.remark for name, part in parts.items()}
    growth = [
        growth
        for name in ("memory", "arithmetic", "linpack", "benchmarks")
        if name in parts
        for growth in parts[name].growth
    ]
    clauses = [
        remarks.get("linpack", ""),
        _sustained(found, remarks),
        remarks.get("memory", ""),
        "" if dgemm else remarks.get("arithmetic", ""),
        remarks.get("storage", ""),
        _growth(growth),
    ]
    if not any(clauses):
        clauses.append(remarks.get("messages", ""))
    if not any(clauses):
        clauses = _plain_clauses(parts.get("benchmarks"))
    sentence = "; ".join(filter(None, clauses))
    return capitalised(sentence) + "."


def _sustained(found: SpeedFindings, remarks: Mapping[str, str]) -> str:
    """``2 cores sustain 35.1 GB/s from memory (STREAM triad) and 154 Gflop/s in DGEMM``."""
    bandwidth = found.memory.bandwidth if found.memory else None
    dgemm = found.arithmetic.dgemm if found.arithmetic else None
    rates: list[tuple[Point, str]] = []
    if bandwidth is not None:
        stream = bandwidth.headline
        rates.append(
            (stream, f"{measured_text(stream)} from memory (STREAM {bandwidth.operation})")
        )
    if dgemm is not None:
        point, remark = dgemm.headline.point, remarks.get("arithmetic", "")
        of_peak = f", {remark}" if remark else ""
        rates.append((point, f"{measured_text(point)} in DGEMM{of_peak}"))
    clauses: list[str] = []
    for number, (point, text) in enumerate(rates):
        if number and point.cores == rates[0][0].cores:
            clauses[-1] += f" and {text}"
        else:
            verb = "sustains" if point.cores == 1 else "sustain"
            clauses.append(f"{counted(point.cores, 'core')} {verb} {text}")
    return "; ".join(clauses)


def _growth(growth: Sequence[Growth]) -> str:
    """``from 1 to 2 cores memory bandwidth grows 1.80-fold, EP 1.98-fold``."""
    clauses = []
    for few, most in dict.fromkeys((row.few, row.most) for row in growth):
        first, *others = (row for row in growth if (row.few, row.most) == (few, most))
        grown = [f"{first.what} {_times(first, 'grows ')}"]
        grown += [f"{row.what} {_times(row)}" for row in others]
        clauses.append(f"from {few} to {most} cores {', '.join(grown)}")
    return "; ".join(clauses)


def _times(row: Growth, verb: str = "") -> str:
    if row.times >= 1:
        return f"{verb}{row.times:.2f}-fold"
    share = f"{row.times:.2f}" if row.times >= 0.1 else "less than 0.1"
    return f"falls to {share} of its value"


def _plain_clauses(benchmarks: Part | None) -> list[str]:
    """The rates of the NPB, for a run of only these on a single core count."""
    points = benchmarks.headline if benchmarks else []
    return [
        f"{kernel_name(point.summary.kernel)} class {point.parameter('class')} runs at "
        f"{measured_text(point)} on {counted(point.cores, 'core')}"
        for point in points
    ] or ["only barriers were measured"]


def _why_unmeasured(broken: Sequence[CellSummary]) -> str:
    if not broken:
        return "this run holds no usable cell of STREAM, DGEMM, Linpack, NPB or storage"
    if len(broken) == 1:
        return "the one cell that measures speed failed or was interrupted"
    return f"all {len(broken)} cells that measure speed failed or were interrupted"
