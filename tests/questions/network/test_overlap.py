"""Overlap and message rates in the network's answer, with planted shares and rates."""

from __future__ import annotations

import json
from dataclasses import replace

import msgspec
import pytest

from asking import reply_to
from assay.charts.drawing import svg
from assay.kernels.nonblocking.overlap import hidden_share, hidden_share_osu
from assay.launch.fake.scenario import Behaviour, NoiseModel, Scenario
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.questions.common.findings import findings_json
from assay.questions.common.question import Measured
from assay.questions.network.overlap.topic import TOPIC as OVERLAP
from assay.questions.network.rates.topic import TOPIC as RATES
from assay.records.model import Measurement
from assay.stats.cells.summarise import summarise_cells
from assay.stats.core.model import CellSummary
from fake_launches import entry, order, run
from report_builder import make_failure, make_metric, make_run

MIB = 1 << 20


def overlap(
    op: str, size: int, hidden: float, tested: float, *, pure: float = 1e-3, **more
) -> CellSummary:
    """Equal communication and computation, of which both together hide these shares."""
    placement = Placement(**{"nodes": 2, "ppn": 2} | more)
    times = {
        "communication": pure,
        "computation": pure,
        "overlapped": pure * (2 - hidden),
        "tested": pure * (2 - tested),
    }
    metrics = {name: make_metric(value, "s", better="less") for name, value in times.items()}
    metrics |= {
        name: make_metric(value, "1") for name, value in
        (("overlap", hidden), ("overlap_tested", tested))
    }  # fmt: skip
    parameters = {"op": op, "bytes": size, "interval": 1e-5}
    cell = Cell("network.overlap", parameters, placement, "embedded")
    return CellSummary(
        cell.kernel, cell.id, cell, "ok", True, dict(parameters), metrics, caveats=[], error=None
    )


def rate(messages: float, pairs: int, *, threads: int = 1, size: int = 8, **more) -> CellSummary:
    placement = Placement(**{"nodes": 2, "ppn": 4, "threads": threads} | more)
    parameters = {"bytes": size, "pairs": pairs, "window": 64}
    cell = Cell("network.rate", parameters, placement, "embedded")
    metrics = {"rate": make_metric(messages, "op/s")}
    return CellSummary(
        cell.kernel, cell.id, cell, "ok", True, dict(parameters), metrics, caveats=[], error=None
    )


def found_in(topic, cells):
    return topic.find(Measured(make_run(cells), cells))


def part_of(topic, cells):
    found = found_in(topic, cells)
    return None if found is None else topic.part(found)


def test_both_definitions_of_the_hidden_share():
    # Computation twice as long as communication, half of which is hidden.
    assert hidden_share(1.0, 2.0, 2.5) == pytest.approx(0.25)
    assert hidden_share_osu(1.0, 2.0, 2.5) == pytest.approx(0.5)
    assert hidden_share(1.0, 1.0, 2.5) == hidden_share_osu(1.0, 1.0, 2.5) == 0.0
    assert hidden_share(1.0, 1.0, 0.5) == 1.0


def test_nothing_measured_is_no_part():
    failed = make_failure(overlap("exchange", 8, 0.5, 0.5).cell)
    wrong = make_failure(rate(1e6, 1).cell, wrong=True)
    for topic in (OVERLAP, RATES):
        assert part_of(topic, []) is None
        assert part_of(topic, [failed, wrong]) is None


def test_the_hidden_share_of_the_largest_size_is_evidence():
    cells = [overlap("exchange", size, 0.3, 0.9) for size in (8, MIB)]
    cells.append(overlap("ibarrier", 0, 0.2, 0.2))
    part = part_of(OVERLAP, cells)
    assert [row.label for row in part.evidence] == [
        "Exchange of 1 MiB: hidden by computation",
        "Ibarrier: hidden by computation",
    ]
    first = part.evidence[0]
    assert (first.value, first.limit, first.share) == (0.3, 1.0, pytest.approx(0.3))
    assert "with calls of MPI_Test" in first.note
    assert part.remark.startswith("computation hides 30")
    assert "of an exchange of 1 MiB" in part.remark
    assert part.headline[0].summary.id == cells[1].id


def test_a_library_that_progresses_in_its_calls_is_advised_to_be_called():
    cells = [overlap("exchange", MIB, 0.05, 0.95), overlap("iallreduce", 8, 0.05, 0.06)]
    found = found_in(OVERLAP, cells)
    exchange, reduction = found.cases
    assert exchange.calls_help and exchange.gain.value == pytest.approx(1.95 / 1.05)
    assert not reduction.calls_help and reduction.progress == "little"
    called, little = OVERLAP.part(found).advice
    assert "progresses exchange of 1 MiB only within its own calls" in called
    assert "1.86" in called and "10.0 µs from call to call" in called
    assert "less than a tenth of iallreduce of 8 B" in little


def test_a_library_that_progresses_by_itself_needs_no_calls():
    (advice,) = part_of(OVERLAP, [overlap("ialltoall", MIB, 0.9, 0.91)]).advice
    assert advice.startswith("Start ialltoall of 1 MiB early") and "without further calls" in advice


