"""Files as strangers have them, read by the command that they type: several answers in one file,
text between, encodings, layouts, and output that holds no accounts.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import sys
from pathlib import Path
from typing import Any

import pytest

import prepared_assay
from assay.cli.app import main
from usage_logs import (
    FLUX,
    LSF,
    MONDAY,
    PBS,
    SAMPLES,
    SLURM,
    SLURM_COMPLETED,
    SLURM_EVENTS,
    SLURM_FIXED,
    SWF,
    WITHOUT_JOBS,
    lsf_record,
    sacct,
    sacct_json,
    swf_of,
)

NOISE = "ann@login:~> module load slurm\nLoading slurm/23.11\n+ sacct -aP -S now-1days\n"


@pytest.fixture
def usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """`assay usage FILE... --json` with a file for each text: its findings, or what it says."""

    def run(*texts: str | bytes, words: tuple[str, ...] = ()) -> Any:
        paths = []
        for number, text in enumerate(texts):
            path = tmp_path / f"log{number}"
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
            paths.append(str(path))
        with pytest.raises(SystemExit) as left:
            main(["usage", *paths, "--json", *words])
        said = capsys.readouterr()
        if left.value.code:
            assert "Traceback" not in said.err
            return " ".join(said.err.split())
        return json.loads(said.out)

    return run


WITH_JOBS = sorted(set(SAMPLES) - WITHOUT_JOBS)


def problems(found: dict[str, Any]) -> dict[str, list[str]]:
    return {each["kind"]: each["places"] for each in found["problems"]}


def jobs(found: dict[str, Any]) -> tuple[int, int, float]:
    """Jobs, those that never started, and the hours of processor time."""
    use = sum(part["use"] for part in found["sizes"]) / 3600
    return found["jobs"], found["never_started"], round(use, 3)


TWICE = {
    "sacct": (sacct("1|COMPLETED|8|8|10|4"), sacct("2|COMPLETED|8|9|10|2"), (2, 0, 10.0)),
    "sacct_json": (sacct_json(1, 8, 10, 4), sacct_json(2, 9, 10, 2), (2, 0, 10.0)),
    "flux": (
        FLUX,
        json.dumps({"jobs": [{"id": 7, "t_submit": MONDAY, "t_run": MONDAY, "ncores": 2,
                              "t_cleanup": MONDAY + 3600, "result": "COMPLETED"}]}),
        (4, 1, 6.02),
    ),
    "swf": (swf_of([(1, 0, 0, 3600, 2)]), swf_of([(2, 0, 60, 3600, 2)]), (2, 0, 4.0)),
    "pbs": (PBS.splitlines()[2], PBS.splitlines()[3], (2, 0, 10.0)),
    "lsf": (
        lsf_record(7, slots=["n1"], status=64, reason=0),
        lsf_record(8, slots=["2*n1"], status=64, reason=0),
        (2, 0, 2.95),
    ),
    "jobcomp": (SLURM_COMPLETED.splitlines()[0], SLURM_COMPLETED.splitlines()[2], (2, 0, 8.05)),
}  # fmt: skip


@pytest.mark.parametrize("between", ["", "\n", NOISE, "\r\n"])
@pytest.mark.parametrize("name", TWICE)
def test_two_answers_in_one_file(usage: Any, name: str, between: str) -> None:
    """Appended by a nightly job, or a terminal's log with prompts: none is lost without a word."""
    first, second, expected = TWICE[name]
    first = first.rstrip("\n")
    join = between if name in ("sacct_json", "flux") or between.startswith("\n") else "\n" + between
    found = usage(first + join + second)
    assert jobs(found) == expected
    assert set(problems(found)) <= ({"other text"} if between == NOISE else set())
    if between == NOISE:
        line = first.count("\n") + join.startswith("\n") + 1
        named = problems(found)["other text"]
        # Text right behind a document is on its last line.
        assert [int(place.split()[1]) for place in named] == [line, line + 1, line + 2]


def test_json_one_per_line_and_lists(usage: Any) -> None:
    one, two = sacct_json(1, 8, 10, 4), sacct_json(2, 9, 10, 2)
    objects = [json.loads(text)["jobs"][0] for text in (one, two)]
    for text in (
        "\n".join(json.dumps(each) for each in objects),
        json.dumps(objects, indent=2),
        one + two,
        json.dumps({"meta": {"Slurm": {}}, "errors": [], "jobs": objects}, indent=0),
        json.dumps({"warnings": [{"a": 1}], "jobs": objects}, indent=4).replace("\n", "\r\n"),
    ):
        assert jobs(usage(text)) == (2, 0, 10.0), text


