"""Noise: one trace, its spectrum, its interruptions, and who is late at barriers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from assay.answers.arrivals import arrivals_of
from assay.answers.noise import seat, traced_points
from assay.records.model import RunData
from assay.report.marks import Row, Spec, listed, scale_of
from assay.report.model import Field, Figure
from assay.stats.intervals import Floats
from assay.stats.model import CellSummary
from assay.stats.noise import FTQ, Trace, detours, trace_spectrum
from assay.stats.spectrum import Spectrum
from assay.units import counted, format_quantity

# Points of a line that the eye still tells apart in the text's width.
_POINTS = 1200
_BINS_A_DECADE = 5
_NAMED = 4
_RANKS = 64  # boxes that fit side by side
_FORMAT = ",.6~g"


def noise_figures(cells: Sequence[CellSummary], run: RunData) -> list[Figure | None]:
    """All figures of noise that this run holds data for."""
    made: list[Figure | None] = []
    trace = _noisiest([trace for _, of_cell in traced_points(cells, run) for trace in of_cell])
    if trace is not None:
        made += [_trace_figure(trace), _spectrum_figure(trace), _detour_figure(trace)]
    return [*made, _lateness_figure(cells, run)]


def _noisiest(all_traces: Sequence[Trace]) -> Trace | None:
    """The rank that lost most, of the finest fixed-time traces: their spectrum is the plainest."""
    even = [trace for trace in all_traces if trace.kernel == FTQ] or all_traces
    if not even:
        return None
    finest = min(trace.step for trace in even)
    return max((t for t in even if t.step == finest), key=lambda trace: trace.share)


def _thinned(x: Floats, y: Floats, most: int) -> tuple[Floats, Floats]:
    """At most so many points: of each stretch the greatest, for peaks are what matters."""
    if x.size <= most:
        return x, y
    edges = np.linspace(0, x.size, most + 1).astype(int)[:-1]
    tops = [
        int(low + np.argmax(y[low:high]))
        for low, high in zip(edges, [*edges[1:], x.size], strict=True)
    ]
    return x[tops], y[tops]


def _axis(title: str) -> Spec:
    return {
        "title": title,
        "scale": {"type": "linear", "nice": True},
        "axis": {"tickCount": 6, "format": _FORMAT},
    }


def _log_axis(title: str, values: Iterable[float]) -> Spec:
    """Ticks at powers of ten only: lines at each multiple would be a wall."""
    shown = [value for value in values if value > 0.0]
    low, high = math.floor(math.log10(min(shown))), math.ceil(math.log10(max(shown)))
    return {
        "title": title,
        "scale": {"type": "log", "nice": False},
        "axis": {"values": [10.0**power for power in range(low, high + 1)], "format": _FORMAT},
    }


def _scaled(factors: dict[str, float]) -> list[Spec]:
    """``shown_NAME`` for each field: what is drawn, in the unit of its axis."""
    return [
        {"calculate": f"datum.{name} / {factor!r}", "as": f"shown_{name}"}
        for name, factor in factors.items()
    ]


def _trace_figure(trace: Trace) -> Figure:
    segment = trace.segments[0]
    times, lost = _thinned(segment.starts, segment.lost, _POINTS)
    rows: list[Row] = [
        {"time": float(time), "lost": float(each)} for time, each in zip(times, lost, strict=True)
    ]
    factor, prefix = scale_of(lost.tolist())
    spec = {
        "height": 200,
        "transform": _scaled({"lost": factor}),
        "mark": {"type": "bar", "width": 1},
        "encoding": {
            "x": {"field": "time", "type": "quantitative", **_axis("time (s)")},
            "y": {
                "field": "shown_lost",
                "type": "quantitative",
                **_axis(f"lost in a quantum ({prefix}s)"),
            },
            "tooltip": [
                {"field": "time", "type": "quantitative", "title": "time (s)", "format": ".6~g"},
                {
                    "field": "shown_lost",
                    "type": "quantitative",
                    "title": f"lost ({prefix}s)",
                    "format": ".4~g",
                },
            ],
        },
    }
    return Figure(
        id="noise-trace",
        title=f"Noise: time lost on {seat(trace)}",
        caption=f"One trace of {format_quantity(trace.step, 's')} quanta; where there are more "
        "than fit, the worst of each stretch.",
        alt=f"Time lost in each quantum against time, at most "
        f"{format_quantity(float(lost.max()), 's')}.",
        fields=[
            Field("time", "s", "when the quantum began, from the trace's start"),
            Field("lost", "s", "lost in that quantum"),
        ],
        rows=rows,
        spec=spec,
    )


def _strongest_line(seen: Spectrum, frequency: float) -> float:
    """The frequency of the comb's line that stands out most: where the eye looks for its name."""
    lines = np.arange(frequency, seen.frequencies[-1], frequency)
    places = np.clip(np.searchsorted(seen.frequencies, lines), 0, seen.power.size - 1)
    return float(lines[np.argmax(seen.power[places])])


