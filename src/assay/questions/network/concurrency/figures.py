"""Figures of concurrent messages: many pairs against one, many senders against one, windows."""

from __future__ import annotations

from collections.abc import Sequence

from assay.charts.axes import count_axis, size_axis
from assay.charts.builder import Chart
from assay.charts.figure import Field, Figure
from assay.charts.levels import level
from assay.charts.marks import Row, Spec, data_fields, ratio_fields, scale_of
from assay.kernels.naming import placement_text
from assay.questions.common.figure_rows import intervals_text, statistics
from assay.questions.common.selection import Point, labeller
from assay.questions.network.concurrency.findings import (
    ConcurrencyFindings,
    ConcurrentPairs,
    ConcurrentSenders,
    MessageRates,
)
from assay.questions.network.parameters import integer
from assay.units import counted, listed

_MAX_CURVES = 8  # the number that colours distinguish
_HEIGHT = 240


def figures(found: ConcurrencyFindings) -> list[Figure]:
    """Bandwidth of concurrent pairs, slowdown of concurrent senders, message rates."""
    drawn = [
        _pairs_figure([pairs for pairs in found.pairs if pairs.pairs > 1]),
        _senders_figure(found.senders),
        _rate_figure(found.rates) if found.rates else None,
    ]
    return [figure for figure in drawn if figure is not None]


def _pairs_figure(groups: Sequence[ConcurrentPairs]) -> Figure | None:
    """Bandwidth against size: single pair, fastest, slowest (Edmundsson et al., figure 2)."""
    rows: list[Row] = []
    for group in groups:
        where = (
            f" · {placement_text(group.placement)} · {group.toolchain}" if len(groups) > 1 else ""
        )
        curves = {
            f"single pair{where}": (group.alone, "bandwidth"),
            f"{group.pairs} pairs, fastest{where}": (group.cells, "max_bandwidth"),
            f"{group.pairs} pairs, slowest{where}": (group.cells, "min_bandwidth"),
        }
        rows += [
            {"bytes": size, "curve": name, **statistics(Point(cell, cell.metrics[metric]))}
            for name, (by_size, metric) in curves.items()
            for size, cell in sorted(by_size.items())
            if metric in cell.metrics
        ]
    sizes = sorted({int(row["bytes"] or 0) for row in rows})
    if len(sizes) < 2:
        return None
    x = size_axis("bytes", "message size", sizes)
    return _curves(rows, x, "bandwidth", "B/s", logarithmic=True).figure(
        "pairs-at-once",
        "Concurrent pairs: bandwidth of each against message size",
        caption="Ping-pong of a single pair, and of the fastest and the slowest of all "
        f"concurrent pairs. Both axes logarithmic. {intervals_text(rows, 'whiskers')}",
        alt=f"Line chart of ping-pong bandwidth against message size, from {sizes[0]} to "
        f"{sizes[-1]} bytes, of {listed(_names(rows))}.",
        fields=[Field("bytes", "B", "message size"), Field("curve", "", "which pair")],
    )


def _senders_figure(groups: Sequence[ConcurrentSenders]) -> Figure | None:
    """Time of many senders over the time of one, against size (Luecke et al. 2005, figure 9)."""
    rows: list[Row] = []
    for group in groups:
        where = (
            f" · {placement_text(group.placement)} · {group.toolchain}" if len(groups) > 1 else ""
        )
        for senders, by_size in group.slowdowns.items():
            for size, times in by_size.items():
                low, high = times.ci95 or (None, None)
                rows.append(
                    {
                        "bytes": size,
                        "curve": f"{senders} senders{where}",
                        "median": times.value,
                        "low": low,
                        "high": high,
                        "launches": times.launches,
                    }
                )
    sizes = sorted({int(row["bytes"] or 0) for row in rows})
    if len(sizes) < 2:
        return None
    x = size_axis("bytes", "message size", sizes)
    top = max(float(row["median"] or 0.0) for row in rows)
    return (
        _curves(rows, x, "time / time of one sender", "", scale=(1.0, ""))
        .add(level(1.0))
        .figure(
            "senders-at-once",
            "Concurrent senders: slowdown against one sender",
            caption="Time of the slowest of several ranks of a node that send concurrently, over "
            "the time of a single sender. Dashed: no slowdown. "
            f"{intervals_text(rows, 'whiskers')}",
            alt=f"Line chart of the slowdown of {listed(_names(rows))} against message size, from "
            f"{sizes[0]} to {sizes[-1]} bytes; at most {top:.2f}.",
            fields=[
                Field("bytes", "B", "message size"),
                Field("curve", "", "number of concurrent senders"),
            ],
            statistics=ratio_fields("time of the slowest sender over the time of a single sender"),
        )
    )


