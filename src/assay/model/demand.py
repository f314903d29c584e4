"""What a profiled program needs of the machine, and the time that it predicts for a placement."""

from __future__ import annotations

import msgspec

from assay.model.placement import Placement

# Bytes between neighbours grow as the surface of a rank's part (docs/methods/program.md).
_SURFACE = 2.0 / 3.0


class ProgramDemand(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A program's demand, from its profile (`assay profile`); per rank and mean over the ranks."""

    #: What was run.
    command: str
    #: ``ranks``, ``hosts``: of the profiled run.
    ranks: int
    hosts: int
    #: s outside of MPI.
    computing: float
    #: The longest of them over the mean, minus 1.
    uneven: float
    #: s in MPI without the wait for the rank that computes longest.
    communication: float
    #: ``messages``, ``sent``: messages, and bytes in them, sent individually to other ranks.
    messages: float
    sent: float
    #: Share of these bytes that went to another host, 0 to 1.
    between: float
    #: Why times predicted from the profile are doubtful, as a clause; "" if nothing says so.
    doubt: str = ""


class PlacementForecast(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The time that a profile predicts for a placement, in s."""

    #: Computing, mean over ranks.
    compute: float
    #: Waiting for the rank that computes longest.
    imbalance: float
    #: Communication as in the profiled run.
    messages: float
    #: The bytes between nodes over the adapter that a node's ranks share.
    between: float
    #: The share of the bytes that crosses nodes, 0 to 1.
    crossing: float

    @property
    def time(self) -> float:
        """The whole, s."""
        return self.compute + self.imbalance + self.messages + self.between


def forecast(
    demand: ProgramDemand,
    placement: Placement,
    cores: int,
    link: float | None,
    crossing: float | None = None,
) -> PlacementForecast:
    """The expected time of a program at a placement, if the problem is the profiled one.

    ``cores``: of a node. ``link``: of a node's adapter in B/s; None: unknown, bytes then cost
    nothing. ``crossing``: share of the bytes between nodes; None: as if each rank sent equally to
    all others.

    Computing is divided among the cores in use: threads count as ranks do, and cores don't slow
    each other down, which a profile can't tell. A rank's messages are as many on any number of
    ranks; their bytes shrink as the surface of its part.
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
