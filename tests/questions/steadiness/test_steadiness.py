"""The steadiness answer and its figures, from runs whose noise is planted."""

from __future__ import annotations

import re
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from asking import answer_all, figures_of, reply_to
from assay.charts.drawing import svg
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.questions.common.answer import Answer
from assay.questions.common.question import Measured
from assay.questions.steadiness.arrivals.findings import ArrivalFindings
from assay.questions.steadiness.arrivals.findings import find as find_arrivals
from assay.questions.steadiness.noise.findings import NoiseFindings
from assay.questions.steadiness.noise.findings import find as find_noise
from assay.records.schema import RankRecord, SampleSeries
from assay.stats.cells.summarise import summarise_cells
from noise_traces import interrupted_quanta, lost_to_pulses
from report_builder import make_cell, make_failure, make_measurement, make_run

COUNT, STEP = 8000, 1e-4
PERIOD, LENGTH = 4e-3, 20e-6  # planted on rank 1: 0.5% of its time
PIECES = 1000


def ranks(number):
    return tuple(RankRecord(r, "box", 10 + r, r, [r + 4], 0, True, False) for r in range(number))


def planted(cell, replicate, series, facts):
    measurement = make_measurement(cell, [0.9 + 0.01 * replicate], replicate)
    record = measurement.record
    record = msgspec.structs.replace(record, series=[*record.series, *series], facts=facts)
    return replace(measurement, record=record, ranks=ranks(cell.placement.ranks))


def jitter(rng):
    return np.abs(rng.normal(0.0, 2e-8, COUNT))


def fwq(replicate):
    """Rank 0 is quiet; rank 1 loses LENGTH every PERIOD, and 3 ms once."""
    rng = np.random.default_rng(replicate)
    cell = make_cell("noise.fwq", ppn=2, quantum=STEP, count=COUNT)
    traces = [
        STEP + jitter(rng),
        interrupted_quanta(rng, COUNT, 2e-8, PERIOD, LENGTH, once=4321),
    ]
    noise = [float(t.mean() / t.min() - 1) for t in traces]
    worst = [float(t.max() - t.min()) for t in traces]
    series = [
        SampleSeries("noise", "1", None, None, [], [float(np.mean(noise))]),
        SampleSeries("detour", "s", None, None, [], [max(worst)]),
        *(SampleSeries("quantum", "s", r, None, [], t.tolist()) for r, t in enumerate(traces)),
    ]
    return planted(cell, replicate, series, {})


def ftq(replicate):
    rng = np.random.default_rng(50 + replicate)
    cell = make_cell("noise.ftq", ppn=2, interval=STEP, count=COUNT)
    lost = [jitter(rng), jitter(rng) + lost_to_pulses(COUNT, PERIOD, LENGTH, 1e-3)]
    pieces = [np.floor(PIECES * (1 - each / STEP)) for each in lost]
    noise = [float(1 - p.mean() / p.max()) for p in pieces]
    series = [
        SampleSeries("noise", "1", None, None, [], [float(np.mean(noise))]),
        SampleSeries("detour", "s", None, None, [], [LENGTH]),
        *(SampleSeries("pieces", "", r, None, [], p.tolist()) for r, p in enumerate(pieces)),
    ]
    return planted(cell, replicate, series, {})


def barrier(replicate, last=(0.1, 0.2, 0.7), clocks="one clock"):
    cell = make_cell("noise.barrier", ppn=len(last), quantum=STEP, count=1000)
    scale = 1.0 + 0.01 * replicate
    series = [
        SampleSeries("lost", "1", None, None, [], [0.02 * scale]),
        SampleSeries("spread", "s", None, None, [], [3e-6 * scale]),
        SampleSeries("barrier", "s", None, None, [], [1e-6 * scale]),
    ]
    for rank, share in enumerate(last):
        levels = [scale * rank * k * 1e-6 for k in range(8)]
        series += [
            SampleSeries("last", "1", rank, None, [], [share]),
            SampleSeries("lateness", "s", rank, None, [], levels),
            SampleSeries("latest", "s", rank, None, [], [1e-3 * (rank + replicate), 1e-4]),
        ]
    return planted(cell, replicate, series, {"clocks": clocks})


