"""Run requests: their plan here and elsewhere, the jobs that it needs, and their time."""

from __future__ import annotations

import math
import time
from pathlib import Path

import msgspec
import pytest

from assay.campaign.engine.display import Silent
from assay.campaign.engine.loop import Campaign
from assay.campaign.engine.state import CampaignState, CellState, OutOfTime
from assay.campaign.machine.bench import FakeMachine
from assay.campaign.requests.job_estimate import estimate
from assay.campaign.requests.run_request import plan_elsewhere, plan_here, run_options
from assay.config import Config
from assay.errors import AssayError
from assay.model.placement import Placement
from assay.model.plan import PlanContext
from assay.records.reading import read_run
from assay.records.request import RunOptions
from records_builder import make_cell, make_plan, make_run

PLAN = """
schema = 1
seed = 3

[[measure]]
kernel = "network.barrier"
ppn = 2

[[measure]]
kernel = "network.pairs"
nodes = "all"

[[measure]]
kernel = "network.pingpong"
nodes = 2
"""
HERE = PlanContext(cores=2, nodes=8, default_toolchain="fake", toolchains=("fake",))


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return path


def nodes_of(asked: RunOptions, context: PlanContext = HERE) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for cell in plan_here(asked, context).cells:
        found.setdefault(cell.kernel, []).append(cell.placement.nodes)
    return found


def test_nodes_apply_to_measures_without_nodes_and_all_is_resolved(plan: Path) -> None:
    assert nodes_of(RunOptions(plan=str(plan))) == {
        "network.barrier": [1],
        "network.pairs": [8],
        "network.pingpong": [2],
    }
    assert nodes_of(RunOptions(plan=str(plan), nodes="1,2,4")) == {
        "network.barrier": [1, 2, 4],
        "network.pairs": [4],
        "network.pingpong": [2],
    }
    # The option replaces the plan's nodes everywhere.
    assert nodes_of(RunOptions(plan=str(plan), words=["nodes=3"])) == {
        "network.barrier": [3],
        "network.pairs": [3],
        "network.pingpong": [3],
    }


def test_too_many_nodes_are_refused_here_and_not_elsewhere(plan: Path) -> None:
    with pytest.raises(AssayError, match="nodes = 16"):
        plan_here(RunOptions(plan=str(plan), nodes="16"), HERE)
    found, _ = plan_elsewhere(RunOptions(plan=str(plan), nodes="16"), HERE, Config())
    assert max(cell.placement.nodes for cell in found.cells) == 16


def test_without_nodes_the_maximum_of_the_plan_counts(plan: Path) -> None:
    found, texts = plan_elsewhere(RunOptions(plan=str(plan)), HERE, Config())
    assert max(cell.placement.nodes for cell in found.cells) == 2
    assert texts == {str(plan): PLAN}


def test_elsewhere_there_may_be_more_cores(plan: Path) -> None:
    asked = run_options(str(plan), (), ppn="64")
    with pytest.raises(AssayError, match="64"):
        plan_here(asked, HERE)
    found, _ = plan_elsewhere(asked, HERE, Config())
    assert {cell.placement.ppn for cell in found.cells} == {64}


# ---- the time that a job requests ----------------------------------------------------------------


def test_the_estimate_is_the_documented_formula() -> None:
    cells = [make_cell(ppn=2), make_cell(ppn=3), make_cell("npb.ep", ppn=3, **{"class": "S"})]
    found = estimate(make_plan(cells, budget=1000.0))
    # Two placements of one node, one toolchain.
    seconds = 1.25 * (1000 + 2 * (5 + 0.02) + 15 + 120 + 900)
    assert found.walltime == 60 * math.ceil(seconds / 60) == found.seconds
    assert (found.nodes, found.jobs) == (1, 1)
    long = estimate(make_plan([make_cell()], budget=36000.0), compiling=0.0)
    assert long.walltime == 60 * math.ceil(1.25 * (36000 + 5.02 + 15 + 120) / 60)
    several = msgspec.structs.replace(make_cell(), placement=Placement(nodes=4, ppn=2))
    found = estimate(make_plan([several], budget=100.0), compiling=0.0)
    assert found.walltime == 60 * math.ceil(1.25 * (100 + 5.08 + 15 + 60 + 40) / 60)


def test_kernels_in_the_cache_cost_no_time() -> None:
    plan = make_plan([make_cell()], budget=180.0)
    assert estimate(plan, compiling=0.0).walltime == 6 * 60
    assert estimate(plan, compiling=80.0).walltime == 7 * 60
    # A minute of measuring is three minutes of a job.
    assert estimate(make_plan([make_cell()], budget=60.0), compiling=0.0).walltime == 3 * 60


