"""Executes the examples of help and documents, in a folder with the files that they name.

Parts of examples that need hours, a cluster or a queue are replaced (``REPLACED``, ``ADDED``):
a fake machine of 40 nodes is measured, sessions in jobs are seconds apart, and the scheduler
consists of processes. Labs are real, and so is the Slurm of labs that have one.
"""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.cli.app import app
from assay.design.example import EXAMPLE
from assay.lab import network, slurm
from assay.lab.slurm_accounts import why_no_accounts
from assay.report.paper.pdf import BROWSERS, WEASYPRINT
from assay.simulation.example import EXAMPLE as TO_SIMULATE
from examples import ROOT, examples, executed, words_of
from profiles import profiled_program
from site_programs import npb_program
from usage_logs import LSF, PBS, SLURM, SLURM_CLUSTERS, SWF

# Patterns in an example's words and their replacements.
REPLACED = {
    "results/*.json": "results/fio.json",
    "accounting/2026*": "accounting/20260101",
    "lsb.acct*": "lsb.acct",
    "long": "normal",
    "--open": "--json",
    "~/NPB/bin": "NPB",
    "400": "4",
    "100": "5",
    "nodes=+10%": "nodes=+50%",  # of 4 nodes
    "largest=64": "largest=8",  # of 16 processors
    "20260101T": "fake",
    "20260201T": "new",
    "20260301T0910": "measured",
    "20260302T0910": "measured",
    "~/.ssh/id_ed25519": "key",
    "@2026-10-01": "old",
    "@2026-11-01": "new",
    "old:toolchain=gcc": "old:toolchain=embedded",
    "new:toolchain=clang": "new:toolchain=embedded",
    "old1+old2+old3": "old+sets",
    "new1+new2+new3": "new",
    "RUN": "sets",
    "/shared/seth": "runs",
    "/shared/helix": "other-runs",
    "/srv/www/assay": "www",
    "RUN:nodes=n[001-016]": "sets:nodes=fake[0-7]",
    "RUN:rest": "sets:rest",
    "RUN:node=n003": "sets:node=fake0",
}
# Options added to measuring commands that don't set them.
ADDED = {"--fake": "machine.toml", "--launches": "1"}
# Whether archives can be signed here.
KEYS = shutil.which("ssh-keygen") is not None
# Whether PDF can be printed here.
PRINTS = any(map(shutil.which, (*BROWSERS, WEASYPRINT)))
# Whether Linpack, which has no closed form, can be simulated here.
SIMULATES = shutil.which("smpirun") is not None
# Examples with an exit status other than 0, and why.
STATUS = {
    "assay doctor --fail-on warning": (0, 1),  # by the findings on this machine
    # No folder of builds for all users is named here; tests/kernels has one.
    "assay kernels --build --shared": (2,),
    # SimGrid is not installed, or the program is not compiled for it.
    "assay simulate --on seth.toml --ranks 16 -- ./app": (2,),
    'assay simulate linpack.24570 --on seth.toml --ranks 240 --rate "2.604 Gflop/s" --draws 4': (
        (0,) if SIMULATES else (2,)
    ),
    "assay report --page --format pdf": (0,) if PRINTS else (2,),
    "assay accept contract.toml --run 20260301T0910 --page": (3,),
    # Here the machine does other things, too.
    "assay check": (0, 1, 3),
    "assay check --facts": (0, 1, 3),
    "assay check --textfile assay.prom": (0, 1, 3),
    "assay check --partner n0002 --verbose": (0, 1, 3),
    # Six launches decide nothing, and one run stands for both.
    "assay accept contract.toml --plan --run 20260301T0910": (3,),
    "assay accept contract.toml --run 20260301T0910": (3,),
    "assay accept contract.toml --run 20260301T0910 --worksheet filled-in.xlsx": (3,),
    "assay accept contract.toml --run 20260301T0910 --outages outages.csv": (3,),
    # Small products of matrices are slower than promised.
    "assay accept contract.toml --measure": (1,),
    "assay accept contract.toml --measure --html": (1,),
    "assay accept contract.toml --measure --submit": (1,),
    'assay accept contract.toml --measure --submit --budget "2 h"': (1,),
    "assay accept contract.toml --run 20260301T0910 --html": (3,),
    "assay accept contract.toml --run 20260301T0910 --run 20260302T0910": (2,),
    "assay accept contract.toml --run 20260301T0910 --bundle lot1.tar.gz --sign "
    "~/.ssh/id_ed25519": (3,) if KEYS else (2,),
    "assay accept contract.toml --verify received.tar.gz --allowed-signers signers": (
        (0,) if KEYS else (1,)
    ),
    # The fake machine has no traces of noise.
    "assay run standard --nodes 8": (1,),
    # The mpirun of these examples starts one rank, which sends to no other.
    "assay run placement --app 'mpirun -n {ranks} -f {hostfile} ./app' --profile first.profile": (
        2,
    ),
}
MACHINE = """
schema = 1
seed = 3
nodes = 40
cores = 16
devices = 2
launch_time = "1 ms"
[toolchain.embedded]
cxx = "g++"
mpi_flavour = "mpich"
[toolchain.site]
cxx = "g++"
mpi_flavour = "openmpi"
[[kernel]]
time = 0.001
noise = { sigma = 0.02, launch_sigma = 0.01 }
"""
PLAN = """
schema = 1
title = "Two messages"
[[measure]]
kernel = "network.pingpong"
ppn = 2
bytes = [8, 4096]
"""
# EP as on Seaborg, and on one node, both on several sets of nodes.
SETS = """
schema = 1
title = "Sets of nodes"
[[measure]]
kernel = "npb.ep"
class = "C"
nodes = [1, 8]
ppn = 16
node_set = [0, 1, 2, 3]
"""
# The whole node, as a node of a design.
NODE = """
schema = 1
title = "A node"
[[measure]]
kernel = "compute.dgemm"
n = 1000
threads = 16
[[measure]]
kernel = "memory.stream"
op = "triad"
elements = 1000000
ppn = 16
[[measure]]
kernel = "network.pingpong"
nodes = 2
bytes = [8, 64, 1024, 8192, 65536, 1048576]
"""
CONTRACT = """
schema = 1
title = "A node"
[[commitment]]
name = "Products of matrices"
cells = "compute.dgemm"
metric = "rate"
at_least = "1 Tflop/s"
[[commitment]]
name = "Latency"
cells = "network.pingpong bytes=8"
metric = "latency"
at_most = "2 ms"
[machine]
nodes = 8
[[steadiness]]
availability = "90%"
begin = 2026-09-01
days = 30
"""
# A promise about a program of one's own.
SOLVER = """
schema = 1
title = "A solver"
[[commitment]]
name = "Solver"
cells = "app"
at_most = "1 s"
"""
OUTAGES = "begin,end,nodes\n2026-09-03,2026-09-04,fake0\n"
UNOPTIMISED = """
[compilers.unoptimised]
flags = "-O0 -march=native"
"""
LAB = """
schema = 1
title = "Two hosts"
[topology]
kind = "single"
hosts = 2
"""
RING = """
schema = 1
title = "A ring"
[topology]
kind = "torus"
dimensions = [8]
"""
MODEL = """#!/bin/sh
for i in 1 2 3; do echo "step $i of 3 took 0.01 s"; sleep 0.01; done
"""
# Outputs of other tools that examples name.
IMPORTED = {
    "HPL.out": "hpl-2.3.out",
    "slurm-4711.out": "npb-3.4-ser.out",
    "hpccoutf.txt": "hpcc-1.5.out",
    "results/fio.json": "fio-3.json",
}
# Accounts that examples name.
ACCOUNTS = {
    "machine.swf.gz": SWF,
    "jobs.txt": SLURM,
    "clusters.txt": SLURM_CLUSTERS,
    "lsb.acct": LSF,
    "accounting/20260101": PBS,
}
# Examples that need the modules and partitions of a site: only their options are read. The site
# itself, docs/sites/slurm.toml, is read in tests/common/test_example_sites.py.
OF_SITES = [
    "assay kernels --build --toolchain gnu --for znver4",
    "assay kernels --build --toolchain gnu --site seth",
    "assay run network --submit --nodes 8 --site seth --partition large",
    "assay run quick --submit --per-node --nodes all --partition batch",
    # The mpirun of these examples starts one rank: three sizes are in tests/subjects/profile.
    "assay compare p2.profile p4.profile p8.profile",
]
ALL = [example for example in examples() if len(example.split()) > 1 and example not in OF_SITES]
IN_LABS = [example for example in ALL if re.match(r"assay lab (up|run|down)|.* --lab ", example)]
WITH_SLURM = [
    example for example in IN_LABS if re.search(r"--slurm| sinfo| sbatch| sacct|--submit", example)
]
ALONE = [example for example in ALL if example not in IN_LABS]


