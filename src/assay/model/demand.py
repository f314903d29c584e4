"""The demand of a profiled program on the machine, and the time that it predicts for a
placement."""

from __future__ import annotations

import msgspec

from assay.model.placement import Placement

# Exponent of the bytes between neighbours: they grow as the surface of a rank's part
# (docs/methods/program.md).
_SURFACE = 2.0 / 3.0


class CallDemand(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The calls of one MPI function in a profiled program."""

    #: Name of the function, without ``MPI_``.
    function: str
    #: Share of the wall time of all ranks, 0 to 1, including waiting.
    share: float
    #: Number of calls of all ranks.
    calls: int
    #: Mean bytes of a call.
    bytes: float


class ProgramDemand(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A program's demand from its profile (`assay profile`): values per rank, mean over the
    ranks."""

    #: Command that was profiled.
    command: str
    #: ``ranks``, ``hosts``: numbers of ranks and hosts of the profiled run.
    ranks: int
    hosts: int
    #: Time outside of MPI, s.
    computing: float
    #: Longest over mean time outside of MPI, minus 1.
    uneven: float
    #: Time in MPI without the wait for the rank that computes longest, s.
    communication: float
    #: ``messages``, ``sent``: number of messages sent individually to other ranks, and their bytes.
    messages: float
    sent: float
    #: Share of these bytes that went to another host, 0 to 1.
    between: float
    #: Clause on why times predicted from the profile are doubtful; "" if there is no reason.
    doubt: str = ""
    #: Calls by function, the function with the most time first.
    calls: tuple[CallDemand, ...] = ()


class PlacementForecast(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The time that a profile predicts for a placement, in s."""

    #: Computing time, mean over ranks.
    compute: float
    #: Time spent waiting for the rank that computes longest.
    imbalance: float
    #: Time of communication as in the profiled run.
    messages: float
    #: Time of the bytes between nodes over the adapter that a node's ranks share.
    between: float
    #: Share of the bytes that crosses nodes, 0 to 1.
    crossing: float

    @property
    def time(self) -> float:
        """The whole time, s."""
        return self.compute + self.imbalance + self.messages + self.between


def forecast(
    demand: ProgramDemand,
    placement: Placement,
    cores: int,
    link: float | None,
    crossing: float | None = None,
) -> PlacementForecast:
    """The expected time of a program at a placement, if the problem is the profiled one.

    ``cores``: number of cores of a node. ``link``: rate of a node's adapter in B/s; if None
    (unknown), bytes cost nothing. ``crossing``: share of the bytes between nodes; None: each rank
    sends equally to all others.

    Computing is divided among the cores in use. Threads count like ranks, and cores don't slow each
    other down, because a profile can't show this. A rank has the same number of messages for any
    number of ranks; their bytes shrink like the surface of its part.
    """
    nodes, ppn = placement.nodes, placement.ppn
    ranks = nodes * ppn
    busy = nodes * min(ppn * placement.threads, cores)
    compute = demand.computing * demand.ranks / busy
    if ranks == 1:
        return PlacementForecast(compute, 0.0, 0.0, 0.0, 0.0)
    if crossing is None:
        crossing = (ranks - ppn) / (ranks - 1)
    per_byte = 0.0 if link is None else 1.0 / link
    then = demand.ranks / demand.hosts * demand.sent * demand.between * per_byte
    sent = demand.sent * (demand.ranks / ranks) ** _SURFACE
    return PlacementForecast(
        compute=compute,
        imbalance=compute * demand.uneven,
        messages=max(demand.communication - then, 0.0),
        between=ppn * sent * crossing * per_byte if nodes > 1 else 0.0,
        crossing=crossing if nodes > 1 else 0.0,
    )
