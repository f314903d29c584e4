"""The tables of factors: each comparison with its tests, and the analysis of variance."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from assay.answers.factor_words import corrected_p, finds, p_text, sentence
from assay.answers.factors import Comparison, Factors, Variance
from assay.report.model import Column, Entry, Table, Tone
from assay.units import MISSING, format_share

if TYPE_CHECKING:
    from assay.stats.compare import Difference

# Up to which corrected p an effect is set off.
_SURE = 0.05


def comparison_table(factors: Factors) -> Table:
    """Every comparison, also of what wasn't found to differ."""
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
            for place, each in enumerate(factors.comparisons, 1)
        ],
        caption="p-values are Holm's, for all comparisons of spreads and of medians each; in "
        "brackets as they were before.",
        notes=[_tests_text(each) for each in factors.comparisons],
    )


def _levels_text(comparison: Comparison) -> str:
    return ", ".join(
        f"{group.name} {format_share(group.cov, group.cov_ci95)} (n {group.n})"
        for group in comparison.spread.groups
    )


def _p_entry(difference: Difference | None) -> Entry:
    if difference is None:
        return Entry("no question", tone="quiet")
    p = corrected_p(difference)
    tone: Tone = "warn" if difference.verdict == "differs" else ""
    return Entry(
        f"{p_text(p)} ({p_text(difference.p).removeprefix('p ').removeprefix('= ')})", p, tone
    )


def _finding(comparison: Comparison) -> str:
    if finds(comparison):
        return sentence(comparison)
    if comparison.spread.verdict == "alike":
        return "spreads alike: no CoV is 1.5 times another"
    return "none to be told"


def _tests_text(comparison: Comparison) -> str:
    """Which tests were made, and what their assumptions' checks gave."""
    told = [f"{comparison.name}: spread by {comparison.spread.test}. {comparison.spread.why}"]
    if comparison.location is not None:
        told.append(f"Median by {comparison.location.test}. {comparison.location.why}")
    return " ".join(told)


def anova_table(factors: Factors) -> Table | None:
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
                "warn" if effect.p_corrected <= _SURE else "",
            ),
            Entry(format_share(effect.omega2), effect.omega2),
            Entry(_effects_text(effect.levels)),
        ]
        for variance in factors.variances
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
        caption="Of logarithms; type II sums of squares. Whatever changes the work or the cores "
        "changes the time: that alone is no finding.",
        notes=[_variance_text(variance) for variance in factors.variances],
        folded=True,
    )


def _effects_text(levels: dict[str, float]) -> str:
    """Each level against the first; they come as differences of logarithms."""
    return ", ".join(
        f"{name} {MISSING if math.isnan(value) else f'{math.exp(value):.3f}'}"
        for name, value in levels.items()
    )


def _variance_text(variance: Variance) -> str:
    found = variance.anova
    return " ".join(
        [f"{variance.title}, {found.n} runs: p by {found.test}. {found.why}", *found.missing]
    )
