"""A series in one line of text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

_BLOCKS = "▁▂▃▄▅▆▇█"
_PLAIN = ".:-=+*#@"


def sparkline(values: Sequence[float], width: int, *, plain: bool = False) -> str:
    """The values as blocks, least to greatest from bottom to top; ``width``: characters at most.

    Of more values than that, each block is the median of several. ``plain``: in ASCII. A series
    that lies within 2% of its middle is drawn as if it spanned that, so that noise looks small.
    """
    import statistics

    if not values or width < 1:
        return ""
    count = min(width, len(values))
    edges = [round(i * len(values) / count) for i in range(count + 1)]
    shown = [statistics.median(values[a:b]) for a, b in pairwise(edges)]
    low, high = min(shown), max(shown)
    middle = statistics.median(shown)
    reach = max(high - low, 0.02 * abs(middle))
    base = min(low, (low + high - reach) / 2.0)
    blocks = _PLAIN if plain else _BLOCKS
    if reach <= 0.0:
        return blocks[len(blocks) // 2] * count
    top = len(blocks) - 1
    return "".join(
        blocks[min(max(math.floor((value - base) / reach * len(blocks)), 0), top)]
        for value in shown
    )
