"""The monitor beside the timed part: it reads at its rate, and leaves results as they are."""

from __future__ import annotations

import pytest

from assay.kernels import find_kernel
from kernel_runs import assert_verified, measure, plain

FT = "npb.ft"


@pytest.mark.slow
def test_it_reads_at_its_rate_while_the_kernel_is_timed() -> None:
    alone, rarely, often = measure(
        plain(),
        (FT, {"class": "S"}),
        (FT, {"class": "S", "monitor": 20}),
        (FT, {"class": "S", "monitor": 2000}),
        ranks=2,
    )
    for record in (alone, rarely, often):
        assert_verified(record)
    assert "monitor_readings" not in alone.facts and "monitor" not in alone.parameters
    assert often.parameters["monitor"] == 2000
    span = often.covariates["sampling_seconds"]
    readings = often.facts["monitor_readings"]
    # At most its rate, and one reading more at the end; a busy machine makes fewer.
    assert 1 <= readings <= 2000 * span + 2
    assert rarely.facts.get("monitor_readings", 0) <= readings


@pytest.mark.slow
def test_a_rate_that_cannot_be_is_reported() -> None:
    wrong, unknown = measure(
        plain(), (FT, {"class": "S", "monitor": 10_001}), (FT, {"class": "S", "watch": 1}), ranks=1
    )
    assert wrong.status == "failed" and "between 0 and 10000, not 10001" in wrong.error
    assert unknown.status == "failed" and "there is no parameter 'watch'" in unknown.error


def test_all_benchmarks_have_it_and_cells_omit_it() -> None:
    for code in ("ep", "is", "cg", "mg", "ft", "lu", "bt", "sp"):
        parameter = find_kernel(f"npb.{code}").parameter("monitor")
        assert parameter is not None and parameter.omitted and parameter.default == 0
        assert parameter.high == 10_000  # native/harness/measurement.cpp
