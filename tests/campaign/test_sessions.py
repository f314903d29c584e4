"""Runs of several sessions, on a machine with simulated time: days in a second."""

from __future__ import annotations

import dataclasses
import io
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

from assay.campaign.engine.execute import execute_campaign
from assay.campaign.engine.sessions import begin_time, moment
from assay.campaign.engine.state import CampaignState, Interruption, OutOfTime
from assay.campaign.jobs.run_watch import RunWatch
from assay.campaign.machine.bench import Bench, FakeMachine
from assay.campaign.machine.clocks import AwakeTime, MachineClock
from assay.errors import AssayError
from assay.launch.fake.executor import FakeClock, FakeExecutor
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.model.sessions import session_of
from assay.records.model import RunData
from assay.records.reading import read_run
from assay.records.sessions import SessionEvent, append_session, read_sessions
from assay.records.tables import MEASUREMENTS
from records_builder import make_cell, make_plan, make_run

HOUR = 3600.0
UTC = 1_800_000_000.0
SCENARIO = """
schema = 1
seed = 2
utc = {utc}
launch_time = "1 s"
[[kernel]]
time = "0.001 * (1 + 0.5 * (t > {later}))"
noise = {{ sigma = 0.01, launch_sigma = 0.01 }}
{failures}
"""


class Hand(FakeClock):
    """A clock that calls given functions while the campaign sleeps, one per sleep."""

    def __init__(self, executor: FakeExecutor) -> None:
        super().__init__(executor)
        self.executor = executor
        self.asleep = 0.0
        self.orders: list[Callable[[], None]] = []

    def awake(self) -> float:
        return self.executor.now - self.asleep

    def sleep(self, seconds: float) -> None:
        if self.orders:
            self.orders.pop(0)()
        super().sleep(seconds)

    def doze(self, seconds: float) -> None:
        """The machine is suspended."""
        self.asleep += seconds
        self.executor.now += seconds

    def set(self, seconds: float) -> None:
        """The time of day is set."""
        self.executor.epoch += seconds

    def interrupt(self) -> None:
        raise KeyboardInterrupt


class Place:
    """A run of two cells, three launches of each in each of four sessions, six hours apart."""

    def __init__(
        self,
        path: Path,
        failures: str = "",
        later: float = 1e9,
        nodes: int | None = None,
        **rule: float,
    ) -> None:
        self.scenario = path / "scenario.toml"
        self.scenario.write_text(SCENARIO.format(utc=UTC, failures=failures, later=later))
        self.cells = [make_cell("npb.ep", ppn=ppn, **{"class": "S"}) for ppn in (1, 2)]
        if nodes is not None:
            self.scenario.write_text(f"nodes = {nodes}\n" + self.scenario.read_text())
            placement = Placement(nodes=nodes, ppn=1)
            self.cells = [Cell("npb.ep", {"class": "S"}, placement, "fake")]
        asked = {"every": 6 * HOUR, "sessions": 4, "budget": 100.0, "cell_budget": 1.0}
        counts = {"min_launches": 3, "max_launches": 3}
        plan = make_plan(self.cells, **{**asked, **counts, **rule})
        self.run = make_run(path, plan)
        self.said = ""

    def bench(self) -> tuple[Bench, Hand]:
        bench = FakeMachine(self.scenario).prepare({"fake": ()}, None)
        assert isinstance(bench.executor, FakeExecutor)
        clock = Hand(bench.executor)
        return dataclasses.replace(bench, clock=clock), clock

    def execute_campaign(
        self, order: Callable[[Hand], list[Callable[[], None]]] | None = None, **how: Any
    ) -> RunData:
        bench, clock = self.bench()
        clock.orders = order(clock) if order else []
        out = io.StringIO()
        try:
            return execute_campaign(self.run, bench, Console(file=out, width=200), **how)
        finally:
            self.said = out.getvalue()

    def events(self) -> list[SessionEvent]:
        return read_sessions(self.run.path)

    def dues(self) -> list[float]:
        """Due times of sessions, in hours after the first."""
        begun = [event for event in self.events() if event.event == "begun"]
        return [(event.due - UTC) / HOUR for event in begun if event.due is not None]

    def measured(self) -> Counter[int]:
        """Measurements by session."""
        data = read_run(self.run.path)
        rule = data.manifest.plan.replication
        return Counter(session_of(m.replicate, rule) for m in data.measurements)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_day_in_four_sessions(tmp_path: Path) -> None:
    place = Place(tmp_path, later=9 * HOUR)
    data = place.execute_campaign()
    assert data.complete
    assert place.run.complete
    assert place.run.broken_seal() == []
    assert place.measured() == {0: 6, 1: 6, 2: 6, 3: 6}
    assert [(e.event, e.session, e.how) for e in place.events()] == [
        (event, session, "over" if event == "ended" else None)
        for session in range(4)
        for event in ("begun", "ended")
    ]
    assert place.dues() == [0.0, 6.0, 12.0, 18.0]
    for measurement in data.measurements:
        session = session_of(measurement.replicate, data.manifest.plan.replication)
        assert 0.0 <= measurement.utc - UTC - session * 6 * HOUR < 100.0
    assert {record.session for record in data.launches} == {0, 1, 2, 3}
    # Variation with the time of day is in the table, by session.
    table = pl.read_parquet(place.run.path / MEASUREMENTS)
    medians = dict(table.group_by("session").agg(pl.col("median").median()).iter_rows())
    assert medians[2] / medians[0] == pytest.approx(1.5, rel=0.05)
    assert medians[3] / medians[1] == pytest.approx(1.5, rel=0.05)
    assert "Session 1 of 4 begins." in place.said
    assert f"Session 4 of 4 begins {moment(UTC + 18 * HOUR)}." in place.said