def test_time_beyond_the_limit_of_a_job_is_split_into_several() -> None:
    plan = make_plan([make_cell()], budget=7200.0)
    measuring = 7200 + 5.02
    found = estimate(plan, compiling=0.0, longest=3600.0)
    assert found.walltime == 3600.0
    each = 3600 - 120 - 15  # what jobs reserve for their end, and need to begin
    assert found.jobs == math.ceil(measuring / each)
    built = estimate(plan, longest=3600.0)
    assert built.jobs == 1 + math.ceil((measuring - (each - 900)) / each)
    # Three minutes of measuring in jobs of three minutes are two jobs.
    short = make_plan([make_cell()], budget=180.0)
    assert estimate(short, compiling=0.0, longest=180.0).jobs == 2
    # In a job in which nothing would fit, a tenth is still used to measure.
    assert estimate(plan, compiling=0.0, longest=16.0).jobs == math.ceil(measuring / 1.6)


# ---- the deadline --------------------------------------------------------------------------------


def test_the_expected_time_of_a_measurement_is_its_limit_or_its_earlier_time() -> None:
    fresh = CellState(make_cell())
    assert fresh.expected(5.0) == 5.0
    precise_enough = CellState(make_cell(), wall=2.0, precise_enough=True)
    assert precise_enough.expected(10.0) == 3.0
    assert precise_enough.expected(1.0) == 2.0  # its set-up alone takes that time
    unsated = CellState(make_cell(), wall=2.0)
    assert unsated.expected(10.0) == 10.0


class Fake:
    """A campaign on a machine of a scenario, until a deadline."""

    def __init__(self, tmp_path: Path, delay: str = "0 s", budget: float = 0.2) -> None:
        scenario = tmp_path / "scenario.toml"
        scenario.write_text(
            f'schema = 1\nseed = 1\ndelay = "{delay}"\nlaunch_time = "1 ms"\n'
            "[[kernel]]\ntime = 0.001\nnoise = { sigma = 0.02 }\n"
        )
        cells = [make_cell("npb.ep", ppn=p, **{"class": c}) for p in (1, 2) for c in "SW"]
        plan = make_plan(cells, cell_budget=budget, max_launches=6, precision=0.001, budget=100.0)
        self.run = make_run(tmp_path, plan)
        self.bench = FakeMachine(scenario).prepare({"fake": ()}, None)

    def until(self, deadline: float | None) -> Campaign:
        return Campaign(
            self.run,
            self.bench.executor,
            Silent(),
            lambda manifest: CampaignState(
                manifest.plan,
                value_of=lambda m: m.record.series[0].values[0] if m.record.series else None,
                enough=lambda values: False,
            ),
            deadline=deadline,
        )


def test_no_measurement_begins_that_would_not_end_before_the_deadline(tmp_path: Path) -> None:
    fake = Fake(tmp_path, delay="0.5 s", budget=3.0)
    deadline = time.time() + 4.0
    with pytest.raises(OutOfTime):
        fake.until(deadline).execute()
    # Each may take 3 s and takes half a second: one begins only if 3 s remain.
    assert time.time() < deadline
    first = read_run(fake.run.path)
    assert 1 <= len(first.measurements) <= 2
    assert {launch.outcome for launch in first.launches} == {"complete"}


def test_after_the_deadline_nothing_begins(tmp_path: Path) -> None:
    fake = Fake(tmp_path)
    with pytest.raises(OutOfTime):
        fake.until(time.time() - 1.0).execute()
    assert fake.run.streams() == []


def test_the_first_measurement_gets_the_time_that_remains(tmp_path: Path) -> None:
    """Otherwise a job in which nothing fits would yield nothing, and so would the next."""
    fake = Fake(tmp_path, budget=60.0)
    with pytest.raises(OutOfTime):
        fake.until(time.time() + 5.0).execute()
    assert len(read_run(fake.run.path).measurements) == 1


def test_a_launch_running_at_the_deadline_is_stopped(tmp_path: Path) -> None:
    fake = Fake(tmp_path, delay="30 s", budget=0.1)
    began = time.monotonic()
    with pytest.raises(OutOfTime):
        fake.until(time.time() + 1.0).execute()
    assert time.monotonic() - began < 15
    (launch,) = fake.run.launches()
    assert launch.outcome == "interrupted"
