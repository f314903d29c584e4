"""Sides of a comparison: published figures, imported codes, nodes, sessions, clocks."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from rich.console import Console

from assay.charts.drawing import svg
from assay.errors import AssayError
from assay.importers.importing import import_files
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.model.replication import Replication
from assay.records.model import RunData
from assay.records.reading import read_run
from assay.reference.papers.loading import figures
from assay.report import write_report
from assay.report.comparison.build import build_comparison
from assay.report.comparison.terminal import print_comparison
from assay.report.comparison.views import SHOWN, find_views, view_section
from assay.subjects.compare.answer import answer
from assay.subjects.compare.findings import find
from assay.subjects.compare.model import ComparedRun, CompareFindings
from assay.subjects.compare.query import FailOn
from assay.subjects.compare.results import ResultSubject, fits
from assay.subjects.compare.sides import Side, read_sides
from assay.subjects.compare.tables import verdict_words
from fleet_builder import DGEMM, STRIDED, make_group
from report_pages import drawing_cache
from variation_builder import normal, npb, run_of

__all__ = ["drawing_cache"]  # a fixture

DATA = Path(__file__).parents[2] / "data" / "importers"
CODES = ("bt", "cg", "ep", "ft", "is", "lu")


def timed(code: str, ranks: int, seconds: float, size: str = "C") -> tuple[Cell, np.ndarray]:
    cell = npb(code, size=size, ppn=2, nodes=ranks // 2)
    return cell, seconds * normal(ranks, 6, 0.001, 1.0)


def with_clock(run: RunData, clock: float) -> RunData:
    return replace(
        run,
        measurements=tuple(
            replace(m, record=msgspec.structs.replace(m.record, covariates={"clock_rate": clock}))
            for m in run.measurements
        ),
    )


def published(name: str, run: RunData, **options: object) -> CompareFindings:
    (reference,) = [
        side for side in read_sides(Path(), [name, "ref:alvarez"]) if side.words == name
    ]
    return find([Side("a", run), reference], **options)


# ---- published figures ---------------------------------------------------------------------------


def test_a_published_figure_meets_its_class_and_its_processors_and_has_no_verdict() -> None:
    run = run_of(
        [
            timed("ep", 128, 1.74),  # Seaborg took 17.4 s
            timed("ep", 64, 3.0),
            timed("lu", 128, 100.0, size="B"),
        ]
    )
    found = published("ref:seaborg", run)
    (cell,) = found.cells
    assert (cell.name, cell.other, cell.metric) == ("EP, class C, 128 processes", 17.4, "time")
    assert cell.cell == run.manifest.plan.cells[0]
    assert cell.speed == pytest.approx(0.1, rel=0.01)
    assert (cell.verdict, cell.p, cell.other_code) == ("none", None, "NPB")
    assert verdict_words(cell, 0.01) == "no verdict: another code (NPB)"
    assert not FailOn.of("slower").fails(found)
    assert found.runs[1].system == "Seaborg (IBM SP)"
    assert found.runs[1].kind == "published"
    assert found.runs[0].codes == ["assay"]
    assert len(found.runs[0].unshared) == 2
    # The tables with a class that the paper does not print.
    assert sum("class is not printed" in text for text in found.runs[1].unshared) == 18
    reply = answer(found)
    assert reply.confidence == "low"
    assert "not comparable (different codes) in 1" in reply.verdict
    assert any("different programs" in text and "NPB" in text for text in reply.caveats)
    assert found.means == []


def test_a_rate_per_processor_is_that_of_all_and_scales_with_the_clock_as_in_the_paper() -> None:
    """Edmundsson et al. (2004): BT on 64 processors of the T3E-900, scaled to Seth's 1.667 GHz."""
    printed = {figure.id: figure for figure in figures()}
    rate = printed["t3e-900.npb.bt.64"].si
    scaled = printed["t3e-900.npb.bt.64.scaled"].si
    assert (rate, scaled) == (55.7e6, 206.6e6)
    run = with_clock(run_of([timed("bt", 64, 10.0)]), 1.667e9)
    found = published("ref:t3e-900", run, scale_clock=True)
    (cell,) = found.cells
    assert cell.metric == "rate"
    assert cell.other == pytest.approx(64 * rate)
    assert cell.speed == pytest.approx(64 * rate / cell.reference, rel=0.002)
    assert cell.per_clock is not None
    assert cell.per_clock.reference == 1.667e9
    assert cell.per_clock.other == pytest.approx(450e6, rel=0.002)
    assert cell.per_clock.speed == pytest.approx(64 * scaled / cell.reference, rel=0.002)
    assert any("At equal clock rates (A 1.67 GHz" in text for text in answer(found).caveats)


