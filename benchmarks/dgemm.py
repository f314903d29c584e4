"""compute.dgemm compared with direct calls of the same BLAS library.

    .venv/bin/python benchmarks/dgemm.py

The peer is a bare loop, in a separate process, around ``scipy_cblas_dgemm`` of the same shared
library that the embedded toolchain links (package scipy-openblas32): the same operation (C = A B,
column-major, alpha 1, beta 0), matrices of the same kind on huge pages, the same number of BLAS
threads, and for one thread the same core.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import json
import mmap
import os
import statistics
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
from common import (
    Comparison,
    Measured,
    alternate,
    build,
    compare,
    cores,
    finish,
    load,
    measure,
    parser,
    run,
    say,
)

SIZES = (200, 500, 1000, 2000)
WITHIN = 0.02
COLUMN_MAJOR, NO_TRANSPOSE = 102, 111


def library() -> Path:
    """The BLAS of the embedded toolchain."""
    spec = importlib.util.find_spec("scipy_openblas32")
    assert spec and spec.submodule_search_locations
    return Path(next(iter(spec.submodule_search_locations))) / "lib" / "libscipy_openblas.so"


def matrix(n: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """N×N numbers in [-1, 1), page-aligned, on huge pages if the system provides them."""
    room = -(-n * n * 8 // (1 << 21)) + 1
    memory = mmap.mmap(-1, room << 21)
    memory.madvise(mmap.MADV_HUGEPAGE)
    whole = np.frombuffer(memory, dtype=np.float64)
    start = (-whole.ctypes.data % (1 << 21)) // 8
    entries = whole[start : start + n * n]
    entries[:] = rng.uniform(-1.0, 1.0, n * n)
    return entries


def time_calls(n: int, threads: int, cpu: int | None, seconds: float) -> list[float]:
    """Seconds of each direct call, in succession for about that time, without the first few."""
    if cpu is not None:
        os.sched_setaffinity(0, {cpu})
    blas = ctypes.CDLL(str(library()))
    blas.scipy_openblas_set_num_threads(threads)
    rng = np.random.default_rng(2005)
    a, b, c = (matrix(n, rng) for _ in range(3))
    size = ctypes.c_int(n)
    where = [ctypes.c_void_p(each.ctypes.data) for each in (a, b, c)]
    one, zero = ctypes.c_double(1.0), ctypes.c_double(0.0)
    call = partial(
        blas.scipy_cblas_dgemm,
        *(COLUMN_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, size, size, size),
        *(one, where[0], size, where[1], size, zero, where[2], size),
    )
    for _ in range(3):
        call()
    times: list[float] = []
    until = time.perf_counter() + seconds
    while time.perf_counter() < until or len(times) < 5:
        before = time.perf_counter_ns()
        call()
        times.append((time.perf_counter_ns() - before) * 1e-9)
    expected = a.reshape(n, n, order="F")[0] @ b.reshape(n, n, order="F")[:, 0]
    assert abs(c[0] - expected) < 1e-10 * n, "the product is wrong"
    return times


def direct(n: int, threads: int, cpu: int | None, seconds: float) -> float:
    """Flop/s by the median of direct calls in a fresh process."""
    words = ["--child", str(n), str(threads), str(-1 if cpu is None else cpu), str(seconds)]
    text, _ = run([sys.executable, __file__, *words], {"OPENBLAS_NUM_THREADS": str(threads)})
    times: list[float] = json.loads(text)
    return 2.0 * n**3 / statistics.median(times)


def compare_dgemm(*, quick: bool) -> Comparison:
    """Rows for one thread and all, for each N."""
    comparison = Comparison()
    for threads in sorted({1, cores()}):
        for n in (200, 1000) if quick else SIZES:
            say(f"dgemm N={n}, {threads} thread(s)")
            launches: list[Measured] = []

            def assay(n: int = n, threads: int = threads, into: list[Measured] = launches) -> float:
                words = ("--launches", "1", "--budget", "1 s", "--threads", str(threads))
                into.append(measure("compute.dgemm", f"n={n}", *words))
                return 2.0 * n**3 / into[-1].medians()[0]

            assay()
            cpu = launches[0].cpus()[0][0] if threads == 1 else None
            now = load()
            ours, theirs = alternate(
                2 if quick else 7, assay, partial(direct, n, threads, cpu, 0.5)
            )
            comparison.rows.append(
                compare(
                    "compute.dgemm",
                    f"DGEMM N={n}, {threads} thread{'s' if threads > 1 else ''}",
                    "flop/s",
                    "more",
                    ours,
                    theirs,
                    "direct calls",
                    at_least=1.0 - WITHIN,
                    goal="≥ 0.98",
                    load=now,
                )
            )
    return comparison


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--child", nargs=4, metavar="WORD", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.child:
        n, threads, cpu = map(int, given.child[:3])
        print(json.dumps(time_calls(n, threads, None if cpu < 0 else cpu, float(given.child[3]))))
        return
    build()
    finish(compare_dgemm(quick=given.quick))


if __name__ == "__main__":
    main()
