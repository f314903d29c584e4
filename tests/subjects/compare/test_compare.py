"""Comparisons of runs: planted ratios come out, and the verdicts follow from interval and test."""

from __future__ import annotations

import io
import json
import math
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
import pytest
from rich.console import Console

from assay.charts.drawing import svg
from assay.errors import AssayError
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.questions.common.findings import findings_json
from assay.records.model import ImportedSource
from assay.report import write_report
from assay.report.comparison.brief import most_important, print_brief
from assay.report.comparison.build import build_comparison
from assay.report.comparison.terminal import print_comparison
from assay.subjects.compare.answer import answer
from assay.subjects.compare.figures import figures
from assay.subjects.compare.findings import find
from assay.subjects.compare.labels import brief_labels
from assay.subjects.compare.model import CompareFindings
from assay.subjects.compare.query import FailOn, parse_margin
from assay.subjects.compare.sides import Side, read_sides
from assay.subjects.compare.tables import cell_table, tables
from named_runs import store_named
from report_pages import drawing_cache
from variation_builder import normal, npb, run_of

__all__ = ["drawing_cache"]  # a fixture

CODES = ("bt", "cg", "ep", "ft", "is", "lu")


def side(name: str, planted: dict[str, tuple[Cell, np.ndarray]], **changes: object) -> Side:
    return Side(name, run_of(planted, name=f"20260101T00000{len(name)}Z-box-{name}", **changes))


def of_times(seed: int, factor: float = 1.0, launches: int = 6, cov: float = 0.002) -> dict:
    return {
        code: (npb(code), factor * normal(100 * seed + place, launches, cov))
        for place, code in enumerate(CODES)
    }


def by_code(found: CompareFindings) -> dict[str, str]:
    return {cell.cell.kernel.removeprefix("npb."): cell.verdict for cell in found.cells}


def test_planted_ratios_are_found_with_their_direction() -> None:
    other = of_times(2, cov=0.001)
    other["lu"] = (npb("lu"), 1.05 * normal(7, 6, 0.001))  # takes 5% longer
    other["cg"] = (npb("cg"), normal(8, 6, 0.001) / 1.10)
    found = find([side("a", of_times(1, cov=0.001)), side("bb", other)])
    assert by_code(found) == {**dict.fromkeys(CODES, "same"), "lu": "slower", "cg": "faster"}
    first, second = found.cells[:2]  # the greatest changes first
    assert (first.cell.kernel, second.cell.kernel) == ("npb.cg", "npb.lu")
    for cell, true in ((first, 1.10), (second, 1.0 / 1.05)):
        assert cell.speed == pytest.approx(true, rel=0.005)
        assert cell.speed_ci95 is not None
        assert cell.speed_ci95[0] < true < cell.speed_ci95[1]
        assert cell.p is not None
        assert cell.p_corrected is not None
        assert cell.p < cell.p_corrected <= 6.0 * cell.p  # Holm: the two least p of six
        assert cell.p_corrected >= 5.0 * cell.p
    text = answer(found).verdict
    assert text.startswith(
        "In these two runs, of 6 shared cells B (20260101T000002Z-box-bb) is slower in 1 (LU"
    )
    assert text.endswith("and the same within 1% in 4.")


def test_exchanged_sides_exchange_the_verdicts() -> None:
    one, other = side("a", of_times(1)), side("bb", of_times(2, factor=1.04))
    forwards, backwards = find([one, other]), find([other, one])
    assert set(by_code(forwards).values()) == {"slower"}
    assert set(by_code(backwards).values()) == {"faster"}
    speeds = {cell.name: cell.speed for cell in forwards.cells}
    for cell in backwards.cells:
        assert cell.speed == pytest.approx(1.0 / speeds[cell.name])


def test_too_few_or_scattered_launches_are_open_and_say_what_is_missing() -> None:
    noisy = find([side("a", of_times(1, cov=0.05)), side("bb", of_times(2, cov=0.05))])
    assert set(by_code(noisy).values()) == {"open"}
    assert max(cell.runs or 0 for cell in noisy.cells) > 10
    assert {cell.more for cell in noisy.cells} == {None}
    assert answer(noisy).advice
    single = find([side("a", of_times(1, launches=1)), side("bb", of_times(2, launches=1))])
    assert set(by_code(single).values()) == {"open"}
    assert all(cell.p is None and cell.speed_ci95 is None for cell in single.cells)
    assert any("single number" in sentence for sentence in answer(single).caveats)
    assert answer(single).confidence == "low"


