"""The place of a Linpack rate among the listed systems of the machine's own kind."""

from __future__ import annotations

from dataclasses import dataclass

from assay.records.model import RunData
from assay.reference.top500 import last_within, top_lists
from assay.reference.top500_kinds import (
    SELF_MADE,
    Kind,
    KindPlace,
    network_kind,
    place_among,
    processor_kind,
)
from assay.system.model import Adapter, System

_LAST_RANK = 500
_GBIT = 1e9 / 8
# Least link rate of each class of Ethernet, in B/s, and a name that ``network_kind`` knows.
_ETHERNETS = (
    (10 * _GBIT, "10 gigabit ethernet"),
    (_GBIT, "gigabit ethernet"),
    (0.0, "fast ethernet"),
)


@dataclass(frozen=True)
class OwnKind:
    """The rank of a rate among one kind of system."""

    #: Kind, such as "systems with AMD processors".
    kind: str
    #: Last list on which the rate would have been listed.
    list: str
    #: Number of faster systems that are known to have this kind, plus 1.
    rank: int
    #: Number of systems on the list that are known to have this kind.
    of: int
    #: Number of faster systems of unknown kind; the true rank can be greater by this number.
    unknown: int
    #: Last list on which no system known to have this kind was faster; None if there is none.
    first_until: str | None


def own_kinds(run: RunData, rate: float, nodes: int) -> tuple[OwnKind, ...]:
    """The ranks of a rate in flop/s on ``nodes`` nodes among systems of the run's kinds.

    The kinds are the kind of processor, for several nodes the kind of the fastest adapter, and
    self-made systems. A machine is self-made only if its owner built it. Kinds without a known
    system on the list are left out. The result is empty if the rate would have been on no list.
    """
    last = last_within(rate, _LAST_RANK)
    if last is None:
        return ()
    kinds = kinds_of_system(System.known(run.manifest.system), several=nodes > 1)
    found = [_place(kind, rate) for kind in (*kinds, SELF_MADE)]
    return tuple(one for one in found if one.of)


def kinds_of_system(system: System | None, *, several: bool) -> list[Kind]:
    """The known kinds of the processor and, for several nodes, of the interconnect."""
    if system is None:
        return []
    processor = system.processor
    names = " ".join(filter(None, (processor.name, processor.vendor)))
    found = [processor_kind(names)]
    if several:
        up = [a for a in system.adapters if a.physical and a.state in (None, "up", "active")]
        fastest = max(up, key=lambda adapter: adapter.speed or 0.0, default=None)
        found.append(None if fastest is None else _kind_of(fastest))
    return [kind for kind in found if kind is not None]


def _kind_of(adapter: Adapter) -> Kind | None:
    if adapter.kind == "ethernet":
        if adapter.speed is None:
            return None
        return network_kind(next(name for least, name in _ETHERNETS if adapter.speed >= least))
    return network_kind(adapter.kind or "")


def _place(kind: Kind, rate: float) -> OwnKind:
    last = last_within(rate, _LAST_RANK)
    assert last is not None
    found = place_among(last, kind, rate)
    first = [one for one in top_lists() if _first(place_among(one, kind, rate))]
    return OwnKind(
        kind=kind.among,
        list=last.name,
        rank=found.rank,
        of=found.of,
        unknown=found.unknown,
        first_until=first[-1].name if first else None,
    )


def _first(place: KindPlace) -> bool:
    return place.rank == 1 and place.of > 0
