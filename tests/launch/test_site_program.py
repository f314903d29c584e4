"""The site's executables, launched for real: their own results count, on the kernel's seats."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.kernels import find_kernel
from assay.launch.commands import seat
from assay.launch.commands.result_reader import NoResult, read_result
from assay.launch.commands.seat import Cpu, cpus_of_slots
from assay.launch.executor import LaunchOrder
from assay.launch.fake.seats import ranks_of, siblings_of
from assay.launch.local import LocalExecutor
from assay.model.placement import Placement
from assay.records.schema import Job, MeasurementOrder, MeasurementRecord
from assay.records.stream import read_stream
from site_programs import npb_program, npb_text, script

DATA = Path(__file__).parents[1] / "data" / "importers"
WORK = find_kernel("npb.cg").work({"class": "S"}, 1, 1)["operations"]


def measured(
    folder: Path, program: Path, *, kernel: str = "beside.npb", **changes: object
) -> MeasurementRecord:
    """The record of one launch of an executable, beside CG class S, on one rank."""
    entered = find_kernel(kernel)
    given = {p.name: p.default for p in entered.parameters}
    given |= {"program": str(program), "benchmark": "cg", "of": "npb.cg", "at": "class=S"}
    given |= {"work": WORK} | changes
    entry = MeasurementOrder("cell-0", kernel, given, 0.01, 0.95, 1.0, 1, 1)
    placement = Placement()
    job = Job(1, "0000", 1, "compact", 1, [entry])
    order = LaunchOrder("0000", "own", placement, job, folder / "0000.jsonl")
    launch = LocalExecutor({}, {}, grace=0.5).start(order)
    record = launch.wait(60.0)
    if record is None:
        launch.stop()
        pytest.fail("the executable did not end")
    assert record.outcome == "complete", record
    (found,) = read_stream(order.stream).measurements
    assert not list(folder.glob("*.work"))
    return found


def test_its_own_rate_counts_and_its_verification(tmp_path: Path) -> None:
    program = npb_program(tmp_path, "cg", "S", 0.25, before="sleep 0.05")
    record = measured(tmp_path, program)
    assert (record.status, record.verified) == ("ok", True)
    values = {series.metric: series.values[0] for series in record.series}
    assert values["time"] == pytest.approx(0.25, rel=1e-3)
    assert values["wall"] >= 0.05
    assert record.facts["tool"] == "NASA's NPB" and record.facts["version"] == "3.4.2"
    assert record.verification is not None and record.verification.what == "verification"


@pytest.mark.parametrize(
    ("before", "says"),
    [
        ("echo data > out.txt", "it writes files (out.txt), and its time includes"),
        ("exit 3", "it ended with exit status 3"),
    ],
)
def test_a_failure_is_one_sentence(tmp_path: Path, before: str, says: str) -> None:
    record = measured(tmp_path, npb_program(tmp_path / "bin", "cg", "S", 0.25, before=before))
    assert record.status == "failed"
    assert record.error is not None and record.error.startswith(says)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"ranks": 2}, "it ran on 2 processes, not on 1"),
        ({"active": 2}, "it ran on 2 processes, not on 1"),
        ({"size": "A"}, "it printed the result of class A, not of S"),
        ({"rate": 0.0}, "it printed no rate"),
        ({"seconds": 9.0, "rate": 100.0}, "do not agree with the official operations"),
        ({"name": "EP"}, "it printed the result of nasa-npb.ep, not of CG"),
    ],
)
def test_what_is_no_result_is_refused(changes: dict, says: str) -> None:
    text = npb_text("cg", "S", 0.25, **changes)
    expected = {"kernel": "beside.npb", "benchmark": "cg", "at": "class=S", "work": WORK}
    with pytest.raises(NoResult, match=says):
        read_result(text.splitlines(keepends=True), {**expected, "ranks": 1, "threads": 1})


def test_a_failed_verification_is_a_wrong_result(tmp_path: Path) -> None:
    program = npb_program(tmp_path, "cg", "S", 0.25, verdict="UNSUCCESSFUL")
    assert measured(tmp_path, program).verified is False


def test_an_executable_that_was_replaced_since_is_not_run(tmp_path: Path) -> None:
    program = npb_program(tmp_path, "cg", "S", 0.25, before="touch started")
    checksum = hashlib.sha256(program.read_bytes()).hexdigest()
    assert "writes files (started)" in (measured(tmp_path, program, sha256=checksum).error or "")
    (tmp_path / "0000.jsonl").unlink()
    npb_program(tmp_path, "cg", "S", 0.2, before="touch started")
    record = measured(tmp_path, program, sha256=checksum)
    assert record.status == "failed"
    assert record.error is not None and "its file has changed since the run began" in record.error


def test_input_files_are_in_its_folder(tmp_path: Path) -> None:
    program = npb_program(tmp_path, "cg", "S", 0.25, before="grep -q Ns HPL.dat || exit 1")
    assert measured(tmp_path, program, input="1 Ns\n").status == "ok"


def test_hpcg_writes_its_result_into_files(tmp_path: Path) -> None:
    """Its result file and its log are read and allowed; any other file is not."""
    result = DATA / "hpcg-3.1.txt"
    text = result.read_text().replace("Processes=8", "Processes=1").replace("=4\n", "=1\n", 1)
    (tmp_path / "result").write_text(text)
    before = f"grep -q '^64 64 64' hpcg.dat || exit 1; cp {tmp_path}/result HPCG-Benchmark_3.1.txt"
    program = script(tmp_path / "xhpcg", "", before + "; echo log > hpcg2026.txt")
    changes = {"benchmark": "hpcg", "of": "hpcg", "at": "nx=64", "work": 13.1012e9}
    changes |= {"input": "x\ny\n64 64 64\n5\n"}
    record = measured(tmp_path, program, kernel="beside.hpcg", **changes)
    assert (record.status, record.verified, record.error) == ("ok", True, None)
    values = {series.metric: series.values[0] for series in record.series}
    assert values["time"] == pytest.approx(1.0)
    assert record.facts["tool"] == "HPCG" and record.facts["printed rate"] == "13.1012"
    (tmp_path / "0000.jsonl").unlink()
    program = script(tmp_path / "xhpcg", "", before + "; echo data > matrix.bin")
    record = measured(tmp_path, program, kernel="beside.hpcg", **changes)
    assert "writes files (matrix.bin)" in (record.error or "")
    (tmp_path / "0000.jsonl").unlink()
    wrong = script(
        tmp_path / "xhpcg",
        "",
        before.replace("cp ", "sed s/cesses=1/cesses=2/ ").replace(" HPCG", " > HPCG"),
    )
    record = measured(tmp_path, wrong, kernel="beside.hpcg", **changes)
    assert record.error == "it ran on 2 processes, not on 1"


def recorded(name: str) -> list[str]:
    return (DATA / name).read_text().splitlines(keepends=True)


def test_results_of_all_tools_are_read() -> None:
    seats = {"ranks": 1, "threads": 1}
    stream = read_result(
        recorded("stream-5.10.out"),
        {"kernel": "beside.stream", "benchmark": "stream", "at": "op=triad", "work": 0.0, **seats},
    )
    assert stream.time == 0.018401
    assert stream.work == 24.0 * 80_000_000
    assert stream.verified is True
    add = read_result(
        recorded("stream-5.10.out"),
        {"kernel": "beside.stream", "benchmark": "stream", "at": "op=sum", "work": 0.0, **seats},
    )
    assert add.work == 24.0 * 80_000_000
    lines = ["# OSU MPI Latency Test v7.3\n", "# Size          Latency (us)\n",
             "8                       0.41\n"]  # fmt: skip
    osu = {"kernel": "beside.osu", "benchmark": "latency", "work": 8.0, **seats}
    found = read_result(lines, {**osu, "at": "bytes=8 mode=blocking"})
    assert (found.time, found.facts["version"]) == (pytest.approx(0.41e-6), "7.3")
    with pytest.raises(NoResult, match="no row of 16 B"):
        read_result(lines, {**osu, "at": "bytes=16 mode=blocking"})
    lines = ["# OSU MPI Bandwidth Test v7.3\n", "# Size      Bandwidth (MB/s)\n",
             "1024                 2048.00\n"]  # fmt: skip
    rate = {**osu, "kernel": "beside.osu_bw", "benchmark": "bw", "at": "bytes=1024"}
    assert read_result(lines, rate).time == pytest.approx(1024 / 2048e6)
    with pytest.raises(NoResult, match="it printed no result"):
        read_result(["Segmentation fault\n"], rate)
    lines = ["# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n",
             "# [ pairs: 2 ] [ window size: 64 ]\n",
             "# Size                  MB/s        Messages/s\n",
             "8                      40.00        5000000.00\n"]  # fmt: skip
    messages = {**osu, "kernel": "beside.osu_rate", "benchmark": "mbw_mr", "work": 2.0}
    found = read_result(lines, {**messages, "at": "bytes=8 pairs=2 window=64"})
    assert found.work / found.time == pytest.approx(5e6)
    with pytest.raises(NoResult, match="no message rate of 16 B"):
        read_result(lines, {**messages, "at": "bytes=16 pairs=2 window=64"})


def test_the_fastest_row_of_hpl_counts() -> None:
    lines = recorded("hpl-2.3.out")
    row = next(line for line in lines if line.startswith(("WR", "WC"))).split()
    best = max(
        float(line.split()[6])
        for line in lines
        if line.startswith(("WR", "WC")) and line.split()[1] == row[1]
    )
    given = {"kernel": "beside.hpl", "benchmark": "hpl", "at": f"n={row[1]}", "work": 1e12}
    found = read_result(lines, {**given, "ranks": 1, "threads": 1})
    assert found.work / found.time == pytest.approx(best * 1e9)


# ---- seats --------------------------------------------------------------------------------------


@pytest.mark.parametrize("binding", ["compact", "spread", "per-numa", "none", "numa:1"])
@pytest.mark.parametrize("smt", ["off", "on"])
@pytest.mark.parametrize(("ppn", "threads"), [(1, 1), (2, 1), (4, 1), (2, 2), (1, 3), (3, 2)])
def test_ranks_have_the_cpus_of_a_kernels_ranks(
    binding: str, smt: str, ppn: int, threads: int
) -> None:
    cores, domains, hardware = 8, 2, 2
    cpus = [
        Cpu(sibling, 0, core * domains // cores, core, cpu)
        for core, siblings in enumerate(siblings_of(cores, hardware))
        for sibling, cpu in enumerate(siblings)
    ]
    placement = Placement(ppn=ppn, threads=threads, binding=binding, smt=smt)
    given = cpus_of_slots(cpus, ppn, threads, binding, smt)
    if binding == "none":
        assert given == []
        return
    expected = [cpu for r in ranks_of(placement, ["a"], cores, hardware, domains) for cpu in r.cpus]
    assert given == expected


def test_more_threads_than_cpus_are_not_bound() -> None:
    cpus = [Cpu(0, 0, 0, core, core) for core in range(2)]
    assert cpus_of_slots(cpus, 3, 1, "compact", "off") == []
    assert cpus_of_slots(cpus, 2, 1, "compact", "off") == [0, 1]


def test_a_program_is_bound_and_gets_openmps_places(tmp_path: Path) -> None:
    allowed = sorted(os.sched_getaffinity(0))
    code = (
        "import os, json\n"
        "print(json.dumps([sorted(os.sched_getaffinity(0)), os.environ.get('OMP_PLACES')]))"
    )
    words = [sys.executable, "-I", "-S", seat.__file__, "1", "1", "compact", "off"]
    done = subprocess.run(
        [*words, sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    cpus, places = json.loads(done.stdout)
    assert len(cpus) == 1 and cpus[0] in allowed
    assert places == f"{{{cpus[0]}}}"
    gone = subprocess.run([*words, "/none"], capture_output=True, text=True, check=False)
    assert (gone.returncode, gone.stderr) == (127, "/none: No such file or directory\n")
    two = [*words[:4], "2", *words[5:], sys.executable]
    lost = subprocess.run(two, capture_output=True, text=True, check=False)
    assert "its number within its node" in lost.stderr
