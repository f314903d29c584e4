"""Collective operations over all ranks, each timed separately."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from assay.kernels.catalogue import Kernel, Metric, Parameter, Work
from assay.kernels.gpu.common import DEVICE_MEMORY, check_device_memory
from assay.kernels.network import ON_DEVICES
from assay.model.placement import Placement, Value

COLLECTIVES = (
    "barrier",
    "bcast",
    "reduce",
    "allreduce",
    "allgather",
    "allgatherv",
    "alltoall",
    "alltoallv",
    "gather",
    "scatter",
    "reduce_scatter",
)
ROOTED = ("bcast", "reduce", "gather", "scatter")
REDUCTIONS = ("reduce", "allreduce", "reduce_scatter")
VARYING = ("allgatherv", "alltoallv")
TIMINGS = ("appointed", "barrier", "loop")
CALLS = ("blocking", "persistent")

_DOUBLE = 8
_USUAL_BYTES = 8
_MOST_INT = 2**31 - 1

# Bytes that must reach other ranks, as multiples of `bytes`, by ranks: a lower bound for any
# algorithm. An allreduce must collect and redistribute the vector (Patarasu & Yuan 2009).
_TRAFFIC: dict[str, Callable[[int], int]] = {
    "barrier": lambda p: 0,
    "bcast": lambda p: p - 1,
    "reduce": lambda p: p - 1,
    "allreduce": lambda p: 2 * (p - 1),
    "allgather": lambda p: p * (p - 1),
    "allgatherv": lambda p: p * (p - 1),
    "alltoall": lambda p: p * (p - 1),
    "alltoallv": lambda p: p * (p - 1),
    "gather": lambda p: p - 1,
    "scatter": lambda p: p - 1,
    "reduce_scatter": lambda p: p - 1,
}

# The largest buffers of a rank, as multiples of `bytes`, by ranks and imbalance.
_BUFFERS: dict[str, Callable[[int, float], float]] = {
    "barrier": lambda p, i: 0,
    "bcast": lambda p, i: 1,
    "reduce": lambda p, i: 2,
    "allreduce": lambda p, i: 2,
    "allgather": lambda p, i: p + 1,
    "allgatherv": lambda p, i: p + i,
    "alltoall": lambda p, i: 2 * p,
    "alltoallv": lambda p, i: p + p * i,
    "gather": lambda p, i: p + 1,
    "scatter": lambda p, i: p + 1,
    "reduce_scatter": lambda p, i: 1 + 1 / p,
}


def _bytes(parameters: Mapping[str, Value]) -> int:
    requested = int(parameters["bytes"])
    if requested != -1:
        return requested
    return 0 if parameters["op"] == "barrier" else _USUAL_BYTES


def imbalance_of(parameters: Mapping[str, Value]) -> float:
    """The largest block of a rank over the mean; 1 if all are equal."""
    return float(parameters.get("imbalance", 1.0))


def _work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    return {"bytes": float(_TRAFFIC[str(parameters["op"])](ranks) * _bytes(parameters))}


def _memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    return _BUFFERS[str(parameters["op"])](ranks, imbalance_of(parameters)) * _bytes(parameters)


# Bytes that the busiest adapter must send or receive in one operation, as multiples of `bytes`, by
# ranks per node and other ranks: a lower bound for any algorithm.
_BUSIEST: dict[str, Callable[[int, int], float]] = {
    "barrier": lambda here, others: 0,
    "bcast": lambda here, others: 1,
    "reduce": lambda here, others: 1,
    "allreduce": lambda here, others: 1,
    "allgather": lambda here, others: others,
    "allgatherv": lambda here, others: others,
    "alltoall": lambda here, others: here * others,
    "alltoallv": lambda here, others: here * others,
    "gather": lambda here, others: others,
    "scatter": lambda here, others: others,
    "reduce_scatter": lambda here, others: 1,
}


def block_shares(ranks: int, imbalance: float) -> list[float]:
    """Blocks of the ranks as shares of all bytes: they fall geometrically from rank 0 on, and the
    largest is ``imbalance`` times the mean.

    As native/network/collective_ops.cpp, which rounds to bytes.
    """
    low, high = 0.0, 1.0
    for _ in range(60):
        ratio = (low + high) / 2
        largest = ranks * (1 - ratio) / (1 - ratio**ranks)
        low, high = (ratio, high) if largest > imbalance else (low, ratio)
    ratio = (low + high) / 2
    weights = [ratio**rank for rank in range(ranks)] if imbalance > 1.0 else [1.0] * ranks
    return [weight / sum(weights) for weight in weights]


def _link_bytes(parameters: Mapping[str, Value], nodes: int, ppn: int) -> float:
    op, imbalance = str(parameters["op"]), imbalance_of(parameters)
    if op in VARYING and imbalance > 1.0:
        # The first node has the largest blocks, and the last one receives them all.
        ranks = nodes * ppn
        shares = block_shares(ranks, imbalance)
        first, last = sum(shares[:ppn]), sum(shares[ranks - ppn :])
        times = first * (ranks - ppn) if op == "alltoallv" else 1.0 - last
        return times * ranks * _bytes(parameters)
    # A single operation: if it takes long, only the sample is checked.
    return float(_BUSIEST[str(parameters["op"])](ppn, (nodes - 1) * ppn) * _bytes(parameters))


def _check(parameters: Mapping[str, Value], placement: Placement) -> str | None:
    op, size, root = str(parameters["op"]), _bytes(parameters), int(parameters["root"])
    ranks = placement.ranks
    if op == "barrier" and size > 0:
        return f"A barrier carries no bytes, but bytes = {size}: leave it out."
    if op == "barrier" and parameters.get("memory") == "device":
        return "A barrier carries no bytes: leave memory = device out."
    if op in REDUCTIONS and size % _DOUBLE != 0:
        return f"{op} adds up doubles: bytes = {size} must be a multiple of {_DOUBLE}."
    if op not in ROOTED and root != 0:
        return f"{op} has no root, but root = {root}: leave it out."
    if root >= ranks:
        return f"root = {root}, but the last of {ranks} ranks is {ranks - 1}."
    imbalance = imbalance_of(parameters)
    if imbalance != 1.0 and op not in VARYING:
        return f"{op} has blocks of one size, but imbalance = {imbalance:g}: leave it out."
    if imbalance > ranks:
        return f"imbalance = {imbalance:g}, but it can't exceed the number of ranks, {ranks}."
    if op in VARYING and (imbalance if op == "alltoallv" else 1.0) * ranks * size > _MOST_INT:
        return (
            f"{op} counts all bytes of a rank in an int of MPI, and {ranks} ranks times "
            f"{size} B exceed its range: choose fewer bytes."
        )
    return check_device_memory(parameters)


def _needs_mpi_4(parameters: Mapping[str, Value]) -> str | None:
    return "call = persistent" if parameters.get("call") == "persistent" else None


KERNELS = (
    Kernel(
        name="network.collective",
        title="Collective operations over all ranks",
        parameters=(
            Parameter("op", "allreduce", "the operation", choices=COLLECTIVES),
            Parameter(
                "bytes",
                -1,
                "size of each rank's vector (bcast and the reductions, which add doubles), or of "
                "the block that a rank sends to another (all other operations); -1: 8, and 0 for a "
                "barrier",
                unit="B",
                low=-1,
                high=1 << 30,
            ),
            Parameter("root", 0, "the root of bcast, reduce, gather and scatter", low=0),
            Parameter(
                "timing",
                "appointed",
                "appointed: from a start time agreed on a synchronised clock until the last rank "
                "finishes; barrier: each rank's own time after a barrier; loop: consecutive, "
                "overlapping calls after a barrier, as in most benchmarks",
                choices=TIMINGS,
            ),
            Parameter(
                "call",
                "blocking",
                "persistent: MPI_Start and MPI_Wait on a request made once, as by "
                "MPI_Allreduce_init (MPI 4)",
                choices=CALLS,
                omitted=True,
            ),
            Parameter(
                "imbalance",
                1.0,
                "allgatherv and alltoallv: the largest block over the mean block, which has "
                "'bytes'; blocks fall geometrically from rank 0 on",
                low=1.0,
                omitted=True,
            ),
            *DEVICE_MEMORY,
        ),
        metrics=(
            Metric("time", "s", "less", "one operation, until the last rank has finished"),
            Metric(
                "bandwidth",
                "B/s",
                "more",
                "the bytes that must reach other ranks / time, all ranks together",
                quantity="bytes",
            ),
        ),
        work=_work,
        source="Barczak et al. (2003), 3.2; Hunold & Carpen-Amarie (2016, 2018)",
        min_ranks=2,
        notes="One call per sample, because consecutive calls overlap: ranks that finish one call "
        "begin the next. timing = loop and network.barrier measure overlapping calls. With "
        "timing = appointed a "
        "sample is the time from a common start to the last finish; with timing = barrier it is "
        "the longest of the ranks' own times, and the fact barrier_skew is the spread of their "
        "starts after the barrier. reduce_scatter leaves each rank an equal share of the vector; "
        "with allgatherv, rank r contributes block r; with alltoallv every rank sends block r to "
        "rank r, so that rank 0 receives the most. Their bytes that must reach other ranks don't "
        "depend on the imbalance. Reductions are sums of doubles, MPI_SUM. " + ON_DEVICES,
        even=False,
        work_units={"bytes": "B"},
        formulas={
            "bytes": "bytes × (ranks - 1) for bcast, reduce, reduce_scatter, gather, scatter; "
            "2 bytes (ranks - 1) for allreduce; bytes × ranks (ranks - 1) for allgather, "
            "allgatherv, alltoall, alltoallv; 0 for barrier"
        },
        memory=_memory,
        check=_check,
        needs_mpi_4=_needs_mpi_4,
        link_bytes=_link_bytes,
    ),
)
