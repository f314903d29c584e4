"""Campaigns that take more and shorter launches if launches differ, on simulated machines.

Times are simulated.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.campaign.cells import effort
from assay.campaign.cells.effort import may_be_short
from assay.campaign.engine.display import Silent
from assay.campaign.engine.execute import state_of
from assay.campaign.engine.loop import Campaign
from assay.kernels import kernels
from assay.launch.executor import LaunchOrder
from assay.launch.fake.executor import FakeExecutor
from assay.launch.fake.scenario import Behaviour, NoiseModel, Scenario, Warmup
from assay.model.plan import Plan, Search
from assay.model.replication import Replication
from assay.records.directory import RunDirectory
from assay.records.model import RunData
from assay.stats.cells.effort import MIN_LAUNCHES
from assay.stats.cells.summarise import launch_value, summarise_cells
from records_builder import make_cell, make_plan, make_run

CELLS = [make_cell("network.pingpong", bytes=1 << size) for size in range(4)]
DIFFERING = NoiseModel(sigma=0.05, launch_sigma=0.03)
AGREEING = NoiseModel(sigma=0.05)
RULE = {"budget": 3000.0, "max_launches": 400, "min_samples": 5, "max_samples": 4000}


class Killed(Exception):
    """Ends a campaign without output."""


class Mortal(FakeExecutor):
    """A machine on which a campaign ends when it would begin a given launch, counted from 1."""

    def __init__(self, scenario: Scenario, ends_at: int) -> None:
        super().__init__(scenario)
        self._left = ends_at

    def start(self, order: LaunchOrder):
        self._left -= 1
        if self._left == 0:
            raise Killed
        return super().start(order)


def scenario(noise: NoiseModel, *, warmup: int = 0, seed: int = 3, time: float = 5e-3) -> Scenario:
    behaviour = Behaviour(
        time=time, max_batch=1, noise=noise, warmup=Warmup(samples=warmup, factor=3.0)
    )
    return Scenario(seed=seed, utc=1e9, launch_time=0.3, kernel=(behaviour,))


def execute_campaign(run: RunDirectory, executor: FakeExecutor) -> RunData:
    return Campaign(run, executor, Silent(), state_of).execute()


def measured(
    path: Path, noise: NoiseModel, *, warmup: int = 0, **rule: float
) -> tuple[RunData, FakeExecutor]:
    executor = FakeExecutor(scenario(noise, warmup=warmup))
    run = make_run(path, make_plan(CELLS, **{**RULE, **rule}))
    return execute_campaign(run, executor), executor


def counts(data: RunData) -> dict[str, int]:
    """Samples by measurement."""
    return {m.record.measurement: len(m.record.series[0].values) for m in data.measurements}


def precise(data: RunData) -> int:
    """Cells that reached the requested precision."""
    return sum(c.metrics["latency"].stop == "precision" for c in summarise_cells(data))


@pytest.fixture
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    with monkeypatch.context() as patch:
        patch.setattr(effort, "may_be_short", lambda cell, rule: False)
        yield patch


@pytest.mark.long
def test_with_launch_variation_the_goal_takes_fewer_samples_and_less_time(
    tmp_path: Path, as_before: pytest.MonkeyPatch
) -> None:
    before, slow = measured(tmp_path / "before", DIFFERING)
    as_before.undo()
    after, quick = measured(tmp_path / "after", DIFFERING)
    assert precise(before) == precise(after) == len(CELLS)
    assert sum(counts(after).values()) < 0.3 * sum(counts(before).values())
    assert quick.now < 0.5 * slow.now


def test_where_launches_agree_nothing_changes(
    tmp_path: Path, as_before: pytest.MonkeyPatch
) -> None:
    before, _ = measured(tmp_path / "before", AGREEING)
    as_before.undo()
    after, _ = measured(tmp_path / "after", AGREEING)
    assert counts(after) == counts(before)


def test_the_first_launches_are_unchanged_and_later_ones_near_optimal(tmp_path: Path) -> None:
    data, _ = measured(tmp_path, DIFFERING)
    by_replicate: dict[int, list[int]] = {}
    for m in data.measurements:
        by_replicate.setdefault(m.replicate, []).append(len(m.record.series[0].values))
    assert min(sum(each) for k, each in by_replicate.items() if k < MIN_LAUNCHES) > 4 * 100
    # By brute force over the planted effects, with a quarter of a launch's 0.3 s for each cell.
    within, between = 1.5708 * 0.05**2, 0.03**2
    best = min(range(1, 500), key=lambda n: (0.075 + 5e-3 * n) * (between + within / n))
    late = sorted(n for k, each in by_replicate.items() if 30 <= k < 60 for n in each)
    assert best < late[len(late) // 2] < 3 * best  # 10 samples are needed for unbiased medians


def test_launches_that_cannot_reach_the_precision_are_short_from_the_second_on(
    tmp_path: Path,
) -> None:
    # The median of one sample is uncertain by 38%: 22,000 would be needed for 0.5%.
    data, executor = measured(tmp_path, NoiseModel(sigma=0.3), budget=100.0, precision=0.005)
    first, second = (
        sum(m.record.wall for m in data.measurements if m.replicate == k) for k in (0, 1)
    )
    assert first == pytest.approx(100.0 / 6, rel=0.05)
    # Five times the 0.3 s of a launch, as there are no other costs.
    assert second == pytest.approx(5.0 * 0.3, rel=0.05)
    assert len(data.launches) > 30
    assert executor.now < 106.0


@pytest.mark.long
def test_warmup_is_left_out_of_short_launches_too(tmp_path: Path) -> None:
    data, _ = measured(tmp_path, DIFFERING, warmup=20)
    late = [m.record for m in data.measurements if m.replicate >= 10]
    assert late
    assert {record.warmup for record in late} == {20}
    assert min(len(record.series[0].values) for record in late) >= 40
    # It would be three times as long with the warm-up.
    times = [cell.metrics["latency"].median for cell in summarise_cells(data)]
    assert times == pytest.approx([5e-3] * len(CELLS), rel=0.05)


@pytest.mark.parametrize(
    "ends_at", [4, 23, *(pytest.param(each, marks=pytest.mark.long) for each in (2, 5, 9))]
)
@pytest.mark.parametrize("torn", [False, True])
def test_a_killed_campaign_takes_the_same_samples_after_resume(
    tmp_path: Path, ends_at: int, torn: bool
) -> None:
    rule = {**RULE, "precision": 0.02}
    undisturbed = make_run(tmp_path / "whole", make_plan(CELLS, **rule))
    whole = execute_campaign(undisturbed, FakeExecutor(scenario(DIFFERING)))
    run = make_run(tmp_path / "killed", make_plan(CELLS, **rule))
    with pytest.raises(Killed):
        execute_campaign(run, Mortal(scenario(DIFFERING), ends_at))
    if torn:  # during its last launch, of which only two measurements remain
        stream = run.streams()[-1]
        lines = stream.read_bytes().splitlines(keepends=True)
        ends = [k for k, line in enumerate(lines) if b'"record":"measurement"' in line]
        stream.write_bytes(b"".join(lines[: ends[1] + 1]))
        launches_file = run.path / "launches.jsonl"
        launches_file.write_bytes(
            b"".join(launches_file.read_bytes().splitlines(keepends=True)[:-1])
        )
    data = execute_campaign(run, FakeExecutor(scenario(DIFFERING)))
    assert counts(data) == counts(whole)


def test_a_block_depends_on_the_blocks_before_it_without_gaps(tmp_path: Path) -> None:
    data, _ = measured(tmp_path, DIFFERING)

    def decided(replicates: set[int], block: int) -> dict[str, int]:
        efforts = effort.Efforts(data.manifest.plan, ())
        for m in data.measurements:
            if m.replicate in replicates:
                value, samples = launch_value(m), len(m.record.series[0].values)
                assert value is not None
                efforts.add(
                    m.cell,
                    m.replicate,
                    m.record,
                    value=value,
                    samples=samples,
                    launch=m.launch,
                    beside=0.3,
                )
        return efforts.most(block, CELLS)

    for block in (3, 4, 5, 7):
        known = decided(set(range(block)), block)
        assert decided(set(range(20)), block) == known
        assert decided({*range(block), *range(block + 1, 20)}, block + 1) == known
    assert decided(set(range(15)), 15) != decided(set(range(3)), 3)


def test_kernels_whose_result_is_another_series_are_unchanged() -> None:
    rule = Replication()
    left = {k.name for k in kernels() if not may_be_short(make_cell(k.name), rule)}
    assert {"noise.ftq", "noise.fwq", "noise.barrier", "linpack.search"} <= left
    for kernel in kernels():
        headline = kernel.metric(kernel.headline)
        assert headline is not None
        assert (kernel.name in left) == (headline.series != "time" or kernel.once)
    assert not may_be_short(make_cell("of.another"), rule)


@pytest.mark.parametrize(
    "rule",
    [
        Replication(min_launches=1, max_launches=1),
        Replication(min_launches=20, max_launches=20),
        Replication(max_samples=1, min_samples=1),
        Replication(duration=3600.0),
        Replication(every=60.0, sessions=3),
    ],
)
def test_with_a_fixed_number_of_launches_they_are_equal(rule: Replication) -> None:
    assert may_be_short(CELLS[0], Replication())
    assert not may_be_short(CELLS[0], rule)


def test_candidates_of_a_search_are_unchanged() -> None:
    plan = make_plan(CELLS, **RULE)
    ids = tuple(cell.id for cell in CELLS)
    search = Search(cells=ids, optional=ids[1:])
    searched = Plan(plan.name, plan.title, plan.cells, plan.replication, plan.seed, search=search)
    launches = effort.Efforts(searched, search.optional)._launches
    assert set(launches) == {ids[0]}
