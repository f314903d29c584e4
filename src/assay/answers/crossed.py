"""What matters: compilers, MPI libraries and placements crossed in one plan, and each one's share.

The toolchain is taken apart (``toolchain_parts``); an analysis of variance of each program's times
tells what each factor explains, alone and together with another. Edmundsson et al. (2004) held
three compiler collections side by side by serial benchmarks of class W: one factor on one rank.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from assay.answers.factor_words import p_text
from assay.answers.model import Evidence
from assay.answers.placement_data import METRIC, costs_of, name_of
from assay.answers.select import Part, Point, points
from assay.answers.toolchain_parts import parts_of
from assay.kernels import known_kernel
from assay.plans.model import Placement
from assay.records.model import RunData
from assay.stats.model import CellSummary
from assay.units import format_share

if TYPE_CHECKING:
    from assay.stats.anova import Anova, Effect

# At which an effect, corrected for all of a run, is told.
SURE = 0.05
# Interactions that explain less are left to the table.
_OF_ACCOUNT = 0.005
# Works up to which each has its own sentence in the verdict.
_SENTENCES = 2
_WITH_BLAS = ("linpack", "compute.dgemm")
_PLACEMENT = {
    "nodes": "nodes", "ppn": "ranks a node", "threads": "threads", "order": "order",
    "binding": "binding", "adapter": "adapter", "node_set": "node set",
}  # fmt: skip


@dataclass(frozen=True)
class Crossed:
    """The analysis of variance of one program's times over the factors of a plan.

    ``p``: of each effect, by Benjamini & Hochberg for all effects of all programs: these are too
    many for Holm's correction where p comes of two thousand permutations. ``parts``: the factors
    that the toolchain was taken apart into. ``cells``: ids; ``best``: the quickest of them.
    ``factors``: the levels of each factor, in the plan's order.
    """

    title: str
    anova: Anova
    p: tuple[float, ...]
    parts: tuple[str, ...]
    cells: tuple[str, ...]
    best: Point
    factors: Mapping[str, tuple[str, ...]]

    def told(self) -> list[tuple[Effect, float]]:
        """The effects that are sure, with their p, those of single factors first, by share."""
        sure = [
            (effect, p) for effect, p in zip(self.anova.effects, self.p, strict=True) if p <= SURE
        ]
        return sorted(sure, key=lambda each: (len(each[0].factors), -(each[0].share or 0.0)))

    @property
    def leading(self) -> Effect | None:
        """The single factor that explains most, if any does."""
        first = next(iter(self.told()), None)
        return first[0] if first and len(first[0].factors) == 1 else None


def crossed_of(cells: Sequence[CellSummary], run: RunData) -> list[Crossed]:
    """Every program that was measured with several toolchains, in the plan's order."""
    from assay.stats.multiple import corrected

    values = {name: list(own.values()) for name, own in costs_of(run).items()}
    found = []
    for work in _works(cells, run):
        analysed = _analysed(work, values, run)
        if analysed is not None:
            found.append((work, *analysed))
    p = corrected([effect.p for _, anova, _, _ in found for effect in anova.effects], "bh")
    made, place = [], 0
    for work, anova, parts, factors in found:
        own = tuple(float(each) for each in p[place : place + len(anova.effects)])
        place += len(anova.effects)
        best = min(work, key=lambda point: point.metric.median)
        ids = tuple(point.summary.id for point in work)
        made.append(Crossed(name_of(best.summary.cell), anova, own, parts, ids, best, factors))
    return made


