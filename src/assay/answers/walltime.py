"""What variation costs people: how much walltime to ask for, and what two sigma would lose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.answers.study import Study, Varied
from assay.units import counted, format_quantity, format_share

if TYPE_CHECKING:
    from assay.stats.walltime import Choice, Walltime

SHARE, CONFIDENCE = 0.99, 0.95
# Kernels of which a run is a whole program, as a job is.
_PROGRAMS = ("npb.", "linpack")
_HOUR = 3600.0


@dataclass(frozen=True)
class Ask:
    """What to ask for, for jobs that vary as one cell did."""

    varied: Varied
    walltime: Walltime

    @property
    def times(self) -> float:
        """The walltime over the median."""
        return self.walltime.seconds / self.varied.spread.median

    def in_hours(self, hours: float) -> float:
        """Hours lost or idle in 100 runs, as they would be if the median run took an hour."""
        return hours / (self.varied.spread.median / _HOUR)


def asks_of(study: Study) -> list[Ask]:
    """Of each cell that is a whole program, or of every cell where none is; worst first."""
    from assay.kernels import known_kernel
    from assay.stats.walltime import asked_walltime

    programs = [
        each
        for each in study.varied
        if each.cell.kernel.startswith(_PROGRAMS) or known_kernel(each.cell.kernel) is None
    ]
    found = [
        Ask(each, asked_walltime(each.times, SHARE, CONFIDENCE))
        for each in programs or study.varied
        if each.times.min() > 0.0
    ]
    return sorted(found, key=lambda ask: -ask.times)


def walltime_advice(asks: Sequence[Ask]) -> list[str]:
    """What a user who has to name a walltime does, by the cell that varies worst."""
    if not asks:
        return []
    worst = asks[0]
    words = [
        f"For a job that varies as {worst.varied.label}, ask for {factor_text(worst.times)} times "
        f"its usual time: {SHARE:.0%} of runs then finish ({CONFIDENCE:.0%} confidence; "
        f"{worst.walltime.why}).",
        two_sigma_text(worst),
    ]
    if len(asks) > 1:
        best = asks[-1]
        words.append(f"As {best.varied.label}, {factor_text(best.times)} times is enough.")
    return [" ".join(words)]


def two_sigma_text(ask: Ask) -> str:
    """What median + 2 standard deviations would mean, against what is advised."""
    choice, advised = ask.walltime.two_sigma, ask.walltime.asked
    times = factor_text(choice.seconds / ask.varied.spread.median)
    if choice.seconds >= ask.walltime.seconds:
        return (
            f"Median + 2σ would be {times} times, and keep {idle_text(ask, choice)} free for "
            f"nothing in 100 jobs of an hour, against {idle_text(ask, advised)}."
        )
    killed = (
        f"would have ended {counted(choice.killed, 'run')} of {ask.walltime.n} too "
        f"early, {format_quantity(ask.in_hours(choice.lost_hours), '', digits=2)} h lost in 100 "
        "jobs of an hour"
        if choice.killed
        else f"ended none of these {ask.walltime.n} runs, which leaves up to "
        f"{format_share(choice.killed_ci95[1])} of all"
    )
    return (
        f"Median + 2σ, {times} times, {killed}; asking for more keeps "
        f"{idle_text(ask, advised)} free in place of {idle_text(ask, choice)}."
    )


def idle_text(ask: Ask, choice: Choice) -> str:
    """Hours asked for and not used, in 100 jobs of an hour."""
    return f"{format_quantity(ask.in_hours(choice.idle_hours), '', digits=2)} h"


def factor_text(times: float) -> str:
    """``1.013``, ``1.31``: two digits of what is above 1."""
    above = abs(times - 1.0)
    return f"{times:.4f}" if above < 0.001 else f"{times:.3f}" if above < 0.1 else f"{times:.2f}"
