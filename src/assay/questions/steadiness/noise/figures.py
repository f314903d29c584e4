"""Figures of noise: one trace, its spectrum, its interruptions."""

from __future__ import annotations

import math

from assay.charts.axes import power_ticks
from assay.charts.columns import DataColumn
from assay.charts.figure import Figure
from assay.charts.marks import Spec, scale_of
from assay.charts.plot import Plot, at
from assay.questions.steadiness.noise.findings import NoiseFindings
from assay.questions.steadiness.noise.traces import (
    DrawnSpectrum,
    DrawnTrace,
    InterruptionHistogram,
)
from assay.stats.noise.spectrum import PeriodicComponent
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
    losses = [lost for _, lost in trace.losses]
    factor, prefix = scale_of(losses)
    columns = [
        DataColumn("time", "start of the quantum, since the start of the trace", "s", "time (s)",
                   ".6~g", of=lambda loss: loss[0]),
        DataColumn("lost", "time lost in that quantum", "s", f"lost ({prefix}s)", ".4~g",
                   factor=factor, of=lambda loss: loss[1]),
    ]  # fmt: skip
    plot = Plot.of(trace.losses, columns, height=200)
    style: Spec = {"scale": "linear", "nice": True, "tick_count": 6, "format": _FORMAT}
    plot.bars(
        width=1,
        x=plot.axis("time", **style),
        y=plot.axis("lost", f"lost per quantum ({prefix}s)", **style),
        tips=("time", "lost"),
    )
    return plot.figure(
        "noise-trace",
        f"Noise: time lost on {trace.where}",
        caption=f"One trace of {format_quantity(trace.step, 's')} quanta. If there are too many "
        "quanta to draw, each point is the greatest loss of several consecutive quanta.",
        alt=f"Time lost in each quantum against time, at most {format_quantity(max(losses), 's')}.",
    )


def _spectrum_figure(spectrum: DrawnSpectrum, where: str) -> Figure:
    columns = [
        DataColumn("frequency", "frequency", "Hz", "frequency (Hz)", ".5~g",
                   of=lambda line: line.frequency),
        # A logarithmic axis has no 0.
        DataColumn("power", "power over the median of its neighbours", "1", "power over the floor",
                   ".3~g", shown="max(datum.power, 0.01)", of=lambda line: line.power),
        DataColumn("threshold", "one in a hundred spectra without periods exceeds it", "1",
                   of=lambda line: line.threshold),
        DataColumn("name", "period and time lost in each, if one was found", kind="name",
                   of=lambda line: None if line.component is None else _period(line.component)),
    ]  # fmt: skip
    plot = Plot.of(spectrum.lines, columns, height=240)
    names = [format_quantity(each.period, "s") for each in spectrum.named]
    hertz = power_ticks(line.frequency for line in spectrum.lines)
    ticks = power_ticks(line.power for line in spectrum.lines)
    log: Spec = {"scale": "log", "nice": False, "format": _FORMAT}
    y = plot.axis("power", values=ticks, **log)
    plot.share(x=plot.axis("frequency", values=hertz, **log))
    plot.line(stroke_width=1, y=y, tips=("frequency", "power"))
    plot.line(stroke_dash=[6, 4], stroke_width=1.5, y=plot.same(y, "threshold"))
    # Labels in the right half are left of their lines, so no label exceeds the figure.
    middle = math.sqrt(spectrum.lines[0].frequency * spectrum.lines[-1].frequency)
    found = {line.frequency < middle for line in spectrum.lines if line.component is not None}
    for left, align, offset in ((True, "left", 4), (False, "right", -4)):
        if left in found:
            side = "datum.frequency < " if left else "datum.frequency >= "
            only = f"isValid(datum.name) && {side}{middle!r}"
            plot.text("name", only=only, y=y, baseline="bottom", align=align, dx=offset)
    return plot.figure(
        "noise-spectrum",
        f"Noise: spectrum of the time lost on {where}",
        caption="Mean over the traces. Dashed: the threshold that 1% of the spectra of noise "
        "without periods exceed. Labels: each period, and the time lost in it.",
        alt="Power of the lost time against frequency; "
        + (f"periods found: {listed(names)}." if names else "no period found."),
    )


def _period(component: PeriodicComponent) -> str:
    return f"{format_quantity(component.period, 's')}: {format_quantity(component.length, 's')}"


def _interruption_figure(found: InterruptionHistogram, where: str) -> Figure:
    factor, unit = _MICRO
    edges = [found.bins[0].low / factor, found.bins[-1].high / factor]
    rates = power_ticks(each.rate for each in found.bins)
    columns = [
        DataColumn("low", "minimum length", "s", f"from ({unit})", ".3~g", factor=factor,
                   of=lambda each: each.low),
        DataColumn("high", "maximum length", "s", f"to ({unit})", ".3~g", factor=factor,
                   of=lambda each: each.high),
        DataColumn("rate", "interruptions between these lengths per second", "1/s",
                   of=lambda each: each.rate),
        DataColumn("count", "number of interruptions between these lengths", title="interruptions",
                   of=lambda each: each.count),
    ]  # fmt: skip
    plot = Plot.of(found.bins, columns, height=220)
    log: Spec = {"scale": "log", "nice": False, "format": _FORMAT}
    plot.bars(
        x=plot.axis("low", f"length ({unit})", values=power_ticks(edges), **log),
        x2="high",
        y=plot.axis("rate", "interruptions per second", values=rates, **log),
        # Bars begin at half of the rate of a single interruption.
        y2=at(0.5 / found.duration),
        tips=("low", "high", "count"),
    )
    return plot.figure(
        "noise-detours",
        f"Noise: interruptions on {where}",
        caption="Both axes are logarithmic. An interruption is a loss that exceeds the usual "
        f"loss by more than {format_quantity(found.floor, 's')}.",
        alt=f"Histogram of {counted(found.count, 'interruption')}, the longest "
        f"{format_quantity(found.longest, 's')}.",
        width="half",
    )
