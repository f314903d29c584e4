"""Options of axes, scales, legends and marks, with names in Python's style."""

from __future__ import annotations

import re
from collections.abc import Mapping

from assay.charts.marks import Spec

_SCALE = {
    *("base", "zero", "nice", "padding", "padding_inner", "padding_outer", "domain", "domain_min"),
    *("domain_mid", "reverse", "clamp", "constant", "scheme", "range"),
}
_AXIS = {
    *("tick_count", "tick_min_step", "format", "grid", "values", "ticks", "labels", "label_expr"),
    *("label_overlap", "label_separation", "label_limit", "label_angle", "label_align"),
    *("label_baseline", "label_bound", "label_flush", "label_padding"),
}
# Options whose names in Vega-Lite would be misleading here.
_RENAMED = {"scale": ("scale", "type"), "domain_line": ("axis", "domain")}
_OWN = {"sort", "stack", "impute"}


def camel(name: str) -> str:
    """``stroke_width`` as ``strokeWidth``."""
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), name)


def camels(options: Mapping[str, object]) -> Spec:
    """Options with their names in Vega-Lite's style."""
    return {camel(name): value for name, value in options.items()}


def placed(options: Mapping[str, object], *, guide: str = "axis") -> Spec:
    """Options of an encoding, assigned to its scale, its ``guide`` or the encoding itself.

    Raises TypeError for an unknown option.
    """
    spec: Spec = {}
    for name, value in options.items():
        if name in _RENAMED:
            place, renamed = _RENAMED[name]
            spec.setdefault(place, {})[renamed] = value
        elif name in _SCALE:
            spec.setdefault("scale", {})[camel(name)] = value
        elif name in _AXIS:
            spec.setdefault(guide, {})[camel(name)] = value
        elif name in _OWN:
            spec[name] = value
        else:
            raise TypeError(f"Axes and scales don't have an option {name!r}.")
    return spec
