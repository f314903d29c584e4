"""What a record states more than once: unreadable values are named, contradictions are decided by
one rule, and suspended time is not use; by the command that users type.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest

import prepared_assay
from assay.cli.app import main
from assay.usage.accounts.values import date, number_of
from usage_logs import FLUX, MONDAY, PBS, SLURM_COMPLETED, SLURM_EVENTS, sacct, sacct_json

DAY = "2024-07-01T"
GOOD = "9|COMPLETED|8|8|10|4"


@pytest.fixture
def usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """`assay usage FILE --json`: the findings of a text, or what is said."""

    def run(text: str, *words: str) -> Any:
        path = tmp_path / "log"
        path.write_text(text)
        with pytest.raises(SystemExit) as left:
            main(["usage", str(path), "--json", *words])
        said = capsys.readouterr()
        return " ".join(said.err.split()) if left.value.code else json.loads(said.out)

    return run


def problems(found: dict[str, Any]) -> dict[str, list[str]]:
    return {each["kind"]: each["places"] for each in found["problems"]}


def hours(found: dict[str, Any]) -> float:
    """Processor time of all jobs."""
    return round(sum(part["use"] for part in found["sizes"]) / 3600, 4)


def table(columns: str, *rows: str) -> str:
    return "\n".join([columns, *rows]) + "\n"


@pytest.mark.parametrize(
    ("time", "why"),
    [
        ("1 May 08:00", "it has no year"),
        ("Ystday 08:00", "it has no year"),
        ("Mon 08:00", "it has no year"),
        ("08:00:00", "it has no year"),
        ("05/01 08:00", "it has no year"),
        ("6 Jun 2012", "not a date that assay knows"),
        ("05/01/2024 08:00", "not a date that assay knows"),
        ("2024-13-01T08:00:00", "not a date that assay knows"),
    ],
)
def test_a_file_without_a_readable_time_is_refused(usage: Any, time: str, why: str) -> None:
    said = usage(sacct(f"1|COMPLETED|{time}|{time}|{time}|4"))
    assert f"Submit is '{time}' in line 2" in said
    assert why in said
    assert "env -u SLURM_TIME_FORMAT sacct -aP" in said


def test_the_refusal_as_users_see_it(tmp_path: Path) -> None:
    path = tmp_path / "jobs.txt"
    path.write_text(sacct("1|COMPLETED|1 May 08:00|1 May 08:00|1 May 10:00|4"))
    done = prepared_assay.run(
        [sys.executable, "-m", "assay", "usage", str(path)], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "Submit is '1 May 08:00' in line 2, and it has no year." in done.stderr


def test_a_time_that_can_not_be_read_is_named(usage: Any) -> None:
    found = usage(sacct(GOOD, "1|COMPLETED|8|1 May 08:00|1 May 10:00|4", "2|FAILED|8|9|soon|4"))
    assert hours(found) == 8
    assert problems(found) == {
        "unreadable time": [
            "line 3: Start '1 May 08:00'", "line 3: End '1 May 10:00'", "line 4: End a text",
        ],
        "no start": ["line 3"],
        "no end": ["line 4"],
    }  # fmt: skip
    assert found["never_started"] == 0
    assert "unset SLURM_TIME_FORMAT" in found["problems"][0]["meaning"]
    shown = usage(sacct(GOOD, "2|FAILED|8|9|soon|4"), "--identify")
    assert problems(shown)["unreadable time"] == ["log:3: End 'soon'"]


@pytest.mark.parametrize("state", ["FAILED", "CANCELLED", "COMPLETED", "TIMEOUT"])
def test_a_start_that_can_not_be_read_is_not_a_job_that_never_started(
    usage: Any, state: str
) -> None:
    found = usage(sacct(GOOD, f"1|{state}|8|1 Jul 08:00|10|4", "2|CANCELLED|8||9|4"))
    assert found["never_started"] == 1
    assert problems(found)["no start"] == ["line 3"]


def test_the_list_of_unreadable_values_is_bounded(usage: Any) -> None:
    rows = [f"{n}|COMPLETED|8|1 May 08:00|10|4" for n in range(10, 60)]
    found = usage(sacct(GOOD, *rows))
    (times, *_) = found["problems"]
    assert (times["count"], len(times["places"])) == (50, 5)


@pytest.mark.parametrize(
    "time",
    [
        f"{DAY}08:00:00", "2024-07-01 08:00:00", f"{DAY}08:00:00.123456", f"{DAY}08:00:00,5",
        f"{DAY}10:00:00+02:00", f"{DAY}08:00:00Z", "2024-07-01 08:00:00 UTC", str(MONDAY + 28800),
        "2024/07/01 08:00:00", "2024-07-01T08:00", "1 Jul 2024 08:00", "01-Jul-2024 08:00:00",
        "Mon Jul  1 08:00:00 2024", "Jul 1, 2024 8:00:00 AM", "Monday, 1 July 2024 08:00:00",
    ],
)  # fmt: skip
def test_dates_that_mean_one_time(usage: Any, time: str) -> None:
    assert date(time) == pytest.approx(MONDAY + 28800, abs=1)
    found = usage(sacct(GOOD, f"1|COMPLETED|{time}|{time}|{MONDAY + 36000}|4"))
    assert (found["jobs"], hours(found)) == (2, pytest.approx(16, abs=0.01))
    assert problems(found) == {}


@pytest.mark.parametrize("time", ["Unknown", "None", "N/A", "", "(null)", "1970-01-01T01:00:00"])
def test_absent_is_not_unreadable(usage: Any, time: str) -> None:
    found = usage(sacct(GOOD, f"1|CANCELLED by 7|{DAY}08:00:00|{time}|{DAY}09:00:00|4"))
    assert (found["jobs"], found["never_started"]) == (2, 1)
    assert problems(found) == {}


@pytest.mark.parametrize(
    ("row", "use", "named"),
    [
        ("1|COMPLETED|8||10|4", 8, {"no start": ["line 3"]}),
        ("1|TIMEOUT|8||10|4", 8, {"no start": ["line 3"]}),
        ("1|OUT_OF_MEMORY|8||10|4", 8, {"no start": ["line 3"]}),
        ("1|NODE_FAIL|8||10|4", 8, {"no start": ["line 3"]}),
        ("1|COMPLETED|8|8||4", 8, {"no end": ["line 3"]}),
        ("1|RUNNING|8|8|9|4", 8, {"state": ["line 3: running, with an end"]}),
        ("1|PENDING|8|8|9|4", 8, {"state": ["line 3: pending, with a start and an end"]}),
        ("1|FAILED|8|9|8|4", 8, {"backwards": ["line 3"]}),
        ("1|COMPLETED|9|8|10|4", 16, {"early": ["line 3"]}),
        ("1|DEADLINE|8||10|4", 8, {}),
        ("1|BOOT_FAIL|8|8|9|4", 12, {}),
        ("1|PREEMPTED|8|8|9|4", 12, {}),
        ("1|CANCELLED by 1001|8|8|9|4", 12, {}),
        ("1|CANCELLED+|8|8|9|4", 12, {}),
        ("1|WONDERFUL|8|8|9|4", 12, {"unreadable value": ["line 3: State a text"]}),
        ("1|COMPLETED|8|8|9|1,024", 1032, {}),
        ("1|COMPLETED|8|8|9|1.024", 8,
         {"unreadable value": ["line 3: AllocCPUS '1.024'"], "no size": ["line 3"]}),
    ],
)  # fmt: skip
def test_states_and_values_of_sacct(
    usage: Any, row: str, use: float, named: dict[str, list[str]]
) -> None:
    found = usage(sacct(GOOD, row))
    # A running job is counted until the end of the log, the latest time in it.
    assert hours(found) == (use if "RUNNING" not in row else 16)
    assert problems(found) == named


COLUMNS = (
    "JobID|State|ExitCode|Submit|Eligible|Start|End|Elapsed|Suspended|CPUTimeRAW|Planned|AllocCPUS"
)


def stated(**others: str) -> str:
    """A job of 4 processors from 8 to 10 o'clock whose columns agree, but for ``others``."""
    values = {
        "JobID": "1", "State": "COMPLETED", "ExitCode": "0:0", "Submit": f"{DAY}07:00:00",
        "Eligible": f"{DAY}07:30:00", "Start": f"{DAY}08:00:00", "End": f"{DAY}10:00:00",
        "Elapsed": "02:00:00", "Suspended": "00:00:00", "CPUTimeRAW": "28800",
        "Planned": "00:30:00", "AllocCPUS": "4", **others,
    }  # fmt: skip
    return table("|".join(values), "|".join(values.values()))


