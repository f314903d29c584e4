"""Kernels of the memory family."""

from __future__ import annotations

from collections.abc import Mapping

from assay.kernels.catalogue import Kernel, Metric, Parameter, Work
from assay.model.placement import Placement, Value

# Words moved and flops per element: McCalpin's STREAM; Edmundsson et al. (2004), table II.
STREAM_WORK = {"copy": (2, 0), "scale": (2, 1), "sum": (3, 1), "triad": (3, 2)}
STREAM_READS = {op: words - 1 for op, (words, _) in STREAM_WORK.items()}
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
_STORES = Parameter(
    "stores",
    "auto",
    "non-temporal stores, ordinary stores, or whichever is faster on this machine",
    choices=("auto", "ordinary", "nontemporal"),
)
_PAGES = Parameter(
    "pages",
    "huge",
    "requested pages: huge pages, which the system may decline, or never huge pages",
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
        return "Random access needs more than one element: elements must be 0 or at least 2."
    if parameters["mode"] == "update" and elements & (elements - 1):
        return f"Updates need a table whose elements are a power of two, not {elements}."
    return None


def _loaded_memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    arrays = 0 if parameters["load"] == 0 else 1 + STREAM_READS[str(parameters["op"])]
    return float(parameters["bytes"]) + 8.0 * arrays * int(parameters["elements"])


def _loaded_check(parameters: Mapping[str, Value], placement: Placement) -> str | None:
    if placement.ppn > 1:
        return "Loaded latency needs one rank per node, whose threads stream: use threads."
    if parameters["load"] != 0 and placement.threads < 2:
        return "A load on memory needs at least 2 threads: one loads, the others stream."
    return None


def _core_check(parameters: Mapping[str, Value], placement: Placement) -> str | None:
    if placement.threads < 2:
        return "Transfers between cores need at least 2 threads: use `threads = all`."
    if placement.binding == "none":
        return "Transfers between cores need pinned threads: use another binding than `none`."
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
                "elements of 8 bytes per array and rank, at most a quarter of the available memory "
                "in total; 0: in each array the ranks of a node together hold 16 times its "
                "last-level caches, or 8 or 4 times if memory or threads are few",
                low=0,
            ),
            _STORES,
            _MEMORY_NODE,
        ),
        metrics=(
            Metric("time", "s", "less", "one pass over the arrays, slowest rank"),
            Metric(
                "bandwidth",
                "B/s",
                "more",
                "bytes of all ranks, as STREAM counts them",
                quantity="bytes",
            ),
        ),
        work=_stream_work,
        source="McCalpin, STREAM (1995); Edmundsson et al. (2004), 5.1",
        threaded=True,
        headline="bandwidth",
        notes="Under STREAM's rules this is tuned STREAM, not a standard result: it uses "
        "non-temporal stores where they are faster, huge pages, and the median of the "
        "passes. An unchanged stream.c uses the compiler's stores and the system's pages, "
        "and prints the best of ten passes. STREAM counts no write-allocate traffic; "
        "non-temporal stores avoid it. Arrays have at least four times the size of the "
        "caches, as STREAM requires. Scan-resistant caches keep part of an array from pass "
        "to pass, which raises the rate by up to caches/array.",
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
            Parameter("op", "read", "operation on each element", choices=tuple(STRIDED_WORDS)),
            Parameter(
                "stride", 1, "elements of 8 bytes from one access to the next", low=1, high=1 << 20
            ),
            Parameter(
                "elements",
                0,
                "elements accessed per array, rank and pass; 0: the accessed cache lines of all "
                "ranks of a node are 4 times its last-level caches (2 or 1 times if the gaps leave "
                "no room), and at most 1 GiB per rank",
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
                "bytes of the accessed elements of all ranks; the rest of each cache line is not "
                "counted",
                quantity="bytes",
            ),
        ),
        work=_strided_work,
        source="Luecke, Li & Cuma (2005), 4.2 and appendix 2",
        headline="access",
        notes="Before each pass the caches are flushed by reads, since written lines would be "
        "written back during the timed pass. A barrier follows, and the slowest rank counts. "
        "A pass takes elements × access. Stores are ordinary, and the arrays are on huge "
        "pages.",
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
                "read or write through an index array, or the updates of RandomAccess (GUPS)",
                choices=MODES,
            ),
            Parameter(
                "elements",
                0,
                "elements of 8 bytes in each rank's table, a power of two for updates; 0: the "
                "tables of a node together hold 16 times its last-level caches (8 or 4 times if "
                "memory is small), and at most 2 GiB per rank",
                low=0,
                high=1 << 32,
            ),
            _PAGES,
            _MEMORY_NODE,
        ),
        metrics=(
            Metric("access", "s", "less", "one pass / number of its accesses, slowest rank"),
            Metric("rate", "op/s", "more", "accesses of all ranks / time", quantity="accesses"),
        ),
        work=_random_work,
        source="Luecke, Li & Cuma (2005), 4.2, test 2; HPC Challenge, RandomAccess (2005)",
        headline="rate",
        notes="Each rank has its own table, as in HPC Challenge's StarRandomAccess. The size "
        "differs: HPC Challenge takes the largest power of two within half of the memory. A "
        "smaller table is faster, because it needs fewer pages. A pass makes elements / 8 "
        "accesses, on average one for each cache line. Updates follow a(k+1) = a(k) "
        "<< 1, xor 7 if the bit shifted out is set; the highest bits of a select the element that "
        "is xor-ed with a. Verified: applied twice, the updates restore the whole table without an "
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
        notes="There is one pointer per cache line; each load yields the address of the next. With "
        "small pages the time includes the cost of address translation.",
        memory=lambda parameters, ranks, threads: float(parameters["bytes"]),
    ),
    Kernel(
        name="memory.loaded_latency",
        title="Latency of dependent loads on one core while the others stream",
        parameters=(
            Parameter(
                "load",
                100,
                "rate of the streaming threads in percent of their full rate; 0: they don't "
                "stream, 100: no limit",
                unit="%",
                low=0,
                high=100,
            ),
            Parameter("op", "triad", "operation of the streams", choices=tuple(STREAM_WORK)),
            _STORES,
            Parameter(
                "elements",
                0,
                "elements of 8 bytes in each array of the streams; 0: as in memory.stream",
                low=0,
            ),
            Parameter(
                "bytes",
                0,
                "working set of the loads; 0: 4 times the last-level cache that the loading core "
                "can fill, at most 1 GiB",
                unit="B",
                low=0,
            ),
            _MEMORY_NODE,
        ),
        metrics=(
            Metric("latency", "s", "less", "one load"),
            Metric(
                "traffic",
                "B/s",
                "more",
                "bytes of the streams in the same time, as STREAM counts them",
                series="traffic",
                optional=True,
            ),
        ),
        work=_no_work,
        source="Esmaili-Dokht et al., Mess (2024); McCalpin, STREAM (1995); Sattolo (1986)",
        threaded=True,
        headline="latency",
        notes="Thread 0 follows a chain of pointers as in memory.latency. Each other thread "
        "streams through its part of the arrays as in memory.stream. Below a load of 100, it "
        "streams 512 elements at a time, at equal intervals that give the share of the full rate, "
        "which is measured beside the loads first. The traffic is measured in each sample. It "
        "excludes the loads of thread 0: one cache line per latency. The cores of one rank take "
        "part: use `ppn = 1` and as many threads as cores. Verified: the chain, and every "
        "element of the destination, whose values show how many passes each thread made.",
        memory=_loaded_memory,
        check=_loaded_check,
    ),
    Kernel(
        name="memory.core_to_core",
        title="Transfers of a cache line between every two CPUs: a matrix of latencies",
        parameters=(
            Parameter(
                "trips",
                200,
                "round trips of a block; a pair has 5 blocks, whose median counts",
                low=1,
                high=1_000_000,
            ),
            Parameter(
                "most",
                2080,
                "maximum number of pairs to measure; if there are more (65 CPUs and more), or a "
                "pass over them takes more than 1 s, each launch measures a random subset with "
                "equally many pairs for each CPU",
                low=1,
                high=8192,
            ),
        ),
        metrics=(
            Metric("time", "s", "less", "one pass over all pairs, including untimed trips"),
            Metric("latency", "s", "less", "one transfer, median pair", series="median_pair"),
            Metric("slowest", "s", "less", "one transfer, slowest pair", series="slowest_pair"),
        ),
        work=_no_work,
        source="Hackenberg, Molka & Nagel (2009), cache-to-cache transfers",
        max_ranks=1,
        threaded=True,
        headline="latency",
        notes="Two threads take turns in raising a counter by compare-and-swap, so that its cache "
        "line moves once per turn. A transfer is half a round trip. Pairs take turns, and all "
        "other threads sleep. The line lies in memory of the NUMA node of the pair's first CPU. "
        "Use one rank and all threads, with `smt = on` for hardware threads too. The series "
        "`pair` numbers the threads; the facts have each thread's CPU, and its core, last-level "
        "cache, package and NUMA node by the operating system. Verified: after each bounce the "
        "counter is exactly the number of turns.",
        check=_core_check,
    ),
)
