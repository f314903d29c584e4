"""network.rate: messages per second of pairs of ranks, and of pairs of threads."""

from __future__ import annotations

from collections.abc import Mapping

from assay.kernels.catalogue import Kernel, Metric, Parameter, Work
from assay.model.placement import Placement, Value
from assay.units import counted

RATE = "network.rate"
_MOST = 1 << 30  # bytes of a message
# As in native/network/rate.cpp: bytes, and minimum and maximum windows, of a count.
_COUNT_BYTES, _FEWEST_WINDOWS, _MOST_WINDOWS = 1 << 20, 2, 32
# The check repeats a window with messages of all powers of two up to the size: twice it in total.
_WINDOWS_OF_CHECK = 2


def most_pairs(placement: Placement) -> int:
    """The largest number of pairs: the ranks of the first node that have a partner."""
    if placement.nodes == 1:
        return placement.ranks // 2
    return min(placement.ppn, placement.ranks - placement.ppn)


def _pairs(parameters: Mapping[str, Value], ranks: int) -> int:
    # 0 means the maximum number of pairs; the kernel's record has the actual number.
    return int(parameters["pairs"]) or ranks // 2


def _work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    messages = float(_pairs(parameters, ranks) * threads)
    return {"messages": messages, "bytes": messages * float(parameters["bytes"])}


def _memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    return float(threads) * float(parameters["bytes"])


def _link_bytes(parameters: Mapping[str, Value], nodes: int, ppn: int) -> float:
    size, window = int(parameters["bytes"]), int(parameters["window"])
    windows = min(max(_COUNT_BYTES // (window * max(size, 1)), _FEWEST_WINDOWS), _MOST_WINDOWS)
    pairs = int(parameters["pairs"]) or ppn
    return float(pairs * (windows + _WINDOWS_OF_CHECK) * window * size)


def _check(parameters: Mapping[str, Value], placement: Placement) -> str | None:
    pairs, most = int(parameters["pairs"]), most_pairs(placement)
    if pairs <= most:
        return None
    of = "the first node" if placement.nodes > 1 else "half of the node"
    return (
        f"pairs = {pairs}, but {of} has {counted(most, 'rank')}: use fewer pairs, or more ranks "
        "per node."
    )


KERNELS = (
    Kernel(
        name=RATE,
        title="Message rate of many pairs of ranks or threads",
        parameters=(
            Parameter("bytes", 8, "message size", unit="B", low=0, high=_MOST),
            Parameter(
                "pairs",
                0,
                "ranks of the first node that send, each to a rank of another node, with the nodes "
                "in turn; on a single node its first half sends to the second half; 0: the maximum",
                low=0,
            ),
            Parameter("window", 64, "messages in flight of each sender", low=1, high=4096),
        ),
        metrics=(
            Metric(
                "time",
                "s",
                "less",
                "time of a window / number of its messages, slowest sender",
            ),
            Metric("rate", "op/s", "more", "messages of all senders / time", quantity="messages"),
            Metric(
                "bandwidth", "B/s", "more", "message sizes of all senders / time", quantity="bytes"
            ),
        ),
        work=_work,
        source="Definition of osu_mbw_mr, OSU micro-benchmarks 7; Zambre & Chandramowlishwaran "
        "(2022) on threads",
        min_ranks=2,
        threaded=True,
        headline="rate",
        thread_multiple=True,
        notes="MPI_Isend and MPI_Irecv; a window ends with an empty message from the receiver. A "
        "sender has one buffer for all messages. With several threads "
        "per rank, each thread of a rank sends windows of its own to the same thread of the "
        "partner, over a communicator of its own: this needs MPI_THREAD_MULTIPLE, which these "
        "launches request. All other measurements are launched with MPI_THREAD_FUNNELED, because "
        "locks cost time. Each thread's messages have contents of their own, so that a message "
        "that another thread received shows.",
        work_units={"messages": "", "bytes": "B"},
        formulas={"messages": "pairs * threads", "bytes": "pairs * threads * bytes"},
        memory=_memory,
        check=_check,
        link_bytes=_link_bytes,
    ),
)
