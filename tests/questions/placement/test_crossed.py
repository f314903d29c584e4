"""Effects of compilers, MPIs and placements: planted effects are found, and no others."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Mapping
from itertools import product

import msgspec
import numpy as np
import pytest

from asking import reply_to
from assay.charts.drawing import csv_text, svg
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.model.plan import Plan
from assay.model.replication import Replication
from assay.questions.common.answer import Answer
from assay.questions.common.question import Measured
from assay.questions.placement.ratios import topic as ratios
from assay.questions.placement.toolchains.answer import extremes, sentence, share_text
from assay.questions.placement.toolchains.figures import LEFT, TOGETHER, figures
from assay.questions.placement.toolchains.findings import ToolchainFindings, crossed_factors, find
from assay.questions.placement.toolchains.tables import tables
from assay.records.model import RunData
from assay.report import build_report
from assay.stats.cells.summarise import summarise_cells
from report_builder import make_measurement, make_run

CXX = ("g++", "clang++")
MPI = {"mpich": "5.0.2", "openmpi": "5.0.11"}
TOOLCHAINS: dict[str, dict[str, object]] = {
    f"{cxx}-{mpi}": {
        "cxx": cxx,
        "cxx_version": f"{cxx} 12.2.0",
        "flags": "-O3",
        "mpi_flavour": mpi,
        "mpi_version": version,
    }
    for cxx, (mpi, version) in product(CXX, MPI.items())
}
Effect = Callable[[str, str, int], float]


def run_of(
    effects: Mapping[str, Effect],
    *,
    noise: float = 0.01,
    seed: int = 1,
    launches: int = 6,
    left_out: frozenset[tuple[str, int]] = frozenset(),
    toolchains: Mapping[str, dict[str, object]] = TOOLCHAINS,
) -> RunData:
    """Each benchmark with each toolchain on 1 and 2 ranks: exp(effect) seconds and noise."""
    rng = np.random.default_rng(seed)
    measurements = []
    for code, effect in effects.items():
        for (name, facts), ppn in product(toolchains.items(), (1, 2)):
            if (name, ppn) in left_out:
                continue
            cell = Cell(f"npb.{code}", {"class": "W"}, Placement(1, ppn), name)
            centre = effect(str(facts.get("cxx", name)), str(facts.get("mpi_flavour", "")), ppn)
            for replicate in range(launches):
                time = math.exp(centre + noise * rng.standard_normal())
                measurements.append(make_measurement(cell, [time], replicate))
    run = make_run([], measurements=measurements, launches=[], toolchains=dict(toolchains))
    cells = tuple(dict.fromkeys(m.cell.id for m in measurements))
    by_id = {m.cell.id: m.cell for m in measurements}
    plan = Plan("toolchains", "Toolchains", tuple(by_id[c] for c in cells), Replication(), 1)
    return dataclasses.replace(run, manifest=msgspec.structs.replace(run.manifest, plan=plan))


def bt(cxx: str, mpi: str, ppn: int) -> float:
    """Clang costs 20%, a second rank gains 15%, and with Open MPI a third of that gain is lost."""
    return 0.2 * (cxx == "clang++") - 0.15 * (ppn == 2) + 0.05 * (ppn == 2) * (mpi == "openmpi")


def nothing(cxx: str, mpi: str, ppn: int) -> float:
    return 0.0


def answered(run: RunData) -> Answer:
    return reply_to("placement", summarise_cells(run), run).answer


def crossed(run: RunData) -> ToolchainFindings:
    found = find(Measured(run, summarise_cells(run)))
    assert found is not None
    return found


def shares(effect: Effect, noise: float) -> dict[str, float]:
    """The planted shares, by the definition: of all variance over the eight combinations."""
    places = list(product(CXX, MPI, (1, 2)))
    values = np.array([effect(*place) for place in places]).reshape(2, 2, 2)
    centred = values - values.mean()
    whole = (centred**2).mean() + noise**2
    found = {}
    for axis, name in enumerate(("compiler", "MPI", "ranks per node")):
        others = tuple(k for k in range(3) if k != axis)
        found[name] = float((centred.mean(axis=others) ** 2).mean() / whole)
    return found


def test_planted_effects_come_back_as_shares() -> None:
    run = run_of({"bt": bt})
    (found,) = crossed_factors(summarise_cells(run), run)
    assert found.title == "BT class W"
    assert found.parts == ("compiler", "MPI")
    alone = {e.factors[0]: e for e, _ in found.significant if len(e.factors) == 1}
    for name, planted in shares(bt, 0.01).items():
        assert alone[name].share == pytest.approx(planted, abs=0.02)
        low, high = alone[name].share_ci95 or (1.0, 0.0)
        assert low <= (alone[name].share or 0.0) <= high
    pairs = [set(e.factors) for e, _ in found.significant if len(e.factors) == 2]
    assert pairs == [{"MPI", "ranks per node"}]
    assert alone["compiler"].levels["clang++ 12.2.0"] == pytest.approx(math.exp(0.2), rel=0.01)
    words = sentence(found)
    of_compiler = share_text(alone["compiler"].share)
    assert words.startswith(f"compiler explains {of_compiler} of BT class W's variation over the")
    assert "variation over the plan (p < 0.001), ranks per node " in words
    assert "; MPI × ranks per node " in words
    assert extremes(found, "compiler", 3).startswith("clang++ 12.2.0 takes 1.2")
    assert found.extremes["compiler"].ci95[0] < math.exp(0.2) < found.extremes["compiler"].ci95[1]


def test_the_answer_names_the_effects_and_the_fastest() -> None:
    run = run_of({"bt": bt, "cg": bt, "ep": lambda c, m, p: -0.5 * (p == 2), "mg": nothing})
    answer = answered(run)
    assert answer.status == "answered"
    shares = r"Shares of the variation over the plan: compiler explains \d+%( to \d+%)? of"
    assert re.search(f"{shares} BT class W, CG", answer.verdict)
    assert re.search("ranks per node explains (99|100)% of EP class W", answer.verdict)
    assert "no factor has a significant effect on MG class W" in answer.verdict
    compiler, *_ = [line for line in answer.advice if line.startswith("Compiler: ")]
    assert compiler.startswith("Compiler: g++ 12.2.0 is the fastest in the geometric mean over 4")
    assert "clang++ 12.2.0 takes 1.1" in compiler and "(" in compiler
    labels = [row.label for row in answer.evidence]
    assert "BT class W: compiler" in labels and "MG class W: compiler" not in labels
    assert all(row.unit == "1" and row.ci95 is not None for row in answer.evidence)
    assert any("type II sums of squares" in line for line in answer.method)
    assert any("levels in the plan" in line for line in answer.limits)


@pytest.mark.long
def test_without_effects_hardly_any_run_reports_one() -> None:
    """Of runs without any effect 5% report one: more than 7 of 40 have a probability of 0.1%."""
    claims = 0
    for seed in range(40):
        run = run_of({"bt": nothing}, seed=100 + seed)
        found = crossed_factors(summarise_cells(run), run)
        claims += any(each.significant for each in found)
    assert claims <= 7


def test_unmeasured_combinations_are_reported() -> None:
    run = run_of({"bt": bt}, left_out=frozenset({("clang++-openmpi", 1), ("clang++-openmpi", 2)}))
    (found,) = crossed_factors(summarise_cells(run), run)
    assert any("1 of 4 combinations of compiler and MPI" in line for line in found.anova.missing)
    (effects, _) = tables(crossed(run))
    assert "1 of 4 combinations" in effects.notes[0]


def test_unknown_toolchains_are_named() -> None:
    run = run_of({"bt": lambda c, m, p: 0.3 * (c == "one")}, toolchains={"one": {}, "two": {}})
    (found,) = crossed_factors(summarise_cells(run), run)
    assert found.leading is not None and found.leading.factors == ("toolchain",)


def test_one_toolchain_is_no_comparison() -> None:
    only = {"g++-mpich": TOOLCHAINS["g++-mpich"]}
    run = run_of({"bt": bt}, toolchains=only)
    assert crossed_factors(summarise_cells(run), run) == []
    assert answered(run).status == "unmeasured"


def test_tables_and_figure_show_every_effect() -> None:
    run = run_of({"bt": bt, "mg": nothing})
    cells = summarise_cells(run)
    effects, levels = tables(crossed(run))
    assert [row[1].text for row in effects.rows[:7]] == [
        "compiler", "MPI", "ranks per node", "compiler × MPI", "compiler × ranks per node",
        "MPI × ranks per node", "residual",
    ]  # fmt: skip
    assert effects.rows[0][6].tone == "good" and effects.rows[7][6].tone == "quiet"
    assert len(effects.notes) == 2 and "Shapiro–Wilk" in effects.notes[0]
    names = [column.label for column in levels.columns]
    assert "compiler: clang++ 12.2.0" in names and "ranks per node: 2" in names
    clang = names.index("compiler: clang++ 12.2.0")
    assert levels.rows[0][clang].value == pytest.approx(math.exp(0.2), rel=0.01)
    (figure,) = figures(crossed(run))
    by_work = [row for row in figure.rows if row["work"] == "BT class W"]
    assert [row["factor"] for row in by_work][-2:] == [TOGETHER, LEFT]
    compared = ratios.TOPIC.find(Measured(run, cells))
    assert compared is not None
    by_id = {table.id: table for table in ratios.TOPIC.tables(compared)}
    of_nodes = by_id["placement-nodes"].rows
    assert [row[0].text for row in of_nodes][:2] == [
        "BT class W, g++-mpich",
        "BT class W, g++-openmpi",
    ]
    assert of_nodes[1][2].value == pytest.approx(math.exp(0.10), rel=0.02)
    assert sum(float(row["share"] or 0.0) for row in by_work) == pytest.approx(1.0, abs=0.02)
    for theme in ("light", "dark"):
        assert "BT class W" in svg(figure, theme)
    assert "share (1)" in csv_text(figure)
    section = next(s for s in build_report(run, cells).sections if s.id == "placement")
    assert {table.id for table in section.tables} >= {"placement-variance", "placement-levels"}
    assert "placement-variance" in {figure.id for figure in section.figures}


def test_shares_in_words() -> None:
    assert [share_text(s) for s in (0.614, 0.0213, 0.0042, 0.0004)] == [
        "61%", "2%", "0.4%", "under 0.1%",
    ]  # fmt: skip
