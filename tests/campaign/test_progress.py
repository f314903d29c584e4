"""The live display shows what is measured, its precision so far, and the time left."""

from __future__ import annotations

import io
import re

import msgspec
from rich.console import Console

from assay.campaign.engine import display as progress
from assay.campaign.engine.display import Display, describe_cell
from assay.campaign.engine.state import CampaignState
from assay.launch.executor import LaunchOrder
from assay.records.model import Measurement
from assay.records.reading import measurement_id
from assay.records.schema import Job, MeasurementBegin, MeasurementOrder, Progress
from records_builder import make_cell, make_plan, make_record

CELL = make_cell("npb.cg", **{"class": "A"})


def test_a_cell_as_short_text() -> None:
    assert describe_cell(CELL) == "CG class A · 2 ranks"
    assert describe_cell(make_cell("network.barrier", ppn=1)) == "network.barrier · 1 rank"


def test_a_chosen_size_is_shown() -> None:
    cell = make_cell("linpack", n=0, fraction=0.5)
    assert describe_cell(cell) == "linpack fraction=0.5 · 2 ranks"
    assert describe_cell(cell, {"n": 9449}) == "linpack n=9449 fraction=0.5 · 2 ranks"
    usual = {"n": 0, "fraction": 1.0, "fill": 0.8, "matrix": "random"}
    assert describe_cell(make_cell("linpack", **usual)) == "linpack · 2 ranks"
    assert describe_cell(make_cell("linpack", **{**usual, "fill": 0.9})) == (
        "linpack fill=0.9 · 2 ranks"
    )
    assert describe_cell(make_cell("linpack", n=5), {"n": 5}) == "linpack n=5 · 2 ranks"


class Watching:
    """A display of one measurement, and its new output since the last call."""

    def __init__(self, monkeypatch, tmp_path, cell, **parameters) -> None:
        monkeypatch.setattr(progress, "REDRAW", 0.0)
        self.shown = io.StringIO()
        console = Console(file=self.shown, force_terminal=True, width=150, color_system=None)
        self.state = CampaignState(make_plan([cell]), value_of=lambda m: 1.0, enough=bool)
        self.name = measurement_id(cell, 0)
        asked = MeasurementOrder(self.name, cell.kernel, parameters, 0.01, 0.95, 1.0, 1, 9)
        job = Job(1, "0000-a", 1, "compact", 1, [asked])
        self.display = Display(console, "Watched")
        self.display.launching(
            0, LaunchOrder("0000-a", "embedded", cell.placement, job, tmp_path / "s", 10.0), [cell]
        )
        self.display.__enter__()
        self.display.record(MeasurementBegin(self.name, cell.kernel))

    def sees(
        self, elapsed: float, share: float | None, rate: float | None = None, samples=0
    ) -> str:
        self.display.record(Progress(self.name, samples, elapsed, None, None, share, rate))
        self.shown.seek(0)
        self.shown.truncate()
        self.display.tick(self.state)
        return self.shown.getvalue()


def test_a_long_sample_shows_its_share_its_rate_and_the_time_left(monkeypatch, tmp_path) -> None:
    watch = Watching(monkeypatch, tmp_path, make_cell("linpack", n=0), n=20000)
    text = watch.sees(2.0, 0.1, 1.5e11)
    assert "linpack n=20000 · 2 ranks  10%, 150 Gflop/s" in text
    assert "Gflop/s, about" not in text  # one report gives no pace
    # A tenth in 5 s: eight more follow.
    assert "20%, 160 Gflop/s, about 40 s left" in watch.sees(7.0, 0.2, 1.6e11)
    assert "60%, 160 Gflop/s, about 20 s left" in watch.sees(27.0, 0.6, 1.6e11)
    # The next sample begins with its own first report.
    again = watch.sees(50.0, 0.05, 1.6e11, samples=1)
    assert "1 samples, 5%, 160 Gflop/s" in again and "Gflop/s, about" not in again
    assert "15%, 160 Gflop/s, about 4" in watch.sees(55.0, 0.15, 1.6e11, samples=1)


