"""Kernels of the noise family: interruptions of a computation, and their effect on barriers."""

from __future__ import annotations

from collections.abc import Mapping

from assay.kernels.catalogue import Check, Kernel, Metric, Parameter, Work
from assay.model.placement import Placement, Value

# The bounds that native/noise/reported_ranks.hpp enforces: values of a trace, seconds of a trace.
MOST_COUNT = 16384
LONGEST_TRACE = 60.0
# The quantiles of each rank's lateness that noise.barrier reports, in this order.
LATENESS_LEVELS = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999)


def _no_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    return {}


def _memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    """Bytes of traces and scratch memory; noise.barrier keeps at most 2 MiB of lateness."""
    return 8.0 * (20_000 + 4 * int(parameters["count"]) + (1 << 18))


def _too_long(span: str) -> Check:
    def check(parameters: Mapping[str, Value], placement: Placement) -> str | None:
        whole = float(parameters[span]) * int(parameters["count"])
        if whole <= LONGEST_TRACE:
            return None
        return (
            f"count = {parameters['count']} with {span} = {float(parameters[span]):g} s would "
            f"take {whole:.0f} s per sample, more than the limit of {LONGEST_TRACE:.0f} s."
        )

    return check


def _span(name: str, meaning: str) -> Parameter:
    return Parameter(name, 1e-4, meaning, unit="s", low=1e-6, high=0.1)


def _count(default: int, meaning: str) -> Parameter:
    return Parameter("count", default, meaning, low=16, high=MOST_COUNT)


KERNELS = (
    Kernel(
        name="noise.fwq",
        title="Fixed work quantum: times of equal pieces of work",
        parameters=(
            _span("quantum", "time of an uninterrupted piece of work"),
            _count(10_000, "pieces in a sample"),
        ),
        metrics=(
            Metric(
                "noise",
                "1",
                "less",
                "time lost relative to the fastest piece: (mean - min) / min, mean over ranks",
                series="noise",
            ),
            Metric("detour", "s", "less", "longest interruption of any rank", series="detour"),
            Metric("time", "s", "less", "mean time of a piece, slowest rank"),
        ),
        work=_no_work,
        source="Sottile & Minnich (2004); Petrini, Kerbyson & Pakin (2003)",
        headline="noise",
        notes="The work is a chain of dependent integer multiplications in registers, the same on "
        "every rank.",
        memory=_memory,
        check=_too_long("quantum"),
    ),
    Kernel(
        name="noise.ftq",
        title="Fixed time quantum: work done in equal intervals of time",
        parameters=(
            _span("interval", "length of an interval"),
            _count(10_000, "intervals in a sample"),
        ),
        metrics=(
            Metric(
                "noise",
                "1",
                "less",
                "work lost relative to the best interval: (max - mean) / max, mean over ranks",
                series="noise",
            ),
            Metric("detour", "s", "less", "longest interruption of any rank", series="detour"),
        ),
        work=_no_work,
        source="Sottile & Minnich (2004)",
        headline="noise",
        notes="Intervals are always evenly spaced, as a spectrum requires.",
        memory=_memory,
        check=_too_long("interval"),
    ),
    Kernel(
        name="noise.barrier",
        title="Arrivals at barriers: equal work on every rank, then a barrier, repeated",
        parameters=(
            _span("quantum", "time of the work between two barriers, uninterrupted"),
            _count(1000, "barriers in a sample"),
        ),
        metrics=(
            Metric(
                "lost",
                "1",
                "less",
                "share of a step spent waiting for the last rank to arrive, mean over ranks",
                series="lost",
            ),
            Metric(
                "spread",
                "s",
                "less",
                "time from the first to the last arrival, mean",
                series="spread",
            ),
            Metric(
                "barrier",
                "s",
                "less",
                "time from the last arrival to the exit, mean",
                series="barrier",
            ),
            Metric("time", "s", "less", "mean duration of a step (work and barrier), slowest rank"),
        ),
        work=_no_work,
        source="Kramer & Ryan (2003), 13",
        min_ranks=2,
        headline="lost",
        notes="On one node arrivals are timed by its clock. Across nodes they follow from how long "
        "each rank waited.",
        memory=_memory,
        check=_too_long("quantum"),
    ),
)
