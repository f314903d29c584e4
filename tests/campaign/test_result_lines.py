"""Each result has a line as it comes, on a terminal and in a pipe."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console

from assay.campaign.engine.display import Silent
from assay.campaign.engine.execute import state_of
from assay.campaign.engine.loop import Campaign
from assay.campaign.engine.result_lines import MANY, ResultLines, result_of
from assay.launch.fake.executor import FakeExecutor
from assay.launch.fake.scenario import Behaviour, Failure, NoiseModel, Scenario
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.records.schema import MeasurementRecord, StreamRecord
from assay.stats.core.intervals import median_interval
from records_builder import make_plan, make_run

TRIAD = Cell("memory.stream", {"op": "triad", "elements": 10**6}, Placement(1, 2), "fake")
BARRIER = Cell("network.barrier", {}, Placement(1, 2), "fake")
SIZES = [
    Cell("network.pingpong", {"bytes": 2**power}, Placement(1, 2), "fake")
    for power in range(MANY + 1)
]


class Recorded(Silent):
    """Keeps what was passed on."""

    def __init__(self) -> None:
        self.records: list[StreamRecord] = []

    def record(self, record: StreamRecord) -> None:
        self.records.append(record)


def lines_of(
    path: Path, cells: Sequence[Cell], behaviour: Behaviour, *failures: Failure, **rule: float
) -> tuple[list[str], Recorded]:
    machine = Scenario(seed=3, utc=1e9, launch_time=0.1, kernel=(behaviour,), failure=failures)
    plan = make_plan(cells, **rule)
    run = make_run(path, plan)
    out, inner = io.StringIO(), Recorded()
    lines = ResultLines(Console(file=out, width=200), plan, inner)
    Campaign(run, FakeExecutor(machine), lines, state_of).execute()
    return out.getvalue().splitlines(), inner


def steady() -> Behaviour:
    noise = NoiseModel(sigma=0.001, launch_sigma=0.001)
    return Behaviour(time=1e-3, max_batch=1, noise=noise)


def test_a_cell_has_a_line_after_its_first_launch_and_when_it_is_done(tmp_path: Path) -> None:
    lines, inner = lines_of(tmp_path, [TRIAD, BARRIER], steady(), precision=0.05, max_launches=6)
    first, done = lines[:2], lines[2:]
    assert all(line.endswith(", 1 launch") for line in first)
    assert all(line.endswith("], 6 launches") for line in done) and len(done) == 2
    [triad] = [line for line in done if "triad" in line.lower()]
    [barrier] = [line for line in done if line != triad]
    assert "2 ranks: " in triad and "GB/s [" in triad and "ms [" in barrier
    assert sum(isinstance(record, MeasurementRecord) for record in inner.records) == 12


def test_many_cells_of_one_kernel_share_a_line(tmp_path: Path) -> None:
    lines, _ = lines_of(tmp_path, [*SIZES, BARRIER], steady(), precision=0.05, max_launches=6)
    ours = [line for line in lines if line.startswith("network.pingpong")]
    assert len(ours) == 2 and len(lines) == 4
    assert f"2 ranks: {len(SIZES)} cells, " in ours[0] and ours[0].endswith(", 1 launch each")
    assert ours[1].endswith(", 6 launches each")


def test_a_failed_cell_is_named(tmp_path: Path) -> None:
    failure = Failure("wrong result", match="network.barrier")
    lines, _ = lines_of(tmp_path, [TRIAD, BARRIER], steady(), failure, precision=0.05)
    assert any("2 ranks: failed (" in line for line in lines)
    assert not any("1 launch" in line and "barrier" in line for line in lines)


def test_a_rate_is_work_over_the_median_cost_with_its_interval_turned() -> None:
    costs = [2e-3, 1e-3, 1.5e-3, 1.2e-3, 1.8e-3, 1.4e-3]
    found = result_of(TRIAD, TRIAD.parameters, costs, 0.95)
    assert found.unit == "B/s" and found.interval is not None and found.launches == 6
    # Triad moves 24 bytes per element and rank.
    assert found.value == pytest.approx(2 * 24e6 / 1.45e-3)
    bounds = median_interval(costs, 0.95)
    assert bounds is not None
    assert found.interval == pytest.approx((48e6 / bounds[1], 48e6 / bounds[0]))
    plain = result_of(BARRIER, {}, [1e-6], 0.95)
    assert (plain.value, plain.unit, plain.interval) == (1e-6, "s", None)
    assert plain.text == "1.00 µs, 1 launch"