@pytest.mark.parametrize(
    ("others", "use", "named"),
    [
        ({}, 8, {}),
        # Slurm's run time is without the suspended time.
        ({"Elapsed": "01:30:00", "Suspended": "00:30:00", "CPUTimeRAW": "21600"}, 6, {}),
        ({"Suspended": "00:30:00"}, 6, {}),
        ({"Elapsed": "00:10:00"}, 8, {"run time": ["line 2: 600 s, end - start 7200 s"],
                                      "processor time": ["line 2: 28800 s, 4 × 600 s"]}),
        # Clocks were put back, or forward, while the job ran.
        ({"Elapsed": "03:00:00", "CPUTimeRAW": "43200"}, 12, {"clock": ["line 2"]}),
        ({"Elapsed": "01:00:00", "CPUTimeRAW": "14400"}, 4, {"clock": ["line 2"]}),
        ({"End": f"{DAY}07:10:00", "Elapsed": "00:10:00", "CPUTimeRAW": "2400"}, 0.6667,
         {"clock": ["line 2"]}),
        ({"Start": "Unknown"}, 8, {"derived": ["line 2"]}),
        ({"End": "Unknown"}, 8, {"derived": ["line 2"]}),
        ({"Start": "1 May 08:00"}, 8, {"unreadable time": ["line 2: Start '1 May 08:00'"],
                                       "derived": ["line 2"]}),
        ({"Suspended": "05:00:00", "Elapsed": "02:00:00"}, 8, {"suspended": ["line 2"]}),
        ({"Elapsed": "two hours"}, 8, {"unreadable value": ["line 2: Elapsed a text"]}),
        ({"CPUTimeRAW": "7200"}, 8, {"processor time": ["line 2: 7200 s, 4 × 7200 s"]}),
        ({"Planned": "00:05:00"}, 8, {"planned": ["line 2: 300 s, start - eligible 1800 s"]}),
        ({"ExitCode": "1:0"}, 8, {"exit status": ["line 2: 1:0"]}),
        ({"ExitCode": "0:9"}, 8, {"exit status": ["line 2: 0:9"]}),
        ({"State": "FAILED", "ExitCode": "1:0"}, 8, {}),
        ({"AllocCPUS": ""}, 8, {}),  # 28,800 s in 7,200 s
    ],
)  # fmt: skip
def test_columns_are_checked_against_each_other(
    usage: Any, others: dict[str, str], use: float, named: dict[str, list[str]]
) -> None:
    found = usage(stated(**others))
    assert hours(found) == pytest.approx(use, abs=1e-3)
    assert problems(found) == named