def test_an_answer_that_was_cut_is_named_and_the_next_one_read(usage: Any) -> None:
    one, two = sacct_json(1, 8, 10, 4), sacct_json(2, 9, 10, 2)
    found = usage(one + "\n" + one.replace('"job_id": 1', '"job_id": 3')[:200] + "\n" + two)
    assert jobs(found) == (2, 0, 10.0)
    assert problems(found) == {"truncated": ["line 2"]}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(
            first,
            second,
            # A ring through all formats is quick.
            marks=[] if (row + 1) % len(WITH_JOBS) == column else pytest.mark.long,
        )
        for row, first in enumerate(WITH_JOBS)
        for column, second in enumerate(WITH_JOBS)
    ],
)
def test_a_file_that_changes_its_format(usage: Any, first: str, second: str) -> None:
    """The jobs are those of two files."""
    json_both = {first, second} == {"flux", "slurm_json"}
    alone = usage(SAMPLES[first], SAMPLES[second])
    found = usage(SAMPLES[first].rstrip("\n") + "\n" + SAMPLES[second])
    assert set(found["formats"]) == set(alone["formats"]) or json_both
    if json_both:  # documents of two schedulers: those of the second are named
        assert found["jobs"] < alone["jobs"]
        assert "malformed" in problems(found)
    else:
        assert found["jobs"] == alone["jobs"]


def test_text_before_the_first_record(usage: Any) -> None:
    for name, text in SAMPLES.items():
        if name not in WITHOUT_JOBS:
            found = usage(NOISE + text)
            assert found["jobs"] == usage(text)["jobs"], name
            assert problems(found)["other text"] == ["line 1", "line 2", "line 3"]


TABLE = sacct("1|COMPLETED|8|8|10|4", "2|FAILED|8|9|10|2")


def _other_delimiter(delimiter: str) -> str:
    return TABLE.replace("|", delimiter)