@pytest.fixture(scope="module")
def finished() -> Iterator[Path]:
    """A folder with the files that examples name, a run that ended and one that did not.

    Not one of pytest's: each session of pytest closes the folder above them to other users.
    """
    with tempfile.TemporaryDirectory(prefix="assay-examples-") as folder:
        yield filled(Path(folder))


def filled(folder: Path) -> Path:
    """The folder with these files."""
    shutil.copytree(ROOT / "docs" / "plans", folder / "docs" / "plans")
    (folder / "machine.toml").write_text(MACHINE)
    for name in ("plan.toml", "my-plan.toml"):
        (folder / name).write_text(PLAN)
    (folder / "unoptimised.toml").write_text(UNOPTIMISED)
    (folder / "my-cluster.toml").write_text(LAB)
    (folder / "ring.toml").write_text(RING)
    shutil.copy(profiled_program(), folder / "app")
    for name in ("model", "a.out", "solver"):
        (folder / name).write_text(MODEL)
        (folder / name).chmod(0o755)
    (folder / "train.py").write_text("for _ in range(3):\n    print('took 0.01', flush=True)\n")
    npb_program(folder / "NPB", "cg", "A", 1.0)
    imported = ROOT / "tests" / "data" / "importers"
    results = folder / "results"
    results.mkdir()
    for name, source in IMPORTED.items():
        shutil.copy(imported / source, folder / name)
    (folder / "accounting").mkdir()
    for name, text in ACCOUNTS.items():
        packed = gzip.compress(text.encode()) if name.endswith(".gz") else text.encode()
        (folder / name).write_bytes(packed)
    programs = folder / "programs"
    programs.mkdir()
    (programs / "mpirun").write_text('#!/bin/sh\nshift 2\nexec "$@"\n')
    (programs / "mpirun").chmod(0o755)
    (programs / "python").symlink_to(sys.executable)
    (programs / "assay").write_text(f'#!/bin/sh\nexec {sys.executable} -m assay "$@"\n')
    (programs / "assay").chmod(0o755)
    (folder / "sets.toml").write_text(SETS)
    (folder / "node-plan.toml").write_text(NODE)
    (folder / "contract.toml").write_text(CONTRACT)
    (folder / "solver.toml").write_text(SOLVER)
    (folder / "outages.csv").write_text(OUTAGES)
    (folder / "cluster.toml").write_text(EXAMPLE)
    (folder / "seth.toml").write_text(TO_SIMULATE)
    for name in ("app", "old", "new"):
        kept = ["--folder", f"{name}.profile", "--", "mpirun", "-n", "2", "./app"]
        executed(folder, "profile", "--sample=1000", "--trace", *kept)
    asked = ["why", "--launches", "1", "--folder", "app.why", "--", "mpirun", "-n", "2", "./app"]
    executed(folder, *asked)
    for runs, plan, name in (
        ("runs", "plan.toml", "old"),
        ("other-runs", "plan.toml", "new"),
        ("runs-of-sets", "sets.toml", "sets"),
        ("runs-of-nodes", "node-plan.toml", "measured"),
    ):
        executed(
            *(folder, "run", plan, "--fake", "machine.toml"),
            *("--launches", "6" if name == "measured" else "1"),
            *("--runs", runs),
        )
        (folder / name).symlink_to(next((folder / runs).iterdir()))
    for mode in ("--record", "--learn"):
        executed(folder, "check", mode)
    received(folder)
    return folder


