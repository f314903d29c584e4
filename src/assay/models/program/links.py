"""Costs of messages on a network: LogGP of the links between hosts and within one."""

from __future__ import annotations

from dataclasses import dataclass, replace

# Indices of messages within and between hosts, in arrays of two.
WITHIN, BETWEEN = 0, 1


@dataclass(frozen=True)
class LinkParameters:
    """LogGP of a link (Alexandrov et al. 1995): s bytes take latency + 2 overhead + s gap."""

    #: L, s.
    latency: float
    #: G, s per byte.
    gap: float
    #: o, time of the processor at each end, s.
    overhead: float = 0.0


@dataclass(frozen=True)
class ProgramNetwork:
    """Links ``within`` a host, in memory, and ``between`` hosts, whose ranks share an adapter."""

    within: LinkParameters
    between: LinkParameters

    def changed(
        self,
        latency: float | None = None,
        gap: float | None = None,
        overhead: float | None = None,
    ) -> ProgramNetwork:
        """The same links with other parameters between hosts."""
        of = self.between
        return replace(
            self,
            between=LinkParameters(
                of.latency if latency is None else latency,
                of.gap if gap is None else gap,
                of.overhead if overhead is None else overhead,
            ),
        )


IDEAL = ProgramNetwork(LinkParameters(0.0, 0.0), LinkParameters(0.0, 0.0))
