"""Records that can't be are counted and named, and nothing is dropped without a count."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.usage.accounts.reading import Accounts
from usage_logs import MONDAY, SLURM, read_text

HEAD = "; MaxProcs: 8\n"


def line(job: int, submit: int, wait: int, run: int, processors: int) -> str:
    return f"{job} {submit} {wait} {run} {processors} -1 -1 -1 -1 -1 1 1 1 -1 -1 -1 -1 -1\n"


def found(accounts: Accounts) -> dict[str, list[tuple[int, int]]]:
    return {each.kind: each.places for each in accounts.problems.found()}


@pytest.mark.parametrize(
    ("wrong", "kind", "kept"),
    [
        ("1 2 3\n", "malformed", False),
        ("a" * (1 << 20) + "b\n", "long", False),
        (line(2, 0, 0, 10, 1).replace(" 10 ", " ten ", 1), "malformed", False),
        (line(2, 0, 0, 10, 1).replace(" 10 ", " nan ", 1), "malformed", False),
        (line(2, -5, 0, 10, 1), "negative", False),
        (line(2, 0, -5, 10, 1), "negative", False),
        (line(2, 0, 0, -10, 1), "negative", False),
        (line(2, 0, 0, 10, -7), "negative", False),
        (line(2, 10**17, 0, 10, 1), "range", False),
        (line(2, 0, 0, 10, 10**12), "range", False),
        (line(1, 0, 0, 10, 1), "duplicate", False),
        (line(1, 50, 0, 10, 1), "reused", True),
    ],
)
def test_a_wrong_record(tmp_path: Path, wrong: str, kind: str, kept: bool) -> None:
    log = read_text(tmp_path, HEAD + line(1, 0, 0, 10, 1) + wrong)
    assert found(log) == {kind: [(0, 3)]}
    assert len(log.jobs) == 1 + kept


def test_records_without_a_number_are_not_duplicates(tmp_path: Path) -> None:
    log = read_text(tmp_path, HEAD + 2 * line(-1, 0, 0, 10, 1))
    assert len(log.jobs) == 2
    assert found(log) == {}


def test_places_are_of_the_file_and_the_first_five(tmp_path: Path) -> None:
    log = read_text(tmp_path, line(1, 0, 0, 1, 1), "", HEAD + 7 * "1 2 3\n")
    (empty, malformed) = log.problems.found()
    assert (empty.kind, empty.places) == ("empty", [(1, 1)])
    assert (malformed.count, malformed.places) == (7, [(2, n) for n in range(2, 7)])


def test_times_in_the_wrong_order(tmp_path: Path) -> None:
    rows = SLURM.splitlines()
    backwards = rows[1].replace("100|100|", "200|200|").replace("T02:10", "T00:05")
    early = rows[1].replace("100|100|", "201|201|").replace("T00:10", "T00:00")
    early = early.replace("|2024-07-01T00:00:00|", "|2024-07-01T00:30:00|", 1)
    log = read_text(tmp_path, "\n".join([rows[0], backwards, early]))
    assert found(log) == {"backwards": [(0, 2)], "early": [(0, 3)]}
    # Its use is kept, its wait is not.
    assert len(log.jobs) == 1
    assert log.jobs.number("start").tolist() == [MONDAY]
    assert str(log.jobs.number("submit").tolist()) == "[nan]"


def test_a_record_with_a_wrong_date_does_not_stretch_the_log(tmp_path: Path) -> None:
    jobs = [line(n, 1000 * n, 0, 10, 1) for n in range(1, 10)]
    log = read_text(tmp_path, HEAD + "".join(jobs) + line(10, 40 * 10**7, 0, 10, 1))
    assert found(log) == {"stray": [(0, 11)]}
    assert len(log.jobs) == 9
    # Of jobs that all are apart, none is the wrong one.
    (tmp_path / "apart").mkdir()
    apart = [line(n, 40 * 10**6 * n, 0, 10, 1) for n in range(1, 4)]
    assert len(read_text(tmp_path / "apart", HEAD + "".join(apart)).jobs) == 3
    # Several years of records with a gap are no error.
    (tmp_path / "gap").mkdir()
    later = [line(20 + n, 40 * 10**7 + 1000 * n, 0, 10, 1) for n in range(1, 10)]
    log = read_text(tmp_path / "gap", HEAD + "".join(jobs + later))
    assert len(log.jobs) == 18


def test_a_later_record_replaces_that_of_a_waiting_or_running_job(tmp_path: Path) -> None:
    """As where each day's sacct lists what ran on that day."""
    rows = SLURM.splitlines()
    ended = rows[1]
    running = ended.replace("COMPLETED", "RUNNING").replace("2024-07-01T02:10:00", "Unknown")
    waiting = running.replace("RUNNING", "PENDING").replace("2024-07-01T00:10:00", "Unknown")
    log = read_text(tmp_path, *("\n".join([rows[0], row]) for row in (waiting, running, ended)))
    assert log.jobs.number("end").tolist() == [MONDAY + 7800]
    assert found(log) == {"superseded": [(0, 2), (1, 2)]}
