"""The part of the answer on crossed factors: the share of each, and the fastest levels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.kernels.naming import cell_name
from assay.questions.common.answer import Evidence
from assay.questions.common.parts import Part
from assay.questions.common.ratios import range_text
from assay.questions.common.selection import choice_note, quantity_text
from assay.questions.placement.toolchains.findings import (
    CrossedFactors,
    LevelRanking,
    ToolchainFindings,
)
from assay.questions.placement.toolchains.levels import LevelRatio
from assay.questions.steadiness.factors.answer import p_text
from assay.units import capitalised, format_share

if TYPE_CHECKING:
    from assay.stats.compare.anova import Effect

# Minimum share of an interaction in the verdict.
_MIN_INTERACTION = 0.005
# With more programs, the verdict has no sentence for each; maximum number of listed failures.
_SENTENCES, _LISTED_FAILURES = 2, 6


def part(found: ToolchainFindings) -> Part:
    """The shares of all factors, and the fastest level of each part of the toolchain."""
    remark = _remark(found.programs)
    # The extremes of a factor are chosen among all pairs of its levels.
    comparisons = sum(
        math.comb(len(levels), 2) for each in found.programs for levels in each.factors.values()
    )
    return Part(
        remark=f"{capitalised(remark)}.",
        headline=[each.best for each in found.programs],
        evidence=[
            _evidence(each, effect, p, comparisons)
            for each in found.programs
            for effect, p in each.single
        ],
        advice=[text for one in found.rankings if (text := _ranking(one))],
        caveats=[
            f"{cell_name(cell.cell)} with {cell.cell.toolchain}: "
            f"{cell.error or 'its result was wrong'}"
            for cell in found.broken[:_LISTED_FAILURES]
        ],
        method=[
            "Factors: the parts of the toolchain and of the placement. For each program, an "
            "analysis of variance covers the logarithms of all launches' times (type II sums of "
            "squares, pairs of factors). Shares are omega squared: shares of all variance over the "
            "plan, with 95% intervals from resampled launches. p-values are corrected for all "
            "effects of all programs (Benjamini & Hochberg): on average, at most 0.5% of the "
            "significant effects are false positives. Checks of assumptions choose the tests."
        ],
        limits=[
            "A factor's share depends on the levels in the plan; other levels give another share."
        ],
    )


def sentence(each: CrossedFactors) -> str:
    """``compiler explains 61% of BT class W's variation over the plan (p < 0.001), MPI 2%; …``."""
    if not each.significant:
        names = " or ".join(each.factors)
        return f"no significant effect of {names} on {each.title}"
    if each.single:
        (first, p), *rest = each.single
        words = [
            f"{first.factors[0]} explains {share_text(first.share)} of {each.title}'s variation "
            f"over the plan ({p_text(p)})"
        ]
        words += [
            f"{effect.factors[0]} {share_text(effect.share)}{_p_note(p)}" for effect, p in rest
        ]
        text = ", ".join(words)
    else:
        text = f"no single factor has a significant effect on {each.title}"
    pairs = [
        f"{' × '.join(effect.factors)} {share_text(effect.share)}{_p_note(p)}"
        for effect, p in each.significant
        if len(effect.factors) > 1 and (effect.share or 0.0) >= _MIN_INTERACTION
    ]
    return "; ".join([text, *([", ".join(pairs)] if pairs else [])])


def share_text(share: float | None) -> str:
    """A share in whole percent; below 1%, in tenths."""
    if share is None:
        return format_share(share)
    return "under 0.1%" if share < 0.001 else f"{share:.0%}" if share >= 0.01 else f"{share:.1%}"


def _p_note(p: float) -> str:
    return "" if p < 0.001 else f" ({p_text(p)})"


def _remark(found: Sequence[CrossedFactors]) -> str:
    if len(found) <= _SENTENCES:
        return "; ".join(map(sentence, found))
    groups: dict[str, list[CrossedFactors]] = {}
    for each in found:
        groups.setdefault(each.leading.factors[0] if each.leading else "", []).append(each)
    clauses = []
    for factor, group in sorted(groups.items(), key=lambda item: (not item[0], -len(item[1]))):
        names = ", ".join(each.title for each in group)
        if not factor:
            clauses.append(f"no factor has a significant effect on {names}")
            continue
        shares = [each.leading.share or 0.0 for each in group if each.leading]
        low, high = share_text(min(shares)), share_text(max(shares))
        between = low if low == high else f"{low} to {high}"
        clauses.append(f"{factor} explains {between} of {names}")
    strongest = max(found, key=_of_toolchain)
    if _of_toolchain(strongest) > 0.0:
        clauses.append(f"for example, {sentence(strongest)}")
    return "shares of the variation over the plan: " + "; ".join(clauses)


def _of_toolchain(each: CrossedFactors) -> float:
    """The share of variance that the toolchain's parts explain significantly."""
    return sum(e.share or 0.0 for e, _ in each.single if e.factors[0] in each.parts)


def _evidence(each: CrossedFactors, effect: Effect, p: float, comparisons: int) -> Evidence:
    (factor,) = effect.factors
    return Evidence(
        label=f"{each.title}: {factor}",
        metric="share of variance",
        unit="1",
        value=effect.share or 0.0,
        ci95=effect.share_ci95,
        cells=list(each.cells),
        note=f"{p_text(p)}; {extremes(each, factor, comparisons)}",
    )


def extremes(each: CrossedFactors, factor: str, comparisons: int) -> str:
    """``g++ -O1 takes 2.1× [2.0, 2.2] as long as g++ -O3``: the two most different levels."""
    found = each.extremes.get(factor)
    if found is None:
        return "the effects of its levels can't be separated"
    slow, fast = found.above, found.below
    of = "" if factor in ("order", "binding") or not fast[:1].isdigit() else f" ({factor})"
    chosen = choice_note(found.among, "chosen among {} comparable pairs of levels")
    return _ratio_clause(found, comparisons, slow, fast) + of + (f"; {chosen}" if chosen else "")


def _ratio_clause(found: LevelRatio, comparisons: int, level: str, other: str) -> str:
    direction = found.compared(comparisons)
    if direction.direction == "open":
        return (
            f"{level} is not distinguishable from {other} "
            f"({range_text(direction, found.ci95)} of its time)"
        )
    return f"{level} takes {quantity_text(found.value, '', found.ci95)} as long as {other}"


def _ranking(found: LevelRanking) -> str:
    """``Compiler, in the geometric mean over 4 programs: g++ is the fastest; clang++ takes …``.

    Empty if no level is distinguishable from the one with the least mean.
    """
    directions = {each.compared(found.comparisons).direction for each in found.ratios.values()}
    if directions <= {"open"}:
        return ""
    others = "; ".join(
        f"{_ratio_clause(ratio, found.comparisons, level, found.best)}"
        f"{_span(found.others[level][1])}"
        for level, ratio in found.ratios.items()
    )
    where = f"in {found.programs[0]}"
    if len(found.programs) > 1:
        where = f"in the geometric mean over {len(found.programs)} programs"
    part = f"{capitalised(found.part)}"
    if directions == {"more"}:
        return f"{part}: {found.best} is the fastest {where}; {others}."
    return f"{part} {where}: {others}."


def _span(ratios: Sequence[float]) -> str:
    """`` (1.1 to 1.3 by program)``; empty for one program."""
    if len(ratios) < 2:
        return ""
    return f" ({min(ratios):.3g} to {max(ratios):.3g} by program)"
