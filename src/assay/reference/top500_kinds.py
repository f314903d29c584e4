"""Ranks among systems of the same kind on the TOP500 lists: processor, interconnect, self-made.

Edmundsson et al. (2004), 5.4, state Seth's place on the list of June 2002 and among its clusters
with AMD processors. ``top500_kinds.txt.gz`` holds a letter for each list, rank and property.
Comments (#) state the source. Each further line has a month and three words (processor,
interconnect, self-made), in which ``?`` means unknown. The kinds follow from the names on the
lists, by the patterns below. The published files state names at a system's first appearance; on
later lists the system is recognised by its Rmax. The processor is known for 66% of all entries, the
interconnect for 37%, and whether a system is self-made for 71%.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from assay.reference.top500 import TopList, top_lists

_TABLE = Path(__file__).with_name("top500_kinds.txt.gz")
UNKNOWN, OTHER = "?", "."

Aspect = Literal["processor", "interconnect", "self-made"]


@dataclass(frozen=True)
class Kind:
    """A kind of system: one value of an aspect."""

    aspect: Aspect
    #: Words that follow "systems with" in a sentence.
    name: str
    letter: str
    pattern: str = ""

    @property
    def among(self) -> str:
        """The systems in words: ``systems with AMD processors``."""
        if self.aspect == "self-made":
            return "self-made systems"
        return f"systems with {self.name}{' processors' * (self.aspect == 'processor')}"


# The first pattern that matches the lower-case names counts.
PROCESSORS = (
    Kind("processor", "AMD", "a", r"opteron|athlon|\bamd\b(?!/)|epyc|hygon|dhyana|\bxt[3-6]"),
    Kind("processor", "Itanium", "t", r"itanium|altix|integrity|\brx\d{4}"),
    Kind("processor", "Xeon Phi", "f", r"xeon phi 72|knights landing"),
    Kind(
        "processor",
        "POWER",
        "p",
        r"power ?pc|power ?\d|\bppc|blue ?gene|\bp2sc\b|\bsp2?\b|pseries|\bp5\b|p690|p655|\bjs2\d"
        r"|g5\b|604e|rs/?6000|regatta|eserver p|575|xserve",
    ),
    Kind(
        "processor",
        "SPARC",
        "s",
        r"sparc|fx100?\b|\bk computer|primepower|\benterprise\b|\bhpc ?\d{4,5}|\bfire\b",
    ),
    Kind("processor", "Alpha", "h", r"alpha|\bev[5-7]\d?\b|t3e|t3d|\bes4[05]|\bsc45"),
    Kind("processor", "MIPS", "m", r"origin|onyx|challenge|\br1[0-9]000|\bmips|blue mountain"),
    Kind(
        "processor",
        "PA-RISC",
        "r",
        r"superdome|\bspp|exemplar|n4000|v2\d00|x-class|pa-?risc|pa-?8|\brp\d{4}|cp-pacs",
    ),
    Kind("processor", "Sunway", "w", r"sunway|sw26010|sw1600"),
    Kind("processor", "Arm", "k", r"a64fx|thunderx|kunpeng|\barm\b"),
    Kind(
        "processor",
        "vector",
        "v",
        r"\bsx-?\d|sr[28]\d|\bvpp|y-?mp|x-?mp|\bt9\d\d?|\bc9\d\d?|\bj9\d|cray x1|\bx1e?\b|\bsv1"
        r"|vpx?-?\d{3,4}|vector|earth-sim|\bs-3\d|numerical wind",
    ),
    Kind("processor", "i860", "i", r"\bxp/?[se]|ipsc|paragon|\bdelta\b"),
    Kind(
        "processor",
        "Intel x86",
        "x",
        r"xeon|pentium|\bp4\b|p ?iii|\bp3\b|e[357]-|core ?i|core 2|\bgold \d|platinum|em64t"
        r"|\bintel\b|(?:51|53|54)xx|\b[xel]5\d\d\d|asci red|nehalem|westmere|woodcrest"
        r"|clovertown|harpertown",
    ),
)
NETWORKS = (
    Kind("interconnect", "Omni-Path", "o", r"omni-?\s?path"),
    Kind(
        "interconnect",
        "InfiniBand",
        "i",
        r"infini\s?-?band|\bifb\b|\bib\b|infinipath|\b[qfeh]dr\b|truescale",
    ),
    Kind("interconnect", "Myrinet", "m", r"myri"),
    Kind("interconnect", "SCI", "s", r"\bsci\b|wulfkit|dolphin"),
    Kind("interconnect", "Quadrics", "q", r"quadrics|qsnet|qsw|\belan"),
    Kind("interconnect", "Giganet", "c", r"giganet|\bclan\b"),
    Kind(
        "interconnect",
        "Ethernet of 10 Gbit/s and more",
        "t",
        r"\b(?:10|20|25|40|50|56|100|200|400)[ -]?g(?:ig|b|e|bit)?(?:[ /-]|$|base|ethernet|igabit)",
    ),
    Kind(
        "interconnect",
        "Gigabit Ethernet",
        "g",
        r"gig(?:abit)?[ -]?e|gigabit|gb ethernet|\bge\b|gbit",
    ),
    Kind("interconnect", "Fast Ethernet", "e", r"fast ?-?eth|100base"),
)
SELF_MADE = Kind("self-made", "self-made", "y")


def processor_kind(names: str) -> Kind | None:
    """The kind of a processor, from its names or its system's names; None if they don't show it."""
    return _first(PROCESSORS, names)


def network_kind(names: str) -> Kind | None:
    """The kind of an interconnect, from its names; None if they don't show it."""
    return _first(NETWORKS, names)


