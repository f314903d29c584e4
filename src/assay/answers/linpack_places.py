"""Where a Linpack rate would have stood on the TOP500 lists, in words."""

from __future__ import annotations

from assay.answers.select import Interval
from assay.reference.top500 import TopList, last_within, places, top_lists

LAST_RANK = 500


def standing(rate: float) -> str:
    """``the fastest in the world until June 1993, on the TOP500 until November 2001``.

    ``rate``: flop/s. What the lists reach to is said, since they go on.
    """
    first, last = top_lists()[0], top_lists()[-1]
    fastest, listed = last_within(rate, 1), last_within(rate, LAST_RANK)
    if listed is None:
        return (
            f"slower than all {LAST_RANK} systems of the first TOP500 list, {first.name} "
            f"(the last had {first.rmax[-1] / 1e9:.3g} Gflop/s)"
        )
    if fastest is last:
        return f"the fastest in the world on every TOP500 list to {last.name}"
    now = last.place(rate)
    on = (
        f"on the TOP500 until {listed.name}"
        if now is None
        else f"rank {now} on the TOP500 of {last.name}"
    )
    if fastest is not None:
        return f"the fastest in the world until {fastest.name}, {on}"
    best, rank = _best(rate)
    return on if best is last else f"{on}, at best rank {rank} ({best.name})"


def _best(rate: float) -> tuple[TopList, int]:
    """The list on which the rate, which is on some, stands best; the last of equals."""
    ranked = [(found, rank) for found, rank in places(rate) if rank is not None]
    return min(reversed(ranked), key=lambda place: place[1])


def rank_text(found: TopList, rate: float, interval: Interval | None) -> str:
    """``94``, ``94 [91, 96]`` where the ends of the interval stand elsewhere, or ``–``."""

    def shown(value: float) -> str:
        place = found.place(value)
        return str(place) if place is not None else f"> {LAST_RANK}"

    middle = shown(rate)
    if interval is None:
        return middle
    ends = [shown(end) for end in reversed(interval)]  # the faster end has the better rank
    return middle if ends == [middle, middle] else f"{middle} [{', '.join(ends)}]"
