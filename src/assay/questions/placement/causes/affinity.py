"""The affinity of a placement's threads: recorded CPUs, and the system's cores and domains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.records.model import Measurement, RunData

if TYPE_CHECKING:
    from assay.models.placement.placed import ThreadAffinity


@dataclass(frozen=True)
class Cpus:
    """A node's CPUs: core and NUMA domain of each hardware thread, by the kernel's CPU number.

    A core has the number of its first hardware thread. Empty if unknown.
    """

    #: Core of each hardware thread.
    cores: Mapping[int, int] = field(default_factory=dict)
    #: NUMA domain of each hardware thread.
    domains: Mapping[int, int] = field(default_factory=dict)

    @property
    def number_of_domains(self) -> int:
        """The number of NUMA domains with a CPU; 1 if none are known."""
        return max(len(set(self.domains.values())), 1)


def cpus_of(run: RunData) -> Cpus:
    """The CPUs of the node in the run's system description; all hosts are assumed to be equal."""
    from assay.system.model import System

    system = System.known(run.manifest.system)
    if system is None:
        return Cpus()
    return Cpus(
        {cpu: min(core) for core in system.processor.siblings for cpu in core},
        {cpu: node.id for node in system.memory.nodes for cpu in node.cpus},
    )


def affinity_of(measurements: Sequence[Measurement], cpus: Cpus) -> ThreadAffinity | None:
    """The affinity of the first host's ranks; None if launches differ or a rank wasn't pinned."""
    found = {_affinity(measurement, cpus) for measurement in measurements}
    return found.pop() if len(found) == 1 else None


def _affinity(measurement: Measurement, cpus: Cpus) -> ThreadAffinity | None:
    from assay.models.placement.placed import ThreadAffinity

    placement, ranks = measurement.cell.placement, measurement.ranks
    host = min(ranks, key=lambda rank: rank.rank).host if ranks else ""
    here = sorted((r for r in ranks if r.host == host), key=lambda rank: rank.local_rank)
    if len(here) != placement.ppn or any(len(rank.cpus) != placement.threads for rank in here):
        return None
    if any(not rank.pinned or rank.oversubscribed for rank in here):
        return None
    # Without the system's cores it is unknown which hardware threads share a core.
    if placement.smt == "on" and not cpus.cores:
        return None
    return ThreadAffinity(
        tuple(tuple(cpus.cores.get(cpu, cpu) for cpu in rank.cpus) for rank in here),
        tuple(tuple(cpus.domains.get(cpu, 0) for cpu in rank.cpus) for rank in here),
    )
