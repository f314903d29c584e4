"""The live display says what is measured, how precisely so far, and how long to go."""

from __future__ import annotations

import io

from rich.console import Console

from assay.campaign import progress
from assay.campaign.progress import Display, describe_cell
from assay.campaign.state import CampaignState
from assay.launch.executor import LaunchOrder
from assay.records.reading import measurement_id
from assay.records.schema import Begin, Job, Progress
from records_builder import make_cell, make_plan, make_record

CELL = make_cell("npb.cg", **{"class": "A"})


def test_a_cell_in_a_few_words() -> None:
    assert describe_cell(CELL) == "npb.cg class=A · 2 ranks"
    assert describe_cell(make_cell("network.barrier", ppn=1)) == "network.barrier · 1 rank"


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
        display.record(Begin(measurement=name, kernel=CELL.kernel))
        display.record(
            Progress(measurement=name, samples=34, elapsed=0.5, median=0.0125, half_width=0.021)
        )
        display.tick(state)
        text = shown.getvalue()
        assert "npb.cg class=A · 2 ranks" in text
        assert "34 samples, 12.5 ms, ±2.1%" in text
        assert "0/6 measurements" in text
        assert "about 1 min" in text
        assert "launch 1 of each cell, embedded" in text
        display.record(make_record(CELL, 0, [1.0, 1.0]))
        display.tick(state)
        assert "2 samples, ±0.5%" in shown.getvalue()
