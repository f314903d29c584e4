"""Failures: nothing complete is lost, nothing hangs and everything is reported."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from assay.records.schema import (
    MeasurementBegin,
    MeasurementRecord,
    RankRecord,
    StreamEnd,
    StreamStart,
)
from kernel_runs import launch_environment
from native_launching import Finished, Launch, command, job, read_record, read_stream

pytestmark = [pytest.mark.slow, pytest.mark.sanitizable]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--job is missing"),
        (["--job", "j.json"], "--out is missing"),
        (["--job"], "--job needs a path"),
        (["--frobnicate"], "unknown argument '--frobnicate'"),
        (["--list", "--version"], "unknown argument '--list'"),
    ],
)
def test_wrong_usage_is_one_line(kernels: Path, arguments: list[str], said: str) -> None:
    done = subprocess.run([kernels, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert said in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"not json", "it is not JSON"),
        (b'{"schema": 7}', "schema 7, and this program reads schema 1"),
        (job(("test.sleep", {}, {"precision": -1.0})), "measurements[0]: 'precision' must be"),
    ],
)
def test_bad_job_is_one_sentence_and_no_stream(
    launch: Launch, tmp_path: Path, content: bytes, said: str
) -> None:
    done = launch(content, 2)
    assert done.status == 2
    assert len(done.complaints) == 1
    assert said in done.complaints[0] and "job.json" in done.complaints[0]
    assert not list(tmp_path.glob("*.jsonl"))


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_missing_numa_node_ends_the_launch_with_a_sentence(launch: Launch, ranks: int) -> None:
    done = launch(job(("test.sleep", {}), binding="numa:4000"), ranks=ranks)
    assert (done.status, done.records) == (2, [])
    (said,) = done.complaints
    assert "binding: NUMA node 4000 has no CPU that may be used here; these have: 0" in said


def test_missing_job_is_one_sentence(kernels: Path, tmp_path: Path) -> None:
    line = command(kernels, 2, tmp_path / "absent.json", tmp_path / "s.jsonl")
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("absent.json: it can't be read: No such file") == 1


def errors(done: Finished) -> list[str | None]:
    return [m.error for m in done.measurements]


def test_unknown_names_fail_only_their_measurement(launch: Launch) -> None:
    done = launch(
        job(
            ("test.nowhere", {}),
            ("test.sleep", {"speed": 1}),
            ("test.sleep", {"seconds": "long"}),
            ("network.barrier", {"x": 1}),
            ("test.sleep", {}),
        ),
        2,
    )
    assert done.status == 4
    assert errors(done) == [
        "there is no kernel 'test.nowhere' in this program",
        "there is no parameter 'speed'; valid are: max_batch, seconds",
        "parameter 'seconds' must be a number",
        "there is no parameter 'x'; there are none",
        None,
    ]
    assert [m.status for m in done.measurements] == ["failed"] * 4 + ["ok"]
    assert done.records[-1] == StreamEnd(5, "complete")


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_after_any_exception_the_job_continues(launch: Launch, ranks: int) -> None:
    places = ("construct", "setup", "run", "verify")
    last = ranks - 1
    done = launch(
        job(
            *(("test.throw", {"in": place, "rank": last}) for place in places),
            *(("test.throw", {"in": place, "what": "memory"}) for place in places),
            ("test.sleep", {}),
        ),
        ranks,
    )
    assert done.status == 4
    who = f"rank {last}: " if ranks > 1 else ""
    assert errors(done) == [
        *(f'{who}thrown in "{place}"' for place in places),
        *["out of memory"] * len(places),
        None,
    ]
    assert all(m.series == [] and m.verified is None for m in done.measurements[:-1])
    assert done.measurements[-1].verified is True
    assert done.records[-1] == StreamEnd(9, "complete")


@pytest.mark.parametrize(("ranks", "rank"), [(1, 0), (2, 1)])
@pytest.mark.parametrize("how", ["nan", "wrong"])
def test_a_failed_verification_is_reported(launch: Launch, ranks: int, rank: int, how: str) -> None:
    done = launch(job(("test.nan", {"how": how, "rank": rank}), ("test.sleep", {})), ranks)
    bad, good = done.measurements
    assert done.status == 4
    assert (bad.status, bad.verified, good.verified) == ("ok", False, True)
    assert bad.verification is not None
    assert bad.verification.what == ("a residual" if rank == 0 else "rank 1: a residual")
    assert bad.verification.value == (None if how == "nan" else 1.0)
    assert bad.verification.tolerance == 1e-9
    assert bad.series[0].values
    assert done.records[-1] == StreamEnd(2, "complete")


CRASHES = {
    "segv": "SIGSEGV",
    "bus": "SIGBUS",
    "fpe": "SIGFPE",
    "ill": "SIGILL",
    "abort": "SIGABRT",
    "terminate": 'uncaught exception: no code catches "this"',
    "overflow": "SIGSEGV",
}


@pytest.mark.parametrize("how", CRASHES)
def test_a_crash_leaves_an_error_message(launch: Launch, how: str) -> None:
    done = launch(job(("test.sleep", {}), ("test.crash", {"how": how, "rank": 0})), 2)
    assert done.status != 0
    (complaint,) = done.complaints
    assert "rank 0 on host" in complaint and CRASHES[how] in complaint
    assert "in measurement 'm1' of test.crash" in complaint
    good, dead = done.measurements
    assert (good.status, dead.status, dead.measurement) == ("ok", "failed", "m1")
    assert dead.error is not None and CRASHES[how] in dead.error
    assert 0 < dead.wall < 60 and dead.start > good.start
    assert done.all(StreamEnd) == []


def test_a_crash_of_another_rank_leaves_the_begin_record(launch: Launch) -> None:
    done = launch(job(("test.crash", {"rank": 1})), 2)
    assert done.status != 0
    assert any("rank 1 on host" in complaint for complaint in done.complaints)
    assert isinstance(done.records[-1], MeasurementBegin)


def read_stream_so_far(stream: Path) -> list[msgspec.Struct]:
    content = stream.read_bytes() if stream.exists() else b""
    return [read_record(line) for line in content.split(b"\n")[:-1]]


def _wait_for(stream: Path, kind: type[msgspec.Struct], count: int = 1) -> list[msgspec.Struct]:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = [r for r in read_stream_so_far(stream) if isinstance(r, kind)]
        if len(found) >= count:
            return found
        time.sleep(0.01)
    raise AssertionError(f"no {kind.__name__} came")


@pytest.mark.parametrize(
    ("number", "chosen"),
    [(signal.SIGTERM, [0, 1]), (signal.SIGTERM, [1]), (signal.SIGINT, [0, 1])],
)
def test_sigterm_ends_the_stream_regularly(
    kernels: Path, tmp_path: Path, number: signal.Signals, chosen: list[int]
) -> None:
    endless = {"precision": 1e-9, "budget": 60.0, "max_samples": 1_000_000}
    text = job(("test.sleep", {}), ("test.sleep", {"seconds": 0.02}, endless), ("test.sleep", {}))
    # A busy machine may not have taken the fewest samples yet: it is given more and more time.
    for attempt in range(7):
        stream = tmp_path / f"{attempt}.jsonl"
        job_path = tmp_path / f"{attempt}.json"
        job_path.write_bytes(text)
        process = subprocess.Popen(
            command(kernels, 2, job_path, stream), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            ranks = _wait_for(stream, RankRecord, 2)
            _wait_for(stream, MeasurementBegin, 2)
            time.sleep(0.3 * 2**attempt)
            for rank in chosen:
                os.kill(ranks[rank].pid, number)
            assert process.wait(30) == 0
        finally:
            process.kill()
            process.communicate()
        records = read_stream(stream)
        measurements = [r for r in records if isinstance(r, MeasurementRecord)]
        assert [(m.measurement, m.stop) for m in measurements[1:]] == [("m1", "signal")]
        assert records[-1] == StreamEnd(2, "signal")
        if measurements[1].status == "ok":
            break
        assert measurements[1].status == "interrupted"
    assert [m.status for m in measurements] == ["ok", "ok"]
    assert measurements[1].verified is True


def test_a_signal_before_the_minimum_of_samples_is_an_interruption(
    kernels: Path, tmp_path: Path
) -> None:
    stream, job_path = tmp_path / "s.jsonl", tmp_path / "j.json"
    limits = {"budget": 60.0, "min_samples": 1000, "max_samples": 1000}
    job_path.write_bytes(job(("test.sleep", {"seconds": 0.1}, limits)))
    process = subprocess.Popen(command(kernels, 1, job_path, stream))
    try:
        (rank,) = _wait_for(stream, RankRecord)
        _wait_for(stream, MeasurementBegin)
        time.sleep(0.3)
        os.kill(rank.pid, signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
    *_, measurement, end = read_stream(stream)
    assert isinstance(measurement, MeasurementRecord)
    assert (measurement.status, measurement.stop) == ("interrupted", "signal")
    assert measurement.verified is None
    assert end == StreamEnd(1, "signal")


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_stream_that_cannot_be_opened(launch: Launch, tmp_path: Path, ranks: int) -> None:
    path = tmp_path / "absent" / "s.jsonl"
    done = launch(job(("test.sleep", {})), ranks, path)
    assert done.status == 3
    (complaint,) = done.complaints
    assert str(path) in complaint and "No such file or directory" in complaint


def test_a_stream_that_holds_records_is_not_changed(launch: Launch, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"record":"begin","measurement":"m0","kernel":"k"}\n')
    before = path.read_bytes()
    done = launch(job(("test.sleep", {})), 2, path)
    assert done.status == 3
    assert "is not empty" in done.complaints[0]
    assert path.read_bytes() == before


def test_a_full_device_ends_all_ranks(launch: Launch) -> None:
    done = launch(job(("test.sleep", {})), 2, "/dev/full")
    assert done.status == 3
    (complaint,) = done.complaints
    assert "/dev/full" in complaint and "No space left on device" in complaint


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "assay-test", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("a small file system can't be mounted here: there is no mount")
    if done.returncode:
        pytest.skip(f"a small file system can't be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_harms_nothing_complete(launch: Launch, small_disk: Path) -> None:
    many = {"precision": 1e-9, "max_samples": 150}
    done = launch(job(*[("test.sleep", {"seconds": 1e-4}, many)] * 20), 2, small_disk / "s.jsonl")
    assert done.status == 3
    (complaint,) = done.complaints
    assert "s.jsonl" in complaint and "No space left on device" in complaint
    # Reading has already shown that every line is complete.
    assert isinstance(done.records[0], StreamStart)
    assert 0 < len(done.measurements) < 20
    assert done.all(StreamEnd) == []


def test_a_closed_reader_ends_it(kernels: Path, tmp_path: Path) -> None:
    job_path = tmp_path / "j.json"
    many = {"precision": 1e-9, "budget": 60.0, "max_samples": 50}
    job_path.write_bytes(job(*[("test.sleep", {"seconds": 0.01}, many)] * 50))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        command(kernels, 1, job_path, pipe), stderr=subprocess.PIPE, text=True
    )
    try:
        with pipe.open("rb") as reader:
            assert b'"record":"start"' in reader.readline()
        _, stderr = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 3
    assert stderr.count("Broken pipe") == 1


_ENDLESS = """
#include <unistd.h>
int MPI_Finalize(void) {
  for (;;) pause();
}
"""


@pytest.mark.long
def test_an_mpi_library_that_never_ends_is_left_when_all_is_written(
    launch: Launch, tmp_path: Path
) -> None:
    """The exit status is still that of the measurements."""
    source, library = tmp_path / "endless.c", tmp_path / "endless.so"
    source.write_text(_ENDLESS)
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", library], check=True)
    preloaded = f"{library} {launch_environment()['LD_PRELOAD']}"
    orders = {0: ("test.sleep", {"seconds": 1e-4}), 4: ("test.throw", {"in": "run", "rank": 0})}
    for status, order in orders.items():
        done = launch(job(order), 2, environment={"LD_PRELOAD": preloaded})
        assert (done.status, done.complaints) == (status, [])
        (end,) = done.all(StreamEnd)
        assert (end.measurements, end.reason) == (1, "complete")


@pytest.mark.parametrize("ranks", [1, 2])
def test_failures_between_successful_measurements(launch: Launch, ranks: int) -> None:
    measurements = [
        ("test.sleep", {"seconds": 1e-4}),
        ("test.sleep", {"seconds": 0.0, "max_batch": 1000}),
        ("test.slow_rank", {"seconds": 1e-3}),
        ("test.loosened", {}),
        ("test.series", {}),
        ("test.throw", {"in": "setup", "rank": 0}),
        ("test.throw", {"in": "run", "rank": ranks - 1}),
        ("test.nan", {"rank": ranks - 1}),
        ("network.barrier", {}),
    ]
    done = launch(job(*measurements), ranks)
    assert done.status == 4  # of the planted failures alone
    assert len(done.measurements) == len(measurements)