def run_of(*makers, launches=6):
    measurements = [make(replicate) for make in makers for replicate in range(launches)]
    cells = {m.cell.id: m.cell for m in measurements}
    run = make_run([], measurements=measurements)
    plan = msgspec.structs.replace(run.manifest.plan, cells=tuple(cells.values()))
    run = replace(run, manifest=msgspec.structs.replace(run.manifest, plan=plan))
    return summarise_cells(run), run


@pytest.fixture(scope="module")
def whole():
    return run_of(fwq, ftq, barrier)


def answer_of(cells, run) -> Answer:
    return reply_to("steadiness", cells, run).answer


def noise_of(cells, run) -> NoiseFindings:
    return find_noise(Measured(run, cells))


def arrivals_of(cells, run) -> ArrivalFindings:
    return find_arrivals(Measured(run, cells))


def rows(answer):
    return {row.label: row for row in answer.evidence}


def test_the_verdict_names_what_was_planted(whole):
    answer = answer_of(*whole)
    assert answer.status == "answered"
    assert "noise lengthens work on 2 ranks by" in answer.verdict.lower()
    # On average of both ranks: half of 20 us in 4 ms, 3 ms in 0.8 s, and the jitter.
    share = 0.5 * (LENGTH / PERIOD + 3e-3 / (COUNT * STEP)) + 1.6e-8 / STEP
    measured = next(c for c in whole[0] if c.kernel == "noise.fwq").metrics["noise"].median
    assert measured == pytest.approx(share, rel=0.03)
    assert "periodic losses: every 4.00 ms (250 Hz)" in answer.verdict
    # The planted 3 ms, and perhaps a periodic loss within.
    assert re.search(r"the longest interruption took 3\.0[02] ms", answer.verdict)
    assert (
        ". Rank 2 (CPU 6) arrives last at 70.0% [equal to 9 digits] of the barriers"
        in answer.verdict
    )
    assert "waiting for the last rank takes 2.05% of a step of 100 µs" in answer.verdict
    assert any("days" in sentence for sentence in answer.limits)


def test_the_period_is_reported_with_its_rank_and_length(whole):
    noise = noise_of(*whole)
    (component,) = noise.components
    assert component.periodic.period == pytest.approx(PERIOD, rel=0.01)
    assert component.periodic.length == pytest.approx(LENGTH, rel=0.1)
    assert component.ranks == (1,)
    assert component.where == "rank 1 (CPU 5)"


def test_fixed_work_alone_gives_the_period_too():
    (component,) = noise_of(*run_of(fwq)).components
    assert component.periodic.period == pytest.approx(PERIOD, rel=0.01)
    assert component.periodic.length == pytest.approx(LENGTH, rel=0.1)


def test_without_periods_the_verdict_says_so():
    def quiet(replicate):
        measurement = fwq(replicate)
        rng = np.random.default_rng(replicate)
        series = [
            msgspec.structs.replace(each, values=(STEP + jitter(rng)).tolist())
            if each.metric == "quantum"
            else each
            for each in measurement.record.series
        ]
        record = msgspec.structs.replace(measurement.record, series=series)
        return replace(measurement, record=record)

    answer = answer_of(*run_of(quiet))
    assert "none of it is periodic" in answer.verdict


def test_a_synchronised_code_loses_the_maximum_over_the_ranks(whole):
    row = rows(answer_of(*whole))["Slowdown of a code that synchronises every 1.00 ms"]
    # A quarter of the steps of ten quanta contain a periodic loss on rank 1, none on rank 0; ranks
    # are drawn from both: an eighth of all, so one of two has it with 1 - (7/8)^2. The loss of 3 ms
    # is in one step of 1600. Jitter adds 10 times 16 ns and somewhat more.
    expected = (1 - (7 / 8) ** 2) * LENGTH + (1 - (1599 / 1600) ** 2) * 3e-3 + 2e-7
    assert row.value == pytest.approx(expected / 1e-3, rel=0.05)


def test_lateness_is_averaged_over_launches(whole):
    arrivals = arrivals_of(*whole)
    assert [each.last for each in arrivals.ranks] == pytest.approx([0.1, 0.2, 0.7])
    assert arrivals.ranks[2].worst == pytest.approx(7e-3)  # of the last launch
    assert arrivals.ranks[1].level(0.5) == pytest.approx(3e-6 * 1.025)
    row = rows(answer_of(*whole))["Barriers that rank 2 (CPU 6) reaches last"]
    assert (row.value, row.limit) == pytest.approx((0.7, 1 / 3))


