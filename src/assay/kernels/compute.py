"""Kernels of the compute family."""

from __future__ import annotations

from collections.abc import Mapping

from assay.kernels.catalogue import Kernel, Metric, Parameter, Work
from assay.model.placement import Value


def _dgemm_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    n = int(parameters["n"])
    return {"flops": 2.0 * n**3 * ranks}


def _shape_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    m, n, k = (int(parameters[name]) for name in "mnk")
    return {"flops": 2.0 * m * n * k * ranks}


def _shape_memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    m, n, k = (int(parameters[name]) for name in "mnk")
    return 8.0 * (m * k + k * n + m * n)


# Letters of a word and of a sequence: native/compute/search.cpp.
_MOST_LETTERS = 1 << 28


def _search_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    return {"letters": float(int(parameters["letters"]) * ranks)}


# Multiply-add instructions of one operation and thread: native/compute/fma.hpp.
_PEAK_INSTRUCTIONS = 60_000


def _peak_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    lanes = int(parameters["width"]) // 64
    return {"flops": 2.0 * lanes * _PEAK_INSTRUCTIONS * threads * ranks}


def _dgemm_memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    return 3 * 8.0 * int(parameters["n"]) ** 2


KERNELS = (
    Kernel(
        name="compute.dgemm",
        title="DGEMM: double-precision matrix product, the practical peak",
        parameters=(Parameter("n", 2000, "order of the square matrices", low=1, high=100_000),),
        metrics=(
            Metric("time", "s", "less", "one product on all ranks concurrently, slowest rank"),
            Metric("rate", "flop/s", "more", "2 N^3 flops of every rank", quantity="flops"),
        ),
        work=_dgemm_work,
        source="Edmundsson et al. (2004), 5.3",
        threaded=True,
        headline="rate",
        notes="C = A B, computed by the toolchain's BLAS, which decides how it uses the threads.",
        work_units={"flops": "flop"},
        formulas={"flops": "2 n^3 ranks"},
        memory=_dgemm_memory,
    ),
    Kernel(
        name="compute.dgemm_shape",
        title="DGEMM of panels and transposed matrices: C = op(A) op(B)",
        parameters=(
            Parameter("m", 2000, "rows of C and op(A)", low=1, high=100_000),
            Parameter("n", 2000, "columns of C and op(B)", low=1, high=100_000),
            Parameter("k", 64, "columns of op(A) and rows of op(B)", low=1, high=100_000),
            Parameter(
                "transpose",
                "none",
                "which matrices are used transposed",
                choices=("none", "a", "b", "both"),
            ),
        ),
        metrics=(
            Metric("time", "s", "less", "one product on all ranks concurrently, slowest rank"),
            Metric("rate", "flop/s", "more", "2 m n k flops of every rank", quantity="flops"),
        ),
        work=_shape_work,
        source="Edmundsson et al. (2004), 5 and 5.3: thin panels as in Linpack (k is its block "
        "size), and products with stride 1 in both matrices (transpose=a)",
        threaded=True,
        headline="rate",
        notes="Computed by the toolchain's BLAS, which decides how it uses the threads. Matrices "
        "are stored column by column.",
        work_units={"flops": "flop"},
        formulas={"flops": "2 m n k ranks"},
        memory=_shape_memory,
    ),
    Kernel(
        name="compute.search",
        title="Sequence search: words of DNA looked up and extended, integers only",
        parameters=(
            Parameter(
                "letters",
                1 << 20,
                "letters in each rank's sequence",
                low=1 << 12,
                high=_MOST_LETTERS,
            ),
            Parameter("queries", 16, "number of sequences to search for", low=1, high=256),
            Parameter("query_letters", 512, "letters in each query", low=32, high=4096),
        ),
        metrics=(
            Metric("time", "s", "less", "one search of the whole sequence, slowest rank"),
            Metric("rate", "op/s", "more", "letters of all ranks' sequences", quantity="letters"),
        ),
        work=_search_work,
        source="Barczak, Messom & Johnson (2003), 1 and 2.2: integer throughput for searches such "
        "as BLAST's; Altschul et al. (1990): words, and extension without gaps",
        headline="rate",
        notes="Random sequences with a mutated copy of each query. Every word of 8 letters is "
        "looked up in an index of the queries, and each hit is extended both ways (a match scores "
        "2, a mismatch -3) until the score falls by more than 20. Verified: the number of hits "
        "equals the number that follows from the two histograms of words, and the best match of "
        "each query is its copy, with the score that a plain extension finds.",
        work_units={"letters": "op"},
        formulas={"letters": "letters ranks"},
        memory=lambda parameters, ranks, threads: 1.0 * int(parameters["letters"]) + (1 << 20),
    ),
    Kernel(
        name="compute.peak",
        title="Measured peak: fused multiply-adds in registers",
        parameters=(
            Parameter(
                "width",
                0,
                "bits of a vector register; 0: the widest that the kernels were built for",
                unit="bit",
                choices=(0, 64, 128, 256, 512),
            ),
        ),
        metrics=(
            Metric("time", "s", "less", "60,000 instructions of every thread, slowest rank"),
            Metric("rate", "flop/s", "more", "all ranks' flops", quantity="flops"),
        ),
        work=_peak_work,
        source="Seth's peak (Edmundsson et al. 2004, 5.3), measured instead of computed",
        threaded=True,
        headline="rate",
        notes="Double precision. Twelve or twenty independent chains hide the latency of the "
        "multiply-add, so that only its throughput counts. No program can exceed this "
        "throughput at the clock frequency that the cores sustain. Verified: each lane has "
        "counted every step.",
        work_units={"flops": "flop"},
        formulas={"flops": "2 (width / 64) 60,000 threads ranks"},
    ),
)