def received(folder: Path) -> None:
    """An archive of an acceptance, signed where this is possible."""
    bundle = ["--bundle", "received.tar.gz"]
    (folder / "signers").write_text("")
    if KEYS:
        make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "key")]
        subprocess.run(make, check=True)
        (folder / "signers").write_text(f"site {(folder / 'key.pub').read_text()}")
        bundle += ["--sign", "key"]
    executed(folder, "accept", "contract.toml", "--run", "measured", *bundle, statuses=(3,))


def adjusted(example: str) -> list[str]:
    """The words of an example after ``assay``, as executed here."""
    words = [REPLACED.get(word, word) for word in words_of(example)]
    if "--submit" in words and "--every" in words:
        words[words.index("--every") + 1] = "2 s"
        words += ["--budget", "1 s"]
    if words[:2] == ["lab", "run"] and "--submit" in words:
        words.append("--dry-run")  # the whole suite takes minutes on a lab
    if "--for" in words:  # optimised, all kernels take two minutes
        words += ["--config", "unoptimised.toml", "--toolchain", "unoptimised"]
    if words[0] == "profile":  # class A takes long
        words = ["class=S" if word == "class=A" else word for word in words]
    if words[0] == "why" and "--read" in words:
        words = ["app.why" if word == "first.why" else word for word in words]
    elif words[0] == "why":
        words[1:1] = ["--launches", "1"]
    if words[0] == "run":
        words = ["app.profile" if word == "first.profile" else word for word in words]
    if words[0] == "accept" and "--app" in words:
        words[1] = "solver.toml"
    elif "--resume" in words or "--measure" in words:
        words += ["--fake", "machine.toml"]
    elif words[0] in ("run", "measure") and "--app" not in words:
        for name, value in ADDED.items():
            if name not in words:
                words += [name, value]
    return words


