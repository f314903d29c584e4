"""Rank orders: how ranks are numbered over the seats of a placement.

The kernels read the same names (``native/harness/ranks.hpp``). This module checks orders, so that
an invalid plan is refused before any launch.
"""

from __future__ import annotations

import re

from assay.errors import AssayError, nearest

# Orders that a fitted order is compared with.
ORDERS = ("block", "cyclic", "reversed")
# Over the nodes and back, as in figure 6 of Barczak, Messom & Johnson (2003).
FOLDED = "folded"
# In a plan: an order computed from the traffic between the kernel's ranks. The cells get the order
# as a list of seats (plans.fitted_order).
FITTED = "fitted"
_LIST = re.compile(r"\d{1,9}(?:\s*,\s*\d{1,9})*", re.ASCII)


def read_order(text: object, where: str) -> str:
    """A rank order as written: a name, or the seat of each rank ("0,2,1,3").

    Seats are counted in block order: all of the first node, then all of the second … Raises
    AssayError for an unknown name, and for a list that isn't a permutation.
    """
    words = (*ORDERS, FOLDED, FITTED)
    if isinstance(text, str) and text in words:
        return text
    if isinstance(text, bool) or not isinstance(text, str | int):
        raise AssayError(f"'order' can't be '{text}'.", where=where, fix=nearest("", words))
    if not _LIST.fullmatch(str(text).strip()):
        raise AssayError(
            f"'order' can't be '{text}'.",
            where=where,
            fix=f'{nearest(str(text), words)} Or list each rank\'s seat, such as "0,2,1,3".',
        )
    seats = [int(seat) for seat in str(text).split(",")]
    if sorted(seats) != list(range(len(seats))):
        raise AssayError(
            f"The order '{text}' doesn't name each seat from 0 to {len(seats) - 1} exactly once.",
            where=where,
            fix="List the seat of rank 0, of rank 1 and so on, each seat once.",
        )
    return ",".join(map(str, seats))


def order_problem(order: str, ranks: int) -> str | None:
    """A sentence on why this order doesn't match the number of ranks; None if it does."""
    if order in (*ORDERS, FOLDED, FITTED):
        return None
    if order.count(",") + 1 == ranks:
        return None
    are = "is 1 rank" if ranks == 1 else f"are {ranks} ranks"
    return f"order = '{order}', but there {are}."


def seats_by_rank(order: str, nodes: int, ppn: int) -> list[tuple[int, int]]:
    """The (node, rank within the node) of each rank, in the order of ranks."""
    block = [(node, local) for node in range(nodes) for local in range(ppn)]
    if order == "block":
        return block
    if order == "reversed":
        return block[::-1]
    if order == "cyclic":
        return [(node, local) for local in range(ppn) for node in range(nodes)]
    if order == FOLDED:
        there, back = range(nodes), range(nodes - 1, -1, -1)
        return [(node, local) for local in range(ppn) for node in (back if local % 2 else there)]
    return [block[int(seat)] for seat in order.split(",")]
