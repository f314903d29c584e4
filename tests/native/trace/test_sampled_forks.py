"""Programs that fork, sampled with their children: each has a file of its own, and neither is
damaged."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import msgspec
import pytest

import prepared_assay
from assay.trace.samples.children import wait_for_children
from assay.trace.samples.files import ProcessSamples
from assay.trace.samples.model import ProgramSamples
from assay.trace.samples.names_file import sampled_processes
from sampled_programs import compiled, counts, run_sampled, samples_in
from waiting import wait_for

pytestmark = pytest.mark.slow

FUNCTIONS = ["in_grandchild", "in_child", "in_parent"]
_FOLLOW = {"ASSAY_SAMPLE_FORKS": "1"}


def _program() -> Path:
    return compiled("forks.c", "-O2", "-g", "-pthread")


def _followed(
    folder: Path, kind: str, printed: str, *, follow: bool = True
) -> list[ProcessSamples]:
    """The processes of the program, which must print and end as without the sampler."""
    done = run_sampled(folder, [_program(), kind], more=_FOLLOW if follow else {})
    assert (done.returncode, done.stdout, done.stderr) == (0, printed, "")
    return sampled_processes(folder)


def _by_process(samples: ProgramSamples) -> dict[int, set[str]]:
    """The functions of each process's samples."""
    found: dict[int, set[str]] = defaultdict(set)
    for thread in samples.threads:
        found[thread.process] |= {name for name in counts(samples, FUNCTIONS, thread) if name}
    return found


def test_a_child_and_its_child_have_files_of_their_own(tmp_path: Path) -> None:
    parent, child, grandchild = _followed(tmp_path, "generations", "7\n")
    assert (parent.header.forked, child.header.forked, grandchild.header.forked) == (
        0, parent.header.process, parent.header.process
    )  # fmt: skip
    assert grandchild.header.parent == child.header.process
    assert [one.end is not None and one.end.ended for one in (parent, child, grandchild)] == [
        "exit", "exit", "_exit"
    ]  # fmt: skip
    samples = samples_in(tmp_path)
    assert _by_process(samples) == {
        parent.header.process: {"in_parent"},
        child.header.process: {"in_child"},
        grandchild.header.process: {"in_grandchild"},
    }
    # CPU times are 0.1, 0.2 and 0.3 s; a child's clock begins at its fork.
    for thread, expected in zip(samples.threads, (0.1, 0.2, 0.3), strict=True):
        assert expected <= thread.cpu_time < expected + 0.1
        # A period that ends after the kernel's last tick is not seen, on a busy machine several.
        seen = (len(thread.times) + thread.lost) * samples.period / thread.cpu_time
        assert 0.3 < seen < 1.15
    assert {thread.rank for thread in samples.threads} == {0}
    assert [thread.parent for thread in samples.threads] == [
        0, parent.header.process, child.header.process
    ]  # fmt: skip
    assert not samples.doubts


def test_without_the_request_children_are_left_alone(tmp_path: Path) -> None:
    (parent,) = _followed(tmp_path, "generations", "7\n", follow=False)
    assert parent.forks is None
    assert set(counts(samples_in(tmp_path), FUNCTIONS)) <= {"in_parent", ""}


def test_two_hundred_short_children(tmp_path: Path) -> None:
    """Each uses little more than one period, so some end without a sample, and are counted."""
    parent, *children = _followed(tmp_path, "short", "200\n")
    assert parent.forks is not None and parent.forks.forked == 200
    assert len(children) + parent.forks.unsampled == 200
    assert len(children) > 20
    assert parent.forks.cpu >= 6_000_000 * parent.forks.unsampled
    # The first sample of a child comes after a part of a period that differs among the children.
    assert all(one.end is not None and len(one.times) for one in children)
    (doubt,) = [one for one in samples_in(tmp_path).doubts if "without a sample" in one]
    assert f"{parent.forks.unsampled} of 200 processes" in doubt


def test_a_child_that_a_signal_ends_keeps_most_of_its_samples(tmp_path: Path) -> None:
    parent, child = _followed(tmp_path, "killed", "-15\n")
    assert parent.end is not None and child.end is None
    stands = len(child.times) * child.header.period * 1e-9
    assert stands > 0.02  # of 0.3 s, of which the kernel may not see all periods
    assert any("was ended before it could write" in one for one in samples_in(tmp_path).doubts)