@pytest.mark.parametrize(
    ("columns", "row"),
    [
        ("JobID|State|Start|Elapsed|AllocCPUS", f"1|COMPLETED|{DAY}08:00:00|02:00:00|4"),
        ("JobID|State|Start|ElapsedRaw|AllocCPUS", f"1|COMPLETED|{DAY}08:00:00|7200|4"),
        ("JobID|State|End|Elapsed|NCPUS", f"1|COMPLETED|{DAY}10:00:00|02:00:00.123|4"),
        ("JobIDRaw|State|Start|End|NCPUS", f"1|COMPLETED|{DAY}08:00:00|{DAY}10:00:00|4"),
    ],
)
def test_two_of_start_end_and_run_time_are_enough(usage: Any, columns: str, row: str) -> None:
    found = usage(table(columns, row))
    assert hours(found) == 8
    assert problems(found) == {}


@pytest.mark.parametrize(
    ("columns", "value"),
    [("Eligible", f"{DAY}07:30:00"), ("Planned", "00:30:00"), ("Reserved", "00:30:00")],
)
def test_without_a_submission_waits_are_since_jobs_were_eligible(
    usage: Any, columns: str, value: str
) -> None:
    found = usage(
        table(
            f"JobID|State|{columns}|Start|End|AllocCPUS",
            f"1|COMPLETED|{value}|{DAY}08:00:00|{DAY}10:00:00|4",
        )
    )
    assert found["wait"]["mean"] == 1800


