"""Causes in the answer: named with share and advice, with the rest; their figures and tables."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.charts.drawing import svg
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.questions.common.parts import Part
from assay.questions.steadiness.causes.accounting import accounting_of
from assay.questions.steadiness.causes.answer import part as part_of
from assay.questions.steadiness.causes.figures import figures as figures_of
from assay.questions.steadiness.causes.findings import find as causes_of
from assay.questions.steadiness.causes.periodic import periodic_deviation
from assay.questions.steadiness.causes.tables import tables as tables_of
from assay.records.jobs import JobAccounting, JobBook, JobEnd, JobEvent
from assay.records.model import RunData
from assay.stats.repeats.repeats import Repeats
from clocked_runs import clocked, migrated
from repeats_builder import make_repeats, planted
from report_builder import make_run

RUN: RunData = make_run([])


def causes_part(repeats: list[Repeats], run: RunData) -> Part | None:
    found = causes_of(repeats, run)
    return None if found is None else part_of(found)


def of_kernel(repeats: Repeats, kernel: str, nodes: int = 1) -> Repeats:
    cell = Cell(kernel, {"class": "A"}, Placement(nodes=nodes, ppn=4), "embedded")
    return replace(repeats, cell=cell)


def test_the_verdict_names_cause_share_and_rest() -> None:
    lu = of_kernel(planted(150, 1, steal_seconds=0.6, memory_available=0.25), "npb.lu")
    ep = of_kernel(planted(150, 2), "npb.ep")
    part = causes_part([ep, lu], RUN)
    first, second, rest = part.remark.split("; ")
    assert "of LU's variance is associated with steal time: the hypervisor gave" in first
    assert second.endswith("with a shortage or heavy use of memory")
    assert rest.endswith("unexplained") and "EP" not in part.remark
    assert [row.metric for row in part.evidence] == ["share of variance"] * 3
    shares = [row.value for row in part.evidence]
    assert sum(shares) == pytest.approx(1.0) and shares[0] > shares[1]
    assert all(
        row.cells == [lu.cell.id] and row.ci95[0] <= row.value <= row.ci95[1]
        for row in part.evidence
    )
    assert part.advice[0].startswith("Steal time (LU): Move to a dedicated host")
    assert part.advice[1].startswith("A shortage or heavy use of memory (LU):")


def test_a_run_without_causes_says_so() -> None:
    part = causes_part([of_kernel(planted(60, 3), "npb.ft", nodes=2)], RUN)
    assert "distinguishably associated with the variance of 1 cell" in part.remark
    assert "so all of it counts as unexplained" in part.remark
    assert part.evidence == [] and part.advice == []
    assert any("the network between the nodes" in sentence for sentence in part.limits)


def test_too_few_are_no_part_and_are_counted() -> None:
    few = of_kernel(planted(19, 4, steal_seconds=0.95), "npb.ep")
    assert causes_part([few], RUN) is None
    part = causes_part([few, of_kernel(planted(60, 5, steal_seconds=0.8), "npb.lu")], RUN)
    assert any("1 cell had fewer than 20 measurements" in sentence for sentence in part.limits)


def test_ranks_kept_from_running_are_reported_as_for_the_t3e() -> None:
    wall, cpu = migrated(118, 6)
    part = causes_part([of_kernel(clocked(wall, cpu), "npb.ep")], RUN)
    assert "EP's wall time varies by" in part.remark
    assert "the ranks were descheduled, as on the Cray T3E during migration" in part.remark
    causes = causes_of([of_kernel(clocked(wall, cpu), "npb.ep")], RUN)
    shares, clocks = tables_of(causes)
    assert clocks.rows[0][4].text == "the ranks were descheduled"
    t3e = [[entry.value for entry in row[1:3]] for row in clocks.rows[1:]]
    assert t3e == [[0.0611, 0.008], [0.1558, 0.006], [0.1133, 0.0093]]
    assert shares.rows[-1][2].text == "unexplained"


@pytest.mark.long
def test_more_cells_are_tried_more_strictly() -> None:
    """A cause that holds in a cell alone need not hold among hundreds."""
    weak = next(
        repeats
        for seed in range(50)
        if (repeats := of_kernel(planted(40, seed, steal_seconds=0.35), "npb.lu"))
        and 2e-4 < (causes_of([repeats], RUN).cells[0].attribution.shares or [NONE])[0].p < 1e-2
    )
    clean = [of_kernel(planted(40, 100 + i), "npb.ep") for i in range(400)]
    assert causes_of([weak], RUN).cells[0].named
    assert not causes_of([weak, *clean], RUN).cells[0].named


class NONE:
    p = 1.0


def test_periodic_interruptions_explain_this_share() -> None:
    """Against brute force: work that begins at a random moment meets this many interruptions."""
    random = np.random.default_rng(7)
    for duration, period in ((0.3, 1.0), (2.7, 1.0), (10.5, 1.0), (4.0, 1.0)):
        begins = random.random(200_000) * period
        met = np.floor((begins + duration) / period) - np.floor(begins / period)
        assert periodic_deviation(2e-3, period, duration) == pytest.approx(
            2e-3 * met.std(), abs=2e-5
        )
    assert periodic_deviation(1.0, 1.0, 0.5) == 0.5


@pytest.mark.parametrize("n", [100, 10_000])
def test_figures_draw_and_stay_small(n: int) -> None:
    lu = of_kernel(planted(n, 8, worst_wait_seconds=0.5, memory_available=0.2), "npb.lu")
    ep = of_kernel(planted(n, 9), "npb.ep")
    causes = causes_of([lu, ep], RUN)
    shares, against = figures_of(causes)
    assert shares.id == "causes-shares" and against.id == "causes-against-1"
    for cell in ("LU", "EP"):
        parts = [row for row in shares.rows if row["cell"] == cell]
        assert sum(row["share"] for row in parts) == pytest.approx(1.0)
        assert parts[-1]["cause"] == "unexplained"
        for before, after in itertools.pairwise(parts):
            assert after["start"] == pytest.approx(before["end"])
    if n > 1500:
        assert len(against.rows) < 2400 and sum(row["count"] for row in against.rows) == n
    else:
        assert len(against.rows) == n
    for figure in (shares, against):
        assert {field.name for field in figure.fields} == set(figure.rows[0])
        assert "<svg" in svg(figure, "light")
        json.dumps(figure.rows, allow_nan=False)


def test_no_figure_where_nothing_is_named() -> None:
    causes = causes_of([make_repeats(np.exp(np.sin(np.arange(40.0) ** 2)), {})], RUN)
    assert figures_of(causes) == []
    assert math.isclose(causes.cells[0].attribution.unexplained, 1.0)


def jobs_that(tmp_path: Path, suspended: bool, short: int = 0, **ends: str) -> RunData:
    """A run of jobs that computed for about 100 s each, some delayed by up to 60 s."""
    random = np.random.default_rng(10)
    book = JobBook(tmp_path)
    book.folder.mkdir()
    for number in range(1, 13):
        cpu = 100.0 + 0.3 * random.normal()
        held = 60.0 * random.random() if number % 3 == 0 else 2.0 * random.random()
        book.append(JobEvent("submitted", number, 1000.0 * number, f"7{number}"))
        book.append(JobEvent("started", number, 1000.0 * number + 5.0))
        end = 1000.0 * number + 5.0 + cpu + held
        how = ends.get(f"job{number}", "session")
        made = 20 if number == short else 40
        book.write_end(JobEnd(number=number, utc=end, how=how, made=made, missing=[]))
        book.account(
            number,
            JobAccounting(
                "sacct", elapsed=cpu + (0.0 if suspended else held), cpu=None if suspended else cpu,
                suspended=held if suspended else 0.0,
            ),
        )  # fmt: skip
    return replace(RUN, path=tmp_path)


@pytest.mark.parametrize("suspended", [True, False])
def test_jobs_by_their_accounting(tmp_path: Path, suspended: bool) -> None:
    run = jobs_that(tmp_path, suspended)
    found = accounting_of(run)
    assert found.clocks.n == 12 and found.clocks.verdict == "kept from running"
    assert found.clocks.cpu < 0.01 < 0.1 < found.clocks.wall
    assert found.what == ("time without suspension" if suspended else "CPU time")
    causes = causes_of([of_kernel(planted(30, 11), "npb.ep")], run)
    row = tables_of(causes)[1].rows[0]
    assert row[0].text == f"whole jobs, {found.what} by sacct"
    assert row[4].text == "the ranks were descheduled" and row[3].text == ""
    assert "the jobs were descheduled or suspended" in part_of(causes).remark


def test_incomplete_jobs_are_left_out(tmp_path: Path) -> None:
    few, all_but_one = tmp_path / "few", tmp_path / "all"
    few.mkdir()
    all_but_one.mkdir()
    ends = {f"job{number}": "time" for number in range(1, 8)}
    assert accounting_of(jobs_that(few, False, **ends)) is None
    assert accounting_of(jobs_that(all_but_one, False, short=4)).clocks.n == 11
    assert accounting_of(RUN) is None
