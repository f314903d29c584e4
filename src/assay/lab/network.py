"""Namespaces, bridges and rates: what of a virtual cluster lies in the system, made and removed."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from assay.errors import AssayError
from assay.lab.names import is_orphaned

# Where iproute2 keeps the names of namespaces.
_NAMES = Path("/run/netns")
# Bits of capabilities(7).
_CAP_NET_ADMIN, _CAP_SYS_ADMIN = 12, 21
# Seconds to wait for killed processes to be gone.
_PATIENCE = 5.0


def why_not() -> str | None:
    """A sentence on why there can be no virtual cluster here; None if there can."""
    if os.geteuid() != 0:
        return "A virtual cluster needs root: only root may make network namespaces."
    status = Path("/proc/self/status").read_text()
    rights = next(int(x[8:], 16) for x in status.splitlines() if x.startswith("CapEff:"))
    if not all(rights >> right & 1 for right in (_CAP_NET_ADMIN, _CAP_SYS_ADMIN)):
        return "A virtual cluster needs root's full rights, and this root has none over networks."
    missing = [
        program for program in ("ip", "tc", "unshare", "taskset") if shutil.which(program) is None
    ]
    if missing:
        return f"A virtual cluster needs the program '{missing[0]}'."
    return None


def add_namespace(namespace: str) -> None:
    """Make a namespace with its loopback up. Raises AssayError."""
    run("ip", "netns", "add", namespace)
    run("ip", "-n", namespace, "link", "set", "lo", "up")


def add_bridge(namespace: str, bridge: str) -> None:
    """Make a bridge in a namespace."""
    run("ip", "-n", namespace, "link", "add", bridge, "type", "bridge")
    run("ip", "-n", namespace, "link", "set", bridge, "up")


def connect(
    namespace: str, adapter: str, address: str, switch: str, bridge: str, port: str
) -> None:
    """Give a namespace an adapter with an address ("10.0.0.1/24"), plugged into a bridge's port."""
    pair = ["type", "veth", "peer", "name", port, "netns", switch]
    run("ip", "link", "add", adapter, "netns", namespace, *pair)
    run("ip", "-n", switch, "link", "set", port, "master", bridge, "up")
    run("ip", "-n", namespace, "address", "add", address, "dev", adapter)
    run("ip", "-n", namespace, "link", "set", adapter, "up")


def limit_rate(namespace: str, adapter: str, rate: float, burst: int) -> None:
    """Let an adapter send no more than ``rate`` B/s, after a burst of ``burst`` bytes at once."""
    # A queue of 50 ms holds what TCP has under way, so that the bucket delays and does not drop.
    bucket = ["rate", f"{rate:.0f}bps", "burst", str(burst), "latency", "50ms"]
    run("tc", "-n", namespace, "qdisc", "add", "dev", adapter, "root", "tbf", *bucket)


def remove_namespaces(namespaces: Sequence[str]) -> None:
    """End the processes in these namespaces and remove them, as far as they are there.

    With a namespace go its adapters and bridges. Raises AssayError if a process can't be ended.
    """
    there = [namespace for namespace in namespaces if (_NAMES / namespace).exists()]
    deadline = time.monotonic() + _PATIENCE
    while pids := {pid for namespace in there for pid in processes_in(namespace)}:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            raise AssayError(
                f"Processes of a virtual cluster can't be ended: {sorted(pids)}.",
                mend="They wait for the kernel; try again later.",
            )
        time.sleep(0.01)
    for namespace in there:
        run("ip", "netns", "del", namespace)


def processes_in(namespace: str) -> list[int]:
    """The ids of the processes in a namespace."""
    return [int(word) for word in run("ip", "netns", "pids", namespace).split()]


def orphaned_namespaces() -> Iterator[str]:
    """The namespaces of virtual clusters whose owners no longer run."""
    if _NAMES.is_dir():
        yield from (path.name for path in _NAMES.iterdir() if is_orphaned(path.name))


def run(*command: str) -> str:
    """What the command prints. Raises AssayError with its own words if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssayError(
            f"The virtual cluster can't be made: `{' '.join(command)}` failed.",
            detail=done.stderr.strip(),
            mend="It needs a kernel with network namespaces, veth, bridge and sch_tbf.",
        )
    return done.stdout