def test_plain_code_is_a_code_of_its_own() -> None:
    """Seaborg's IS is no result of it; two runs of it have a verdict."""
    cell, values = timed("is", 128, 1.0)
    plain = Cell(cell.kernel, {**cell.parameters, "code": "plain"}, cell.placement, cell.toolchain)
    run = run_of([(plain, values)])
    assert run_results(run).codes == ["assay's plain code"]
    found = find([Side("a", run), Side("b", run_of([(plain, 1.2 * values)]))])
    assert found.cells[0].verdict == "slower"
    assert not any("different programs" in text for text in answer(found).caveats)


def run_results(run: RunData) -> ComparedRun:
    return find([Side("a", run), Side("b", run)]).runs[0]


def test_runs_of_two_versions_of_assay_are_named() -> None:
    one = run_of([timed("ep", 128, 1.0)])
    other = replace(one, manifest=msgspec.structs.replace(one.manifest, assay="0.0.1"))
    text = " ".join(answer(find([Side("a", one), Side("b", other)])).caveats)
    assert f"measured by assay 0.0.1 (B) and {one.manifest.assay} (A)" in text
    text = " ".join(answer(find([Side("a", one), Side("b", one)])).caveats)
    assert "measured by assay" not in text


def test_an_unknown_clock_is_told_in_one_sentence() -> None:
    found = published("ref:seaborg", run_of([timed("ep", 128, 1.0)]), scale_clock=True)
    assert found.cells[0].per_clock is None
    assert found.runs[1].clock == 375e6
    known = [text for text in answer(found).caveats if "clock rate of A is unknown" in text]
    assert len(known) == 1


def test_clocks_of_two_runs_scale_their_ratio() -> None:
    runs = [
        with_clock(run_of([timed("ep", 4, seconds)], name=name), clock)
        for name, seconds, clock in (("1-a-x", 2.0, 2e9), ("2-b-x", 1.0, 3e9))
    ]
    found = find([Side("a", runs[0]), Side("b", runs[1])], scale_clock=True)
    (cell,) = found.cells
    assert cell.verdict == "faster"
    assert cell.per_clock is not None
    assert cell.speed is not None
    assert cell.per_clock.speed == pytest.approx(cell.speed * 2 / 3)
    assert cell.per_clock.speed_ci95 is not None
    assert cell.speed_ci95 is not None
    assert cell.per_clock.speed_ci95[1] == pytest.approx(cell.speed_ci95[1] * 2 / 3)
    assert find([Side("a", runs[0]), Side("b", runs[1])]).cells[0].per_clock is None


def test_a_single_figure_is_a_side_and_unknown_names_are_refused(tmp_path: Path) -> None:
    found = published("ref:lemieux.npb.lu.mean", run_of([timed("lu", 128, 10.0)]))
    assert [cell.other for cell in found.cells] == [42.8]
    with pytest.raises(AssayError, match="no cell in common"):
        published("ref:seaborg", run_of([timed("lu", 4, 10.0)]))
    with pytest.raises(AssayError, match="No paper has a cluster 'seaborgg'"):
        read_sides(tmp_path, ["ref:seaborgg", "ref:seaborg"])
    with pytest.raises(AssayError, match="No figure of"):
        read_sides(tmp_path, ["ref:seaborg.clock", "ref:seaborg"])


