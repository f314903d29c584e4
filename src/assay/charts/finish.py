"""What every figure needs, whoever built it: legends that fit, numbers that can be read.

Specifications of figures say what is drawn; here they get what depends on the data and on the room.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.charts.figure import Figure
from assay.charts.marks import Spec, fitting_legend

_CHANNELS = ("color", "shape", "strokeDash", "opacity", "fill", "stroke")


def finished(figure: Figure) -> Spec:
    """The specification with legends in as many columns as fit into the figure's width."""
    labels: dict[str, set[str]] = {}

    def values_of(field: str) -> set[str]:
        if field not in labels:
            labels[field] = {str(row[field]) for row in figure.rows if row.get(field) is not None}
        return labels[field]

    def walk(part: Any) -> Any:
        if isinstance(part, list):
            return [walk(each) for each in part]
        if not isinstance(part, Mapping):
            return part
        whole = {name: walk(value) for name, value in part.items()}
        for channel in _CHANNELS:
            encoding = whole.get(channel)
            if isinstance(encoding, dict) and _needs_columns(encoding):
                values = values_of(encoding["field"])
                whole[channel] = {**encoding, "legend": fitting_legend(values, encoding)}
        return whole

    spec: Spec = {name: walk(value) for name, value in figure.spec.items()}
    return spec


def _needs_columns(encoding: Spec) -> bool:
    if "field" not in encoding or encoding.get("type") not in ("nominal", "ordinal"):
        return False
    legend = encoding.get("legend", {})
    return legend is not None and not ({"columns", "orient", "values"} & set(legend or {}))
