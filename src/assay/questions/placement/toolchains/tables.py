"""Tables of crossed factors: the analysis of variance, and each level over the fastest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from assay.questions.common.tables import (
    NOTHING,
    Column,
    Entry,
    Table,
    TableBuilder,
    count,
    written,
)
from assay.questions.placement.toolchains.findings import (
    SIGNIFICANT,
    CrossedFactors,
    ToolchainFindings,
)
from assay.questions.steadiness.factors.answer import p_text
from assay.stats.compare.anova import Effect
from assay.units import MISSING

# F is written without decimals from this value on.
_LARGE = 100.0


def tables(found: ToolchainFindings) -> list[Table]:
    """The share of each factor, and the relative time of its levels."""
    return [_effects(found.programs), _levels(found.programs)]


def _effects(found: Sequence[CrossedFactors]) -> Table:
    """A row for each effect, and one for the residual."""
    rows = []
    for number, each in enumerate(found, 1):
        title = Entry(f"{each.title} ({number})")
        for effect, p in zip(each.anova.effects, each.p, strict=True):
            rows.append([title, *_effect_row(effect, p)])
        rows.append([title, *_residual_row(each)])
    return Table(
        id="placement-variance",
        title="Analysis of variance over the plan",
        caption="Analysis of the logarithms of all launches' times; type II sums of squares. "
        "Share: omega squared, the share of all variance; partial ω²: the share of the effect's "
        "variance and the residual. p: corrected for all effects (Benjamini & Hochberg).",
        columns=[
            Column("work", "Program"),
            Column("effect", "Effect"),
            Column("share", "Share [95% interval]", unit="1", numeric=True),
            Column("omega2", "Partial ω²", unit="1", numeric=True),
            Column("freedom", "df", numeric=True),
            Column("f", "F", numeric=True),
            Column("p", "p, corrected", numeric=True),
        ],
        rows=rows,
        notes=[_tests(each) for each in found],
    )


def _effect_row(effect: Effect, p: float) -> list[Entry]:
    return [
        Entry(" × ".join(effect.factors)),
        Entry(_share(effect), effect.share),
        written(effect.omega2, "{:.1%}"),
        count(effect.freedom),
        written(effect.f, "{:.3g}" if effect.f < _LARGE else "{:,.0f}"),
        Entry(p_text(p), p, "good" if p <= SIGNIFICANT else "quiet"),
    ]


def _share(effect: Effect) -> str:
    """A share in percent with one decimal, and its interval."""
    if effect.share is None:
        return MISSING
    interval = effect.share_ci95
    ends = f" [{100 * interval[0]:.1f}, {100 * interval[1]:.1f}]" if interval else ""
    return f"{effect.share:.1%}{ends}"


def _residual_row(each: CrossedFactors) -> list[Entry]:
    """The residual: noise, and interactions of more than two factors."""
    share = 1.0 - each.anova.r2
    freedom = each.anova.freedom
    return [
        Entry("residual", tone="quiet"),
        Entry(f"{share:.1%}", share, "quiet"),
        Entry(""),
        Entry(str(freedom), freedom, "quiet"),
        Entry(""),
        Entry(""),
    ]


def _tests(each: CrossedFactors) -> str:
    anova = each.anova
    return " ".join(
        [f"{each.title}, {anova.n} launches: p by {anova.test}. {anova.why}", *anova.missing]
    )


def _levels(found: Sequence[CrossedFactors]) -> Table:
    """Programs in rows, levels in columns: time over the time at the factor's fastest level."""
    names: dict[tuple[str, str], None] = {}
    for each in found:
        for factor, levels in each.factors.items():
            names |= dict.fromkeys((factor, level) for level in levels)
    table = TableBuilder(found).text("work", "Program", lambda each: each.title)
    for place, (factor, level) in enumerate(names):
        table.numbers(f"level{place}", f"{factor}: {level}", partial(_level, factor, level))
    return table.table(
        "placement-levels",
        "Relative time of each level",
        caption="Time over the time at the fastest level of the same factor, while other factors "
        "are equal; by the model without interactions.",
    )


def _level(factor: str, level: str, each: CrossedFactors) -> Entry:
    """The time of a program at a level over its time at the factor's fastest level."""
    for effect in each.anova.effects:
        if effect.factors == (factor,) and not math.isnan(effect.levels.get(level, math.nan)):
            known = [value for value in effect.levels.values() if not math.isnan(value)]
            value = effect.levels[level] / min(known)
            return Entry(f"{value:.3f}", value, "good" if value == 1.0 else "")
    return NOTHING
