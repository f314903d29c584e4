"""The findings of a comparison of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.errors import AssayError
from assay.kernels import known_kernel
from assay.kernels.naming import cell_title
from assay.model.cell import Cell
from assay.questions.compare.model import (
    ComparedCell,
    ComparedRun,
    CompareFindings,
    CompareVerdict,
    MeanSpeed,
)
from assay.questions.compare.sides import Side
from assay.records.summary import system_name
from assay.stats.compare.groups import location_differs
from assay.stats.compare.two_sides import launches_needed, mean_ratio, ratio_of_sides
from assay.stats.core.intervals import Floats, Interval
from assay.stats.core.launches import launch_interval
from assay.stats.core.multiple import corrected
from assay.stats.repeats.repeats import Repeats, repeats_of

MARGIN = 0.01
_LEVEL = 0.05
# Minimum number of launches per side for a test.
_MIN_LAUNCHES = 2
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOST_SIDES = len(_LETTERS)


@dataclass(frozen=True)
class _Matched:
    """One cell on both sides."""

    side: str
    one: Repeats
    other: Repeats


def find(sides: Sequence[Side], margin: float = MARGIN) -> CompareFindings:
    """Compare the first side with each other one, cell by cell.

    Cells are equal by kernel, parameters, placement and toolchain; where no toolchain is common to
    all sides and each has a single one, the toolchain is ignored. Raises AssayError where nothing
    is common, and for more sides than letters. ``margin``: between 0 and 1, as ``parse_margin``
    returns it.
    """
    if len(sides) > MOST_SIDES:
        raise AssayError(f"At most {MOST_SIDES} runs can be compared.")
    results = [_results(side) for side in sides]
    across = _across_toolchains(results)
    keyed = [{_key(each.cell, each.metric, across): each for each in found} for found in results]
    matched = [
        _Matched(letter, keyed[0][key], other[key])
        for letter, other in zip(_LETTERS[1:], keyed[1:], strict=False)
        for key in keyed[0]
        if key in other
    ]
    if not matched:
        raise AssayError(
            "These runs have no cell in common.",
            fix="Cells are equal if kernel, parameters, placement and toolchain are; "
            "`assay report RUN --format terminal` shows them.",
        )
    cells = _decided([_compared(each, margin) for each in matched], matched, margin)
    return CompareFindings(
        runs=_runs(sides, keyed),
        margin=margin,
        cells=sorted(cells, key=_order),
        means=_means(matched),
        across_toolchains=across,
        codes=len({side.run.manifest.imported != [] for side in sides}) > 1,
    )


def _results(side: Side) -> list[Repeats]:
    found = [each for each in repeats_of(side.run) if len(each)]
    if side.toolchain is not None:
        found = [each for each in found if each.cell.toolchain == side.toolchain]
    return found


def _across_toolchains(results: Sequence[Sequence[Repeats]]) -> bool:
    toolchains = [{each.cell.toolchain for each in found} for found in results]
    return all(len(names) == 1 for names in toolchains) and not set.intersection(*toolchains)


def _key(cell: Cell, metric: str, across: bool) -> tuple[str, str]:
    if across:
        cell = Cell(cell.kernel, cell.parameters, cell.placement, "")
    return cell.id, metric


def _runs(
    sides: Sequence[Side], keyed: Sequence[dict[tuple[str, str], Repeats]]
) -> list[ComparedRun]:
    runs = []
    for place, (letter, side, cells) in enumerate(zip(_LETTERS, sides, keyed, strict=False)):
        others = [keyed[0]] if place else keyed[1:]
        unshared = [
            cell_title(each.cell)
            for key, each in cells.items()
            if not any(key in other for other in others)
        ]
        manifest = side.run.manifest
        runs.append(
            ComparedRun(
                name=letter,
                run=manifest.run,
                toolchain=side.toolchain,
                system=system_name(manifest.run, manifest.system),
                suite=manifest.plan.name,
                utc=manifest.utc,
                complete=side.run.complete,
                imported=bool(manifest.imported),
                cells=len(cells),
                unshared=unshared,
            )
        )
    return runs


def _compared(each: _Matched, margin: float) -> ComparedCell:
    """The cell with p of its test, still without the verdict."""
    one, other = each.one, each.other
    ratio, interval = ratio_of_sides(*_speeds(one, other))
    test, why, p = "", "", None
    if min(len(one), len(other)) >= _MIN_LAUNCHES:
        difference = location_differs({"one": one.values, "other": other.values}, margin=margin)
        test, why, p = difference.test, difference.why, difference.p
    return ComparedCell(
        side=each.side,
        cell=one.cell,
        name=cell_title(one.cell),
        metric=one.metric,
        unit=one.unit,
        better=one.better,
        reference=float(np.median(one.values)),
        reference_ci95=launch_interval(one.values),
        reference_launches=len(one),
        other=float(np.median(other.values)),
        other_ci95=launch_interval(other.values),
        other_launches=len(other),
        speed=ratio,
        speed_ci95=interval,
        test=test,
        why=why,
        p=p,
        p_corrected=None,
        verdict="open",
        more=None,
    )


def _speeds(one: Repeats, other: Repeats) -> tuple[Floats, Floats]:
    """Both sides' values such that the second over the first is the factor of speed."""
    return (one.values, other.values) if one.better == "more" else (other.values, one.values)


