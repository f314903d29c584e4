"""Two runs: what other runs of the machine tell, other processes, several runs as one side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from assay.errors import AssayError
from assay.model.cell import Cell
from assay.records.model import RunData
from assay.records.reading import read_run
from assay.stats.repeats.repeats import repeats_of
from assay.subjects.compare.answer import answer
from assay.subjects.compare.findings import find
from assay.subjects.compare.model import CompareFindings
from assay.subjects.compare.other_runs import OtherRun, OtherRuns, machine_of, read_other_runs
from assay.subjects.compare.sides import Side, read_sides
from assay.subjects.compare.tables import interval_words, verdict_words
from named_runs import store_named
from variation_builder import BEGAN, normal, npb, run_of

CODES = ("cg", "ep", "ft", "mg")
HOUR = 3600.0


def times(seed: int, between: float, cov: float = 0.005) -> dict[str, tuple[Cell, np.ndarray]]:
    """Launches of a run, whose level scatters by ``between`` from run to run."""
    states = np.random.default_rng(seed).standard_normal(len(CODES))
    return {
        code: (npb(code), np.exp(between * state) * normal(100 * seed + place, 6, cov))
        for place, (code, state) in enumerate(zip(CODES, states, strict=True))
    }


def side(seed: int, between: float = 0.0, hour: float = 0.0, factor: float = 1.0) -> Side:
    planted = {code: (cell, factor * v) for code, (cell, v) in times(seed, between).items()}
    run = run_of(planted, name=f"20260101T{seed:06d}Z-box-quick", began=BEGAN + hour * HOUR)
    manifest = msgspec.structs.replace(run.manifest, utc=BEGAN + hour * HOUR)
    return Side(f"run {seed}", replace(run, manifest=manifest))


def others(run: RunData, seeds: range, between: float, factor: float = 1.0) -> list[OtherRun]:
    return [
        OtherRun(
            BEGAN + seed * HOUR,
            {
                each.cell.id: each.values
                for each in repeats_of(side(seed, between, factor=factor).run)
            },
        )
        for seed in seeds
    ]


def busy(of: Side, cpus: float, seconds: float = 1.0) -> Side:
    """The side, while other processes kept so many CPUs of two busy."""
    covariates = {
        "other_cpu_seconds": cpus * seconds,
        "sampling_seconds": seconds,
        "online_cpus": 2.0,
    }
    run = replace(
        of.run,
        measurements=tuple(
            replace(m, record=msgspec.structs.replace(m.record, covariates=covariates))
            for m in of.run.measurements
        ),
    )
    return replace(of, run=run)


def verdicts(found: CompareFindings) -> set[str]:
    return {cell.verdict for cell in found.cells}


def test_runs_that_differ_as_other_runs_do_are_undecided() -> None:
    one, other = side(1, 0.05), side(2, 0.05, hour=100)
    machine = machine_of(one)
    known = OtherRuns({machine: others(one.run, range(3, 23), 0.05)})
    found = find([one, other], others=known)
    assert verdicts(found) == {"open"}
    assert any(cell.in_runs for cell in found.cells)  # by the launches alone they differ
    for cell in found.cells:
        assert cell.other_runs == 20
        assert cell.holds_for == "machines"
        assert cell.p is not None
        assert cell.p_launches is not None
        if cell.in_runs:
            assert verdict_words(cell, 0.01).endswith(f"({cell.in_runs} in these two runs)")
    text = " ".join(answer(found).caveats)
    assert "by the scatter between 20 other runs in the folder" in text
    assert "and over runs" in interval_words(found)


def test_other_runs_that_are_alike_permit_a_small_difference() -> None:
    """1.5% at a scatter of 0.5%: too little for two runs alone, enough beside 20 others."""
    one, other = side(1), side(2, hour=100, factor=1.015)
    machine = machine_of(one)
    alone = find([one, other])
    assert "slower" not in verdicts(alone)
    assert {cell.in_runs for cell in alone.cells} == {"slower"}
    assert {cell.other_runs for cell in alone.cells} == {0}
    assert all(cell.runs for cell in alone.cells)
    assert "assumed to equal the scatter between launches" in " ".join(answer(alone).caveats)
    verdict = answer(alone).verdict
    assert "undecided in 4 shared cells (slower in 4 by launches only)" in verdict
    assert any("runs per side" in sentence for sentence in answer(alone).advice)
    known = OtherRuns({machine: others(one.run, range(3, 23), 0.0)})
    assert verdicts(find([one, other], others=known)) == {"slower"}


def test_a_change_between_the_sides_is_no_scatter() -> None:
    """Ten runs before it and ten after it, 10% slower."""
    one, other = side(1, hour=13.5), side(2, hour=40.5, factor=1.1)
    machine = machine_of(one)
    before = others(one.run, range(3, 13), 0.003)
    after = others(one.run, range(41, 51), 0.003, factor=1.1)
    found = find([one, other], others=OtherRuns({machine: [*before, *after]}))
    assert verdicts(found) == {"slower"}
    assert {cell.other_runs for cell in found.cells} == {20}


def test_parts_of_one_run_are_compared_by_launches() -> None:
    run = run_of(
        {
            "gcc": (npb("cg", toolchain="gcc"), normal(1, 6, 0.005)),
            "clang": (npb("cg", toolchain="clang"), 1.02 * normal(2, 6, 0.005)),
        }
    )
    found = find([Side("r:toolchain=gcc", run, "gcc"), Side("r:toolchain=clang", run, "clang")])
    (cell,) = found.cells
    assert (cell.verdict, cell.separate) == ("slower", False)
    assert "these launches of one run" in " ".join(answer(found).caveats)


def test_other_processes_are_named_and_leave_the_difference_open() -> None:
    one, other = side(1), side(2, hour=1, factor=1.3)
    assert verdicts(find([one, other])) == {"slower"}
    found = find([one, busy(other, 1.2)])
    assert verdicts(found) == {"open"}
    for cell in found.cells:
        assert cell.disturbed
        assert cell.reference_busy is None
        assert cell.other_busy == pytest.approx(1.2)
        assert verdict_words(cell, 0.01) == (
            "undecided: other processes (slower in these two runs)"
        )
    reply = answer(found)
    assert reply.confidence == "low"
    assert "ther processes kept 1.2 of 2 CPUs busy" in reply.confidence_why
    assert reply.advice[0].startswith("Measure again when the node is quiet")
    assert any(
        "During B other processes kept 1.2 of 2 CPUs busy" in sentence
        and "4 comparisons can't be decided" in sentence
        for sentence in reply.caveats
    )


def test_few_other_processes_limit_the_confidence_alone() -> None:
    def of_many(each: Side) -> Side:
        each = busy(each, 1.2)
        run = replace(
            each.run,
            measurements=tuple(
                replace(
                    m,
                    record=msgspec.structs.replace(
                        m.record, covariates={**m.record.covariates, "online_cpus": 64.0}
                    ),
                )
                for m in each.run.measurements
            ),
        )
        return replace(each, run=run)

    one, other = side(1), side(2, hour=1, factor=1.3)
    known = OtherRuns({machine_of(one): others(one.run, range(3, 23), 0.0)})
    found = find([one, of_many(other)], others=known)
    assert verdicts(found) == {"slower"}
    assert answer(found).confidence == "medium"
    quiet = find([busy(one, 0.01), busy(other, 0.02)], others=known)
    assert verdicts(quiet) == {"slower"}
    assert answer(quiet).confidence == "high"


def test_other_processes_without_a_difference_are_not_its_reason() -> None:
    found = find([side(1), busy(side(2, hour=1), 1.2)])
    assert verdicts(found) == {"open"}
    for cell in found.cells:
        assert cell.disturbed
        assert "other processes" not in verdict_words(cell, 0.01)
    assert any("During B" in sentence for sentence in answer(found).caveats)


def test_other_processes_of_several_runs_of_a_machine_are_a_mean() -> None:
    runs = [busy(side(seed, hour=seed), cpus).run for seed, cpus in ((2, 0.6), (3, 1.2))]
    pooled = Side("b", runs[0], members=tuple(runs), name="b", pooled=True)
    contention = find([side(1), pooled]).runs[1].contention
    assert contention is not None
    assert (contention.busy, contention.cpus) == (pytest.approx(0.9), 2)


def test_a_short_cell_does_not_hide_the_contention_of_another() -> None:
    """Ten milliseconds of sampling show nothing, whatever the counters say."""
    one, other = side(1), side(2, hour=1)
    disturbed = busy(other, 0.9).run.measurements
    short = busy(other, 4.0, seconds=0.002).run.measurements
    cells = {m.cell.id for m in disturbed}
    first = min(cells)
    run = replace(
        other.run,
        measurements=tuple(
            b if b.cell.id == first else a for a, b in zip(disturbed, short, strict=True)
        ),
    )
    found = find([one, replace(other, run=run)])
    contention = found.runs[1].contention
    assert contention is not None
    assert contention.busy == pytest.approx(0.9)


def test_several_runs_are_one_side_whose_runs_count(tmp_path: Path) -> None:
    stored = [store_named(tmp_path).name for _ in range(6)]
    one, other = read_sides(tmp_path, ["+".join(stored[:3]), "+".join(stored[3:])])
    found = find([one, other])
    measured = [cell for cell in found.cells if cell.unit_of_test == "sessions"]
    assert measured
    for cell in measured:
        assert (cell.reference_units, cell.other_units) == (3, 3)
        assert cell.holds_for == "machines"
    assert found.runs[0].sessions == 3
    with pytest.raises(AssayError, match="names a run twice"):
        read_sides(tmp_path, [f"{stored[0]}+{stored[0]}", stored[1]])
    with pytest.raises(AssayError, match="no run 'zqnone'"):
        read_sides(tmp_path, [f"{stored[0]}+zqnone", stored[1]])


def test_other_runs_are_read_from_the_folder(tmp_path: Path) -> None:
    stored = [store_named(tmp_path).name for _ in range(6)]
    store_named(tmp_path, system="elsewhere")
    sides = read_sides(tmp_path, stored[:2])
    read = read_other_runs(tmp_path, sides)
    (found,) = read.of_machine.values()
    expected = [read_run(tmp_path / name) for name in stored[2:]]
    assert sorted(run.utc for run in found) == sorted(run.manifest.utc for run in expected)
    of_run = {each.cell.id: each.values for each in repeats_of(expected[0])}
    same = next(run for run in found if run.utc == expected[0].manifest.utc)
    assert same.values.keys() == of_run.keys()
    for cell, values in of_run.items():
        assert np.sort(same.values[cell]) == pytest.approx(np.sort(values))
    (tmp_path / stored[3] / "measurements.parquet").write_bytes(b"damaged")
    (found,) = read_other_runs(tmp_path, sides).of_machine.values()
    assert len(found) == 3
