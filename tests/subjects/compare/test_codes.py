"""Ratios of codes in comparisons: planted ones are divided out, with their intervals."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from assay.importers.importing import import_files
from assay.kernels.memory import STREAM_WORK
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.records.model import RunData
from assay.records.reading import read_run
from assay.report.comparison.terminal import print_comparison
from assay.subjects.compare.answer import answer
from assay.subjects.compare.codes import code_ratio, side_factors
from assay.subjects.compare.findings import find
from assay.subjects.compare.matching import results_of
from assay.subjects.compare.model import CompareFindings
from assay.subjects.compare.sides import Side, read_sides
from assay.subjects.compare.tables import cell_table, verdict_words
from site_programs import as_printed, beside, npb_text
from variation_builder import npb, run_of

CG = npb("cg", size="B", ppn=4)
SPREAD = np.exp(0.002 * np.array([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0, -1.5, 1.5]))


def own_run(own: Cell, seconds: float, site: float | None, **printed: str) -> RunData:
    """assay's code takes ``seconds``, and the site's, if given, ``site``."""
    cells = [(own, seconds * SPREAD)]
    if site is not None:
        cells.append((beside(own), site * SPREAD[::-1]))
    return as_printed(run_of(cells), **printed)


def imported(folder: Path, seconds: Sequence[float]) -> RunData:
    """CG class B on 4 processes by NASA's code, once for each time."""
    files = []
    for number, time in enumerate(seconds):
        path = folder / f"cg-{number}.out"
        path.write_text(npb_text("cg", "B", time, ranks=4, active=4))
        files.append(str(path))
    return read_run(import_files(files, folder, system="box", command=[]).path)


def compared(one: RunData, other: RunData, **options: str) -> CompareFindings:
    return find([Side("a", one, **options), Side("b", other)])


def test_the_measured_ratio_of_codes_permits_a_verdict_on_the_machines(tmp_path: Path) -> None:
    # NASA's code takes 20 s here and 16 s there: the other machine is 1.25 times as fast.
    run, other = own_run(CG, 4.0, 20.0), imported(tmp_path, [16.0 * each for each in SPREAD])
    found = compared(run, other)
    (cell,) = found.cells
    assert cell.speed == pytest.approx(1.25, rel=0.003)
    assert cell.code_factor == pytest.approx(0.2, rel=0.003)
    assert cell.code_factor_ci95 is not None and cell.speed_ci95 is not None
    assert cell.verdict == "faster"
    assert found.runs[0].codes == ["assay", "NASA's NPB 3.4.2"]
    # Half-widths of logarithms add in quadrature.
    factor, whole = (math.log(b / a) for a, b in (cell.code_factor_ci95, cell.speed_ci95))
    plain = compared(run, own_run(CG, 3.2, None)).cells[0].speed_ci95
    assert plain is not None
    assert whole == pytest.approx(math.hypot(factor, math.log(plain[1] / plain[0])), rel=0.05)
    turned = find([Side("b", other), Side("a", run)]).cells[0]
    assert turned.verdict == "slower"
    assert turned.speed == pytest.approx(1.0 / 1.25, rel=0.003)
    assert turned.code_factor == pytest.approx(5.0, rel=0.003)
    # A side of one toolchain has the ratio, too.
    assert compared(run, other, toolchain="embedded").cells[0].verdict == "faster"


def test_a_single_number_has_the_ratio_with_its_interval_and_a_condition(tmp_path: Path) -> None:
    run, other = own_run(CG, 4.0, 20.0), imported(tmp_path, [16.0])
    found = compared(run, other)
    (cell,) = found.cells
    assert cell.speed == pytest.approx(1.25, rel=0.003)
    assert cell.speed_ci95 is not None
    assert cell.speed_ci95[0] < 1.25 < cell.speed_ci95[1]
    # Nobody knows how much the number varies: no verdict without the condition.
    assert (cell.verdict, cell.p, cell.if_exact) == ("open", None, "faster")
    assert verdict_words(cell, 0.01) == "faster, if the imported number is exact"
    said = answer(found)
    assert "is faster, if imported numbers are exact, in 1 (nasa-npb.cg " in said.verdict
    assert "undecided" not in said.verdict
    assert any("ignore the uncertainty of this number" in text for text in said.caveats)
    turned = find([Side("b", other), Side("a", run)]).cells[0]
    assert (turned.verdict, turned.if_exact) == ("open", "slower")
    # Not the same either, though the interval lies within the margin.
    alike = compared(own_run(CG, 4.0, 20.0), imported(tmp_path, [20.0])).cells[0]
    assert alike.speed_ci95 is not None and alike.speed_ci95[1] < 1.01
    assert (alike.verdict, alike.if_exact) == ("open", None)
    assert verdict_words(alike, 0.01) == "undecided: n = 1"