@pytest.mark.parametrize(
    ("one", "other", "result"),
    [
        (
            ResultSubject("npb.ep", "time", size="C", ranks=4),
            {"size": "C", "ranks": 4, "cores": 8},
            True,
        ),
        (ResultSubject("npb.ep", "time", size="C", ranks=4), {"size": "C", "cores": 4}, False),
        (ResultSubject("npb.ep", "time", size="C", ranks=4), {"size": "C", "ranks": 8}, False),
        (ResultSubject("npb.ep", "time", ranks=4), {"size": "C", "ranks": 4}, False),
        (ResultSubject("npb.ep", "rate", size="C", ranks=4), {"size": "C", "ranks": 4}, False),
        (ResultSubject("linpack", "time"), {"order": 5, "ranks": 4}, True),
        (ResultSubject("network.pingpong", "time"), {"ranks": 2, "nodes": 1}, False),
        (ResultSubject("network.pingpong", "time"), {"ranks": 2, "nodes": 2}, True),
        (ResultSubject("network.pingpong", "time", length=8), {"length": 4, "nodes": 2}, False),
    ],
)
def test_what_both_state_must_agree(
    one: ResultSubject, other: dict[str, object], result: bool
) -> None:
    assert fits(one, ResultSubject(one.kernel, "time", **other)) == result


# ---- imported codes ------------------------------------------------------------------------------


@pytest.fixture
def imported(tmp_path: Path) -> RunData:
    files = [str(DATA / "npb-3.3-mpi.out"), str(DATA / "hpl-2.3.out")]
    return read_run(import_files(files, tmp_path, system="box", command=[]).path)


def own_run() -> RunData:
    linpack = Cell("linpack", {"n": 20160, "nb": 128}, Placement(ppn=8), "embedded")
    return run_of([timed("cg", 4, 4.0, size="B"), (linpack, [50.0] * 6), timed("lu", 4, 1.0)])


def test_an_imported_code_has_no_verdict_against_assays(imported: RunData) -> None:
    found = find([Side("a", own_run()), Side("bb", imported)])
    by_kernel = {cell.cell.kernel: cell for cell in found.cells}
    assert set(by_kernel) == {"npb.cg", "linpack"}
    cg, hpl = by_kernel["npb.cg"], by_kernel["linpack"]
    assert (cg.other, cg.verdict, cg.other_code) == (21.47, "none", "NASA's NPB 3.3.1")
    assert cg.speed == pytest.approx(4.0 / 21.47, rel=0.01)
    assert hpl.metric == "rate"
    assert hpl.other == 93.596e9  # the second row failed its check
    assert verdict_words(hpl, 0.01) == "no verdict: another code (HPL 2.3)"
    # In the other direction, too.
    turned = find([Side("bb", imported), Side("a", own_run())])
    for cell in turned.cells:
        match = by_kernel["npb.cg" if "cg" in cell.cell.kernel else "linpack"]
        assert cell.speed == pytest.approx(1.0 / (match.speed or 0.0))
    screen = Console(width=240, record=True, file=io.StringIO())
    print_comparison(found, screen)
    text = screen.export_text()
    assert "code: assay" in text
    assert "no verdict: another code (NASA's NPB 3.3.1)" in " ".join(text.split())


def test_an_import_compared_with_itself_is_of_the_same_code(imported: RunData) -> None:
    manifest = msgspec.structs.replace(imported.manifest, run="other")
    found = find([Side("a", imported), Side("bb", replace(imported, manifest=manifest))])
    assert {cell.verdict for cell in found.cells} == {"open"}
    assert all(cell.speed == 1.0 for cell in found.cells)


# ---- nodes ---------------------------------------------------------------------------------------


def cost(host: str, cell: Cell, launch: int) -> float:
    """Node n3 is 5% slower in the memory; all others differ by chance."""
    slow = 1.05 if host == "n3" and cell == STRIDED else 1.0
    return slow * float(normal(hash_of(host, cell, launch), 1, 0.002, 1.0)[0])


def hash_of(host: str, cell: Cell, launch: int) -> int:
    return int(cell.id[:6], 16) * 1000 + int(host[1:]) * 10 + launch