def test_each_block_of_each_session_has_its_own_order(place: Place) -> None:
    place.execute_campaign()
    orders = []
    launches = sorted(read_run(place.run.path).measurements, key=lambda m: m.utc)
    for first in range(0, len(launches), 2):
        orders.append(launches[first].cell.placement.ppn)
    assert len(orders) == 12
    by_session = {tuple(orders[first : first + 3]) for first in range(0, 12, 3)}
    assert len(by_session) > 1


def test_the_budget_is_per_session(tmp_path: Path) -> None:
    # A launch takes slightly more than two seconds: there is time for two blocks of two.
    place = Place(tmp_path, budget=8.0, max_launches=10, min_launches=6)
    assert place.execute_campaign().complete
    measured = place.measured()
    assert set(measured) == {0, 1, 2, 3}
    assert len(set(measured.values())) == 1
    assert 2 <= measured[0] <= 8


def test_precision_ends_a_session_and_not_the_run(tmp_path: Path) -> None:
    place = Place(tmp_path, min_launches=6, max_launches=20, precision=0.9)
    place.execute_campaign()
    assert place.measured() == {0: 12, 1: 12, 2: 12, 3: 12}


def test_without_sessions_no_file_mentions_any(tmp_path: Path) -> None:
    place = Place(tmp_path, sessions=1)
    assert place.execute_campaign().complete
    assert place.events() == []
    assert not (place.run.path / "sessions.jsonl").exists()
    assert place.measured() == {0: 6}


def test_a_follower_sees_the_current_session(place: Place) -> None:
    data = place.execute_campaign()
    watch = RunWatch(place.run, None)
    watch.look("")
    assert watch.measured == 24
    state = watch._state
    assert state is not None
    assert state.session == 3
    assert sum(len(cell.values) for cell in state.cells.values()) == 6
    last = [launch.wall for launch in data.launches if launch.session == 3]
    assert state.spent == pytest.approx(sum(last))


# ---- stopped and resumed -------------------------------------------------------------------------


def test_stopped_while_waiting_it_resumes_when_the_next_is_due(place: Place) -> None:
    with pytest.raises(Interruption):
        place.execute_campaign(lambda clock: [clock.interrupt])
    assert not place.run.complete
    assert (place.run.path / MEASUREMENTS).exists()
    assert place.measured() == {0: 6}
    assert begin_time(place.run, UTC + HOUR) == UTC + 6 * HOUR
    data = place.execute_campaign()
    assert data.complete
    assert place.measured() == {0: 6, 1: 6, 2: 6, 3: 6}
    assert place.dues() == [0.0, 6.0, 12.0, 18.0]
    assert "missed" not in place.said


def test_sessions_without_a_process_are_missed_and_made_up_for(place: Place) -> None:
    with pytest.raises(Interruption):
        place.execute_campaign(lambda clock: [clock.interrupt])
    # It is resumed sixteen hours later.
    append_session(place.run.path, SessionEvent("ended", 0, UTC + 22 * HOUR, how="over"))
    data = place.execute_campaign()
    assert data.complete
    assert place.dues() == [0.0, 24.0, 30.0, 36.0]
    assert [e.missed for e in place.events() if e.event == "begun"] == [0, 3, 0, 0]
    assert "3 sessions were missed" in place.said
    assert "not repeated" in place.said


