"""``assay profile`` with real programs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

import polars
import pytest

import prepared_assay
from assay.campaign.commands.profile_program import new_profile_folder
from mpi_counts import compile_against_mpi
from native_build import TOOLS
from profiles import profiled_program
from slurm_lab import running_slurm
from timeline_page import Page

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("patient_ranks")]

ITERATIONS = 50


def _profile(
    folder: Path,
    *words: str | Path,
    options: tuple[str, ...] = (),
    status: int = 0,
    stdin: IO[bytes] | None = None,
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "assay", "profile", *options, "--", *map(str, words)]
    done = prepared_assay.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False, stdin=stdin
    )
    assert done.returncode == status, done.stderr + done.stdout
    return done


def _reading(folder: Path, ranks: int) -> Path:
    """A script that reads its number of iterations, and prints it."""
    script = folder / "reading"
    run = f"exec {TOOLS / 'mpirun'} -n {ranks} {profiled_program()}"
    script.write_text(f'#!/bin/sh\nread -r steps || exit 9\necho "steps $steps"\n{run} $steps\n')
    script.chmod(0o755)
    return script


def _findings(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout[done.stdout.index("{") :])
    return found


def test_a_known_pattern_is_found(tmp_path: Path) -> None:
    """Counts, bytes and call sites are exact; a rank computes at least as long as it was told."""
    program = [TOOLS / "mpirun", "-n", "3", profiled_program(), str(ITERATIONS)]
    done = _profile(tmp_path, *program, options=("--json", "--folder", "kept"))
    found = _findings(done)
    assert (found["size"], found["status"], found["absent"]) == (3, 0, [])
    assert found["endings"] == {"finalize": 3}
    calls = {each["function"]: (each["calls"], each["bytes"]) for each in found["functions"]}
    every = 3 * ITERATIONS
    assert calls == {
        "Waitall": (every, 0),
        "Allreduce": (every, 8 * every),
        "Isend": (every, 8000 * every),
        "Irecv": (every, 8000 * every),
    }
    assert found["sent"] == [
        {"sender": rank, "receiver": (rank + 1) % 3, "messages": ITERATIONS,
         "bytes": 8000 * ITERATIONS}
        for rank in range(3)
    ]  # fmt: skip
    for rank in found["ranks"]:
        assert rank["computing"] >= ITERATIONS * (0.002 if rank["rank"] == 1 else 0.001)
        assert rank["wall"] == pytest.approx(rank["computing"] + rank["mpi"])
    places = {each["function"]: each["place"] for each in found["sites"]}
    assert places["Waitall"].endswith("(known_pattern.cpp:28)")
    assert "exchange" in places["Waitall"]
    again = prepared_assay.run(
        [sys.executable, "-m", "assay", "profile", "--read", "kept", "--json"],
        cwd=tmp_path, capture_output=True, text=True, timeout=100, check=True,
    )  # fmt: skip
    assert json.loads(again.stdout) == found


def test_the_exit_status_is_the_programs_and_the_report_is_written(tmp_path: Path) -> None:
    program = [TOOLS / "mpirun", "-n", "2", profiled_program(), "3", "7"]
    done = _profile(tmp_path, *program, options=("--html",), status=7)
    assert "What does the program need?" in done.stdout
    assert "ended with exit status 7" in done.stdout
    assert "Time by rank" in (tmp_path / "profile.html").read_text()
    (kept,) = tmp_path.glob("profile-*Z")
    assert len(list(kept.glob("rank-*.jsonl"))) == 2


def test_sigterm_reaches_the_program_and_is_reported(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "assay", "profile", "--folder", "kept", "--"]
    program = [str(profiled_program()), "1000000"]
    with subprocess.Popen(
        [*command, *program], cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        deadline = time.monotonic() + 100.0
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while time.monotonic() < deadline:
            names = [_name(pid) for pid in children.read_text().split()]
            if program[0] in names:
                break
            time.sleep(0.05)
        time.sleep(1.0)  # MPI_Init
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=100)
    assert process.returncode == 128 + signal.SIGTERM, err
    assert "1 rank got SIGTERM" in " ".join(out.split())


def _name(pid: str) -> str:
    try:
        return str(Path(f"/proc/{pid}/exe").readlink())
    except OSError:
        return ""


@pytest.mark.long
def test_a_kernel_is_profiled_by_its_name(tmp_path: Path) -> None:
    """Its calls are those of the kernel: EP has reductions of its sums, and no messages."""
    options = ("--folder", "kept", "--ppn", "2", "--json")
    command = [sys.executable, "-m", "assay", "profile", *options, "npb.ep", "class=S"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    found = _findings(done)
    assert (found["size"], found["absent"]) == (2, [])
    assert "Allreduce" in {each["function"] for each in found["functions"]}
    assert found["sent"] == []
    # Its executable is at a fixed address, and its functions aren't exported.
    assert all("assay-kernels+0x" not in each["place"] for each in found["sites"])
    # Of what it measures, without a doubt that its switching would raise.
    assert found["regions"]["regions"] >= 1 and found["regions"]["share"] < 1.0
    assert found["unknown"] == []


@pytest.mark.long
def test_several_launches_say_how_much_they_differ(tmp_path: Path) -> None:
    program = [TOOLS / "mpirun", "-n", "2", profiled_program(), "150"]
    options = ("--trace", "--launches", "3", "--folder", "kept", "--json")
    done = _profile(tmp_path, *program, options=options)
    found = _findings(done)
    seconds = [one["seconds"] for one in found["launches"]]
    assert len(seconds) == 3
    assert found["wall"] == sorted(seconds)[1]
    for one in found["launches"]:
        assert 150 * 0.0015 <= one["computing"] < one["seconds"]
    assert "launch 2 of 3" in done.stderr
    assert list((tmp_path / "kept").glob("launch-*")) == []
    prepared_assay.run(
        [sys.executable, "-m", "assay", "profile", "--read", "kept", "--output", "kept.md"],
        cwd=tmp_path, capture_output=True, timeout=100, check=True,
    )  # fmt: skip
    text = (tmp_path / "kept.md").read_text(encoding="utf-8")
    assert f"shortest launch (3 launches) | {max(seconds) / min(seconds):.3g} |" in text


def test_each_launch_reads_the_same_input_and_the_first_one_prints(tmp_path: Path) -> None:
    (tmp_path / "input").write_text("7\n")
    with (tmp_path / "input").open("rb") as file:
        done = _profile(
            tmp_path, _reading(tmp_path, 2), options=("--launches", "2", "--json"), stdin=file
        )
    found = _findings(done)
    assert len(found["launches"]) == 2
    assert {each["calls"] for each in found["functions"]} == {2 * 7}
    assert done.stdout.startswith("steps 7\n{")


def test_a_number_of_launches_that_is_none_is_refused(tmp_path: Path) -> None:
    assert "'0' is not a number of launches" in _profile(
        tmp_path, "true", options=("--launches", "0"), status=2
    ).stderr  # fmt: skip


@pytest.mark.cluster
def test_a_program_is_profiled_in_a_job(tmp_path: Path) -> None:
    """Submitted, run on the job's node, and reported here, with the job's files in the folder."""
    kept = tmp_path / "kept"
    (tmp_path / "input").write_text("20\n")
    with running_slurm(2), (tmp_path / "input").open("rb") as file:
        done = _profile(
            tmp_path, _reading(tmp_path, 2), stdin=file,
            options=("--submit", "--json", "--trace", "--launches", "2", "--folder", str(kept)),
        )  # fmt: skip
    found = _findings(done)
    assert {each["calls"] for each in found["functions"]} == {2 * 20}
    assert len(found["launches"]) == 2
    assert (found["size"], found["absent"], found["status"]) == (2, [], 0)
    assert len(list(kept.glob("rank-*.trace"))) == 2
    assert (kept / "job.out").exists()


def test_options_of_jobs_and_kernels_are_refused_elsewhere(tmp_path: Path) -> None:
    done = _profile(tmp_path, "true", options=("--walltime", "1 h"), status=2)
    assert "require a job" in done.stderr
    done = _profile(tmp_path, "true", options=("--ppn", "2"), status=2)
    assert "apply only to assay's kernels" in done.stderr
    done = _profile(tmp_path, "npb.ep", "class=S,W", status=2)
    assert "but a profile covers one cell." in done.stderr


def test_what_cannot_be_profiled_is_said_in_one_sentence(tmp_path: Path) -> None:
    done = _profile(tmp_path, "true", status=2)
    assert "The program isn't linked with MPI, so it ran without a profile" in done.stderr
    # Its exit status is kept, and a script may start anything.
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\nexit 5\n")
    script.chmod(0o755)
    done = _profile(tmp_path, script, status=5)
    assert "No process of the program wrote a profile (it ended with exit status 5)" in done.stderr
    done = _profile(tmp_path, "./none", status=2)
    assert "./none: There is no such program." in done.stderr
    full = tmp_path / "full"
    full.mkdir()
    (full / "run.json").write_text("{}")
    done = _profile(tmp_path, "true", options=("--folder", "full"), status=2)
    assert "The folder already contains a profile." in done.stderr
    source = tmp_path / "static.c"
    source.write_text('#include <stdio.h>\nint main(void) { puts("PMPI_Init"); return 0; }\n')
    subprocess.run(["cc", "-static", source, "-o", tmp_path / "static"], check=True)
    done = _profile(tmp_path, "./static", status=2)
    assert "The program is statically linked" in done.stderr
    assert done.stdout == ""


def test_profiles_of_one_second_have_folders_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = {new_profile_folder(None) for _ in range(20)}
    assert len(made) == 20 == sum(path.is_dir() for path in tmp_path.glob("profile-*"))


def test_a_program_or_a_kept_profile_is_needed(tmp_path: Path) -> None:
    for words in ([], ["--read", "kept", "--", "true"]):
        done = subprocess.run(
            [sys.executable, "-m", "assay", "profile", *words],
            cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
        assert done.returncode == 2
        assert "assay profile -- mpirun" in done.stderr


def test_a_traced_program_has_a_timeline_and_exports(tmp_path: Path) -> None:
    """The calls, messages and bytes of the program are in the page and in each export."""
    program = [TOOLS / "mpirun", "-n", "3", profiled_program(), str(ITERATIONS)]
    _profile(tmp_path, *program, options=("--trace", "--folder", "kept"))
    targets = ("chrome:out/app.json", "parquet:out/tables", "simgrid:out/actions")
    exports = [word for target in targets for word in ("--export", target)]
    prepared_assay.run(
        [sys.executable, "-m", "assay", "profile", "--read", "kept", "-o", "app.html", *exports],
        cwd=tmp_path, capture_output=True, text=True, timeout=100, check=True,
    )  # fmt: skip
    assert "app-timeline.html" in (tmp_path / "app.html").read_text(encoding="utf-8")
    page = Page(tmp_path / "app-timeline.html")
    every = 3 * ITERATIONS
    names = [one["name"] for one in page.head["functions"]]
    calls = {names[one["function"]]: one["calls"] for one in page.head["places"]}
    counted = ("Waitall", "Allreduce", "Isend", "Irecv")
    assert {name: calls[name] for name in counted} == dict.fromkeys(counted, every)
    assert page.head["arrows"] == every
    shown = json.loads((tmp_path / "out" / "app.json").read_text())["traceEvents"]
    assert sum(one.get("name") == "MPI_Isend" for one in shown) == every
    messages = polars.read_parquet(tmp_path / "out" / "tables" / "messages.parquet")
    assert messages["bytes"].to_list() == [8000] * every
    assert ((messages["sender"] + 1) % 3 == messages["receiver"]).all()
    actions = (tmp_path / "out" / "actions" / "rank-0.txt").read_text().splitlines()
    assert sum(line.startswith("0 isend 1 ") for line in actions) == ITERATIONS


@pytest.mark.long
def test_the_trace_of_a_killed_program_is_reported(tmp_path: Path) -> None:
    """Its ranks couldn't write a profile; what was flushed until then is analysed."""
    program = tmp_path / "killed"
    compile_against_mpi(program, "-pthread", "ways_to_end.cpp")
    words = [TOOLS / "mpirun", "-n", "2", program, "kill"]
    options = ("--trace", "--folder", "kept")
    command = [sys.executable, "-m", "assay", "profile", *options, "--", *map(str, words)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert done.returncode not in (0, 2)  # the launcher's, as without assay
    assert "killed before its ranks could write a profile" in done.stderr
    again = prepared_assay.run(
        [sys.executable, "-m", "assay", "profile", "--read", "kept", "--json"],
        cwd=tmp_path, capture_output=True, text=True, timeout=100, check=True,
    )  # fmt: skip
    found = json.loads(again.stdout)["trace"]
    assert found["incomplete"] == [0, 1] and found["iterations"]["times"] > 900


@pytest.mark.long
def test_another_tool_may_handle_signals(tmp_path: Path) -> None:
    """A library preloaded into assay, too, whose handler isn't Python's."""
    tool = tmp_path / "tool.so"
    source = tmp_path / "tool.c"
    source.write_text(
        "#include <signal.h>\nstatic void nothing(int s) { (void)s; }\n"
        "__attribute__((constructor)) static void begin(void) { signal(SIGTERM, nothing); }\n"
    )
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", tool], check=True, timeout=60)
    program = [TOOLS / "mpirun", "-n", "1", profiled_program(), "3"]
    command = [sys.executable, "-m", "assay", "profile", "--", *map(str, program)]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=100,
        env={**os.environ, "LD_PRELOAD": str(tool)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "What does the program need?" in done.stdout


def test_an_export_needs_a_trace(tmp_path: Path) -> None:
    program = [TOOLS / "mpirun", "-n", "2", profiled_program(), "2"]
    _profile(tmp_path, *program, options=("--folder", "kept"))
    done = prepared_assay.run(
        [sys.executable, "-m", "assay", "profile", "--read", "kept", "--export", "chrome:a.json"],
        cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "no trace" in done.stderr
    assert not (tmp_path / "a.json").exists()
