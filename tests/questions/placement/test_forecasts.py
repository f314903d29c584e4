"""Profiled commands: expected times by hand, what is tried first, and why a placement wins."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from asking import reply_to
from assay.campaign.commands.program_demand import read_demand
from assay.errors import AssayError
from assay.kernels.outside import APP
from assay.model.cell import Cell
from assay.model.demand import PlacementForecast, ProgramDemand, forecast
from assay.model.placement import Placement
from assay.model.plan import Plan, Search
from assay.model.replication import Replication
from assay.models.placement.search import PlacementCandidate, SearchRule, search
from assay.questions.common.answer import Answer
from assay.records.model import RunData
from assay.records.reading import read_run
from assay.stats.cells.summarise import summarise_cells
from placement_lab import SearchLab, lab, placement_section, run_app
from profiles import header, two_ranks, write_profile
from report_builder import make_measurement, make_run

__all__ = ["lab"]  # a fixture

# 4 ranks on 2 hosts: 8 s of computing, 2 s of messages, 1 GB sent by each rank, half to the other.
DEMAND = ProgramDemand("mpirun ./app", 4, 2, 8.0, 0.25, 2.0, 100.0, 1e9, 0.5)


def cell(order: str = "block", nodes: int = 2, ppn: int = 2, threads: int = 1) -> Cell:
    parameters = {"command": "mpirun -f {hostfile} ./app", "time": "", "verify": "", "shell": 0}
    return Cell(APP, parameters, Placement(nodes, ppn, threads, order=order), "own")


def answered(
    times: Sequence[tuple[Cell, float]],
    forecasts: Mapping[str, PlacementForecast],
    noise: float = 0.003,
    demand: ProgramDemand = DEMAND,
) -> Answer:
    rng = np.random.default_rng(4)
    measurements = [
        make_measurement(one, [time * (1.0 + noise * rng.standard_normal())], replicate)
        for one, time in times
        for replicate in range(8)
    ]
    run: RunData = make_run([], measurements=measurements, launches=[])
    cells = tuple(one for one, _ in times)
    plan = Plan(
        "app", "App", cells, Replication(), 1,
        search=Search(tuple(one.id for one in cells), ()),
        demand=demand, forecasts=dict(forecasts),
    )  # fmt: skip
    run = dataclasses.replace(run, manifest=msgspec.structs.replace(run.manifest, plan=plan))
    return reply_to("placement", summarise_cells(run), run).answer


def test_expected_times_by_hand() -> None:
    # As profiled, over a link of 1 GB/s: 2 ranks per node send 1 GB each, half of it to the other.
    same = forecast(DEMAND, Placement(2, 2), 4, 1e9, crossing=0.5)
    assert same == PlacementForecast(8.0, 2.0, 1.0, 1.0, 0.5)
    assert same.time == 12.0
    # Twice the ranks: half the computing, bytes per rank by the surface, 4 of 7 to the other node.
    more = forecast(DEMAND, Placement(2, 4), 4, 1e9)
    assert (more.compute, more.crossing) == (4.0, 4 / 7)
    assert more.between == pytest.approx(4 * 0.5 ** (2 / 3) * 4 / 7)
    # More threads than cores compute no faster; one rank sends nothing.
    assert forecast(DEMAND, Placement(2, 4, 2), 4, None).compute == 4.0
    assert forecast(DEMAND, Placement(1, 1), 4, 1e9).time == 32.0
    # Without a known link bytes cost nothing.
    assert forecast(DEMAND, Placement(2, 2), 4, None).between == 0.0


def test_the_demand_is_that_of_the_profile(tmp_path: Path) -> None:
    found = read_demand(two_ranks(tmp_path))
    assert (found.ranks, found.hosts, found.computing) == (2, 1, 7.0)
    assert found.uneven == pytest.approx(1 / 7)
    # 3 s in MPI on average; of them 1 s for the rank that computes 8 s.
    assert found.communication == pytest.approx(2.0)
    assert (found.messages, found.sent, found.between) == (2.0, 2000.0, 0.0)
    assert found.doubt == ""
    assert b"doubt" not in msgspec.json.encode(found)  # plans without one are stored as before


def test_the_doubt_about_a_profile_is_stated(tmp_path: Path) -> None:
    """The answer on placements has the reason that the report on the profile gives."""
    ranks = {str(rank): [header(rank, cpu_wait=5.0)] for rank in range(2)}
    doubt = read_demand(write_profile(tmp_path, ranks)).doubt
    assert doubt == "ranks had no CPU for 50.0% of their time"
    plain, fitted = cell(), cell("0,2,1,3")
    forecasts = {one.id: forecast(DEMAND, one.placement, 4, 2e8, 0.1) for one in (plain, fitted)}
    times = [(plain, 15.0), (fitted, 11.2)]
    demand = msgspec.structs.replace(DEMAND, doubt=doubt)
    verdict = answered(times, forecasts, demand=demand).verdict
    assert f"By its profile, which is doubtful because {doubt}: " in verdict
    assert "By its profile: " in answered(times, forecasts).verdict


def test_a_profile_that_lacks_ranks_is_refused(tmp_path: Path) -> None:
    folder = write_profile(tmp_path, {"0": [header(0, 1.0, 2)]})
    with pytest.raises(AssayError, match="ranks are missing"):
        read_demand(folder)


def test_a_search_begins_with_what_is_expected_to_be_fast() -> None:
    candidates = [PlacementCandidate((p, t)) for p in (1, 2, 4, 8, 16) for t in (1, 2, 4, 8, 16)]
    likely = [7, 12, 17, 3, 4, 5, 9]
    plain = search(candidates, [], SearchRule(), 1)
    found = search(candidates, [], SearchRule(), 1, likely=likely)
    assert len(found.ask) == len(plain.ask) == 10
    assert found.ask[:5] == tuple(likely[:5])
    assert len(set(found.ask)) == 10
    # Refused ones aren't asked for.
    assert 12 not in search(candidates, [], SearchRule(), 1, refused=[12], likely=likely).ask


def test_the_order_that_wins_is_explained_by_what_crosses() -> None:
    plain, fitted = cell(), cell("0,2,1,3")
    forecasts = {
        plain.id: forecast(DEMAND, plain.placement, 4, 2e8, 0.5),
        fitted.id: forecast(DEMAND, fitted.placement, 4, 2e8, 0.1),
    }
    found = answered([(plain, 15.0), (fitted, 11.2)], forecasts)
    assert "fewer bytes cross the adapter that a node's ranks share (10.0% instead of 50.0%)" in (
        found.verdict
    ), found.verdict
    assert "was expected, 25.3% less time was measured" in found.verdict
    row = next(row for row in found.evidence if "time of the fastest placement" in row.label)
    assert row.value == pytest.approx(11.2 / 15.0, rel=0.01)


def test_what_the_profile_does_not_expect_is_said_so() -> None:
    plain, fitted = cell(), cell("0,2,1,3")
    forecasts = {
        plain.id: forecast(DEMAND, plain.placement, 4, 2e8, 0.1),
        fitted.id: forecast(DEMAND, fitted.placement, 4, 2e8, 0.5),
    }
    found = answered([(plain, 15.0), (fitted, 11.2)], forecasts)
    assert "the profile doesn't explain it" in found.verdict
    assert "fewer bytes" not in found.verdict


def test_more_ranks_win_by_their_computing() -> None:
    few, more = cell(nodes=1, ppn=2), cell(nodes=1, ppn=4)
    forecasts = {one.id: forecast(DEMAND, one.placement, 4, None) for one in (few, more)}
    found = answered([(few, 22.0), (more, 12.5)], forecasts)
    assert "its computing is divided among more cores" in found.verdict, found.verdict


@pytest.mark.long
def test_a_run_uses_the_profile(lab: SearchLab) -> None:
    profile = two_ranks(lab.path / "app.profile")
    (lab.path / "program.py").write_text(
        "import sys\nprint('took', 0.2 / int(sys.argv[1]) * (1 if sys.argv[2] == '1' else 1.5))"
    )
    (lab.path / "assay.toml").write_text("")
    app = f"{shlex.quote(sys.executable)} program.py {{ppn}} {{threads}}"
    done = run_app(
        lab, "ppn=1,2", "threads=1,2", "--app", app, "--time", "took (.*)", "--nodes", "1",
        "--profile", str(profile), "--config", str(lab.path / "assay.toml"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "By its profile: " in str(placement_section(done.stdout)["verdict"])
    plan = read_run(lab.only_run().path).manifest.plan
    assert plan.demand is not None and plan.demand.computing == 7.0
    assert set(plan.forecasts) == {one.id for one in plan.cells}
