from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import psutil
import pytest

from assay.config import Config, ToolchainConfig
from assay.errors import AssayError
from assay.kernels.building import build_kernels
from assay.kernels.builds.toolchain import Toolchain
from assay.kernels.toolchains import select_toolchain
from assay.launch.executor import LaunchOrder
from assay.launch.local import LocalExecutor
from assay.launch.mpi.mpirun import mpirun_command
from assay.launch.outcome import KEPT_OUTPUT
from assay.model.placement import Placement
from assay.processes import POLITE_WAITING
from assay.records.schema import Job
from open_mpi import OPEN_MPI, PREFIX
from waiting import wait_for

DATA = Path(__file__).parents[1] / "data/toolchains"


def toolchain(flavour="other", mpirun="/opt/mpi/bin/mpirun", **more) -> Toolchain:
    return Toolchain("t", "site", "mpicxx", mpirun, flavour, "1", "g++", "g++ 12", None, **more)


# ---- launch lines ----------------------------------------------------------------------------

THREADS = [("OMP_NUM_THREADS", "2"), ("OMP_DYNAMIC", "false"), ("OMP_PROC_BIND", "false")]
THREADS += [(f"{blas}_NUM_THREADS", "2") for blas in ("OPENBLAS", "MKL", "BLIS")]
GENV = " ".join(f"-genv {name} {value}" for name, value in THREADS)
POLITE = " ".join(f"-genv {name} {value}" for name, value in POLITE_WAITING.items())
X = " ".join(f"-x {name}={value}" for name, value in THREADS)
ENV = " ".join(f"{name}={value}" for name, value in THREADS)
PROGRAM = "/c/assay-kernels --job /r/l.job.json --out /r/l.jsonl"


@pytest.mark.parametrize(
    ("flavour", "more", "cores", "root", "line"),
    [
        ("mpich", {}, 8, True, f"M -n 4 -launcher fork -rmk user -bind-to none {GENV} P"),
        # 4 ranks of 2 threads on 7 cores: waiting ranks must yield the cores.
        ("mpich", {}, 7, False, f"M -n 4 -launcher fork -rmk user -bind-to none {GENV} {POLITE} P"),
        ("openmpi", {}, 4, False, f"M -n 4 --bind-to none {X} P"),
        ("openmpi", {}, 4, True, f"M -n 4 --bind-to none --allow-run-as-root {X} P"),
        ("openmpi", {}, 3, False, f"M -n 4 --bind-to none --oversubscribe {X} P"),
        ("intel", {}, 4, True, f"M -n 4 -bootstrap fork -ppn 4 -genv I_MPI_PIN 0 {GENV} P"),
        ("other", {}, 4, True, f"env {ENV} M -n 4 P"),
        (
            "openmpi",
            {"launch_flags": ("--mca", "btl", "self,sm"), "environment": {"B": "2", "A": "1"}},
            8,
            False,
            f"env A=1 B=2 M -n 4 --bind-to none {X} --mca btl self,sm P",
        ),
    ],
)
def test_launch_lines_are_these(flavour, more, cores, root, line):
    command = mpirun_command(
        toolchain(flavour, **more),
        Path("/c/assay-kernels"),
        Placement(ppn=4, threads=2),
        Path("/r/l.job.json"),
        Path("/r/l.jsonl"),
        cores=cores,
        root=root,
    )
    expected = line.replace("M -n", "/opt/mpi/bin/mpirun -n").replace(" P", f" {PROGRAM}")
    assert " ".join(command) == expected


@pytest.mark.parametrize(
    ("placement", "mpirun", "message"),
    [
        (Placement(nodes=2), "m", "There is one node, this machine, but the placement needs 2."),
        (Placement(adapter="ib0"), "m", "can't use the network adapter 'ib0'"),
        (Placement(), None, "The toolchain 't' has no mpirun"),
    ],
)
def test_impossible_launches(placement, mpirun, message):
    with pytest.raises(AssayError) as error:
        mpirun_command(toolchain(mpirun=mpirun), Path("e"), placement, Path("j"), Path("s"))
    assert message in error.value.what
    assert error.value.fix


