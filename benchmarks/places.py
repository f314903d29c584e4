"""Where the ranks of both sides run: within this node, or on hosts of a virtual cluster."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from virtual_cluster import GIGABIT, VirtualCluster

_COUNTS = {2: "two", 4: "four"}


@dataclass(frozen=True)
class Place:
    """Words before each command, of ``assay measure``, and of ``mpirun``."""

    name: str
    before: tuple[str, ...]
    measure: tuple[str, ...]
    mpirun: tuple[str, ...]
    cwd: Path | None = None


NODE = Place("within the node", (), ("--ppn", "2"), ("-n", "2", "--bind-to", "core"))


@contextmanager
def gigabit(hosts: int = 2) -> Iterator[Place]:
    """Hosts joined at 1 Gbit/s, with a rank each. Needs root."""
    with (
        VirtualCluster(hosts, rates=(GIGABIT,)) as cluster,
        tempfile.TemporaryDirectory() as folder,
    ):
        Path(folder, "assay.toml").write_text(cluster.config())
        first = cluster.hosts[0]
        yield Place(
            f"{_COUNTS.get(hosts, hosts)} hosts at 1 Gbit/s",
            tuple(cluster.command(first)),
            ("--nodes", str(hosts), "--ppn", "1"),
            (
                *("-launcher", "ssh", "-launcher-exec", str(cluster.remote_shell)),
                *("-localhost", first.addresses[0], "-ppn", "1", "-n", str(hosts)),
                *("-hosts", ",".join(host.addresses[0] for host in cluster.hosts)),
                *("-genv", "UCX_TLS", "tcp,self"),
            ),
            Path(folder),
        )
