"""Compilers, MPI libraries and placements crossed in one plan: the variance that each explains.

The toolchain is divided into its parts (``toolchain_parts``); an analysis of variance of each
program's times gives the shares of single factors and of pairs. Edmundsson et al. (2004) compared
three compiler collections by serial benchmarks of class W: one factor on one rank.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from assay.kernels import known_kernel
from assay.kernels.naming import cell_name
from assay.model.placement import Placement
from assay.questions.common.confidence import is_broken
from assay.questions.common.findings import INTERNAL
from assay.questions.common.question import Measured
from assay.questions.common.selection import Point, points
from assay.questions.placement.toolchains.levels import (
    Cells,
    LevelRatio,
    extreme_levels,
    level_ratio,
    mean_ratio,
)
from assay.questions.placement.toolchains.toolchain_parts import parts_of
from assay.questions.placement.works import METRIC, costs_of
from assay.records.model import RunData
from assay.stats.core.model import CellSummary

if TYPE_CHECKING:
    from assay.stats.compare.anova import Anova, Effect

# Maximum p of a significant effect, corrected for all effects of a run: of 1,000 answers on equal
# toolchains at most five name an effect. Ten thousand permutations show no smaller p of one effect
# among fifty.
SIGNIFICANT = 0.005
_WITH_BLAS = ("linpack", "compute.dgemm")
# Factors of the placement, and their names.
_PLACEMENT = {
    "nodes": "nodes", "ppn": "ranks per node", "threads": "threads", "order": "order",
    "binding": "binding", "adapter": "adapter", "node_set": "node set",
}  # fmt: skip


@dataclass(frozen=True)
class CrossedFactors:
    """The analysis of variance of one program's times over the factors of a plan."""

    #: Name of the program.
    title: str
    #: Analysis of variance.
    anova: Anova
    #: p-value of each effect, corrected by Benjamini & Hochberg for all effects of all programs.
    #: Holm's correction would need smaller p-values than ten thousand permutations give.
    p: tuple[float, ...]
    #: Factors into which the toolchain was divided.
    parts: tuple[str, ...]
    #: Ids of the cells.
    cells: tuple[str, ...]
    #: Fastest cell.
    best: Point
    #: Levels of each factor, in the plan's order.
    factors: Mapping[str, tuple[str, ...]]
    #: The two levels of each factor whose times differ most.
    extremes: Mapping[str, LevelRatio]
    #: Levels and logarithms of the launches' times of each cell.
    times: Cells = field(metadata=INTERNAL)

    @property
    def significant(self) -> list[tuple[Effect, float]]:
        """The significant effects with their p: single factors, then pairs, each by share."""
        found = [
            (effect, p)
            for effect, p in zip(self.anova.effects, self.p, strict=True)
            if p <= SIGNIFICANT
        ]
        return sorted(found, key=lambda each: (len(each[0].factors), -(each[0].share or 0.0)))

    @property
    def single(self) -> list[tuple[Effect, float]]:
        """The significant effects of single factors, by share."""
        return [(effect, p) for effect, p in self.significant if len(effect.factors) == 1]

    @property
    def leading(self) -> Effect | None:
        """The significant effect of a single factor with the largest share; None without any."""
        return self.single[0][0] if self.single else None


@dataclass(frozen=True)
class LevelRanking:
    """The levels of one of the toolchain's parts over all programs."""

    #: Part of the toolchain: compiler, MPI or BLAS.
    part: str
    #: Names of the programs.
    programs: tuple[str, ...]
    #: Level with the least geometric mean of times.
    best: str
    #: For each other level: geometric mean of the ratios of its times to the best level's times,
    #: and these ratios.
    others: Mapping[str, tuple[float, tuple[float, ...]]]
    #: For each other level: the mean ratio with its interval.
    ratios: Mapping[str, LevelRatio]
    #: Number of pairs of levels, among which the ratios count as comparisons.
    comparisons: int


@dataclass(frozen=True)
class ToolchainFindings:
    """Programs that were measured with several toolchains."""

    #: Analysis of each program.
    programs: list[CrossedFactors]
    #: Rankings of the levels of parts with a significant effect.
    rankings: list[LevelRanking]
    #: Cells of these programs without usable results.
    broken: list[CellSummary]


def find(measured: Measured) -> ToolchainFindings | None:
    """All analyses; None if no program was measured with several toolchains."""
    programs = crossed_factors(measured.cells, measured.run)
    if not programs:
        return None
    works = {_work_of(one.best.summary) for one in programs}
    broken = [cell for cell in measured.cells if is_broken(cell) and _work_of(cell) in works]
    return ToolchainFindings(programs, _rankings(programs), broken)


def _work_of(cell: CellSummary) -> tuple[str, str]:
    return cell.kernel, str(sorted(cell.cell.parameters.items()))


