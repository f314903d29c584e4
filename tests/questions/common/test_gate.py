"""Impossible numbers become findings and stay off the verdict; other numbers pass unchanged."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import msgspec
import pytest

from asking import reply_to
from assay.model.placement import Placement
from assay.questions.common.answer import Answer, Bound, Evidence
from assay.questions.common.gate import collapses, impossible_rows, is_possible
from assay.records.model import RunData
from assay.stats.core.model import CellSummary
from assay.system.model import Adapter
from report_builder import (
    CLOCK,
    SYSTEM,
    make_cell,
    make_measurement,
    make_run,
    make_summary,
    quick_cells,
)

PEAK = 32 * CLOCK  # flop/s of one core of the planted machine


def dgemm(rate: float, threads: int, n: int = 2000) -> CellSummary:
    return make_summary(make_cell("compute.dgemm", n=n, threads=threads), rate)


def run_of(cells: Sequence[CellSummary]) -> RunData:
    return make_run(cells, measurements=[make_measurement(cell.cell, []) for cell in cells])


def answered(question: str, cells: Sequence[CellSummary], run: RunData | None = None) -> Answer:
    return reply_to(question, cells, run or run_of(cells)).answer


def test_a_sound_run_passes_unchanged() -> None:
    answer = answered("speed", quick_cells())
    assert answer.impossible == []
    assert "theoretical peak" in answer.verdict
    assert any(row.share is not None and row.bound == "attained" for row in answer.evidence)


def test_two_cores_at_a_two_thousandth_of_their_peak_are_no_headline() -> None:
    cells = [dgemm(0.93 * PEAK, 1), dgemm(0.0004 * 2 * PEAK, 2)]
    answer = answered("speed", cells)
    [found] = answer.impossible
    assert found.kind == "collapsed" and found.cells == [cells[1].id]
    assert found.sentence.startswith("This number is impossible: DGEMM N = 2000, 2 cores: ")
    assert "0.0400% of its limit" in found.sentence
    assert answer.verdict.startswith("1 core sustains 77.4")
    assert "2 cores" not in answer.verdict
    assert answer.confidence == "low" and "impossible" in answer.confidence_why
    assert found.sentence in answer.caveats
    assert not any(cells[1].id in row.cells for row in answer.evidence)


def test_a_collapse_shows_without_a_known_peak() -> None:
    """The same work on one core is the bound."""
    cells = [dgemm(70e9, 1), dgemm(60e6, 2)]
    answer = answered("speed", cells, make_run(cells, system={}))
    [found] = answer.impossible
    assert "1,167 times worse than with 1 rank" in found.sentence and found.bound == 70e9
    assert answer.verdict.startswith("1 core sustains 70.0")


def test_a_run_of_nothing_else_is_not_answered() -> None:
    answer = answered("speed", [dgemm(0.0004 * PEAK, 1)])
    assert answer.status == "unmeasured" and answer.confidence is None
    assert answer.verdict == "Not answered: 1 number is impossible, and there is no other."
    assert answer.caveats == [answer.impossible[0].sentence]


def test_small_matrices_may_be_slow() -> None:
    """Starting the threads takes longer than a product of N = 20 at the peak."""
    assert answered("speed", [dgemm(0.002 * PEAK, 2, n=20)]).impossible == []


@pytest.mark.parametrize(("times", "stays"), [(1.5, True), (10.33, False)])
def test_far_above_the_peak_the_value_is_left_out_too(times: float, stays: bool) -> None:
    cells = [dgemm(0.9 * PEAK, 1), dgemm(times * 2 * PEAK, 2)]
    answer = answered("speed", cells)
    assert [each.kind for each in answer.impossible] == ["above"]
    assert f"{100 * times:.0f}% of its limit" in answer.impossible[0].sentence
    assert answer.verdict.startswith("2 cores" if stays else "1 core sustains")
    assert answer.confidence == "low"
    if stays:
        assert "%" not in answer.verdict
        [row] = [row for row in answer.evidence if row.cells == [cells[1].id]]
        assert row.share is None and row.value == pytest.approx(times * 2 * PEAK)


def test_another_size_does_not_take_the_place_of_one_that_cannot_be() -> None:
    cells = [dgemm(0.9 * PEAK, 1), dgemm(20 * PEAK, 2), dgemm(1.6 * PEAK, 2, n=1000)]
    assert answered("speed", cells).verdict.startswith("1 core sustains")


def test_a_link_faster_than_its_adapter_says_is_a_finding_and_its_analysis_stays() -> None:
    """A virtual adapter's speed may be wrong: the bandwidth is given, its share is not."""
    cells = []
    for size in (0, *(1 << power for power in range(3, 23))):
        cell = make_cell("network.pingpong", bytes=size)
        cell = msgspec.structs.replace(cell, placement=Placement(nodes=2, ppn=1))
        cells.append(make_summary(cell, 20e-6 + size / 12.9e9))
    veth = Adapter(name="veth0", kind="virtual", speed=1.25e9, state="up")
    system = msgspec.structs.replace(SYSTEM, adapters=[veth]).to_dict()
    run = make_run(cells, system=system)
    answer = answered("network", cells, run)
    [found] = answer.impossible
    assert found.kind == "above" and found.bound == 1.25e9
    assert "virtual adapters" in found.sentence and "link speed of veth0" in found.sentence
    assert "veth0" not in answer.verdict and "bandwidth at 4 MiB is" in answer.verdict
    assert answer.confidence == "low"
    assert all(row.share is None or row.share <= 1 for row in answer.evidence if row.bound)


@pytest.mark.parametrize(
    ("share", "interval", "bound", "possible"),
    [
        (1.03, (1.01, 1.05), "reported", True),
        (1.03, (1.025, 1.035), "reported", False),
        (1.03, None, "reported", False),
        (1.9, (1.8, 2.0), "measured", True),
        (2.2, (2.1, 2.3), "measured", False),
        (4.0, (3.9, 4.1), "", True),
    ],
)
def test_limits_may_be_passed_within_their_error(
    share: float, interval: tuple[float, float] | None, bound: Bound, possible: bool
) -> None:
    assert is_possible(share, interval, bound) is possible
    row = Evidence("x", "rate", "B/s", share, limit=1.0, share=share, share_ci95=interval)
    row = dataclasses.replace(row, bound=bound)
    assert bool(impossible_rows([row])) is not possible


def test_what_counts_as_a_collapse() -> None:
    """A hundredth of the same work on fewer cores of one node; not on more cores or nodes."""
    one, two = dgemm(70e9, 1), dgemm(0.6e9, 2)
    assert set(collapses([one, two])) == {two.id}
    assert collapses([one, dgemm(0.8e9, 2)]) == {}
    assert collapses([dgemm(0.6e9, 1), dgemm(70e9, 2)]) == {}
    assert collapses([one, dgemm(0.6e9, 2, n=10)]) == {}
    far = msgspec.structs.replace(two.cell, placement=Placement(nodes=2, ppn=1))
    assert collapses([one, make_summary(far, 0.6e9)]) == {}
    slow = make_summary(make_cell("memory.latency", ppn=2, bytes=1 << 26), 90e-6)
    fast = make_summary(make_cell("memory.latency", ppn=1, bytes=1 << 26), 90e-9)
    assert set(collapses([fast, slow])) == {slow.id}
