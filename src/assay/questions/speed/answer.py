"""How fast is it, and how far from its limits? One verdict from the parts of all topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from assay.kernels.naming import cell_name, kernel_name, placement_text
from assay.questions.common.answer import Answer, unmeasured_answer
from assay.questions.common.confidence import why_broken
from assay.questions.common.parts import Growth, Part
from assay.questions.common.ratios import range_text
from assay.questions.common.selection import Point, measured_text
from assay.questions.speed.findings import SpeedFindings
from assay.stats.core.model import CellSummary
from assay.units import capitalised, counted, listed


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
    """``from 1 to 2 cores memory bandwidth grows 1.80-fold, EP 1.98-fold``.

    A ratio whose range contains 1 has no direction: ``from 1 to 2 cores memory bandwidth is not
    distinguishable from equal (0.99 to 1.04)``.
    """
    clauses = []
    for few, most in dict.fromkeys(row.cores for row in growth):
        alike = [row for row in growth if row.cores == (few, most)]
        kinds: dict[str, list[Growth]] = {"more": [], "less": [], "open": [], "bare": []}
        for row in alike:
            kinds[_kind(row, len(growth))].append(row)
        said = [
            _joined(kinds["more"], "grows ", lambda row: f"{_fold(row.speedup.value)}-fold"),
            _joined(kinds["less"], "drops by ", lambda row: _drop(row.speedup.value)),
            _open(kinds["open"], len(growth)),
            _bare(kinds["bare"]),
        ]
        clauses.append(f"from {few} to {most} cores {', '.join(filter(None, said))}")
    return "; ".join(clauses)


def _kind(row: Growth, comparisons: int) -> str:
    """``more``, ``less`` or ``open``; ``bare`` without an interval."""
    if row.speedup.interval is None:
        return "bare"
    return row.speedup.compared(comparisons=comparisons).direction


def _joined(rows: Sequence[Growth], verb: str, text: Callable[[Growth], str]) -> str:
    """``memory bandwidth grows 1.80-fold, EP 1.98-fold``, with one verb."""
    return ", ".join(
        f"{row.what} {'' if number else verb}{text(row)}" for number, row in enumerate(rows)
    )


def _open(rows: Sequence[Growth], comparisons: int) -> str:
    ranges = [
        range_text(row.speedup.compared(comparisons=comparisons), row.speedup.interval)
        for row in rows
    ]
    if len(rows) == 1:
        return f"{rows[0].what} is not distinguishable from equal ({ranges[0]})"
    said = [f"{row.what} ({shown})" for row, shown in zip(rows, ranges, strict=True)]
    return f"{listed(said)} are not distinguishable from equal" if rows else ""


def _bare(rows: Sequence[Growth]) -> str:
    """``the ratio of memory bandwidth is 1.80, of DGEMM 1.98, without intervals``."""
    said = [
        f"{'of' if number else 'the ratio of'} {row.what} {'' if number else 'is '}"
        f"{row.speedup.value:.2f}"
        for number, row in enumerate(rows)
    ]
    return (
        f"{', '.join(said)}, without {'intervals' if rows[1:] else 'an interval'}" if rows else ""
    )


def _fold(times: float) -> str:
    """A factor above 1, with as many decimals as distinguish it from 1."""
    return next((text for text in (f"{times:.2f}", f"{times:.3f}") if float(text) > 1), f"{times}")


def _drop(times: float) -> str:
    """``14%``, ``0.4%``, ``more than 90%``: a factor below 1 as a relative drop."""
    if times < 0.1:
        return "more than 90%"
    return f"{1 - times:.0%}" if times < 0.99 else f"{1 - times:.1%}"


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
        return "this run has no usable cell of STREAM, DGEMM, Linpack, NPB, storage or devices"
    if len(broken) == 1:
        return "the only cell that measures speed failed or was interrupted"
    return f"all {len(broken)} cells that measure speed failed or were interrupted"
