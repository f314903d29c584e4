"""The stream of a successful launch: every record, its content, and its correctness."""

from __future__ import annotations

import itertools
import json
import math
import os
import socket
import statistics
import subprocess
from pathlib import Path

import pytest

from assay.records.schema import (
    MeasurementBegin,
    Progress,
    RankRecord,
    StreamEnd,
    StreamStart,
)
from assay.system.files import to_cpus
from native_launching import Launch, harness_environment, job, read_record
from spinning import spinning

pytestmark = [pytest.mark.slow, pytest.mark.sanitizable]


def test_unit_tests_pass(kernels: Path) -> None:
    done = subprocess.run(
        [kernels.with_name("assay-unit-tests")],
        capture_output=True,
        text=True,
        check=False,
        env=harness_environment(),
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert " 0 failures" in done.stdout


def test_lists_its_kernels_and_version_without_mpi(kernels: Path) -> None:
    run = {"capture_output": True, "text": True, "check": True}
    names = json.loads(subprocess.run([kernels, "--list"], **run).stdout)
    assert "network.barrier" in names
    assert names == sorted(names)
    assert subprocess.run([kernels, "--version"], **run).stdout.startswith("assay-kernels ")


@pytest.mark.parametrize("ranks", [1, 2])
def test_stream_is_complete_and_in_order(launch: Launch, ranks: int) -> None:
    done = launch(job(("test.sleep", {"seconds": 0.001}), ("test.slow_rank", {})), ranks)
    assert (done.status, done.complaints) == (0, [])
    kinds = [type(r).__name__ for r in done.records if not isinstance(r, Progress)]
    assert kinds == [
        *("StreamStart", *["RankRecord"] * ranks),
        *("MeasurementBegin", "MeasurementRecord") * 2,
        "StreamEnd",
    ]
    (start,) = done.all(StreamStart)
    assert (start.schema, start.job, start.ranks) == (1, "j", ranks)
    assert 0 < start.clock.overhead < 1e-3
    assert 0 < start.clock.resolution < 0.1
    assert start.mpi and start.compiler and start.blas
    assert [b.measurement for b in done.all(MeasurementBegin)] == ["m0", "m1"]
    assert done.all(StreamEnd) == [StreamEnd(2, "complete")]
    ends = [m.start + m.wall for m in done.measurements]
    assert 0 < done.measurements[0].start < ends[0] <= done.measurements[1].start


def test_a_kernels_own_series_are_stored_with_its_time(launch: Launch) -> None:
    (record,) = launch(job(("test.series", {})), ranks=2).measurements
    time, fastest, phase, *hops = record.series
    assert [s.metric for s in record.series] == ["time", "fastest", "phase", "hop", "hop"]
    assert len(time.starts) == len(time.values) == len(fastest.values) == len(phase.values)
    assert all(quick < slow for quick, slow in zip(fastest.values, time.values, strict=True))
    # before_sample() was called once per sample.
    assert phase.values == [0.25 * (i + 1) for i in range(len(time.values))]
    assert (phase.unit, phase.rank, phase.peer, phase.starts) == ("s", None, None, [])
    assert [(h.rank, h.peer, h.unit, h.values) for h in hops] == [
        (0, 1, "B/s", [1.0]),
        (1, 0, "B/s", [2.0]),
    ]


def test_ranks_report_where_they_run(launch: Launch) -> None:
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        pytest.skip("two ranks can be pinned apart only where there are two CPUs")
    done = launch(job(("test.sleep", {})), 2)
    ranks = done.all(RankRecord)
    assert [r.rank for r in ranks] == [r.local_rank for r in ranks] == [0, 1]
    assert {r.host for r in ranks} == {socket.gethostname()}
    assert len({r.pid for r in ranks}) == 2
    assert all(r.pinned and not r.oversubscribed for r in ranks)
    assert len({r.cpus[0] for r in ranks}) == 2
    assert {c for r in ranks for c in r.cpus} <= set(allowed)


def test_ranks_are_numbered_in_the_jobs_order_and_keep_their_seats(launch: Launch) -> None:
    seats = {}
    for order in ("block", "reversed", "1,0,2"):
        done = launch(job(("test.sleep", {}), order=order, binding="none"), 3)
        ranks = done.all(RankRecord)
        assert [r.rank for r in ranks] == [0, 1, 2]
        seats[order] = [r.local_rank for r in ranks]
        # The first rank writes the stream, on any host, and a kernel's ranks are these.
        assert [m.status for m in done.measurements] == ["ok"]
    assert seats == {"block": [0, 1, 2], "reversed": [2, 1, 0], "1,0,2": [1, 0, 2]}
    if len(os.sched_getaffinity(0)) >= 2:
        pinned = [launch(job(("test.sleep", {}), order=o), 2) for o in ("block", "reversed")]
        here, there = ({r.local_rank: r.cpus for r in done.all(RankRecord)} for done in pinned)
        assert here == there


def test_a_host_is_defined_by_its_name(launch: Launch, kernels: Path, tmp_path: Path) -> None:
    """The MPI reports that all five ranks share a node; two host names contradict it."""
    if subprocess.run(["unshare", "--uts", "true"], capture_output=True).returncode:
        pytest.skip("only root may give processes another host name")
    named = tmp_path / "named"
    named.write_text(
        "#!/bin/sh\n"
        "exec unshare --uts sh -c 'echo host$((PMI_RANK / 3)) >/proc/sys/kernel/hostname;"
        f' exec {kernels} "$@"\' sh "$@"\n'
    )
    named.chmod(0o700)
    for order, hosts in (("block", "00011"), ("cyclic", "01010"), ("4,0,1,2,3", "10001")):
        done = launch(job(("test.sleep", {}), order=order, binding="none"), 5, executable=named)
        ranks = done.all(RankRecord)
        assert [r.host for r in ranks] == [f"host{host}" for host in hosts]
        for host, size in (("host0", 3), ("host1", 2)):
            assert sorted(r.local_rank for r in ranks if r.host == host) == list(range(size))
        # Both hosts see the counters of this machine, which count once.
        (found,) = (m.covariates for m in done.measurements)
        cpus = sum(s.startswith("cpu") for s in Path("/proc/stat").read_text().splitlines()) - 1
        assert found["online_cpus"] == cpus
        assert found["other_cpu_seconds"] <= cpus * (found["sampling_seconds"] + 0.02)


def test_an_order_of_other_ranks_is_a_wrong_job(launch: Launch) -> None:
    for order in ("0,1,2", "0,0", "blok"):
        done = launch(job(("test.sleep", {}), order=order), 2)
        assert done.status == 2
        assert done.records == []
        (line,) = done.complaints
        assert f"'order' can't be '{order}'" in line


@pytest.mark.parametrize("how", [{"smt": "on"}, {"binding": "per-numa"}], ids=str)
def test_shared_cores_and_numa_nodes_pin_each_rank_to_a_cpu_of_its_own(
    launch: Launch, how: dict[str, str]
) -> None:
    here = sorted(os.sched_getaffinity(0))
    if len(here) < 2:
        pytest.skip("This takes two CPUs.")
    ranks = launch(job(("test.sleep", {}), **how), 2).all(RankRecord)
    assert [rank.pinned for rank in ranks] == [True, True]
    (first,), (second,) = (rank.cpus for rank in ranks)
    assert first != second and {first, second} <= set(here)


def test_binding_none_pins_nothing_and_too_many_ranks_are_reported(launch: Launch) -> None:
    cpus = len(os.sched_getaffinity(0))
    (free,) = launch(job(("test.sleep", {}), binding="none")).all(RankRecord)
    (near,) = launch(job(("test.sleep", {}), binding="numa:0")).all(RankRecord)
    assert near.pinned and near.numa == 0
    assert (free.pinned, free.oversubscribed) == (False, False)
    (crowded,) = launch(job(("test.sleep", {}), threads=cpus + 1)).all(RankRecord)
    assert (crowded.pinned, crowded.oversubscribed) == (False, True)
    assert len(crowded.cpus) == cpus + 1


def test_a_blas_may_use_all_cpus_of_its_rank(launch: Launch) -> None:
    cpus = len(os.sched_getaffinity(0))
    done = launch(job(("test.loosened", {}), ("test.loosened", {}), threads=cpus))
    assert done.status == 0
    for measurement in done.measurements:
        assert measurement.facts["main"] == measurement.facts["pool"] == cpus
        if cpus > 1:
            assert measurement.facts["openmp"] == 1


def test_known_times_are_found(launch: Launch) -> None:
    done = launch(job(("test.sleep", {"seconds": 0.003})))
    (m,) = done.measurements
    (series,) = m.series
    assert (series.metric, series.unit, series.rank, series.peer) == ("time", "s", None, None)
    assert len(series.values) == len(series.starts) >= 5
    assert min(series.values) >= 0.003  # a sleep is never shorter
    assert series.starts == sorted(series.starts)
    assert all(b - a >= 0.003 for a, b in itertools.pairwise(series.starts))
    assert m.start <= series.starts[0] and series.starts[-1] + 0.003 <= m.start + m.wall
    assert m.verified is True and m.status == "ok" and m.batch == 1
    assert m.warmup is not None and m.warmup <= len(series.values) / 2
    assert m.rank_medians == [pytest.approx(statistics.median(series.values[m.warmup :]))]
    assert m.parameters == {"seconds": 0.003, "max_batch": 1}


def test_short_operations_are_batched(launch: Launch) -> None:
    limits = {"precision": 1e-6, "max_samples": 10, "budget": 10.0}
    done = launch(
        job(
            ("test.sleep", {"seconds": 0.0, "max_batch": 1_000_000}, limits),
            ("test.sleep", {"seconds": 0.0, "max_batch": 3}, limits),
        )
    )
    free, capped = done.measurements
    (start,) = done.all(StreamStart)
    grain = max(start.clock.overhead, start.clock.resolution)
    assert free.batch is not None and free.verification is not None
    # Every operation is executed: those of the samples kept, and some dropped by calibration.
    assert free.verification.value >= free.batch * len(free.series[0].values)
    # Two samples in calibration lasted long enough; a later one may be slightly faster.
    assert max(free.series[0].values) * free.batch >= max(1000 * grain, 10e-6)
    assert capped.batch is not None and capped.batch <= 3
    assert free.stop == "samples" and len(free.series[0].values) == 10


def test_a_sample_is_the_slowest_rank_per_operation(launch: Launch) -> None:
    done = launch(
        job(
            ("test.slow_rank", {"rank": 1, "seconds": 0.004}),
            ("test.slow_rank", {"rank": 1, "seconds": 0.004, "times": 0}),
        ),
        2,
    )
    slow, blind = done.measurements
    assert min(slow.series[0].values) >= 0.002  # two operations per count
    assert slow.batch == 2
    assert slow.facts == {"slow": 1}
    assert slow.rank_medians[1] >= 0.002 > slow.rank_medians[0]
    # The fast rank counts, and the slow one has no median.
    assert min(blind.series[0].values) < 0.002
    assert blind.rank_medians[1] is None and blind.rank_medians[0] is not None


def test_covariates_are_those_of_the_table(launch: Launch, kernels: Path) -> None:
    table = json.loads(subprocess.run([kernels, "--covariates"], capture_output=True).stdout)
    assert all(set(entry) == {"unit", "meaning"} and entry["meaning"] for entry in table.values())
    done = launch(job(("test.slow_rank", {"rank": 0, "seconds": 0.05})))
    (m,) = done.measurements
    of_devices = {name for name in table if name.startswith("device_")}
    assert set(m.covariates) == set(table) - of_devices
    found = m.covariates
    # A rank can't have used more CPU time than elapsed (except ticks of up to 10 ms).
    assert 0.05 * len(m.series[0].values) <= found["sampling_seconds"] <= m.wall
    used = found["user_seconds"] + found["system_seconds"]
    assert 0 < used <= found["sampling_seconds"] + 0.02
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 0 < found["memory_available"] < total
    assert found["clock_rate"] is None or 1e8 < found["clock_rate"] < 1e10
    assert found["least_cpu_seconds"] == pytest.approx(used)
    assert found["worst_involuntary_switches"] == found["involuntary_switches"]
    assert found["memory_latency"] is None or 1e-9 < found["memory_latency"] < 1e-4
    if found["asleep_seconds"] is not None:
        # A thread is asleep, waiting or running. It spun, so it hardly slept.
        parts = found["asleep_seconds"] + found["wait_seconds"] + used
        assert parts == pytest.approx(found["sampling_seconds"], abs=0.03)
        assert found["worst_wait_seconds"] == found["wait_seconds"]
        assert found["most_waiting_rank"] == (0 if found["wait_seconds"] else None)
    assert all(v is None or (math.isfinite(v) and v >= 0) for v in found.values())


@pytest.mark.flaky(
    reruns=3, reason="other programs on a busy machine may keep the one that spins from its CPU"
)
def test_waiting_for_a_cpu_is_distinguished_from_sleeping(launch: Launch) -> None:
    if not Path("/proc/self/schedstat").exists():
        pytest.skip("This system's scheduler doesn't tell how long a thread waited.")
    cpu = min(os.sched_getaffinity(0))
    limits = {"budget": 2.0, "min_samples": 20, "max_samples": 20}
    orders = job(
        ("test.slow_rank", {"rank": 0, "seconds": 0.02}, limits),
        ("test.sleep", {"seconds": 0.02}, limits),
    )
    with spinning(cpu):
        done = launch(orders)
    busy, asleep = (m.covariates for m in done.measurements)
    assert done.all(RankRecord)[0].cpus == [cpu]
    assert busy["worst_wait_seconds"] > 0.2 * busy["sampling_seconds"]
    assert busy["asleep_seconds"] < 0.2 * busy["sampling_seconds"]
    assert busy["most_waiting_rank"] == 0
    assert asleep["asleep_seconds"] > 0.3 * asleep["sampling_seconds"]


@pytest.mark.flaky(
    reruns=3, reason="other programs on a busy machine may keep the one that spins from its CPU"
)
def test_work_on_a_neighbouring_cpu_is_counted_and_that_of_ranks_is_not(launch: Launch) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    shared = Path(f"/sys/devices/system/cpu/cpu{cpus[0]}/cache/index3/shared_cpu_list")
    if len(cpus) != 2 or not shared.exists() or to_cpus(shared.read_text()) != cpus:
        pytest.skip("Needs two CPUs that share a cache and no others.")
    limits = {"budget": 2.0, "min_samples": 20, "max_samples": 20}
    orders = job(("test.slow_rank", {"rank": 0, "seconds": 0.02}, limits))
    with spinning(cpus[1]):
        (busy,) = launch(orders).measurements
    found = busy.covariates
    # Other load there counts, too; ticks of 10 ms are counted at both ends.
    assert found["neighbour_cpu_seconds"] > 0.8 * found["sampling_seconds"]
    assert found["neighbour_cpu_seconds"] <= found["sampling_seconds"] + 0.03
    # Ranks on both CPUs have no neighbours; for ranks that may move none are known.
    (both,) = launch(orders, 2).measurements
    assert both.covariates["neighbour_cpu_seconds"] == 0.0
    loose = job(("test.slow_rank", {"rank": 0, "seconds": 0.02}, limits), binding="none")
    (moving,) = launch(loose).measurements
    assert moving.covariates["neighbour_cpu_seconds"] is None


def test_precision_budget_and_samples_end_it(launch: Launch) -> None:
    done = launch(
        job(
            ("test.sleep", {"seconds": 0.002}, {"precision": 10.0, "budget": 10.0}),
            ("test.sleep", {"seconds": 0.002}, {"precision": 1e-9, "budget": 0.1}),
            (
                "test.sleep",
                {"seconds": 0.002},
                {"precision": 1e-9, "max_samples": 7, "budget": 10.0},
            ),
            ("test.sleep", {"seconds": 0.2}, {"budget": 0.01}),
        )
    )
    assert [m.stop for m in done.measurements] == ["precision", "budget", "samples", "budget"]
    precise, _, few, one = done.measurements
    assert precise.half_width is not None and precise.half_width <= 10.0
    assert len(few.series[0].values) == 7
    assert len(one.series[0].values) == 1 and one.half_width is None and one.status == "ok"


def test_progress_is_written_for_long_measurements_only(launch: Launch) -> None:
    done = launch(
        job(
            ("test.sleep", {"seconds": 0.01}, {"precision": 1e-9, "budget": 1.0}),
            ("test.sleep", {"seconds": 0.001}, {"budget": 0.1}),
        )
    )
    progress = done.all(Progress)
    long, short = ([p for p in progress if p.measurement == name] for name in ("m0", "m1"))
    assert 1 <= len(long) <= 5
    assert not short or done.measurements[1].wall > 0.2  # unless the machine is too busy
    assert all(b.elapsed - a.elapsed >= 0.2 for a, b in itertools.pairwise(long))
    assert all(p.samples > 0 and p.median >= 0.01 for p in long)


def test_a_kernel_reports_the_progress_of_a_sample(launch: Launch) -> None:
    limits = {"min_samples": 2, "max_samples": 2, "budget": 30.0}
    done = launch(job(("test.progress", {"steps": 1000, "seconds": 0.8}, limits)), 2)
    progress = done.all(Progress)
    assert done.measurements[0].verified
    within = [p for p in progress if p.share is not None]
    assert {0, 1} == {p.samples for p in within}
    assert all(p.rate == 2 * p.share and 0 < p.share <= 1 for p in within)
    # Few records, though it was reported 2000 times; and a sample's share grows.
    assert all(b.elapsed - a.elapsed >= 0.25 for a, b in itertools.pairwise(progress))
    for count in (0, 1):
        shares = [p.share for p in within if p.samples == count]
        assert shares == sorted(set(shares))
    assert all(p.rate is None for p in progress if p.share is None)


def test_stream_can_go_to_standard_output(launch: Launch) -> None:
    done = launch(job(("test.sleep", {})), 1, "-")
    records = [read_record(line.encode()) for line in done.stdout.splitlines()]
    assert records[-1] == StreamEnd(1, "complete")


@pytest.mark.parametrize("ranks", [2, 3])
def test_barrier_holds_all_ranks_back(launch: Launch, ranks: int) -> None:
    done = launch(job(("network.barrier", {}, {"max_samples": 10})), ranks)
    (m,) = done.measurements
    assert done.status == 0 and m.verified is True
    assert m.verification is not None and m.verification.value == 0.0
    assert min(m.series[0].values) > 0
