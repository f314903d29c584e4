"""Kernels of the memory family."""

from __future__ import annotations

from collections.abc import Mapping

from assay.kernels.catalogue import Kernel, Metric, Parameter, Work
from assay.model.placement import Placement, Value

# Words moved and flops per element: McCalpin's STREAM; Edmundsson et al. (2004), table II.
STREAM_WORK = {"copy": (2, 0), "scale": (2, 1), "sum": (3, 1), "triad": (3, 2)}
# The operations as STREAM's program names them, in lower case.
STREAM_NAMES = {"copy": "copy", "scale": "scale", "add": "sum", "triad": "triad"}
# Words moved per element: Luecke, Li & Cuma (2005), section 4.2.
STRIDED_WORDS = {"read": 1, "write": 1, **{op: words for op, (words, _) in STREAM_WORK.items()}}

MODES = ("read", "write", "update")

_MEMORY_NODE = Parameter(
    "memory_node",
    -1,
    "NUMA node that the arrays lie on; -1: where they are first touched",
    low=-1,
    numa_node=True,
)
_PAGES = Parameter(
    "pages",
    "huge",
    "pages requested: huge ones, which the system may decline, or never huge ones",
    choices=("huge", "small"),
)


def _stream_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    words, flops = STREAM_WORK[str(parameters["op"])]
    elements = int(parameters["elements"]) * ranks
    return {"bytes": 8.0 * words * elements, "flops": float(flops * elements)}


def _stream_memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    return 3 * 8.0 * int(parameters["elements"])


def _strided_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    return {"bytes": 8.0 * STRIDED_WORDS[str(parameters["op"])] * ranks}


def _strided_memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    words = STRIDED_WORDS[str(parameters["op"])]
    return 8.0 * words * int(parameters["elements"]) * int(parameters["stride"])


def _random_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    return {"accesses": float(ranks)}


def _random_memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    indices = 0.0 if parameters["mode"] == "update" else 4 / 8
    return (8 + indices) * int(parameters["elements"])


def _random_check(parameters: Mapping[str, Value], placement: Placement) -> str | None:
    elements = int(parameters["elements"])
    if elements == 1:
        return "A table of one element has no random places: elements must be 0 or at least 2."
    if parameters["mode"] == "update" and elements & (elements - 1):
        return f"Updates need a table whose elements are a power of two, not {elements}."
    return None


def _no_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    return {}


