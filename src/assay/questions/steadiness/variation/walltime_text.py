"""Text of the walltime to request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.questions.steadiness.variation.walltime import CONFIDENCE, SHARE, WalltimeRequest
from assay.units import counted, format_quantity, format_share

if TYPE_CHECKING:
    from assay.stats.repeats.walltime import WalltimeChoice


def walltime_advice(requests: Sequence[WalltimeRequest]) -> list[str]:
    """The walltime to request, for the cells that vary most and least."""
    if not requests:
        return []
    worst, best = requests[0], requests[-1]
    words = [
        f"For a job that varies as {worst.label}, request {factor_text(worst.times)} times "
        f"its median time: {SHARE:.0%} of the runs then finish ({CONFIDENCE:.0%} confidence; "
        f"{worst.walltime.why}).",
        two_sigma_text(worst),
    ]
    if len(requests) > 1:
        words.append(
            f"For a job that varies as {best.label}, {factor_text(best.times)} times is enough."
        )
    return [" ".join(words)]


def two_sigma_text(request: WalltimeRequest) -> str:
    """The cost of median + 2 standard deviations, compared with the recommended request."""
    choice, advised = request.walltime.two_sigma, request.walltime.asked
    times = factor_text(request.sigma_times)
    if choice.seconds >= request.walltime.seconds:
        return (
            f"Median + 2σ would be {times} times the median. In 100 jobs of an hour it would leave "
            f"{idle_text(request, choice)} unused; the recommended request leaves "
            f"{idle_text(request, advised)}."
        )
    ended = (
        f"would have ended {choice.killed} of {counted(request.walltime.n, 'run')} too early and "
        f"lost {format_quantity(request.in_hours(choice.lost_hours), '', digits=2)} h in 100 jobs "
        "of an hour"
        if choice.killed
        else f"would have ended none of these {request.walltime.n} runs (upper end of the 95% "
        f"interval: {format_share(choice.killed_ci95[1])} of runs)"
    )
    return (
        f"Median + 2σ, {times} times the median, {ended}. The longer request leaves "
        f"{idle_text(request, advised)} unused instead of {idle_text(request, choice)}."
    )


def idle_text(request: WalltimeRequest, choice: WalltimeChoice) -> str:
    """Hours requested but not used, in 100 jobs of an hour."""
    return f"{format_quantity(request.in_hours(choice.idle_hours), '', digits=2)} h"


def factor_text(times: float) -> str:
    """``1.013``, ``1.31``: two significant digits of the part above 1."""
    above = abs(times - 1.0)
    return f"{times:.4f}" if above < 0.001 else f"{times:.3f}" if above < 0.1 else f"{times:.2f}"
