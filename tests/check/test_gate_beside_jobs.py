"""The node gate as Slurm's HealthCheckProgram, which runs beside jobs."""

from __future__ import annotations

import os
import time

import pytest

import node_faults
import slurm_lab
from gate_lab import gated_slurm

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(slurm_lab.reason is not None, reason=slurm_lab.reason or ""),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
]


def test_the_health_check_drains_beside_jobs_and_never_twice(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """It compares facts every few seconds, also while a job runs."""
    folder = tmp_path_factory.mktemp("health")
    with gated_slurm(folder, ["slurm-health"], cores=2) as gated:
        gated.learn()
        node, other = gated.nodes
        number = gated.ask(
            "sbatch", "--parsable", f"--nodelist={node.name}", "--output=/dev/null",
            "--wrap=sleep 600",
        ).strip()  # fmt: skip
        with node_faults.hung_mount(gated, node):
            first = gated.await_drain(node, patience=90.0)
        assert "assay-hung" in first
        # The job goes on, and the other node is as it was.
        assert "RUNNING" in gated.ask("scontrol", "show", "job", number)
        assert gated.state(other)[0] == "IDLE"
        # Another fault doesn't replace the reason, and no health check resumes the node.
        with node_faults.wrong_memory(gated, node):
            time.sleep(12.0)
        time.sleep(6.0)
        state, reason = gated.state(node)
        assert "DRAIN" in state and reason == first
        gated.ask("scancel", number)