# ---- outcomes, with replacements of mpirun and ranks -----------------------------------------


def order(tmp_path, placement=None, timeout=60.0) -> LaunchOrder:
    job = Job(1, "l1", 1, "compact", 7, [])
    stream = tmp_path / "l1.jsonl"
    return LaunchOrder("l1", "t", placement or Placement(ppn=2), job, stream, timeout)


def executor(how, grace=5.0) -> LocalExecutor:
    fake = toolchain(mpirun=str(DATA / "mpirun.sh"), environment={"HOW": how})
    return LocalExecutor({"t": fake}, {"t": DATA / "rank.py"}, grace=grace)


def run(how, tmp_path, **more):
    launch = executor(how).start(order(tmp_path, **more))
    record = launch.wait(60)
    assert record is not None
    assert launch.poll() is record
    return record


def survivors(marker: Path) -> list[psutil.Process]:
    """Running processes with a path in their command line."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        ours = any(str(marker) in word for word in process.info["cmdline"] or ())
        if ours and process.pid != os.getpid() and process.info["status"] != "zombie":
            found.append(process)
    return found


def gone(marker: Path, within: float = 2.0) -> bool:
    deadline = time.monotonic() + within
    while survivors(marker):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def until_written(stream: Path, word: str) -> None:
    deadline = time.monotonic() + 30
    while not (stream.exists() and word in stream.read_text()):
        assert time.monotonic() < deadline, f"{word} never came"
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("how", "exit_status", "outcome", "error", "blamed"),
    [
        ("complete", 0, "complete", None, None),
        ("unverified", 4, "complete", None, None),
        ("late", 11, "complete", "after its end record: exit status 11", None),
        ("no end", 0, "crash", "exit status 0 without an end record", None),
        ("wrong count", 0, "crash", "its stream counts 5 measurements and holds 2: exit st", None),
        ("quits", 7, "crash", "exit status 7: assay-kernels: memory ran out", "b-0"),
        ("silent", 9, "crash", "it never began its stream: exit status 9", None),
        (
            "segv",
            128 + signal.SIGSEGV,
            "crash",
            "a rank was ended by SIGSEGV: assay-kernels: b-0: SIGSEGV on rank 0",
            "b-0",
        ),
    ],
)
def test_outcomes(tmp_path, how, exit_status, outcome, error, blamed):
    record = run(how, tmp_path)
    assert (record.exit, record.outcome, record.blamed) == (exit_status, outcome, blamed)
    if error is None:
        assert record.error is None
    else:
        assert record.error is not None
        assert record.error.startswith(error)
    assert record.launch == "l1"
    assert record.toolchain == "t"
    assert 0 < record.wall < 60
    assert len(record.stderr) <= KEPT_OUTPUT


def test_the_job_and_the_output_are_next_to_the_stream(tmp_path):
    record = run("segv", tmp_path, placement=Placement(ppn=1))
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"l1.jsonl", "l1.job.json", "l1.err"}
    assert msgspec.json.decode((tmp_path / "l1.job.json").read_bytes(), type=Job).job == "l1"
    assert (tmp_path / "l1.err").stat().st_size > 9000
    assert "SIGSEGV on rank 0" in record.stderr
    assert str(tmp_path / "l1.jsonl") in record.command


def test_ranks_get_their_threads_and_no_terminal(tmp_path):
    said = run("env", tmp_path, placement=Placement(ppn=1, threads=3)).stderr.splitlines()
    variables = msgspec.json.decode(said[0])
    assert variables["OMP_NUM_THREADS"] == variables["OPENBLAS_NUM_THREADS"] == "3"
    assert variables["OMP_PROC_BIND"] == "false"
    assert said[1] == "stdin: ''"


def test_pasting_the_command_launches_it_again(tmp_path):
    record = run("complete", tmp_path)
    (tmp_path / "l1.jsonl").unlink()
    assert subprocess.run(record.command, check=False).returncode == 0
    assert (tmp_path / "l1.jsonl").read_text().endswith('"reason": "complete"}\n')


def test_stop_asks_first_and_the_stream_ends_well(tmp_path):
    asked = order(tmp_path)
    launch = executor("hangs").start(asked)
    until_written(asked.stream, "b-0")
    assert launch.poll() is None
    record = launch.stop()
    assert record.outcome == "interrupted"
    assert asked.stream.read_text().endswith('"reason": "signal"}\n')
    assert launch.stop() is record
    assert gone(tmp_path)


def test_stop_kills_processes_that_ignore_signals_anywhere(tmp_path):
    asked = order(tmp_path)
    launch = executor("stubborn", grace=0.2).start(asked)
    until_written(asked.stream, "b-0")
    # Warden, mpirun, and rank and daemon twice, once the daemons have detached.
    wait_for(lambda: len(survivors(tmp_path)) >= 6)
    record = launch.stop()
    assert (record.outcome, record.blamed) == ("interrupted", "b-0")
    assert survivors(tmp_path) == []


def test_the_timeout_ends_it(tmp_path):
    launch = executor("stubborn", grace=0.2).start(order(tmp_path, timeout=3))
    record = launch.wait(30)
    assert record is not None
    assert (record.outcome, record.blamed) == ("timeout", "b-0")
    assert record.error == "no end within 3 s"
    assert survivors(tmp_path) == []


def test_no_program_is_left_when_mpirun_is_killed(tmp_path):
    asked = order(tmp_path)
    launch = executor("stubborn").start(asked)
    until_written(asked.stream, "b-0")
    (mpirun,) = [p for p in survivors(tmp_path) if words_of(p)[:2] == ["/bin/sh", MPIRUN]]
    mpirun.kill()
    record = launch.wait(60)
    assert record is not None
    assert (record.outcome, record.exit, record.blamed) == ("crash", -signal.SIGKILL, "b-0")
    assert record.error is not None
    assert record.error.startswith("the launcher was ended by SIGKILL")
    assert survivors(tmp_path) == []


MPIRUN = str(DATA / "mpirun.sh")


def words_of(process: psutil.Process) -> list[str]:
    """Its command line; empty if it has ended meanwhile, as the program that detaches a daemon."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def test_a_launch_that_cannot_start(tmp_path):
    asked = order(tmp_path)
    with pytest.raises(AssayError, match="no toolchain 't'"):
        LocalExecutor({}, {}).start(asked)
    with pytest.raises(AssayError, match="no program '/no/such/mpirun'"):
        LocalExecutor({"t": toolchain(mpirun="/no/such/mpirun")}, {"t": DATA / "rank.py"}).start(
            asked
        )
    with pytest.raises(AssayError, match="Can't write"):
        executor("complete").start(order(tmp_path / "missing"))