def test_a_node_is_compared_with_the_rest_of_its_group(tmp_path: Path) -> None:
    hosts = [f"n{number}" for number in range(1, 7)]
    group = make_group(tmp_path, hosts, cost, launches=6, cells=(STRIDED, DGEMM))
    rest, node = read_sides(tmp_path, [f"{group.name}:node=n3"])
    found = find([rest, node])
    assert [run.nodes for run in found.runs] == [["n1", "n2", "n4", "n5", "n6"], ["n3"]]
    verdicts = {cell.cell.kernel: cell.verdict for cell in found.cells}
    assert verdicts == {"memory.stream": "slower", "compute.dgemm": "same"}
    assert {cell.reference_launches for cell in found.cells} == {30}
    stream = next(cell for cell in found.cells if cell.verdict == "slower")
    assert stream.speed == pytest.approx(1 / 1.05, rel=0.005)
    assert "nodes n3) is slower" in answer(found).verdict
    # Sets of at least three nodes: by the scatter between nodes.
    named = [f"{group.name}:rest", f"{group.name}:nodes=n[1-3]"]
    found = find(read_sides(tmp_path, named))
    assert {(c.unit_of_test, c.holds_for) for c in found.cells} == {("nodes", "nodes")}
    assert {(c.reference_units, c.other_units) for c in found.cells} == {(3, 3)}
    assert all(cell.verdict != "slower" for cell in found.cells)
    whole = find(read_sides(tmp_path, [group.name, f"{group.name}:node=n3"]))
    assert {cell.reference_launches for cell in whole.cells} == {36}


def test_node_sets_of_a_run_are_sides_and_mixed_launches_belong_to_none(tmp_path: Path) -> None:
    cells = [npb("ep", node_set=0), npb("ep", node_set=1), npb("lu", node_set=2)]
    run = run_of([(cell, normal(place, 6, 0.001)) for place, cell in enumerate(cells)])

    def host(kernel: str, node_set: int, rank: int) -> str:
        return ("n1" if rank else "n2") if kernel == "npb.lu" else f"n{node_set + 1}"

    run = replace(
        run,
        measurements=tuple(
            replace(
                m,
                ranks=tuple(
                    msgspec.structs.replace(
                        rank, host=host(m.cell.kernel, m.cell.placement.node_set, rank.rank)
                    )
                    for rank in m.ranks
                ),
            )
            for m in run.measurements
        ),
    )
    one, two = Side("r:node=n1", run, nodes=("n1",)), Side("r:node=n2", run, nodes=("n2",))
    found = find([one, two])
    assert [cell.cell.kernel for cell in found.cells] == ["npb.ep"]
    assert [run.left_out for run in found.runs] == [6, 6]
    assert any("on nodes of both A and another side" in text for text in answer(found).caveats)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["{}:node=n9"], "no measurement on node 'n9'"),
        (["{}:rest", "{}"], "doesn't name nodes"),
        (["{}:nodes=n[1-2]"], "leaves no other nodes"),
        (["{}:node=n1", "{}:node=n1"], "name the same run"),
    ],
)
def test_wrong_nodes_are_refused(tmp_path: Path, names: list[str], message: str) -> None:
    group = make_group(tmp_path, ["n1", "n2"], cost, launches=1, cells=(DGEMM,))
    with pytest.raises(AssayError, match=message):
        read_sides(tmp_path, [name.format(group.name) for name in names])


# ---- sessions ------------------------------------------------------------------------------------


def in_sessions(seed: int, between: float, sessions: int = 5, launches: int = 4) -> RunData:
    """Sessions whose levels differ by ``between``, launches by 0.1%."""
    rng = np.random.default_rng(seed)
    level = np.repeat(1.0 + between * rng.standard_normal(sessions), launches)
    run = run_of([(npb("ep"), level * normal(seed, sessions * launches, 0.001, 1.0))])
    rule = Replication(
        min_launches=launches, max_launches=launches, every=3600.0, sessions=sessions
    )
    plan = msgspec.structs.replace(run.manifest.plan, replication=rule)
    manifest = msgspec.structs.replace(run.manifest, plan=plan, run=f"run-{seed}")
    kept = tuple(replace(m, replicate=m.replicate - 1) for m in run.measurements)
    return replace(run, manifest=manifest, measurements=kept)


