"""assay-check: each component measures, verifies its results, and notices what else runs."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from assay.check.components import ALONE, CORE, LATENCY, PRODUCT, RANDOM, STORAGE, STREAM
from assay.check.measuring.answers import read_answer, read_hello
from assay.check.model import Reading
from check_programs import answers, faulty, plain, sanitized
from cpu_quota import cpu_quota
from spinning import spinning

pytestmark = pytest.mark.slow
FAULTS = (
    *((CORE, fault) for fault in ("lane", "nan")),
    *((PRODUCT, fault) for fault in ("value", "nan", "skip")),
    *((STREAM, fault) for fault in ("value", "nan", "skip")),
    *((LATENCY, fault) for fault in ("link", "skip")),
    *((RANDOM, fault) for fault in ("value", "skip")),
    *((STORAGE, fault) for fault in ("byte", "place")),
)
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a file system")


def reading(answer: Mapping[str, Any]) -> Reading:
    """The answer as the check reads it; it must be readable."""
    found = read_answer(json.dumps(answer).encode(), answer["component"])
    assert isinstance(found, Reading), found
    return found


def measured(program: Path, *components: str, seconds: float = 0.1) -> list[Reading]:
    return [
        reading(one) for one in answers(program, *(f"measure {c} {seconds}" for c in components))
    ]


def test_every_component_gives_verified_values() -> None:
    found = measured(plain(), *ALONE, seconds=0.2)
    assert [one.component for one in found] == list(ALONE)
    usable = os.sched_getaffinity(0)
    for one in found:
        assert one.failed == ""
        assert one.verified
        assert set(one.cpus) <= usable
        assert one.seconds > 0.0
    by_name = {one.component: one for one in found}
    assert len(by_name[CORE].values) == len(by_name[CORE].cpus)
    # Repetitions of 0.1 s; random access makes each one twice.
    assert [len(by_name[name].values) for name in (PRODUCT, STREAM, LATENCY, RANDOM)] == [2] * 4
    # No memory is faster than 10 ns per load beyond all caches, none slower than 10 µs.
    assert all(1e-8 < value < 1e-5 for value in by_name[LATENCY].values)


@pytest.mark.sanitizable
@pytest.mark.parametrize("component", ALONE)
def test_planted_faults_are_found(component: str) -> None:
    faults = [fault for name, fault in FAULTS if name == component]
    assert len(faults) >= 2
    orders = [f"measure {component} 0.1", *(f"measure {component} 0.1 {each}" for each in faults)]
    sound, *broken = map(reading, answers(faulty(), *orders))
    assert sound.verified
    for fault, one in zip(faults, broken, strict=True):
        assert not one.verified, fault
        assert one.values, fault


def test_the_shipped_program_takes_no_fault() -> None:
    (answer,) = answers(plain(), "measure core 0.1 lane")
    assert answer == {"problem": "an order is 'measure COMPONENT SECONDS'"}


@pytest.mark.sanitized
@pytest.mark.sanitizable
def test_it_runs_clean_under_the_sanitizers() -> None:
    for one in measured(sanitized(), *ALONE, seconds=0.05):
        assert one.verified and not one.failed


def test_it_keeps_to_the_cpus_that_it_may_use() -> None:
    last = max(os.sched_getaffinity(0))
    command = ["taskset", "-c", str(last), plain()]
    for answer in answers(command, "measure core 0.1", "measure random 0.1", "measure latency 0.1"):
        assert reading(answer).cpus == [last]
        assert reading(answer).verified


def test_it_notices_another_process_on_a_cpu() -> None:
    cpu = min(os.sched_getaffinity(0))
    command = ["taskset", "-c", str(cpu), plain()]
    with spinning(cpu):
        (answer,) = answers(command, "measure core 0.5")
    # The scheduler shares the CPU; the counters have a resolution of 10 ms.
    assert reading(answer).quiet.others > 0.1


@pytest.mark.skipif(os.geteuid() != 0, reason="control groups need root")
def test_it_notices_a_quota_that_holds_it_back() -> None:
    with cpu_quota(0.02) as group:
        (held,) = answers([*group.entering(), plain()], "measure core 0.5")
        (free,) = answers(plain(), "measure core 0.5")
    # On a busy machine it may get little more than these 2 of 100 ms anyway.
    assert reading(held).quiet.held_back > 0.0
    assert reading(free).quiet.held_back == 0.0


def status_of(process: int, field: str) -> float:
    """A field of /proc/PID/status in MiB."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    raise AssertionError(field)


def test_memory_beside_the_arrays_is_small_and_arrays_are_freed() -> None:
    program = [str(plain())]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        assert not isinstance(read_hello(process.stdout.readline()), str)
        assert status_of(process.pid, "VmRSS") < 20
        for component in ALONE:
            process.stdin.write(f"measure {component} 0.1\n".encode())
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["verified"]
            assert status_of(process.pid, "VmRSS") < 20, component
        process.stdin.close()
        assert process.wait(60) == 0


def on_a_file_system(options: str, folder: Path, *lines: str) -> list[dict[str, Any]]:
    """Answers of a program whose scratch folder is a tmpfs of its own, mounted with options. The
    last line of the output lists the folder.
    """
    script = 'mount -t tmpfs -o "$1" assay "$2" && "$3" --scratch "$2"; ls -A "$2" >&2'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", options, str(folder), str(plain())],
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stderr == ""  # nothing remains
    return [json.loads(line) for line in done.stdout.splitlines()[1:]]


@AS_ROOT
def test_a_full_scratch_folder_fails_with_the_reason(tmp_path: Path) -> None:
    full, other = on_a_file_system("size=3m", tmp_path, "measure storage 0.2", "measure core 0.1")
    assert reading(full).values == []
    assert reading(full).failed == (
        f"Writing to or reading from the scratch folder '{tmp_path}' failed: "
        "No space left on device."
    )
    assert reading(other).verified and reading(other).values


@AS_ROOT
def test_a_scratch_folder_that_is_read_only_fails_with_the_reason(tmp_path: Path) -> None:
    (answer,) = on_a_file_system("ro", tmp_path, "measure storage 0.2")
    assert reading(answer).failed == (
        f"Creating a file in the scratch folder '{tmp_path}' failed: Read-only file system."
    )


def test_a_missing_scratch_folder_fails_with_the_reason(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    (answer,) = answers(plain(), "measure storage 0.1", options=["--scratch", missing])
    assert reading(answer).failed.endswith(f"'{missing}' failed: No such file or directory.")


def test_a_limit_on_file_sizes_fails_with_the_reason(tmp_path: Path) -> None:
    command = ["prlimit", "--fsize=1000000", plain()]
    (answer,) = answers(command, "measure storage 0.1", options=["--scratch", tmp_path])
    assert reading(answer).failed.endswith("File too large.")
    assert list(tmp_path.iterdir()) == []


def test_too_little_memory_fails_with_the_numbers() -> None:
    command = ["prlimit", f"--as={200 << 20}", plain()]
    (answer,) = answers(command, "measure stream 0.1")
    assert "bytes of memory" in reading(answer).failed