def test_without_the_codes_ratio_a_single_number_has_no_condition(tmp_path: Path) -> None:
    (cell,) = compared(own_run(CG, 4.0, None), imported(tmp_path, [16.0])).cells
    assert (cell.verdict, cell.if_exact) == ("none", None)


def test_the_plain_code_has_a_ratio_of_its_own(tmp_path: Path) -> None:
    plain = Cell("npb.is", {"class": "B", "code": "plain"}, CG.placement, CG.toolchain)
    tuned = npb("is", size="B", ppn=4)
    run = as_printed(
        run_of([(plain, 8.0 * SPREAD), (tuned, 4.0 * SPREAD), (beside(tuned), 20.0 * SPREAD)])
    )
    (by_plain,) = [f for f in side_factors(Side("a", run)) if f.own.cell == plain]
    assert by_plain.factor.value == pytest.approx(2.5, rel=0.003)
    results = {each.cell.id: each for each in results_of(Side("a", run)).main}
    (other,) = results_of(Side("b", imported(tmp_path, [16.0]))).main
    found = code_ratio(results[plain.id], side_factors(Side("a", run)), other, ())
    assert found is not None and found.factor == by_plain
    assert found.estimate.value == pytest.approx(0.4, rel=0.003)
    assert code_ratio(results[plain.id], [by_plain], results[tuned.id], [by_plain]) is None


@pytest.mark.parametrize(
    ("site", "printed"), [(None, {}), (20.0, {"tool": "NPB port to C++"}), (20.0, {"tool": ""})]
)
def test_without_the_ratio_of_these_codes_there_is_no_verdict_but_advice(
    tmp_path: Path, site: float | None, printed: dict[str, str]
) -> None:
    found = compared(own_run(CG, 4.0, site, **printed), imported(tmp_path, [16.0, 16.1]))
    (cell,) = found.cells
    assert (cell.verdict, cell.code_factor, cell.code_factor_of) == ("none", None, "")
    assert cell.speed == pytest.approx(0.25, rel=0.01)
    assert any("`assay run … --beside DIR`" in text for text in answer(found).advice)


def test_two_launches_of_the_executable_give_a_ratio_without_interval(tmp_path: Path) -> None:
    run = as_printed(run_of([(CG, 4.0 * SPREAD), (beside(CG), [19.9, 20.1])]))
    (cell,) = compared(run, imported(tmp_path, [16.0 * each for each in SPREAD])).cells
    assert cell.speed == pytest.approx(1.25, rel=0.01)
    assert (cell.speed_ci95, cell.p, cell.verdict) == (None, None, "open")


def test_a_published_figure_is_compared_with_the_codes_divided_out(tmp_path: Path) -> None:
    # Seaborg took 17.4 s for EP of class C on 128 processes.
    run = own_run(npb("ep", size="C", ppn=2, nodes=64), 1.74, 8.7)
    (seaborg,) = read_sides(tmp_path, ["ref:seaborg", "ref:alvarez"])[:1]
    found = find([seaborg, Side("a", run)])
    (cell,) = found.cells
    assert cell.speed == pytest.approx(2.0, rel=0.003)
    assert cell.code_factor == pytest.approx(5.0, rel=0.003)
    assert cell.speed_ci95 is not None
    screen = Console(width=240, record=True, file=io.StringIO())
    print_comparison(found, screen)
    text = " ".join(screen.export_text().split())
    assert "codes divided out" in text
    assert (cell.verdict, cell.if_exact) == ("open", "faster")
    assert "faster, if the published number is exact" in text
    assert "assay's code is 5.0 " in text or "assay's code is 5.00 " in text
    assert "as fast as NASA's NPB 3.4.2 (EP class C, " in text
    labels = [column.label for column in cell_table(found).columns]
    assert "Codes divided out" in labels
    assert not any("--beside" in text for text in answer(found).advice)


def test_each_operation_of_stream_meets_the_kernels(tmp_path: Path) -> None:
    path = Path(__file__).parents[2] / "data" / "importers" / "stream-5.10.out"
    other = read_run(import_files([str(path)], tmp_path, system="box", command=[]).path)
    placement = Placement(threads=16)
    cells = [
        Cell("memory.stream", {"op": op, "elements": 8_000_000}, placement, "gcc")
        for op in STREAM_WORK
    ]
    found = compared(run_of([(cell, SPREAD) for cell in cells]), other)
    matched = {cell.cell.parameters["op"]: cell.name for cell in found.cells}
    assert matched.keys() == STREAM_WORK.keys()
    assert "add" in matched["sum"]
