"""Figures of noise: one trace, its spectrum, its interruptions."""

from __future__ import annotations

import math

from assay.charts.builder import numbers
from assay.charts.figure import Field, Figure
from assay.charts.layers import calculated, layer, logarithmic, power_ticks, shown_in, tips
from assay.charts.marks import Row, Spec, scale_of
from assay.questions.steadiness.noise.findings import NoiseFindings
from assay.questions.steadiness.noise.traces import (
    DrawnSpectrum,
    DrawnTrace,
    InterruptionHistogram,
)
from assay.units import counted, format_quantity, listed

_FORMAT = ",.6~g"
_MICRO = (1e-6, "µs")


def figures(found: NoiseFindings) -> list[Figure]:
    """The trace of the rank that lost most, its spectrum and its interruptions."""
    trace = found.trace
    if trace is None:
        return []
    drawn = [_trace_figure(trace)]
    if trace.spectrum is not None:
        drawn.append(_spectrum_figure(trace.spectrum, trace.where))
    if trace.interruptions is not None:
        drawn.append(_interruption_figure(trace.interruptions, trace.where))
    return drawn


def _trace_figure(trace: DrawnTrace) -> Figure:
    rows: list[Row] = [{"time": time, "lost": lost} for time, lost in trace.losses]
    losses = [lost for _, lost in trace.losses]
    factor, prefix = scale_of(losses)
    style: Spec = {
        "scale": {"type": "linear", "nice": True},
        "axis": {"tickCount": 6, "format": _FORMAT},
    }
    return Figure(
        id="noise-trace",
        title=f"Noise: time lost on {trace.where}",
        caption=f"One trace of {format_quantity(trace.step, 's')} quanta. If there are too many to "
        "draw, the greatest loss of each interval of quanta.",
        alt=f"Time lost in each quantum against time, at most {format_quantity(max(losses), 's')}.",
        fields=[
            Field("time", "s", "start of the quantum, since the start of the trace"),
            Field("lost", "s", "time lost in that quantum"),
        ],
        rows=rows,
        spec={
            "height": 200,
            "transform": shown_in({"lost": factor}),
            "mark": {"type": "bar", "width": 1},
            "encoding": {
                "x": numbers("time", "time (s)", **style),
                "y": numbers("shown_lost", f"lost per quantum ({prefix}s)", **style),
                "tooltip": tips(
                    ("time", "time (s)", ".6~g"), ("shown_lost", f"lost ({prefix}s)", ".4~g")
                ),
            },
        },
    )


def _spectrum_figure(spectrum: DrawnSpectrum, where: str) -> Figure:
    rows: list[Row] = [
        {
            "frequency": line.frequency,
            "power": line.power,
            "threshold": line.threshold,
            "name": None
            if line.component is None
            else f"{format_quantity(line.component.period, 's')}: "
            f"{format_quantity(line.component.length, 's')}",
        }
        for line in spectrum.lines
    ]
    names = [format_quantity(each.period, "s") for each in spectrum.named]
    hertz = power_ticks(line.frequency for line in spectrum.lines)
    ticks = power_ticks(line.power for line in spectrum.lines)
    x = numbers("frequency", "frequency (Hz)", **logarithmic(hertz, _FORMAT))
    y = numbers("shown_power", "power over the floor", **logarithmic(ticks, _FORMAT))
    dashed = {"type": "line", "strokeDash": [6, 4], "strokeWidth": 1.5}
    text = {"type": "text", "baseline": "bottom"}
    # Names of the right half stand left of their lines, so that none reaches beyond the figure.
    middle = math.sqrt(spectrum.lines[0].frequency * spectrum.lines[-1].frequency)
    named = {"y": y, "text": {"field": "name"}}
    found = [line.frequency for line in spectrum.lines if line.component is not None]
    values = tips(
        ("frequency", "frequency (Hz)", ".5~g"), ("power", "power over the floor", ".3~g")
    )
    return Figure(
        id="noise-spectrum",
        title=f"Noise: spectrum of the time lost on {where}",
        caption="Mean over the traces. Dashed: the threshold that one in a hundred spectra of "
        "noise without any period exceeds. Labels: period, and time lost in each.",
        alt="Power of the lost time against frequency; "
        + (f"periods found: {listed(names)}." if names else "no period found."),
        fields=[
            Field("frequency", "Hz", "frequency"),
            Field("power", "1", "power over the median of its neighbours"),
            Field("threshold", "1", "one in a hundred spectra without periods exceeds it"),
            Field("name", "", "period and time lost in each, if one was found"),
        ],
        rows=rows,
        spec={
            "height": 240,
            # A logarithmic axis has no 0.
            "transform": calculated({"shown_power": "max(datum.power, 0.01)"}),
            "encoding": {"x": x},
            "layer": [
                layer({"type": "line", "strokeWidth": 1}, {"y": y, "tooltip": values}),
                layer(dashed, {"y": {**y, "field": "threshold"}}),
                *(
                    layer(
                        {**text, "align": align, "dx": offset},
                        named,
                        only=f"isValid(datum.name) && (datum.frequency < {middle!r}) == {left}",
                    )
                    for left, align, offset in (("true", "left", 4), ("false", "right", -4))
                    if (left == "true") in {each < middle for each in found}
                ),
            ],
        },
    )


def _interruption_figure(found: InterruptionHistogram, where: str) -> Figure:
    rows: list[Row] = [
        {"low": each.low, "high": each.high, "rate": each.rate, "count": each.count}
        for each in found.bins
    ]
    factor, unit = _MICRO
    edges = [found.bins[0].low / factor, found.bins[-1].high / factor]
    rates = power_ticks(each.rate for each in found.bins)
    lengths = logarithmic(power_ticks(edges), _FORMAT)
    return Figure(
        id="noise-detours",
        title=f"Noise: interruptions on {where}",
        caption="Both axes are logarithmic. An interruption is a loss that exceeds the usual one "
        f"by more than {format_quantity(found.floor, 's')}.",
        alt=f"Histogram of {counted(found.count, 'interruption')}, the longest "
        f"{format_quantity(found.longest, 's')}.",
        fields=[
            Field("low", "s", "minimum length"),
            Field("high", "s", "maximum length"),
            Field("rate", "1/s", "interruptions between these lengths per second"),
            Field("count", "", "number of interruptions between these lengths"),
        ],
        rows=rows,
        spec={
            "height": 220,
            "transform": shown_in({"low": factor, "high": factor}),
            "mark": {"type": "bar"},
            "encoding": {
                "x": numbers("shown_low", f"length ({unit})", **lengths),
                "x2": {"field": "shown_high"},
                "y": numbers("rate", "interruptions per second", **logarithmic(rates, _FORMAT)),
                # Bars begin at half of the rate of a single interruption.
                "y2": {"datum": 0.5 / found.duration},
                "tooltip": tips(
                    ("shown_low", f"from ({unit})", ".3~g"),
                    ("shown_high", f"to ({unit})", ".3~g"),
                    ("count", "interruptions"),
                ),
            },
        },
        width="half",
    )
