"""Operations of nccl-tests and rccl-tests, and how their numbers are related.

Source: ``doc/PERFORMANCE.md`` and ``src/*.cu`` of nccl-tests. The algorithm bandwidth is size
divided by time; the bus bandwidth is this times a factor of operation and ranks.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal

from assay.importers.numbers import bounds, is_number

OPERATIONS = (
    "all_reduce|all_gather|alltoallv|alltoall|broadcast|reduce_scatter|reduce|gather|scatter"
    "|sendrecv|hypercube"
)
PROGRAM = re.compile(rf"(?:^|[\s/'\"])({OPERATIONS})_(?:perf|test)(?:[_-]\w+)?\b")
GB = Decimal(10) ** 9
# Operations, whether they reduce and have a root, and bus bandwidth / algorithm bandwidth.
_FACTORS: tuple[tuple[str, bool, bool, Callable[[int], float]], ...] = (
    ("all_reduce", True, False, lambda n: 2 * (n - 1) / n),
    ("reduce_scatter", True, False, lambda n: (n - 1) / n),
    ("reduce", True, True, lambda n: 1.0),
    ("broadcast", False, True, lambda n: 1.0),
    ("scatter", False, True, lambda n: (n - 1) / n),
    ("gather", False, True, lambda n: (n - 1) / n),
    ("sendrecv", False, False, lambda n: 1.0),
    ("all_gather", False, False, lambda n: (n - 1) / n),
    ("alltoall", False, False, lambda n: (n - 1) / n),
    ("alltoallv", False, False, lambda n: (n - 1) / n),
)
_PRECISE = 0.01  # maximum deviation of a printed quotient
_SHIFT = Decimal("0.002")  # maximum disagreement of numbers beyond their rounding


def deduced(quotient: float, *, ranks: int, reduces: bool, rooted: bool) -> str:
    """The operation with this quotient of bus and algorithm bandwidth; "" if several fit or none.

    ``ranks``: 0 if unknown. ``reduces``, ``rooted``: whether the output names a reduction, a root.
    """
    if ranks < 2:
        # Only an all-reduce moves more bytes than its size.
        certain = reduces and not rooted and quotient > 1 + 2 * _PRECISE
        return "all_reduce" if certain else ""
    fitting = [
        name
        for name, has_reduction, has_root, factor in _FACTORS
        if (has_reduction, has_root) == (reduces, rooted)
        and abs(quotient - factor(ranks)) < _PRECISE * factor(ranks)
    ]
    return fitting[0] if len(fitting) == 1 else ""


def agree(size: Decimal, time: str | None, bandwidth: str, unit: Decimal) -> bool:
    """Whether size divided by time is the algorithm bandwidth, as precisely as both are printed.

    ``unit``: seconds of the printed time's unit.
    """
    if time is None or not size or not is_number(time) or not is_number(bandwidth):
        return True
    (low, high), (least, most) = bounds(time), bounds(bandwidth)
    if low <= 0:
        return True
    fastest, slowest = size / (low * unit), size / (high * unit)
    return slowest <= most * GB * (1 + _SHIFT) and fastest >= least * GB * (1 - _SHIFT)