KERNELS = (
    Kernel(
        name="memory.stream",
        title="STREAM: sustained memory bandwidth of long vectors",
        parameters=(
            Parameter("op", "triad", "vector operation", choices=tuple(STREAM_WORK)),
            Parameter(
                "elements",
                0,
                "elements of 8 bytes per array and rank, in all at most a quarter of the memory "
                "available; 0: the ranks of a node together hold 16 times its last-level caches in "
                "each array, or 8 or 4 times where memory or threads are few",
                low=0,
            ),
            Parameter(
                "stores",
                "auto",
                "non-temporal stores, ordinary ones, or whichever is faster here",
                choices=("auto", "ordinary", "nontemporal"),
            ),
            _MEMORY_NODE,
        ),
        metrics=(
            Metric("time", "s", "less", "one pass over the arrays, slowest rank"),
            Metric(
                "bandwidth",
                "B/s",
                "more",
                "all ranks' bytes, as STREAM counts them",
                quantity="bytes",
            ),
        ),
        work=_stream_work,
        source="McCalpin, STREAM (1995); Edmundsson et al. (2004), 5.1",
        threaded=True,
        headline="bandwidth",
        notes="Tuned STREAM, not a standard result, in the terms of STREAM's rules: non-temporal "
        "stores where they are faster, huge pages, and the median of the passes. An unchanged "
        "stream.c has the compiler's stores and the system's pages, and prints the best of its ten "
        "passes. STREAM counts no write-allocate traffic; non-temporal stores avoid it. Arrays "
        "have at least STREAM's four times the caches: scan-resistant caches keep a part of an "
        "array from pass to pass, which raises the rate by up to caches/array.",
        work_units={"bytes": "B", "flops": "flop"},
        formulas={
            "bytes": "16 elements ranks for copy and scale, 24 elements ranks for sum and triad",
            "flops": "0 for copy, elements ranks for scale and sum, 2 elements ranks for triad",
        },
        memory=_stream_memory,
    ),
    Kernel(
        name="memory.strided",
        title="Strided access: every stride-th element of long arrays, from cold caches",
        parameters=(
            Parameter("op", "read", "operation per element", choices=tuple(STRIDED_WORDS)),
            Parameter(
                "stride", 1, "elements of 8 bytes from one access to the next", low=1, high=1 << 20
            ),
            Parameter(
                "elements",
                0,
                "elements accessed per array, rank and pass; 0: the cache lines that they lie in "
                "are 4 times the node's last-level caches (2 or 1 times where the gaps leave no "
                "room), over all ranks of the node, and at most 1 GiB per rank",
                low=0,
            ),
            _MEMORY_NODE,
        ),
        metrics=(
            Metric(
                "access", "s", "less", "one pass over the elements / their number, slowest rank"
            ),
            Metric(
                "bandwidth",
                "B/s",
                "more",
                "all ranks' bytes of elements accessed; the rest of each cache line is not counted",
                quantity="bytes",
            ),
        ),
        work=_strided_work,
        source="Luecke, Li & Cuma (2005), 4.2 and appendix 2",
        headline="access",
        notes="The caches are flushed before each pass, by reads (written lines would be written "
        "back during the timed pass); then a barrier; the slowest rank counts. A pass "
        "takes elements × access. Ordinary stores. The arrays lie on huge pages.",
        work_units={"bytes": "B"},
        formulas={
            "bytes": "per access: 8 ranks for read and write, 16 ranks for copy and scale, 24 "
            "ranks for sum and triad"
        },
        memory=_strided_memory,
    ),
    Kernel(
        name="memory.random",
        title="Random access: reads, writes and updates in a table far larger than the caches",
        parameters=(
            Parameter(
                "mode",
                "update",
                "read or write through an index array, or RandomAccess's updates (GUPS)",
                choices=MODES,
            ),
            Parameter(
                "elements",
                0,
                "elements of 8 bytes of each rank's table, for updates a power of two; 0: the "
                "tables of a node together hold 16 times its last-level caches (8 or 4 times where "
                "memory is small), and at most 2 GiB per rank",
                low=0,
                high=1 << 32,
            ),
            _PAGES,
            _MEMORY_NODE,
        ),
        metrics=(
            Metric("access", "s", "less", "one pass / its accesses, slowest rank"),
            Metric("rate", "op/s", "more", "all ranks' accesses over time", quantity="accesses"),
        ),
        work=_random_work,
        source="Luecke, Li & Cuma (2005), 4.2, test 2; HPC Challenge, RandomAccess (2005)",
        headline="rate",
        notes="Each rank has a table of its own (HPC Challenge's StarRandomAccess). The table is "
        "not HPC Challenge's, which takes the largest power of two within half of the memory; a "
        "smaller one is faster, as it needs fewer pages. A pass makes "
        "elements / 8 accesses, one for each cache line on average. Updates follow a(k+1) = a(k) "
        "<< 1, xor 7 if the bit shifted out is set; the highest bits of a name the element that is "
        "xor-ed with a. Verified: applied twice, the updates restore the whole table, without any "
        "error (HPC Challenge allows 1%).",
        work_units={"accesses": "op"},
        formulas={"accesses": "per access of a rank: ranks"},
        memory=_random_memory,
        check=_random_check,
    ),
    Kernel(
        name="memory.latency",
        title="Latency of dependent loads over a working set",
        parameters=(
            Parameter(
                "bytes",
                0,
                "working set of each rank; 0: 4 times the node's last-level caches, at most 1 GiB",
                unit="B",
                low=0,
            ),
            _PAGES,
            _MEMORY_NODE,
        ),
        metrics=(Metric("latency", "s", "less", "one load, slowest rank"),),
        work=_no_work,
        source="Pointer chasing over a random cyclic permutation (Sattolo 1986)",
        headline="latency",
        notes="One pointer per cache line; each load yields the address of the next. With small "
        "pages the time includes the cost of address translation.",
        memory=lambda parameters, ranks, threads: float(parameters["bytes"]),
    ),
)
