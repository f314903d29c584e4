"""``assay why`` with real programs that have a planted reason."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

import prepared_assay
from cpu_quota import cpu_quota
from mpi_counts import built_against_mpi
from native_build import TOOLS
from why_answers import agrees, assert_spinner_is_named, findings, found, reason_of, why

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("polite_waiting"),
    pytest.mark.flaky(reruns=1, reason="other work of the machine comes and goes between launches"),
]
STEPS, WORK = "8", "1e7"


@cache
def program() -> str:
    return str(built_against_mpi("planted_reasons.c", "-g"))


def ranks(*words: str) -> list[str]:
    return [str(TOOLS / "mpirun"), "-n", "2", program(), *words]


def each(*befores: Sequence[str], reason: str = "none", work: str = WORK) -> list[str]:
    """A rank per prefix of its command."""
    command = [str(TOOLS / "mpirun")]
    for number, before in enumerate(befores):
        command += [":"] * bool(number) + ["-n", "1", *before, program(), reason, STEPS, work]
    return command


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        pytest.param(("imbalance", STEPS, WORK), "imbalance", id="imbalance"),
        pytest.param(("serial", STEPS, WORK), "serial part", id="serial", marks=pytest.mark.long),
        pytest.param(("late", STEPS, WORK), "late sender", id="late", marks=pytest.mark.long),
        pytest.param(("tiny", "400", WORK), "latency", id="tiny", marks=pytest.mark.long),
        pytest.param(("none", STEPS, WORK), "", id="healthy", marks=pytest.mark.long),
    ],
)
def test_the_planted_reason_comes_first(
    tmp_path: Path, words: tuple[str, ...], reason: str
) -> None:
    answered, others = found(tmp_path, ranks(*words))
    if agrees(answered, others, reason) and reason:
        first = reason_of(answered, reason)
        assert first["outcome"] == "stands out" and first["change"]
        late = {"imbalance": "rank 1", "serial part": "rank 0", "late sender": "rank 0"}
        assert late.get(reason, "whisper") in first["where"]
    assert answered["seconds"] > 0.0 and answered["computing"] > 0.0


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
def test_two_ranks_on_one_cpu_are_a_wrong_binding(tmp_path: Path) -> None:
    cpu = str(min(os.sched_getaffinity(0)))
    pinned = ("taskset", "-c", cpu)
    answered, others = found(tmp_path, each(pinned, pinned))
    assert {one["cpus"] for one in answered["by_rank"]} == {cpu}
    # Both ranks compute on it whatever else it has to do.
    assert max(one["without_cpu"] for one in answered["by_rank"]) > 0.0
    if agrees(answered, others, "binding"):
        assert "2 ranks of " in reason_of(answered, "binding")["evidence"]


@pytest.mark.long
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
def test_a_process_on_the_cpu_of_one_rank_is_named(tmp_path: Path) -> None:
    first, second = sorted(os.sched_getaffinity(0))[:2]
    command = each(("taskset", "-c", str(first)), ("taskset", "-c", str(second)))
    assert_spinner_is_named(tmp_path, command, second)


@pytest.mark.long
def test_a_cpu_quota_is_found(tmp_path: Path) -> None:
    with cpu_quota() as group:
        answered, others = found(tmp_path, each((), group.entering()))
    # Beside enough other work the rank doesn't reach its quota.
    if agrees(answered, others, "CPU quota"):
        assert answered["by_rank"][1]["held"] > 0.0
        assert "rank 1" in reason_of(answered, "CPU quota")["where"]


@pytest.mark.long
@pytest.mark.skipif(shutil.which("qemu-x86_64") is None, reason="needs qemu-x86_64 (qemu-user)")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="emulates this machine's processor")
def test_a_slow_cpu_is_told_from_more_work(tmp_path: Path) -> None:
    """The CPU of one rank is emulated block by block, so each operation takes longer. The work is
    the same.
    """
    answered, others = found(tmp_path, each((), ("qemu-x86_64", "-d", "nochain"), work="1e6"))
    # The fastest of many short rounds counts, so other work doesn't hide it.
    assert answered["by_rank"][1]["speed"] < 0.93 < answered["by_rank"][0]["speed"]
    if agrees(answered, others, "slow CPU"):
        assert reason_of(answered, "slow CPU")["where"].startswith("rank 1")


def test_a_report_lines_and_a_kept_folder(tmp_path: Path) -> None:
    """The terminal, the page, the lines; --read gives the same answer again."""
    options = ("--html", "--launches", "1", "--folder", "kept", "--budget", "0.1 s")
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
    answered = findings(again.stdout)
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
    answered, others = found(tmp_path, ranks("memory", "40", "1e7"), launches=1)
    assert sorted(one["kind"] for one in answered["launches"]) == ["in turn", "plain"]
    memory = reason_of(answered, "memory bandwidth")
    if memory["seconds"] is None:  # other work left the ranks too little time in turn
        assert others.cpus > 0.05 and "in turn" in memory["evidence"], memory
    else:
        assert "of its time when ranks compute in turn" in memory["evidence"]


@pytest.mark.long
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
def test_ranks_that_take_a_cache_line_from_each_other(tmp_path: Path) -> None:
    """Their counters are in one line: in turn, each rank counts much faster, on every machine."""
    answered, others = found(tmp_path, ranks("line", "40", "1e7"))
    if agrees(answered, others, "memory bandwidth"):
        memory = reason_of(answered, "memory bandwidth")
        assert memory["share"] > 0.2
        assert "in turn" in memory["evidence"] and "different cache lines" in memory["change"]


def test_wrong_options_are_refused_before_a_launch(tmp_path: Path) -> None:
    for options, said in (
        (("--budget", "soon"), "--budget"),
        (("--budget", "0 s"), "is not a time for launches"),
        (("--launches", "0"), "is not a number of launches"),
        (("--read", "kept"), "exclude each other"),
    ):
        assert said in why(tmp_path, ["true"], *options, status=2).stderr
    assert "There is no such program" in why(tmp_path, ["no-such-program"], status=2).stderr
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_ends_before_its_first_call_is_one_sentence(tmp_path: Path) -> None:
    done = why(tmp_path, ranks(), status=2)  # its arguments are missing
    assert "The program failed (exit status 2) before it made calls of MPI" in done.stderr
    assert "unexpected" not in done.stderr
