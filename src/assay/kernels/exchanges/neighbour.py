"""Exchange between neighbours in a grid of ranks, by neighbourhood collectives and messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from math import prod

from assay.kernels.catalogue import Kernel, Metric, Parameter, Peers, Work
from assay.model.placement import Value

METHODS = ("collective", "messages", "persistent", "persistent_collective")

_MOST = 1 << 30


@cache
def grid_extents(ranks: int, dimensions: int) -> tuple[int, ...]:
    """The extents of a grid, the largest first: those of the smallest sum, and among these the
    ones with the smallest first extent (as native/network/grid_of_ranks.cpp).
    """
    divisors = [extent for extent in range(1, ranks + 1) if ranks % extent == 0]
    grids = (
        grid
        for grid in product(divisors, repeat=dimensions)
        if prod(grid) == ranks and list(grid) == sorted(grid, reverse=True)
    )
    return min(grids, key=lambda grid: (sum(grid), grid))


def edges(ranks: int, dimensions: int) -> Iterator[tuple[int, int]]:
    """Each rank with each of its neighbours: the blocks that are sent, as (source, target).

    Ranks are numbered with the last dimension fastest (MPI-4.1, 8.2). A dimension of three or more
    ranks is periodic.
    """
    extents = grid_extents(ranks, dimensions)
    for rank in range(ranks):
        stride = ranks
        for extent in extents:
            stride //= extent
            place = rank // stride % extent
            for step in (-1, 1):
                if extent > 2 or 0 <= place + step < extent:
                    yield rank, rank + ((place + step) % extent - place) * stride


def _blocks(ranks: int, dimensions: int) -> int:
    """Number of ``edges``."""
    return sum(
        {1: 0, 2: ranks}.get(extent, 2 * ranks) for extent in grid_extents(ranks, dimensions)
    )


def _work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    blocks = _blocks(ranks, int(parameters["dimensions"]))
    return {"bytes": float(blocks * int(parameters["bytes"]))}


def _peers(parameters: Mapping[str, Value], ranks: int, threads: int) -> Peers:
    sent = Counter(edges(ranks, int(parameters["dimensions"])))
    return {pair: float(count * int(parameters["bytes"])) for pair, count in sent.items()}


def _memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    blocks = 2 * int(parameters["dimensions"])
    return float((blocks + (blocks if parameters["op"] == "alltoall" else 1)) * _size(parameters))


def _size(parameters: Mapping[str, Value]) -> int:
    return int(parameters["bytes"])


def _link_bytes(parameters: Mapping[str, Value], nodes: int, ppn: int) -> float:
    # A single operation: if it takes long, only the sample is checked.
    leaving = Counter(
        source // ppn
        for source, target in edges(nodes * ppn, int(parameters["dimensions"]))
        if source // ppn != target // ppn
    )
    return float(max(leaving.values(), default=0) * _size(parameters))


def _needs_mpi_4(parameters: Mapping[str, Value]) -> str | None:
    method = str(parameters["method"])
    return f"method = {method}" if method == "persistent_collective" else None


KERNELS = (
    Kernel(
        name="network.neighbour",
        title="Exchange with the neighbours in a grid: neighbourhood collectives and messages",
        parameters=(
            Parameter(
                "op",
                "alltoall",
                "alltoall: another block for each neighbour; allgather: the same block for all",
                choices=("alltoall", "allgather"),
            ),
            Parameter(
                "method",
                "collective",
                "collective: MPI_Neighbor_alltoall or _allgather; messages: MPI_Irecv, MPI_Isend, "
                "MPI_Waitall; persistent: the same messages by MPI_Recv_init, MPI_Send_init and "
                "MPI_Startall; persistent_collective: MPI_Neighbor_alltoall_init or "
                "_allgather_init (MPI 4)",
                choices=METHODS,
            ),
            Parameter("bytes", 8, "block for a neighbour", unit="B", low=0, high=_MOST),
            Parameter("dimensions", 2, "of the grid", low=1, high=3),
        ),
        metrics=(
            Metric("time", "s", "less", "one exchange, until the last rank has finished"),
            Metric(
                "bandwidth",
                "B/s",
                "more",
                "the blocks of all ranks / time",
                quantity="bytes",
            ),
        ),
        work=_work,
        source="MPI-4.1, 8.6 and 8.8; Hoefler & Träff (2009)",
        min_ranks=2,
        even=False,
        notes="Each sample is one exchange, from a start time agreed on a synchronised clock until "
        "the last rank finishes, as in network.collective. The grid has the extents of the "
        "smallest sum. A dimension of three or more ranks is periodic. Two ranks in a dimension "
        "exchange once, because libraries disagree on the order of the blocks of a pair that is "
        "adjacent twice.",
        work_units={"bytes": "B"},
        formulas={
            "bytes": "bytes × blocks; in each dimension 2 ranks blocks, ranks blocks if it has "
            "2 ranks, none if it has 1"
        },
        memory=_memory,
        peers=_peers,
        needs_mpi_4=_needs_mpi_4,
        link_bytes=_link_bytes,
    ),
)
