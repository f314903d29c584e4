"""The suite network over trunks of unknown rate: it ends, and says what it leaves out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.lab import network
from assay.lab.entering import environment
from assay.lab.spec import Spec, Wire
from assay.records.directory import list_runs
from assay.records.reading import read_run
from assay.stats.cells.summarise import summarise_cells
from assay.topologies.kinds import Switches
from patient_ranks import patient
from virtual_cluster import VirtualCluster

reason = network.why_not()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.skipif(reason is not None, reason=reason or ""),
]

# Adapters of 100 Mbit/s, trunks of 4 Mbit/s: of the blocks of 1 MiB that eight ranks send all
# others, eight cross each trunk in each direction and take 17 s, where 2.5 s are allowed.
SLOW_TRUNKS = Spec(Switches(2, 2, 2), (Wire(12.5e6),), Wire(0.5e6))


def test_the_suite_leaves_out_what_trunks_make_too_long(tmp_path: Path) -> None:
    with VirtualCluster(spec=SLOW_TRUNKS) as cluster:
        (tmp_path / "assay.toml").write_text(cluster.config())
        done = subprocess.run(
            cluster.command(
                cluster.hosts[0],
                *(sys.executable, "-m", "assay", "run", "network", "--no-report"),
                *("--budget", "60 s"),
                "kernel=network.collective,network.pairs,network.bisection",
            ),
            cwd=tmp_path,
            env=patient(environment(cluster, os.environ)),
            capture_output=True,
            text=True,
            timeout=900,
        )
    assert done.returncode == 0, done.stderr
    (run,) = list_runs(tmp_path / "runs")
    data = read_run(run.path)
    assert data.complete and {launch.outcome for launch in data.launches} == {"complete"}
    cells = summarise_cells(data)
    assert {cell.status for cell in cells if not cell.left_out} == {"ok"}
    late = {
        (cell.parameters["op"], cell.parameters["bytes"])
        for cell in cells
        if cell.left_out
        and cell.kernel == "network.collective"
        and "was too short for a launch" not in (cell.error or "")  # on a busy machine
    }
    # By its expected time the longest alltoall is a shorter one; the others turn out too long.
    alltoalls = {
        cell.parameters["bytes"] for cell in cells if cell.parameters.get("op") == "alltoall"
    }
    assert max(alltoalls) == 128 << 10
    assert late
    assert all(size == 1 << 20 or (op == "alltoall" and size >= 32 << 10) for op, size in late)
