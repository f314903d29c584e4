"""The answer on floating-point speed: DGEMM against the theoretical and the measured peak."""

from __future__ import annotations

from collections.abc import Callable

from assay.questions.common.answer import Evidence
from assay.questions.common.gate import is_possible
from assay.questions.common.parts import Growth, Part
from assay.questions.common.selection import (
    ARRIVED,
    Point,
    evidence,
    labeller,
    quantity_text,
    scaled,
)
from assay.questions.common.speedups import speedup_row
from assay.questions.speed.arithmetic.findings import (
    ArithmeticFindings,
    DgemmFindings,
    PeakShare,
)
from assay.questions.speed.arithmetic.peak import bound_of
from assay.stats.compare.directions import compared
from assay.units import counted, format_share

_PEAK_METHOD = (
    "Measured peak: all threads concurrently execute independent multiply-adds that stay in "
    "registers; the fastest vector width counts."
)
# A tuned BLAS on large matrices reaches 85 to 95% of peak; far below that, something is wrong.
LOW_SHARE = 0.7


def part(found: ArithmeticFindings) -> Part | None:
    """The part on DGEMM, or on the measured peak if there is no DGEMM."""
    if found.dgemm is not None:
        return _dgemm_part(found, found.dgemm)
    if not found.measured_peaks:
        return None
    count, peak = max(found.measured_peaks.items())
    metric = peak.point.metric
    rate = quantity_text(metric.median, "flop/s", metric.ci95)
    return Part(
        headline=[peak.point],
        evidence=_peak_rows(found),
        method=[_PEAK_METHOD],
        remark=f"multiply-adds in registers reach {rate} on {counted(count, 'core')}",
    )


def _dgemm_part(found: ArithmeticFindings, dgemm: DgemmFindings) -> Part:
    label = labeller(dgemm.measured)
    shown = [*reversed(dgemm.by_cores.values()), *dgemm.rivals]
    part = Part(
        headline=[dgemm.headline.point],
        evidence=[_dgemm_row(share, label) for share in shown],
        method=[
            "DGEMM: C ← A B + C on square matrices. All ranks concurrently compute one product "
            "each, of 2 N³ flop, timed on the slowest rank. The residual of each result is checked."
        ],
    )
    if dgemm.speedup is not None:
        title = f"DGEMM N = {dgemm.order}"
        part.evidence.append(speedup_row(title, dgemm.speedup, note="parallel efficiency"))
        part.growth = [Growth("DGEMM", dgemm.speedup)]
    part.evidence += _peak_rows(found)
    _theoretical(part, dgemm)
    _measured(part, dgemm)
    return part


def _dgemm_row(share: PeakShare, label: Callable[[Point], str]) -> Evidence:
    arrival = "" if share.arrival is None else f"; {ARRIVED:.0%} of its best at N = {share.arrival}"
    return _row(
        f"DGEMM N = {share.point.parameter('n')}, {counted(share.point.cores, 'core')}",
        share,
        label(share.point) + arrival,
    )


def _peak_rows(found: ArithmeticFindings) -> list[Evidence]:
    return [
        _row(
            f"Multiply-adds in registers, {counted(count, 'core')}",
            share,
            f"{share.point.parameter('width')}-bit vectors: the measured peak",
        )
        for count, share in reversed(found.measured_peaks.items())
    ]


def _row(label: str, share: PeakShare, note: str) -> Evidence:
    limit = share.peak
    return evidence(
        label,
        share.point,
        "rate",
        limit=limit.rate if limit else None,
        limit_source=limit.source if limit else None,
        note=note,
        bound=bound_of(share.point, limit.rate) if limit else "",
    )


def _theoretical(part: Part, dgemm: DgemmFindings) -> None:
    """DGEMM against the theoretical peak."""
    limit, metric = dgemm.headline.peak, dgemm.headline.point.metric
    if limit is None:
        part.limits.append(
            "The theoretical peak is unknown: it depends on the vector width and the clock of "
            "the cores, and this system doesn't report both."
        )
        return
    share = metric.median / limit.rate
    interval = scaled(metric.ci95, 1 / limit.rate)
    if is_possible(share, interval, "computed"):
        part.remark = f"{share:.0%} of the {'assumed' if limit.assumed else 'theoretical'} peak"
    part.limits.append(f"Theoretical peak: {limit.source}.")
    if limit.assumed:
        part.caveats.append(
            f"The theoretical peak is based on an assumption ({limit.source}), and so is DGEMM's "
            "share."
        )
    below = compared(share, interval, launches=metric.n, equal=LOW_SHARE).direction == "less"
    # A share without an interval has no direction, but its size is a reason to check.
    if not below and (interval is not None or share >= LOW_SHARE):
        return
    reaches = f"DGEMM reaches {'only ' if below else ''}{format_share(share, interval)}"
    if dgemm.forced_core:
        sentence = (
            f"{reaches} of the theoretical peak, and "
            f"OPENBLAS_CORETYPE={dgemm.forced_core} prevents OpenBLAS from choosing the kernels "
            "for this processor: unset the variable and measure again."
        )
        part.advice.append(sentence)
        part.urgent.append(sentence)
    else:
        part.advice.append(
            f"{reaches} of the theoretical peak: check "
            "that the BLAS is built for this processor and runs one thread per core, and that "
            "the governor allows the clock to rise (`assay doctor`)."
        )


def _measured(part: Part, dgemm: DgemmFindings) -> None:
    """DGEMM against the measured peak of the same number of cores."""
    share = dgemm.of_measured_peak
    if share is None:
        return
    peak = share.below
    part.method.append(_PEAK_METHOD)
    part.limits.append(
        f"Measured peak of {counted(peak.cores, 'core')}: "
        f"{quantity_text(peak.metric.median, 'flop/s', peak.metric.ci95)} with "
        f"{peak.parameter('width')}-bit vectors; DGEMM reaches "
        f"{format_share(share.value, share.ci95)} of it."
    )
    theoretical = dgemm.headline.peak
    possible = is_possible(share.value, share.ci95, "measured")
    if possible and (theoretical is None or theoretical.assumed):
        part.remark = f"{share.value:.0%} of the measured peak"
