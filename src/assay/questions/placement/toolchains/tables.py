"""The tables of crossed factors: the analysis of variance, and each level against the fastest."""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.questions.common.tables import Column, Entry, Table
from assay.questions.placement.toolchains.findings import (
    SIGNIFICANT,
    CrossedFactors,
    ToolchainFindings,
)
from assay.questions.steadiness.factors.answer import p_text
from assay.stats.compare.anova import Effect
from assay.units import MISSING

# F from which on it is written without decimals.
_LARGE = 100.0


def tables(found: ToolchainFindings) -> list[Table]:
    """The share of each factor, and the relative time of its levels."""
    return [_effects(found.programs), _levels(found.programs)]


def _effects(found: Sequence[CrossedFactors]) -> Table:
    """A row for each effect, and one for the residual."""
    rows = []
    for number, each in enumerate(found, 1):
        for effect, p in zip(each.anova.effects, each.p, strict=True):
            rows.append(_effect_row(each, effect, p, number))
        rows.append(_left_row(each, number))
    return Table(
        id="placement-variance",
        title="Analysis of variance over the plan",
        caption="Of the logarithms of all launches' times; type II sums of squares. Share: omega "
        "squared, of all variance; partial: of it and the residual alone. p is corrected for "
        "all effects (Benjamini & Hochberg).",
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


def _effect_row(each: CrossedFactors, effect: Effect, p: float, number: int) -> list[Entry]:
    return [
        Entry(f"{each.title} ({number})"),
        Entry(" × ".join(effect.factors)),
        Entry(_share(effect), effect.share),
        Entry(f"{effect.omega2:.1%}", effect.omega2),
        Entry(str(effect.freedom), effect.freedom),
        Entry(f"{effect.f:.3g}" if effect.f < _LARGE else f"{effect.f:,.0f}", effect.f),
        Entry(p_text(p), p, "good" if p <= SIGNIFICANT else "quiet"),
    ]


def _share(effect: Effect) -> str:
    """Percents with a tenth."""
    if effect.share is None:
        return MISSING
    interval = effect.share_ci95
    ends = f" [{100 * interval[0]:.1f}, {100 * interval[1]:.1f}]" if interval else ""
    return f"{effect.share:.1%}{ends}"


def _left_row(each: CrossedFactors, number: int) -> list[Entry]:
    """The variance that no effect explains: noise, and interactions of more than two factors."""
    anova = each.anova
    share = 1.0 - anova.r2
    empty = Entry("")
    return [
        Entry(f"{each.title} ({number})"),
        Entry("left", tone="quiet"),
        Entry(f"{share:.1%}", share, "quiet"),
        empty,
        Entry(str(anova.freedom), anova.freedom, "quiet"),
        empty,
        empty,
    ]


def _tests(each: CrossedFactors) -> str:
    anova = each.anova
    return " ".join(
        [f"{each.title}, {anova.n} launches: p by {anova.test}. {anova.why}", *anova.missing]
    )


def _levels(found: Sequence[CrossedFactors]) -> Table:
    """Programs in rows, levels in columns: times the fastest level of the factor."""
    names: dict[tuple[str, str], None] = {}
    for each in found:
        for factor, levels in each.factors.items():
            names |= dict.fromkeys((factor, level) for level in levels)
    rows = []
    for each in found:
        times: dict[tuple[str, str], float] = {}
        for effect in each.anova.effects:
            known = [v for v in effect.levels.values() if not math.isnan(v)]
            for level, value in effect.levels.items():
                times[effect.factors[0], level] = value / min(known)
        rows.append([Entry(each.title), *(_level(times.get(name)) for name in names)])
    return Table(
        id="placement-levels",
        title="Relative time of each level",
        caption="Times the fastest level of the same factor, with the other factors held equal, "
        "by the model without interactions.",
        columns=[
            Column("work", "Program"),
            *(
                Column(f"level{place}", f"{factor}: {level}", numeric=True)
                for place, (factor, level) in enumerate(names)
            ),
        ],
        rows=rows,
    )


def _level(value: float | None) -> Entry:
    if value is None or math.isnan(value):
        return Entry(MISSING, tone="quiet")
    return Entry(f"{value:.3f}", value, "good" if value == 1.0 else "")
