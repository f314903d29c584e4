"""Kernels of the compute family."""

from __future__ import annotations

from collections.abc import Mapping

from assay.kernels.catalogue import Kernel, Metric, Parameter, Work
from assay.model.placement import Value


def _dgemm_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    n = int(parameters["n"])
    return {"flops": 2.0 * n**3 * ranks}


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
        notes="C = A B by the toolchain's BLAS, which decides how it uses the threads.",
        work_units={"flops": "flop"},
        formulas={"flops": "2 n^3 ranks"},
        memory=_dgemm_memory,
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
        "multiply-add, so only its throughput counts, which no program can exceed at the clock "
        "that the cores hold while they compute. Verified: each lane has counted every step.",
        work_units={"flops": "flop"},
        formulas={"flops": "2 (width / 64) 60,000 threads ranks"},
    ),
)