def _rate_figure(found: MessageRates) -> Figure:
    """Message rate against the window, for the smallest messages with several windows."""
    label = labeller(found.points)
    named = [(*_manner(point), label(point)) for point in found.points]
    # The caption names the parameters that all curves share.
    differ = [len(set(parts)) > 1 for parts in zip(*named, strict=True)]
    common = [part for part, each in zip(named[0][:-1], differ, strict=False) if part and not each]
    rows: list[Row] = [
        {
            "window": integer(point, "window"),
            "curve": ", ".join(part for part, each in zip(parts, differ, strict=True) if each)
            or ", ".join(common),
            **statistics(point),
        }
        for point, parts in zip(found.points, named, strict=True)
    ]
    rows.sort(key=lambda row: (str(row["curve"]), int(row["window"] or 0)))
    kept = _names(rows)[:_MAX_CURVES]
    left_out = len(_names(rows)) - len(kept)
    rows = [row for row in rows if row["curve"] in kept]
    factor, prefix = scale_of(float(row["median"] or 0.0) for row in rows)
    ticks = list(found.windows)
    x = count_axis("window", "messages in flight each way", ticks, nice=False, padding=12)
    scale = (factor, f"{prefix} ".lstrip())
    return _curves(rows, x, "message rate", "messages/s", scale=scale).figure(
        "message-rate",
        f"Message rate against window, {found.bytes} B",
        caption="Messages per second, both directions counted."
        + (f" All curves: {', '.join(common)}." if common and any(differ) else "")
        + f" {intervals_text(rows, 'whiskers')}"
        + (f" The tables list {counted(left_out, 'more curve')}." if left_out else ""),
        alt=f"Line chart of the rate of {found.bytes}-byte messages against windows of "
        f"{ticks[0]} to {ticks[-1]}, of {listed(kept)}.",
        fields=[
            Field("window", "", "messages in flight each way"),
            Field("curve", "", "mode and direction"),
        ],
        statistics=data_fields("op/s"),
    )


def _manner(point: Point) -> tuple[str, str, str]:
    """How a message rate was measured: mode, direction and buffers; "" for the default buffers."""
    return (
        str(point.parameter("mode")),
        "both ways" if point.parameter("direction") == "bidirectional" else "one way",
        "buffer per message" if point.parameter("buffers") == "each" else "",
    )


def _curves(
    rows: Sequence[Row],
    x: Spec,
    what: str,
    unit: str,
    *,
    scale: tuple[float, str] | None = None,
    logarithmic: bool = False,
) -> Chart:
    """A line with intervals per ``curve``; the x axis need not begin at 0."""
    chart = Chart(
        rows,
        {**x, "scale": {**x["scale"], "zero": False}},
        what,
        unit,
        hue="curve",
        names=[(x["field"], x["title"]), ("curve", "")],
        scale=scale,
        logarithmic=logarithmic,
        height=_HEIGHT,
    )
    return chart.whiskers(coloured=True).lines()


def _names(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(str(row["curve"]) for row in rows))
