"""A small figure of one series over time as inline SVG, whose colours are the page's.

It needs no script and no drawing engine, so that a page with many of them is small and opens at
once. The page's style sheet has the colours of the classes ``c-dot``, ``c-level``, ``c-change`` and
``c-text``.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from assay.units import format_minute, format_quantity

# Size of the drawing and the edges of its plot, px.
_WIDTH, _HEIGHT = 520.0, 150.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 8.0, 512.0, 22.0, 126.0
# Maximum number of dots; with more values a dot is the median of several.
MAX_DOTS = 250
# The plot spans at least this share of the level, so that noise appears small.
_LEAST_SPAN = 0.02


@dataclass(frozen=True)
class Course:
    """A series in order of time."""

    #: Unix times (s) and values in ``unit``.
    utc: Sequence[float]
    values: Sequence[float]
    unit: str
    #: First and last index, and level, of each segment.
    levels: Sequence[tuple[int, int, float]] = ()
    #: Unix times (s) of changes, and whether each is for the worse.
    changes: Sequence[tuple[float, bool]] = ()


def course_svg(course: Course) -> str:
    """The figure as an SVG element without text from outside; empty without values."""
    if not course.values:
        return ""
    begin, end = course.utc[0], course.utc[-1]
    span = max(end - begin, 1.0)
    dots = _binned(course.utc, course.values)
    values = [value for _, value in dots] + [level for _, _, level in course.levels]
    low, high = min(values), max(values)
    most = max(high - low, _LEAST_SPAN * abs(high))
    middle = (low + high) / 2.0

    def x(utc: float) -> str:
        return f"{_LEFT + (_RIGHT - _LEFT) * (utc - begin) / span:.1f}"

    def y(value: float) -> str:
        share = 0.5 if most <= 0.0 else 0.5 + (value - middle) / (1.1 * most)
        return f"{_BOTTOM - (_BOTTOM - _TOP) * share:.1f}"

    marks = "".join(f"M{x(utc)} {y(value)}h0" for utc, value in dots)
    levels = "".join(
        f"M{x(course.utc[first])} {y(level)}H{x(course.utc[last])}"
        for first, last, level in course.levels
    )
    changes = "".join(
        f'<path class="c-change{" c-worse" if worse else ""}" d="M{x(utc)} {_TOP}V{_BOTTOM}"/>'
        for utc, worse in course.changes
    )
    top, bottom = (format_quantity(value, course.unit) for value in (high, low))
    texts = "".join(
        f'<text class="c-text" x="{left}" y="{at}" text-anchor="{anchor}">{text}</text>'
        for left, at, anchor, text in (
            (_LEFT, _TOP - 8, "start", f"{bottom} to {top}"),
            (_LEFT, _HEIGHT - 6, "start", format_minute(begin)[:10]),
            (_RIGHT, _HEIGHT - 6, "end", format_minute(end)[:10]),
        )
    )
    return (
        f'<svg class="course" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" aria-hidden="true">'
        f'<path class="c-axis" d="M{_LEFT} {_BOTTOM}H{_RIGHT}"/>{changes}'
        f'<path class="c-dot" d="{marks}"/><path class="c-level" d="{levels}"/>{texts}</svg>'
    )


def _binned(utc: Sequence[float], values: Sequence[float]) -> list[tuple[float, float]]:
    """Time and value of each dot: medians of neighbours if there are more than ``MAX_DOTS``."""
    count = min(MAX_DOTS, len(values))
    edges = [round(i * len(values) / count) for i in range(count + 1)]
    return [
        (statistics.median(utc[a:b]), statistics.median(values[a:b])) for a, b in pairwise(edges)
    ]
