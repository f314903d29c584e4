"""The part of the answer on the CPU time of users' commands."""

from __future__ import annotations

from collections.abc import Sequence

from assay.kernels.naming import cell_name
from assay.questions.common.answer import Evidence
from assay.questions.common.parts import Part
from assay.questions.placement.causes.cpu_time import COVARIATES, PARTS, CpuTimeShares
from assay.units import Interval, counted, format_duration, format_share

# Minimum share of the time for a cause to be named.
_MIN_LOSS = 0.05
_IDLE = len(PARTS) - 1

METHOD = (
    "Commands are measured from outside: the kernel's accounting of CPU time over own time × cores "
    "in use. The own time is the time that the command states (--time), else its wall time. Wall "
    "time outside the own time is start-up and end; it is not a cause. CPU time that grows with "
    "the number of ranks may be due to shared memory, repeated work, or polling for messages; a "
    "measurement from outside can't separate these. Serial fractions are by Karp & Flatt (1990)."
)
_LIMIT_OUTSIDE = (
    "The CPU time used outside the own time is unknown. The intervals contain all possible "
    "amounts; cores were without work for at least the stated time."
)
_LIMIT = (
    "A measurement from outside can't tell what a command spends its CPU time on. Its CPU time on "
    "other nodes is not measured."
)


def cpu_time_part(commands: Sequence[Sequence[CpuTimeShares]]) -> Part:
    """The commands' CPU time; an empty part without commands."""
    if not commands:
        return Part()
    most = [group[-1] for group in commands]
    clauses = [_clause(one) + _outside(one) for one in most]
    return Part(
        remark=f"Why, measured from outside: {'; '.join(clauses)}.",
        evidence=[_evidence(one) for group in commands for one in group],
        method=[METHOD],
        limits=[_LIMIT, *([_LIMIT_OUTSIDE] if any(map(_states_its_time, most)) else [])],
    )


def _evidence(found: CpuTimeShares) -> Evidence:
    """The share of its cores' time that a command spent on the CPU, and its parts."""
    busy = 1.0 - float(found.shares[_IDLE])
    idle = None if found.intervals is None else found.intervals[_IDLE]
    intervals: Sequence[Interval | None] = found.intervals or [None] * len(PARTS)
    parts = [
        f"{part.name} {format_share(float(share), interval)}"
        for part, share, interval in zip(PARTS, found.shares, intervals, strict=True)
        if abs(share) >= _MIN_LOSS / 5
    ]
    notes = [", ".join(parts)]
    if found.serial is not None:
        notes.append(f"serial fraction {found.serial:.3f}")
    if found.covariates:
        notes.append(
            ", ".join(f"{value:.3g} {COVARIATES[name]}" for name, value in found.covariates.items())
        )
    if _states_its_time(found):
        notes.append(
            f"start-up and end {format_duration(found.outside)}, "
            f"{format_share(found.outside_share)} of the wall time"
        )
    name = cell_name(found.point.summary.cell)
    own = "own" if _states_its_time(found) else "wall"
    return Evidence(
        label=f"{name}, {counted(found.placement.ppn, 'rank')}: CPU time over {own} time × cores, "
        "measured from outside",
        metric="share of the cores' time",
        unit="1",
        value=busy,
        ci95=None if idle is None else (1.0 - idle[1], 1.0 - idle[0]),
        cells=[found.point.summary.id],
        note="; ".join(notes),
    )


def _states_its_time(found: CpuTimeShares) -> bool:
    """Whether its own time is less than its wall time."""
    return found.outside > 0.0


def _outside(found: CpuTimeShares) -> str:
    """A clause on start-up and end if they take a relevant part of the wall time, else empty."""
    if found.outside_share < _MIN_LOSS:
        return ""
    return (
        f" (of its own time; start-up and end take another {format_duration(found.outside)}, "
        f"{found.outside_share:.0%} of the wall time)"
    )


def _clause(found: CpuTimeShares) -> str:
    """The cause that limits the gain of the most ranks, or a note that it is unclear."""
    name = cell_name(found.point.summary.cell)
    where = f"{name} with {counted(found.placement.ppn, 'rank')}"
    if found.intervals is None:
        return f"{where}: unclear, too few launches"
    losses = sorted(
        (
            (float(share), interval, part.loss)
            for part, share, interval in zip(PARTS, found.shares, found.intervals, strict=True)
            if part.loss is not None
        ),
        key=lambda one: -one[0],
    )
    (share, (low, _), loss), (_, (_, second_high), _), *_ = losses
    if all(high < _MIN_LOSS for _, (_, high), _ in losses):
        return f"{where}: computes nearly all of the time"
    if low <= max(_MIN_LOSS, second_high):
        return f"{where}: unclear"
    return f"{where} loses {share:.0%} of its cores' time to {loss}"
