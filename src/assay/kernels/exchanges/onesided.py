"""One-sided communication: puts, gets, sums and atomic updates of another rank's memory."""

from __future__ import annotations

from collections.abc import Mapping

from assay.kernels.catalogue import Kernel, Metric, Parameter, Work
from assay.kernels.network import check_pair
from assay.model.placement import Placement, Value

OPERATIONS = ("put", "get", "accumulate", "fetch_and_op", "compare_and_swap")
SYNCHRONISATIONS = ("flush", "lock", "fence")
# Operations on one number of 8 bytes.
ATOMICS = ("fetch_and_op", "compare_and_swap")

_NUMBER = 8
_MOST = 1 << 30
# The sample and its check, which repeats it with all smaller powers of two.
_WITH_CHECK = 3.0


def _bytes(parameters: Mapping[str, Value]) -> float:
    return float(parameters["bytes"])


def _work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    return {"bytes": _bytes(parameters), "operations": 1.0}


def _memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    places = 1 if parameters["op"] in ATOMICS else int(parameters["window"])
    return places * _bytes(parameters)


def _link_bytes(parameters: Mapping[str, Value], nodes: int, ppn: int) -> float:
    return _WITH_CHECK * int(parameters["window"]) * _bytes(parameters)


def _check(parameters: Mapping[str, Value], placement: Placement) -> str | None:
    op, size = str(parameters["op"]), int(parameters["bytes"])
    if op in ATOMICS and size != _NUMBER:
        return f"{op} updates one number of {_NUMBER} bytes, but bytes = {size}: leave it out."
    if op == "accumulate" and size % _NUMBER:
        return f"accumulate adds up numbers: bytes = {size} must be a multiple of {_NUMBER}."
    return check_pair(parameters, placement)


KERNELS = (
    Kernel(
        name="network.one_sided",
        title="One-sided communication: put, get, accumulate and atomic operations",
        parameters=(
            Parameter(
                "op",
                "put",
                "MPI_Put, MPI_Get, MPI_Accumulate (sum), MPI_Fetch_and_op (sum) or "
                "MPI_Compare_and_swap; the last two update one number of 8 bytes",
                choices=OPERATIONS,
            ),
            Parameter(
                "sync",
                "flush",
                "how a window of operations ends: MPI_Win_flush within MPI_Win_lock_all; lock: "
                "each window between MPI_Win_lock (shared) and MPI_Win_unlock; fence: "
                "MPI_Win_fence of both ranks",
                choices=SYNCHRONISATIONS,
            ),
            Parameter("bytes", 8, "bytes of an operation", unit="B", low=0, high=_MOST),
            Parameter("window", 1, "operations between two synchronisations", low=1, high=4096),
            Parameter("from", 0, "rank that accesses the other's memory", low=0),
            Parameter("to", -1, "rank whose memory is accessed; -1: the last rank", low=-1),
        ),
        metrics=(
            Metric("time", "s", "less", "time of a window / number of its operations"),
            Metric("rate", "op/s", "more", "1 / time", quantity="operations"),
            Metric("bandwidth", "B/s", "more", "bytes of an operation / time", quantity="bytes"),
        ),
        work=_work,
        source="MPI-4.1, chapter 12; definitions of osu_put_latency, osu_get_bw, osu_acc_latency, "
        "osu_fop_latency and osu_cas_latency, OSU micro-benchmarks 7",
        min_ranks=2,
        notes="With window = 1 the time is the latency of an operation that is complete at both "
        "ends. The memory is from MPI_Win_allocate. With flush and lock the target is passive: it "
        "waits in another MPI call. With fence each window costs one MPI_Win_fence, which ends an "
        "epoch and begins the next. Puts, gets and accumulates of a window have a place each; all "
        "atomic operations update the same number. Accumulates are sums of 64-bit numbers.",
        work_units={"bytes": "B", "operations": ""},
        formulas={"bytes": "bytes", "operations": "1"},
        memory=_memory,
        check=_check,
        link_bytes=_link_bytes,
    ),
)