def test_a_launcher_that_is_not_executable(tmp_path):
    broken = tmp_path / "mpirun"
    broken.write_bytes(b"\x7fELF, but not really")
    broken.chmod(0o755)
    used = toolchain("openmpi", mpirun=str(broken))
    record = LocalExecutor({"t": used}, {"t": DATA / "rank.py"}).start(order(tmp_path)).wait(60)
    assert record is not None
    assert (record.outcome, record.exit) == ("crash", 127)
    assert f"assay: can't start {broken}: Exec format error" in (record.error or "")


ASSAY_THAT_HANGS = """\
import sys, msgspec
from pathlib import Path
from assay.kernels.builds.toolchain import Toolchain
from assay.launch.executor import LaunchOrder
from assay.launch.local import LocalExecutor
from assay.model.placement import Placement
from assay.records.schema import Job
toolchain = msgspec.json.decode(sys.argv[1], type=Toolchain)
job = Job(1, "l1", 1, "none", 7, [])
order = LaunchOrder("l1", "t", Placement(ppn=2), job, Path(sys.argv[3]), 99)
LocalExecutor({"t": toolchain}, {"t": Path(sys.argv[2])}).start(order).wait(99)
"""


@contextlib.contextmanager
def killed_assay(used: Toolchain, executable: Path, stream: Path):
    """An assay that is ended by SIGKILL during a launch."""
    arguments = [msgspec.json.encode(used).decode(), str(executable), str(stream)]
    with subprocess.Popen([sys.executable, "-c", ASSAY_THAT_HANGS, *arguments]) as child:
        try:
            until_written(stream, "begin")
            yield
        finally:
            child.kill()


