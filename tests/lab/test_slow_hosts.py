"""``assay why`` on a lab in which one host is slow: its CPU, or its link."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.lab import network
from assay.lab.entering import environment
from cpu_quota import cpu_quota
from mpi_counts import built_against_mpi
from native_build import TOOLS
from other_work import OtherWork
from virtual_cluster import VirtualCluster
from why_answers import agrees, found, reason_of

reason = network.why_not()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.flaky(reruns=1, reason="other work of the machine comes and goes between launches"),
    pytest.mark.skipif(reason is not None, reason=reason or ""),
]
# The slow host, of two. More hosts than CPUs would take CPUs from each other.
SLOW = "node2"


def asked(
    cluster: VirtualCluster, folder: Path, words: Sequence[str], enter: Sequence[str] = ()
) -> tuple[dict[str, Any], OtherWork]:
    """The findings, asked on the first host, with a rank per host. ``enter``: before each rank."""
    hosts = ",".join(host.addresses[0] for host in cluster.hosts)
    command = [
        *(str(TOOLS / "mpirun"), "-n", str(len(cluster.hosts)), "-launcher", "ssh"),
        *("-launcher-exec", str(cluster.remote_shell), "-rmk", "user"),
        *("-localhost", cluster.hosts[0].addresses[0], "-hosts", hosts, "-ppn", "1"),
        *(*enter, str(built_against_mpi("planted_reasons.c", "-g")), *words),
    ]
    variables = environment(cluster, os.environ)
    before = cluster.command(cluster.hosts[0])
    return found(folder, command, before=before, variables=variables)


def limit(cluster: VirtualCluster, host: str, *discipline: str) -> None:
    """Limit what a host sends."""
    (slow,) = (one for one in cluster.hosts if one.name == host)
    subprocess.run(
        ["tc", "-n", slow.namespace, "qdisc", "replace", "dev", "eth0", "root", *discipline],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip


def test_a_host_whose_ranks_are_throttled(tmp_path: Path) -> None:
    with cpu_quota() as group, VirtualCluster(2, rates=(None,)) as cluster:
        enter = group.entering_on(SLOW)
        answered, others = asked(cluster, tmp_path, ("none", "8", "1e7"), enter)
    assert [one["host"] for one in answered["by_rank"]] == ["node1", "node2"]
    if agrees(answered, others, "CPU quota"):
        assert reason_of(answered, "CPU quota")["where"].startswith("rank 1 on node2")
        assert answered["by_rank"][1]["held"] > 0.0
        assert (answered["by_rank"][0]["held"] or 0.0) == 0.0


def test_a_host_whose_link_is_narrow(tmp_path: Path) -> None:
    """It sends at a tenth of the other's rate. Both exchange the same bytes."""
    with VirtualCluster(2, rates=(1e8,)) as cluster:
        limit(cluster, SLOW, "tbf", "rate", "80mbit", "burst", "32k", "limit", "4m")
        answered, others = asked(cluster, tmp_path, ("large", "8", "1e6"))
    if agrees(answered, others, "bandwidth", "congestion"):
        first = reason_of(answered, answered["first"])
        assert f"Messages from {SLOW} to node1 take at least " in first["evidence"], first


def test_a_host_whose_messages_are_delayed(tmp_path: Path) -> None:
    with VirtualCluster(2, rates=(None,)) as cluster:
        try:
            limit(cluster, SLOW, "netem", "delay", "2ms")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"this kernel can't delay packets: {error.stderr.decode().strip()}")
        answered, others = asked(cluster, tmp_path, ("tiny", "8", "1e6"))
    if agrees(answered, others, "latency", "congestion"):
        first = reason_of(answered, answered["first"])
        assert f"Messages from {SLOW} to node1 take at least " in first["evidence"], first