def _works(cells: Sequence[CellSummary], run: RunData) -> list[list[Point]]:
    """The usable points of each program, the same but for toolchain and placement.

    Few launches that a search asked for tell of the best placements more than of others.
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
) -> tuple[Anova, tuple[str, ...], dict[str, tuple[str, ...]]] | None:
    """The analysis, the toolchain's parts, and all factors' levels; None where nothing varies."""
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
    columns = tuple(
        (name, tuple(level[name] for level, own in zip(levels, times, strict=True) for _ in own))
        for name in factors
    )
    found = _anova(tuple(flat), columns)
    if not found.effects:
        return None
    return found, tuple(name for name in parts[cells[0].toolchain] if name in factors), factors


@lru_cache(maxsize=64)
def _anova(values: tuple[float, ...], factors: tuple[tuple[str, tuple[str, ...]], ...]) -> Anova:
    """Kept, for an answer, its table and its figure ask for the same."""
    from assay.stats.anova import anova

    return anova(values, dict(factors), sizes=True)


def _placed(placement: Placement) -> dict[str, str]:
    """A placement's levels, by factor."""
    plain = {name: getattr(placement, name) for name in _PLACEMENT}
    order = placement.order
    plain["order"] = order if order.count(",") < 8 else f"{order[:15]},…"
    plain["adapter"] = placement.adapter or "default"
    return {_PLACEMENT[name]: str(value) for name, value in plain.items()}


def crossed_part(found: Sequence[Crossed], cells: Sequence[CellSummary]) -> Part:
    """What the answer says of them. ``cells``: all of the run, for those that have no numbers."""
    part = Part(headline=[each.best for each in found])
    part.remark = _remark(found)
    part.evidence = [_evidence(each, effect, p) for each in found for effect, p in _single(each)]
    part.advice = _quickest(found)
    works = {(p.kernel, str(sorted(p.cell.parameters.items()))) for p in _summaries(found)}
    part.caveats = [
        f"{name_of(cell.cell)} with {cell.cell.toolchain}: {cell.error or 'its result was wrong'}"
        for cell in cells
        if (cell.status != "ok" or cell.verified is False)
        and (cell.kernel, str(sorted(cell.cell.parameters.items()))) in works
    ][:6]
    part.method = [
        "What matters: an analysis of variance of the logarithms of all launches' times over the "
        "toolchain's parts and the placement, each program by itself (type II sums of squares, "
        "pairs of factors). Shares are omega squared, of all variance over the plan, with 95% "
        "intervals from resampled launches. p-values are corrected for all effects of all programs "
        "(Benjamini & Hochberg): of those told 5% are wrong in the mean. Each test follows from "
        "its assumptions' checks, and a test by aligned ranks, which needs none, stands beside it "
        "in the table."
    ]
    part.limits = [
        "A factor's share depends on the levels that were in the plan: more, or other ones, would "
        "make it another."
    ]
    return part


def _summaries(found: Sequence[Crossed]) -> list[CellSummary]:
    return [each.best.summary for each in found]


def _single(each: Crossed) -> list[tuple[Effect, float]]:
    return [(effect, p) for effect, p in each.told() if len(effect.factors) == 1]


def sentence(each: Crossed) -> str:
    """``compiler explains 61% of BT class W's variation over the plan (p < 0.001), MPI 2%; …``."""
    told = each.told()
    singles = [(effect, p) for effect, p in told if len(effect.factors) == 1]
    pairs = [
        (effect, p)
        for effect, p in told
        if len(effect.factors) > 1 and (effect.share or 0.0) >= _OF_ACCOUNT
    ]
    if not told:
        names = " or ".join(each.factors)
        return f"no effect of {names} on {each.title} can be told"
    if singles:
        (first, p), *rest = singles
        words = [
            f"{first.factors[0]} explains {share_text(first.share)} of {each.title}'s variation "
            f"over the plan ({p_text(p)})"
        ]
        words += [
            f"{effect.factors[0]} {share_text(effect.share)}{_doubt(p)}" for effect, p in rest
        ]
        text = ", ".join(words)
    else:
        text = f"of {each.title}'s variation no factor explains any by itself"
    if pairs:
        text += "; " + ", ".join(
            f"{' × '.join(effect.factors)} {share_text(effect.share)}{_doubt(p)}"
            for effect, p in pairs
        )
    return text


def share_text(share: float | None) -> str:
    """Whole percents, and tenths where there is less than one of them."""
    if share is None:
        return format_share(share)
    return "under 0.1%" if share < 0.001 else f"{share:.0%}" if share >= 0.01 else f"{share:.1%}"