LAYOUTS = {
    "parsable": TABLE.replace("\n", "|\n"),
    "separators cut off": TABLE.replace("\n", "|\n", 1),
    "blanks at the ends": TABLE.replace("\n", "  \n"),
    "padded": TABLE.replace("|", " | "),
    "padded header": TABLE.replace("AllocCPUS", "AllocCPUS "),
    "comma": _other_delimiter(","),
    "semicolon": _other_delimiter(";"),
    "tab": _other_delimiter("\t"),
    "two characters": _other_delimiter("::::"),
    "caret": _other_delimiter("^"),
    "quoted": '"' + _other_delimiter('","').replace("\n", '"\n"').rstrip('"'),
    "small letters": TABLE.replace("JobID|State|Submit|Start|End|AllocCPUS",
                                   "jobid|state|submit|start|end|alloccpus"),
    "repeated header": TABLE + TABLE.split("\n")[0] + "\n",
    "fixed width": SLURM_FIXED,
    "crlf": TABLE.replace("\n", "\r\n"),
    "cr": TABLE.replace("\n", "\r"),
    "zeros": TABLE.replace("\n2", "\n" + "\0" * 50 + "2"),
    "blank lines": TABLE.replace("\n", "\n\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts_of_sacct(usage: Any, name: str) -> None:
    found = usage(LAYOUTS[name])
    assert jobs(found) == (2, 0, 10.0)
    assert [part["name"] for part in found["states"]] == ["completed", "failed"]
    assert problems(found) == ({"zeros": ["line 3"]} if name == "zeros" else {})


FORMS = [
    "utf-8-sig",
    "utf-16",
    "utf-16-le",
    "utf-16-be",
    "crlf",
    "cr",
    "gzip",
    "gzips",
    "xz",
    "bzip2",
]


@pytest.mark.parametrize(
    ("form", "name"),
    [
        pytest.param(form, name, marks=[] if (row + 1) % 4 == column % 4 else pytest.mark.long)
        for row, form in enumerate(FORMS)
        for column, name in enumerate(WITH_JOBS)
    ],
)
def test_encodings_and_compression(usage: Any, name: str, form: str) -> None:
    text = SAMPLES[name]
    data = text.encode()
    half = text.index("\n", len(text) // 2) if text.count("\n") > 2 else len(text)
    changed: dict[str, bytes] = {
        "crlf": text.replace("\n", "\r\n").encode(),
        "cr": text.replace("\n", "\r").encode(),
        "gzip": gzip.compress(data),
        "gzips": gzip.compress(data[:half]) + gzip.compress(data[half:]) + b"\0" * 100,
        "xz": lzma.compress(data),
        "bzip2": bz2.compress(data[:half]) + bz2.compress(data[half:]),
    }
    other = usage(changed[form] if form in changed else text.encode(form))
    plain = usage(text)
    del plain["utc"], other["utc"]
    assert other == plain


def test_names_of_before_utf_8_stay_apart(usage: Any) -> None:
    text = "JobID|State|Submit|Start|End|AllocCPUS|User\n" + "".join(
        f"{n}|COMPLETED|2024-07-01T08:00:00|2024-07-01T08:00:00|2024-07-01T09:00:00|1|m{c}ller\n"
        for n, c in enumerate("üöü", 1)
    )
    for encoding in ("latin-1", "utf-8"):
        found = usage(text.encode(encoding), words=("--identify",))
        assert [part["name"] for part in found["users"]] == ["müller", "möller"]


@pytest.mark.parametrize(
    ("packed", "count"), [(gzip.compress, 3000), (lzma.compress, 3000), (bz2.compress, 25000)]
)
def test_a_damaged_file_keeps_what_came_before(usage: Any, packed: Any, count: int) -> None:
    """A block of bzip2 is up to 900 kB of the text."""
    rows = [(n, 7919 * n % 90001, n % 977, n * 31 % 4093, 1 + n % 7) for n in range(1, count)]
    text = swf_of(rows)
    data = packed(text.encode())
    found = usage(data[: 9 * len(data) // 10])
    assert 200 < found["jobs"] < count - 1
    assert "truncated" in problems(found)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"\x28\xb5\x2f\xfd" + bytes(50), ("compressed with zstd", "zstd -d log0")),
        (b"PK\x03\x04" + bytes(50), ("zip archive", "unzip log0")),
        (b"x" * 257 + b"ustar" + bytes(300), ("tar archive", "tar -xf")),
        ("; Version: 2.2\n" + 3 * ("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21\n"),
         ("lines have 21 numbers", "has 18", "NF = 18")),
        ("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n", ("lines have 17 numbers", "append -1")),
        ("JobID           JobName  Partition    Account  AllocCPUS      State ExitCode \n"
         "------------ ---------- ---------- ---------- ---------- ---------- -------- \n"
         "3                    sh      batch       phys          1  COMPLETED      0:0 \n",
         ("sacct without the columns Start and End", "sacct -aP")),
        ("JobID|Start|End\n1|2024-07-01T08:00:00|2024-07-01T09:00:00\n",
         ("without the column State", "sacct -aP")),
        ("JobID|State|Elapsed\n1|COMPLETED|01:00:00\n", ("without the columns Start and End",)),
        ("1|a|COMPLETED|2024-07-01T08:00:00|2024-07-01T09:00:00|4\n", ("--noheader", "sacct -aP")),
        ("JobID    JobName      State\n3    sh   COMPLETED\n", ("line of dashes", "sacct -aP")),
        ("  JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n"
         "     12     batch     hpl      ann  R       1:40      2 n[1-2]\n", ("`squeue`", "sacct")),
        ("PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\nb* up infinite 2 idle n[1-2]\n",
         ("`sinfo`", "sacct -aP")),
        ("JobId=12 JobName=hpl\n   UserId=ann(1001) GroupId=phys(100) MCS_label=N/A\n",
         ("`scontrol show job`", "sacct -aP")),
        ("NodeName=n1 Arch=x86_64 CoresPerSocket=8\n", ("`scontrol show`",)),
        ("Job id            Name             User              Time Use S Queue\n"
         "----------------  ---------------- ----------------  -------- - -----\n",
         ("`qstat`", "accounting")),
        ("\nserver: \n                                                            Req'd  Req'd\n"
         "Job ID          Username Queue    Jobname    SessID NDS TSK Memory Time  S Time\n",
         ("`qstat`", "accounting")),
        ("Job Id: 12.server\n    Job_Name = hpl\n", ("`qstat`",)),
        ('{\n"timestamp":1,\n"pbs_version":"20.0",\n"Jobs":{}}\n', ("`qstat -F json`",)),
        ("JOBID   USER    STAT  QUEUE      FROM_HOST   EXEC_HOST   JOB_NAME   SUBMIT_TIME\n"
         "12      ann     RUN   normal     login       n1          hpl        Jul  1 08:00\n",
         ("`bjobs`", "lsb.acct")),
        ("       JOBID USER     NAME       ST NTASKS NNODES     TIME INFO\n",
         ("`flux jobs`", "--json")),
        ("job-ID  prior   name       user         state submit/start at\n", ("Grid Engine",)),
        ("id,begin,finish,cores\n1,2,3,4\n", ("columns 'id, begin, finish, cores'", "JobID")),
        ("sacct: error: slurmdbd: Unknown error\n", ("failed `sacct`",)),
        ('{"runs": []}\n', ("JSON without a list `jobs`",)),
        ("Dear Sir,\n", ("no accounting format",)),
    ],
)  # fmt: skip
def test_refusals_say_what_is_missing(usage: Any, text: str | bytes, said: tuple[str, ...]) -> None:
    answer = usage(text)
    assert isinstance(answer, str)
    for words in said:
        assert words in answer


EMPTY = {
    "sacct_json": '{"jobs":[],"meta":{}}',
    "sacct_json of today": json.dumps({"meta": {"Slurm": {}}, "errors": [], "jobs": []}, indent=1),
    "flux": '{"jobs": []}\n',
    "sacct": SLURM.splitlines()[0] + "\n",
    "fixed width": "\n".join(SLURM_FIXED.splitlines()[:2]) + "\n",
    "swf": "; Version: 2.2\n; MaxProcs: 16\n",
    "pbs": "07/01/2024 02:00:00;L;license;floating license hour:3 day:3\n",
    "lsf": LSF.splitlines()[0] + "\n",
}


@pytest.mark.parametrize("name", EMPTY)
def test_an_empty_answer_is_a_time_without_jobs(usage: Any, name: str) -> None:
    found = usage(EMPTY[name], TABLE, EMPTY[name])
    assert jobs(found) == (2, 0, 10.0)
    assert problems(found) == {"no jobs": ["file 1, line 1", "file 3, line 1"]}
    said = usage(EMPTY[name])
    assert "holds no jobs" in said
    assert "Each file is valid but has no jobs" in said


def test_other_text_alone_is_no_empty_answer(usage: Any) -> None:
    said = usage(TABLE.split("\n")[0] + "\n" + NOISE)
    assert "3 × other text (log0:2)" in said
    assert "is valid" not in said


def test_node_events_are_no_empty_answer(usage: Any) -> None:
    assert "no jobs" not in problems(usage(SLURM_EVENTS, SLURM))


def verdict(folder: Path, text: str) -> str:
    """What a new process prints."""
    path = folder / "log"
    path.write_text(text)
    done = prepared_assay.run(
        [sys.executable, "-m", "assay", "usage", str(path)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return " ".join(done.stdout.split())


def test_what_one_job_can_not_say(tmp_path: Path) -> None:
    said = verdict(tmp_path, sacct("1|COMPLETED|8|8|10|4"))
    assert "it has only one job, which doesn't define a period" in said
    assert "The job ran for 2 h on 4 processors." in said
    assert "No processor was available" not in said
    assert "0%" not in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (swf_of([(1, 0, 0, 60, 2)], processors=8), "only one job, which doesn't define a period"),
        (PBS.splitlines()[2] + "\n", "only one job, which doesn't define a period"),
        (sacct("1|COMPLETED|8|8|10|4", "2|COMPLETED|8|9|11|4"), "All its 2 jobs were recorded at"),
        (sacct("1|PENDING|8|||4", "2|PENDING|9|||4"), "None of its 2 jobs ran"),
        (sacct("1|CANCELLED by 7|8||9|4", "2|CANCELLED|9||9|4"), "None of its 2 jobs ran"),
        (sacct("1|PENDING|8|||4"), "Its one job did not run"),
    ],
)  # fmt: skip
def test_logs_that_can_not_say_it(usage: Any, text: str, said: str) -> None:
    found = usage(text)
    use = found["utilisation"]
    assert use["value"] is None
    assert use["reasons"] == [use["reasons"][0]]
    assert said in use["reasons"][0]


def test_jobs_without_any_time_are_refused(usage: Any) -> None:
    said = usage("JobID|State|Start|End\n1|PENDING|Unknown|Unknown\n2|PENDING|Unknown|Unknown\n")
    assert "None of the 2 jobs has a time" in said
    assert "SWF" not in said
    assert SWF