def interrupted_after(measurements: int, place: Place) -> None:
    """Carry out until this many are measured, and then request a stop."""
    bench, _ = place.bench()
    executor = bench.executor
    start = executor.start

    def interrupting(order: Any) -> Any:
        if len(read_run(place.run.path).measurements) >= measurements:
            raise KeyboardInterrupt
        return start(order)

    executor.start = interrupting  # type: ignore[method-assign]
    with pytest.raises(Interruption):
        execute_campaign(place.run, bench, Console(file=io.StringIO()))
    assert len(read_run(place.run.path).measurements) == measurements


def test_an_interrupted_session_resumes_within_its_turn(place: Place) -> None:
    interrupted_after(9, place)
    assert place.measured() == {0: 6, 1: 3}
    kept = {m.record.measurement: m.utc for m in read_run(place.run.path).measurements}
    data = place.execute_campaign()
    assert data.complete
    assert place.dues() == [0.0, 6.0, 12.0, 18.0]
    assert place.measured() == {0: 6, 1: 6, 2: 6, 3: 6}
    again = {m.record.measurement: m.utc for m in data.measurements}
    assert {name: again[name] for name in kept} == kept


@pytest.mark.parametrize(("measured", "counts"), [(9, True), (7, False)])
def test_a_session_cut_short_counts_if_each_cell_was_measured(
    place: Place, measured: int, counts: bool
) -> None:
    interrupted_after(measured, place)
    # It is not resumed before the next one is due.
    append_session(place.run.path, SessionEvent("ended", 99, UTC + 12 * HOUR))
    data = place.execute_campaign()
    assert data.complete
    ends = [(e.session, e.how) for e in place.events() if e.event == "ended" and e.session < 99]
    how = "cut" if counts else "void"
    rest = [(2, "over"), (3, "over")] + ([] if counts else [(4, "over")])
    assert ends == [(0, "over"), (1, how), *rest]
    assert place.measured() == {0: 6, 1: measured - 6, 2: 6, 3: 6} | ({} if counts else {4: 6})
    assert ("does not count" in place.said) == (not counts)
    assert "Session 4 of 4" in place.said
    assert "Session 5" not in place.said


def test_a_session_killed_before_its_line_is_not_measured_again(place: Place) -> None:
    with pytest.raises(Interruption):
        place.execute_campaign(lambda clock: [clock.interrupt])
    lines = (place.run.path / "sessions.jsonl").read_bytes().splitlines(keepends=True)
    assert b"ended" in lines[-1]
    (place.run.path / "sessions.jsonl").write_bytes(b"".join(lines[:-1]) + lines[-1][:9])
    assert place.execute_campaign().complete
    assert place.measured() == {0: 6, 1: 6, 2: 6, 3: 6}


def test_after_the_duration_the_run_ends(tmp_path: Path) -> None:
    place = Place(tmp_path, duration=24 * HOUR, **{"sessions": None})  # type: ignore[arg-type]
    with pytest.raises(Interruption):
        place.execute_campaign(lambda clock: [clock.interrupt])
    append_session(place.run.path, SessionEvent("ended", 0, UTC + 100 * HOUR))
    data = place.execute_campaign()
    assert data.complete
    assert place.run.complete
    assert place.measured() == {0: 6}


def test_an_allocation_does_not_wait_for_the_next_session(place: Place) -> None:
    with pytest.raises(OutOfTime):
        place.execute_campaign(deadline=UTC + 5 * HOUR)
    assert place.measured() == {0: 6}


# ---- clocks --------------------------------------------------------------------------------------


def test_a_suspended_machine_is_reported_and_the_run_continues(place: Place) -> None:
    data = place.execute_campaign(lambda clock: [lambda: clock.doze(22 * HOUR)])
    assert data.complete
    assert "The machine slept for 22 h" in place.said
    assert place.dues() == [0.0, 24.0, 30.0, 36.0]
    begun = [event for event in place.events() if event.event == "begun"]
    assert begun[1].note == "The machine slept for 22 h."
    assert begun[1].missed == 3
    assert begun[2].note == ""


def test_a_clock_set_forward_is_followed(place: Place) -> None:
    place.execute_campaign(lambda clock: [lambda: clock.set(6.5 * HOUR)])
    assert "The clock was set forward by 6 h 30 min." in place.said
    assert place.dues() == [0.0, 6.0, 12.0, 18.0]


def test_a_clock_set_back_by_years_delays_by_one_turn_at_most(place: Place) -> None:
    place.execute_campaign(lambda clock: [lambda: clock.set(-10_000 * HOUR)])
    assert "The clock was set back by" in place.said
    dues = place.dues()
    assert dues[0] == 0.0
    assert dues[1] == pytest.approx(-9996.0)
    assert [later - sooner for sooner, later in pairwise(dues[1:])] == [6.0, 6.0]


