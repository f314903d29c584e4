"""Findings as JSON: the content of an answer for programs, without its sentences.

A findings type is a frozen dataclass with a comment ``#:`` above each field. Types that are also
stored, such as a program's demand, are msgspec structures. Cells and points refer to the summaries
of the report by their ids, so that no number is repeated. A point that was chosen for its result
has its own interval. Fields declared with ``INTERNAL`` are
left out.
"""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Collection, Mapping

import msgspec
import numpy as np

from assay.kernels.naming import placement_text
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.questions.common.selection import Point
from assay.stats.core.model import CellSummary, MetricSummary

FINDINGS_SCHEMA = 1
# A field with ``metadata=INTERNAL`` is left out of the JSON: it is long, or present in another
# form.
INTERNAL = {"internal": True}


def findings_json(found: object) -> object:
    """Findings as values that JSON can hold. Infinite and undefined numbers are null.

    Raises TypeError for a type that findings can't hold, such as a whole run.
    """
    if found is None or isinstance(found, (bool, int, str)):
        return found
    if isinstance(found, (float, np.floating)):
        return float(found) if math.isfinite(found) else None
    if isinstance(found, np.integer):
        return int(found)
    if isinstance(found, np.bool_):
        return bool(found)
    if isinstance(found, enum.Enum):
        return findings_json(found.value)
    if isinstance(found, Point):
        return _point(found)
    if isinstance(found, (CellSummary, Cell)):
        return found.id
    if isinstance(found, (Placement, MetricSummary)):
        return msgspec.to_builtins(found)
    if isinstance(found, np.ndarray):
        return findings_json(found.tolist())
    if dataclasses.is_dataclass(found) and not isinstance(found, type):
        return {
            field.name: findings_json(getattr(found, field.name))
            for field in dataclasses.fields(found)
            if not field.metadata.get("internal")
        }
    if isinstance(found, msgspec.Struct):
        return {name: findings_json(getattr(found, name)) for name in found.__struct_fields__}
    if isinstance(found, Mapping):
        return {_key(key): findings_json(value) for key, value in found.items()}
    if isinstance(found, (str, bytes)) or not isinstance(found, Collection):
        raise TypeError(f"findings can't hold a {type(found).__name__}")
    return [findings_json(value) for value in found]


def _point(point: Point) -> dict[str, object]:
    """The cell and the metric of a point; if it was chosen, the interval that allows for this."""
    found: dict[str, object] = {"cell": point.summary.id, "metric": _metric_name(point)}
    if point.among > 1:
        found |= {"among": point.among, "ci95": findings_json(point.metric.ci95)}
    return found


def _metric_name(point: Point) -> str | None:
    """The name of the point's metric in its cell's summary.

    A chosen point has the metric with another interval.
    """
    metrics = point.summary.metrics.items()
    same = (name for name, one in metrics if one is point.metric)
    alike = (
        name
        for name, one in metrics
        if msgspec.structs.replace(one, ci95=point.metric.ci95) == point.metric
    )
    return next(same, next(alike, None))


def _key(key: object) -> str:
    """A mapping's key as a JSON string; the elements of a tuple are joined by slashes."""
    if isinstance(key, tuple):
        return "/".join(_key(part) for part in key)
    if isinstance(key, Placement):
        return placement_text(key)
    if isinstance(key, (CellSummary, Cell)):
        return key.id
    return str(key)
