"""The states of a group's members from the files of ends, by few system calls."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.campaign.jobs.group_ends import GroupEnds
from assay.records.jobs import JobBook, JobEnd, JobEvent

FOLLOWER = """\
import os, sys
from pathlib import Path
from assay.campaign.jobs.group_ends import GroupEnds
ends = GroupEnds(Path(sys.argv[1]), 5000)
ends.look()
for name in ("begin", "end"):
    if name == "end":
        for _ in range(10):
            ends.look()
            assert ends.over(1) is False
    try:
        os.stat(f"/no-such-{name}")
    except OSError:
        pass
"""


def make_group(path: Path, members: int, jobs: int) -> JobBook:
    (path / "jobs").mkdir(parents=True)
    (path / "members").mkdir()
    book = JobBook(path)
    size = members // jobs
    for number in range(1, jobs + 1):
        first = (number - 1) * size
        listed = list(range(first, first + size))
        book.append(JobEvent("submitted", number, time.time(), job=str(number), members=listed))
    return book


def ended(book: JobBook, number: int, task: int, how: str = "complete") -> None:
    book.write_end(JobEnd(number, time.time(), how), task)  # type: ignore[arg-type]


def test_each_new_end_is_counted_once(tmp_path: Path) -> None:
    book = make_group(tmp_path, 12, 3)
    ends = GroupEnds(tmp_path, 12)
    ends.look()
    assert ends.counts == {"missing": 12}
    order = [(number, task) for number in (1, 2, 3) for task in range(4)]
    random.Random(1).shuffle(order)
    for done, (number, task) in enumerate(order, 1):
        (tmp_path / "members" / f"{4 * (number - 1) + task:05d}").mkdir()
        ended(book, number, task, "failed" if done % 3 == 0 else "complete")
        ends.look()
        expected = {"complete": done - done // 3, "ended": done // 3, "missing": 12 - done}
        assert ends.counts == {name: count for name, count in expected.items() if count}
        for each in (1, 2, 3):
            assert ends.over(each) == (sum(n == each for n, _ in order[:done]) == 4)


def test_an_incomplete_line_is_read_when_it_is_complete(tmp_path: Path) -> None:
    book = make_group(tmp_path, 2, 1)
    ended(book, 1, 0)
    whole = book.ends_path(1).read_bytes()
    second = whole.replace(b'"task":0', b'"task":1')
    ends = GroupEnds(tmp_path, 2)
    for part in range(1, len(second)):
        book.ends_path(1).write_bytes(whole + second[:part])
        ends.look()
        assert (ends.counts["complete"], ends.over(1)) == (1, False)
    book.ends_path(1).write_bytes(whole + second)
    ends.look()
    assert (ends.counts["complete"], ends.over(1)) == (2, True)


def test_ends_of_tasks_in_files_of_their_own_are_read_too(tmp_path: Path) -> None:
    book = make_group(tmp_path, 2, 1)
    book.write_end(JobEnd(1, 0.0, "failed", error="x"))
    (tmp_path / "jobs" / "0001.end.json").rename(tmp_path / "jobs" / "0001-1.end.json")
    ended(book, 1, 0)
    assert [(end.how if end else None) for end in (book.end(1, t) for t in (0, 1, 2))] == [
        "complete",
        "failed",
        None,
    ]


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace counts the system calls.")
def test_a_look_at_5000_members_takes_few_system_calls(tmp_path: Path) -> None:
    book = make_group(tmp_path, 5000, 5)
    for member in range(0, 4000, 40):
        (tmp_path / "members" / f"{member:05d}").mkdir()
        ended(book, member // 1000 + 1, member % 1000)
    log = tmp_path / "calls"
    command = ["strace", "-f", "-o", str(log), sys.executable, "-c", FOLLOWER, str(tmp_path)]
    subprocess.run(command, check=True, timeout=120)
    lines = log.read_text().splitlines()
    marks = [k for k, line in enumerate(lines) if "/no-such-" in line]
    assert (marks[1] - marks[0]) / 10 < 50
