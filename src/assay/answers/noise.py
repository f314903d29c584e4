"""What the machine takes from those who compute on it: share, periods, interruptions, cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.answers.model import Evidence
from assay.answers.select import Part, Point, evidence, labeller, leading, points, quantity_text
from assay.records.model import RunData
from assay.stats.model import CellSummary
from assay.stats.noise import FTQ, FWQ, Slowdown, Trace, slowdown, trace_spectrum, traces
from assay.stats.periodogram import LEAST_CYCLES
from assay.stats.spectrum import BROAD, Periodic
from assay.units import counted, format_quantity, format_share

# Petrini, Kerbyson & Pakin (2003), abstract: what removing noise gave an application there.
ASCI_Q = "2-fold"
# From this share of the time on, noise is worth looking for its cause.
NOISY = 0.01
# What bulk-synchronous codes do between two synchronisations: fine-grained, and coarse.
STEPS = (1e-3, 10e-3)
# Periodic losses of a smaller share are of no account, however surely they are there.
SLIGHT = 1e-5
# Periods named in the verdict, and in the evidence.
_NAMED, _LISTED = 2, 6


@dataclass(frozen=True)
class Component:
    """A periodic loss as seen on one or more ranks: the one with the greatest share of the time."""

    periodic: Periodic
    ranks: tuple[int, ...]
    where: str
    cell: str


@dataclass(frozen=True)
class Noise:
    """What the traces of a run come to. ``headline``: share of time lost; ``worst``: s, or None."""

    headline: Point
    points: tuple[Point, ...]
    traces: tuple[Trace, ...]
    components: tuple[Component, ...]
    worst: tuple[float, Point] | None
    slowdowns: tuple[Slowdown, ...]


def traced_points(cells: Sequence[CellSummary], run: RunData) -> list[tuple[Point, list[Trace]]]:
    """The cells with the most ranks, and their traces, the finest first.

    Fixed work leads where it was measured: what it loses is what a program loses.
    """
    chosen = [
        point
        for kernel in (FWQ, FTQ)
        if (of_kernel := points(cells, kernel, "noise"))
        for point in _widest(of_kernel)
    ]
    return [
        (point, traces(m for m in run.measurements if m.cell.id == point.summary.id))
        for point in chosen
    ]


def noise_of(cells: Sequence[CellSummary], run: RunData) -> Noise | None:
    """The noise of the cells with the most ranks; None if no usable cell measured any."""
    found = traced_points(cells, run)
    if not found:
        return None
    worst = [
        (metric.max, point)
        for point, _ in found
        if (metric := point.summary.metrics.get("detour")) is not None
    ]
    headline, lead = found[0]
    ranks = headline.summary.cell.placement.ranks
    slowdowns = [slowdown(lead, step, ranks) for step in STEPS]
    return Noise(
        headline=headline,
        points=tuple(point for point, _ in found),
        traces=tuple(trace for _, of_cell in found for trace in of_cell),
        components=tuple(_components(found)),
        worst=max(worst, key=lambda pair: pair[0]) if worst else None,
        slowdowns=tuple(each for each in slowdowns if each is not None),
    )


def step_of(point: Point) -> float:
    """The quantum or interval of a point, s."""
    value = point.parameter("quantum" if point.summary.kernel == FWQ else "interval")
    return float(value or 0.0)


def _widest(found: Sequence[Point]) -> list[Point]:
    """The points of the leading toolchain on the most cores, the shortest quantum first."""
    of_lead = leading(found)
    most = max(point.cores for point in of_lead)
    return sorted((p for p in of_lead if p.cores == most), key=step_of)


def _components(cells: Sequence[tuple[Point, list[Trace]]]) -> list[Component]:
    """The periods of all traces, those of the same frequency as one, the greatest share first.

    Of fixed time alone where that was measured: its intervals are even, and tell periods better.
    """
    even = [pair for pair in cells if pair[0].summary.kernel == FTQ and pair[1]]
    cells = even or cells
    found: list[tuple[Periodic, Trace, str, float]] = []
    for point, of_cell in sorted(cells, key=lambda pair: step_of(pair[0])):
        for trace in of_cell:
            seen = trace_spectrum(trace)
            if seen is None:
                continue
            finer = [known[0] for known in found if known[1].step < trace.step]
            found += [
                (periodic, trace, point.summary.id, seen.resolution)
                for periodic in seen.periodic
                if periodic.share >= SLIGHT and not _folded(periodic, trace.step, finer)
            ]
    merged: list[Component] = []
    left = sorted(found, key=lambda each: -each[0].share)
    while left:
        lead, trace, cell, _ = left[0]
        same = [
            each
            for each in left
            if abs(each[0].frequency - lead.frequency)
            <= max(2.0 * each[3], 2.0 * left[0][3], BROAD * lead.frequency)
        ]
        ranks = tuple(sorted({each[1].rank for each in same}))
        merged.append(Component(lead, ranks, seat(trace), cell))
        left = [each for each in left if each not in same]
    return merged


def _folded(periodic: Periodic, step: float, known: Sequence[Periodic]) -> bool:
    """Whether what seems a period is one known from finer traces, too fast for steps so coarse."""
    for fine in known:
        for order in range(1, 9):
            frequency = order * fine.frequency * step  # in cycles a step
            if frequency <= 0.5:
                continue
            alias = abs(frequency - round(frequency)) / step
            if abs(alias - periodic.frequency) <= 0.01 * periodic.frequency:
                return True
    return False


def seat(trace: Trace) -> str:
    """``rank 1 (CPU 1)``, with the host where ranks are of several."""
    place = f" (CPU {trace.cpu})" if trace.cpu is not None else ""
    return f"rank {trace.rank}{place}"


def periodic_text(periodic: Periodic) -> str:
    """``every 4.00 ms (250 Hz) 2.10 µs, 0.0525% of the time``."""
    return (
        f"every {format_quantity(periodic.period, 's')} "
        f"({format_quantity(periodic.frequency, 'Hz')}) "
        f"{format_quantity(periodic.length, 's')}, {format_share(periodic.share)} of the time"
    )


def noise_part(noise: Noise) -> Part:
    """The part of the traces. ``remark`` is its clause of the verdict."""
    part = Part(headline=[noise.headline])
    label = labeller(noise.points)
    for point in noise.points:
        part.evidence.append(
            evidence(f"Noise, {_method(point)}", point, "noise", note=label(point))
        )
    if noise.worst:
        length, point = noise.worst
        part.evidence.append(
            _row(
                "Longest interruption seen",
                "detour",
                "s",
                length,
                [point.summary.id],
                f"{_method(point)}; {label(point)}",
            )
        )
    part.evidence += [_component_row(component) for component in noise.components[:_LISTED]]
    part.evidence += [
        _row(
            f"What a code that synchronises every {format_quantity(cost.step, 's')} takes longer",
            "slowdown",
            "1",
            cost.together,
            [noise.headline.summary.id],
            f"{counted(cost.ranks, 'rank')}; a rank alone {format_share(cost.alone)}",
        )
        for cost in noise.slowdowns
    ]
    _words(part, noise)
    return part


def _method(point: Point) -> str:
    words = "fixed work of" if point.summary.kernel == FWQ else "fixed intervals of"
    return f"{words} {format_quantity(step_of(point), 's')}"


def _row(label: str, metric: str, unit: str, value: float, cells: list[str], note: str) -> Evidence:
    """A number without an interval of its own."""
    return Evidence(
        label=label,
        metric=metric,
        unit=unit,
        value=value,
        ci95=None,
        limit=None,
        limit_source=None,
        share=None,
        share_ci95=None,
        cells=cells,
        note=note,
    )


def _component_row(component: Component) -> Evidence:
    periodic = component.periodic
    ranks = ", ".join(map(str, component.ranks))
    return _row(
        f"Lost every {format_quantity(periodic.period, 's')} "
        f"({format_quantity(periodic.frequency, 'Hz')})",
        "length",
        "s",
        periodic.length,
        [component.cell],
        f"{format_share(periodic.share)} of the time; most on {component.where}; seen on rank"
        f"{'s' if len(component.ranks) > 1 else ''} {ranks}",
    )


def _words(part: Part, noise: Noise) -> None:
    metric = noise.headline.metric
    ranks = noise.headline.summary.cell.placement.ranks
    lost = quantity_text(metric.median, metric.unit, metric.ci95)
    clauses = [
        f"noise makes work on {counted(ranks, 'rank')} take {lost} longer"
        if noise.headline.summary.kernel == FWQ
        else f"{counted(ranks, 'rank')} {'loses' if ranks == 1 else 'lose'} {lost} of the work to "
        "noise"
    ]
    named = noise.components[:_NAMED]
    if named:
        clauses.append("periodically " + " and ".join(periodic_text(c.periodic) for c in named))
    else:
        clauses.append("none of it periodic")
    if noise.worst:
        clauses.append(f"the longest interruption took {format_quantity(noise.worst[0], 's')}")
    if noise.slowdowns and ranks > 1:
        cost = noise.slowdowns[0]
        clauses.append(
            f"a code that synchronises all {ranks} every {format_quantity(cost.step, 's')} takes "
            f"{format_share(cost.together)} longer"
        )
    part.remark = "; ".join(clauses)
    part.method = [
        "Noise: the same work over and over (fixed work), or as much work as fits into equal "
        "intervals (fixed time), on all ranks at once; what is lost against the fastest piece or "
        "the fullest interval of the rank, over that (Sottile & Minnich 2004). Periods: lines of "
        "the spectrum of the lost time that noise without period would show once in a hundred "
        "spectra.",
        "Cost of synchronising: the mean of the greatest loss of as many ranks, drawn "
        "independently from the losses traced; ranks that are interrupted together lose less.",
    ]
    part.limits = _limits(noise)
    if metric.median >= NOISY:
        part.advice.append(
            f"Noise costs {format_share(metric.median)}: look for what else runs "
            "(other processes, interrupts, the hypervisor's steal time stand in the covariates), "
            "and try leaving one core of a node to the system. Petrini, Kerbyson & Pakin (2003) "
            f"made an application {ASCI_Q} faster by removing noise."
        )
    for component in named:
        if component.periodic.share >= NOISY:
            part.advice.append(
                f"Find what runs {periodic_text(component.periodic)} on {component.where}: a "
                "service with that interval, or a timer of the kernel."
            )


def _limits(noise: Noise) -> list[str]:
    all_traces = noise.traces
    if not all_traces:
        return ["The records hold no traces, so periods and single interruptions are unknown."]
    shortest = min(trace.step for trace in all_traces)
    longest = max(float(segment.spans.sum()) for trace in all_traces for segment in trace.segments)
    seconds = sum(trace.duration for trace in all_traces)
    return [
        f"Traces cover {format_quantity(seconds, 's')} of all ranks together; periods from "
        f"{format_quantity(2 * shortest, 's')} to {format_quantity(longest / LEAST_CYCLES, 's')} "
        "can be told. What runs more rarely (hourly jobs, backups) would show as a single "
        "interruption, or not at all.",
    ]
