"""Programs that make sampling difficult end as without it. A sentence says what is missing."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

import prepared_assay
from assay.kernels.builds.trace import build_sampler
from assay.trace.samples.mapped import RUN_TIME_CODE
from assay.trace.samples.reading import read_samples
from sampled_programs import (
    compiled,
    counts,
    places_of,
    run_sampled,
    samples_in,
    sampling,
)
from waiting import wait_for

pytestmark = pytest.mark.slow


def _program() -> Path:
    return compiled("hostile.c", "-O2", "-g", "-pthread")


def _sampled(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The program under the sampler, which must print and end as without it."""
    command = [str(_program()), *words]
    plain = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    done = run_sampled(folder, command)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout), done.stderr
    return done


@pytest.mark.parametrize("kind", ["sigprof", "stacks", "misleading"])
def test_programs_with_signals_stacks_and_frames_of_their_own(tmp_path: Path, kind: str) -> None:
    assert _sampled(tmp_path, kind).stderr == ""
    samples = samples_in(tmp_path)
    assert sum(len(thread.times) for thread in samples.threads) > 3
    assert not samples.doubts or all("lost" in one for one in samples.doubts)


def test_a_program_that_handles_all_signals_gets_none_of_the_sampler(tmp_path: Path) -> None:
    assert _sampled(tmp_path, "all-signals").stdout == "0 ticks\n"
    assert any("set a handler of the signal" in one for one in samples_in(tmp_path).doubts)


def test_a_forked_child_is_not_followed(tmp_path: Path) -> None:
    assert _sampled(tmp_path, "fork").stdout == "7\n"
    assert len({thread.process for thread in samples_in(tmp_path).threads}) == 1
    assert len(list(tmp_path.glob("*.samples"))) == 1


def test_a_crash_loses_at_most_the_last_second(tmp_path: Path) -> None:
    _sampled(tmp_path, "crash")
    samples = samples_in(tmp_path)
    assert counts(samples, ["crashes"])["crashes"] > 10
    assert any("ended before it could write" in one for one in samples.doubts)


def test_a_hundred_threads_are_told_apart(tmp_path: Path) -> None:
    _sampled(tmp_path, "threads")
    workers = [one for one in samples_in(tmp_path).threads if one.thread > 0]
    assert len(workers) > 50
    assert len({one.thread for one in workers}) == len(workers)
    assert all(one.name == "hostile" for one in workers)


def test_code_made_at_run_time_is_a_place_between_its_callers_and_callees(tmp_path: Path) -> None:
    _sampled(tmp_path, "compiled")
    samples = samples_in(tmp_path)
    modules = {tuple((place.function, place.module) for place in places_of(samples, stack))
               for stack in samples.threads[0].stacks.tolist()}  # fmt: skip
    assert (("compiles", "hostile"), ("", RUN_TIME_CODE), ("work", "hostile")) in modules


def test_a_limit_of_the_size_of_files_ends_the_samples_and_not_the_program(tmp_path: Path) -> None:
    command = ["sh", "-c", f"ulimit -f 1; exec {_program()} full"]
    done = run_sampled(tmp_path, command, more={"ASSAY_SAMPLE_PERIOD": "4000000"})
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert "The samples of this process can't be written" in done.stderr
    assert done.stderr.count("\n") == 1


