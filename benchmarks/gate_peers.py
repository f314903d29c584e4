"""LBNL Node Health Check and ReFrame on a node of the lab, beside `assay check`.

Their configurations are what an administrator writes for the same faults, with values of the node.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

_SUPPORT = Path(__file__).resolve().parents[1] / "tests" / "support"
sys.path.insert(0, str(_SUPPORT))

from assay.lab.cluster import Host  # noqa: E402
from gate_lab import ASSAY, SCRATCH, GatedSlurm  # noqa: E402

# Seconds until a program counts as hanging.
_PATIENCE = 40.0
_NHC = """\
* || export TIMEOUT=15
* || check_hw_cpuinfo {sockets} {cores} {cores}
* || check_hw_physmem {memory}kB {memory}kB 3%
* || check_hw_eth eth0
* || check_cmd_output -m '/^1000$/' cat /sys/class/net/eth0/speed
* || check_fs_mount_rw -f {scratch}
* || check_fs_free {scratch} 10%
* || check_ps_service -S chronyd
* || check_ps_unauth_users log syslog
"""
_REFRAME_SITE = """\
site_configuration = {{
    "systems": [{{
        "name": "lab",
        "hostnames": [".*"],
        "partitions": [
            {{"name": "node", "scheduler": "local", "launcher": "local", "environs": ["gnu"]}}
        ],
    }}],
    "environments": [{{"name": "gnu", "cc": "cc"}}],
    "logging": [{{"handlers_perflog": [], "handlers": [
        {{"type": "stream", "name": "stdout", "level": "info", "format": "%(message)s"}}
    ]}}],
}}
"""
_REFRAME_TESTS = """\
import reframe as rfm
import reframe.utility.sanity as sn


class OnNode(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]


@rfm.simple_test
class Cores(OnNode):
    executable = "nproc"

    @sanity_function
    def right(self):
        return sn.assert_found(r"^{cores}$", self.stdout)


@rfm.simple_test
class Memory(OnNode):
    executable = "grep MemTotal /proc/meminfo"

    @sanity_function
    def right(self):
        total = sn.extractsingle(r"(\\d+) kB", self.stdout, 1, int)
        return sn.assert_bounded(total, {low}, {high})


@rfm.simple_test
class Speed(OnNode):
    executable = "cat /sys/class/net/eth0/speed"

    @sanity_function
    def right(self):
        return sn.assert_found(r"^1000$", self.stdout)


@rfm.simple_test
class Scratch(OnNode):
    executable = "df --output=pcent {scratch}"

    @sanity_function
    def right(self):
        return sn.assert_bounded(sn.extractsingle(r"(\\d+)%", self.stdout, 1, int), 0, 90)


@rfm.simple_test
class Mounts(OnNode):
    executable = "df"
    time_limit = "15s"

    @sanity_function
    def right(self):
        return sn.assert_found("Mounted on", self.stdout)


@rfm.simple_test
class Clock(OnNode):
    executable = "pgrep -x chronyd"

    @sanity_function
    def right(self):
        return sn.assert_found(r"^\\d+$", self.stdout)


