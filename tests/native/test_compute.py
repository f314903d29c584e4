"""compute.dgemm: its work formula, and real products with the environment's own BLAS."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from assay.kernels import find_kernel
from kernel_runs import (
    Counted,
    CountedArray,
    Counter,
    assert_good,
    measure,
    measure_faults,
    plain,
    sanitized,
)
from native_build import NATIVE, TOOLS

DGEMM = find_kernel("compute.dgemm")


def test_work_is_what_the_naive_product_does() -> None:
    n = 6
    counter = Counter()
    a, b, c = (CountedArray(counter, n * n) for _ in range(3))
    for i in range(n):
        for j in range(n):
            total = Counted(counter, 0.0)
            for k in range(n):
                total = total + a[i * n + k] * b[k * n + j]
            c[i * n + j] = total
    assert DGEMM.work({"n": n}, 1, 1) == {"flops": counter.flops}
    assert DGEMM.work({"n": n}, 3, 2) == {"flops": 3 * counter.flops}


@pytest.mark.slow
@pytest.mark.parametrize(("ranks", "threads"), [(1, 1), (1, 2), (2, 1)])
def test_products_verify(ranks: int, threads: int) -> None:
    orders = (1, 2, 17, 64, 301)
    found = measure(
        plain(), *(("compute.dgemm", {"n": n}) for n in orders), ranks=ranks, threads=threads
    )
    for n, record in zip(orders, found, strict=True):
        assert_good(record)
        assert record.parameters == {"n": n}
        assert record.verification.tolerance == 1.0
        assert record.facts["blas_threads"] == threads
        assert record.facts["blas_threading"] == "OpenBLAS"
        assert "OpenBLAS" in record.facts["blas"]
        assert "OpenBLAS" in record.facts["blas_config"] and record.facts["blas_core"]


@pytest.mark.slow
def test_threads_follow_each_launch_and_defaults_are_the_catalogues() -> None:
    (record,) = measure(plain(), ("compute.dgemm", {}), threads=1)
    assert_good(record)
    assert record.parameters == {p.name: p.default for p in DGEMM.parameters}


@pytest.mark.slow
@pytest.mark.sanitizable
def test_damage_is_found() -> None:
    """In the damaged entry, whether it is one of those computed again (n = 2) or not."""
    cases = [(n, fault) for n in (2, 50, 200) for fault in ("none", "value", "nan")]
    found = measure_faults(*(("compute.dgemm", {"n": n, "fault": f}) for n, f in cases))
    for (_, fault), record in zip(cases, found, strict=True):
        assert (record.verification.value is None) == (fault == "nan")


@pytest.mark.slow
def test_wrong_orders_are_reported_with_numbers() -> None:
    bounds = DGEMM.parameter("n")
    low, high, huge = measure(
        plain(),
        ("compute.dgemm", {"n": int(bounds.low) - 1}),
        ("compute.dgemm", {"n": int(bounds.high) + 1}),
        ("compute.dgemm", {"n": int(bounds.high)}),
        ranks=2,
    )
    for record in (low, high):
        assert record.status == "failed"
        assert f"between {bounds.low} and {bounds.high}" in record.error
    if huge.status == "failed":  # not on a machine with half a terabyte
        assert (
            "three matrices of order 100000 take 228882 MiB of memory on each of 2 ranks"
            in huge.error
        )
        assert "n can be at most" in huge.error


@pytest.mark.sanitized
@pytest.mark.slow
@pytest.mark.sanitizable
def test_runs_clean_under_the_sanitizers() -> None:
    for record in measure(sanitized(), *(("compute.dgemm", {"n": n}) for n in (1, 9, 40))):
        assert_good(record)


@pytest.mark.long
@pytest.mark.slow
def test_a_build_without_a_blas_says_so(tmp_path: Path) -> None:
    source = tmp_path / "main.cpp"
    source.write_text("""
        #include <cstdio>
        #include "compute/blas.hpp"
        int main() {
          try {
            assay::blas::require();
          } catch (const assay::KernelError& error) {
            std::puts(error.what());
          }
        }
    """)
    program = tmp_path / "program"
    subprocess.run(
        [
            *(TOOLS / "mpicxx", "-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{NATIVE}"),
            *(source, NATIVE / "compute" / "blas.cpp", "-o", program),
        ],
        check=True,
    )
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    assert "built without a BLAS" in done.stdout
