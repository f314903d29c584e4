"""Axes common to several figures: sizes, orders, counts, durations, logarithmic values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from assay.charts.marks import PREFIXES, Row, Spec

# Minimum decades at which a logarithmic axis has only powers of ten, and maximum number of other
# ticks.
_DECADES, _FEW_TICKS = 3, 3
# The smallest and the largest tick that are readable in one unit.
_READABLE = (0.01, 10_000.0)
# Maximum number of measured values for an axis with a tick at each.
_MOST_TICKS = 12
# Sizes in bytes with a tick; 0 is possible because the axis is linear below 1 B.
_SIZE_TICKS = [0, 1, 8, 64, 512, *(1 << p for p in range(12, 34, 3))]
_SIZE_LABEL = (
    "datum.value >= 1073741824 ? datum.value / 1073741824 + ' GiB' : "
    "datum.value >= 1048576 ? datum.value / 1048576 + ' MiB' : "
    "datum.value >= 1024 ? datum.value / 1024 + ' KiB' : datum.value + ' B'"
)


def size_axis(field: str, title: str, sizes: Sequence[int]) -> Spec:
    """Sizes in bytes along x, logarithmic but including 0. ``sizes`` must ascend."""
    ticks = [tick for tick in _SIZE_TICKS if sizes[0] <= tick <= sizes[-1]]
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"type": "symlog", "constant": 1, "nice": False},
        "axis": {
            "values": ticks,
            "labelExpr": _SIZE_LABEL,
            "labelOverlap": "greedy",
            "labelSeparation": 17,
        },
    }


def order_axis(orders: Sequence[int]) -> Spec:
    """An axis of orders: logarithmic if they span more than a decade, with ticks at measured
    orders.
    """
    scale: Spec = {"zero": False, "nice": True, "padding": 16}
    if orders[-1] > 10 * max(orders[0], 1):
        scale = {"type": "log", "nice": False, "padding": 16}
    axis: Spec = {"format": "d", "labelOverlap": "greedy", "labelSeparation": 17}
    if len(orders) <= _MOST_TICKS:
        axis["values"] = list(orders)
    return {"scale": scale, "axis": axis}


def count_axis(field: str, title: str, counts: Sequence[int], **scale: Spec | float) -> Spec:
    """A logarithmic axis of ascending counts, with a tick at each.

    ``scale``: further options of the scale.
    """
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"type": "log", "base": 2, **scale},
        "axis": {
            "values": list(counts),
            "format": "d",
            "labelOverlap": "greedy",
            "labelSeparation": 17,
        },
    }


def count_span(counts: Sequence[int]) -> Spec:
    """Scale options of an axis of counts: from the smallest to the largest count, with padding."""
    return {"domain": [counts[0], counts[-1]], "padding": 12}


def log_ticks(rows: Sequence[Row], factor: float) -> list[float]:
    """Ticks around the medians and their intervals, in the axis's unit: powers of ten, and for a
    short range also 2 and 5 times these.
    """
    shown = [
        float(row[name] or 0.0) / factor for row in rows for name in ("low", "median", "high")
        if row.get(name)
    ]  # fmt: skip
    least, most = min(value for value in shown if value > 0), max(shown)
    low, high = math.floor(math.log10(least)), math.ceil(math.log10(most))
    if high - low >= _DECADES:
        return [10.0**power for power in range(low, high + 1)]
    ticks = [step * 10.0**power for power in range(low, high + 1) for step in (1, 2, 5)]
    first = max(place for place, tick in enumerate(ticks) if tick <= least * (1 + 1e-9))
    last = min(place for place, tick in enumerate(ticks) if tick >= most * (1 - 1e-9))
    return ticks[first : max(last, first + 1) + 1]


def logarithmic_axis(
    what: str, si_unit: str, rows: Sequence[Row], scale: tuple[float, str]
) -> Spec:
    """A logarithmic vertical axis of the scaled median.

    ``scale``: factor and prefix of the axis's unit. If one prefix would need zeros at an end, each
    tick has its own prefix.
    """
    factor, prefix = scale
    ticks = log_ticks(rows, factor)
    # Vega divides a range with few of these ticks evenly.
    values: Spec = {"values": ticks} if len(ticks) > _FEW_TICKS else {"tickCount": 5}
    readable = _READABLE[0] <= ticks[0] and ticks[-1] <= _READABLE[1]
    unit = f"{prefix}{si_unit}"
    labels = {"format": ".6~g"} if readable else {"labelExpr": prefixed_label(factor, si_unit)}
    return {
        "field": "y",
        "type": "quantitative",
        "title": f"{what} ({unit})" if unit and readable else what,
        "scale": {"type": "log", "domain": [ticks[0], ticks[-1]], "nice": False},
        "axis": {**values, **labels},
    }


def prefixed_label(factor: float, si_unit: str) -> str:
    """The Vega expression of a tick's label with its own prefix: ``10 µs``, ``1 ms``.

    ``factor``: the factor of the axis's unit, which is also the unit of the tick's value.
    """
    value = f"(datum.value * {factor!r})"
    *others, (least, last) = PREFIXES
    label = f"format({value} / {least!r}, '.3~g') + ' {last}{si_unit}'"
    for size, prefix in reversed(others):
        # Ticks are powers of ten, except for rounding.
        shown = f"format({value} / {size!r}, '.3~g') + ' {prefix}{si_unit}'"
        label = f"{value} >= {0.9999 * size!r} ? {shown} : {label}"
    return f"datum.value == 0 ? '0' : {label}"


def y_axis(title: str, *, zero: bool) -> Spec:
    """A linear vertical axis of the scaled median."""
    return {
        "field": "y",
        "type": "quantitative",
        "title": title,
        "scale": {"zero": zero, "nice": True},
        "axis": {"tickCount": 6},
    }


_DURATIONS = [1, 10, 60, 600, 3600, 21600, 86400, 604800, 2592000]
_DURATION_LABEL = (
    "datum.value >= 86400 ? datum.value / 86400 + ' d' : datum.value >= 3600 ? "
    "datum.value / 3600 + ' h' : datum.value >= 60 ? datum.value / 60 + ' min' : "
    "datum.value + ' s'"
)


def duration_axis(field: str, title: str | None) -> Spec:
    """A logarithmic axis of a field in s (at least 1), from seconds to months."""
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"type": "log", "nice": False},
        "axis": {
            "values": _DURATIONS,
            "labelExpr": _DURATION_LABEL,
            "labelOverlap": "greedy",
            "labelSeparation": 17,
        },
    }


def power_ticks(values: Iterable[float], steps: Sequence[int] = (1,)) -> list[float]:
    """Ticks at ``steps`` times each power of ten around the positive values."""
    positive = [value for value in values if value > 0.0]
    low, high = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
    return [step * 10.0**power for power in range(low, high + 1) for step in steps]
