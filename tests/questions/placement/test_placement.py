"""The best use of nodes: answers, tables and figures from planted times."""

from __future__ import annotations

import dataclasses

import msgspec
import pytest

from asking import figures_of, reply_to
from assay.charts.drawing import csv_text, svg
from assay.kernels.npb.own_code import OWN_CODE
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.questions.common.answer import Answer
from assay.questions.placement.best.launch_lines import launch_lines
from assay.questions.placement.best.outcomes import find_outcomes
from assay.questions.placement.ratios.findings import same_nodes, same_ranks
from assay.questions.placement.works import works_of
from assay.records.model import LaunchRecord, RunData
from assay.reference.placement import CODE, MACHINES, PUBLISHED
from assay.report import build_report
from assay.stats.cells.summarise import summarise_cells
from placement_runs import PLAIN, SPREAD_OUT, THREADED, cell, cg, run_of


def answered(run: RunData) -> Answer:
    return reply_to("placement", summarise_cells(run), run).answer


@pytest.fixture(scope="module")
def run() -> RunData:
    return run_of([*PLAIN, *THREADED, *SPREAD_OUT], cg, [*THREADED, *SPREAD_OUT])


def test_the_best_placement_and_its_gain(run: RunData) -> None:
    answer = answered(run)
    assert answer.status == "answered"
    assert "CG class S: 2 ranks × 2 threads" in answer.verdict
    assert answer.confidence == "high", answer.confidence_why
    first = answer.evidence[0]
    assert first.value == pytest.approx(0.1, rel=0.01)
    assert first.ci95 is not None
    assert "6 placements measured" in first.note
    (advice,) = answer.advice
    assert "4.0" in advice and "the speed of one rank per node" in advice
    assert "2.0" in advice and "one rank per core" in advice
    assert (
        "Slurm: `OMP_NUM_THREADS=2 srun --nodes=1 --ntasks-per-node=2 --cpus-per-task=2" in advice
    )
    assert any(
        "reasons for differences" in limit and "not measured" in limit for limit in answer.limits
    )
    assert any("two nodes" in limit for limit in answer.limits)


def test_ratios_are_of_performance_with_both_intervals(run: RunData) -> None:
    (work,) = works_of(summarise_cells(run))
    two, four = same_nodes(work)
    assert two.value == pytest.approx(0.4 / 0.25)
    assert four.value == pytest.approx(0.4 / 0.2)
    assert two.interval is not None and two.interval[0] < two.value < two.interval[1]
    # Each side is known to ±0.4%: together to ±0.8% at best.
    assert two.interval[1] / two.interval[0] < 1.02
    assert same_ranks(work) == []


NODES = [
    cell(kernel, nodes, ppn)
    for kernel in ("npb.cg", "npb.ep")
    for nodes in (1, 2)
    for ppn in (1, 2)
]


def over_nodes(one: Cell) -> float:
    """CG takes 1.3 times as long where ranks share nodes; EP gains from all further ones."""
    place = one.placement
    if one.kernel == "npb.ep":
        return 8.0 / place.ranks
    return 4.0 / place.nodes * (1.0 if place.ppn == 1 else 1.3)


def test_both_comparisons_of_the_paper_over_nodes() -> None:
    run = run_of(NODES, over_nodes, [one for one in NODES if one.placement.nodes == 2])
    cg_work, ep_work = works_of(summarise_cells(run))
    assert [c.value for c in same_nodes(cg_work)] == pytest.approx([1 / 1.3, 1 / 1.3])
    assert [c.value for c in same_nodes(ep_work)] == pytest.approx([2.0, 2.0])
    # Two ranks on one node (5.2 s) over two nodes (2 s).
    assert [c.value for c in same_ranks(cg_work)] == pytest.approx([2.0 / 5.2])
    assert [c.value for c in same_ranks(ep_work)] == pytest.approx([1.0])
    answer = answered(run)
    assert any(OWN_CODE in sentence for sentence in answer.method)
    assert "CG class S: 1 rank per node on 2 nodes" in answer.verdict
    assert "EP class S: 2 ranks per node on 2 nodes" in answer.verdict
    cheapest = {e.label: e for e in answer.evidence if e.metric == "node-seconds"}
    labels = " ".join(cheapest)
    assert "EP class S, fewest node-seconds: 2 ranks on 1 node" in labels or "2 nodes" in labels
    assert min(e.value for e in cheapest.values()) == pytest.approx(4.0, rel=0.01)
    reply = reply_to("placement", summarise_cells(run), run)
    tables = {table.id: table for table in reply.tables()}
    assert tables.keys() == {
        "placement-best", "placement-nodes", "placement-ranks", "placement-published",
    }  # fmt: skip
    published = {row[0].text: [entry.text for entry in row] for row in
                 tables["placement-published"].rows}  # fmt: skip
    assert published["CG"][4].startswith("0.38")
    assert published["CG"][5:] == ["0.65 to 0.80", "0.77 to 1.00"]
    assert "less on 16 to 128" in published["CG"][2]
    columns = [column.label for column in tables["placement-published"].columns[1:]]
    sides = ["here (1)", *(f"{machine} (2)" for machine in MACHINES)]
    assert columns == [f"Same {what}, {side}" for what in ("nodes", "ranks") for side in sides]
    own, source = tables["placement-published"].notes
    assert OWN_CODE in own and CODE in source


