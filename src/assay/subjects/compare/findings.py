"""The findings of a comparison of runs, of parts of runs, and of published figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from assay.errors import AssayError
from assay.kernels import known_kernel
from assay.questions.common.contention import worst
from assay.records.model import system_name
from assay.stats.cells.contention import Contention
from assay.stats.compare.run_scatter import RunScatter
from assay.stats.compare.two_sides import contributions, mean_ratio
from assay.stats.compare.variation_ratio import LEVEL, variation_ratio
from assay.stats.compare.verdicts import PairDecision, decide, shared_worth
from assay.stats.core.launches import launch_interval
from assay.subjects.compare.matching import (
    MatchedResult,
    SideResults,
    across_toolchains,
    matched,
    results_of,
)
from assay.subjects.compare.model import (
    CellContribution,
    ComparedCell,
    ComparedRun,
    ComparedStep,
    ComparedVariation,
    CompareFindings,
    MeanSpeed,
    PerClock,
)
from assay.subjects.compare.other_runs import OtherRuns
from assay.subjects.compare.published import PublishedSide
from assay.subjects.compare.results import SideResult
from assay.subjects.compare.run_results import codes_of
from assay.subjects.compare.sides import AnySide

MARGIN = 0.01
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOST_SIDES = len(_LETTERS)


def find(
    sides: Sequence[AnySide],
    margin: float = MARGIN,
    *,
    scale_clock: bool = False,
    others: OtherRuns | None = None,
) -> CompareFindings:
    """Compare the first side with each other side, cell by cell.

    Cells match if kernel, parameters, placement and toolchain are equal. The toolchain is ignored
    if the runs have none in common and each run has only one. Imported and published results are
    matched as far as they state kernel, class and processors. Raises AssayError if the sides have
    no cell in common, or if there are more sides than letters. ``margin``: between 0 and 1, as
    ``parse_margin`` returns it. Results of different codes have no verdict unless a side's run
    measured the ratio of the codes. ``scale_clock``: also compute speeds at equal clock rates.
    ``others``: other runs of the sides' machines, from ``read_other_runs``.
    """
    if len(sides) > MOST_SIDES:
        raise AssayError(f"At most {MOST_SIDES} runs can be compared.")
    results = [results_of(side) for side in sides]
    across = across_toolchains(results)
    found = [
        each
        for letter, other in zip(_LETTERS[1:], results[1:], strict=False)
        for each in matched(letter, results[0], other, across, others)
    ]
    if not found:
        raise AssayError(
            "These runs have no cell in common.",
            fix="Cells match if their kernel, parameters, placement and toolchain are equal; "
            "published cells match by kernel, class and processors. `assay report RUN "
            "--format terminal` shows them.",
        )
    decisions = decide([each.pair() for each in found], margin)
    cells = [
        _compared(each, decision, scale_clock)
        for each, decision in zip(found, decisions, strict=True)
    ]
    return CompareFindings(
        runs=_runs(results, found),
        margin=margin,
        cells=sorted(cells, key=_order),
        means=_means(found, dict(zip(_LETTERS, sides, strict=False)), others or OtherRuns()),
        variation=_variation(found),
        across_toolchains=across,
        codes=any(not each.same_code for each in found),
        worth=shared_worth([each.pair() for each in found if each.unit == "launches"]),
        scaled_clock=scale_clock,
    )


def _runs(results: Sequence[SideResults], found: Sequence[MatchedResult]) -> list[ComparedRun]:
    runs = []
    for letter, of_side in zip(_LETTERS, results, strict=False):
        shared = {
            each.one.cell.id if letter == "A" else each.other.cell.id
            for each in found
            if letter in ("A", each.side)
        }
        unshared = [each.name for each in of_side.main if each.cell.id not in shared]
        compared = [
            each.one if letter == "A" else each.other
            for each in found
            if letter in ("A", each.side)
        ]
        runs.append(_run(letter, of_side, unshared, worst(each.contention for each in compared)))
    return runs


def _run(
    letter: str, of_side: SideResults, unshared: list[str], contention: Contention | None
) -> ComparedRun:
    side = of_side.side
    codes = [code or "not stated" for code in codes_of(of_side.main)]
    if isinstance(side, PublishedSide):
        return ComparedRun(
            name=letter,
            run=side.words,
            kind="published",
            toolchain=None,
            nodes=None,
            system=side.cluster.name,
            suite=side.paper,
            utc=None,
            complete=True,
            imported=False,
            codes=codes,
            assay="",
            sessions=0,
            clock=side.clock,
            cells=len(side.results),
            unshared=[*unshared, *side.others],
            left_out=0,
            contention=None,
        )
    manifest = side.run.manifest
    return ComparedRun(
        name=letter,
        run=side.title,
        kind="imported" if manifest.imported else "run",
        toolchain=side.toolchain,
        nodes=None if side.nodes is None else list(side.nodes),
        system=system_name(manifest, "" if side.pooled else side.name),
        suite=manifest.plan.name,
        utc=manifest.utc,
        complete=all(run.complete for run in side.members or (side.run,)),
        imported=bool(manifest.imported),
        codes=codes,
        assay="" if manifest.imported else manifest.assay,
        sessions=of_side.sessions,
        clock=of_side.clock,
        cells=len(of_side.main),
        unshared=unshared,
        left_out=side.left_out(),
        contention=contention,
    )


def _compared(each: MatchedResult, found: PairDecision, scale_clock: bool) -> ComparedCell:
    one, other = each.one, each.other
    values, others = each.values
    name = other.name if other.foreign and not one.foreign else one.name
    held: Literal["runs", "machines", "nodes"] = "runs"
    if each.unit != "launches":
        held = "machines" if each.unit == "sessions" else "nodes"
    elif each.scatter is not None or found.step is not None:
        held = "machines"
    return ComparedCell(
        side=each.side,
        cell=one.cell,
        name=name,
        metric=one.metric,
        unit=one.unit,
        better=one.better,
        unit_of_test=each.unit,
        reference=float(np.median(values)),
        reference_ci95=launch_interval(values),
        reference_units=int(values.size),
        reference_launches=int(one.values.size),
        reference_code=one.code,
        other=float(np.median(others)),
        other_ci95=launch_interval(others),
        other_units=int(others.size),
        other_launches=int(other.values.size),
        other_code=other.code,
        note="; ".join(filter(None, [one.note, other.note])),
        speed=found.speed,
        speed_ci95=found.speed_ci95,
        code_factor=None if each.codes is None else each.codes.estimate.value,
        code_factor_ci95=None if each.codes is None else each.codes.estimate.interval,
        code_factor_of="" if each.codes is None else each.codes.text,
        effect=found.effect,
        per_clock=_per_clock(one, other, found) if scale_clock else None,
        test=found.test,
        why=found.why,
        p=found.p,
        p_corrected=found.p_corrected,
        verdict=found.verdict,
        holds_for=held,
        separate=each.pair().between_runs,
        other_runs=0 if each.scatter is None else each.scatter.runs,
        in_runs=found.in_runs,
        disturbed=each.disturbed,
        reference_busy=None if one.contention is None else one.contention.busy,
        other_busy=None if other.contention is None else other.contention.busy,
        p_launches=found.p_launches,
        if_exact=found.if_exact,
        more=found.more,
        runs=found.runs,
        step=None
        if found.step is None
        else ComparedStep(found.step.ratio, found.step.interval, found.step.p, found.step.runs),
    )


def _per_clock(one: SideResult, other: SideResult, found: PairDecision) -> PerClock | None:
    if not one.clock or not other.clock or found.speed is None:
        return None
    factor = one.clock / other.clock
    interval = found.speed_ci95
    return PerClock(
        reference=one.clock,
        other=other.clock,
        speed=found.speed * factor,
        speed_ci95=None if interval is None else (interval[0] * factor, interval[1] * factor),
    )


def _order(cell: ComparedCell) -> tuple[str, int, float]:
    """Decided differences first, in order of size; then equal, open and undecidable cells."""
    rank = {"slower": 0, "faster": 0, "same": 1, "open": 2, "none": 3}[cell.verdict]
    return cell.side, rank, -abs(float(np.log(cell.speed))) if cell.speed else 0.0


def _means(
    found: Sequence[MatchedResult], sides: Mapping[str, AnySide], others: OtherRuns
) -> list[MeanSpeed]:
    """The geometric mean of all cells of a side, and of each kernel family with several cells."""
    means = []
    for side in dict.fromkeys(each.side for each in found):
        of_side = [each for each in found if each.side == side and each.same_code]
        families = dict.fromkeys(_family(each.one.cell.kernel) for each in of_side)
        groups = {"all cells": of_side} | {
            family: [each for each in of_side if _family(each.one.cell.kernel) == family]
            for family in families
            if len(families) > 1
        }
        for what, group in groups.items():
            if len(group) > 1:
                ids = [each.one.cell.id for each in group]
                scatter = others.mean_scatter(ids, sides["A"], sides[side])
                means.append(_mean(what, group, scatter))
    return means


def _variation(found: Sequence[MatchedResult]) -> list[ComparedVariation]:
    """The ratio of the coefficients of variation of each side's launches to the reference's."""
    sides = list(dict.fromkeys(each.side for each in found))
    compared = []
    for side in sides:
        launches = [(each.one.values, each.other.values) for each in found if each.side == side]
        ratio = variation_ratio(launches)
        if ratio is None:
            continue
        verdict: Literal["more", "less", "open"] = "open"
        if ratio.p <= LEVEL / len(sides):
            verdict = "more" if ratio.ratio > 1.0 else "less"
        compared.append(
            ComparedVariation(
                side=side,
                cells=ratio.cells,
                ratio=ratio.ratio,
                ratio_ci95=ratio.interval,
                p=ratio.p,
                verdict=verdict,
            )
        )
    return compared


def _mean(what: str, group: Sequence[MatchedResult], scatter: RunScatter | None) -> MeanSpeed:
    """The mean of the cells. Their values are launches unless all cells share another unit."""
    if len({each.unit for each in group}) > 1:
        group = [replace(each, unit="launches", codes=None) for each in group]
    pairs = [each.pair() for each in group]
    one, other = [pair.one for pair in pairs], [pair.other for pair in pairs]
    separate = all(pair.between_runs for pair in pairs)
    speed, interval = mean_ratio(
        one, other, shared_worth(pairs), separate=separate, scatter=scatter
    )
    parts: list[CellContribution] = []
    if speed is not None:
        parts = [
            CellContribution(each.one.cell, each.one.name, factor, share)
            for each, (factor, share) in zip(group, contributions(one, other), strict=True)
        ]
    parts.sort(key=lambda part: -abs(float(np.log(part.factor))))
    return MeanSpeed(
        side=group[0].side,
        what=what,
        cells=len(group),
        speed=speed,
        speed_ci95=interval,
        contributions=parts,
    )


def _family(kernel: str) -> str:
    known = known_kernel(kernel)
    return kernel.partition(".")[0] if known is not None else kernel