def test_a_kernel_without_progress_reports_is_shown_by_its_samples(monkeypatch, tmp_path) -> None:
    watch = Watching(monkeypatch, tmp_path, CELL)
    assert "0 samples" in watch.sees(1.0, None)
    assert "%" not in watch.sees(2.0, None, samples=3).partition("samples")[2].partition("\n")[0]


def test_decisions_are_shown_and_stay(monkeypatch, tmp_path) -> None:
    watch = Watching(monkeypatch, tmp_path, CELL)
    watch.display.note("linpack on 2 ranks: N up to 100, limited by time.")
    watch.display.__exit__(None, None, None)
    assert "N up to 100, limited by time." in watch.shown.getvalue()


def test_the_display_shows_cell_samples_interval_and_eta(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(progress, "REDRAW", 0.0)
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=110, color_system=None)
    plan = make_plan([CELL], budget=60.0)
    state = CampaignState(plan, value_of=lambda m: 1.0, enough=lambda values: True)
    job = Job(1, "0000-a", 1, "compact", 1, [])
    order = LaunchOrder("0000-a", "embedded", CELL.placement, job, tmp_path / "s", 10.0)
    name = measurement_id(CELL, 0)
    with Display(console, "Quick look") as display:
        display.launching(0, order, [CELL])
        display.record(MeasurementBegin(measurement=name, kernel=CELL.kernel))
        display.record(
            Progress(measurement=name, samples=34, elapsed=0.5, median=0.0125, half_width=0.021)
        )
        display.tick(state)
        text = shown.getvalue()
        assert "CG class A · 2 ranks" in text
        assert "34 samples, 12.5 ms, ±2.1%" in text
        assert "0%" in text
        assert "0 s elapsed, at most 1 min left" in text
        assert "launch 1 of each cell, embedded" in text
        display.record(make_record(CELL, 0, [1.0, 1.0]))
        display.tick(state)
        assert "2 samples, ±0.5%" in shown.getvalue()


def test_the_time_left_falls_as_time_passes_and_the_bar_never_does(monkeypatch, tmp_path) -> None:
    """One launch of 10 s in a budget of 40 s, after a first one."""
    clock = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(progress, "REDRAW", 0.0)
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=150, color_system=None)
    state = CampaignState(make_plan([CELL], budget=40.0), value_of=lambda m: 1.0, enough=bool)
    asked = MeasurementOrder(measurement_id(CELL, 0), CELL.kernel, {}, 0.01, 0.95, 10.0, 1, 9)
    job = Job(1, "0000-a", 1, "compact", 1, [asked])
    order = LaunchOrder("0000-a", "embedded", CELL.placement, job, tmp_path / "s", 10.0)

    def line() -> str:
        shown.seek(0)
        shown.truncate()
        display.tick(state)
        (found,) = re.findall(r"(\d+)% (.* left)", shown.getvalue())
        return f"{found[0]}% {found[1].strip()}"

    with Display(console, "Quick look") as display:
        display.launching(0, order, [CELL])
        assert line() == "0% 0 s elapsed, at most 40 s left"
        clock[0] += 12.0
        assert line() == "30% 12 s elapsed, at most 28 s left"
        clock[0] += 1.0
        state.spent = 13.0
        record = msgspec.structs.replace(make_record(CELL, 0, [9.0]), wall=10.0, stop="budget")
        state.add(Measurement(CELL, 0, "0000-a", 0.0, record, None, ()))
        display.launching(1, order, [CELL])
        assert line() == "32% 13 s elapsed, about 27 s left"
        clock[0] += 7.0
        assert line() == "50% 20 s elapsed, about 20 s left"
        clock[0] += 5.0  # the launch takes longer than expected: what follows it remains
        assert line() == "60% 25 s elapsed, at least 17 s left"
        clock[0] += 27.0  # ten seconds after the budget, measuring is ended
        assert line() == "99% 52 s elapsed, about 0 s left"
        state.spent = 52.0
        state.keeper.changed()
        display.tick(state)
        assert "100%" in shown.getvalue()