def test_small_corrections_of_a_clock_are_not_reported(place: Place) -> None:
    place.execute_campaign(lambda clock: [lambda: clock.set(5.0), lambda: clock.doze(5.0)])
    assert "clock" not in place.said
    assert "slept" not in place.said


def test_this_machines_clock_reports_no_change() -> None:
    clock = MachineClock()
    awake_time = AwakeTime(clock)
    clock.sleep(0.01)
    assert awake_time.look() == ""
    assert abs(clock.now() - time.time()) < 60.0
    assert clock.running() >= clock.awake() - 1.0


# ---- failures ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "records"), [("crash", 0), ("error", 1), ("wrong result", 1)])
def test_a_failed_cell_is_tried_again_in_the_next_session(
    tmp_path: Path, kind: str, records: int
) -> None:
    # A launch ended by a signal is repeated in the same session.
    times = 2 if kind == "crash" else 1
    failures = f'[[failure]]\nkind = "{kind}"\nwhere = "ppn == 2"\ntimes = {times}'
    place = Place(tmp_path, failures)
    data = place.execute_campaign()
    assert data.complete
    assert place.measured() == {0: 3 + records, 1: 6, 2: 6, 3: 6}


@pytest.mark.parametrize(("launch", "number"), [(1, False), (4, True)])
def test_a_cell_that_lost_its_hosts_keeps_the_run_open_without_any_result(
    tmp_path: Path, launch: int, number: bool
) -> None:
    failures = f'[[failure]]\nkind = "host lost"\nlaunch = {launch}\nhost = 1'
    place = Place(tmp_path, failures, nodes=2)
    data = place.execute_campaign()
    assert data.complete == place.run.complete == number
    assert sum(place.measured().values()) == (launch - 1 if number else 0)


def test_a_blamed_launch_is_of_its_session_when_it_is_resumed(tmp_path: Path) -> None:
    failures = '[[failure]]\nkind = "crash"\nwhere = "ppn == 2"\ntimes = 2'
    place = Place(tmp_path, failures)
    with pytest.raises(Interruption):
        place.execute_campaign(lambda clock: [clock.interrupt])
    place.scenario.write_text(SCENARIO.format(utc=UTC, failures="", later=1e9))
    place.execute_campaign()
    assert place.measured() == {0: 3, 1: 6, 2: 6, 3: 6}


# ---- without pauses ------------------------------------------------------------------------------


def test_a_duration_alone_is_measured_to_its_end_despite_the_precision(tmp_path: Path) -> None:
    place = Place(
        tmp_path,
        **{  # type: ignore[arg-type]
            **{"every": None, "sessions": None, "cell_budget": None},
            **{"duration": 60.0, "budget": 60.0, "min_launches": 6, "max_launches": 100_000},
            "precision": 0.5,
        },
    )
    data = place.execute_campaign()
    assert data.complete
    spent = sum(launch.wall for launch in data.launches)
    assert 54.0 <= spent <= 63.0
    counts = Counter(m.cell.id for m in data.measurements)
    assert min(counts.values()) > 6
    assert max(counts.values()) - min(counts.values()) <= 1


def test_its_last_blocks_take_no_longer_than_the_first() -> None:
    cells = [make_cell(ppn=1), make_cell(ppn=2)]
    plan = make_plan(cells, duration=600.0, budget=600.0, min_launches=20, max_launches=100_000)
    state = CampaignState(plan, value_of=lambda m: 1.0, enough=lambda values: False)
    first = state.measurement_budgets(0, cells)[cells[0].id]
    state.spent = 300.0
    assert state.measurement_budgets(50, cells)[cells[0].id] == pytest.approx(first, rel=0.1)


# ---- in a job -----------------------------------------------------------------------------------


def test_a_job_that_begins_far_too_early_does_not_measure(place: Place) -> None:
    bench, clock = place.bench()
    data = execute_campaign(place.run, bench, Console(file=io.StringIO()), clock=clock)
    assert not data.complete
    assert place.measured() == {0: 6}
    with pytest.raises(AssayError, match="not due yet"):
        execute_campaign(place.run, bench, Console(file=io.StringIO()), clock=clock)
    clock.executor.now = 5.9 * HOUR  # a possible error of a scheduler's clock
    assert not execute_campaign(place.run, bench, Console(file=io.StringIO()), clock=clock).complete
    assert place.measured() == {0: 6, 1: 6}
    assert place.dues() == [0.0, 6.0]
