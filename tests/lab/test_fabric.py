"""assay's findings on networks whose switches, trunks and routes are known."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.lab import network
from assay.lab.entering import environment
from assay.lab.network import burst_of
from assay.lab.spec import Spec, Wire
from assay.models.network.minimum import LAUNCHES
from assay.questions.network.fabric.matrices import pair_matrices, ring_hops
from assay.records.directory import list_runs
from assay.records.model import RunData
from assay.records.reading import read_run
from assay.stats.cells.summarise import summarise_cells
from assay.topologies.kinds import Switches, Torus
from lab_probe import sent_packets
from patient_ranks import patient
from virtual_cluster import VirtualCluster

reason = network.why_not()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.flaky(
        reruns=2, reason="it measures this machine, whose CPUs other programs may take meanwhile"
    ),
    pytest.mark.skipif(reason is not None, reason=reason or ""),
]


def measured(
    cluster: VirtualCluster, folder: Path, *words: str, launches: int = 1
) -> tuple[list[dict[str, Any]], RunData]:
    """The cells of an ``assay measure`` over all hosts, one rank each, and its run."""
    (folder / "assay.toml").write_text(cluster.config())
    nodes = str(len(cluster.hosts))
    few = [
        "--launches",
        str(launches),
        "--samples",
        "5",
        "--budget",
        f"{20 * launches} s",
        "--keep",
        "--json",
    ]
    command = [sys.executable, "-m", "assay", "measure", *words, "--nodes", nodes, *few]
    before = {run.name for run in list_runs(folder / "runs")}
    done = subprocess.run(
        cluster.command(cluster.hosts[0], *command),
        cwd=folder,
        env=patient(environment(cluster, os.environ)),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode in (0, 1), done.stderr
    cells = json.loads(done.stdout)
    cells = cells if isinstance(cells, list) else [cells]
    assert all(cell["verified"] is True for cell in cells), cells
    (run,) = [run for run in list_runs(folder / "runs") if run.name not in before]
    return cells, read_run(run.path)


SIZE = "bytes=32768"
GRID = Spec(Switches(2, 2, 3), (Wire(125e6),), Wire(4e6))


@pytest.mark.long
def test_the_switches_of_a_grid_are_found(tmp_path: Path) -> None:
    """Trunks are a thirtieth as fast as adapters: hosts on one switch are much closer."""
    with VirtualCluster(spec=GRID) as cluster:
        _, pairs = measured(cluster, tmp_path, "network.pairs", SIZE, launches=LAUNCHES)
        _, ring = measured(
            *(cluster, tmp_path, "network.ring", SIZE, "mode=token"), launches=LAUNCHES
        )
    (matrix,) = pair_matrices(summarise_cells(pairs), pairs)
    assert matrix.names == tuple(f"node{n}" for n in range(1, 13))
    finest = matrix.topology.levels[-1]
    assert finest.groups == ((0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 10, 11))
    # Between switches nothing is faster than a trunk, however busy the machine is.
    crossing = [matrix.times[i, j] for i in range(12) for j in range(12) if i // 3 != j // 3]
    assert min(crossing) >= (32768 - burst_of(4e6)) / 4e6
    (hops,) = ring_hops(summarise_cells(ring), ring)
    slowest = sorted(hops.hops, key=lambda hop: -hop.time)[:4]
    assert {(hop.sender.split()[0], hop.receiver.split()[0]) for hop in slowest} == {
        *(("node3", "node4"), ("node6", "node7"), ("node9", "node10"), ("node12", "node1"))
    }


@pytest.mark.long
def test_the_routes_of_a_torus_show_shared_links(tmp_path: Path) -> None:
    """Eight hosts in a ring, each sending to the next, or to the third: then three share a link."""
    rate, size = 2e6, 100_000
    with VirtualCluster(spec=Spec(Torus((8,)), (Wire(rate),))) as cluster:
        words = ["network.ring", f"bytes={size}", "mode=together"]
        before = sent_packets(cluster)
        (near,), _ = measured(cluster, tmp_path, *words)
        between = sent_packets(cluster)
        apart = ["route=given", "sequence=0-3-6-1-4-7-2-5"]
        (far,), data = measured(cluster, tmp_path, *words, *apart)
        after = sent_packets(cluster)
    (measurement,) = data.measurements
    assert [rank.host for rank in measurement.ranks] == [f"node{n}" for n in range(1, 9)]
    # eth0 leads forwards, the direction of the messages: each link carries one of them, or three.
    assert near["metrics"]["time"]["min"] >= (size - burst_of(rate)) / rate
    assert far["metrics"]["time"]["min"] >= (3 * size - burst_of(rate)) / rate
    assert near["metrics"]["time"]["min"] < far["metrics"]["time"]["min"]
    for host in cluster.hosts:
        end = host.name, "eth0"
        counts = between[end] - before[end], after[end] - between[end]
        rounds = [cell["metrics"]["time"]["samples"] for cell in (near, far)]
        for count, done, sharing in zip(counts, rounds, (1, 3), strict=True):
            assert count >= done * sharing * size / burst_of(rate)
