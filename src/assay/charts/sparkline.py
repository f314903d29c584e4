"""Sparklines: a series in one line of text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

_BLOCKS = "▁▂▃▄▅▆▇█"
_PLAIN = ".:-=+*#@"


def sparkline(values: Sequence[float], width: int, *, plain: bool = False) -> str:
    """The values as blocks whose heights span minimum to maximum; ``width``: maximum characters.

    If there are more values, each block is the median of several. ``plain``: use ASCII. The height
    spans at least 2% of the median, so that noise appears small.
    """
    import statistics

    if not values or width < 1:
        return ""
    count = min(width, len(values))
    edges = [round(i * len(values) / count) for i in range(count + 1)]
    shown = [statistics.median(values[a:b]) for a, b in pairwise(edges)]
    low, high = min(shown), max(shown)
    span = max(high - low, 0.02 * abs(statistics.median(shown)))
    base = min(low, (low + high - span) / 2.0)
    blocks = _PLAIN if plain else _BLOCKS
    if span <= 0.0:
        return blocks[len(blocks) // 2] * count
    top = len(blocks) - 1
    return "".join(
        blocks[min(max(math.floor((value - base) / span * len(blocks)), 0), top)] for value in shown
    )
