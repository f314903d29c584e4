"""The virtual cluster as a context manager, and the remote shell that reaches its hosts."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from assay.errors import AssayError
from assay.lab import network
from assay.lab.names import is_orphaned, new_name

# Networks 10.87.0.0/24 (adapter eth0), 10.87.1.0/24 (eth1) …: private (RFC 1918), and in namespaces
# of their own, so that they meet no other network of that number.
_NETWORK = "10.87.{rail}.{host}"
_MOST_HOSTS = 250
_MOST_RAILS = 8
GIGABIT = 125e6  # B/s
FAST_ETHERNET = 12.5e6


@dataclass(frozen=True)
class Host:
    """One host: its name, the namespace it is, its address on each network, and its cores."""

    name: str
    namespace: str
    addresses: tuple[str, ...]
    cores: tuple[int, ...]


class VirtualCluster:
    """``with VirtualCluster(2, rates=(GIGABIT, FAST_ETHERNET)) as cluster: …``

    Each host has an adapter per rate (``eth0``, ``eth1`` …), which sends no more than that many
    B/s; None is no limit. The hosts share this machine's memory and files, and divide its cores
    among them, as long as there are enough. Raises AssayError where there can't be one. What is
    made is removed at the end, after an exception too; what an owner left who was killed is removed
    by the next cluster, or by ``remove_leftovers``.
    """

    def __init__(self, hosts: int = 2, *, rates: Sequence[float | None] = (GIGABIT,)) -> None:
        if not 1 <= hosts <= _MOST_HOSTS or not 1 <= len(rates) <= _MOST_RAILS:
            raise ValueError(
                f"1 to {_MOST_HOSTS} hosts with 1 to {_MOST_RAILS} adapters each, "
                f"not {hosts} with {len(rates)}"
            )
        self.name = new_name()
        self.rates = tuple(rates)
        self.hosts = tuple(
            Host(
                name=f"node{i}",
                namespace=f"{self.name}-node{i}",
                addresses=tuple(_NETWORK.format(rail=r, host=i) for r in range(len(rates))),
                cores=share_of(sorted(os.sched_getaffinity(0)), i - 1, hosts),
            )
            for i in range(1, hosts + 1)
        )
        self._switch = f"{self.name}-switch"
        self._folder = Path(tempfile.gettempdir()) / self.name

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Everything of it that lies in the system: the hosts', and the one with the bridges."""
        return (*(host.namespace for host in self.hosts), self._switch)

    @property
    def remote_shell(self) -> Path:
        """A program called like ssh: ``HOST COMMAND…``, HOST a name or an address."""
        return self._folder / "remote-shell"

    def __enter__(self) -> VirtualCluster:
        problem = network.why_not()
        if problem:
            raise AssayError(problem, mend="Run as root, on a machine with iproute2.")
        remove_leftovers()
        try:
            self._make()
        except BaseException:
            with contextlib.suppress(AssayError):
                self.remove()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.remove()

    def remove(self) -> None:
        """End what runs on its hosts and remove it; nothing if that was done."""
        network.remove_namespaces(self.namespaces)
        shutil.rmtree(self._folder, ignore_errors=True)

    def command(self, host: Host, *words: str) -> list[str]:
        """The command line that runs a program on a host, its words passed on as they are."""
        return _entering(host) + list(words)

    def config(self) -> str:
        """The ``[cluster]`` of an assay.toml for an assay that runs on the first host."""
        hosts = ", ".join(f'"{host.addresses[0]}"' for host in self.hosts)
        return (
            f'[cluster]\nhosts = [{hosts}]\nremote_shell = "{self.remote_shell}"\n'
            f'local_address = "{self.hosts[0].addresses[0]}"\n'
        )

    def _make(self) -> None:
        network.add_namespace(self._switch)
        for rail in range(len(self.rates)):
            network.add_bridge(self._switch, f"bridge{rail}")
        for number, host in enumerate(self.hosts, start=1):
            network.add_namespace(host.namespace)
            for rail, (address, rate) in enumerate(zip(host.addresses, self.rates, strict=True)):
                network.connect(
                    host.namespace,
                    f"eth{rail}",
                    f"{address}/24",
                    self._switch,
                    f"bridge{rail}",
                    f"port{number}-{rail}",
                )
                if rate is not None:
                    network.limit_rate(host.namespace, f"eth{rail}", rate, burst_of(rate))
        self._folder.mkdir(mode=0o700)
        self.remote_shell.write_text(_remote_shell(self.hosts))
        self.remote_shell.chmod(0o700)


def share_of(cores: Sequence[int], host: int, hosts: int) -> tuple[int, ...]:
    """The cores of host number ``host`` of ``hosts``: equal parts, neighbours together.

    Cores left over stay idle, so that hosts are alike. With more hosts than cores, hosts share.
    """
    each = len(cores) // hosts
    if each == 0:
        return (cores[host % len(cores)],)
    return tuple(cores[host * each : (host + 1) * each])


def burst_of(rate: float) -> int:
    """Bytes that an adapter of so many B/s may send at once after a pause.

    Two frames of Ethernet, or what comes in 25 µs if that is more: the fewest with which the
    kernel's timer, late as it may be, keeps up a Gigabit. A message of n bytes takes (n - burst) /
    rate at least, so that shorter ones than a burst are not held up.
    """
    return max(3200, round(rate * 25e-6))


def remove_leftovers() -> list[str]:
    """Remove what clusters left whose owners were killed; the names of what was removed."""
    names = sorted(network.orphaned_namespaces())
    network.remove_namespaces(names)
    for folder in Path(tempfile.gettempdir()).glob("assay-lab-*"):
        if is_orphaned(folder.name):
            shutil.rmtree(folder, ignore_errors=True)
    return names


def _entering(host: Host) -> list[str]:
    """What to put before a program's words to run it on a host.

    Besides the network, a host has its own name (UTS) and its own System V and POSIX queues (IPC):
    by these MPI libraries tell whether two ranks may talk through memory.
    """
    named = 'echo "$0" >/proc/sys/kernel/hostname && exec "$@"'
    cores = ",".join(map(str, host.cores))
    isolated = ["taskset", "-c", cores, "unshare", "--uts", "--ipc", "sh", "-c", named, host.name]
    return ["ip", "netns", "exec", host.namespace, *isolated]


def _remote_shell(hosts: Sequence[Host]) -> str:
    """The script: like ssh, it joins its words and gives them to a shell on the host."""
    cases = "".join(
        f"  {'|'.join((host.name, *host.addresses))})\n"
        f'    exec {shlex.join(_entering(host))} sh -c "$*" ;;\n'
        for host in hosts
    )
    return f"""\
#!/bin/sh
# HOST COMMAND…: runs a command on a host of a virtual cluster, as ssh would on a real one: from
# another folder than the caller's, its words joined and given to a shell.
cd /
while [ "${{1#-}}" != "$1" ]; do shift; done
host=$1
shift
case "$host" in
{cases}  *) echo "remote-shell: there is no host '$host'" >&2; exit 255 ;;
esac
"""
