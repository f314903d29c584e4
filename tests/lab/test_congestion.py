"""Impacts of traffic on victims that the lab's token buckets determine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

import shared_trunk
from assay.lab import network
from assay.lab.entering import environment
from assay.lab.spec import Spec, Wire
from assay.records.directory import list_runs
from assay.records.reading import read_run
from assay.topologies.kinds import Switches
from patient_ranks import patient
from shared_trunk import Trunk
from virtual_cluster import VirtualCluster

reason = network.why_not()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.alone,
    pytest.mark.flaky(
        reruns=2, reason="it measures this machine, whose CPUs other programs may take meanwhile"
    ),
    pytest.mark.skipif(reason is not None, reason=reason or ""),
]

HOST = 3e6  # B/s of a host's adapter
# Two switches with two hosts each. By this seed each switch has a victim and an aggressor; by the
# other both victims are at one switch.
APART, TOGETHER = 2, 4
HALO = 131_072
SIZES = [f"bytes={HALO}", "operations=6"]


def impact(folder: Path, trunk: float, *words: str) -> float:
    """The median impact over the samples of a launch, one rank for each host."""
    spec = Spec(Switches(1, 2, 2), (Wire(HOST),), Wire(trunk))
    with VirtualCluster(spec=spec) as cluster:
        (folder / "assay.toml").write_text(cluster.config())
        command = [
            *(sys.executable, "-m", "assay", "measure", "network.congestion", *words, *SIZES),
            *("--nodes", "4", "--launches", "1", "--samples", "8", "--budget", "60 s"),
            *("--keep", "--json"),
        ]
        done = subprocess.run(
            cluster.command(cluster.hosts[0], *command),
            cwd=folder,
            env=patient(environment(cluster, os.environ)),
            capture_output=True,
            text=True,
            timeout=300,
        )
    assert done.returncode in (0, 1), done.stderr
    cell = json.loads(done.stdout)
    assert cell["verified"] is True, cell
    (run,) = list_runs(folder / "runs")
    (measurement,) = read_run(run.path).measurements
    (series,) = [s for s in measurement.record.series if s.metric == "impact"]
    return median(series.values)


@pytest.mark.parametrize(
    ("trunk", "aggressor", "load"),
    [
        (4e6, "incast", 4096),
        (4e6, "incast", 16_384),
        (3.4e6, "incast", 4096),
        (4e6, "permutation", 16_384),
        (3.4e6, "permutation", 16_384),
    ],
)
def test_a_shared_trunk_divides_its_rate(
    tmp_path: Path, trunk: float, aggressor: str, load: int
) -> None:
    """Together a victim's and an aggressor's host send more than the trunk forwards. How long its
    queue becomes, and how much of it is left when the next operation begins, depends on the
    messages that the aggressor has in flight. MPI sends messages of these sizes at once.
    """
    words = ["victim=halo", f"aggressor={aggressor}", f"load_bytes={load}", f"draw={APART}"]
    found = impact(tmp_path, trunk, *words)
    computed = shared_trunk.impact(Trunk(HOST, trunk, HALO, load, both=aggressor == "permutation"))
    assert found == pytest.approx(computed, rel=0.1)


def test_traffic_on_other_links_has_no_impact(tmp_path: Path) -> None:
    words = ["victim=halo", "aggressor=permutation", "load_bytes=65536", f"draw={TOGETHER}"]
    found = impact(tmp_path, 4e6, *words)
    assert found == pytest.approx(1.0, rel=0.1)