def crossed_factors(cells: Sequence[CellSummary], run: RunData) -> list[CrossedFactors]:
    """The analyses of programs with several toolchains, in the plan's order."""
    from assay.stats.core.multiple import corrected

    values = {name: list(own.values()) for name, own in costs_of(run).items()}
    found = []
    for work in _works(cells, run):
        analysed = _analysed(work, values, run)
        if analysed is not None:
            found.append((work, *analysed))
    p = corrected([effect.p for _, anova, _, _, _ in found for effect in anova.effects], "bh")
    programs, place = [], 0
    for work, anova, parts, factors, times in found:
        own = tuple(float(each) for each in p[place : place + len(anova.effects)])
        place += len(anova.effects)
        best = min(work, key=lambda point: point.metric.median)
        ids = tuple(point.summary.id for point in work)
        title = cell_name(best.summary.cell)
        programs.append(
            CrossedFactors(
                title=title,
                anova=anova,
                p=own,
                parts=parts,
                cells=ids,
                best=best,
                factors=factors,
                extremes={
                    name: extreme
                    for name in factors
                    if (extreme := extreme_levels(times, name)) is not None
                },
                times=times,
            )
        )
    return programs


def _works(cells: Sequence[CellSummary], run: RunData) -> list[list[Point]]:
    """The usable points of each program; they differ only in toolchain and placement.

    Candidates of a search are left out, because the best placements have more launches.
    """
    search = run.manifest.plan.search
    searched = frozenset(search.optional) if search else frozenset()
    groups: dict[str, list[Point]] = {}
    for kernel in dict.fromkeys(cell.kernel for cell in cells):
        entry = known_kernel(kernel)
        if not (kernel.startswith("npb.") or kernel == "linpack" or (entry and entry.outside)):
            continue
        for point in points(cells, kernel, METRIC):
            if point.summary.id not in searched:
                parameters = sorted((k, str(v)) for k, v in point.summary.cell.parameters.items())
                groups.setdefault(f"{kernel}/{parameters}", []).append(point)
    return [
        work
        for work in groups.values()
        if len({point.summary.cell.toolchain for point in work}) > 1
    ]


def _analysed(
    work: Sequence[Point], values: Mapping[str, Sequence[float]], run: RunData
) -> tuple[Anova, tuple[str, ...], dict[str, tuple[str, ...]], Cells] | None:
    """The analysis, the toolchain's parts, all factors' levels, and the times of the cells.

    None if nothing varies.
    """
    from assay.stats.compare.anova import anova

    cells = [point.summary.cell for point in work]
    names = dict.fromkeys(cell.toolchain for cell in cells)
    parts = parts_of(
        {name: run.manifest.toolchains.get(name, {}) for name in names},
        blas=work[0].summary.kernel in _WITH_BLAS,
    )
    if not any(parts.values()):
        return None
    levels = [{**parts[cell.toolchain], **_placed(cell.placement)} for cell in cells]
    factors = {name: tuple(dict.fromkeys(each[name] for each in levels)) for name in levels[0]}
    factors = {name: found for name, found in factors.items() if len(found) > 1}
    times = [values.get(cell.id, []) for cell in cells]
    flat = [value for each in times for value in each]
    if not flat:
        return None
    columns = {
        name: tuple(level[name] for level, own in zip(levels, times, strict=True) for _ in own)
        for name in factors
    }
    found = anova(flat, columns, sizes=True)
    if not found.effects:
        return None
    named = tuple(name for name in parts[cells[0].toolchain] if name in factors)
    by_cell = [
        ({name: level[name] for name in factors}, np.log(own))
        for level, own in zip(levels, times, strict=True)
        if own
    ]
    return found, named, factors, by_cell


def _placed(placement: Placement) -> dict[str, str]:
    """A placement's levels, by factor."""
    levels = {name: getattr(placement, name) for name in _PLACEMENT}
    order = placement.order
    levels["order"] = order if order.count(",") < 8 else f"{order[:15]},…"
    levels["adapter"] = placement.adapter or "default"
    return {_PLACEMENT[name]: str(value) for name, value in levels.items()}


def _rankings(programs: Sequence[CrossedFactors]) -> list[LevelRanking]:
    """The levels of each of the toolchain's parts that has a significant effect."""
    rankings = []
    for part in dict.fromkeys(name for one in programs for name in one.parts):
        if not any(effect.factors == (part,) for one in programs for effect, _ in one.single):
            continue
        levels = {
            one.title: effect.levels
            for one in programs
            for effect in one.anova.effects
            if effect.factors == (part,)
        }
        common = [
            level
            for level in next(iter(levels.values()))
            if all(not math.isnan(own.get(level, math.nan)) for own in levels.values())
        ]
        if len(common) < 2:
            continue
        scores = {level: [own[level] for own in levels.values()] for level in common}
        means = {
            level: math.exp(sum(map(math.log, own)) / len(own)) for level, own in scores.items()
        }
        best = min(means, key=means.__getitem__)
        others = {
            level: (
                means[level] / means[best],
                tuple(a / b for a, b in zip(scores[level], scores[best], strict=True)),
            )
            for level in common
            if level != best
        }
        ratios = {level: _over(best, level, part, programs, levels) for level in others}
        rankings.append(
            LevelRanking(
                part=part,
                programs=tuple(levels),
                best=best,
                others=others,
                ratios={level: ratio for level, ratio in ratios.items() if ratio is not None},
                comparisons=math.comb(len(common), 2),
            )
        )
    return rankings


def _over(
    best: str,
    level: str,
    part: str,
    programs: Sequence[CrossedFactors],
    titles: Collection[str],
) -> LevelRatio | None:
    """The mean ratio of a level to the best one over the programs; None if one lacks it."""
    own = [level_ratio(one.times, part, level, best) for one in programs if one.title in titles]
    known = [each for each in own if each is not None]
    return mean_ratio(known) if known and len(known) == len(own) else None