def test_nothing_survives_an_assay_that_is_killed(tmp_path):
    fake = toolchain(mpirun=MPIRUN, environment={"HOW": "stubborn"})
    with killed_assay(fake, DATA / "rank.py", tmp_path / "l1.jsonl"):
        assert len(survivors(tmp_path)) >= 4
    assert gone(tmp_path)


# ---- real launches ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Toolchains and their builds of a miniature program, built once on first use."""
    cache = tmp_path_factory.mktemp("cache")
    builds: dict[str, tuple[Toolchain, Path]] = {}

    def build(name: str) -> tuple[Toolchain, Path]:
        if name not in builds:
            config = Config(toolchains={"openmpi": ToolchainConfig(mpi_prefix=PREFIX or None)})
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("ASSAY_CACHE", str(cache))
                used = select_toolchain(name, config)
                builds[name] = used, build_kernels(used, sources=DATA / "tiny")
        return builds[name]

    return build


def real(tiny, name: str, how: str, **more) -> tuple[LocalExecutor, Toolchain, Path]:
    used, executable = tiny(name)
    used = msgspec.structs.replace(used, environment={"TINY": how})
    return LocalExecutor({"t": used}, {"t": executable}, **more), used, executable


both = pytest.mark.parametrize("name", ["embedded", OPEN_MPI])


@pytest.mark.slow
@both
def test_real_launch(tiny, tmp_path, name):
    record = real(tiny, name, "")[0].start(order(tmp_path, Placement(ppn=3))).wait(60)
    assert record is not None
    assert (record.outcome, record.exit, record.error) == ("complete", 0, None)
    assert '"ranks":3' in (tmp_path / "l1.jsonl").read_text()


@pytest.mark.slow
@both
def test_real_stop_lets_the_stream_end(tiny, tmp_path, name):
    asked = order(tmp_path)
    launch = real(tiny, name, "wait", grace=20)[0].start(asked)
    until_written(asked.stream, "begin")
    record = launch.stop()
    assert record.outcome == "interrupted"
    assert record.wall < 20
    assert asked.stream.read_text().endswith('"reason":"signal"}\n')
    assert gone(tmp_path)


@pytest.mark.slow
@both
def test_real_ranks_that_hang_are_ended_by_the_timeout(tiny, tmp_path, name):
    launch = real(tiny, name, "stopped", grace=0.3)[0].start(order(tmp_path, timeout=3))
    record = launch.wait(60)
    assert record is not None
    assert (record.outcome, record.blamed) == ("timeout", "m-0")
    assert survivors(tmp_path) == []


@pytest.mark.slow
@both
def test_real_crash_names_the_signal(tiny, tmp_path, name):
    record = real(tiny, name, "segv")[0].start(order(tmp_path)).wait(60)
    assert record is not None
    assert (record.outcome, record.blamed) == ("crash", "m-0"), record
    assert (record.error or "").startswith("a rank was ended by SIGSEGV")
    assert gone(tmp_path)


@pytest.mark.slow
@both
@pytest.mark.parametrize("how", ["wait", "stopped"])
def test_real_ranks_end_with_a_killed_assay(tiny, tmp_path, name, how):
    _, used, executable = real(tiny, name, how)
    with killed_assay(used, executable, tmp_path / "l1.jsonl"):
        assert survivors(tmp_path)
    assert gone(tmp_path)
