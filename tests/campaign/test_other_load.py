"""What other processes leave for a plan, said before it is measured."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from assay.campaign.machine import other_load
from assay.campaign.machine.other_load import forecast_under, watch_others
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.stats.cells.contention import Contention
from assay.system.files import Tree
from records_builder import make_plan


def cells(*ppn: int) -> list[Cell]:
    return [Cell("network.barrier", {}, Placement(1, number), "t") for number in ppn]


def busy(cpus: float, of: int | None = 4) -> Contention:
    return Contention(cpus, cpus, of, 1, 1)


def test_a_quiet_machine_needs_no_forecast() -> None:
    plan = make_plan(cells(1, 2))
    assert forecast_under(None, plan) == ""
    assert forecast_under(busy(0.05), plan) == ""
    assert forecast_under(busy(3.0, None), plan) == ""


def test_what_is_lost_and_what_is_not_follow_from_how_much_is_busy() -> None:
    much = forecast_under(busy(2.0), make_plan(cells(1, 2, 3, 4)))
    assert "2 of 4 CPUs" in much and "can't exceed low" in much
    assert "2 of 4 cells fit on the free CPUs" in much
    assert "not affected" in much
    little = forecast_under(busy(0.5), make_plan(cells(1, 3)))
    assert "can't exceed medium" in little and "Every cell fits" in little
    none = forecast_under(busy(4.0), make_plan(cells(1, 2)))
    assert "No cell fits" in none


def stat(path: Path, *ticks: int) -> None:
    path.write_text(f"cpu  {' '.join(map(str, ticks))} 0 0 0\ncpu0 1 2 3\n")


def test_busy_cpus_are_counted_without_idle_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """50 ticks of work (user, nice, system, irq, softirq) in 0.25 s of sleep."""
    monkeypatch.setattr(other_load.os, "sysconf", lambda _: 100)
    path = tmp_path / "proc" / "stat"
    path.parent.mkdir()
    stat(path, 100, 100, 100, 5000, 700, 100, 100)

    def later() -> None:
        time.sleep(0.05)
        stat(path, 110, 110, 110, 9000, 900, 110, 110)

    thread = threading.Thread(target=later)
    thread.start()
    found = watch_others(0.25, Tree(tmp_path))
    thread.join()
    assert found is not None and found.seconds == pytest.approx(0.5)
    assert 0.0 < found.busy <= 2.0
    assert watch_others(0.0, Tree(tmp_path / "missing")) is None
    path.write_text("intr 1 2 3\n")
    assert watch_others(0.0, Tree(tmp_path)) is None