def _spectrum_figure(trace: Trace) -> Figure | None:
    seen = trace_spectrum(trace)
    if seen is None:
        return None
    frequencies, power = _thinned(seen.frequencies, seen.power, _POINTS)
    threshold = np.interp(frequencies, seen.frequencies, seen.threshold)
    rows: list[Row] = [
        {"frequency": float(f), "power": float(p), "threshold": float(t), "name": None}
        for f, p, t in zip(frequencies, power, threshold, strict=True)
    ]
    for periodic in seen.periodic[:_NAMED]:
        strongest = _strongest_line(seen, periodic.frequency)
        nearest = int(np.argmin(np.abs(frequencies - strongest)))
        rows[nearest]["name"] = (
            f"{format_quantity(periodic.period, 's')}: {format_quantity(periodic.length, 's')}"
        )
    x = {
        "field": "frequency",
        "type": "quantitative",
        **_log_axis("frequency (Hz)", frequencies.tolist()),
    }
    y: Spec = {"type": "quantitative", **_log_axis("power over the floor", power.tolist())}
    spec = {
        "height": 240,
        # A logarithmic axis has no place for nothing.
        "transform": [{"calculate": "max(datum.power, 0.01)", "as": "shown_power"}],
        "encoding": {"x": x},
        "layer": [
            {
                "mark": {"type": "line", "strokeWidth": 1},
                "encoding": {
                    "y": {"field": "shown_power", **y},
                    "tooltip": [
                        {
                            "field": "frequency",
                            "type": "quantitative",
                            "title": "frequency (Hz)",
                            "format": ".5~g",
                        },
                        {
                            "field": "power",
                            "type": "quantitative",
                            "title": "power over the floor",
                            "format": ".3~g",
                        },
                    ],
                },
            },
            {
                "mark": {"type": "line", "strokeDash": [6, 4], "strokeWidth": 1.5},
                "encoding": {"y": {"field": "threshold", **y}},
            },
            {
                "transform": [{"filter": "isValid(datum.name)"}],
                "mark": {"type": "text", "align": "left", "baseline": "bottom", "dx": 4},
                "encoding": {"y": {"field": "shown_power", **y}, "text": {"field": "name"}},
            },
        ],
    }
    names = [format_quantity(each.period, "s") for each in seen.periodic[:_NAMED]]
    return Figure(
        id="noise-spectrum",
        title=f"Noise: spectrum of the time lost on {seat(trace)}",
        caption="Mean over the traces. Dashed: what noise without any period would exceed once in "
        "a hundred spectra. Named: period and time lost in each.",
        alt="Power of the lost time against frequency; "
        + (f"periods found: {listed(names)}." if names else "no period found."),
        fields=[
            Field("frequency", "Hz", "frequency"),
            Field("power", "1", "power over the median of its neighbours"),
            Field("threshold", "1", "what noise without period exceeds once in a hundred spectra"),
            Field("name", "", "period and time lost in each, where one was found"),
        ],
        rows=rows,
        spec=spec,
    )


