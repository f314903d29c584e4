"""Tables of factors: each comparison with its tests, and the analysis of variance."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from assay.questions.common.tables import Entry, Table, TableBuilder, Tone, share, written
from assay.questions.steadiness.factors.answer import corrected_p, p_text, sentence
from assay.questions.steadiness.factors.findings import (
    FactorComparison,
    FactorFindings,
    FactorVariance,
)
from assay.units import MISSING, format_share

if TYPE_CHECKING:
    from assay.stats.compare.anova import Effect
    from assay.stats.compare.groups import GroupDifference

# Maximum corrected p of a highlighted effect.
_SIGNIFICANT = 0.05


def tables(found: FactorFindings) -> list[Table]:
    """The comparisons, and the analysis of variance if there is one."""
    anova = _anova_table(found)
    return [_comparison_table(found), *([anova] if anova else [])]


def _comparison_table(found: FactorFindings) -> Table:
    """All comparisons, including those without a difference."""
    return (
        TableBuilder(enumerate(found.comparisons, 1))
        .text("factor", "Cells and factor", lambda each: each[1].name)
        .text("levels", "CoV at each level", lambda each: _levels_text(each[1]))
        .numbers("spread", "Spread", lambda each: _p_entry(each[1].spread))
        .numbers("location", "Median", lambda each: _p_entry(each[1].location))
        .text("finding", "Finding", lambda each: _finding(each[1]))
        .numbers("tests", "Tests", lambda each: Entry(f"({each[0]})", tone="quiet"))
        .table(
            "variation-factors",
            "Factors that change variation",
            caption="p is corrected by Holm's method, separately over all comparisons of spreads "
            "and over all comparisons of medians. Brackets: uncorrected p.",
            notes=[_tests_text(each) for each in found.comparisons],
        )
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
    effects = [
        (variance.title, effect)
        for variance in found.variances
        for effect in variance.anova.effects
    ]
    if not effects:
        return None

    def corrected(row: tuple[str, Effect]) -> Entry:
        p = row[1].p_corrected
        return Entry(p_text(p), p, "warn" if p <= _SIGNIFICANT else "")

    return (
        TableBuilder(effects)
        .text("kernel", "Kernel", lambda row: row[0])
        .text("effect", "Effect", lambda row: " × ".join(row[1].factors))
        .numbers("squares", "Sum of squares", lambda row: written(row[1].squares, "{:.3g}"))
        .counts("freedom", "df", lambda row: row[1].freedom)
        .numbers("f", "F", lambda row: written(row[1].f, "{:.3g}"))
        .numbers("p", "p", lambda row: Entry(p_text(row[1].p), row[1].p))
        .numbers("corrected", "p, corrected", corrected)
        .numbers("omega2", "Partial ω²", lambda row: share(row[1].omega2))
        .text("levels", "Relative to the first level", lambda row: _effects_text(row[1].levels))
        .table(
            "variation-anova",
            "Analysis of variance of run times",
            caption="Analysis of logarithms; type II sums of squares. A factor that changes the "
            "work or the number of cores is expected to change the time.",
            notes=[_variance_text(variance) for variance in found.variances],
            folded=True,
        )
    )


def _effects_text(levels: dict[str, float]) -> str:
    """The ratio of each level to the first, from differences of logarithms."""
    return ", ".join(
        f"{name} {MISSING if math.isnan(value) else f'{math.exp(value):.3f}'}"
        for name, value in levels.items()
    )


def _variance_text(variance: FactorVariance) -> str:
    anova = variance.anova
    return " ".join(
        [f"{variance.title}, {anova.n} runs: p by {anova.test}. {anova.why}", *anova.missing]
    )
