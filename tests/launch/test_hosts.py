"""Launch commands over several hosts, variables that choose adapters, and unusable hosts."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import time
from pathlib import Path

import msgspec
import pytest

from assay.config import ClusterConfig
from assay.errors import AssayError
from assay.kernels.builds.toolchain import Flavour, Toolchain
from assay.launch.mpi import reachability as hosts
from assay.launch.mpi.adapter_variables import choose_adapters
from assay.launch.mpi.mpirun import mpirun_command
from assay.launch.mpi.reachability import check_hosts
from assay.model.placement import Placement

FLAVOURS: tuple[Flavour, ...] = ("mpich", "intel", "openmpi")
CLUSTER = ClusterConfig(("a", "10.0.0.2", "fd00::3"), "/c/shell", "10.0.0.1")
THREADS = [("OMP_NUM_THREADS", "1"), ("OMP_DYNAMIC", "false"), ("OMP_PROC_BIND", "false")]
THREADS += [(f"{blas}_NUM_THREADS", "1") for blas in ("OPENBLAS", "MKL", "BLIS")]
GENV = " ".join(f"-genv {name} {value}" for name, value in THREADS)
X = " ".join(f"-x {name}={value}" for name, value in THREADS)
PROGRAM = "/c/kernels --job /r/l.job.json --out /r/l.jsonl"


def line(
    flavour: Flavour,
    placement: Placement,
    cluster: ClusterConfig | None = CLUSTER,
    environment: dict[str, str] | None = None,
) -> str:
    toolchain = Toolchain(
        "t", "site", "mpicxx", "mpirun", flavour, "1", "g++", "12", None, (), (), environment or {}
    )
    paths = Path("/c/kernels"), placement, Path("/r/l.job.json"), Path("/r/l.jsonl")
    return " ".join(mpirun_command(toolchain, *paths, cluster=cluster, cores=4, root=False))


@pytest.mark.parametrize(
    ("flavour", "wanted"),
    [
        (
            "mpich",
            "env SITE=1 mpirun -n 6 -launcher ssh -launcher-exec /c/shell -rmk user "
            f"-localhost 10.0.0.1 -hosts a,10.0.0.2,fd00::3 -ppn 2 -bind-to none {GENV} {PROGRAM}",
        ),
        (
            "intel",
            "env SITE=1 mpirun -n 6 -bootstrap ssh -bootstrap-exec /c/shell "
            f"-hosts a,10.0.0.2,fd00::3 -ppn 2 -genv I_MPI_PIN 0 {GENV} {PROGRAM}",
        ),
        (
            "openmpi",
            "env SITE=1 mpirun -n 6 --host a:2,10.0.0.2:2,[fd00::3]:2 "
            f"--mca plm_rsh_agent /c/shell --bind-to none -x SITE=1 {X} {PROGRAM}",
        ),
    ],
)
def test_launch_lines_over_hosts_are_these(flavour: Flavour, wanted: str) -> None:
    assert line(flavour, Placement(nodes=3, ppn=2), environment={"SITE": "1"}) == wanted


SLURM = ClusterConfig(("a", "b", "c"), "/c/shell", None, "slurm")
STEP = "env SLURM_CPU_BIND=none SLURM_MPI_TYPE=none SLURM_OVERLAP=1"


@pytest.mark.parametrize(
    ("flavour", "wanted"),
    [
        (
            "mpich",
            f"{STEP} mpirun -n 6 -launcher slurm -rmk user -hosts a,b,c -ppn 2 -bind-to none "
            f"{GENV} {PROGRAM}",
        ),
        (
            "intel",
            f"{STEP} mpirun -n 6 -bootstrap slurm -hosts a,b,c -ppn 2 -genv I_MPI_PIN 0 "
            f"{GENV} {PROGRAM}",
        ),
        (
            "openmpi",
            f"mpirun -n 6 --host a:2,b:2,c:2 --mca plm_rsh_agent /c/shell "
            f"--mca ras ^slurm --mca plm ^slurm --bind-to none {X} {PROGRAM}",
        ),
    ],
)
def test_launch_lines_in_a_slurm_job_are_these(flavour: Flavour, wanted: str) -> None:
    assert line(flavour, Placement(nodes=3, ppn=2), SLURM) == wanted


def test_srun_replaces_mpirun() -> None:
    toolchain = Toolchain(
        *("t", "site", "cc", None, "other", None, "g++", "12", None),
        launch_flags=("--mpi=pmix",),
        environment={"SITE": "1"},
    )
    paths = Path("/c/kernels"), Placement(nodes=2, ppn=3), Path("/r/l.job.json"), Path("/r/l.jsonl")
    variables = " ".join(f"{name}={value}" for name, value in THREADS)
    wanted = (
        f"env SITE=1 {variables} srun --nodes=2 --ntasks=6 --ntasks-per-node=3 --nodelist=a,b "
        "--distribution=block --cpu-bind=none --overlap --overcommit --kill-on-bad-exit=1 "
        f"--input=none --quiet --mpi=pmix {PROGRAM}"
    )
    assert " ".join(mpirun_command(toolchain, *paths, cluster=SLURM)) == wanted
    asked = msgspec.structs.replace(toolchain, mpirun="mpirun", launcher="srun")
    assert " ".join(mpirun_command(asked, *paths, cluster=SLURM)) == wanted
    with pytest.raises(AssayError, match="needs a Slurm job around it"):
        mpirun_command(asked, *paths, cluster=CLUSTER)
    with pytest.raises(AssayError, match="has no mpirun"):
        mpirun_command(toolchain, *paths, cluster=CLUSTER)


def test_one_node_of_a_cluster_is_its_first_host() -> None:
    assert " -hosts a -ppn 4 " in line("mpich", Placement(nodes=1, ppn=4))
    assert " --host a:4 " in line("openmpi", Placement(nodes=1, ppn=4))
    assert "-localhost" not in line("mpich", Placement(nodes=2), ClusterConfig(("a", "b")))
    assert "-launcher-exec ssh " in line("mpich", Placement(nodes=2), ClusterConfig(("a", "b")))


def test_unsupported_placements() -> None:
    wrong = [
        ("mpich", Placement(nodes=4), CLUSTER, "There are 3 hosts, but the placement needs 4"),
        ("mpich", Placement(nodes=2), None, "There is one node, this machine"),
        ("mpich", Placement(ppn=2, adapter="eth0"), CLUSTER, "communicate through shared memory"),
        ("other", Placement(nodes=2), CLUSTER, "assay can't launch on several hosts"),
        ("other", Placement(nodes=2, adapter="eth0"), CLUSTER, "No way is known to hold this MPI"),
        ("intel", Placement(nodes=2, adapter="eth0,eth1"), CLUSTER, "it takes one interface"),
        ("intel", Placement(nodes=2, adapter="eth0,mlx5_0:1"), CLUSTER, "it takes one interface"),
    ]
    for flavour, placement, cluster, hint in wrong:
        with pytest.raises(AssayError) as error:
            line(flavour, placement, cluster)  # type: ignore[arg-type]
        assert hint in error.value.what
        assert error.value.fix


OB1 = ("--mca", "pml", "ob1", "--mca", "btl", "^openib,uct,ofi,usnic")


@pytest.mark.parametrize(
    ("flavour", "adapter", "environment", "flags"),
    [
        (
            "mpich",
            "eth0",
            {"UCX_NET_DEVICES": "eth0", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "eth0"},
            (),
        ),
        ("mpich", "eth0,eth1", {"UCX_NET_DEVICES": "eth0,eth1", "UCX_MAX_RNDV_RAILS": "2"}, ()),
        (
            "mpich",
            "mlx5_0:1",
            {
                "UCX_NET_DEVICES": "mlx5_0:1",
                "FI_PROVIDER": "verbs;ofi_rxm",
                "FI_VERBS_DEVICE_NAME": "mlx5_0",
            },
            (),
        ),
        ("intel", "eth0", {"I_MPI_OFI_PROVIDER": "tcp", "FI_TCP_IFACE": "eth0"}, ()),
        (
            "intel",
            "mlx5_0:1,mlx5_1:1",
            {
                "I_MPI_OFI_PROVIDER": "mlx",
                "UCX_NET_DEVICES": "mlx5_0:1,mlx5_1:1",
                "UCX_MAX_RNDV_RAILS": "2",
            },
            (),
        ),
        ("openmpi", "eth0", {}, (*OB1, "--mca", "btl_tcp_if_include", "eth0")),
        ("openmpi", "eth0,eth1", {}, (*OB1, "--mca", "btl_tcp_if_include", "eth0,eth1")),
        ("openmpi", "mlx5_0:1", {"UCX_NET_DEVICES": "mlx5_0:1"}, ("--mca", "pml", "ucx")),
    ],
)
def test_adapters_are_chosen_by_these_variables(
    flavour: Flavour, adapter: str, environment: dict[str, str], flags: tuple[str, ...]
) -> None:
    choice = choose_adapters(flavour, adapter)
    assert (choice.environment, choice.flags) == (environment, flags)
    # They reach the ranks through the launch command, which the run records.
    command = line(flavour, Placement(nodes=2, adapter=adapter))
    for name, value in environment.items():
        given = f"-x {name}={value}" if flavour == "openmpi" else f"-genv {name} {value}"
        assert f" {given} " in command
    assert " ".join(flags) in command


def test_no_adapter_leaves_the_choice_to_the_library() -> None:
    for flavour in (*FLAVOURS, "other"):
        assert choose_adapters(flavour, None) == choose_adapters("mpich", None)
    assert "UCX" not in line("mpich", Placement(nodes=2))


# ---- hosts, with replacements of ssh ---------------------------------------------------------


def shell(folder: Path, body: str) -> str:
    script = folder / "shell"
    script.write_text(f'#!/bin/sh\nhost=$1; shift\ncd /\n{body}\nexec sh -c "$*"\n')
    script.chmod(0o700)
    return str(script)


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """An executable and a job, by a path relative to the working folder, with a space in it."""
    monkeypatch.chdir(tmp_path)
    executable, job = tmp_path / "kernels", Path("my runs/raw/l.job.json")
    executable.touch(0o700)
    job.parent.mkdir(parents=True)
    job.touch()
    return executable, job


def test_hosts_with_all_files_pass(tmp_path: Path, seen: tuple[Path, Path]) -> None:
    greeting = shell(
        tmp_path, 'echo "Welcome to"; echo "/the/$host"; echo "$host" >>' + f"{tmp_path}/asked"
    )
    check_hosts(greeting, ("a", "b"), *seen)
    assert sorted((tmp_path / "asked").read_text().split()) == ["a", "b"]


def test_kernels_left_on_a_cut_off_host_are_ended(tmp_path: Path, seen: tuple[Path, Path]) -> None:
    """Only those of this run: another run's, and other programs that name it, continue."""
    program = tmp_path / "bin" / "assay-kernels"
    program.parent.mkdir()
    shutil.copy("/bin/sh", program)
    here = str(seen[1].parent.absolute())
    wait = ["-c", "read line", "--out"]
    with contextlib.ExitStack() as stack:

        def start(*words: str) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(words, stdin=subprocess.PIPE)
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        left = start(str(program), *wait, f"{here}/0001.jsonl")
        relative = start(str(program), *wait, f"{seen[1].parent}/0001.jsonl")
        other = start(str(program), *wait, f"{here}-2/0001.jsonl")
        program.with_name("tail").symlink_to("/bin/sh")
        reader = start(str(program.with_name("tail")), *wait, f"{here}/0001.jsonl")
        time.sleep(0.2)  # until they have called exec
        check_hosts(shell(tmp_path, ""), ("a",), *seen)
        assert (left.wait(10), relative.wait(10)) == (-9, -9)
        assert other.poll() is None
        assert reader.poll() is None