def of_toolchains(seed: int, launches: int) -> CompareFindings:
    """Two toolchains of one run, whose times differ by 1.5% at a CoV of 2%."""
    run = run_of(
        {
            "gcc": (npb("ep", toolchain="gcc"), normal(seed, launches, 0.02)),
            "clang": (npb("ep", toolchain="clang"), 1.015 * normal(1000 + seed, launches, 0.02)),
        }
    )
    return find([Side("r:toolchain=gcc", run, "gcc"), Side("r:toolchain=clang", run, "clang")])


@pytest.mark.long
def test_the_proposed_launches_decide() -> None:
    """In eight of ten pairs of toolchains in one run."""
    decided = 0
    for seed in range(30):
        (cell,) = of_toolchains(seed, 6).cells
        (cell,) = of_toolchains(seed, 6 + min(cell.more or 0, 400)).cells
        decided += cell.verdict != "open"
    assert decided >= 18  # the difference is estimated from six launches


def test_a_single_pair_among_equal_ones_is_seldom_called_different() -> None:
    """Forty A/A pairs of six cells: 5% of pairs may differ; more than six have a chance of 1%."""
    differing = 0
    for seed in range(40):
        found = find([side("a", of_times(seed)), side("bb", of_times(5000 + seed))])
        differing += any(cell.verdict in ("slower", "faster") for cell in found.cells)
    assert differing <= 6


def test_geometric_means_are_those_of_the_cells() -> None:
    other = {
        code: (cell, values * (1.02 if code in ("lu", "bt") else 1.0))
        for code, (cell, values) in of_times(2).items()
    }
    found = find([side("a", of_times(1)), side("bb", other)])
    (mean,) = found.means
    assert (mean.what, mean.cells) == ("all cells", 6)
    assert mean.speed == pytest.approx(1.02 ** (-2 / 6), rel=0.003)
    assert mean.speed_ci95 is not None
    assert mean.speed_ci95[0] < 1.02 ** (-2 / 6) < mean.speed_ci95[1]
    product = math.prod(
        np.median(of_times(1)[code][1]) / np.median(other[code][1]) for code in CODES
    )
    assert mean.speed == pytest.approx(product ** (1 / 6))


def test_a_mean_allows_for_what_the_cells_of_a_launch_share() -> None:
    common = 1.0 + 0.02 * np.random.default_rng(3).standard_normal(6)
    shared = {code: (npb(code), 2.0 * common) for code in CODES}
    alone = {code: (npb(code), values) for code, (_, values) in of_times(1, cov=0.02).items()}
    widths = []
    for planted in (shared, alone):
        (mean,) = find([side("a", planted), side("bb", of_times(2))]).means
        assert mean.speed_ci95 is not None
        widths.append(mean.speed_ci95[1] - mean.speed_ci95[0])
    assert widths[0] > 1.5 * widths[1]


def test_a_side_that_varies_more_is_named_and_an_equal_one_is_not() -> None:
    """Kramer & Ryan (2003): does one system vary more than another?"""
    steady, varying = of_times(1, launches=12, cov=0.002), of_times(2, launches=12, cov=0.008)
    found = find([side("a", steady), side("bb", varying), side("ccc", of_times(3, launches=12))])
    more, equal = found.variation
    assert (more.side, more.cells, more.verdict) == ("B", 6, "more")
    assert more.ratio_ci95[0] < 4.0 < more.ratio_ci95[1]
    assert (equal.side, equal.verdict) == ("C", "open")
    text = answer(found).verdict
    assert text.endswith("times as much as the launches of A (6 cells).")
    assert "The launches of B vary" in text and "launches of C vary" not in text
    (table,) = (each for each in tables(found) if each.id == "compare-variation")
    assert [row[-1].text for row in table.rows] == ["more", "not distinguishable"]


def test_what_is_not_shared_is_listed() -> None:
    one, other = of_times(1), of_times(2)
    one["x"] = (npb("mg"), normal(1, 6, 0.01))
    other["y"] = (npb("sp"), normal(1, 6, 0.01))
    found = find([side("a", one), side("bb", other)])
    assert [len(run.unshared) for run in found.runs] == [1, 1]
    assert found.runs[0].unshared[0].startswith("MG")
    with pytest.raises(AssayError, match="no cell in common"):
        find([side("a", {"x": one["x"]}), side("bb", {"y": other["y"]})])


