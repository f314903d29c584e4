"""Causes of a placement's time: answers, tables and figures on planted phases."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import msgspec
import pytest

from asking import reply_to
from assay.charts.drawing import csv_text, svg
from assay.kernels import find_kernel
from assay.kernels.catalogue import is_phase
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.model.plan import Search
from assay.models.placement.components import IMBALANCE
from assay.questions.common.answer import Answer
from assay.questions.common.parts import Part
from assay.questions.common.question import Measured
from assay.questions.placement.causes.answer import cause_clause, part
from assay.questions.placement.causes.breakdown import find_breakdowns
from assay.questions.placement.causes.cpu_time import PARTS, cpu_time_shares
from assay.questions.placement.causes.figures import figures
from assay.questions.placement.causes.findings import CausesFindings, find
from assay.questions.placement.causes.node_model import node_model_of
from assay.questions.placement.causes.phases import demand_of
from assay.questions.placement.causes.tables import tables
from assay.records.model import Measurement, RunData
from assay.records.schema import SampleSeries
from assay.report import build_report
from assay.stats.cells.summarise import summarise_cells
from phase_runs import SPREAD, Phases, run_of
from report_builder import make_measurement, make_run


def found_in(run: RunData, history: Sequence[RunData] = ()) -> CausesFindings:
    return find(Measured(run, summarise_cells(run), history))


def causes(run: RunData, history: Sequence[RunData] = ()) -> Part:
    return part(found_in(run, history))


def answered(run: RunData) -> Answer:
    return reply_to("placement", summarise_cells(run), run).answer


def npb(kernel: str, nodes: int = 1, ppn: int = 1, size: str = "B") -> Cell:
    return Cell(kernel, {"class": size}, Placement(nodes, ppn), "embedded")


# Memory has the bandwidth of two cores.
STREAMS = {1: 20e9, 2: 31e9, 4: 32e9}


def cg(ppn: int, compute: float, waiting: float = 0.0) -> tuple[Cell, Phases]:
    spread = {"least_compute": compute, "most_compute": compute} if ppn > 1 else {}
    return npb("npb.cg", 1, ppn), {
        "compute": compute,
        **({"allgatherv": waiting} if waiting else {}),
        **spread,
    }


def traffic(ppn: int, kernel: str = "npb.cg") -> float:
    return demand_of(npb(kernel, 1, ppn)).traffic or 0.0


def saturated() -> RunData:
    """CG, whose traffic fills 92% of the bandwidth with 4 ranks, and hardly less with 2."""
    four = traffic(4) / (0.92 * STREAMS[4])
    return run_of(
        [cg(1, 1.6 * four), cg(2, 1.032 * four, 0.05 * four), cg(4, four, 0.1 * four)], STREAMS
    )


def clause(run: RunData) -> str | None:
    (work,) = find_breakdowns(summarise_cells(run), run)
    return cause_clause(work)


def test_saturated_memory_is_named_with_its_share() -> None:
    assert clause(saturated()) == (
        "CG class B on 4 ranks runs at 0.984× [0.979, 0.988] its speed on 2 ranks: memory "
        "bandwidth is saturated at 92%"
    )


def test_the_sentence_is_in_the_verdict_and_its_numbers_in_the_evidence() -> None:
    run = saturated()
    answer = answered(run)
    assert "Why: CG class B on 4 ranks runs at 0.984× [0.979, 0.988] its" in answer.verdict
    rows = {row.label: row for row in answer.evidence}
    lost = rows["CG class B, time lost with 4 ranks per node on 1 node"]
    # 1.1 units instead of 1.6 / 4.
    assert lost.value == pytest.approx(1 - 1.6 / 4 / 1.1, abs=0.002)
    assert lost.ci95 is not None and lost.ci95[0] < lost.value < lost.ci95[1]
    assert "memory contention" in lost.note and "92% of STREAM's best" in lost.note
    assert any("bootstrap" in line for line in answer.method)
    assert not any("Why" in line and "was not measured" in line for line in answer.limits)


def test_without_a_curve_memory_is_not_named() -> None:
    run = saturated()
    bare = [m for m in run.measurements if m.cell.kernel != "memory.stream"]
    run = dataclasses.replace(run, measurements=tuple(bare))
    result = causes(run)
    assert result.remark == "Why: CG class B: unclear."
    assert any("saturation curve" in line for line in result.limits)


def test_a_curve_of_an_earlier_run_suffices() -> None:
    run = saturated()
    bare = [m for m in run.measurements if m.cell.kernel != "memory.stream"]
    only = [m for m in run.measurements if m.cell.kernel == "memory.stream"]
    earlier = make_run([], measurements=only, launches=[], name="20260314T083012Z-box-memory")
    plan = msgspec.structs.replace(
        earlier.manifest.plan, cells=tuple({m.cell.id: m.cell for m in only}.values())
    )
    earlier = dataclasses.replace(
        earlier, manifest=msgspec.structs.replace(earlier.manifest, plan=plan)
    )
    run = dataclasses.replace(run, measurements=tuple(bare))
    assert node_model_of(summarise_cells(run), run, [earlier]).streams == pytest.approx(
        STREAMS, rel=0.01
    )
    assert "saturated at 92%" in causes(run, [earlier]).remark


def test_records_without_the_imbalance_say_so() -> None:
    bare = run_of([cg(1, 4.0), (cg(4, 2.0)[0], {"compute": 2.0, "allgatherv": 1.0})], STREAMS)
    (work,) = find_breakdowns(summarise_cells(bare), bare)
    assert work.plain[1].split.component(IMBALANCE).value == 0.0
    assert any("computing time of the slowest rank" in line for line in causes(bare).limits)
    result = run_of([cg(1, 4.0), cg(4, 2.0, 1.0)], STREAMS)
    assert not any("computing time of the slowest rank" in line for line in causes(result).limits)


def test_ranks_that_share_cores_give_no_result_on_memory() -> None:
    run = saturated()
    crowded = [
        dataclasses.replace(
            m, ranks=tuple(msgspec.structs.replace(rank, oversubscribed=True) for rank in m.ranks)
        )
        for m in run.measurements
    ]
    assert clause(dataclasses.replace(run, measurements=tuple(crowded))) is None


def test_messages_within_the_node_and_uneven_ranks() -> None:
    messages = run_of([cg(1, 4.0), cg(2, 2.0, 1.0), cg(4, 1.0, 1.5)], STREAMS)
    assert str(clause(messages)).startswith("CG class B loses")
    assert str(clause(messages)).endswith("messages within the node")
    uneven = run_of(
        [
            cg(1, 4.0),
            (npb("npb.cg", 1, 4), {
                "compute": 1.0, "allgatherv": 0.9, "least_compute": 0.4, "most_compute": 1.8,
            }),
        ],
        STREAMS,
    )  # fmt: skip
    assert "ranks wait for the rank that computes most" in str(clause(uneven))


def test_the_shared_adapter_of_several_nodes() -> None:
    """MG on 2 nodes: messages take as long with 4 ranks per node as with one."""
    works = [
        (npb("npb.mg", 2, ppn), {
            "compute": 4.0 / ppn, "halo": 0.4,
            "least_compute": 4.0 / ppn, "most_compute": 4.0 / ppn,
        })
        for ppn in (1, 2, 4)
    ]  # fmt: skip
    bare = run_of(works, STREAMS)
    assert str(clause(bare)).endswith("messages, within nodes and between them")
    # With what ping-pong says of both, it is the adapter.
    pingpong = [
        make_measurement(
            Cell("network.pingpong", {"bytes": size}, Placement(nodes, 3 - nodes), "embedded"),
            [(1e-6 + size / rate) * SPREAD[replicate]],
            replicate,
        )
        for nodes, rate in ((1, 1e10), (2, 1e8))
        for size in (8, 1 << 10, 1 << 14, 1 << 18, 1 << 22)
        for replicate in range(len(SPREAD))
    ]
    found = str(clause(run_of(works, STREAMS, pingpong)))
    assert found.startswith("MG class B loses 2")
    assert found.endswith("messages over the adapter that a node's ranks share")


def test_waiting_is_not_called_messages_if_ping_pong_is_fast() -> None:
    sent = demand_of(npb("npb.cg", 1, 4))
    each, size = sent.messages / 4, sent.sent / sent.messages
    for rate, ending in ((20.0, "in a ping-pong"), (2.0, "messages within the node")):
        # Seconds of one message: all of them in a tenth of 2 s, or in all of it.
        seconds = 2.0 / each / rate
        pingpong = [
            make_measurement(
                Cell("network.pingpong", {"bytes": bytes_}, Placement(1, 2), "embedded"),
                [seconds * (0.5 + 0.5 * bytes_ / size) * SPREAD[replicate]],
                replicate,
            )
            for bytes_ in (8, 1 << 10, 1 << 14, 1 << 17, 1 << 20)
            for replicate in range(len(SPREAD))
        ]
        run = run_of([cg(1, 4.0), cg(4, 1.0, 2.0)], {1: 20e9, 4: 80e9}, pingpong)
        assert str(clause(run)).endswith(ending)


def test_work_that_scales_needs_no_cause_and_scatter_names_none() -> None:
    scales = run_of([(npb("npb.ep"), {"compute": 4.0}), (npb("npb.ep", 1, 4), {
        "compute": 1.02, "allreduce": 0.01, "least_compute": 1.01, "most_compute": 1.03})],
        STREAMS)  # fmt: skip
    assert causes(scales).remark == "Why: EP class B: close to perfect scaling."
    # EP moves nothing: whatever slows its computing down, memory did not.
    slowed = run_of([(npb("npb.ep"), {"compute": 4.0}), (npb("npb.ep", 1, 4), {
        "compute": 1.6, "allreduce": 0.01, "least_compute": 1.6, "most_compute": 1.6})],
        STREAMS)  # fmt: skip
    assert causes(slowed).remark == "Why: EP class B: unclear."
    few = run_of([cg(1, 4.0), cg(4, 2.0)], STREAMS)
    few = dataclasses.replace(
        few, measurements=tuple(m for m in few.measurements if m.replicate < 5)
    )
    result = "Why: CG class B: unclear, too few launches."
    assert causes(few).remark == result


def test_a_run_without_phases_says_that_the_cause_is_unknown() -> None:
    run = run_of([cg(1, 4.0), cg(4, 2.0)])
    bare = [
        dataclasses.replace(
            m, record=msgspec.structs.replace(m.record, series=list(m.record.series)[:1])
        )
        for m in run.measurements
    ]
    run = dataclasses.replace(run, measurements=tuple(bare))
    result = causes(run)
    assert result.remark == "" and result.evidence == []
    assert any("were not measured" in line for line in result.limits)
    assert "Why" not in answered(run).verdict


@pytest.mark.parametrize("nodes", [1, 2, 4])
@pytest.mark.parametrize("kernel", ["npb.cg", "npb.ep", "npb.mg", "npb.ft", "npb.lu", "npb.is"])
def test_demands_are_the_catalogues_and_shares_within_nodes_are_shares(
    kernel: str, nodes: int
) -> None:
    for ppn in (1, 2, 4):
        cell = npb(kernel, nodes, ppn, "S")
        demand = demand_of(cell)
        work = find_kernel(kernel).work({"class": "S"}, nodes * ppn, 1)
        assert (demand.flops, demand.traffic) == (work["flops"], work["traffic"])
        assert (demand.messages, demand.sent) == (work["messages"], work["sent"])
        if nodes == 1 or ppn == 1:
            assert demand.near == (1.0 if nodes == 1 and ppn > 1 else 0.0)
        else:
            assert 0.0 < demand.near < 1.0


def test_neighbours_share_nodes_as_ranks_are_ordered() -> None:
    """LU on 2 nodes of 2 ranks: a line of four blocks, three pairs of neighbours of equal size."""
    near = {"block": 2 / 3, "cyclic": 0.0, "0,2,3,1": 1 / 3}
    for order, share in near.items():
        cell = Cell("npb.lu", {"class": "A"}, Placement(2, 2, order=order), "embedded")
        assert demand_of(cell).near == pytest.approx(share)


def test_phases_are_distinguished_from_the_spread_of_computing() -> None:
    for kernel in ("npb.cg", "npb.ep", "npb.mg", "npb.ft", "npb.lu", "npb.is", "npb.bt", "npb.sp"):
        metrics = find_kernel(kernel).metrics
        assert "compute" in [m.name for m in metrics if is_phase(m)]
        assert [m.name for m in metrics if m.optional and not is_phase(m)] == [
            "least_compute", "most_compute",
        ]  # fmt: skip


# ---- Tables and figures --------------------------------------------------------------------------


def test_the_table_and_the_figure_show_parts_and_predictions() -> None:
    run = saturated()
    cells = summarise_cells(run)
    predicted, parts = tables(found_in(run))
    ((work, _, ppn, made_from, *_, off),) = predicted.rows
    assert (work.text, ppn.value, made_from.text) == ("CG class B", 2, "1 and 4")
    assert abs(float(off.value or 0.0)) < 0.1
    assert [row[2].value for row in parts.rows] == [1, 2, 4]
    for row in parts.rows:
        assert sum(float(entry.value or 0.0) for entry in row[4:]) == pytest.approx(1.0)
    (figure,) = figures(found_in(run))
    assert figure.id == "placement-why-1"
    by_bar: dict[object, float] = {}
    for row in figure.rows:
        by_bar[row["ppn"]] = by_bar.get(row["ppn"], 0.0) + float(row["cost"] or 0.0)
        assert by_bar[row["ppn"]] <= float(row["whole"] or 0.0) + 0.01
    assert by_bar[1] == pytest.approx(1.0, abs=0.01)
    assert by_bar[4] == pytest.approx(4 * 1.1 / 1.6, rel=0.02)
    foreseen = {row["ppn"] for row in figure.rows if row["foreseen"] is not None}
    assert foreseen == {2}
    assert svg(figure).startswith("<svg")
    assert csv_text(figure).count("\n") == len(figure.rows) + 1
    section = {s.id: s for s in build_report(run, cells).sections}["placement"]
    assert "placement-why-1" in [f.id for f in section.figures]
    assert "placement-why" in [t.id for t in section.tables]


# ---- Commands of users ---------------------------------------------------------------------------


def app(
    ppn: int, own: float, user: float, system: float, replicate: int, outside: float = 0.0
) -> Measurement:
    """A launch of a command that states its own time; ``outside`` it takes further wall time."""
    cell = Cell(
        "app",
        {"command": "./a.out", "time": "", "verify": "", "shell": 0, "timeout": 0.0},
        Placement(1, ppn),
        "own",
    )
    noise = SPREAD[replicate]
    measurement = make_measurement(cell, [own * noise], replicate)
    series = [
        SampleSeries("wall", "s", None, None, [], [(own + outside) * noise]),
        SampleSeries("cpu", "s", None, None, [], [(user + system) * noise]),
    ]
    covariates = {
        "user_seconds": user * noise,
        "system_seconds": system * noise,
        "involuntary_switches": 12.0,
        "steal_seconds": 0.0,
    }
    record = msgspec.structs.replace(
        measurement.record, series=[*measurement.record.series, *series], covariates=covariates
    )
    return dataclasses.replace(measurement, record=record)


def commands(of: Callable[[int], tuple[float, float, float]], outside: float = 0.0) -> RunData:
    measurement = [
        app(ppn, *of(ppn), replicate, outside) for ppn in (1, 2, 4) for replicate in range(6)
    ]
    run = run_of([], other=measurement)
    cells = {m.cell.id: m.cell for m in measurement}
    search = Search(tuple(cells), ())
    plan = msgspec.structs.replace(run.manifest.plan, cells=tuple(cells.values()), search=search)
    return dataclasses.replace(run, manifest=msgspec.structs.replace(run.manifest, plan=plan))


OUTSIDE = {
    # Half of a second's work can't be divided: three cores wait for it.
    "cores without work": lambda ppn: (0.5 + 0.5 / ppn, 0.99, 0.01),
    # Cores are busy all the time, but with more of them there is more to do.
    "CPU time that grows with the number of ranks": lambda ppn: (
        (1 + 0.4 * (ppn - 1)) / ppn, 1 + 0.4 * (ppn - 1), 0.0,
    ),
    "time in the kernel": lambda ppn: ((1 + 0.5 * (ppn - 1)) / ppn, 1.0, 0.5 * (ppn - 1)),
}  # fmt: skip


@pytest.mark.parametrize("cause", OUTSIDE)
def test_commands_are_explained_as_far_as_can_be_seen(cause: str) -> None:
    run = commands(OUTSIDE[cause])
    result = causes(run)
    assert result.remark.startswith("Why, measured from outside: a.out with 4 ranks loses")
    assert cause in result.remark
    assert all("measured from outside" in row.label for row in result.evidence)
    assert any("12 involuntary context switches" in row.note for row in result.evidence)
    ((*_, four),) = cpu_time_shares(summarise_cells(run), run)
    assert float(four.shares.sum()) == pytest.approx(1.0)
    assert four.serial is not None
    if cause == "cores without work":
        assert four.serial == pytest.approx(0.5)
        assert four.shares[[one.name for one in PARTS].index("without work")] == pytest.approx(
            1 - 1.0 / 2.5
        )
    drawn = figures(found_in(run))
    assert [figure.id for figure in drawn] == ["placement-outside"]
    assert svg(drawn[0]).startswith("<svg")


def test_core_use_by_hand() -> None:
    """1 rank: 1 s, of it 0.9 s in user mode; 4 ranks: 0.5 s of wall time, 1.2 and 0.3 s of CPU."""
    times = {1: (1.0, 0.9, 0.1), 2: (0.6, 1.0, 0.1), 4: (0.5, 1.2, 0.3)}
    run = commands(lambda ppn: times[ppn])
    ((_, _, four),) = cpu_time_shares(summarise_cells(run), run)
    assert four.shares.tolist() == pytest.approx([0.45, 0.15, 0.15, 0.25], rel=0.01)
    assert four.serial == pytest.approx((0.5 - 0.25) / 0.75)


def test_the_start_up_of_a_command_is_no_loss() -> None:
    """Ranks that compute all of their own time; start-up takes 0.3 s and 0.02 s of CPU per rank.

    Of its wall time × cores 48% is without work.
    """
    run = commands(lambda ppn: (1.0 / ppn, 1.0 + 0.02 * ppn, 0.0), outside=0.3)
    remark = causes(run).remark
    assert "loses" not in remark
    assert "(of its own time; start-up and end take another 300 ms, 55% of the wall time)" in remark
    ((*_, four),) = cpu_time_shares(summarise_cells(run), run)
    assert float(four.shares.sum()) == pytest.approx(1.0)
    assert four.shares[-1] == pytest.approx(0.0, abs=1e-9)
    assert (four.outside, four.outside_share) == pytest.approx((0.3, 0.3 / 0.55), rel=0.01)
    assert four.intervals is not None
    low, high = four.intervals[-1]
    assert low == pytest.approx(0.0, abs=1e-9)
    assert high == pytest.approx(1.0, abs=0.1)  # 1.08 s of CPU of which 1.2 s may be start-up
    row = causes(run).evidence[-1]
    assert "CPU time over own time × cores" in row.label
    assert "start-up and end 300 ms" in row.note


@pytest.mark.parametrize("idle", [0.0, 0.4])
def test_causes_within_the_own_time_are_found_beside_a_start_up(idle: float) -> None:
    """A long command: what start-up may have used of the CPU time hardly matters."""
    run = commands(
        lambda ppn: (20.0 / ppn / (1 - idle * (ppn > 1)), 20.0 + 0.1 * ppn, 0.0), outside=0.3
    )
    ((*_, four),) = cpu_time_shares(summarise_cells(run), run)
    assert four.intervals is not None
    low, high = four.intervals[-1]
    assert low - 1e-9 <= idle <= high < idle + 0.1
    remark = causes(run).remark
    assert ("loses 39% of its cores' time to cores without work" in remark) == (idle > 0)
    assert ("start-up" in remark) == (idle == 0.0)  # 6% of the wall time, and 3%
    assert any("unknown" in limit and "own time" in limit for limit in causes(run).limits)


def test_without_an_own_time_the_wall_time_counts() -> None:
    run = commands(lambda ppn: (0.5 + 0.5 / ppn, 0.99, 0.01))
    assert all("over wall time × cores" in row.label for row in causes(run).evidence)
    assert not any("own time" in limit for limit in causes(run).limits)


def test_a_command_that_scales_is_reported_so() -> None:
    run = commands(lambda ppn: (1.0 / ppn, 0.99, 0.01))
    assert causes(run).remark == (
        "Why, measured from outside: a.out with 4 ranks: computes nearly all of the time."
    )