def test_nothing_is_advised_if_intervals_leave_it_open():
    assert part_of(OVERLAP, [overlap("exchange", MIB, 0.5, 0.502)]).advice == []


def test_figures_and_the_table_of_overlap():
    cells = [
        overlap(op, size, share, share + 0.1)
        for op, share in (("exchange", 0.2), ("iallreduce", 0.5))
        for size in (8, MIB)
    ]
    found = found_in(OVERLAP, [*cells, overlap("ibarrier", 0, 0.2, 0.2)])
    plain, calls = OVERLAP.figures(found)
    assert [row["median"] for row in plain.rows] == [0.2, 0.2, 0.5, 0.5]
    assert [row["median"] for row in calls.rows] == pytest.approx([0.3, 0.3, 0.6, 0.6])
    for figure in (plain, calls):
        svg(figure)
    (table,) = OVERLAP.tables(found)
    names = [column.name for column in table.columns]
    osu = [row[names.index("osu")].value for row in table.rows]
    assert osu == pytest.approx([0.2, 0.2, 0.2, 0.5, 0.5])
    json.dumps(findings_json(found))
    # A single size makes no curve.
    assert OVERLAP.figures(found_in(OVERLAP, [cells[0], cells[2]])) == []


def fake_launches(folder, machine, cell, launches=6):
    """What that many launches of a cell wrote on the fake machine."""
    found = []
    for k in range(launches):
        one = entry(f"{cell.id}-{k}", kernel=cell.kernel, parameters=dict(cell.parameters),
                    max_samples=8)  # fmt: skip
        work = order(folder, one, placement=cell.placement, launch=one.measurement)
        work = replace(work, job=msgspec.structs.replace(work.job, seed=k))
        _, stream = run(machine, work)
        (record,) = stream.measurements
        found.append(Measurement(cell, k, f"l{k}", 1e9, record, None, tuple(stream.ranks)))
    return found


def test_planted_overlap_and_rates_are_answered(tmp_path):
    """On the fake executor: 20% hidden without calls, 96% with them; 4 pairs reach 3 times one."""
    times = {"communication": 0.25, "computation": 0.25, "overlapped": 0.45, "tested": 0.26}
    noise = NoiseModel(sigma=0.002, launch_sigma=0.002)
    machine = Scenario(
        kernel=(
            Behaviour(match="network.overlap", time=1e-3, phases=times, noise=noise),
            Behaviour(match="network.rate", time="1e-6 * (1 + pairs // 4 / 3)", noise=noise),
        )
    )
    cells = [overlap("exchange", MIB, 0, 0, nodes=1).cell]
    cells += [rate(1.0, pairs, nodes=1, ppn=8).cell for pairs in (1, 4)]
    measurements = [m for cell in cells for m in fake_launches(tmp_path, machine, cell)]
    given = make_run([], measurements=measurements)
    reply = reply_to("network", summarise_cells(given), given)
    (case,) = reply.findings.overlap.cases
    assert case.hidden.metric.median == pytest.approx(0.2)
    assert case.hidden_with_calls.metric.median == pytest.approx(0.96)
    assert case.osu == pytest.approx(0.2, abs=0.01) and case.calls_help
    (curve,) = reply.findings.rates.curves
    assert curve.growth.value == pytest.approx(3.0, rel=0.02)
    assert "computation hides 20" in reply.answer.verdict
    assert "4 ranks of a node send" in reply.answer.verdict
    assert any("only within its own calls" in each for each in reply.answer.advice)
    assert "overlap-times" in {table.id for table in reply.question.tables(reply.findings)}


def test_rates_of_ranks_are_against_perfect_scaling():
    cells = [rate(1e6, 1), rate(1.9e6, 2), rate(3e6, 4), rate(5e5, 1, size=1024)]
    part = part_of(RATES, cells)
    row = part.evidence[0]
    assert row.label == "Messages of 8 B from 4 ranks, between nodes"
    assert (row.value, row.limit, row.share) == (3e6, pytest.approx(4e6), pytest.approx(0.75))
    assert part.evidence[1].limit is None  # one number of senders
    assert "4 ranks of a node send" in part.remark and "the rate of 1 rank" in part.remark
    (figure,) = RATES.figures(found_in(RATES, cells))
    assert [row["senders"] for row in figure.rows] == [1, 2, 4]
    svg(figure)


@pytest.mark.parametrize(("of_threads", "advised"), [(1e6, True), (3e6, False), (9e6, False)])
def test_threads_are_compared_with_as_many_ranks(of_threads: float, advised: bool):
    cells = [rate(1e6, 1), rate(3e6, 4), rate(of_threads, 1, threads=4, ppn=1)]
    found = found_in(RATES, cells)
    (against,) = found.threads
    assert against.senders == 4 and against.rates.value == pytest.approx(of_threads / 3e6)
    part = RATES.part(found)
    assert part.evidence[-1].label == "Messages of 8 B: 4 threads against 4 ranks"
    assert any("let one thread of each rank communicate" in each for each in part.advice) == advised
    json.dumps(findings_json(found))