def test_published_ratios_are_the_text_of_section_3() -> None:
    """The decreases in percent as the text has them, against the ratios kept."""
    decreases = {
        ("npb.cg", "Xeon"): (20, 35), ("npb.cg", "Opteron"): (0, 23),
        ("npb.mg", "Xeon"): (37, 50), ("npb.mg", "Opteron"): (0, 17),
        ("npb.ft", "Xeon"): (20, 33), ("npb.ft", "Opteron"): (5, 23),
        ("npb.lu", "Xeon"): (25, 43), ("npb.lu", "Opteron"): (0, 6),
        ("npb.is", "Xeon"): (8, 47), ("npb.is", "Opteron"): (2, 28),
    }  # fmt: skip
    kept = {(r.kernel, r.machine): r for r in PUBLISHED}
    assert kept.keys() - decreases.keys() == {("npb.ep", machine) for machine in MACHINES}
    for key, (least, most) in decreases.items():
        low, high = kept[key].low, kept[key].high
        assert (low, high) == (pytest.approx(1 - most / 100), pytest.approx(1 - least / 100))


def test_an_unsettled_search_reports_what_it_has() -> None:
    close = [cell("npb.cg", 1, ppn, binding=how) for ppn in (1, 2) for how in ("compact", "spread")]
    run = run_of(close, lambda one: 0.1, close, untried=close[2:])
    few = [m for m in run.measurements if m.replicate < 2]
    run = dataclasses.replace(run, measurements=tuple(few))
    (outcome,) = find_outcomes(summarise_cells(run), run)
    assert not outcome.settled
    answer = answered(run)
    assert answer.confidence in ("low", "medium")
    (advice,) = answer.advice
    assert advice.startswith("1 search ended undecided: measure again with more time")


def test_a_placement_that_hung_or_was_wrong_is_never_the_best() -> None:
    quickest = cell("npb.cg", 1, 2, 2)
    run = run_of([*PLAIN, *THREADED, *SPREAD_OUT], cg, [*THREADED, *SPREAD_OUT])
    wrong = [
        dataclasses.replace(m, record=msgspec.structs.replace(m.record, verified=False))
        if m.cell == quickest and m.replicate == 3
        else m
        for m in run.measurements
    ]
    hung = LaunchRecord(
        "0001", "embedded", [], 0.0, 9.0, None, "timeout", "no end within 9 s",
        blamed=f"{cell('npb.cg', 1, 4).id}-0",
    )  # fmt: skip
    run = dataclasses.replace(run, measurements=tuple(wrong), launches=(hung,))
    answer = answered(run)
    assert "2 ranks, spread" in answer.verdict
    caveats = " ".join(answer.caveats)
    assert "2 ranks × 2 threads: its result was wrong; it is not recommended." in caveats
    assert "4 ranks: no end within 9 s; it is not recommended." in caveats


def test_a_run_without_a_search_answers_nothing(run: RunData) -> None:
    manifest = msgspec.structs.replace(
        run.manifest, plan=msgspec.structs.replace(run.manifest.plan, search=None)
    )
    plain = dataclasses.replace(run, manifest=manifest)
    answer = answered(plain)
    assert answer.status == "unmeasured"


