"""Causes against control experiments: a named cause disappears when it is removed.

On a virtual cluster the link between two hosts is slow, then fast; on this machine a benchmark that
streams through memory is compared with one that moves no data.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.lab import network
from assay.lab.store import FOLDER_VARIABLE, labs
from assay.models.placement.components import BETWEEN, CONTENTION
from assay.questions.common.parts import Part
from assay.questions.common.question import Measured
from assay.questions.placement.causes.answer import across_clause, part
from assay.questions.placement.causes.breakdown import WorkBreakdown, find_breakdowns
from assay.questions.placement.causes.cpu_time import PARTS, cpu_time_shares
from assay.questions.placement.causes.findings import find
from assay.records.directory import list_runs
from assay.records.model import RunData
from assay.records.reading import read_run
from assay.stats.cells.summarise import summarise_cells

pytestmark = [
    pytest.mark.slow,
    pytest.mark.alone,
    pytest.mark.flaky(
        reruns=2, reason="it measures this machine, whose CPUs other programs may take meanwhile"
    ),
]
reason = network.why_not()
_SECONDS = 300

PLAN = """
schema = 1
title = "Control"
seed = 7
portable = true
[replication]
precision = "1%"
budget = "200 s"
min_launches = 6
max_launches = 6
min_samples = 1
max_samples = 3
cell_budget = "100 ms"
"""


def assay(*words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "assay", *words],
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode in (0, 1), done.stderr


def measured(folder: Path, cells: str, *words: str) -> RunData:
    folder.mkdir(exist_ok=True)
    plan = folder / "plan.toml"
    plan.write_text(PLAN + cells)
    runs = folder / "runs"
    assay("run", str(plan), "--no-report", "--here", "--runs", str(runs), *words)
    (run,) = list_runs(runs)
    data = read_run(run.path)
    assert data.complete
    return data


# ---- A slow link, and a fast one ----------------------------------------------------------------


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two pairs of hosts of a core each: a link of 100 Mbit/s between the one, of 10 Gbit/s between
    the other."""
    if reason:
        pytest.skip(reason)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "labs"))
    names = {"slow": "100 Mbit/s", "quick": "10 Gbit/s"}
    measurements = []
    try:
        for name, rate in names.items():
            spec = tmp_path / f"{name}.toml"
            spec.write_text(
                'schema = 1\ncores = 1\n[topology]\nkind = "single"\nhosts = 2\n'
                f'[[adapter]]\nrate = "{rate}"\n'
            )
            measurements.append(name)
            assay("lab", "up", str(spec), "--name", name)
        yield
    finally:
        for name in measurements:
            assay("lab", "down", name)
        assert labs() == []


CELLS = """
[[measure]]
kernel = "npb.mg"
class = "A"
nodes = [1, 2]
"""


def causes(run: RunData) -> Part:
    return part(find(Measured(run, summarise_cells(run))))


def over_two(run: RunData) -> WorkBreakdown:
    (work,) = find_breakdowns(summarise_cells(run), run)
    assert work.nodes == 2 and work.across is not None
    return work


@pytest.mark.long
def test_the_share_of_the_network_disappears_with_the_slow_link(
    tmp_path: Path, hosts: None
) -> None:
    runs = {name: measured(tmp_path / name, CELLS, "--lab", name) for name in ("slow", "quick")}
    found = {name: over_two(run) for name, run in runs.items()}
    assert str(across_clause(found["slow"])).endswith("on 2 nodes: messages between nodes")
    assert "messages between nodes" in causes(runs["slow"]).remark
    slow, quick = (found[name].across for name in ("slow", "quick"))
    assert slow is not None and quick is not None
    lost = slow.shares[BETWEEN]
    # Of each rank 20 MB and more at 12.5 MB/s are 1.6 s; computing takes a tenth of it.
    assert lost.ci95 is not None and lost.ci95[0] > 0.5
    seconds = [one.loss.split.component(BETWEEN) for one in (slow, quick)]
    assert seconds[0].ci95 is not None and seconds[1].ci95 is not None
    assert seconds[1].ci95[1] < seconds[0].ci95[0] / 4
    assert quick.shares[BETWEEN].value < lost.value / 2


# ---- Memory -------------------------------------------------------------------------------------


MEMORY = """
[[measure]]
kernel = "npb.mg"
class = "A"
ppn = [1, 2]
[[measure]]
kernel = "npb.ep"
class = "S"
ppn = [1, 2]
[[measure]]
kernel = "memory.stream"
op = "triad"
elements = 16000000
ppn = [1, 2]
"""


@pytest.mark.long
def test_a_kernel_without_traffic_never_waits_for_memory(tmp_path: Path) -> None:
    run = measured(tmp_path, MEMORY)
    found = {work.cell.kernel: work for work in find_breakdowns(summarise_cells(run), run)}
    if "npb.mg" not in found:
        pytest.skip("this machine has no second core")
    contention = {name: work.plain[-1].split.share(CONTENTION) for name, work in found.items()}
    assert contention["npb.ep"].value == 0.0
    assert "memory" not in causes(run).remark.partition("EP class")[2]
    slower = found["npb.mg"].machine.slowdown(2)
    assert slower is not None
    if slower * (1.0 - found["npb.mg"].machine.uncertainty) > 1.25:
        # Two streams certainly slow each other down; two ranks that stream may as well.
        interval = contention["npb.mg"].ci95
        assert interval is not None and interval[1] > 0.0


# ---- A command of a user -------------------------------------------------------------------------


SCRIPT = """
import os, sys, time
ranks, pause = int(sys.argv[1]), float(sys.argv[2])
children = []
for _ in range(ranks):
    child = os.fork()
    if child == 0:
        while time.process_time() < 0.24 / ranks:
            pass
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
time.sleep(pause)
"""


@pytest.mark.long
def test_idle_cores_are_shown_by_cpu_time_shares(tmp_path: Path) -> None:
    """0.24 s of CPU time are divided among ranks; a pause of 0.3 s isn't, and needs no CPU."""
    script = tmp_path / "work.py"
    script.write_text(SCRIPT)
    shares = {}
    for pause in ("0.3", "0"):
        cells = (
            f'[[measure]]\nkernel = "app"\ncommand = "{sys.executable} -S {script} {{ranks}} '
            f'{pause}"\nppn = [1, 2]\n'
        )
        run = measured(tmp_path / pause, cells)
        cells_of = summarise_cells(run)
        found = cpu_time_shares(cells_of, run)
        if not found:
            pytest.skip("this machine has no second core")
        ((one, two),) = found
        shares[pause] = two.shares
        # Whatever else runs: exactly this CPU time is used.
        assert float(one.shares[0] + one.shares[2]) * one.point.metric.median > 0.2
        if pause == "0.3":
            assert "cores without work" in causes(run).remark
    idle = [one.name for one in PARTS].index("without work")
    assert shares["0.3"][idle] > 0.5
    assert shares["0"][idle] < shares["0.3"][idle]
