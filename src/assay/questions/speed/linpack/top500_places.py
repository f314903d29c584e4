"""The rank that a Linpack rate would have had on the TOP500 lists."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay.questions.common.findings import INTERNAL
from assay.reference.top500 import TopList, last_within, places
from assay.units import Interval

LAST_RANK = 500


@dataclass(frozen=True)
class ListPlace:
    """The rank of a rate on one list."""

    #: TOP500 list.
    found: TopList
    #: Rank on the list; None if the rate would not have been listed.
    place: int | None
    #: Ranks of the upper and the lower end of the rate's 95% interval; None if it has no interval.
    interval: tuple[int | None, int | None] | None


@dataclass(frozen=True)
class Top500Places:
    """The ranks of a rate on all lists."""

    #: Rate, in flop/s.
    rate: float
    #: ``fastest_until``, ``listed_until``: last list on which the rate would have been first, and
    #: last list on which it would have been listed; None if there is no such list.
    fastest_until: str | None
    listed_until: str | None
    #: Best rank on any list.
    best_rank: int | None
    #: Last list on which the rate has its best rank.
    best_list: str | None
    #: Rank on the newest list, ``last_list``; None if it is not listed there.
    last_rank: int | None
    #: Name of the newest list.
    last_list: str
    #: Ranks on all lists, the oldest list first.
    lists: tuple[ListPlace, ...] = field(metadata=INTERNAL)

    def on(self, name: str | None) -> TopList | None:
        """The list with this name."""
        return next((one.found for one in self.lists if one.found.name == name), None)


def find_places(rate: float, interval: Interval | None = None) -> Top500Places:
    """The ranks that a rate in flop/s with its 95% interval would have had on each list."""
    lists = tuple(
        ListPlace(
            found,
            place,
            (found.place(interval[1]), found.place(interval[0])) if interval else None,
        )
        for found, place in places(rate)
    )
    fastest, listed = last_within(rate, 1), last_within(rate, LAST_RANK)
    ranked = [(one.place, one.found.name) for one in reversed(lists) if one.place is not None]
    best = min(ranked, key=lambda one: one[0], default=None)
    return Top500Places(
        rate=rate,
        fastest_until=fastest.name if fastest else None,
        listed_until=listed.name if listed else None,
        best_rank=best[0] if best else None,
        best_list=best[1] if best else None,
        last_rank=lists[-1].place,
        last_list=lists[-1].found.name,
        lists=lists,
    )


def standing(found: Top500Places) -> str:
    """``the fastest in the world until June 1993, on the TOP500 until November 2001``.

    The text names the last known list, because there are later lists.
    """
    last = found.last_list
    if found.listed_until is None:
        first = found.lists[0].found
        return (
            f"slower than all {LAST_RANK} systems of the first TOP500 list, {first.name} (the "
            f"last system had {first.rmax[-1] / 1e9:.3g} Gflop/s)"
        )
    if found.fastest_until == last:
        return f"the fastest in the world on every TOP500 list up to {last}"
    on = (
        f"on the TOP500 until {found.listed_until}"
        if found.last_rank is None
        else f"rank {found.last_rank} on the TOP500 of {last}"
    )
    if found.fastest_until is not None:
        return f"the fastest in the world until {found.fastest_until}, {on}"
    if found.best_list == last:
        return on
    return f"{on}, at best rank {found.best_rank} ({found.best_list})"


def rank_text(place: ListPlace) -> str:
    """``94``, ``94 [91, 96]`` if the ends of the interval differ in rank, or ``> 500``."""

    def shown(rank: int | None) -> str:
        return str(rank) if rank is not None else f"> {LAST_RANK}"

    rank = shown(place.place)
    if place.interval is None:
        return rank
    ends = [shown(end) for end in place.interval]
    return rank if ends == [rank, rank] else f"{rank} [{', '.join(ends)}]"