def test_suspended_time_is_not_use(usage: Any) -> None:
    """Anywhere: of days, hours, nodes, users, GPUs, and in the machine's size."""
    rows = ["JobID|State|Submit|Start|End|Suspended|AllocCPUS|AllocNodes|AllocTRES|NodeList"]
    for n in range(48):
        start = MONDAY + 3600 * n
        rows.append(f"{n + 1}|COMPLETED|{start}|{start}|{start + 3600}|00:15:00|8|2|"
                    "cpu=8,gres/gpu=4|n[1-2]")  # fmt: skip
    found = usage("\n".join(rows), "--processors", "8")
    assert hours(found) == pytest.approx(0.75 * 8 * 48, rel=1e-6)
    assert found["utilisation"]["value"] == pytest.approx(0.75, abs=1e-5)
    assert found["days"][0]["utilisation"] == pytest.approx(0.75, abs=1e-5)
    assert found["course"]["busy"][1] == pytest.approx(6, abs=1e-4)
    assert found["by_node"]["rows"][0]["busy"][5] == pytest.approx(0.75, abs=1e-3)
    assert found["gpus"]["use"] == pytest.approx(0.75 * 4 * 48 * 3600, rel=1e-5)
    assert found["run"]["mean"] == pytest.approx(2700)
    assert found["states"][0]["utilisation"] == pytest.approx(0.75, abs=1e-5)
    # The machine has as many processors as a job had, suspended or not.
    assert usage("\n".join(rows))["capacity"]["processors"] == 8


def test_sacct_json_is_checked_too(usage: Any) -> None:
    found = usage(sacct_json(1, 8, 10, 4, elapsed=5400, suspended=1800, planned=0))
    assert (hours(found), problems(found)) == (6, {})
    found = usage(sacct_json(1, 8, 10, 4, elapsed=60))
    assert problems(found) == {"run time": ["line 1: 60 s, end - start 7200 s"]}
    text = sacct_json(1, 8, 10, 4) + "\n" + sacct_json(2, 8, 10, 4, start="1 May 08:00")
    assert problems(usage(text)) == {
        "unreadable time": ["line 2: time.start '1 May 08:00'"],
        "no start": ["line 2"],
    }
    found = usage(sacct_json(1, 8, 10, 4, start=0, elapsed={"set": True, "number": 7200}))
    assert (hours(found), list(problems(found))) == (8, ["derived"])


def test_other_formats(usage: Any) -> None:
    flux = json.loads(FLUX)["jobs"]
    flux[0] |= {"t_run": "1 May 08:00", "runtime": 10.0}
    assert problems(usage(json.dumps({"jobs": flux}))) == {
        "unreadable time": ["line 1: t_run '1 May 08:00'"],
        "derived": ["line 1"],
    }
    flux[0] |= {"t_run": MONDAY + 10.5, "runtime": 500.0}
    assert "run time" in problems(usage(json.dumps({"jobs": flux})))
    lines = PBS.splitlines()
    wrong = lines[2].replace(f"start={MONDAY + 600}", "start=08:10:00")
    found = usage("\n".join([lines[3], wrong, ""]))
    assert problems(found)["unreadable time"] == ["line 2: start '08:10:00'"]
    assert "no start" in problems(found)
    long = lines[2].replace("used.walltime=01:00:00", "used.walltime=09:00:00")
    assert problems(usage(long)) == {"run time": ["line 1: 32400 s, end - start 3600 s"]}
    done = SLURM_COMPLETED.splitlines()
    wrong = done[0].replace("StartTime=2024-07-01T00:10:00", "StartTime=00:10")
    assert problems(usage("\n".join([done[2], wrong]))) == {
        "unreadable time": ["line 2: StartTime '00:10'"],
        "no start": ["line 2"],
    }
    events = SLURM_EVENTS.replace(
        "n2|2024-07-03T00:00:00|Unknown", "n2|2024-07-03T00:00:00|3 Jul 9:00"
    )
    found = problems(usage(events + sacct(GOOD)))
    assert found["unreadable time"] == ["line 6: TimeEnd '3 Jul 9:00'", "line 8: TimeStart a text"]


def test_no_time_in_other_formats_is_refused(usage: Any) -> None:
    text = json.dumps({"jobs": [{"id": 1, "t_submit": "Mon 08:00", "t_run": "Mon 08:00",
                                 "result": "COMPLETED", "ncores": 1}]})  # fmt: skip
    assert "t_submit is 'Mon 08:00' in line 1, and it has no year" in usage(text)


def test_counts_of_spreadsheets() -> None:
    assert [number_of(text) for text in ("1,024", "1'024", "12 345 678", "7")] == [
        1024, 1024, 12345678, 7,
    ]  # fmt: skip
    assert [number_of(text) for text in ("1.024", "1,02", ",123", "1,0245", "")] == [-1] * 5
    assert math.isnan(date("01/02/2024 08:00"))
