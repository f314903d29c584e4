"""network.overlap: the share of a non-blocking operation that computation hides."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from assay.kernels.catalogue import Kernel, Metric, Parameter, Work
from assay.model.placement import Placement, Value

OVERLAP = "network.overlap"
PAIRED = ("exchange", "isend", "irecv")
BARRIER = "ibarrier"
REDUCTIONS = ("ireduce", "iallreduce")
OPERATIONS = (*PAIRED, BARRIER, "ibcast", "ireduce", "iallreduce", "iallgather", "ialltoall")

_DOUBLE = 8
_USUAL_BYTES = 8
_MOST = 1 << 30  # bytes of a message or block
# As in native/network/overlap.cpp: how often the shortest measurement does the operation. Three
# before the sample, three in it, two in the check.
_OPERATIONS_OF_MEASUREMENT = 8

# The buffers of a rank, as multiples of `bytes`, by ranks.
_BUFFERS: dict[str, Callable[[int], float]] = {
    "exchange": lambda p: 2,
    "isend": lambda p: 2,
    "irecv": lambda p: 2,
    "ibarrier": lambda p: 0,
    "ibcast": lambda p: 1,
    "ireduce": lambda p: 2,
    "iallreduce": lambda p: 2,
    "iallgather": lambda p: p + 1,
    "ialltoall": lambda p: 2 * p,
}
# Bytes that the busiest adapter must send or receive in one operation, as multiples of `bytes`, by
# ranks per node and other ranks: a lower bound for any algorithm. Halves of the ranks are on
# different nodes only if their number is even, or there is one rank per node.
_BUSIEST: dict[str, Callable[[int, int], float]] = {
    "exchange": lambda here, others: min(here, others),
    "isend": lambda here, others: min(here, others),
    "irecv": lambda here, others: min(here, others),
    "ibarrier": lambda here, others: 0,
    "ibcast": lambda here, others: 1,
    "ireduce": lambda here, others: 1,
    "iallreduce": lambda here, others: 1,
    "iallgather": lambda here, others: others,
    "ialltoall": lambda here, others: here * others,
}


def overlap_bytes(parameters: Mapping[str, Value]) -> int:
    """The size of a message, vector or block in bytes, the default resolved."""
    requested = int(parameters["bytes"])
    if requested != -1:
        return requested
    return 0 if parameters["op"] == BARRIER else _USUAL_BYTES


def hidden_share(communication: float, computation: float, both: float) -> float:
    """The share that the computation hides, from 0 to 1, of times in s (IMB-NBC's definition)."""
    share = (communication + computation - both) / max(communication, computation)
    return min(max(share, 0.0), 1.0)


def hidden_share_osu(communication: float, computation: float, both: float) -> float:
    """The hidden share by the definition of the OSU benchmarks, at least 0."""
    return max((communication + computation - both) / communication, 0.0)


def _work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    return {}


def _memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    return float(_BUFFERS[str(parameters["op"])](ranks) * overlap_bytes(parameters))


def _link_bytes(parameters: Mapping[str, Value], nodes: int, ppn: int) -> float:
    moved = _BUSIEST[str(parameters["op"])](ppn, (nodes - 1) * ppn) * overlap_bytes(parameters)
    return float(_OPERATIONS_OF_MEASUREMENT * moved)


def _check(parameters: Mapping[str, Value], placement: Placement) -> str | None:
    op, size = str(parameters["op"]), overlap_bytes(parameters)
    if op == BARRIER and size > 0:
        return f"A barrier carries no bytes, but bytes = {size}: leave it out."
    if op in REDUCTIONS and size % _DOUBLE != 0:
        return f"{op} adds up doubles: bytes = {size} must be a multiple of {_DOUBLE}."
    if op in PAIRED and placement.ranks % 2:
        return f"{placement.ranks} ranks can't be paired for {op}: use an even number."
    return None


KERNELS = (
    Kernel(
        name=OVERLAP,
        title="Overlap of computation with non-blocking operations",
        parameters=(
            Parameter(
                "op",
                "exchange",
                "the operation. exchange: MPI_Isend and MPI_Irecv to and from the partner, rank i "
                "and i + ranks / 2; isend, irecv: one of the two messages, and only its sender or "
                "its receiver computes; others: the non-blocking collectives, rooted in rank 0",
                choices=OPERATIONS,
            ),
            Parameter(
                "bytes",
                -1,
                "size of a message, of each rank's vector (ibcast and the reductions, which add "
                "doubles), or of the block that a rank sends to another (iallgather, ialltoall); "
                "-1: 8, and 0 for a barrier",
                unit="B",
                low=-1,
                high=_MOST,
            ),
            Parameter(
                "interval",
                10e-6,
                "time from one call of MPI_Testall to the next, in the part with calls; there is "
                "at least one call and at most 1000",
                unit="s",
                low=1e-9,
                tacit=True,
            ),
        ),
        metrics=(
            Metric(
                "overlap",
                "1",
                "more",
                "hidden share: (communication + computation - overlapped) / the longer of "
                "communication and computation, between 0 and 1",
                series="overlap",
            ),
            Metric(
                "overlap_tested",
                "1",
                "more",
                "the same with calls of MPI_Testall during the computation (tested in place of "
                "overlapped)",
                series="overlap_tested",
            ),
            Metric(
                "communication",
                "s",
                "less",
                "start and wait, without computation (t_pure of IMB-NBC)",
                series="communication",
            ),
            Metric(
                "computation",
                "s",
                "less",
                "the computation, without communication (t_CPU)",
                series="computation",
            ),
            Metric(
                "overlapped",
                "s",
                "less",
                "start, computation, wait (t_ovrl)",
                series="overlapped",
            ),
            Metric(
                "tested",
                "s",
                "less",
                "start, computation with calls of MPI_Testall, wait",
                series="tested",
            ),
        ),
        work=_work,
        source="Definition of overlap in IMB-NBC, Intel MPI Benchmarks User Guide; Hoefler, "
        "Lumsdaine & Rehm (2007); Lawry et al., COMB (2002)",
        min_ranks=2,
        # A share may be 0, of which no relative precision can be asked.
        headline="overlapped",
        even=False,
        notes="Each sample has four parts in turn: communication, computation, both, and both with "
        "calls. Each part has the same number of repetitions (the fact repetitions), so that it "
        "takes about 200 µs, and at most 100. A barrier, which is not timed, precedes each "
        "repetition. In each part the slowest of the ranks that compute counts. The computation "
        "is a chain of integer operations on registers, without access to memory. Its length is "
        "the time of the communication, measured first in each launch. "
        "The OSU benchmarks define overlap as (communication + computation - overlapped) / "
        "communication: it follows from the same times. Verified: every byte, and the result of "
        "the chain, which is known from the number of its steps.",
        memory=_memory,
        check=_check,
        link_bytes=_link_bytes,
    ),
)
