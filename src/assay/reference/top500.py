"""The TOP500 lists of June 1993 to June 2021, and the rank of a Linpack rate on each.

``top500.txt.gz`` holds every Rmax. Comments (#) state the source. Each further line is a list: its
month and 500 rates in Gflop/s from the first to the last; ``4*12`` means twelve times 4.
"""

from __future__ import annotations

import calendar
from bisect import bisect_left
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_TABLE = Path(__file__).with_name("top500.txt.gz")

SOURCE = (
    "TOP500 lists of June 1993 to June 2021 (E. Strohmaier, J. Dongarra, H. Simon, M. Meuer, "
    "H. Meuer; www.top500.org)"
)


@dataclass(frozen=True)
class TopList:
    """One TOP500 list."""

    year: int
    month: int
    #: Rmax in flop/s by rank, greatest first.
    rmax: tuple[float, ...]

    @property
    def name(self) -> str:
        """The month in words: ``June 2002``."""
        return f"{calendar.month_name[self.month]} {self.year}"

    @property
    def date(self) -> str:
        """The month as ``2002-06``, which sorts chronologically."""
        return f"{self.year}-{self.month:02d}"

    def place(self, rate: float) -> int | None:
        """The rank that a rate in flop/s would have had; None if the rate is below the whole list.

        The rank is the number of faster systems plus one, so equal rates share the best rank.
        """
        faster = bisect_left(self.rmax, -rate, key=lambda rmax: -rmax)
        return faster + 1 if faster < len(self.rmax) else None


@cache
def top_lists() -> tuple[TopList, ...]:
    """All lists, the oldest first."""
    import gzip

    text = gzip.decompress(_TABLE.read_bytes()).decode("ascii")
    return tuple(_read(line) for line in text.splitlines() if not line.startswith("#"))


def places(rate: float) -> list[tuple[TopList, int | None]]:
    """For each list, the oldest first, the rank that a rate in flop/s would have had."""
    return [(found, found.place(rate)) for found in top_lists()]


def last_within(rate: float, rank: int) -> TopList | None:
    """The last list on which a rate in flop/s would have had this rank or a better rank.

    With ``rank`` 1, the last list on which it would have been the fastest; with 500, the last list
    on which it would have been. None if there is no such list.
    """
    within = [found for found, place in places(rate) if place is not None and place <= rank]
    return within[-1] if within else None


def _read(line: str) -> TopList:
    month, *words = line.split()
    rmax: list[float] = []
    for word in words:
        value, _, times = word.partition("*")
        rmax += [float(value + "e9")] * int(times or 1)  # multiplication by 1e9 would round twice
    return TopList(int(month[:4]), int(month[4:]), tuple(rmax))
