"""``assay why`` with real programs that have a planted reason."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import prepared_assay
from mpi_counts import built_against_mpi
from native_build import TOOLS
from spinning import spinning

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("polite_waiting"),
    pytest.mark.flaky(reruns=1, reason="other work of the machine comes and goes between launches"),
]
STEPS, WORK = "8", "1e7"
NODE = {"CPU quota", "binding", "other processes"}
# Share of a rank's time without a CPU from which a machine is busy.
BUSY = 0.025


@cache
def program() -> str:
    return str(built_against_mpi("planted_reasons.c", "-g"))


def why(folder: Path, command: Sequence[str], *options: str, status: int = 0) -> Any:
    words = [sys.executable, "-m", "assay", "why", *options, "--", *command]
    done = prepared_assay.run(
        words, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == status, done.stderr + done.stdout
    return done


def found(folder: Path, command: Sequence[str], launches: int = 2) -> dict[str, Any]:
    done = why(folder, command, "--json", "--launches", str(launches), "--folder", "kept")
    answered: dict[str, Any] = json.loads(done.stdout[done.stdout.index("{") :])
    return answered


def ranks(*words: str) -> list[str]:
    return [str(TOOLS / "mpirun"), "-n", "2", program(), *words]


def each(*befores: Sequence[str], reason: str = "none", work: str = WORK) -> list[str]:
    """A rank per prefix of its command."""
    command = [str(TOOLS / "mpirun")]
    for number, before in enumerate(befores):
        command += [":"] * bool(number) + ["-n", "1", *before, program(), reason, STEPS, work]
    return command


def agrees(answered: dict[str, Any], reason: str) -> None:
    """The first reason is the planted one; undecided only where ranks had no CPU, or launches
    differed.
    """
    if answered["undecided"]:
        waits = [(one["without_cpu"] or 0.0) for one in answered["by_rank"]]
        seconds = [one["seconds"] for one in answered["launches"] if one["kind"] == "plain"]
        busy = max(waits) > BUSY * answered["seconds"] or max(seconds) > 1.2 * min(seconds)
        assert busy, answered["undecided"]
        assert answered["first"] == ""
        return
    disturbed = answered["first"] in NODE - {reason}
    if disturbed:  # by other work of this machine, which is then a true answer
        assert max((one["without_cpu"] or 0.0) for one in answered["by_rank"]) > 0.0
        return
    assert answered["first"] == reason, [
        (one["name"], one["outcome"], one["seconds"], one["evidence"])
        for one in answered["reasons"]
    ]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        pytest.param(("imbalance", STEPS, WORK), "imbalance", id="imbalance"),
        pytest.param(("serial", STEPS, WORK), "serial part", id="serial", marks=pytest.mark.long),
        pytest.param(("late", STEPS, WORK), "late sender", id="late", marks=pytest.mark.long),
        pytest.param(("tiny", STEPS, WORK), "latency", id="tiny", marks=pytest.mark.long),
        pytest.param(("none", STEPS, WORK), "", id="healthy", marks=pytest.mark.long),
    ],
)
def test_the_planted_reason_comes_first(
    tmp_path: Path, words: tuple[str, ...], reason: str
) -> None:
    answered = found(tmp_path, ranks(*words))
    agrees(answered, reason)
    total = sum(one["seconds"] or 0.0 for one in answered["reasons"][:-2])
    assert total + answered["computing"] > 0.5 * answered["seconds"]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
def test_two_ranks_on_one_cpu_are_a_wrong_binding(tmp_path: Path) -> None:
    cpu = str(min(os.sched_getaffinity(0)))
    pinned = ("taskset", "-c", cpu)
    answered = found(tmp_path, each(pinned, pinned))
    agrees(answered, "binding")
    assert {one["cpus"] for one in answered["by_rank"]} == {cpu}


@pytest.mark.long
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
def test_a_process_on_the_cpu_of_one_rank_is_named(tmp_path: Path) -> None:
    first, second = sorted(os.sched_getaffinity(0))[:2]
    with spinning(second):
        answered = found(
            tmp_path, each(("taskset", "-c", str(first)), ("taskset", "-c", str(second)))
        )
    agrees(answered, "other processes")
    waits = [one["without_cpu"] for one in answered["by_rank"]]
    assert waits[1] > 0.0


@pytest.mark.long
def test_a_cpu_quota_is_found(tmp_path: Path) -> None:
    with _quota() as group:
        enter = ("sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$0" "$@"')
        answered = found(tmp_path, each((), enter))
    agrees(answered, "CPU quota")
    assert answered["by_rank"][1]["held"] > 0.0


@contextlib.contextmanager
def _quota() -> Iterator[Path]:
    """A control group with a tenth of a CPU; skips the test where none can be made.

    With half a CPU, a rank that shares its CPU with other work was never held back.
    """
    old, new = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
    base = old if old.exists() else new
    group = base / f"assay-why-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made: {error.strerror}")
    try:
        try:
            if base is old:
                (group / "cpu.cfs_quota_us").write_text("10000")
            else:
                (group / "cpu.max").write_text("10000 100000")
        except OSError as error:
            pytest.skip(f"no quota can be set: {error.strerror}")
        yield group
    finally:
        group.rmdir()


def test_a_report_lines_and_a_kept_folder(tmp_path: Path) -> None:
    """The terminal, the page, the lines; --read gives the same answer again."""
    options = ("--html", "--launches", "1", "--folder", "kept", "--budget", "1 s")
    done = why(tmp_path, ranks("memory", "6", "2e7"), *options)
    assert "Why isn't it faster" in done.stdout
    page = (tmp_path / "why.html").read_text(encoding="utf-8")
    assert "Reasons, in the order in which they are asked" in page
    assert "What does the program need?" in page
    read = [sys.executable, "-m", "assay", "why", "--read", "kept"]
    lines = prepared_assay.run(
        [*read, "--lines"], cwd=tmp_path, capture_output=True, text=True, timeout=100, check=True
    )
    again = prepared_assay.run(
        [*read, "--json"], cwd=tmp_path, capture_output=True, text=True, timeout=100, check=True
    )
    answered = json.loads(again.stdout)
    out = [one["name"] for one in answered["reasons"] if one["outcome"] == "stands out"]
    assert len(lines.stdout.splitlines()) == (0 if answered["undecided"] else len(out))
    # The budget allows one launch: memory stays undecided, with the reason.
    memory = next(one for one in answered["reasons"] if one["name"] == "memory bandwidth")
    assert memory["outcome"] == "undecided" and "There was no time" in memory["evidence"]
    assert [one["kind"] for one in answered["launches"]] == ["plain"]
    assert answered["profile"]["size"] == 2 and answered["trace"]["ranks"] == 2


@pytest.mark.long
def test_ranks_that_compute_in_turn_show_shared_memory(tmp_path: Path) -> None:
    """What ranks take from each other depends on the machine; that it is measured does not."""
    answered = found(tmp_path, ranks("memory", "10", "4e7"), launches=1)
    assert sorted(one["kind"] for one in answered["launches"]) == ["in turn", "plain"]
    memory = next(one for one in answered["reasons"] if one["name"] == "memory bandwidth")
    if memory["seconds"] is None:
        assert "rank had no CPU for" in memory["evidence"]
    assert "in turn" in memory["evidence"]


def test_wrong_options_are_refused_before_a_launch(tmp_path: Path) -> None:
    for options, said in (
        (("--budget", "soon"), "--budget"),
        (("--budget", "0 s"), "is not a time for launches"),
        (("--launches", "0"), "is not a number of launches"),
        (("--read", "kept"), "exclude each other"),
    ):
        assert said in why(tmp_path, ["true"], *options, status=2).stderr
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_ends_before_its_first_call_is_one_sentence(tmp_path: Path) -> None:
    done = why(tmp_path, ranks(), status=2)  # its arguments are missing
    assert "The program failed (exit status 2) before it made calls of MPI" in done.stderr
    assert "unexpected" not in done.stderr
