"""Completes all figures: legends that fit, readable numbers.

Specifications of figures say what is drawn. This module adds what depends on the data and on the
width.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.charts.figure import Figure
from assay.charts.marks import Spec, fitting_legend
from assay.charts.theme import LONGEST_LABEL

# Minimum distance (px) of labels on an axis that may leave labels out; two digits are then 24 px
# apart.
_SEPARATION = 17
_CHARACTER, _GAP = 7, 10  # width of a character, and distance between labels side by side, px
_LONGEST_TITLE = 32  # maximum characters in a line of the title along x
# Maximum length of slanted labels, px: usual; minimum for steep labels; for labels that differ
# late.
_SLANTED, _STEEP, _LONGEST_SLANTED = 100, 120, 260
# A label in two lines, divided at the first space after its middle.
_MIDDLE = "floor(length(datum.label) / 2)"
_SPACE = f"indexof(slice(datum.label, {_MIDDLE}), ' ')"
_HALVES = (
    f"({_SPACE} < 0 ? datum.label : [slice(datum.label, 0, {_MIDDLE} + {_SPACE}), "
    f"slice(datum.label, {_MIDDLE} + {_SPACE} + 1)])"
)
_CHANNELS = ("color", "shape", "strokeDash", "opacity", "fill", "stroke")


def finished(figure: Figure) -> Spec:
    """The specification with legends in as many columns as fit into the figure's width."""
    labels: dict[str, set[str]] = {}
    bounded = any(row.get("low") is not None for row in figure.rows)

    def values_of(field: str) -> set[str]:
        if field not in labels:
            labels[field] = {str(row[field]) for row in figure.rows if row.get(field) is not None}
        return labels[field]

    def walk(part: object) -> object:
        if isinstance(part, list):
            return [walk(each) for each in part if bounded or not _draws_intervals(each)]
        if not isinstance(part, Mapping):
            return part
        whole: dict[str, object] = {name: walk(value) for name, value in part.items()}
        if whole.get("type") in ("log", "symlog"):
            whole.pop("zero", None)  # which Vega-Lite would ignore with a warning
        along = whole.get("x")
        if isinstance(along, dict) and (along.get("axis") or {}).get("labelOverlap"):
            along = {**along, "axis": {"labelSeparation": _SEPARATION, **along["axis"]}}
            whole["x"] = along
        if isinstance(along, dict) and along.get("type") == "nominal" and "field" in along:
            whole["x"] = {
                **along,
                "axis": _slanted(along.get("axis", {}), values_of(along["field"])),
            }
        if isinstance(along, dict) and along.get("type") == "temporal":
            # Dates near the ends would reach beyond the figure.
            whole["x"] = {**along, "axis": {"labelBound": True, **along.get("axis", {})}}
        titled = whole.get("x")
        if isinstance(titled, dict):
            whole["x"] = _in_two_lines(titled)
        names = whole.get("y")
        if isinstance(names, dict) and names.get("type") == "nominal" and "field" in names:
            whole["y"] = {**names, "axis": _narrow(names.get("axis", {}))}
        for channel in _CHANNELS:
            encoding = whole.get(channel)
            if isinstance(encoding, dict) and _needs_columns(encoding):
                values = values_of(encoding["field"])
                whole[channel] = {**encoding, "legend": fitting_legend(values, encoding)}
        return whole

    spec: Spec = {name: walk(value) for name, value in figure.spec.items()}
    return spec


def legends(figure: Figure) -> dict[str, tuple[str, ...]]:
    """The names in the figure's legends by channel, in order."""
    found: dict[str, tuple[str, ...]] = {}

    def walk(part: object) -> None:
        if isinstance(part, list):
            for each in part:
                walk(each)
        if not isinstance(part, Mapping):
            return
        for channel in _CHANNELS:
            encoding = part.get(channel)
            if isinstance(encoding, Mapping) and encoding.get("type") in ("nominal", "ordinal"):
                field = encoding.get("field", "")
                given = (encoding.get("scale") or {}).get("domain")
                names = given or [row[field] for row in figure.rows if row.get(field) is not None]
                if encoding.get("legend", {}) is not None:
                    found[channel] = tuple(dict.fromkeys(map(str, names)))
        for each in part.values():
            walk(each)

    walk(figure.spec)
    return found


