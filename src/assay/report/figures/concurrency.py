"""Many messages at once: pairs beside a pair alone, senders beside one, windows of messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.answers.concurrency import crowds_of, number, senders_of
from assay.answers.select import Point, labeller, placement_text, points
from assay.report.marks import (
    Row,
    Spec,
    colour,
    data_fields,
    error_bars,
    level,
    line,
    listed,
    logarithmic_axis,
    ratio_fields,
    scale_of,
    scaled_fields,
    size_axis,
    statistics,
    tooltip,
    y_axis,
)
from assay.report.model import Field, Figure
from assay.stats.model import CellSummary
from assay.units import counted

_MOST_CURVES = 8  # as many as colours can be told apart


def concurrency_figures(cells: Sequence[CellSummary]) -> list[Figure | None]:
    """Bandwidth of pairs at once, slowdown of senders at once, message rate against window."""
    return [pairs_figure(cells), senders_figure(cells), rate_figure(cells)]


def pairs_figure(cells: Sequence[CellSummary]) -> Figure | None:
    """Bandwidth against size: a pair alone, fastest, slowest (Edmundsson et al., figure 2)."""
    rows: list[Row] = []
    crowds = [crowd for crowd in crowds_of(cells) if crowd.pairs > 1]
    several = len(crowds) > 1
    for crowd in crowds:
        where = f" · {placement_text(crowd.placement)} · {crowd.toolchain}" if several else ""
        curves = {
            f"one pair alone{where}": (crowd.alone, "bandwidth"),
            f"{crowd.pairs} pairs, fastest{where}": (crowd.cells, "max_bandwidth"),
            f"{crowd.pairs} pairs, slowest{where}": (crowd.cells, "min_bandwidth"),
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
    factor, prefix = scale_of(float(row["median"] or 0.0) for row in rows)
    unit = f"{prefix}B/s"
    y = logarithmic_axis(f"bandwidth ({unit})", rows, factor)
    return Figure(
        id="pairs-at-once",
        title="Pairs at once: bandwidth of each against message size",
        caption="Ping-pong of a pair alone, and of the fastest and the slowest of all pairs that "
        "talk at once. Both axes logarithmic; 95% intervals.",
        alt=f"Line chart of ping-pong bandwidth against message size, from {sizes[0]} to "
        f"{sizes[-1]} bytes, of {listed(_names(rows))}.",
        fields=[
            Field("bytes", "B", "message size"),
            Field("curve", "", "whose bandwidth"),
            *data_fields("B/s"),
        ],
        rows=rows,
        spec=_curves(rows, size_axis("bytes", "message size", sizes), y, factor, unit),
        width="half",
    )


def senders_figure(cells: Sequence[CellSummary]) -> Figure | None:
    """Time of many senders over that of one against size (Luecke et al. 2005, figure 9)."""
    rows: list[Row] = []
    groups = senders_of(cells)
    for group in groups:
        where = f" · {placement_text(group.placement)} · {group.toolchain}"
        for senders in sorted(count for count in group.cells if count > 1):
            for size, (value, interval) in group.slowdowns(senders).items():
                low, high = interval or (None, None)
                launches = (group.cells[count][size].metrics["time"].n for count in (1, senders))
                rows.append(
                    {
                        "bytes": size,
                        "curve": f"{senders} senders{where if len(groups) > 1 else ''}",
                        "median": value,
                        "low": low,
                        "high": high,
                        "launches": min(launches),
                    }
                )
    sizes = sorted({int(row["bytes"] or 0) for row in rows})
    if len(sizes) < 2:
        return None
    title = "time / time of one sender"
    spec = _curves(
        rows, size_axis("bytes", "message size", sizes), y_axis(title, zero=True), 1.0, "×"
    )
    spec["layer"].append(level(1.0))
    top = max(float(row["median"] or 0.0) for row in rows)
    return Figure(
        id="senders-at-once",
        title="Sends at once: how much longer they take than one",
        caption="Time of the slowest of several ranks of a node that send at once, over that of "
        "one that sends alone. Dashed: as if alone. 95% intervals.",
        alt=f"Line chart of the slowdown of {listed(_names(rows))} against message size, from "
        f"{sizes[0]} to {sizes[-1]} bytes; at most {top:.2f}.",
        fields=[
            Field("bytes", "B", "message size"),
            Field("curve", "", "how many sent at once"),
            *ratio_fields("time of the slowest sender over that of a single one"),
        ],
        rows=rows,
        spec=spec,
        width="half",
    )


def rate_figure(cells: Sequence[CellSummary]) -> Figure | None:
    """Message rate against the window, of the smallest messages that had several windows."""
    found = points(cells, "network.stream", "rate")
    windows: dict[int, set[int]] = {}
    for point in found:
        windows.setdefault(number(point, "bytes"), set()).add(number(point, "window"))
    several = [size for size, of_size in windows.items() if len(of_size) > 1]
    if not several:
        return None
    size = min(several)
    chosen = [point for point in found if number(point, "bytes") == size]
    label = labeller(chosen)
    placements = len({label(point) for point in chosen}) > 1
    rows: list[Row] = [
        {
            "window": number(point, "window"),
            "curve": f"{point.parameter('mode')}, {point.parameter('direction')}"
            + (", a buffer each" if point.parameter("buffers") == "each" else "")
            + (f" · {label(point)}" if placements else ""),
            **statistics(point),
        }
        for point in chosen
    ]
    rows.sort(key=lambda row: (str(row["curve"]), int(row["window"] or 0)))
    kept = _names(rows)[:_MOST_CURVES]
    left_out = len(_names(rows)) - len(kept)
    rows = [row for row in rows if row["curve"] in kept]
    factor, prefix = scale_of(float(row["median"] or 0.0) for row in rows)
    unit = f"{prefix} messages/s".strip()
    ticks = sorted(windows[size])
    x: Spec = {
        "field": "window",
        "type": "quantitative",
        "title": "messages in flight each way",
        "scale": {"type": "log", "base": 2, "nice": False, "padding": 12},
        "axis": {"values": ticks, "format": "d", "labelOverlap": "greedy"},
    }
    y = y_axis(f"message rate ({unit})", zero=True)
    return Figure(
        id="message-rate",
        title=f"Message rate against window, {size} B",
        caption="Messages a second, both ways counted. Whiskers: 95% intervals."
        + (f" {counted(left_out, 'more curve')} in the tables." if left_out else ""),
        alt=f"Line chart of the rate of {size}-byte messages against windows of {ticks[0]} to "
        f"{ticks[-1]}, of {listed(kept)}.",
        fields=[
            Field("window", "", "messages in flight each way"),
            Field("curve", "", "mode and direction"),
            *data_fields("op/s"),
        ],
        rows=rows,
        spec=_curves(rows, x, y, factor, unit),
        width="half",
    )


def _curves(rows: Sequence[Row], x: Spec, y: Spec, factor: float, unit: str) -> dict[str, Any]:
    """Lines with points and whiskers, one colour a curve, over the field that ``x`` names."""
    hue = colour("curve", rows)
    return {
        "height": 240,
        "transform": scaled_fields(factor),
        "encoding": {"x": {**x, "scale": {**x["scale"], "zero": False}}},
        "layer": [
            {**error_bars(), "encoding": {"color": hue}},
            line(y, hue, tooltip([(str(x["field"]), str(x["title"])), ("curve", "")], unit)),
        ],
    }


def _names(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(str(row["curve"]) for row in rows))
