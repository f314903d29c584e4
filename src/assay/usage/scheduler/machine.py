"""The machine that a modelled scheduler manages: nodes, partitions, reservations, failures."""

from __future__ import annotations

import math

import msgspec


class EqualNodes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``count`` equal nodes with ``processors``, ``memory`` (bytes) and ``gpus`` each. If only the
    number of processors is known, the machine has one node per processor.

    A machine of which only the processors are known is that many nodes with one processor each.
    """

    count: int
    processors: int = 1
    memory: float = math.inf
    gpus: int = 0


class Partition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A queue."""

    name: str
    #: ``first``, ``last``: indices of its nodes in the machine (None: all).
    first: int = 0
    last: int | None = None
    #: The longest request of time in s. ``largest``: the most nodes per job. 0 sets no limit; a job
    #: that exceeds one is refused.
    longest: float = math.inf
    largest: int = 0
    #: All jobs of a higher tier come before jobs of a lower tier.
    tier: int = 0


class Reservation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nodes ``first`` to ``last`` (None: to the last) from ``begin`` to ``end`` (s).

    Only ``users`` (by name) may have jobs there in this time. Without users it is a maintenance
    window. No job is started whose requested time reaches into it.
    """

    begin: float
    end: float
    first: int = 0
    last: int | None = None
    users: tuple[str, ...] = ()


class FailedNodes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nodes ``first`` to ``last`` fail at ``begin`` and are back at ``end`` (s). Their jobs end."""

    begin: float
    end: float
    first: int
    last: int


class Machine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All nodes, numbered from 0 in the order of their kinds. Without partitions, one holds all
    nodes."""

    nodes: tuple[EqualNodes, ...]
    partitions: tuple[Partition, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    failures: tuple[FailedNodes, ...] = ()

    @property
    def size(self) -> int:
        """The number of nodes."""
        return sum(kind.count for kind in self.nodes)

    @property
    def processors(self) -> int:
        """The number of processors."""
        return sum(kind.count * kind.processors for kind in self.nodes)
