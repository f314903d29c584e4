"""The search for the best placement against measuring all: here and on a virtual cluster.

By benchmarks/placement.py: all candidates are measured in every block; the search then gets only
the results that it requests of each block, and must agree with the result of all. Both use the same
launches, so that other load on the machine makes both less certain and none wrong.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from assay.lab import network
from assay.lab.store import FOLDER_VARIABLE, labs
from assay.questions.placement.best.outcomes import find_outcomes
from assay.records.model import RunData
from assay.stats.cells.summarise import summarise_cells

FOLDER = Path(__file__).parents[3] / "benchmarks"
_SECONDS = 300.0


@pytest.fixture
def placement(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """benchmarks/placement.py; its imports are removed afterwards."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module("placement")
    for name in set(sys.modules) - before:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def check(placement: ModuleType, run: RunData, searches: int, candidates: int) -> None:
    """Each search chooses the best of all, or one whose interval meets the best's: replayed, and
    in the answer that the run itself gives.
    """
    assert run.complete
    found, broken = placement.judge(run)
    assert broken == []
    assert [len(each.search.cells) for each in found] == [candidates] * searches
    outcomes = find_outcomes(summarise_cells(run), run)
    for each, outcome in zip(found, outcomes, strict=True):
        assert each.asked <= each.taken
        assert each.right, (each.chosen, each.times)
        answered = placement.dataclasses.replace(each, chosen=outcome.best)
        assert answered.right, (outcome.best, each.times)


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.flaky(
    reruns=2, reason="it measures this machine, whose CPUs other programs may take meanwhile"
)
def test_on_this_machine_it_chooses_the_best_of_all(
    placement: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placement, "CELL_BUDGET", 0.02)
    plan = placement.write_plan(tmp_path, ["cg", "ep", "is"], ["S"], [1], _SECONDS)
    check(placement, placement.measured(plan, _SECONDS), searches=3, candidates=2)


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.long
@pytest.mark.usefixtures("patient_ranks")
@pytest.mark.flaky(
    reruns=2, reason="it measures this machine, whose CPUs other programs may take meanwhile"
)
def test_on_a_virtual_cluster_it_chooses_the_best_of_all(
    placement: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if reason := network.why_not():
        pytest.skip(reason)
    monkeypatch.setattr(placement, "CELL_BUDGET", 0.02)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "labs"))
    plan = placement.write_plan(tmp_path, ["cg", "is"], ["S"], [1, 2], _SECONDS)
    with placement.lab(2, tmp_path) as name:
        run = placement.measured(plan, _SECONDS, "--lab", name)
    assert labs() == []
    # One search per benchmark and number of nodes.
    check(placement, run, searches=4, candidates=2)


@pytest.mark.long
def test_a_choice_that_is_worse_than_the_best_is_not_right(
    placement: ModuleType, tmp_path: Path
) -> None:
    """The benchmark's own verdict can fail: on a machine where the best is planted."""
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(
        'schema = 1\nseed = 3\ncores = 2\n[[kernel]]\ntime = "0.1 / ppn"\nmax_batch = 1\n'
        "noise = { sigma = 0.002, launch_sigma = 0.002 }\n"
    )
    plan = placement.write_plan(tmp_path, ["cg"], ["S"], [1], 1e6)
    (found,) = placement.judge(placement.measured(plan, 60.0, "--fake", str(scenario)))[0]
    assert found.right and found.chosen.placement.ppn == found.best.placement.ppn == 2
    (other,) = [cell for cell in found.search.cells if cell.id != found.best.id]
    wrong = placement.dataclasses.replace(found, chosen=other)
    assert not wrong.right
    assert placement.row_of(wrong, "", 0.0).met is False
