"""The part of the answer on noise: share of time lost, periods, interruptions, cost."""

from __future__ import annotations

from assay.questions.common.answer import Evidence
from assay.questions.common.parts import Part
from assay.questions.common.selection import Point, evidence, labeller, quantity_text
from assay.questions.steadiness.noise.findings import (
    NOISY,
    NoiseComponent,
    NoiseFindings,
    step_of,
)
from assay.stats.noise.detours import FWQ
from assay.stats.noise.spectrum import PeriodicComponent
from assay.units import counted, format_quantity, format_share

# Speedup of an application by removing noise (Petrini, Kerbyson & Pakin 2003, abstract).
ASCI_Q = "2-fold"
# Maximum number of periods: in the verdict; in the evidence.
_NAMED, _LISTED = 2, 6


def part(found: NoiseFindings) -> Part:
    """The noise in the traces, and its cost for codes that synchronise."""
    label = labeller(found.points)
    rows = [
        evidence(f"Noise, {_method(point)}", point, "noise", note=label(point))
        for point in found.points
    ]
    if found.longest:
        point = found.longest.point
        rows.append(
            Evidence(
                label="Longest interruption observed",
                metric="detour",
                unit="s",
                value=found.longest.length,
                cells=[point.summary.id],
                note=f"{_method(point)}; {label(point)}",
            )
        )
    rows += [_component_row(component) for component in found.components[:_LISTED]]
    rows += [
        Evidence(
            label=f"Slowdown of a code that synchronises every {format_quantity(cost.step, 's')}",
            metric="slowdown",
            unit="1",
            value=cost.together,
            cells=[found.headline.summary.id],
            note=f"{counted(cost.ranks, 'rank')}; of a single rank {format_share(cost.alone)}",
        )
        for cost in found.slowdowns
    ]
    return Part(
        headline=[found.headline],
        evidence=rows,
        remark=_remark(found),
        method=[
            "Noise: all ranks concurrently repeat the same work (fixed work), or do as much work "
            "as fits into equal intervals (fixed time). Lost time is relative to the rank's "
            "fastest quantum, or to its interval with the most work (Sottile & Minnich 2004). "
            "Periods: lines of the spectrum of the lost time, at a false-alarm rate of one in a "
            "hundred spectra without periodic noise.",
            "Cost of synchronising: the mean over draws of the greatest loss of all ranks, drawn "
            "independently from the traced losses. Ranks that are interrupted together lose less.",
        ],
        limits=_limits(found),
        advice=_advice(found),
    )


def _method(point: Point) -> str:
    words = "fixed work of" if point.summary.kernel == FWQ else "fixed intervals of"
    return f"{words} {format_quantity(step_of(point), 's')}"


def _component_row(component: NoiseComponent) -> Evidence:
    periodic = component.periodic
    ranks = ", ".join(map(str, component.ranks))
    return Evidence(
        label=f"Lost every {format_quantity(periodic.period, 's')} "
        f"({format_quantity(periodic.frequency, 'Hz')})",
        metric="length",
        unit="s",
        value=periodic.length,
        cells=[component.cell],
        note=f"{format_share(periodic.share)} of the time on {component.where}, which is "
        "affected most; found on rank"
        f"{'s' if len(component.ranks) > 1 else ''} {ranks}",
    )


def _period_text(periodic: PeriodicComponent) -> str:
    """``every 4.00 ms (250 Hz)``."""
    return (
        f"every {format_quantity(periodic.period, 's')} "
        f"({format_quantity(periodic.frequency, 'Hz')})"
    )


def _loss_text(periodic: PeriodicComponent) -> str:
    """``2.10 µs, 0.0525% of the time``."""
    return f"{format_quantity(periodic.length, 's')}, {format_share(periodic.share)} of the time"


def _remark(found: NoiseFindings) -> str:
    metric = found.headline.metric
    ranks = found.headline.summary.cell.placement.ranks
    lost = quantity_text(metric.median, metric.unit, metric.ci95)
    clauses = [
        f"noise lengthens work on {counted(ranks, 'rank')} by {lost}"
        if found.headline.summary.kernel == FWQ
        else f"{counted(ranks, 'rank')} {'loses' if ranks == 1 else 'lose'} {lost} of the work to "
        "noise"
    ]
    named = [component.periodic for component in found.components[:_NAMED]]
    if named:
        losses = " and ".join(f"{_period_text(each)} {_loss_text(each)}" for each in named)
        clauses.append(f"periodic losses: {losses}")
    else:
        clauses.append("none of it is periodic")
    if found.longest:
        length = format_quantity(found.longest.length, "s")
        clauses.append(f"the longest interruption took {length}")
    if found.slowdowns and ranks > 1:
        cost = found.slowdowns[0]
        clauses.append(
            f"a code that synchronises all {ranks} ranks every {format_quantity(cost.step, 's')} "
            f"takes {format_share(cost.together)} longer"
        )
    return "; ".join(clauses)


def _advice(found: NoiseFindings) -> list[str]:
    share = found.headline.metric.median
    advice = []
    if found.noisy:
        advice.append(
            f"Noise costs {format_share(share)} of the time: look for other processes and "
            "interrupts (the covariates include the hypervisor's steal time), and try to leave one "
            "core per node to the system. Petrini, Kerbyson & Pakin (2003) "
            f"made an application {ASCI_Q} faster by removing noise."
        )
    advice += [
        f"Find what interrupts {each.where} {_period_text(each.periodic)} for "
        f"{_loss_text(each.periodic)}: a service with this interval, or a timer of the kernel."
        for each in found.components[:_NAMED]
        if each.periodic.share >= NOISY
    ]
    return advice


def _limits(found: NoiseFindings) -> list[str]:
    coverage = found.coverage
    if coverage is None:
        return ["The records hold no traces, so periods and single interruptions are unknown."]
    return [
        f"Traces cover {format_quantity(coverage.seconds, 's')} of all ranks together; periods "
        f"from {format_quantity(coverage.shortest, 's')} to "
        f"{format_quantity(coverage.longest, 's')} can be detected. Rarer events (hourly jobs, "
        "backups) appear as a single interruption, or not at all.",
    ]