def test_forks_of_two_threads_while_others_are_sampled(tmp_path: Path) -> None:
    parent, *children = _followed(tmp_path, "threads", "10\n")
    assert parent.forks is not None and parent.forks.forked == 10
    samples = samples_in(tmp_path)
    by_process = _by_process(samples)
    assert by_process.pop(parent.header.process) == {"in_parent"}
    assert set(by_process) <= {one.header.process for one in children}
    assert {name for names in by_process.values() for name in names} == {"in_child"}
    # The files are whole: what a reader refuses would have raised.
    assert all(one.end is not None for one in (parent, *children))


def test_vfork_popen_and_system_are_left_alone(tmp_path: Path) -> None:
    parent, *others = _followed(tmp_path, "others", "4\npopen\n3\n")
    assert parent.end is not None and parent.forks is None
    assert all(one.header.forked == 0 for one in others)  # the shells, by exec


def test_a_child_that_runs_another_program(tmp_path: Path) -> None:
    processes = _followed(tmp_path, "exec", "6\n")
    parent, child, program = processes
    assert child.header.process == program.header.process
    assert (child.header.forked, program.header.forked) == (parent.header.process, 0)
    assert child.end is None and program.end is not None
    assert not any("was ended before" in one for one in samples_in(tmp_path).doubts)


def test_a_full_disk_is_said_once_for_all_children(tmp_path: Path) -> None:
    command = ["sh", "-c", f"ulimit -f 0; exec {_program()} generations"]
    done = run_sampled(tmp_path, command, more=_FOLLOW)
    assert (done.returncode, done.stdout) == (0, "7\n")
    assert done.stderr.count("\n") == 1
    assert "The samples of this process can't be written" in done.stderr


def test_workers_of_pythons_multiprocessing(tmp_path: Path) -> None:
    """The pool ends its workers by a signal; a process ends by `_exit`."""
    program = tmp_path / "pool.py"
    program.write_text(
        "import multiprocessing, time\n"
        "def busy(seconds):\n"
        "    end = time.process_time() + seconds\n"
        "    while time.process_time() < end: sum(range(10000))\n"
        "    return 1\n"
        "if __name__ == '__main__':\n"
        "    context = multiprocessing.get_context('fork')\n"
        "    with context.Pool(2) as pool: print(sum(pool.map(busy, [0.1] * 3, 1)))\n"
        "    one = context.Process(target=busy, args=(0.2,)); one.start(); one.join()\n"
        "    print(one.exitcode)\n",
        "utf-8",
    )
    folder = tmp_path / "samples"
    folder.mkdir()
    done = run_sampled(folder, [sys.executable, program], more=_FOLLOW)
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n0\n", "")
    parent, *children = sampled_processes(folder)
    assert {one.header.forked for one in children} == {parent.header.process}
    *_, last = children
    assert last.end is not None and last.end.ended == "_exit"
    assert sum(len(one.times) for one in children) > 10


@pytest.mark.long
def test_the_command_reports_each_process_and_all(tmp_path: Path) -> None:
    words = ["--follow-forks", "--json", "--folder", "kept", "--", str(_program()), "generations"]
    done = prepared_assay.run(
        [sys.executable, "-m", "assay", "profile", *words],
        cwd=tmp_path, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    text = done.stdout.partition("\n")[2]
    found = msgspec.json.decode(text)["samples"]
    first, second, third = found["processes"]
    assert first["computing"] > second["computing"] > third["computing"] > 0.02
    assert (third["parent"], second["parent"]) == (0, third["process"])
    assert first["parent"] == second["process"]
    assert 0.2 < found["seconds"] < 0.8  # of 0.6 s
    assert "3 processes" in done.stderr


def test_a_child_that_outlives_the_command_is_waited_for_a_while_and_named(tmp_path: Path) -> None:
    go = tmp_path / "go"
    folder = tmp_path / "samples"
    folder.mkdir()
    done = run_sampled(folder, [_program(), "daemon", go], more=_FOLLOW)
    try:
        assert (done.returncode, done.stdout) == (0, "left\n")

        def left() -> list[ProcessSamples]:
            return [one for one in sampled_processes(folder) if one.header.forked]

        wait_for(left, 120)
        said: list[str] = []
        (still,) = wait_for_children(folder, said.append, longest=0.2)
        assert still == left()[0].header.process
        assert len(said) == 1 and "1 process runs on; assay waits for at most 200 ms" in said[0]
        assert any("still ran when the samples were read" in one
                   for one in samples_in(folder).doubts)  # fmt: skip
    finally:
        go.touch()
    assert wait_for_children(folder, said.append, longest=120) == []
    assert left()[0].end is not None
    assert not any("still ran" in one for one in samples_in(folder).doubts)
