"""Faults of a node of the lab, each for the duration of a ``with`` block.

A node is a set of namespaces; its daemons and hooks are processes of its slurmd. Faults act there:
on control groups of that process, in its mount namespace, and on its adapters.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from assay.lab.cluster import Host
from assay.lab.network import burst_of
from gate_lab import SCRATCH, GatedSlurm

_GROUPS = Path("/sys/fs/cgroup")
HUNG = Path("/mnt/assay-hung")
# An ordinary user, who needs no account here.
_USER = 4242
# Seconds until a process counts as left over.
_AGE = 11.0
_HOG = """
import os, sys, time
sys.stdin.readline()
# However busy the machine is, it takes nearly all of one core and leaves the others.
os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
os.setgroups([])
os.setgid(int(sys.argv[1]))
os.setuid(int(sys.argv[1]))
kept = b"x" * (1 << 30)
print("kept", flush=True)
starter = os.getppid()
until = time.monotonic() + 300
while time.monotonic() < until and os.getppid() == starter:
    pass
"""
Fault = Callable[[GatedSlurm, Host], AbstractContextManager[None]]


@contextlib.contextmanager
def _group(gated: GatedSlurm, node: Host, kind: str, values: Mapping[str, str]) -> Iterator[None]:
    """A control group (version 1) for the node's slurmd and what it starts."""
    group = _GROUPS / kind / f"assay-test-{os.getpid()}-{node.name}"
    group.mkdir()
    pid = str(gated.slurmd(node))
    try:
        for name, value in values.items():
            (group / name).write_text(value)
        (group / "cgroup.procs").write_text(pid)
        yield
    finally:
        for left in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                (_GROUPS / kind / "cgroup.procs").write_text(left)
        with contextlib.suppress(OSError):
            group.rmdir()


@contextlib.contextmanager
def quota(gated: GatedSlurm, node: Host) -> Iterator[None]:
    """80% of one CPU."""
    values = {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "80000"}
    with _group(gated, node, "cpu", values):
        yield


@contextlib.contextmanager
def lost_core(gated: GatedSlurm, node: Host) -> Iterator[None]:
    """All but the last of the node's cores."""
    cores = ",".join(map(str, node.cores[:-1]))
    memory = (_GROUPS / "cpuset" / "cpuset.mems").read_text().strip()
    with _group(gated, node, "cpuset", {"cpuset.cpus": cores, "cpuset.mems": memory}):
        yield


@contextlib.contextmanager
def _replaced(gated: GatedSlurm, node: Host, path: str, content: str) -> Iterator[None]:
    """A file with other content, in the node's mount namespace alone."""
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(content)
        file.flush()
        gated.run(node, "mount", "--bind", file.name, path)
        try:
            yield
        finally:
            gated.run(node, "umount", path)


def wrong_memory(gated: GatedSlurm, node: Host) -> AbstractContextManager[None]:
    """Three quarters of the memory, as with a DIMM that the firmware has mapped out."""
    lines = Path("/proc/meminfo").read_text().splitlines(keepends=True)
    total = int(lines[0].split()[1])
    return _replaced(
        gated, node, "/proc/meminfo", f"MemTotal: {3 * total // 4} kB\n" + "".join(lines[1:])
    )


def wrong_speed(gated: GatedSlurm, node: Host) -> AbstractContextManager[None]:
    """An adapter that has agreed on 100 Mbit/s. The kernel has no other speed for a veth."""
    return _replaced(gated, node, "/sys/class/net/eth0/speed", "100\n")


@contextlib.contextmanager
def full_scratch(gated: GatedSlurm, node: Host) -> Iterator[None]:
    """A file that fills the folder for files of jobs."""
    file = str(SCRATCH / "left-by-a-job")
    gated.run(node, "dd", "if=/dev/zero", f"of={file}", "bs=1M", check=False)
    try:
        yield
    finally:
        gated.run(node, "rm", "-f", file)


@contextlib.contextmanager
def hung_mount(gated: GatedSlurm, node: Host) -> Iterator[None]:
    """A mount whose server doesn't answer."""
    HUNG.mkdir(exist_ok=True)
    program = Path(__file__).with_name("hung_mount.py")
    server = subprocess.Popen(
        gated.inside(node, sys.executable, str(program), str(HUNG)), stdout=subprocess.PIPE
    )
    try:
        assert server.stdout is not None and server.stdout.readline()
        yield
    finally:
        server.kill()
        server.wait()
        gated.run(node, "umount", "-l", str(HUNG), check=False)


@contextlib.contextmanager
def leftover(gated: GatedSlurm, node: Host) -> Iterator[None]:
    """A process of a user's job that survived it: it computes, in a control group of its own, with
    1 GiB of memory."""
    group = _GROUPS / "memory" / f"assay-test-hog-{os.getpid()}"
    group.mkdir()
    hog = subprocess.Popen(
        gated.inside(node, sys.executable, "-c", _HOG, str(_USER)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    (group / "cgroup.procs").write_text(str(hog.pid))
    assert hog.stdin is not None and hog.stdout is not None
    hog.stdin.write(b"\n")
    hog.stdin.flush()
    assert hog.stdout.readline()
    time.sleep(_AGE)
    gated.set_first_user(node, _USER)
    try:
        yield
    finally:
        gated.set_first_user(node)
        hog.kill()
        hog.wait()
        _remove(group)


def _remove(group: Path) -> None:
    until = time.monotonic() + 5.0
    while time.monotonic() < until:
        try:
            group.rmdir()
        except OSError:
            time.sleep(0.05)
        else:
            return


class ClockDaemons:
    """A process with the name of a clock daemon on each node; it leaves the clock alone."""

    def __init__(self, gated: GatedSlurm, folder: Path) -> None:
        self._gated = gated
        self._program = folder / "chronyd"
        shutil.copy("/bin/sleep", self._program)
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        for node in gated.nodes:
            self.start(node)

    def start(self, node: Host) -> None:
        self._daemons[node.name] = subprocess.Popen(
            self._gated.inside(node, str(self._program), "infinity")
        )

    def stop(self, node: Host) -> None:
        daemon = self._daemons.pop(node.name)
        daemon.kill()
        daemon.wait()

    def close(self) -> None:
        for node in self._gated.nodes:
            if node.name in self._daemons:
                self.stop(node)


def rate_command(rate: float) -> list[str]:
    """The command that sets what a host's adapter sends at most, in B/s."""
    burst = burst_of(rate)
    return [
        *("tc", "qdisc", "change", "dev", "eth0", "root", "handle", "1:", "tbf"),
        *("rate", f"{rate:.0f}bps", "burst", str(burst), "limit", str(burst + 200_000)),
    ]


@contextlib.contextmanager
def no_clock_daemon(gated: GatedSlurm, node: Host) -> Iterator[None]:
    """The clock daemon of one node is stopped."""
    assert gated.daemons is not None
    gated.daemons.stop(node)
    try:
        yield
    finally:
        gated.daemons.start(node)


@contextlib.contextmanager
def none(gated: GatedSlurm, node: Host) -> Iterator[None]:
    """A healthy node."""
    yield
