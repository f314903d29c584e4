"""Threads, bindings and shared cores in the answer, from planted phases and affinities."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import msgspec
import pytest

from asking import reply_to
from assay.charts.drawing import csv_text, svg
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.models.placement.components import CONTENTION, SHARED, THREADS
from assay.questions.common.answer import Answer
from assay.questions.common.parts import Part
from assay.questions.common.question import Measured
from assay.questions.placement.causes.affinity import Cpus, affinity_of, cpus_of
from assay.questions.placement.causes.answer import choice_clause, part
from assay.questions.placement.causes.breakdown import (
    NO_ADAPTER,
    NO_AFFINITY,
    NO_EQUAL_RANKS,
    WorkBreakdown,
    find_breakdowns,
)
from assay.questions.placement.causes.figures import figures
from assay.questions.placement.causes.findings import CausesFindings, find
from assay.questions.placement.causes.node_model import node_model_of
from assay.questions.placement.causes.tables import tables
from assay.questions.placement.works import works_of
from assay.records.model import Measurement, RunData
from assay.records.schema import RankRecord
from assay.stats.cells.summarise import summarise_cells
from assay.system.model import Memory, NumaNode, Processor
from phase_runs import SPREAD, Phases, measured_phases, run_of, stream
from report_builder import SYSTEM, make_run

# Two NUMA nodes of four cores of two hardware threads; the second ones are numbered from 8 on.
CORES = 8
EIGHT = msgspec.structs.replace(
    SYSTEM,
    processor=Processor(cores=CORES, threads=16, siblings=[[n, n + CORES] for n in range(CORES)]),
    memory=Memory(
        nodes=[
            NumaNode(id=0, cpus=[0, 1, 2, 3, 8, 9, 10, 11]),
            NumaNode(id=1, cpus=[4, 5, 6, 7, 12, 13, 14, 15]),
        ]
    ),
)
STREAMS = {1: 20e9, 2: 31e9, 4: 32e9, 8: 64e9}


def pinned_to(placement: Placement) -> list[list[int]]:
    """CPUs of a node's ranks, by the rule of the kernels."""
    slots = placement.ppn * placement.threads
    if placement.smt == "on":
        given = [slot // 2 + CORES * (slot % 2) for slot in range(slots)]
    elif placement.binding == "spread":
        given = [slot * CORES // slots for slot in range(slots)]
    else:
        given = list(range(slots))
    step = placement.threads
    return [given[first : first + step] for first in range(0, slots, step)]


def seated(measurement: Measurement) -> Measurement:
    """The measurement with rank records of these CPUs."""
    placement = measurement.cell.placement
    cpus = pinned_to(placement)
    ranks = tuple(
        RankRecord(
            node * placement.ppn + seat, f"n{node}", 1, seat, cpus[seat], None,
            placement.binding != "none", False,
        )
        for node in range(placement.nodes)
        for seat in range(placement.ppn)
    )  # fmt: skip
    return dataclasses.replace(measurement, ranks=ranks)


def on_eight(run: RunData) -> RunData:
    return dataclasses.replace(
        run,
        manifest=msgspec.structs.replace(run.manifest, system=EIGHT.to_dict()),
        measurements=tuple(map(seated, run.measurements)),
    )


def cg(compute: float, waiting: float, **placement: object) -> tuple[Cell, Phases]:
    where = Placement(**placement)  # type: ignore[arg-type]
    several = where.ranks > 1
    spread = {"least_compute": compute, "most_compute": compute} if several else {}
    return Cell("npb.cg", {"class": "B"}, where, "embedded"), {
        "compute": compute,
        **({"allgatherv": waiting} if several else {}),
        **spread,
    }


# 8 s of computing: 8 ranks wait 0.5 s for memory and 0.9 s in messages.
PLAIN = [cg(8.0, 0.0), cg(2.9, 0.2, ppn=4), cg(1.5, 0.9, ppn=8)]


def found_in(run: RunData) -> CausesFindings:
    return find(Measured(run, summarise_cells(run)))


def causes(run: RunData) -> Part:
    return part(found_in(run))


def answered(run: RunData) -> Answer:
    return reply_to("placement", summarise_cells(run), run).answer


def why_of(
    ways: Sequence[tuple[Cell, Phases]], streams: Mapping[int, float] = STREAMS
) -> tuple[WorkBreakdown, RunData]:
    run = on_eight(run_of([*PLAIN, *ways], streams))
    (work,) = find_breakdowns(summarise_cells(run), run)
    return work, run


def test_seats_come_from_records_and_the_system() -> None:
    run = on_eight(make_run([], measurements=[measured_phases(*PLAIN[2], 1, 1.0)]))
    cpus = cpus_of(run)
    assert cpus.number_of_domains == 2
    found = affinity_of(run.measurements, cpus)
    assert found is not None and found.used_by_domain == {0: 4, 1: 4}
    for binding, smt, loads, reach in (
        ("spread", "off", {0: 2, 1: 2}, 1.0),
        ("compact", "off", {0: 4}, 1.0),
        ("compact", "on", {0: 2}, 1.0),
    ):
        cell, phases = cg(1.0, 0.1, ppn=2, threads=2, binding=binding, smt=smt)
        (one,) = on_eight(
            make_run([], measurements=[measured_phases(cell, phases, 1, 1.0)])
        ).measurements
        sits = affinity_of([one], cpus)
        assert sits is not None and (sits.used_by_domain, sits.domains_per_rank) == (loads, reach)
        assert sits.shared == (smt == "on")
        # If the cores are unknown, shared cores can't be detected.
        assert (affinity_of([one], Cpus()) is None) == (smt == "on")
        moved = tuple(msgspec.structs.replace(rank, cpus=[5, 6]) for rank in one.ranks)
        assert affinity_of([one, dataclasses.replace(one, ranks=moved)], cpus) is None
        bare = dataclasses.replace(one, ranks=one.ranks[:1])
        assert affinity_of([bare], cpus) is None
        free = tuple(msgspec.structs.replace(rank, pinned=False) for rank in one.ranks)
        assert affinity_of([dataclasses.replace(one, ranks=free)], cpus) is None
        assert affinity_of([one, bare], cpus) is None


def test_the_curve_of_a_domain_comes_from_streams_that_fill_domains_evenly() -> None:
    _, run = why_of([])
    machine = node_model_of(summarise_cells(run), run)
    assert machine.domains == 2
    # Of 8 cores on two domains each has 32e9 B/s: as on the first four alone.
    assert machine.domain == pytest.approx({1: 20e9, 2: 31e9, 4: 32e9}, rel=0.01)
    # Spread streams show more: two cores on two domains are one on each.
    spread = Cell(
        "memory.stream", {"op": "triad", "elements": 10**6},
        Placement(ppn=2, binding="spread"), "embedded",
    )  # fmt: skip
    more = [
        seated(dataclasses.replace(stream(2, 39e9, r), cell=spread)) for r in range(len(SPREAD))
    ]
    wider = dataclasses.replace(run, measurements=(*run.measurements, *more))
    found = node_model_of(summarise_cells(wider), wider)
    assert found.domain == pytest.approx({1: 19.5e9, 2: 31e9, 4: 32e9}, rel=0.01)
    assert found.streams == pytest.approx(STREAMS, rel=0.01)  # of the first cores


def test_the_chosen_placement_is_explained_by_what_it_saves() -> None:
    """2 ranks × 4 threads: 0.1 s for their threads, and 0.2 s instead of 0.9 s in messages."""
    work, run = why_of([cg(1.6, 0.2, ppn=2, threads=4), cg(2.9, 0.0, threads=8)])
    quickest, single = work.others
    assert quickest.split.component(THREADS).value == pytest.approx(0.1, rel=0.02)
    assert single.split.component(THREADS).value == pytest.approx(1.4, rel=0.02)
    clause = choice_clause(work)
    assert clause == (
        "with 2 ranks × 4 threads CG class B takes 25% less time than with 8 ranks: "
        "messages within the node take less"
    )
    answer = answered(run)
    assert clause in answer.verdict
    rows = {row.label: row for row in answer.evidence}
    row = rows["CG class B on 1 node, 8 ranks: additional time compared with 2 ranks × 4 threads"]
    assert row.value == pytest.approx(1 - 1.8 / 2.4, abs=0.01) and row.ci95 is not None
    assert "messages within nodes" in row.note and "threads −" in row.note
    row = rows["CG class B on 1 node, 1 rank × 8 threads: additional time compared with 8 ranks"]
    assert row.value == pytest.approx(1 - 2.4 / 2.9, abs=0.01)
    assert "a rank's threads are on 2 NUMA nodes" in row.note
    assert not any("is not broken down" in line for line in answer.limits)


def test_unsplit_time_is_counted_and_reported_in_one_sentence() -> None:
    work, run = why_of(
        [
            cg(1.6, 0.2, ppn=2, threads=4),
            cg(3.6, 0.2, ppn=2, threads=2, binding="spread"),  # four ranks spread: not measured
            cg(3.5, 0.2, ppn=1, threads=4, binding="none"),
            cg(1.5, 0.9, ppn=8, adapter="eth0"),
        ]
    )
    assert work.unsplit == {NO_EQUAL_RANKS: 1, NO_AFFINITY: 1, NO_ADAPTER: 1}
    (line,) = [one for one in causes(run).limits if "not broken down" in one]
    assert line.startswith(
        "The time of 3 of 4 placements with threads, or another binding or order, "
    )
    assert f"{NO_EQUAL_RANKS} (1)" in line
    # With ranks of one thread on the same cores it is.
    work, _ = why_of(
        [
            cg(3.6, 0.2, ppn=2, threads=2, binding="spread"),
            cg(2.4, 0.3, ppn=4, binding="spread"),
        ]
    )
    assert work.unsplit == {}
    spread = {one.placement.threads: one.split for one in work.others}
    assert spread[2].component(THREADS).value == pytest.approx(1.2, rel=0.02)
    # Two cores in each domain: streams there are slowed down to 1 in 1.29, so that memory can have
    # done all of 0.4 s. On the first four cores it could have done more.
    assert spread[1].component(CONTENTION).value == pytest.approx(0.4, rel=0.05)


def test_hardware_threads_are_compared_on_the_same_cores() -> None:
    double = cg(1.2, 0.9, ppn=16, smt="on")
    work, _ = why_of([double, cg(1.3, 0.5, ppn=8, threads=2, smt="on")])
    found = {one.placement.ppn: one.split for one in work.others}
    assert found[16].component(SHARED).value == pytest.approx(-0.3, rel=0.05)
    assert found[8].component(THREADS).value == pytest.approx(0.1, rel=0.1)
    assert found[8].component(SHARED).value == pytest.approx(-0.3, rel=0.05)
    assert found[16].placed.cores == CORES
    alone, _ = why_of([cg(1.3, 0.5, ppn=8, threads=2, smt="on")])
    assert alone.unsplit == {NO_EQUAL_RANKS: 1}


def test_tables_and_figures_show_threads_and_bindings() -> None:
    work, run = why_of(
        [
            cg(1.6, 0.2, ppn=2, threads=4),
            cg(1.55, 0.8, ppn=4, threads=2),
            cg(2.9, 0.0, threads=8),
        ]
    )
    assert [one.placement.threads for one in work.calibration] == [4, 8]
    predicted, parts = tables(found_in(run))
    by_threads = {row[3].value: row for row in predicted.rows}
    assert set(by_threads) == {1, 2}
    assert by_threads[2][5].text == "1, 8, 2 ranks × 4 threads and 1 rank × 8 threads"
    assert float(by_threads[2][-1].value or 0.0) == pytest.approx(0.0, abs=0.06)
    headings = [column.label for column in parts.columns]
    assert "Threads" in headings and "Shared cores" in headings
    assert [row[3].value for row in parts.rows] == [1, 1, 1, 4, 2, 8]
    for row in parts.rows:
        assert sum(float(entry.value or 0.0) for entry in row[6:]) == pytest.approx(1.0)
    drawn = {figure.id: figure for figure in figures(found_in(run))}
    assert list(drawn) == ["placement-why-1", "placement-ways-1"]
    figure = drawn["placement-ways-1"]
    whole = {row["how"]: row["whole"] for row in figure.rows}
    assert list(whole) == [
        "8 ranks", "2 ranks × 4 threads", "4 ranks × 2 threads", "1 rank × 8 threads",
    ]  # fmt: skip
    assert whole["8 ranks"] == pytest.approx(1.0)
    assert whole["2 ranks × 4 threads"] == pytest.approx(1.8 / 2.4, rel=0.02)
    shares: dict[object, float] = {}
    for row in figure.rows:
        shares[row["how"]] = shares.get(row["how"], 0.0) + float(row["share"] or 0.0)
    assert shares == pytest.approx(whole, abs=0.02)
    assert svg(figure).startswith("<svg")
    assert csv_text(figure).count("\n") == len(figure.rows) + 1
    # Without threads there is none, and no columns of theirs.
    plain = on_eight(run_of(PLAIN, STREAMS))
    assert "Threads" not in [c.label for table in tables(found_in(plain)) for c in table.columns]
    assert [f.id for f in figures(found_in(plain))] == ["placement-why-1"]


def test_data_in_caches_never_wait_for_memory() -> None:
    """At class S 8 ranks compute for longer than their share, too, but the cause is unknown."""
    small = [
        (msgspec.structs.replace(cell, parameters={"class": "S"}), phases) for cell, phases in PLAIN
    ]
    cached = msgspec.structs.replace(EIGHT, processor=SYSTEM.processor)
    for phases_of, share in ((PLAIN, 0.5), (small, 0.0)):
        run = on_eight(run_of(phases_of, STREAMS))
        system = msgspec.structs.replace(
            cached, processor=msgspec.structs.replace(cached.processor, cores=CORES)
        )
        manifest = msgspec.structs.replace(run.manifest, system=system.to_dict())
        run = dataclasses.replace(run, manifest=manifest)
        (work,) = find_breakdowns(summarise_cells(run), run)
        assert work.full.split.component(CONTENTION).value == pytest.approx(share, rel=0.02)


def test_only_work_that_ranks_divide_is_compared() -> None:
    run = on_eight(run_of(PLAIN, STREAMS))
    (work,) = works_of(summarise_cells(run))
    assert {point.summary.kernel for point in work} == {"npb.cg"}