def test_sessions_are_the_units_of_verdicts_on_machines() -> None:
    """Launches of one session agree within 0.1%, sessions within 3%: chance, not machines."""
    found = find([Side("a", in_sessions(1, 0.03)), Side("b", in_sessions(2, 0.03))])
    (cell,) = found.cells
    assert (cell.unit_of_test, cell.holds_for) == ("sessions", "machines")
    assert (cell.reference_units, cell.reference_launches) == (5, 20)
    assert cell.verdict == "open"
    assert "more sessions per side would decide" in verdict_words(cell, 0.01)
    reply = answer(found)
    assert any("to these machines" in text for text in reply.caveats)
    assert any("sessions per side" in text for text in reply.advice)
    few = find([Side("a", in_sessions(1, 0.03)), Side("b", in_sessions(2, 0.03, sessions=2))])
    assert few.cells[0].holds_for == "runs"
    assert few.cells[0].unit_of_test == "launches"
    assert any("these two runs" in text for text in answer(few).caveats)


@pytest.mark.long
def test_equal_machines_with_different_sessions_are_seldom_called_different() -> None:
    """By launches nearly all of these pairs would be."""
    differing = 0
    for seed in range(40):
        sides = [Side(name, in_sessions(2 * seed + k, 0.02)) for k, name in enumerate("ab")]
        differing += find(sides).cells[0].verdict in ("slower", "faster")
    assert differing <= 6


# ---- means and views -----------------------------------------------------------------------------


def test_contributions_of_cells_are_told() -> None:
    one = [(npb(code), normal(k, 6, 1e-6)) for k, code in enumerate(CODES)]
    factors = (0.5, 1.0, 1.0, 1.0, 1.0, 2.0**0.5)
    other = [(cell, values * factor) for (cell, values), factor in zip(one, factors, strict=True)]
    found = find([Side("a", run_of(one)), Side("b", run_of(other, name="2-b-x"))])
    (mean,) = found.means
    assert mean.speed == pytest.approx(2.0 ** (0.5 / 6))
    assert math.prod(part.factor for part in mean.contributions) == pytest.approx(mean.speed)
    first, second = mean.contributions[:2]
    assert (first.cell.kernel, second.cell.kernel) == ("npb.bt", "npb.lu")
    assert first.share == pytest.approx(2.0)
    assert second.share == pytest.approx(-1.0)
    table = next(t for t in build_comparison(found).sections[0].tables if "contrib" in t.id)
    assert [row[2].text for row in table.rows][:2] == ["+200.0%", "−100.0%"]


def test_every_question_is_shown_side_by_side(tmp_path: Path) -> None:
    runs = [
        run_of([(cell, normal(k, 6, 0.001, 1.0)) for cell in (STRIDED, DGEMM)], name=name)
        for k, name in enumerate(("20260101T000000Z-box-a", "20260102T000000Z-box-b"))
    ]
    sides = [Side("a", runs[0]), Side("b", runs[1])]
    (reference,) = read_sides(tmp_path, ["ref:seaborg", "ref:mcurie"])[:1]
    views = find_views([*sides, reference])
    assert [view.name for view in views] == list(SHOWN)
    speed = views[0]
    assert set(speed.replies) == {"A", "B"}
    assert speed.without == {"C": "published figures are not asked"}
    section = view_section(speed)
    answers = speed.answers
    assert section.verdict == f"A: {answers['A'].verdict} B: {answers['B'].verdict}"
    evidence = next(table for table in section.tables if table.id.endswith("evidence"))
    first = answers["A"].evidence[0]
    assert [column.label for column in evidence.columns] == ["Quantity", "Metric", "A", "B"]
    second = answers["B"].evidence[0]
    assert first.value != second.value
    assert [entry.value for entry in evidence.rows[0][2:]] == [first.value, second.value]
    (figure,) = section.figures
    shares = {(row["side"], row["share"]) for row in figure.rows}
    assert ("A", first.share) in shares
    assert "share of limit" in svg(figure)
    model = build_comparison(find(sides), views)
    # Pages find figures and tables by their ids.
    ids = [part.id for each in model.sections for part in (*each.figures, *each.tables)]
    assert len(ids) == len(set(ids))
    assert {"compare-speed", "compare-speed-shares"} <= set(ids)
    (path,) = write_report(model, tmp_path / "c", ["markdown"])
    text = path.read_text()
    assert all(view.title in text for view in views)
