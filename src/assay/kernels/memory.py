"""Kernels of the memory family."""

from __future__ import annotations

from collections.abc import Mapping

from assay.kernels.catalogue import Kernel, Metric, Parameter, Work
from assay.plans.model import Value

# Words moved and flops per element: McCalpin's STREAM; Edmundsson et al. (2004), table II.
STREAM_WORK = {"copy": (2, 0), "scale": (2, 1), "sum": (3, 1), "triad": (3, 2)}


def _stream_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    words, flops = STREAM_WORK[str(parameters["op"])]
    elements = int(parameters["elements"]) * ranks
    return {"bytes": 8.0 * words * elements, "flops": float(flops * elements)}


def _stream_memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    return 3 * 8.0 * int(parameters["elements"])


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
        notes="STREAM counts no write-allocate traffic; non-temporal stores avoid it. Its rule, "
        "arrays of four times the caches, is the least taken: caches that resist scans keep a part "
        "of an array from pass to pass, and the rate comes out up to caches/array too high.",
        work_units={"bytes": "B", "flops": "flop"},
        formulas={
            "bytes": "16 elements ranks for copy and scale, 24 elements ranks for sum and triad",
            "flops": "0 for copy, elements ranks for scale and sum, 2 elements ranks for triad",
        },
        memory=_stream_memory,
    ),
)
