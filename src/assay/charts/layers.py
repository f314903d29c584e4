"""Parts of specifications for figures of all kinds: layers, tooltips, logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from assay.charts.marks import Spec


def layer(mark: Spec, encoding: Spec, *, only: str | None = None) -> Spec:
    """One layer. ``only``: a Vega expression; rows for which it is false are not drawn."""
    chosen: Spec = {} if only is None else {"transform": [{"filter": only}]}
    return {**chosen, "mark": mark, "encoding": encoding}


def tips(*entries: tuple[str, str] | tuple[str, str, str]) -> list[Spec]:
    """Tooltip lines: field and title, and optionally a number's format."""
    return [dict(zip(("field", "title", "format"), entry, strict=False)) for entry in entries]


def calculated(expressions: Mapping[str, str]) -> list[Spec]:
    """Transforms that compute fields, by name, when the figure is drawn."""
    return [{"calculate": expression, "as": name} for name, expression in expressions.items()]


def shown_in(factors: Mapping[str, float]) -> list[Spec]:
    """``shown_NAME`` for each field: its SI value over the factor of its axis's unit."""
    return calculated(
        {f"shown_{name}": f"datum.{name} / {factor!r}" for name, factor in factors.items()}
    )


def power_ticks(values: Iterable[float], steps: Sequence[int] = (1,)) -> list[float]:
    """Ticks at ``steps`` times each power of ten around the positive values."""
    positive = [value for value in values if value > 0.0]
    low, high = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
    return [step * 10.0**power for power in range(low, high + 1) for step in steps]


def logarithmic(ticks: Sequence[float], format: str, **more: Spec | float) -> Spec:  # noqa: A002
    """Scale and axis of a logarithmic channel with these ticks; ``more``: options of its scale."""
    return {
        "scale": {"type": "log", "nice": False, **more},
        "axis": {"values": list(ticks), "format": format},
    }