@rfm.simple_test
class Triad(rfm.RegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    build_system = "SingleSource"
    sourcepath = "triad.c"
    reference = {{"*": {{"rate": ({rate}, -0.1, None, "GB/s")}}}}

    @run_before("compile")
    def flags(self):
        self.build_system.cflags = ["-O3", "-march=native", "-fopenmp"]

    @sanity_function
    def ran(self):
        return sn.assert_found("rate", self.stdout)

    @performance_function("GB/s")
    def rate(self):
        return sn.extractsingle(r"rate (\\S+)", self.stdout, 1, float)
"""
_TRIAD = """\
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  const long n = 20000000;
  double *a = malloc(8 * n), *b = malloc(8 * n), *c = malloc(8 * n), best = 1e9;
#pragma omp parallel for
  for (long i = 0; i < n; i++) a[i] = 0, b[i] = 1, c[i] = 2;
  for (int k = 0; k < 10; k++) {
    double begin = omp_get_wtime();
#pragma omp parallel for
    for (long i = 0; i < n; i++) a[i] = b[i] + 3 * c[i];
    double time = omp_get_wtime() - begin;
    if (time < best) best = time;
  }
  printf("rate %.3f\\n", 24e-9 * n / best + 0 * a[n / 2]);
}
"""


def timed(
    gated: GatedSlurm, node: Host, *words: str
) -> tuple[subprocess.CompletedProcess[str], float]:
    """Run a program as slurmd's child would run: in its control groups and namespaces.

    Its output goes to a file: a process that hangs would keep a pipe open. A program that doesn't
    end is killed, and has the status of the signal.
    """
    joining = _SUPPORT / "joining.py"
    command = [sys.executable, str(joining), str(gated.slurmd(node)), *gated.inside(node, *words)]
    begin = time.perf_counter()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            start_new_session=True,
        )
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(_PATIENCE)
        seconds = time.perf_counter() - begin
        output.seek(0)
        text = output.read()
    return subprocess.CompletedProcess(command, process.returncode, text, ""), seconds


def assay(gated: GatedSlurm, node: Host) -> tuple[str, float]:
    words = ["check", "--idle", "--folder", str(gated.checks), "--scratch", str(SCRATCH)]
    done, seconds = timed(gated, node, str(ASSAY), *words)
    # Above its line it may name processes that hang.
    return done.stdout.strip().splitlines()[-1], seconds


def nhc_conf(node: Host) -> str:
    sockets = len(
        {line for line in Path("/proc/cpuinfo").read_text().splitlines() if "physical id" in line}
    )
    return _NHC.format(
        sockets=max(sockets, 1), cores=len(node.cores), memory=_memory(), scratch=SCRATCH
    )


def _memory() -> int:
    return int(Path("/proc/meminfo").read_text().split()[1])


def nhc(gated: GatedSlurm, node: Host, source: Path, conf: Path) -> tuple[str, float]:
    # It clears variables of its environment, and takes them behind its options.
    settings = [f"INCDIR={source / 'scripts'}", f"HELPERDIR={source / 'helpers'}", "MARK_OFFLINE=0"]
    done, seconds = timed(
        gated, node, "bash", str(source / "nhc"), "-c", str(conf), "-l", "-", *settings
    )
    output = done.stdout
    if done.returncode < 0:
        return f"doesn't end within {_PATIENCE:g} s", seconds
    if "command not found" in output:
        raise RuntimeError(output)
    said = [line for line in output.splitlines() if "ERROR" in line]
    if not said:
        return ("healthy" if done.returncode == 0 else f"status {done.returncode}"), seconds
    return textwrap.shorten(said[0].partition("nhc:")[2], 110), seconds


def write_reframe(gated: GatedSlurm, node: Host, folder: Path) -> int:
    source = folder / "src"
    source.mkdir(parents=True)
    (source / "triad.c").write_text(_TRIAD)
    program = folder / "triad"
    subprocess.run(
        ["cc", "-O3", "-march=native", "-fopenmp", source / "triad.c", "-o", program], check=True
    )
    rate = float(gated.run(node, str(program)).stdout.split()[1])
    memory = _memory()
    tests = _REFRAME_TESTS.format(
        cores=len(node.cores), low=int(0.97 * memory), high=int(1.03 * memory), scratch=SCRATCH,
        rate=rate,
    )  # fmt: skip
    (folder / "tests.py").write_text(tests)
    (folder / "site.py").write_text(_REFRAME_SITE.format())
    return sum(
        len([line for line in path.read_text().splitlines() if line.strip()])
        for path in (folder / "tests.py", folder / "site.py", source / "triad.c")
    )


def reframe(gated: GatedSlurm, node: Host, program: Path, folder: Path) -> tuple[str, float]:
    done, seconds = timed(
        gated, node, str(program), "-C", str(folder / "site.py"), "-c", str(folder / "tests.py"),
        "--prefix", str(folder / "out"), "-r", "--report-file", str(folder / "report.json"),
    )  # fmt: skip
    if done.returncode < 0:
        return f"doesn't end within {_PATIENCE:g} s", seconds
    if re.search(r"Ran 7/7 test case", done.stdout) is None:
        raise RuntimeError(done.stdout)
    failed = re.findall(r"^FAILURE INFO for (\w+)", done.stdout, re.MULTILINE)
    if failed:
        return f"fails: {', '.join(dict.fromkeys(failed))}", seconds
    return ("all pass" if done.returncode == 0 else f"status {done.returncode}"), seconds
