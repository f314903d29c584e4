"""A virtual cluster, and the remote shell that reaches its hosts."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.lab import network
from assay.lab.names import is_orphaned
from assay.lab.network import Progress, burst_of
from assay.lab.spec import Spec
from assay.lab.topologies import shape_of

__all__ = ["Cluster", "Host", "burst_of"]


@dataclass(frozen=True)
class Host:
    """One host: its name, its namespace, its addresses, and its cores."""

    name: str
    namespace: str
    #: One address per network; in routed clusters, one address for all adapters.
    addresses: tuple[str, ...]
    cores: tuple[int, ...]


class Cluster:
    """Hosts in namespaces; ``make`` creates and ``remove`` removes them.

    ``prefix``: prefix of the namespaces' names. ``folder``: holds the remote shell, the hosts'
    names and the adapters' speeds; it is created if missing and removed with the cluster.
    ``cores``: cores of this machine to divide among the hosts.
    """

    def __init__(
        self, spec: Spec, name: str, prefix: str, folder: Path, cores: Sequence[int]
    ) -> None:
        self.name = name
        self.spec = spec
        self.shape = shape_of(spec)
        self.folder = folder
        self.prefix = prefix
        self.hosts = tuple(
            Host(
                name=host,
                namespace=prefix + host,
                addresses=self.shape.addresses[host],
                cores=share_of(cores, number, spec.hosts, spec.cores),
            )
            for number, host in enumerate(self.shape.hosts)
        )

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces of hosts and switches."""
        return tuple(self.prefix + node for node in self.shape.nodes)

    @property
    def remote_shell(self) -> Path:
        """A program called like ssh: ``HOST COMMAND…``, HOST a name or an address."""
        return self.folder / "remote-shell"

    @property
    def crowded(self) -> bool:
        """Whether hosts share cores."""
        return len({core for host in self.hosts for core in host.cores}) < sum(
            len(host.cores) for host in self.hosts
        )

    def host(self, name: str) -> Host | None:
        """The host with that name."""
        return next((host for host in self.hosts if host.name == name), None)

    def command(self, host: Host, *words: str) -> list[str]:
        """The command line that runs a program on a host, with its arguments unchanged."""
        return _entering(host, self.folder) + list(words)

    def config(self) -> str:
        """The ``[cluster]`` section of assay.toml for running assay on the first host."""
        hosts = ", ".join(f'"{host.addresses[0]}"' for host in self.hosts)
        return (
            f'[cluster]\nhosts = [{hosts}]\nremote_shell = "{self.remote_shell}"\n'
            f'local_address = "{self.hosts[0].addresses[0]}"\n'
        )

    def make(self, progress: Progress | None = None, keep: Sequence[int] = ()) -> None:
        """Create the cluster. Raises AssayError; parts that exist by then stay until ``remove``."""
        network.build(
            self.shape, self.prefix, delayed=self.spec.delayed, progress=progress, keep=keep
        )
        self.folder.mkdir(mode=0o700, exist_ok=True)
        names = "".join(f"{host.addresses[0]} {host.name}\n" for host in self.hosts)
        (self.folder / "hosts").write_text(f"127.0.0.1 localhost\n{names}")
        for end, _, wire in self.shape.adapters(self.shape.hosts[0]):
            (self.folder / f"speed-{end.adapter}").write_text(f"{_megabits(wire.rate)}\n")
        self.remote_shell.write_text(_remote_shell(self.hosts, self.folder))
        self.remote_shell.chmod(0o700)

    def remove(self) -> None:
        """End all processes on its hosts and remove it; does nothing if it is removed already."""
        network.remove_namespaces(self.namespaces)
        shutil.rmtree(self.folder, ignore_errors=True)


def share_of(
    cores: Sequence[int], host: int, hosts: int, each: int | None = None
) -> tuple[int, ...]:
    """The cores of host number ``host`` of ``hosts``: equal parts of consecutive cores.

    Remaining cores stay idle, so that all hosts are equal. With more hosts than cores, hosts share
    cores. ``each``: cores per host if not an equal part; at most all.
    """
    each = min(each or len(cores) // hosts or 1, len(cores))
    return tuple(cores[(host * each + k) % len(cores)] for k in range(each))


def remove_leftovers() -> list[str]:
    """Remove clusters whose owners were killed; returns the names of their namespaces."""
    names = sorted(network.orphaned_namespaces())
    network.remove_namespaces(names)
    for folder in Path(tempfile.gettempdir()).glob("assay-lab-*"):
        if is_orphaned(folder.name):
            shutil.rmtree(folder, ignore_errors=True)
    return names


def _megabits(rate: float | None) -> int:
    """A link's speed as the kernel reports it: whole Mbit/s, -1 if unknown."""
    return -1 if rate is None else max(1, round(rate * 8e-6))


def _entering(host: Host, folder: Path) -> list[str]:
    """The command prefix that runs a program on a host.

    In addition to the network namespace, a host has its own name (UTS) and System V and POSIX
    queues (IPC): MPI libraries use these to decide whether two ranks may use shared memory. In the
    private mounts of ``ip netns exec``, files of the folder replace /etc/hosts and the adapters'
    speeds: for virtual adapters the kernel reports 10 Gbit/s, whatever their rate.
    """
    named = (
        'echo "$0" >/proc/sys/kernel/hostname; mount --bind "$1/hosts" /etc/hosts; '
        'for speed in "$1"/speed-*; do '
        'mount --bind "$speed" "/sys/class/net/${speed##*-}/speed"; done; shift; exec "$@"'
    )
    cores = ",".join(map(str, host.cores))
    isolated = ["taskset", "-c", cores, "unshare", "--uts", "--ipc", "sh", "-c", named, host.name]
    return ["ip", "netns", "exec", host.namespace, *isolated, str(folder)]


def _remote_shell(hosts: Sequence[Host], folder: Path) -> str:
    """The script of the remote shell: like ssh, it passes its joined words to a shell."""
    cases = "".join(
        f"  {'|'.join((host.name, *host.addresses))})\n"
        f'    exec {shlex.join(_entering(host, folder))} sh -c "$*" ;;\n'
        for host in hosts
    )
    return f"""\
#!/bin/sh
# HOST COMMAND…: runs a command on a host of a virtual cluster, as ssh would on a real one: in
# another folder than the caller's; its words are joined and passed to a shell.
cd /
while [ "${{1#-}}" != "$1" ]; do shift; done
host=$1
shift
case "$host" in
{cases}  *) echo "remote-shell: there is no host '$host'" >&2; exit 255 ;;
esac
"""
