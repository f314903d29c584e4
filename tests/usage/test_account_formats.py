"""Each reader's values, by named numbers from files written by the formats' specifications."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.usage.accounts import NAMES, formats
from assay.usage.accounts.reading import Accounts, read_accounts
from assay.usage.accounts.values import date, exit_status, memory, seconds, whole
from assay.usage.jobs import State
from usage_logs import (
    FLUX,
    LSF,
    MONDAY,
    PBS,
    SAMPLES,
    SLURM,
    SLURM_COMPLETED,
    SLURM_EVENTS,
    SLURM_JSON,
    SLURM_OLD,
    SWF,
    lsf_record,
    read_text,
)

GIB = 2.0**30


def column(accounts: Accounts, name: str) -> list[float | None]:
    """A column with None for what is unknown."""
    values = accounts.jobs.number(name).tolist()
    return [None if math.isnan(value) else value for value in values]


def since(accounts: Accounts, name: str) -> list[float | None]:
    """A column of times, after ``MONDAY``."""
    return [None if value is None else value - MONDAY for value in column(accounts, name)]


def names(accounts: Accounts, name: str) -> list[str]:
    listed = {"user": accounts.jobs.users, "group": accounts.jobs.groups}
    listed["queue"] = accounts.jobs.queues
    return [listed[name][code] for code in accounts.jobs.code(name)]


def states(accounts: Accounts) -> list[State]:
    return [State(code) for code in accounts.jobs.code("state")]


def found(accounts: Accounts) -> dict[str, list[tuple[int, int]]]:
    """The places of problems by kind."""
    return {each.kind: each.places for each in accounts.problems.found()}


def test_swf(tmp_path: Path) -> None:
    log = read_text(tmp_path, SWF)
    assert log.formats == ["Standard Workload Format"]
    assert since(log, "submit") == [0, None, 200, 300, 400]
    assert since(log, "start") == [60, 100, 210, None, 400]
    assert since(log, "end") == [3660, 200, None, None, 450]
    # Where the allocated size is unknown, the requested one.
    assert column(log, "processors") == [8, 4, 4, 2, 2]
    assert column(log, "requested_time") == [7200, 100, 300, 300, 60]
    # KiB per processor.
    assert column(log, "used_memory")[0] == 8 * 2.0**20
    assert column(log, "requested_memory")[0] == 16 * 2.0**20
    assert names(log, "user") == ["3", "4", "4", "3", "3"]
    assert names(log, "group") == ["1", "1", "", "1", "1"]
    assert names(log, "queue") == ["2", "2", "2", "2", ""]
    assert states(log)[:2] == [State.COMPLETED, State.FAILED]
    assert states(log)[3] == State.CANCELLED
    machine = log.machine
    assert (machine.processors, machine.nodes, machine.zone) == (16, 4, "Europe/Stockholm")
    assert (machine.records, machine.calendar, machine.timeouts) == (5, True, False)


def test_swf_partial_executions_are_not_jobs(tmp_path: Path) -> None:
    """Status 2 to 4 are parts of a checkpointed job, whose whole has a line of its own."""
    part = "9 0 0 10 1 -1 -1 1 60 -1 {} 1 1 -1 1 -1 -1 -1\n"
    log = read_text(tmp_path, SWF + "".join(part.format(status) for status in (2, 3, 4)))
    assert len(log.jobs) == 5
    assert found(log) == {"partial": [(0, 13), (0, 14), (0, 15)]}


def test_slurm(tmp_path: Path) -> None:
    log = read_text(tmp_path, SLURM)
    assert since(log, "submit") == [0, 0, 1800, 10800, 10800]
    assert since(log, "start") == [600, 3600, None, None, 12600]
    assert since(log, "end") == [7800, 7200, None, None, None]
    assert column(log, "processors") == [8, 1, None, 2, 2]
    assert column(log, "nodes") == [2, 1, None, 1, 1]
    assert column(log, "gpus") == [4, 0, None, None, 1]
    assert column(log, "requested_time") == [86400, 3600, None, 172800, 150]
    # Of the job; 4 GiB per CPU; and 4 GiB per node.
    assert column(log, "requested_memory") == [16 * GIB, 4 * GIB, None, 4 * GIB, 4 * GIB]
    # The step that used most.
    assert column(log, "used_memory")[0] == 3 * GIB
    assert states(log) == [
        State.COMPLETED, State.TIMEOUT, State.CANCELLED, State.PENDING, State.RUNNING,
    ]  # fmt: skip
    assert names(log, "group") == ["phys", "chem", "chem", "chem", "phys"]
    assert column(log, "number") == [100, 102, 103, 104, 105]
    assert column(log, "array") == [None, 101, None, None, None]
    assert found(log) == {"malformed": [(0, 9)]}


def test_slurm_of_2020(tmp_path: Path) -> None:
    """ReqGRES and ReqMem are per node or per CPU."""
    log = read_text(tmp_path, SLURM_OLD)
    assert column(log, "gpus") == [4, 0]
    assert column(log, "requested_memory") == [32 * GIB, 8 * GIB]


def test_slurm_node_events(tmp_path: Path) -> None:
    log = read_text(tmp_path, SLURM_EVENTS, SLURM)
    assert log.formats == ["Slurm (sacctmgr show event)", "Slurm (sacct)"]
    sizes = [(each.start - MONDAY, each.processors) for each in log.machine.sizes]
    assert sizes == [(0, 16), (86400, 32)]
    outages = [(o.node, o.start - MONDAY, o.end - MONDAY) for o in log.machine.outages]
    assert outages == [("n1", 21600, 43200), ("n1", 36000, 64800), ("n2", 172800, math.inf)]
    assert found(log) == {
        "malformed": [(1, 9)],
        "unreadable time": [(0, 8)],
        "backwards": [(0, 7)],
    }


def test_slurm_json(tmp_path: Path) -> None:
    log = read_text(tmp_path, SLURM_JSON)
    assert since(log, "start") == [60, None]
    assert since(log, "end") == [3660, None]
    assert column(log, "processors") == [8, 3]
    assert column(log, "gpus") == [4, 0]
    assert column(log, "requested_time") == [3600, 3600]
    assert column(log, "requested_memory")[0] == GIB
    assert column(log, "used_memory")[0] == 5
    assert column(log, "array")[0] == 40
    assert states(log) == [State.TIMEOUT, State.PENDING]
    assert list(found(log)) == ["malformed"]
    # Its line is that of its first character.
    (place,) = found(log)["malformed"]
    assert SLURM_JSON.split("\n")[place[1] - 1].strip() == "{"
    assert '"job_id": 44' in SLURM_JSON.split("\n")[place[1]]


def test_slurm_completed(tmp_path: Path) -> None:
    log = read_text(tmp_path, SLURM_COMPLETED)
    assert log.formats == ["Slurm (jobcomp/filetxt)"]
    assert column(log, "number") == [7, 8, 10]
    assert since(log, "submit") == [0, 300, 300]
    assert since(log, "start") == [600, None, 1800]
    assert since(log, "end") == [4200, None, 1890]
    assert column(log, "processors") == [8, None, 2]
    assert column(log, "nodes") == [2, None, 1]
    assert column(log, "gpus") == [4, 0, 0]
    assert column(log, "requested_time") == [7200, None, 300]
    assert column(log, "requested_memory") == [16 * GIB, None, None]
    assert column(log, "array") == [None, None, 9]
    assert names(log, "user") == ["ann", "bob", "bob"]
    assert names(log, "group") == ["proj", "chem", "chem"]
    assert names(log, "queue") == ["batch", "long", "long"]
    assert states(log) == [State.COMPLETED, State.CANCELLED, State.NODE_FAILURE]
    assert (log.machine.local, log.machine.at_ends) == (True, True)
    assert found(log) == {"malformed": [(0, 4)]}


def test_pbs(tmp_path: Path) -> None:
    log = read_text(tmp_path, PBS)
    by_start = sorted(
        zip(since(log, "start"), since(log, "end"), states(log), strict=True), key=str
    )
    assert by_start == sorted(
        [
            (600, 4200, State.COMPLETED),
            (600, 2400, State.TIMEOUT),
            (None, None, State.CANCELLED),
            # The requeued part, whose end is the record's local time less two hours.
            (4800, 8400, State.PREEMPTED),
            (10800, None, State.RUNNING),
        ],
        key=str,
    )
    assert column(log, "processors")[:2] == [8, 4]
    assert column(log, "nodes")[:2] == [2, 1]
    assert column(log, "gpus")[:2] == [2, 0]
    assert column(log, "requested_time")[:2] == [7200, 1800]
    assert column(log, "requested_memory")[0] == 16 * GIB
    assert column(log, "used_memory")[0] == GIB
    assert column(log, "array")[:2] == [None, 10]
    assert names(log, "queue")[:2] == ["work", "work"]
    assert log.machine.starts
    assert found(log)["malformed"] == [(0, 9)]


def test_lsf(tmp_path: Path) -> None:
    log = read_text(tmp_path, LSF)
    assert since(log, "submit") == [0, 0]
    assert since(log, "start") == [60, 60]
    assert since(log, "end") == [3600, 3600]
    assert column(log, "processors") == [3, 16]
    assert column(log, "nodes") == [2, 1]
    assert column(log, "used_memory") == [2 * 2.0**20, 2 * 2.0**20]
    assert column(log, "array") == [None, 8]
    assert names(log, "user") == ["ann", "ann"]
    assert names(log, "group") == ["phys", "phys"]
    assert states(log) == [State.COMPLETED, State.TIMEOUT]
    assert log.machine.at_ends
    assert found(log) == {"malformed": [(0, 4)]}


@pytest.mark.parametrize(
    ("reason", "state"),
    [
        (16, State.OUT_OF_MEMORY),
        (1, State.PREEMPTED),
        (14, State.CANCELLED),
        (0, State.FAILED),
    ],
)
def test_lsf_reasons(tmp_path: Path, reason: int, state: State) -> None:
    log = read_text(tmp_path, lsf_record(7, slots=["n1"], status=32, reason=reason))
    assert states(log) == [state]


@pytest.mark.parametrize(
    ("status", "state"),
    [(9, State.CANCELLED), (143 << 8, State.CANCELLED), (255 << 8, State.FAILED)],
)
def test_lsf_before_reasons_were_recorded(tmp_path: Path, status: int, state: State) -> None:
    """The record of older releases ends after the spool files; status is that of wait(2)."""
    line = lsf_record(7, slots=["n1"], status=32, reason=0).partition(' "" "" 0 "" 0')[0]
    log = read_text(tmp_path, line.replace('"phys" 0', f'"phys" {status}'))
    assert states(log) == [state]


def test_flux(tmp_path: Path) -> None:
    log = read_text(tmp_path, FLUX)
    assert since(log, "submit") == [0.5, 1.0, 1.0]
    assert since(log, "start") == [10.5, 2.0, None]
    assert since(log, "end") == [20.5, None, None]
    assert column(log, "processors") == [8, 4, 2]
    assert column(log, "requested_time") == [60, None, None]
    assert states(log) == [State.TIMEOUT, State.RUNNING, State.PENDING]
    assert names(log, "user") == ["ann", "1002", "1002"]
    lines = FLUX.removeprefix('{"jobs": [').removesuffix("]}").replace("}, {", "}\n{")
    (tmp_path / "below").mkdir()
    assert since(read_text(tmp_path / "below", lines), "submit") == [0.5, 1.0, 1.0]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_format_is_recognised_by_its_content_alone(name: str) -> None:
    head = SAMPLES[name]
    taken = [module for module in NAMES if formats()[module].takes(head)]
    assert taken[0] == name.removesuffix("_old")


def test_gzip_byte_order_mark_and_line_ends_make_no_difference(tmp_path: Path) -> None:
    plain = read_text(tmp_path, SWF)
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(b"\xef\xbb\xbf" + SWF.replace("\n", "\r\n").encode()))
    assert column(read_accounts([packed]), "end") == column(plain, "end")


def test_rotated_files_are_one_log(tmp_path: Path) -> None:
    """A job that starts in one file ends in the next; the order of files doesn't matter here."""
    lines = PBS.splitlines(keepends=True)
    log = read_text(tmp_path, "".join(lines[:2]), "".join(lines[2:]))
    assert len(log.jobs) == len(read_text(tmp_path, PBS).jobs)
    assert State.RUNNING not in states(log)[:2]


