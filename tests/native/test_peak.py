"""compute.peak: its work formula, and chains that count."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from assay.kernels import find_kernel
from kernel_runs import assert_good, measure, measure_faults, plain, sanitized

PEAK = find_kernel("compute.peak")
FLAGS = set(Path("/proc/cpuinfo").read_text().split())
HERE = [64]
if platform.machine() == "x86_64" and "fma" in FLAGS:
    HERE += [128, 256] + ([512] if "avx512f" in FLAGS else [])
elif platform.machine() == "aarch64":
    HERE += [128]


def test_work_counts_two_flops_a_lane_and_instruction() -> None:
    one = PEAK.work({"width": 64}, 1, 1)["flops"]
    assert one == 2 * 60_000
    assert PEAK.work({"width": 512}, 3, 2)["flops"] == 8 * 3 * 2 * one
    source = (Path(__file__).parents[2] / "native" / "compute" / "fma.hpp").read_text()
    assert "kInstructions = 60'000;" in source


@pytest.mark.slow
@pytest.mark.parametrize(("ranks", "threads"), [(1, 1), (1, 2), (2, 1)])
def test_every_width_counts_every_step(ranks: int, threads: int) -> None:
    orders = [("compute.peak", {"width": width}) for width in (*HERE, 0)]
    found = measure(plain(), *orders, ranks=ranks, threads=threads)
    for width, record in zip((*HERE, HERE[-1]), found, strict=True):
        assert_good(record)
        assert record.parameters == {"width": width}
        assert record.facts["widest"] == HERE[-1]


@pytest.mark.slow
def test_an_unavailable_width_is_refused() -> None:
    (record,) = measure(plain(), ("compute.peak", {"width": 1024}))
    assert record.status == "failed"
    assert f"no wider than the {HERE[-1]} bits" in (record.error or "")


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["lane", "nan"])
@pytest.mark.sanitizable
def test_a_lane_that_missed_a_step_is_detected(fault: str) -> None:
    for record in measure_faults(*(("compute.peak", {"width": w, "fault": fault}) for w in HERE)):
        assert record.verification.what.startswith(("sums", "rank 0: sums"))
        assert record.verification.value == 1.0


@pytest.mark.sanitized
@pytest.mark.slow
@pytest.mark.sanitizable
def test_it_passes_the_sanitizers() -> None:
    (record,) = measure(sanitized(), ("compute.peak", {}), threads=2)
    assert_good(record)
