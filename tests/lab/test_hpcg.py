"""hpcg on one to eight hosts: valid ratings, and the residuals of as many ranks on one machine."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.lab import network
from assay.records.stream import read_stream
from kernel_runs import measure, plain
from virtual_cluster import VirtualCluster

reason = network.why_not()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.skipif(reason is not None, reason=reason or ""),
]
# A case this small needs 50 or 51 iterations, which depends on how the compiler rounds.
EDGE, ITERATIONS = 16, 55


@pytest.fixture(scope="module")
def cluster() -> Iterator[VirtualCluster]:
    with VirtualCluster(8) as created:
        yield created


@pytest.mark.parametrize("hosts", [1, 2, 4, 8])
def test_residuals_do_not_depend_on_where_the_ranks_are(
    cluster: VirtualCluster, tmp_path: Path, hosts: int
) -> None:
    """The sweeps of a rank see the others' elements from before, so residuals depend on the number
    of ranks, but not on the hosts between which they are divided.
    """
    (tmp_path / "assay.toml").write_text(cluster.config())
    words = ["measure", "hpcg", f"nx={EDGE}", "sweep=levels", f"iterations={ITERATIONS}"]
    words += ["--nodes", str(hosts)]
    words += ["--launches", "1", "--samples", "2", "--json", "--runs", str(tmp_path / "runs")]
    command = cluster.command(cluster.hosts[0], sys.executable, "-m", "assay", *words)
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    (cell,) = found if isinstance(found, list) else [found]
    assert cell["verified"] is True
    assert cell["metrics"]["rate"]["median"] > 0.0
    (stream,) = (tmp_path / "runs").glob("*/raw/*.jsonl")
    (there,) = read_stream(stream).measurements
    order = ("hpcg", {"nx": EDGE, "sweep": "levels", "iterations": ITERATIONS})
    (here,) = measure(plain(), order, ranks=hosts, samples=(1, 1))
    assert there.facts["iterations"] == here.facts["iterations"] == ITERATIONS
    # Sums over the ranks may be added up in another order.
    for name in ("scaled_residual", "reference_residual"):
        assert there.facts[name] == pytest.approx(here.facts[name], rel=1e-9)