def _first(kinds: tuple[Kind, ...], names: str) -> Kind | None:
    text = names.lower()
    return next((kind for kind in kinds if re.search(kind.pattern, text)), None)


@dataclass(frozen=True)
class KindPlace:
    """The rank of a rate among the systems of a kind on one list."""

    found: TopList
    kind: Kind
    #: Number of faster systems known to have the kind, plus one.
    rank: int
    #: Number of systems known to have the kind.
    of: int
    #: Number of faster systems of unknown kind. The true rank exceeds ``rank`` by at most this
    #: number.
    unknown: int


def place_among(found: TopList, kind: Kind, rate: float, own: float | None = None) -> KindPlace:
    """The rank of a rate in flop/s among the systems of a kind on a list.

    ``own``: the Rmax of the system's own entry on the list, which is then left out: the first entry
    of the kind with this Rmax. Raises ValueError if there is no such entry.
    """
    letters = _letters()[found.date][kind.aspect]
    faster = bisect_left(found.rmax, -rate, key=lambda rmax: -rmax)
    ahead, of = letters[:faster].count(kind.letter), letters.count(kind.letter)
    if own is not None:
        place = next(
            (
                at
                for at, (rmax, letter) in enumerate(zip(found.rmax, letters, strict=True))
                if rmax == own and letter == kind.letter
            ),
            None,
        )
        if place is None:
            raise ValueError(f"no such entry on the list of {found.name}: {own}")
        of -= 1
        ahead -= place < faster
    return KindPlace(found, kind, ahead + 1, of, letters[:faster].count(UNKNOWN))


@cache
def _letters() -> dict[str, dict[Aspect, str]]:
    import gzip

    names: tuple[Aspect, ...] = ("processor", "interconnect", "self-made")
    lines = gzip.decompress(_TABLE.read_bytes()).decode("ascii").splitlines()
    by_month = {
        month: dict(zip(names, words, strict=True))
        for month, *words in (line.split() for line in lines if not line.startswith("#"))
    }
    return {one.date: by_month[one.date.replace("-", "")] for one in top_lists()}