def test_no_rank_is_named_if_all_are_equal():
    def alike(replicate):
        return barrier(replicate, last=(0.35, 0.33, 0.32))

    answer = answer_of(*run_of(alike))
    assert answer.verdict.startswith(
        "The ranks are not distinguishable in how often they arrive last"
    )
    assert not any("delays the others" in sentence for sentence in answer.advice)


def test_separate_clocks_are_reported():
    def apart(replicate):
        return barrier(replicate, clocks="waits")

    assert any("computed from each rank's wait" in m for m in answer_of(*run_of(apart)).method)
    assert any("one clock of the node" in m for m in answer_of(*run_of(barrier)).method)


def test_periods_too_fast_for_coarse_traces_are_not_reported_twice():
    """A period of 0.7 ms is aliased to 2.33 ms in intervals of 1 ms."""

    def make(step):
        def of(replicate):
            rng = np.random.default_rng(replicate)
            cell = make_cell("noise.ftq", ppn=1, interval=step, count=COUNT)
            lost = np.abs(rng.normal(0, 2e-8, COUNT))
            lost += lost_to_pulses(COUNT, 0.7e-3, 2e-5, 1e-4, step)
            pieces = np.floor(1e5 * (1 - lost / step))
            series = [
                SampleSeries("noise", "1", None, None, [], [0.03]),
                SampleSeries("pieces", "", 0, None, [], pieces.tolist()),
            ]
            return planted(cell, replicate, series, {})

        return of

    alone = noise_of(*run_of(make(1e-3), launches=1)).components
    assert [c.periodic.period for c in alone] == pytest.approx([7e-3 / 3], rel=1e-2)
    both = noise_of(*run_of(make(1e-4), make(1e-3), launches=1)).components
    assert [c.periodic.period for c in both] == pytest.approx([0.7e-3], rel=1e-3)


def test_the_largest_number_of_ranks_counts():
    def alone(replicate):
        measurement = fwq(replicate)
        cell = Cell("noise.fwq", measurement.cell.parameters, Placement(ppn=1), "embedded")
        return replace(measurement, cell=cell)

    noise = noise_of(*run_of(alone, fwq, launches=1))
    assert noise.headline.summary.cell.placement.ranks == 2


def test_a_run_without_noise_is_unmeasured_and_a_failed_one_says_so():
    cells = [make_failure(make_cell("noise.fwq", ppn=2), error="it broke")]
    answer = answer_of(cells, make_run(cells))
    assert answer.status == "unmeasured" and "failed" in answer.verdict
    assert any("it broke" in caveat for caveat in answer.caveats)
    plain = answer_of([], make_run([]))
    assert plain.status == "unmeasured" and "this run has no results whose" in plain.verdict
    (listed,) = [a for a in answer_all(make_run([]), []) if a.question == "steadiness"]
    assert listed == plain


def test_figures_show_what_was_planted(whole):
    figures = {figure.id: figure for figure in figures_of("steadiness", *whole)}
    assert set(figures) == {"noise-trace", "noise-spectrum", "noise-detours", "noise-lateness"}
    named = [row["name"] for row in figures["noise-spectrum"].rows if row["name"]]
    assert len(named) == 1 and named[0].startswith("4.00 ms: ")
    detour_rows = figures["noise-detours"].rows
    planted_length = max(detour_rows, key=lambda row: row["count"])
    assert planted_length["low"] < LENGTH * 1.01 and planted_length["high"] > LENGTH * 0.8
    assert sum(row["rate"] for row in detour_rows) == pytest.approx(1 / PERIOD, rel=0.02)
    lateness = figures["noise-lateness"].rows
    assert [row["last"] for row in lateness] == pytest.approx([0.1, 0.2, 0.7])
    for figure in figures.values():
        fields = {field.name for field in figure.fields}
        assert all(set(row) == fields for row in figure.rows)
        assert len(figure.rows) <= 1200
        assert svg(figure).startswith("<svg")


def test_no_traces_no_figures_of_them():
    assert [f.id for f in figures_of("steadiness", *run_of(barrier))] == ["noise-lateness"]
    assert figures_of("steadiness", [], make_run([])) == []