def test_a_damaged_gzip_keeps_what_came_before(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress((SWF + SWF.splitlines()[-1] * 200).encode(), 0)[:600])
    log = read_accounts([path])
    assert 1 <= len(log.jobs) <= 5
    assert "truncated" in found(log)


def test_a_damaged_document_keeps_what_came_before(tmp_path: Path) -> None:
    log = read_text(tmp_path, SLURM_JSON[: SLURM_JSON.index('"job_id": 43')])
    assert len(log.jobs) == 1
    assert "truncated" in found(log)


def test_files_that_are_no_logs(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="no accounting format"):
        read_text(tmp_path, "Dear Sir,\n")
    with pytest.raises(AssayError, match="no jobs") as error:
        read_text(tmp_path, "", " \n")
    assert error.value.fix == "Records that could not be used: 2 × empty (log0:1)."
    with pytest.raises(AssayError, match="can't be read"):
        read_accounts([tmp_path / "absent"])


def test_exit_statuses() -> None:
    assert [exit_status(text) for text in ("0", "-29", "271")] == [0, -29, 271]
    for text in ("", "--9", "-", "1.0", "\u0661", "9" * 30):
        assert exit_status(text) is None


def test_values() -> None:
    assert [seconds(text) for text in ("1-02:03:04", "02:30", "2-3", "90")] == [
        86400 + 7384, 150, 2 * 86400 + 3 * 3600, 90,
    ]  # fmt: skip
    assert math.isnan(seconds("UNLIMITED"))
    assert [memory(text) for text in ("4000M", "1.5G", "2048kb", "7")] == [
        4000 * 2.0**20, 1.5 * GIB, 2048 * 1024, 7,
    ]  # fmt: skip
    assert memory("2", "M") == 2 * 2.0**20
    assert date("2024-07-01T00:00:00") == MONDAY
    assert math.isnan(date("2024-02-30T00:00:00"))
    assert math.isnan(date("Unknown"))
    assert [whole(value) for value in ("12", "-1", "1.5", 3.0, True, None)] == [
        12,
        -1,
        -1,
        3,
        -1,
        -1,
    ]
