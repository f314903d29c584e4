"""The search for the best placement against measuring all of them: here and on a virtual cluster.

All candidates are measured in every block; the search then is given only what it asks for of each
block, and must come to what all of them say. Both sides see the same launches, so that a machine
that others use makes both less sure and none wrong.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.answers.placement_data import outcomes
from assay.lab import network
from assay.lab.store import FOLDER_VARIABLE, labs
from assay.models.placements import PlacementSearch, placement_searches
from assay.records.directory import list_runs
from assay.records.model import RunData
from assay.records.reading import read_run
from assay.stats.cells import launch_value, summarise_cells
from assay.stats.model import MetricSummary

pytestmark = pytest.mark.slow
reason = network.why_not()
_SECONDS = 900

PLAN = """
schema = 1
title = "All placements"
seed = 6
portable = true
oversubscribe = {oversubscribe}
[replication]
precision = "1%"
budget = "3000 s"
min_launches = 6
max_launches = 6
min_samples = 1
max_samples = 5
cell_budget = "20 ms"
[[measure]]
kernel = ["npb.cg", "npb.ep", "npb.mg", "npb.ft", "npb.lu", "npb.is"]
class = "S"
{factors}
[[measure]]
search = true
kernel = ["npb.cg", "npb.ep", "npb.mg", "npb.ft", "npb.lu", "npb.is"]
class = "S"
{factors}
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


def measured(folder: Path, factors: str, *words: str, oversubscribe: bool = False) -> RunData:
    plan = folder / "plan.toml"
    plan.write_text(PLAN.format(factors=factors, oversubscribe=str(oversubscribe).lower()))
    runs = folder / "runs"
    assay("run", str(plan), "--no-report", "--here", "--runs", str(runs), *words)
    (run,) = list_runs(runs)
    data = read_run(run.path)
    assert data.complete
    return data


def replayed(search: PlacementSearch, costs: dict[str, dict[int, float]]) -> tuple[str, int]:
    """The id that the search chooses of what it asks for, and how many launches it asked for.

    Of a cell it is given one launch after the other; past the last there is nothing to ask.
    """
    given: dict[str, dict[int, float]] = {name: {} for name in search.ids}
    for block in range(100):
        finding = search.find(given)
        names = [search.cells[place].id for place in finding.ask]
        names = [name for name in names if len(given[name]) < len(costs[name])]
        if not names:
            break
        for name in names:
            given[name][block] = costs[name][len(given[name])]
    assert finding.chosen is not None
    return search.cells[finding.chosen].id, sum(map(len, given.values()))


def check(run: RunData, searches: int, candidates: int) -> None:
    """Each search chooses the best of all, or one whose interval meets the best's."""
    told = {cell.id: cell for cell in summarise_cells(run)}
    costs: dict[str, dict[int, float]] = {}
    for measurement in run.measurements:
        value = launch_value(measurement)
        assert value is not None and measurement.record.verified, measurement.record
        costs.setdefault(measurement.cell.id, {})[measurement.replicate] = value
    found = placement_searches(run.manifest.plan)
    assert [len(search.cells) for search in found] == [candidates] * searches
    for search, outcome in zip(found, outcomes(list(told.values()), run), strict=True):
        times = {name: told[name].metrics["time"] for name in search.ids}
        best = min(times.values(), key=lambda metric: metric.median)
        chosen, asked = replayed(search, costs)
        assert outcome.best is not None
        assert asked <= sum(len(costs[name]) for name in search.ids)
        for choice in (times[chosen], times[outcome.best.id]):
            assert lowest(choice) <= highest(best), (search.cells[0].kernel, chosen, times)


def lowest(metric: MetricSummary) -> float:
    assert metric.ci95 is not None
    return metric.ci95[0]


def highest(metric: MetricSummary) -> float:
    assert metric.ci95 is not None
    return metric.ci95[1]


def test_on_this_machine_it_chooses_the_best_of_all(tmp_path: Path) -> None:
    run = measured(tmp_path, "ppn = [1, 2]", oversubscribe=True)
    check(run, searches=6, candidates=2)


@pytest.fixture
def two_hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if reason:
        pytest.skip(reason)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "labs"))
    spec = tmp_path / "two.toml"
    spec.write_text(
        'schema = 1\ncores = 2\n[topology]\nkind = "single"\nhosts = 2\n'
        '[[adapter]]\nrate = "1 Gbit/s"\n'
    )
    assay("lab", "up", str(spec), "--name", "two")
    try:
        yield "two"
    finally:
        assay("lab", "down", "two")
        assert labs() == []


def test_on_a_virtual_cluster_it_chooses_the_best_of_all(tmp_path: Path, two_hosts: str) -> None:
    factors = "nodes = [1, 2]\nppn = [1, 2]"
    run = measured(tmp_path, factors, "--lab", two_hosts, oversubscribe=True)
    # A search for each benchmark and number of nodes.
    check(run, searches=12, candidates=2)