def test_toolchains_are_ignored_only_if_none_is_common() -> None:
    def with_toolchain(name: str, seed: int) -> dict[str, tuple[Cell, np.ndarray]]:
        return {"cg": (npb("cg", toolchain=name), normal(seed, 6, 0.002))}

    apart = find([side("a", with_toolchain("gcc", 1)), side("bb", with_toolchain("clang", 2))])
    assert apart.across_toolchains
    assert any("toolchain" in sentence for sentence in answer(apart).caveats)
    both = {**with_toolchain("gcc", 3), "other": (npb("cg", toolchain="clang"), normal(4, 6, 0.1))}
    found = find([side("a", with_toolchain("gcc", 1)), side("bb", both)])
    assert not found.across_toolchains
    assert [cell.cell.toolchain for cell in found.cells] == ["gcc"]
    run = run_of(both)
    found = find([Side("r:toolchain=gcc", run, "gcc"), Side("r:toolchain=clang", run, "clang")])
    assert found.across_toolchains
    assert len(found.cells) == 1


def test_all_are_compared_with_the_first() -> None:
    sides = [side("a", of_times(1)), side("bb", of_times(2, 1.05)), side("ccc", of_times(3, 0.9))]
    found = find(sides)
    assert {(cell.side, cell.verdict) for cell in found.cells} == {("B", "slower"), ("C", "faster")}
    verdict = answer(found).verdict
    assert verdict.count("of 6 shared cells") == 2


def test_imported_numbers_are_called_so() -> None:
    imported = side("a", of_times(1, launches=1))
    source = ImportedSource("npb.out", "0" * 64, 100, 10, [], [])
    manifest = msgspec.structs.replace(imported.run.manifest, imported=[source])
    imported = replace(imported, run=replace(imported.run, manifest=manifest))
    found = find([imported, side("bb", of_times(2))])
    assert found.codes
    caveats = " ".join(answer(found).caveats)
    assert "different programs" in caveats
    assert "imported" in caveats
    assert cell_table(found).caption.endswith(" Imported: A.")
    assert " Imported: A." in figures(found)[0].caption
    measured = find([side("a", of_times(1)), side("bb", of_times(2))])
    assert "Imported" not in figures(measured)[0].caption


@pytest.mark.parametrize(
    ("text", "fails"),
    [("never", False), ("slower", True), ("slower:3%", True), ("slower:6%", False)],
)
def test_fail_on_counts_significant_slowdowns_of_that_size(text: str, fails: bool) -> None:
    found = find([side("a", of_times(1)), side("bb", of_times(2, factor=1.05))])
    assert FailOn.of(text).fails(found) == fails
    noisy = find([side("a", of_times(1, cov=0.2)), side("bb", of_times(2, cov=0.2))])
    assert not FailOn.of(text).fails(noisy)


@pytest.mark.parametrize("text", ["faster", "slower:", "slower:-3%", "slower:x", ""])
def test_a_wrong_condition_is_refused(text: str) -> None:
    with pytest.raises(AssayError):
        FailOn.of(text)


@pytest.mark.parametrize("text", ["0", "1", "200%", "x", "-1%"])
def test_a_wrong_margin_is_refused(text: str) -> None:
    with pytest.raises(AssayError):
        parse_margin(text)


def test_sides_are_checked(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="at least two"):
        read_sides(tmp_path, ["a"])
    with pytest.raises(AssayError, match="no run 'a'"):
        read_sides(tmp_path, ["a", "b"])
    with pytest.raises(AssayError, match="No complete run began"):
        read_sides(tmp_path, ["@2026-01-01", "b"])


def test_sides_are_runs_of_a_day_paths_and_parts_of_names(tmp_path: Path) -> None:
    stored = [store_named(tmp_path) for _ in range(2)]
    newest = max(stored, key=lambda run: run.manifest().utc).name
    (other,) = {run.name for run in stored} - {newest}
    one, two = read_sides(tmp_path, [str(tmp_path / other), "@2999-12-31"])
    assert [side.run.manifest.run for side in (one, two)] == [other, newest]
    with pytest.raises(AssayError, match="name the same run"):
        read_sides(tmp_path, [newest, "@2999-12-31"])
    with pytest.raises(AssayError, match="has no toolchain 'gcc'"):
        read_sides(tmp_path, [f"{newest}:toolchain=gcc", other])
    with pytest.raises(AssayError, match="'n1,n2' is not a part of a run") as refused:
        read_sides(tmp_path, [f"{newest}:n1,n2", other])
    assert f"{newest}:nodes=n1,n2" in refused.value.fix