def test_candidates_of_a_search_do_not_affect_other_answers(run: RunData) -> None:
    report = build_report(run, summarise_cells(run))
    sections = {section.id: section for section in report.sections}
    labels = " ".join(e.label for e in sections["speed"].evidence)
    assert "CG" in labels and "threads" not in labels


def test_figures_show_tried_and_untried_placements(run: RunData) -> None:
    run = run_of(
        [*PLAIN, *THREADED, *SPREAD_OUT], cg, [*THREADED, *SPREAD_OUT], untried=THREADED[:1]
    )
    found = figures_of("placement", summarise_cells(run), run)
    assert [figure.id for figure in found] == ["placement-surface-1", "placement-ratio-nodes"]
    rows = {(row["ppn"], row["threads"]): row for row in found[0].rows}
    assert rows[1, 4]["state"] == "not tried" and rows[1, 4]["times"] is None
    assert rows[2, 2]["best"] is True and rows[2, 2]["times"] == 1.0
    assert rows[2, 1]["how"] == "2 ranks, spread"  # the better of two bindings
    assert rows[2, 1]["tried"] == "2 of 2"
    report = build_report(run, summarise_cells(run))
    states = [row[4].text for row in report.cell_table.rows if row[3].text == "–"]
    assert states == ["not tried"]
    for figure in found:
        assert svg(figure).startswith("<svg")
        assert csv_text(figure).count("\n") == len(figure.rows) + 1


LINES = {
    Placement(nodes=4, ppn=8, threads=2): {
        "Slurm": "OMP_NUM_THREADS=2 srun --nodes=4 --ntasks-per-node=8 --cpus-per-task=2 "
        "--distribution=block:block --cpu-bind=cores ./program",
        "PBS": "#PBS -l select=4:ncpus=16:mpiprocs=8:ompthreads=2 -l place=scatter:excl",
        "Open MPI": "mpirun -n 32 --map-by ppr:8:node:PE=2 --bind-to core "
        "-x OMP_NUM_THREADS=2 ./program",
        "MPICH": "mpirun -n 32 -ppn 8 -bind-to core:2 -genv OMP_NUM_THREADS 2 ./program",
    },
    Placement(nodes=2, ppn=2, order="cyclic", binding="spread"): {
        "Slurm": "srun --nodes=2 --ntasks-per-node=2 --cpus-per-task=1 "
        "--distribution=cyclic:cyclic --cpu-bind=cores ./program",
        "PBS": "#PBS -l select=2:ncpus=2:mpiprocs=2:ompthreads=1 -l place=scatter:excl",
        "MPICH": "mpirun -n 4 -ppn 1 -bind-to core:1 -map-by numa ./program",
    },
    Placement(ppn=2, threads=2, binding="spread"): {
        "Slurm": "OMP_NUM_THREADS=2 srun --nodes=1 --ntasks-per-node=2 --cpus-per-task=2 "
        "--distribution=block:cyclic --cpu-bind=cores ./program",
        "PBS": "#PBS -l select=1:ncpus=4:mpiprocs=2:ompthreads=2 -l place=scatter:excl",
        "Open MPI": "mpirun -n 2 --map-by numa:PE=2 --bind-to core -x OMP_NUM_THREADS=2 ./program",
        "MPICH": "mpirun -n 2 -ppn 2 -bind-to core:2 -map-by numa -genv OMP_NUM_THREADS 2 "
        "./program",
    },
    Placement(nodes=2, ppn=2, order="0,2,1,3"): {},
}


@pytest.mark.parametrize("placement", LINES, ids=str)
def test_launch_lines_are_pinned(placement: Placement) -> None:
    assert launch_lines(placement) == LINES[placement]


def test_a_placement_with_an_impossible_number_is_never_the_best() -> None:
    run = run_of([*PLAIN, *THREADED, *SPREAD_OUT], cg, [*THREADED, *SPREAD_OUT])
    cells = summarise_cells(run)
    (outcome,) = find_outcomes(cells, run)
    assert outcome.best is not None
    # As the gate does with a cell whose number is impossible.
    rest = [each for each in cells if each.id != outcome.best.id]
    (without,) = find_outcomes(rest, run)
    assert without.best is not None and without.best != outcome.best
    assert (outcome.best, "its number is impossible") in without.failed