@pytest.mark.parametrize("example", OF_SITES)
def test_the_options_of_an_example_of_a_site_are_valid(example: str) -> None:
    assert example in examples()
    app.parse_args(words_of(example), print_error=False, exit_on_error=False)


@pytest.mark.long
@pytest.mark.parametrize("example", ALONE)
def test_an_example_works(example: str, finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    shutil.copytree(finished, folder, symlinks=True)
    words = adjusted(example)
    if words[:2] == ["run", "--resume"]:
        leave_unfinished(folder)
    if words[:2] == ["runs", "--follow"]:
        detached = ["run", "plan.toml", "--submit", "--nodes", "2", "--detach"]
        executed(folder, *detached, "--fake", "machine.toml")
    done = executed(folder, *words, statuses=STATUS.get(example, (0,)))
    assert "Traceback" not in done.stderr
    if output := next((word for word in ("-o", "--output") if word in words[:-1]), None):
        assert (folder / words[words.index(output) + 1]).stat().st_size > 0
    elif not {"--detach", "--lines"}.intersection(words):  # lines: nothing is wrong
        assert done.stdout or done.stderr


def leave_unfinished(folder: Path) -> None:
    """Remove the seal and the end of the last stream of the only run of the folder."""
    (run,) = (folder / "runs").iterdir()
    (run / "seal.json").unlink()
    for table in run.glob("*.parquet"):
        table.unlink()
    stream = max((run / "raw").glob("*.jsonl"))
    lines = stream.read_text().splitlines(keepends=True)
    stream.write_text("".join(lines[: len(lines) // 2]))


@pytest.mark.long
@pytest.mark.skipif(network.why_not() is not None, reason=network.why_not() or "")
def test_examples_in_labs_work(finished: Path) -> None:
    in_order(finished, [example for example in IN_LABS if example not in WITH_SLURM])


@pytest.mark.cluster
@pytest.mark.skipif(network.why_not() is not None, reason=network.why_not() or "")
def test_examples_in_a_lab_with_slurm_work(finished: Path) -> None:
    if (reason := slurm.why_not() or why_no_accounts(slurm._find)) is not None:
        pytest.skip(reason)
    finished.chmod(0o711)  # ordinary users of the lab read its slurm.conf
    in_order(finished, [*WITH_SLURM, "assay lab down single", "assay lab down site"])


def in_order(folder: Path, found: list[str]) -> None:
    """Execute them, after starting the labs that they need."""
    up: set[str] = set()
    ends = "assay lab down --all"
    try:
        for example in sorted(found, key=lambda e: (" down" in e, " up" not in e, e)):
            if example == ends:
                continue
            words = adjusted(example)
            name = lab_of(words)
            if words[:2] == ["lab", "up"]:
                if name in up:
                    continue
            elif name not in up:
                own = folder / f"{name}.toml"
                executed(folder, "lab", "up", str(own) if own.exists() else name)
            up.add(name)
            executed(folder, *words)
            if words[:2] == ["lab", "down"]:
                up.discard(name)
    finally:
        executed(folder, *words_of(ends))


def lab_of(words: list[str]) -> str:
    """The name of the lab that an example uses."""
    for option in ("--name", "--lab"):
        if option in words:
            return words[words.index(option) + 1]
    return next((Path(w).stem for w in words[2:] if not w.startswith("-")), "single")
