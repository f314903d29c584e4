"""The global clock of all ranks, and appointed starts: planted offsets, drifts and delays."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from assay.records.schema import MeasurementRecord, RankRecord
from native_launching import TOOLS, Launch, job, read_stream

pytestmark = [pytest.mark.slow, pytest.mark.sanitizable]

FEW = {"max_samples": 5, "budget": 5.0}


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_planted_offsets_and_drifts_are_recovered(launch: Launch, ranks: int) -> None:
    """Verified by the kernel: errors within the bound given by the round trips.

    One clock per rank; clocks shared by several ranks; then a second synchronisation that continues
    from the first. Offsets are up to hours and alternate in sign.
    """
    done = launch(
        job(
            ("test.clocks", {"offset": 1000.0, "drift": 1e-4}, FEW),
            ("test.clocks", {"offset": -3600.0, "drift": -5e-5, "domains": 2}, FEW),
            ("test.clocks", {"offset": 0.25, "drift": 0.0, "rounds": 3}, FEW),
        ),
        ranks,
    )
    for measurement, domains in zip(done.measurements, (ranks, min(ranks, 2), ranks), strict=True):
        assert measurement.verified is True, measurement.verification
        facts = measurement.facts
        assert facts["domains"] == domains
        assert facts["error"] <= facts["bound"]
        if domains == 1:
            assert facts["error"] == facts["checked"] == facts["round_trip"] == 0.0
        else:
            assert facts["round_trip"] > 0.0
    assert done.status == 0


def test_a_real_machine_is_one_clock(launch: Launch) -> None:
    (m,) = launch(job(("test.appointed", {})), 3).measurements
    assert (m.facts["clock_domains"], m.facts["clock_error"]) == (1, 0.0)
    assert "clock_round_trip" not in m.facts


AHEAD = 3600  # seconds
ELSEWHERE = ["unshare", "--time", "--monotonic", str(AHEAD), "--fork", "--kill-child"]


def test_two_clocks_of_the_real_system(kernels: Path, tmp_path: Path) -> None:
    """A rank in a time namespace whose monotonic clock is an hour ahead: the whole procedure."""
    try:
        subprocess.run([*ELSEWHERE, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("a time namespace of its own takes root, unshare and Linux 5.6")
    job_path, stream = tmp_path / "job.json", tmp_path / "stream.jsonl"
    collective = {"op": "allreduce", "timing": "appointed"}
    job_path.write_bytes(job(("test.appointed", {}), ("network.collective", collective)))
    program = [str(kernels), "--job", str(job_path), "--out", str(stream)]
    done = subprocess.run(
        [str(TOOLS / "mpirun"), "-n", "1", *program, ":", "-n", "1", *ELSEWHERE, *program],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    found = [r for r in read_stream(stream) if isinstance(r, MeasurementRecord)]
    assert len(found) == 2
    for record in found:
        assert record.verified is True
        assert record.facts["clock_domains"] == 2
        assert 0.0 < record.facts["clock_round_trip"] < AHEAD / 100
        assert record.facts["clock_error"] < AHEAD / 100
        assert all(abs(value) < AHEAD / 100 for value in record.series[0].values)
    unsure = found[0].facts["clock_error"] + found[0].facts["clock_round_trip"]
    assert min(found[0].series[0].values) >= 1e-3 - unsure


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_planted_offsets_of_hosts_are_recovered(launch: Launch, ranks: int) -> None:
    """Verified by the kernel: on every rank, and within the reported error."""
    done = launch(
        job(
            ("test.host_clocks", {"utc": 0.5}, FEW),
            ("test.host_clocks", {"utc": -7200.0, "hosts": 2}, FEW),
            ("test.host_clocks", {"hosts": 1}, FEW),
        ),
        ranks,
    )
    assert done.status == 0
    compared = [m.facts["compared"] for m in done.measurements]
    assert compared == ([0, 0, 0] if ranks == 1 else [1, 1, 0])
    for measurement in done.measurements:
        assert measurement.verified is True, measurement.verification
        # Half a round trip and its rounding on each step, not the offset itself.
        assert measurement.facts["bound"] < 0.25


def test_one_host_reports_no_offset_and_two_report_theirs(kernels: Path, tmp_path: Path) -> None:
    """The second host has another name and started an hour earlier; its time of day is the same."""
    hostname = "echo elsewhere >/proc/sys/kernel/hostname && exec "
    job_path, stream = tmp_path / "job.json", tmp_path / "stream.jsonl"
    job_path.write_bytes(job(("network.barrier", {}, FEW)))
    program = [str(kernels), "--job", str(job_path), "--out", str(stream)]
    there = [*ELSEWHERE, "--uts", "sh", "-c", hostname + " ".join(program)]
    try:
        subprocess.run([*ELSEWHERE, "--uts", "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("namespaces for time and names take root, unshare and Linux 5.6")
    done = subprocess.run(
        [str(TOOLS / "mpirun"), "-n", "2", *program, ":", "-n", "1", *there],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, second, other = (r for r in read_stream(stream) if isinstance(r, RankRecord))
    assert (first.host, other.host) == (os.uname().nodename, "elsewhere")
    assert second.host == first.host and second.clocks is None
    assert first.clocks is not None and other.clocks is not None
    assert first.clocks.utc.offset == first.clocks.monotonic.offset == 0.0
    utc, monotonic = other.clocks.utc, other.clocks.monotonic
    assert 0.0 < utc.error < 1.0 and 0.0 < monotonic.error < 1.0
    assert abs(utc.offset) <= utc.error
    assert abs(monotonic.offset - AHEAD) <= monotonic.error


def test_a_sample_is_from_the_appointed_start_to_the_last_finish(launch: Launch) -> None:
    (m,) = launch(job(("test.appointed", {"seconds": 1e-3})), 2).measurements
    (series,) = m.series
    assert m.verified is True and m.batch == 1
    assert min(series.values) >= 1e-3
    # Operations are sequential: none is appointed before the previous one is done.
    for i in range(1, len(series.starts)):
        assert series.starts[i] >= series.starts[i - 1] + series.values[i - 1] - 1e-9
    assert all(median is not None and median >= 1e-3 for median in m.rank_medians)
    # All operations that were not kept were late starts.
    assert m.verification is not None
    dropped = m.facts["late_starts"] - m.facts["late_kept"]
    assert m.verification.value == len(series.values) + dropped


def test_late_starts_are_dropped_and_repeated(launch: Launch) -> None:
    """Three times a rank is 2 ms later than rank 0 expects."""
    limits = {"max_samples": 10, "precision": 1e-9, "budget": 5.0}
    late = {"seconds": 1e-4, "late": 2e-3, "times": 3}
    (m,) = launch(job(("test.appointed", late, limits)), 2).measurements
    assert m.verification is not None
    # The first is late; then the appointments have a longer lead time.
    assert m.facts["late_starts"] >= 1
    dropped = m.facts["late_starts"] - m.facts["late_kept"]
    assert dropped >= 1
    assert m.verification.value == len(m.series[0].values) + dropped


def test_ranks_that_are_always_late_do_not_hang_it(launch: Launch) -> None:
    """Later than the maximum lead time: after some attempts late starts count."""
    limits = {"max_samples": 6, "precision": 1e-9, "budget": 60.0}
    late = {"seconds": 1e-4, "late": 0.1, "times": 1_000_000}
    (m,) = launch(job(("test.appointed", late, limits)), 2).measurements
    assert m.verified is True and m.stop == "samples"
    assert m.facts["late_kept"] >= 1
    assert m.facts["late_starts"] >= m.facts["late_kept"]
    # A late start's time counts from the appointed time: it includes the wait.
    assert max(m.series[0].values) > 5e-3


def test_a_spent_budget_ends_the_wait_for_a_good_start(launch: Launch) -> None:
    late = {"late": 0.1, "times": 1_000_000}
    (m,) = launch(job(("test.appointed", late, {"budget": 0.05})), 2).measurements
    assert m.stop == "budget"
    assert m.facts["late_kept"] >= 1


def test_more_ranks_than_cores_complete(launch: Launch) -> None:
    limits = {"max_samples": 10, "budget": 1.0}
    done = launch(job(("test.appointed", {"seconds": 1e-5}, limits)), 5)
    assert done.status == 0
    assert done.measurements[0].facts["late_starts"] >= 0


def test_the_barriers_skew_is_reported_with_common_clocks(launch: Launch) -> None:
    start = {"start": "barrier"}
    plain, barrier = launch(job(("test.slow_rank", {}), ("test.appointed", start)), 2).measurements
    assert "barrier_skew" not in plain.facts and "clock_error" not in plain.facts
    assert 0.0 < barrier.facts["barrier_skew"] < 1.0
    assert "late_starts" not in barrier.facts


@pytest.mark.parametrize("ranks", [1, 3])
def test_clocks_of_any_number_of_ranks(launch: Launch, ranks: int) -> None:
    done = launch(
        job(
            ("test.clocks", {}, FEW),
            ("test.host_clocks", {}, FEW),
            ("test.appointed", {"late": 2e-3, "times": 2}),
            ("test.appointed", {"start": "barrier"}),
        ),
        ranks,
    )
    assert done.status == 0
