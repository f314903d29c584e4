"""A budget is kept, and what it can't answer is said before it is spent. Times are simulated."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from assay.campaign.cells.effort import place_of
from assay.campaign.cells.launch_times import LaunchTimes
from assay.campaign.engine.display import Notes, Silent
from assay.campaign.engine.execute import state_of
from assay.campaign.engine.forecast import (
    BlockTime,
    block_time,
    expected_seconds,
    needed_launches,
    rounded_up,
    shortfall,
)
from assay.campaign.engine.loop import Campaign
from assay.kernels import find_kernel
from assay.launch.executor import LaunchOrder
from assay.launch.fake.executor import FakeExecutor, FakeLaunch
from assay.launch.fake.scenario import Behaviour, NoiseModel, Scenario
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.records.directory import LAUNCHES
from records_builder import make_cell, make_launch, make_plan, make_run


def ep(ppn: int, size: str = "A") -> Cell:
    return Cell("npb.ep", {"class": size}, Placement(1, ppn), "fake")


PLACES = [Cell("network.barrier", {}, Placement(1, ppn), "fake") for ppn in (2, 4, 6, 8)]
NPB = [
    ep(1),
    ep(2),
    Cell("memory.stream", {"op": "triad", "elements": 1000}, Placement(1, 2), "fake"),
]


class Observed(Silent):
    """Keeps what was said, and after how many launches."""

    def __init__(self) -> None:
        self.launches = 0
        self.said: list[tuple[int, str]] = []

    def launching(self, replicate: int, order: LaunchOrder, cells: Sequence[Cell]) -> None:
        self.launches += 1

    def note(self, sentence: str) -> None:
        self.said.append((self.launches, sentence))


def measured(
    path: Path,
    cells: Sequence[Cell],
    *,
    time: float,
    launch_time: float,
    noise: float = 0.05,
    **rule: float,
) -> tuple[float, int, Observed]:
    """Simulated seconds of all launches, the fewest launches of a cell, and what was said."""
    behaviour = Behaviour(time=time, max_batch=1, noise=NoiseModel(sigma=noise, launch_sigma=noise))
    machine = Scenario(seed=3, utc=1e9, launch_time=launch_time, kernel=(behaviour,))
    run = make_run(path, make_plan(cells, **{"precision": 1e-4, "max_launches": 60, **rule}))
    observed = Observed()
    data = Campaign(run, FakeExecutor(machine), observed, state_of).execute()
    fewest = min(sum(m.cell == cell for m in data.measurements) for cell in cells)
    return sum(record.wall for record in run.launches()), fewest, observed


class Struck(FakeExecutor):
    """A signal ends its first launch before the first record, after half an hour."""

    ended: str | None = None

    def start(self, order: LaunchOrder) -> FakeLaunch:
        launch = super().start(order)
        if self.ended is None:
            self.ended = order.launch
            crash = make_launch(order.launch, outcome="crash")
            launch._record = msgspec.structs.replace(crash, signal=9, exit=-9, wall=1800.0)
        return launch


def test_a_launch_ended_before_its_first_record_takes_no_time_from_others(tmp_path: Path) -> None:
    run = make_run(tmp_path, make_plan(PLACES, budget=28.0, min_launches=2, max_launches=2))
    machine = Scenario(utc=1e9)
    for executor in (Struck(machine), FakeExecutor(machine)):
        data = Campaign(run, executor, Silent(), state_of).execute()
        launches = [record.outcome for record in data.launches]
        assert launches == ["crash"] + ["complete"] * 2 * len(PLACES)
        assert len(data.measurements) == 2 * len(PLACES)
        # As if the last two had not begun: a resumed run reads the time of the others.
        for path in run.streams()[-2:]:
            path.unlink()
        kept = (run.path / LAUNCHES).read_bytes().splitlines(keepends=True)[:-2]
        (run.path / LAUNCHES).write_bytes(b"".join(kept))


@pytest.mark.parametrize(
    ("budget", "launch_time", "time"),
    [(28.0, 1.9, 0.01), (28.0, 3.0, 0.01), (60.0, 4.0, 0.5), (180.0, 1.0, 3.0), (30.0, 0.3, 1.0)],
)
def test_a_budget_is_kept_though_launches_take_time(
    tmp_path: Path, budget: float, launch_time: float, time: float
) -> None:
    """Every placement is one launch more; a block of launches alone takes up to half the budget."""
    spent, fewest, _ = measured(
        tmp_path, PLACES, time=time, launch_time=launch_time, budget=budget, min_samples=3
    )
    assert fewest >= 1
    assert 0.8 * budget < spent <= 1.1 * budget


def test_no_launch_begins_that_would_exceed_the_budget(tmp_path: Path) -> None:
    """Four launches of 6 s make a block; the second one doesn't fit into 28 s."""
    spent, fewest, _ = measured(tmp_path, PLACES, time=0.01, launch_time=6.0, budget=28.0)
    assert spent <= 1.1 * 28.0
    assert fewest == 1