def test_every_format_shows_verdicts_and_intervals(tmp_path: Path) -> None:
    found = find([side("a", of_times(1)), side("bb", of_times(2, factor=1.05))])
    console = Console(width=120, record=True, file=io.StringIO())
    print_comparison(found, console)
    text = console.export_text()
    assert text.count("slower") >= 6
    assert "0.95" in text
    assert "geometric mean, all cells (6)" in text
    model = build_comparison(found)
    for form in ("markdown", "json"):
        (path,) = write_report(model, tmp_path / "c", [form])
        assert "slower" in path.read_text()
    encoded = json.loads(json.dumps(findings_json(found)))
    assert len(encoded["cells"]) == 6
    assert encoded["runs"][1]["name"] == "B"


def brief(found: CompareFindings, width: int = 80, height: int = 25) -> list[str]:
    console = Console(width=width, height=height, record=True, file=io.StringIO())
    print_brief(found, console)
    return console.export_text().splitlines()


@cache
def many(names: str = "BC") -> CompareFindings:
    """Forty cells per side, of which the last four are slower by 20 to 5%."""

    def planted(seed: int, slower: bool) -> dict[str, tuple[Cell, np.ndarray]]:
        times = {}
        for place in range(40):
            cell = Cell(
                "network.pingpong",
                {"bytes": 8 << place, "mode": "blocking"},
                Placement(ppn=2),
                "embedded",
            )
            factor = 1.0 + 0.05 * max(0, place - 35) if slower else 1.0
            times[str(place)] = (cell, factor * normal(1000 * seed + place, 6, 0.002))
        return times

    others = [side("b" * (place + 2), planted(place + 2, True)) for place in range(len(names))]
    return find([side("a", planted(1, False)), *others])


@pytest.mark.parametrize("names", ["B", "BC", "BCD"])
@pytest.mark.parametrize("size", [(80, 25), (80, 50), (120, 25)])
def test_a_comparison_fits_on_a_screen(names: str, size: tuple[int, int]) -> None:
    lines = brief(many(names), *size)
    assert len(lines) <= size[1] - 1
    assert len(lines) >= size[1] - 3  # and uses it
    assert max(map(len, map(str.rstrip, lines))) <= size[0]
    text = " ".join(" ".join(lines).split())
    assert f"In these two runs, of 40 shared cells {names[-1]} is slower in 4 (most: " in text
    shown = sum(re.match(r"(?:[A-D]: )?pingpong ", line) is not None for line in lines)
    assert f"… {40 * len(names) - shown} more comparisons: " in text
    assert "--verbose: all cells in full" in text


def test_the_greatest_differences_come_first_on_a_screen() -> None:
    found = many("BC")
    first = most_important(found.cells)[:8]
    assert [cell.verdict for cell in first] == ["slower"] * 8
    speeds = [cell.speed or 1.0 for cell in first]
    assert speeds == sorted(speeds)
    assert speeds[0] == pytest.approx(1 / 1.2, rel=0.01)
    assert {cell.side for cell in first} == {"B", "C"}


def test_a_screen_s_labels_leave_out_what_all_cells_of_a_kernel_share() -> None:
    cells = many("B").cells
    labels = brief_labels(cells)
    assert len(set(labels.values())) == 40
    assert "pingpong bytes=8" in labels.values()
    assert not any("blocking" in label for label in labels.values())
    one = find([side("a", of_times(1)), side("bb", of_times(2))]).cells
    assert "LU class S, 2 ranks" in brief_labels(one).values()


def test_the_figure_can_be_drawn_and_shows_each_cell() -> None:
    found = find([side("a", of_times(1)), side("bb", of_times(2, factor=1.05))])
    (figure,) = figures(found)
    assert len(figure.rows) == 6
    assert "LU" in svg(figure)
    several = find([side("a", of_times(1)), side("bb", of_times(2)), side("ccc", of_times(3))])
    (figure,) = figures(several)
    assert "C: " in svg(figure)
    (figure,) = figures(many("BCD"))
    assert [[row["side"] for row in figure.rows].count(side) for side in "BCD"] == [13] * 3
    drawn = svg(figure)
    assert "D: pingpong bytes=" in drawn
    assert ">0.9<" in drawn  # a logarithmic axis has labels below 1, too