def _detour_figure(trace: Trace) -> Figure | None:
    found = detours(trace)
    lengths = found.lengths[found.lengths > 0.0]
    if lengths.size == 0:
        return None
    low = math.floor(_BINS_A_DECADE * math.log10(float(lengths.min())))
    high = math.floor(_BINS_A_DECADE * math.log10(float(lengths.max()))) + 1
    edges = 10.0 ** (np.arange(low, high + 1) / _BINS_A_DECADE)
    counts, _ = np.histogram(lengths, edges)
    rows: list[Row] = [
        {
            "low": float(edges[i]),
            "high": float(edges[i + 1]),
            "rate": float(count) / found.duration,
            "count": int(count),
        }
        for i, count in enumerate(counts)
        if count
    ]
    base = 0.5 / found.duration  # half of the rate of a single one
    factor, prefix = 1e-6, "µ"
    x = {
        "field": "shown_low",
        "type": "quantitative",
        **_log_axis(f"length ({prefix}s)", (edges / factor).tolist()),
    }
    spec = {
        "height": 220,
        "transform": _scaled({"low": factor, "high": factor}),
        "mark": {"type": "bar"},
        "encoding": {
            "x": x,
            "x2": {"field": "shown_high"},
            "y": {
                "field": "rate",
                "type": "quantitative",
                **_log_axis("interruptions a second", (counts / found.duration).tolist()),
            },
            "y2": {"datum": base},
            "tooltip": [
                {"field": "shown_low", "title": f"from ({prefix}s)", "format": ".3~g"},
                {"field": "shown_high", "title": f"to ({prefix}s)", "format": ".3~g"},
                {"field": "count", "title": "interruptions"},
            ],
        },
    }
    return Figure(
        id="noise-detours",
        title=f"Noise: interruptions on {seat(trace)}",
        caption=f"Both axes logarithmic. Counted are losses more than "
        f"{format_quantity(found.floor, 's')} over the usual.",
        alt=f"Histogram of {counted(int(lengths.size), 'interruption')}, the longest "
        f"{format_quantity(float(lengths.max()), 's')}.",
        fields=[
            Field("low", "s", "lengths from"),
            Field("high", "s", "lengths to"),
            Field("rate", "1/s", "interruptions of such lengths a second"),
            Field("count", "", "interruptions of such lengths"),
        ],
        rows=rows,
        spec=spec,
        width="half",
    )


def _lateness_figure(cells: Sequence[CellSummary], run: RunData) -> Figure | None:
    arrivals = arrivals_of(cells, run)
    if arrivals is None or not arrivals.ranks:
        return None
    shown = sorted(arrivals.ranks, key=lambda each: -each.last)[:_RANKS]
    rows: list[Row] = [
        {
            "rank": each.rank,
            "cpu": each.cpu,
            "last": each.last,
            "p05": each.level(0.05),
            "median": each.level(0.5),
            "p95": each.level(0.95),
            "p99": each.level(0.99),
            "worst": each.worst,
        }
        for each in sorted(shown, key=lambda each: each.rank)
    ]
    factor, prefix = 1e-6, "µ"
    y: Spec = {
        "type": "quantitative",
        "title": f"behind the first ({prefix}s)",
        # Linear below 0.1 µs, where the first itself has its place, and logarithmic above.
        "scale": {"type": "symlog", "constant": 0.1},
        "axis": {"values": [0, 0.1, 1, 10, 100, 1e3, 1e4, 1e5, 1e6], "format": _FORMAT},
    }
    spec = {
        "height": 220,
        "transform": _scaled(dict.fromkeys(("p05", "median", "p95", "worst"), factor)),
        "encoding": {
            "x": {"field": "rank", "type": "ordinal", "title": "rank", "axis": {"labelAngle": 0}},
            "tooltip": [
                {"field": "rank", "title": "rank"},
                {"field": "cpu", "title": "CPU"},
                {"field": "last", "title": "last at (share)", "format": ".3~g"},
                {"field": "shown_median", "title": f"median ({prefix}s)", "format": ".3~g"},
                {"field": "shown_p95", "title": f"95% ({prefix}s)", "format": ".3~g"},
                {"field": "shown_worst", "title": f"worst ({prefix}s)", "format": ".3~g"},
            ],
        },
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 6, "opacity": 0.4},
                "encoding": {"y": {"field": "shown_p05", **y}, "y2": {"field": "shown_p95"}},
            },
            {
                "mark": {"type": "tick", "thickness": 2, "size": 24},
                "encoding": {"y": {"field": "shown_median", **y}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 40},
                "encoding": {"y": {"field": "shown_worst", **y}},
            },
        ],
    }
    latest = max(arrivals.ranks, key=lambda each: each.last)
    return Figure(
        id="noise-lateness",
        title="Barriers: how far behind the first each rank arrives",
        caption="Bar: 5% to 95% of the barriers, medians over launches; tick: median; dot: worst."
        + (f" The {_RANKS} ranks that are last most often." if len(shown) == _RANKS else ""),
        alt=f"Lateness of {counted(len(shown), 'rank')}; {latest.place} is last most often.",
        fields=[
            Field("rank", "", "rank"),
            Field("cpu", "", "its first CPU"),
            Field("last", "1", "share of barriers that it reached last"),
            Field("p05", "s", "5% quantile of its time behind the first"),
            Field("median", "s", "median of it"),
            Field("p95", "s", "95% quantile of it"),
            Field("p99", "s", "99% quantile of it"),
            Field("worst", "s", "the worst of all launches"),
        ],
        rows=rows,
        spec=spec,
        width="half",
    )