def test_what_a_budget_can_not_answer_is_said_before_it_is_spent(tmp_path: Path) -> None:
    """20 launches of each cell of about 12 s in 180 s, the first time by the work of EP."""
    work = find_kernel("npb.ep").work({"class": "C"}, 1, 1)["operations"]
    pace = find_kernel("npb.ep").pace
    assert pace is not None
    cells = [ep(1, "C"), ep(2, "C"), NPB[2]]
    _, fewest, observed = measured(
        tmp_path,
        cells,
        time=12.1,
        launch_time=0.5,
        noise=1e-3,
        budget=180.0,
        min_launches=20,
        min_samples=1,
    )
    (before, first), (after, second) = observed.said
    assert before == 0  # nothing was spent
    assert first.startswith("The budget of 3 min is too small: by the expected times it allows at ")
    alone = 1.5 * work / pace  # of 1 rank, and half of it of 2
    assert f"at most {max(int(189.0 / alone), 1)} launch" in first
    assert "steadiness needs 20" in first and "or more" in first
    assert after == 2  # one launch per placement
    assert "by the times measured so far it allows 5 launches of each cell" in second
    assert "speed, placement need 6: 3 min 50 s" in second
    assert "steadiness needs 20: 12 min 30 s" in second
    assert fewest in (4, 5)


def test_a_sufficient_budget_needs_no_words(tmp_path: Path) -> None:
    _, fewest, observed = measured(
        tmp_path, NPB, time=0.5, launch_time=0.1, budget=60.0, min_launches=8, max_launches=9
    )
    assert observed.said == [] and fewest >= 8


def test_the_launches_that_a_plans_questions_need() -> None:
    plan = make_plan([ep(1), ep(2), *PLACES[:1]], min_launches=20, max_launches=30)
    assert needed_launches(plan) == {
        "speed": 6, "network": 6, "placement": 6, "steadiness": 20,
    }  # fmt: skip
    few = make_plan(PLACES[:1], min_launches=2, max_launches=3)
    assert needed_launches(few) == {"network": 3, "steadiness": 3}  # more were not requested


def test_the_sentence_gives_the_least_time_that_would_do() -> None:
    plan = make_plan([ep(1)], budget=180.0, min_launches=20)
    said = shortfall(plan, BlockTime(36.0, measured=True, whole=True))
    assert said == (
        "The budget of 3 min is too small: by the times measured so far it allows 5 launches of "
        "each cell, and speed needs 6: 3 min 40 s; steadiness needs 20: 12 min."
    )
    assert shortfall(plan, BlockTime(9.0, measured=True, whole=True)) == ""
    assert shortfall(plan, BlockTime(0.0, measured=False, whole=False)) == ""
    assert [rounded_up(x) for x in (36.0, 216.0, 1001.0, 0.123)] == [36, 220, 1100, 0.13]


def test_expected_times_are_known_of_kernels_with_a_pace(tmp_path: Path) -> None:
    one, two = expected_seconds(ep(1)), expected_seconds(ep(2))
    assert one is not None and two == pytest.approx(one / 2)
    assert expected_seconds(make_cell("network.pingpong", bytes=8)) is None
    run = make_run(tmp_path, make_plan([ep(1), ep(2), *PLACES[:1]]))
    block = block_time(state_of(run.manifest()))
    assert (block.measured, block.whole) == (False, False)
    assert block.seconds == pytest.approx(1.5 * one)


def test_launch_times_are_of_each_placement() -> None:
    times = LaunchTimes()
    assert times.of(PLACES) == 0.0
    times.add(PLACES[0], 2.0)
    times.add(PLACES[1], 4.0)
    assert place_of(PLACES[0]) != place_of(PLACES[1])
    assert times.of(PLACES[:1]) == 2.0
    assert times.of([*PLACES[:2], PLACES[0]]) == 6.0
    assert times.of(PLACES[:3]) == 9.0  # an unknown one takes as long as the mean
    times.add(PLACES[0], -1.0)
    assert times.of(PLACES[:1]) == 0.0


def test_notes_are_printed_where_there_is_no_terminal() -> None:
    text = io.StringIO()
    Notes(Console(file=text, width=20)).note("A sentence longer than the width [of it].")
    assert text.getvalue() == "A sentence longer than the width [of it].\n"
