"""How fast is it, and how far from its limits? One verdict from the parts of all topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.kernels.naming import cell_name, kernel_name, placement_text
from assay.questions.common.answer import Answer
from assay.questions.common.confidence import why_broken
from assay.questions.common.parts import Growth, Part
from assay.questions.common.selection import Point, measured_text
from assay.questions.common.unmeasured import unmeasured_answer
from assay.questions.speed.findings import SpeedFindings
from assay.stats.core.model import CellSummary
from assay.units import capitalised, counted


def unmeasured(found: SpeedFindings) -> Answer:
    """The unmeasured answer, which says why there is none."""
    return unmeasured_answer(
        "speed",
        f"Not measured: {_why_unmeasured(found.broken)}.",
        caveats=[f"{cell_name(cell.cell)}: {why_broken(cell)}" for cell in found.broken],
    )


def verdict(found: SpeedFindings, parts: Mapping[str, Part]) -> str:
    """One sentence, in the order of the parts.

    It gives the rates of the plan's first subject, then sustained rates with their shares of the
    limits, then growth with cores.
    """
    subject = next(iter(parts))
    said = [clause for name in parts for clause in _clauses(name, found, parts, name == subject)]
    growth = _growth([growth for part in parts.values() for growth in part.growth])
    clauses = list(dict.fromkeys(filter(None, [*said, growth])))
    if not clauses:  # the plan's first subject has no clause
        said = [clause for name in parts for clause in _clauses(name, found, parts, True)]
        clauses = list(filter(None, said)) or ["only barriers were measured"]
    return capitalised("; ".join(clauses)) + "."


def _clauses(name: str, found: SpeedFindings, parts: Mapping[str, Part], leads: bool) -> list[str]:
    """The clauses of the verdict on a part; ``leads``: whether the plan begins with it."""
    part = parts[name]
    if name == "benchmarks":
        # If other kernels lead, the growth of the benchmarks is enough.
        return [_rates(part)] if leads else []
    if name == "messages":
        return [part.remark] if leads else []
    if name in ("memory", "arithmetic"):
        dgemm = found.arithmetic.dgemm if found.arithmetic else None
        own = "" if name == "arithmetic" and dgemm else part.remark
        return [_sustained(found, {each: one.remark for each, one in parts.items()}), own]
    return [part.remark]


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
    if round(row.times, 2) >= 1:
        return f"{verb}{row.times:.2f}-fold"
    return f"drops by {f'{1 - row.times:.0%}' if row.times >= 0.1 else 'more than 90%'}"


def _rates(benchmarks: Part) -> str:
    """``with 4 nodes 64 ranks EP class B runs at 1.53 Gop/s [1.52, 1.55], CG class A at …``."""
    placed: dict[str, list[str]] = {}
    for point in benchmarks.headline:
        name = f"{kernel_name(point.summary.kernel)} class {point.parameter('class')}"
        where = placement_text(point.summary.cell.placement)
        rates = placed.setdefault(where, [])
        rates.append(f"{name} {'' if rates else 'runs '}at {measured_text(point)}")
    return "; ".join(f"with {where} {', '.join(rates)}" for where, rates in placed.items())


def _why_unmeasured(broken: Sequence[CellSummary]) -> str:
    if not broken:
        return "this run has no usable cell of STREAM, DGEMM, Linpack, NPB or storage"
    if len(broken) == 1:
        return "the only cell that measures speed failed or was interrupted"
    return f"all {len(broken)} cells that measure speed failed or were interrupted"
