"""Other processes cap the confidence of every answer; hosts of one machine count once."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from asking import reply_to
from assay.questions.common.answer import Answer
from assay.questions.common.contention import capped, level_under, together
from assay.stats.cells.contention import Contention
from report_builder import make_disturbed, make_run, quick_cells, with_launches

AGAIN = "Measure again when the node is quiet"


def speed(busy: Mapping[int, float]) -> Answer:
    """The answer on speed where cells on so many cores were disturbed."""
    cells = with_launches(quick_cells(), 30)
    measurements = [
        make_disturbed(
            each.cell, busy.get(each.cell.placement.ranks * each.cell.placement.threads, 0.0)
        )
        for each in cells
    ]
    return reply_to("speed", cells, make_run(cells, measurements=measurements)).answer


def test_a_quiet_node_leaves_confidence_and_advice() -> None:
    answer = speed({1: 0.02, 2: 0.05})
    assert answer.confidence == "high"
    assert not any(AGAIN in sentence for sentence in answer.advice)


@pytest.mark.parametrize(("busy", "level"), [(0.3, "medium"), (1.7, "low")])
def test_other_processes_cap_confidence_and_ask_for_another_run(busy: float, level: str) -> None:
    answer = speed({2: busy})
    assert answer.confidence == level
    assert f"kept {busy} of 2 CPUs busy" in answer.confidence_why
    assert answer.advice[0].startswith(AGAIN)
    assert answer.impossible == []


def test_one_disturbed_headline_cell_is_enough() -> None:
    """A mean over all cells would hide it."""
    assert speed({1: 0.0, 2: 0.3}).confidence == "medium"


def test_more_cpus_than_there_are_is_a_finding() -> None:
    answer = speed({2: 31.0})
    [found] = answer.impossible
    assert (found.kind, found.value, found.bound) == ("contention", 31.0, 2.0)
    assert "31 CPUs busy, and the 1 machine measured has 2 CPUs" in found.sentence
    assert answer.confidence == "low"
    assert not any("31" in sentence for sentence in answer.advice)


def test_questions_that_are_not_answered_say_so_as_on_a_quiet_node() -> None:
    cells = quick_cells()
    run = make_run(cells, measurements=[make_disturbed(each.cell, 31.0) for each in cells])
    quiet = make_run(cells)
    for question in ("steadiness", "placement", "design"):
        answer = reply_to(question, cells, run).answer
        assert answer == reply_to(question, cells, quiet).answer
        assert answer.status == "unmeasured"


def test_a_wide_interval_under_contention_is_low() -> None:
    found = Contention(busy=0.3, seconds=3.0, cpus=64, machines=1, spans=6)
    assert level_under(found, 0.02) == "medium"
    assert level_under(found, 0.3) == "low"
    sure = Answer("placement", "?", "answered", "1 rank", "high", "Every search is sure.")
    under = capped(sure, found)
    assert under.confidence == "medium" and under.advice[0].startswith(AGAIN)
    assert capped(sure, None) is sure


def test_nodes_measured_separately_are_judged_together() -> None:
    """One busy node of many is a finding of the comparison, not a cap for all."""
    quiet = Contention(busy=0.01, seconds=0.1, cpus=64, machines=1, spans=6)
    busy = Contention(busy=2.0, seconds=20.0, cpus=64, machines=1, spans=6)
    one = together([quiet] * 63 + [busy])
    assert one is not None and one.machines == 64 and not one.noticeable
    all_of_them = together([busy] * 4 + [None])
    assert all_of_them is not None and all_of_them.noticeable and all_of_them.cpus == 256
    assert together([None]) is None