def _doubt(p: float) -> str:
    return "" if p < 0.001 else f" ({p_text(p)})"


def _remark(found: Sequence[Crossed]) -> str:
    if len(found) <= _SENTENCES:
        return "; ".join(map(sentence, found))
    groups: dict[str, list[Crossed]] = {}
    for each in found:
        groups.setdefault(each.leading.factors[0] if each.leading else "", []).append(each)
    told = []
    for factor, group in sorted(groups.items(), key=lambda item: (not item[0], -len(item[1]))):
        names = ", ".join(each.title for each in group)
        if not factor:
            told.append(f"of {names} no factor's effect can be told")
            continue
        shares = [each.leading.share or 0.0 for each in group if each.leading]
        low, high = share_text(min(shares)), share_text(max(shares))
        between = low if low == high else f"{low} to {high}"
        told.append(f"{factor} explains the largest share of {names} ({between})")
    strongest = max(found, key=_of_toolchain)
    if _of_toolchain(strongest) > 0.0:
        told.append(f"where the toolchain matters most, {sentence(strongest)}")
    return "of the variation over the plan " + "; ".join(told)


def _of_toolchain(each: Crossed) -> float:
    """The share that the toolchain's parts explain, of effects that are sure."""
    return sum(e.share or 0.0 for e, _ in _single(each) if e.factors[0] in each.parts)


def _evidence(each: Crossed, effect: Effect, p: float) -> Evidence:
    (factor,) = effect.factors
    return Evidence(
        label=f"{each.title}: {factor}",
        metric="share of variance",
        unit="1",
        value=effect.share or 0.0,
        ci95=effect.share_ci95,
        limit=None,
        limit_source=None,
        share=None,
        share_ci95=None,
        cells=list(each.cells),
        note=f"{p_text(p)}; {extremes(effect)}",
    )


def extremes(effect: Effect) -> str:
    """``g++ -O1 takes 2.1 times as long as g++ -O3``: a factor's slowest and quickest level."""
    known = {name: value for name, value in effect.levels.items() if not math.isnan(value)}
    if len(known) < 2:
        return "its levels can't be told apart"
    quick, slow = min(known, key=known.__getitem__), max(known, key=known.__getitem__)
    (factor,) = effect.factors
    of = "" if factor in ("order", "binding") or not quick[:1].isdigit() else f" ({factor})"
    return f"{slow} takes {known[slow] / known[quick]:.3g} times as long as {quick}{of}"


def _quickest(found: Sequence[Crossed]) -> list[str]:
    """Of each of the toolchain's parts the level that is the quickest over all programs."""
    told = []
    for part in dict.fromkeys(name for each in found for name in each.parts):
        if not any(effect.factors == (part,) for each in found for effect, _ in _single(each)):
            continue
        effects = {
            each.title: effect.levels
            for each in found
            for effect in each.anova.effects
            if effect.factors == (part,)
        }
        common = [
            level
            for level in next(iter(effects.values()))
            if all(not math.isnan(own.get(level, math.nan)) for own in effects.values())
        ]
        if len(common) < 2:
            continue
        scores = {level: [own[level] for own in effects.values()] for level in common}
        means = {
            level: math.exp(sum(map(math.log, own)) / len(own)) for level, own in scores.items()
        }
        best = min(means, key=means.__getitem__)
        others = "; ".join(
            f"{level} takes {means[level] / means[best]:.3g} times as long"
            + _range([a / b for a, b in zip(scores[level], scores[best], strict=True)])
            for level in common
            if level != best
        )
        where = f"in {next(iter(effects))}"
        if len(effects) > 1:
            where = f"in the geometric mean over {len(effects)} programs"
        told.append(f"{part[:1].upper()}{part[1:]}: {best} is the quickest {where}; {others}.")
    return told


def _range(ratios: Sequence[float]) -> str:
    return f" ({min(ratios):.3g} to {max(ratios):.3g})" if len(ratios) > 1 else ""
