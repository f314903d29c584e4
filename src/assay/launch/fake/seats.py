"""The CPUs of the ranks of a fake machine, by the same rules as kernels pin themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.model.placement import Placement
from assay.model.rank_order import seats_by_rank
from assay.records.schema import RankRecord


def siblings_of(cores: int, smt: int) -> list[list[int]]:
    """The hardware threads of each core, numbered as in Linux: the first threads of all cores
    first.
    """
    return [[core + cores * which for which in range(smt)] for core in range(cores)]


def of_domain(domain: int, cores: int, domains: int) -> range:
    """The cores of a NUMA domain; the numbers of cores per domain differ by one or less."""
    return range(domain * cores // domains, (domain + 1) * cores // domains)


def ranks_of(
    placement: Placement, hosts: Sequence[str], cores: int | None, smt: int, domains: int
) -> Iterator[RankRecord]:
    """Ranks on hosts in the placement's order, each thread on a hardware thread of its own."""
    have = cores * smt if cores is not None and placement.smt == "on" else cores
    slots = placement.ppn * placement.threads
    crowded = have is not None and slots > have
    cpus = (
        list(range(slots)) if cores is None or crowded else _pinned(placement, cores, smt, domains)
    )
    seats = seats_by_rank(placement.order, placement.nodes, placement.ppn)
    for rank, (node, seat) in enumerate(seats):
        own = cpus[seat * placement.threads : (seat + 1) * placement.threads]
        numa = None
        if cores is not None and domains > 1 and not crowded:
            numa = _domain_of(own[0] % cores, cores, domains)
        yield RankRecord(
            rank=rank,
            host=hosts[node],
            pid=1000 + rank,
            local_rank=seat,
            cpus=own,
            numa=numa,
            pinned=placement.binding != "none",
            oversubscribed=crowded,
        )


def _domain_of(core: int, cores: int, domains: int) -> int:
    return next(d for d in range(domains) if core in of_domain(d, cores, domains))


def _pinned(placement: Placement, cores: int, smt: int, domains: int) -> list[int]:
    """The CPU of each thread of a node, rank after rank."""
    slots = placement.ppn * placement.threads
    if placement.numa_node is not None:
        return _given(of_domain(placement.numa_node, cores, domains), slots, placement, cores, smt)
    if placement.binding != "per-numa":
        return _given(range(cores), slots, placement, cores, smt)
    cpus = []
    for domain in range(domains):
        here = sum(rank * domains // placement.ppn == domain for rank in range(placement.ppn))
        own = of_domain(domain, cores, domains)
        cpus += _given(own, here * placement.threads, placement, cores, smt)
    return cpus


def _given(own: range, slots: int, placement: Placement, cores: int, smt: int) -> list[int]:
    """The CPUs of ``slots`` threads on these cores."""
    spread = placement.binding == "spread"
    if placement.smt == "on":
        used = -(-slots // smt)
        chosen = [own[i * len(own) // used if spread else i] for i in range(used)]
        return [core + cores * which for core in chosen for which in range(smt)][:slots]
    if spread and slots <= len(own):
        return [own[slot * len(own) // slots] for slot in range(slots)]
    # Cores first, then their second hardware threads.
    return [own[slot % len(own)] + cores * (slot // len(own)) for slot in range(slots)]
