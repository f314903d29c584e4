"""Reports of every suite and command, of fake machines of several sizes, for tests of all reports.

Each is the JSON report that a command writes. Machines differ in what makes figures hard to draw:
few and many cores and nodes, short and long names, fast and slow kernels.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from assay.design.example import EXAMPLE
from assay.report.model import ReportModel
from usage_logs import MONDAY

SUITES = (
    "quick", "memory", "npb", "network", "ring", "placement", "steadiness", "noise", "storage",
    "toolchains", "linpack",
)  # fmt: skip
# By machine: cores, nodes, NUMA domains, toolchains, factor of all times.
MACHINES: dict[str, tuple[int, int, int, tuple[str, ...], float]] = {
    "small": (2, 1, 1, ("gcc",), 1.0),
    "cluster": (16, 4, 2, ("gcc-14-openmpi", "clang"), 1.234567),
    "odd": (96, 3, 8, ("a-compiler-with-a-long-name-13.2.1-openmpi-5.0.7-cuda", "x"), 7.0e-3),
}
_SCENARIO = """\
schema = 1
seed = 7
cores = {cores}
nodes = {nodes}
domains = {domains}
{toolchains}
[[kernel]]
match = "memory.stream"
time = "{factor} * (1e-7 + elements * 24 * ranks / (min(ranks * threads, 6) * 12e9))"
resolved = {{ elements = 40000000 }}
noise = {{ sigma = 0.01, launch_sigma = 0.008 }}
[[kernel]]
match = "compute.dgemm"
time = "{factor} * (1e-6 + 2 * n * n * n / (40e9 * threads))"
noise = {{ sigma = 0.01, launch_sigma = 0.004 }}
[[kernel]]
match = "npb.*"
time = "{factor} * (1e-5 + work_flops / (1.2e9 * (ranks * threads) ** 0.8))"
noise = {{ sigma = 0.02, launch_sigma = 0.01, slow_launches = 0.1, slow_factor = 1.3 }}
covariates = {{ other_cpu_seconds = "0.02", online_cpus = "{cores}" }}
[[kernel]]
match = "network.pingpong"
time = "{factor} * (1.3e-6 * nodes + bytes / 11e9 + 8e-7 * (bytes >= 65536))"
noise = {{ sigma = 0.03, phi = 0.3, launch_sigma = 0.01 }}
[[kernel]]
match = "linpack"
time = "{factor} * (n * n * n * 0.67 / (30e9 * ranks * threads) + 1e-3)"
resolved = {{ n = 12000, nb = 192 }}
[[kernel]]
match = "*"
time = "{factor} * 1.2e-5 * (1 + ranks / 8)"
noise = {{ sigma = 0.03, launch_sigma = 0.02 }}
"""


def scenario(machine: str) -> str:
    cores, nodes, domains, toolchains, factor = MACHINES[machine]
    named = "\n".join(
        f'[toolchain."{name}"]\ncxx = "{name.split("-")[0]}"\nmpi_flavour = "openmpi"'
        for name in toolchains
    )
    return _SCENARIO.format(
        cores=cores, nodes=nodes, domains=domains, toolchains=named, factor=factor
    )


def reports(folder: Path, machine: str, suites: tuple[str, ...] = SUITES) -> Iterator[ReportModel]:
    """The reports of the suites on a fake machine."""
    (folder / "machine.toml").write_text(scenario(machine))
    for suite in suites:
        target = folder / f"{suite}-{machine}"
        _assay(
            folder,
            *("run", suite, "--fake", "machine.toml", "--runs", target.name, "--seed", "1"),
            *("--budget", "3 s", "--launches", "1..6", "--no-report", "--fail-on", "never"),
        )  # fmt: skip
        _assay(folder, "report", "--runs", target.name, "--output", f"{target.name}.json",
               "--format", "json")  # fmt: skip
        yield read(folder / f"{target.name}.json")


def other_reports(folder: Path) -> Iterator[ReportModel]:
    """The reports on a scheduler's log and on a design."""
    (folder / "log.swf").write_text(swf(400))
    (folder / "design.toml").write_text(EXAMPLE)
    for words in (("usage", "log.swf"), ("design", "design.toml")):
        _assay(folder, *words, "--format", "json", "--output", f"{words[0]}.json")
        yield read(folder / f"{words[0]}.json")


def read(path: Path) -> ReportModel:
    return msgspec.json.decode(path.read_bytes(), type=ReportModel)


def swf(jobs: int, nodes: int = 64) -> str:
    """A log of jobs over some weeks in SWF, with days, nights and several queues."""
    draw = random.Random(5)
    lines = [
        "; Version: 2.2",
        f"; UnixStartTime: {MONDAY}",
        f"; MaxNodes: {nodes}",
        f"; MaxProcs: {nodes * 16}",
    ]
    time = 0.0
    for number in range(1, jobs + 1):
        time += draw.expovariate(1 / 4000)
        wait = int(draw.expovariate(1 / 2500)) if draw.random() < 0.6 else 0
        run = int(draw.lognormvariate(7.5, 1.6)) + 1
        size = 2 ** draw.randrange(0, 10)
        status = 1 if draw.random() < 0.9 else draw.choice((0, 5))
        user, queue = draw.randrange(1, 30), draw.randrange(1, 4)
        lines.append(
            f"{number} {int(time)} {wait} {run} {size} -1 -1 {size} {2 * run + 600} -1 {status} "
            f"{user} {user % 5} -1 {queue} -1 -1 -1"
        )
    return "\n".join(lines) + "\n"


def _assay(folder: Path, *words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "assay", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        env=os.environ | {"COLUMNS": "80"},
        timeout=120,
    )
    assert done.returncode == 0, (words, done.stderr[-2000:])