def _slanted(axis: Spec | None, labels: set[str]) -> Spec | None:
    """The axis of names along x: in two lines if one line doesn't fit, slanted if two lines don't
    fit.
    """
    if axis is None or axis.get("labelAngle") != 0 or "labels" in axis or not labels:
        return axis
    in_one = len(labels) * (max(map(len, labels)) * _CHARACTER + _GAP)
    in_two = len(labels) * (max(map(_half, labels)) * _CHARACTER + _GAP)
    cut, slanted = _shown(labels)
    words = f"room >= {in_one} ? datum.label : room >= {in_two} ? {_HALVES} : {cut}"
    if "labelExpr" in axis:  # uses its own words
        words, in_two = axis["labelExpr"], in_one
    return {
        **axis,
        "labelExpr": words,
        # Steeper if long labels would leave the figure.
        "labelAngle": {"expr": f"room < {in_two} ? {-40 if slanted <= _STEEP else -75} : 0"},
        "labelAlign": {"expr": f"room < {in_two} ? 'right' : 'center'"},
        "labelBaseline": {"expr": f"room < {in_two} ? 'middle' : 'top'"},
        "labelLimit": {"expr": f"room < {in_two} ? {slanted} : {LONGEST_LABEL}"},
    }


def _shown(labels: set[str]) -> tuple[str, int]:
    """The part of slanted labels that differs, and its length in px.

    Labels with the same beginning and different ends lose their beginning, up to a word's end.
    Other labels have the required length, up to a limit.
    """
    kept = _SLANTED // _CHARACTER
    longest = _LONGEST_SLANTED // _CHARACTER
    for characters in range(kept, longest + 1):
        if len({label[: characters - 1] for label in labels}) == len(labels):
            # Includes room for the ellipsis of a cut label.
            return "datum.label", characters * _CHARACTER + _GAP
        if len({label[1 - characters :] for label in labels}) == len(labels):
            end = f"slice(datum.label, {1 - characters})"
            whole = f"'…' + slice({end}, indexof({end}, ' ') + 1)"
            cut = f"length(datum.label) > {characters} ? {whole} : datum.label"
            return cut, characters * _CHARACTER + _GAP
    return "datum.label", _LONGEST_SLANTED


def _in_two_lines(along: Spec) -> Spec:
    """A long title along x in two lines, since one line would leave a figure on a narrow screen."""
    title = along.get("title")
    if not isinstance(title, str) or len(title) <= _LONGEST_TITLE:
        return along
    place = title.find(" ", len(title) // 2)
    place = title.rfind(" ") if place < 0 else place
    return along if place < 0 else {**along, "title": [title[:place], title[place + 1 :]]}


def _half(label: str) -> int:
    """Characters in the longer line of a label that is divided by ``_HALVES``."""
    middle = len(label) // 2
    place = label.find(" ", middle)
    return len(label) if place < 0 else max(place, len(label) - place - 1)


def _narrow(axis: Spec | None) -> Spec | None:
    """The axis of names along y. Its labels have at most 40% of the figure's width."""
    if axis is None:
        return None
    limit = axis.get("labelLimit", LONGEST_LABEL)
    if not isinstance(limit, int | float):
        return axis
    return {**axis, "labelLimit": {"expr": f"min({limit}, 0.4 * room)"}}


def _draws_intervals(layer: object) -> bool:
    """Whether a layer draws only rows with an interval.

    Without such rows its extent is infinite.
    """
    transforms = layer.get("transform", []) if isinstance(layer, Mapping) else []
    return any(each.get("filter") == "isValid(datum.low)" for each in transforms)


def _needs_columns(encoding: Spec) -> bool:
    if "field" not in encoding or encoding.get("type") not in ("nominal", "ordinal"):
        return False
    legend = encoding.get("legend", {})
    return legend is not None and not ({"columns", "orient", "values"} & set(legend or {}))