def _decided(
    cells: Sequence[ComparedCell], matched: Sequence[_Matched], margin: float
) -> list[ComparedCell]:
    """The cells with p corrected for all of them, their verdicts and what open ones need."""
    p_values = corrected([float("nan") if cell.p is None else cell.p for cell in cells])
    decided = []
    for cell, each, p in zip(cells, matched, p_values, strict=True):
        p_corrected = None if cell.p is None else float(p)
        verdict = _verdict(cell, p_corrected, margin)
        more = None
        if verdict == "open":
            needed = launches_needed(each.one.values, each.other.values, margin, len(cells))
            there = min(cell.reference_launches, cell.other_launches)
            more = max(needed - there, 1) if needed is not None else None
        decided.append(replace(cell, p_corrected=p_corrected, verdict=verdict, more=more))
    return decided


def _verdict(cell: ComparedCell, p: float | None, margin: float) -> CompareVerdict:
    if p is not None and p <= _LEVEL:
        worse = (
            cell.other < cell.reference if cell.better == "more" else cell.other > cell.reference
        )
        return "slower" if worse else "faster"
    interval: Interval | None = cell.speed_ci95
    if interval and 1.0 / (1.0 + margin) <= interval[0] and interval[1] <= 1.0 + margin:
        return "same"
    return "open"


def _order(cell: ComparedCell) -> tuple[str, int, float]:
    """Decided differences first, the greatest first; then equal cells, then open ones."""
    rank = {"slower": 0, "faster": 0, "same": 1, "open": 2}[cell.verdict]
    return cell.side, rank, -abs(float(np.log(cell.speed))) if cell.speed else 0.0


def _means(matched: Sequence[_Matched]) -> list[MeanSpeed]:
    """The geometric mean of all cells of a side, and of each family of kernels with several."""
    means = []
    for side in dict.fromkeys(each.side for each in matched):
        of_side = [each for each in matched if each.side == side]
        families = dict.fromkeys(_family(each.one.cell.kernel) for each in of_side)
        groups = {"all cells": of_side} | {
            family: [each for each in of_side if _family(each.one.cell.kernel) == family]
            for family in families
            if len(families) > 1
        }
        for what, group in groups.items():
            if len(group) < 2:
                continue
            pairs = [_speeds(each.one, each.other) for each in group]
            speed, interval = mean_ratio([one for one, _ in pairs], [other for _, other in pairs])
            means.append(MeanSpeed(side, what, len(group), speed, interval))
    return means


def _family(kernel: str) -> str:
    known = known_kernel(kernel)
    return kernel.partition(".")[0] if known is not None else kernel