def test_a_host_that_lacks_the_run_or_the_kernels_is_named(
    tmp_path: Path, seen: tuple[Path, Path]
) -> None:
    executable, job = seen
    with pytest.raises(AssayError) as error:
        check_hosts(shell(tmp_path, ""), ("a",), executable, job.with_name("other"))
    assert error.value.what == f"The host 'a' does not see '{job.parent.absolute()}'."
    assert "share" in error.value.fix
    executable.chmod(0o600)
    with pytest.raises(AssayError, match=f"The host 'a' does not see '{executable}'"):
        check_hosts(shell(tmp_path, ""), ("a",), executable, job)


def test_a_host_that_does_not_answer_is_named(
    tmp_path: Path, seen: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing = shell(tmp_path, 'if [ $host = b ]; then echo "no route" >&2; exit 255; fi')
    with pytest.raises(AssayError, match="The host 'b' can't be reached") as error:
        check_hosts(refusing, ("a", "b"), *seen)
    assert error.value.detail == "no route"
    monkeypatch.setattr(hosts, "PATIENCE", 0.1)
    with pytest.raises(AssayError, match="can't be reached") as error:
        check_hosts(shell(tmp_path, "sleep 20"), ("a", "b"), *seen)
    assert "no answer within 0.1 s" in error.value.detail
    with pytest.raises(AssayError, match="can't be started"):
        check_hosts(str(tmp_path / "missing"), ("a",), *seen)