@contextlib.contextmanager
def _small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A file system of this size."""
    disk = folder / "disk"
    disk.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)]
    mounted = os.geteuid() == 0 and shutil.which("mount") is not None
    if not mounted or subprocess.run(words, capture_output=True, check=False).returncode != 0:
        pytest.skip("this user can't mount a file system")
    try:
        yield disk
    finally:
        subprocess.run(["umount", disk], check=True)


def _fill(disk: Path) -> None:
    with contextlib.suppress(OSError), (disk / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def _computes(program: psutil.Process) -> None:
    """Waits until its samples need more than the rest of their file's last page, which stays free
    on a full disk: 24 B each, at 250 ticks of the kernel per second.
    """
    before = program.cpu_times().user
    wait_for(lambda: program.cpu_times().user > before + 2.0, 250)


def test_a_full_disk_ends_the_samples_and_not_the_program(tmp_path: Path) -> None:
    """The disk is full when the first samples are written. They can still be read."""
    with _small_disk(tmp_path, "1m") as disk:
        environment = {**os.environ, **sampling(disk, period=1_000_000)}
        process = subprocess.Popen(
            [_program(), "input"], env=environment, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        wait_for(lambda: any(one.stat().st_size for one in disk.glob("*.samples")))
        _fill(disk)
        _computes(psutil.Process(process.pid))
        out, errors = process.communicate(timeout=300)
        assert (process.returncode, out) == (0, "done\n")
        assert "The samples of this process can't be written to" in errors
        assert "No space left on device" in errors and errors.count("\n") == 1
        samples = samples_in(disk)
        assert counts(samples, ["descends"])["descends"] > 10
        assert any("all that came after the disk was full" in one for one in samples.doubts), (
            samples.doubts
        )


@pytest.mark.long
def test_a_profile_whose_samples_filled_the_disk_can_be_read(tmp_path: Path) -> None:
    """By the command, whose own files have room."""
    build_sampler()
    with _small_disk(tmp_path, "512k") as disk:
        (disk / "filler").write_bytes(bytes(200 * 1024))  # 56 kB are left for samples
        kept = disk / "kept"
        process = subprocess.Popen(
            [sys.executable, "-m", "assay", "profile", "--sample=1000", "--folder", kept, "--",
             _program(), "input"],
            text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        wait_for(lambda: any(one.stat().st_size for one in kept.glob("*.samples")), 250)
        _fill(disk)
        (program,) = psutil.Process(process.pid).children()
        _computes(program)
        out, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
        assert out.startswith("done\n") and "computing: work " in " ".join(out.split())
        assert errors.count("No space left on device") == 1
        words = [sys.executable, "-m", "assay", "profile", "--read", str(kept)]
        again = prepared_assay.run(words, capture_output=True, text=True, timeout=300)
        assert again.returncode == 0
        assert "computing: work " in " ".join(again.stdout.split())


def test_a_folder_without_room_is_refused_before_the_program_runs(tmp_path: Path) -> None:
    with _small_disk(tmp_path, "128k") as disk:
        words = [
            sys.executable,
            "-m",
            "assay",
            "profile",
            "--sample",
            "--folder",
            str(disk / "kept"),
        ]
        done = prepared_assay.run(
            [*words, "--", str(_program()), "full"], capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 2 and "done" not in done.stdout
        assert "No space left on device" in done.stderr
        assert list((disk / "kept").iterdir()) == []


def test_where_timers_are_forbidden_the_kernels_counter_is_used_or_a_sentence_says_so(
    tmp_path: Path,
) -> None:
    (tmp_path / "both").mkdir()
    _sampled(tmp_path, "without-timers", str(_program()), "full")
    samples = samples_in(tmp_path)
    unsampled = [one for one in samples.doubts if "could not be sampled" in one]
    if samples.clock == "task-clock":
        assert not unsampled and counts(samples, ["fills_disk"])["fills_disk"] > 10
    else:  # the kernel doesn't let this user count
        assert len(unsampled) == 1
    _sampled(tmp_path / "both", "without-clocks", str(_program()), "full")
    refused = read_samples(tmp_path / "both")
    assert refused is not None and sum(len(one.times) for one in refused.threads) == 0
    (doubt,) = refused.doubts
    assert "could not be sampled in 1 thread: Operation not permitted" in doubt


def test_interrupted_allocators_loaders_and_exceptions(tmp_path: Path) -> None:
    """Threads that spend their time in functions that are not safe in handlers of signals, at the
    highest rate."""
    flags = ("-O1", "-g", "-pthread", "-ldl")
    program = compiled("stress.cpp", *flags, compiler="c++")
    done = run_sampled(tmp_path, [program, "1.0"], more={"ASSAY_SAMPLE_PERIOD": "1000000"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "whole\n", "")
    samples = samples_in(tmp_path)
    every = sum(len(one.times) for one in samples.threads)
    assert every > 50
    assert counts(samples, ["throwing", "allocating", "loading"])[""] < 0.2 * every
    assert np.isfinite(samples.cost)


def test_code_that_is_loaded_later_is_named(tmp_path: Path) -> None:
    """The mapped code is looked at again at the first address outside of it."""
    libraries = []
    for name in ("first", "second"):
        source = tmp_path / f"{name}.c"
        source.write_text(
            f"void {name}(void) {{ for (volatile int i = 0; i < 100000; ++i) {{}} }}\n"
            f"void work(void) {{ {name}(); }}\n"
        )
        libraries.append(source.with_suffix(".so"))
        words = ["cc", "-O1", "-g", "-fPIC", "-shared", source, "-o", libraries[-1]]
        subprocess.run(words, check=True, timeout=100)
    (tmp_path / "kept").mkdir()
    done = run_sampled(tmp_path / "kept", [compiled("loads.c", "-O1", "-g", "-ldl"), *libraries])
    assert (done.returncode, done.stderr) == (0, "")
    found = counts(samples_in(tmp_path / "kept"), ["own", "first", "second"])
    assert min(found["own"], found["first"], found["second"]) > 10
    assert found[""] < 10
