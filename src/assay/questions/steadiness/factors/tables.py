"""The tables of factors: each comparison with its tests, and the analysis of variance."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from assay.questions.common.tables import Column, Entry, Table, Tone
from assay.questions.steadiness.factors.answer import corrected_p, p_text, sentence
from assay.questions.steadiness.factors.findings import (
    FactorComparison,
    FactorFindings,
    FactorVariance,
)
from assay.units import MISSING, format_share

if TYPE_CHECKING:
    from assay.stats.compare.groups import GroupDifference

# Up to which corrected p an effect is highlighted.
_SIGNIFICANT = 0.05


def tables(found: FactorFindings) -> list[Table]:
    """The comparisons, and the analysis of variance where there is one."""
    anova = _anova_table(found)
    return [_comparison_table(found), *([anova] if anova else [])]


def _comparison_table(found: FactorFindings) -> Table:
    """Every comparison, also those without a difference."""
    return Table(
        id="variation-factors",
        title="Factors: what changes variation",
        columns=[
            Column("factor", "Cells and factor"),
            Column("levels", "CoV at each level"),
            Column("spread", "Spread", numeric=True),
            Column("location", "Median", numeric=True),
            Column("finding", "Finding"),
            Column("tests", "Tests", numeric=True),
        ],
        rows=[
            [
                Entry(each.name),
                Entry(_levels_text(each)),
                _p_entry(each.spread),
                _p_entry(each.location),
                Entry(_finding(each)),
                Entry(f"({place})", tone="quiet"),
            ]
            for place, each in enumerate(found.comparisons, 1)
        ],
        caption="p is corrected by Holm's method, over all comparisons of spreads and of medians "
        "each; uncorrected in brackets.",
        notes=[_tests_text(each) for each in found.comparisons],
    )


def _levels_text(comparison: FactorComparison) -> str:
    return ", ".join(
        f"{group.name} {format_share(group.cov, group.cov_ci95)} (n {group.n})"
        for group in comparison.spread.groups
    )


def _p_entry(difference: GroupDifference | None) -> Entry:
    if difference is None:
        return Entry("not compared", tone="quiet")
    p = corrected_p(difference)
    tone: Tone = "warn" if difference.verdict == "differs" else ""
    return Entry(
        f"{p_text(p)} ({p_text(difference.p).removeprefix('p ').removeprefix('= ')})", p, tone
    )


def _finding(comparison: FactorComparison) -> str:
    if comparison.differs:
        return sentence(comparison)
    if comparison.spread.verdict == "alike":
        return "equal spread: no CoV is 1.5 times another"
    return "no difference shown"


def _tests_text(comparison: FactorComparison) -> str:
    """Which tests were used, and whether their assumptions hold."""
    words = [f"{comparison.name}: spread by {comparison.spread.test}. {comparison.spread.why}"]
    if comparison.location is not None:
        words.append(f"Median by {comparison.location.test}. {comparison.location.why}")
    return " ".join(words)


def _anova_table(found: FactorFindings) -> Table | None:
    """The analysis of variance of each kernel."""
    rows = [
        [
            Entry(variance.title),
            Entry(" × ".join(effect.factors)),
            Entry(f"{effect.squares:.3g}", effect.squares),
            Entry(str(effect.freedom), effect.freedom),
            Entry(f"{effect.f:.3g}", effect.f),
            Entry(p_text(effect.p), effect.p),
            Entry(
                p_text(effect.p_corrected),
                effect.p_corrected,
                "warn" if effect.p_corrected <= _SIGNIFICANT else "",
            ),
            Entry(format_share(effect.omega2), effect.omega2),
            Entry(_effects_text(effect.levels)),
        ]
        for variance in found.variances
        for effect in variance.anova.effects
    ]
    if not rows:
        return None
    return Table(
        id="variation-anova",
        title="Analysis of variance of run times",
        columns=[
            Column("kernel", "Kernel"),
            Column("effect", "Effect"),
            Column("squares", "Sum of squares", numeric=True),
            Column("freedom", "df", numeric=True),
            Column("f", "F", numeric=True),
            Column("p", "p", numeric=True),
            Column("corrected", "p, corrected", numeric=True),
            Column("omega2", "Partial ω²", numeric=True),
            Column("levels", "Times the first level"),
        ],
        rows=rows,
        caption="Of logarithms; type II sums of squares. A factor that changes the work or the "
        "number of cores is expected to change the time.",
        notes=[_variance_text(variance) for variance in found.variances],
        folded=True,
    )


def _effects_text(levels: dict[str, float]) -> str:
    """Each level against the first, from differences of logarithms."""
    return ", ".join(
        f"{name} {MISSING if math.isnan(value) else f'{math.exp(value):.3f}'}"
        for name, value in levels.items()
    )


def _variance_text(variance: FactorVariance) -> str:
    anova = variance.anova
    return " ".join(
        [f"{variance.title}, {anova.n} runs: p by {anova.test}. {anova.why}", *anova.missing]
    )
