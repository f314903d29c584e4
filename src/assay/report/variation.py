"""The tables of "how steady is it": spread, published systems, walltimes, where variance arises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.answers.select import placement_text, quantity_text
from assay.answers.steadiness import Steadiness
from assay.answers.study import Study, Varied, title_of
from assay.answers.variation import code_of, time_text
from assay.answers.walltime import CONFIDENCE, SHARE, Ask, factor_text, idle_text
from assay.reference.variability import (
    CLASS,
    CODES,
    RANKS,
    SOURCE,
    YEAR,
    PublishedRuns,
    published_runs,
    published_systems,
)
from assay.report.model import Column, Entry, Table, Tone
from assay.report.variation_factors import anova_table, comparison_table
from assay.units import MISSING, counted, format_share

if TYPE_CHECKING:
    from assay.stats.spread import Component

# Measurements of a cell by which the sources of its variance are told apart: more tell no more.
_COMPONENTS_OF = 1000
_LEVELS = {
    "samples": "within a run",
    "launches": "between runs",
    "hosts": "between sets of hosts",
    "days": "between days",
}


def variation_tables(found: Steadiness) -> list[Table]:
    """Every table that the study has something for, the widest interest first."""
    study, factors = found.study, found.factors
    if not study.varied:
        return []
    made = [
        _published(study),
        _walltimes(found.asks),
        *([] if factors is None else [comparison_table(factors), anova_table(factors)]),
        _components(study),
        _spread(study),
    ]
    return [table for table in made if table is not None]


def _text(value: float | None, digits: str = ".2f") -> Entry:
    return Entry(MISSING, tone="quiet") if value is None else Entry(format(value, digits), value)


def _share(value: float | None, interval: tuple[float, float] | None = None) -> Entry:
    if value is None:
        return Entry(MISSING, tone="quiet")
    return Entry(format_share(value, interval), value)


def _time(varied: Varied, value: float | None) -> Entry:
    if value is None:
        return Entry(MISSING, tone="quiet")
    return Entry(time_text(varied, value), value)


def _spread(study: Study) -> Table:
    """Everything that is said of each cell's distribution."""
    return Table(
        id="variation-spread",
        title="Spread of run times",
        columns=[
            Column("cell", "Cell"),
            Column("runs", "Runs", numeric=True),
            Column("minimum", "Minimum", numeric=True),
            Column("median", "Median [95% interval]", numeric=True),
            Column("mean", "Mean", numeric=True),
            Column("maximum", "Maximum", numeric=True),
            Column("deviation", "Std. dev.", numeric=True),
            Column("cov", "CoV [95% interval]", numeric=True),
            Column("skew", "Skew", numeric=True),
            Column("tail", "Far out, slow / fast", numeric=True),
            Column("p99", "99% level", numeric=True),
            Column("modes", "Modes", numeric=True),
            Column("dependence", "Autocorrelation", numeric=True),
            Column("trend", "Trend over all", numeric=True),
        ],
        rows=[_spread_row(each) for each in study.varied],
        caption="Far out: share of the runs more than three robust standard deviations from the "
        "median; a bell curve has 0.13% on either side. Set off is what is sure of all cells "
        "together.",
        folded=True,
    )


def _spread_row(varied: Varied) -> list[Entry]:
    spread, tail, shape = varied.spread, varied.spread.tail, varied.shape
    change = spread.trend.change if spread.trend else None
    modes: Tone = "warn" if shape.modes else ""
    long: Tone = "warn" if shape.long_tail else ""
    drift: Tone = "warn" if shape.drifts else ""
    times = spread.median_ci95
    median = (
        Entry(quantity_text(spread.median, varied.unit, times), spread.median)
        if varied.unit
        else _time(varied, spread.median)
    )
    return [
        Entry(varied.label),
        Entry(str(spread.n), spread.n),
        _time(varied, spread.minimum),
        median,
        _time(varied, spread.mean),
        _time(varied, spread.maximum),
        _time(varied, spread.deviation),
        _share(spread.cov, spread.cov_ci95),
        _text(spread.skew, "+.2f"),
        Entry(
            f"{format_share(tail.right_share)} / {format_share(tail.left_share)}",
            tail.right_share,
            long,
        ),
        _time(varied, tail.p99),
        Entry(str(len(shape.modes) or 1), len(shape.modes) or 1, modes),
        _text(spread.autocorrelation, "+.2f"),
        Entry(MISSING, tone="quiet") if change is None else Entry(f"{change:+.2%}", change, drift),
    ]


def _published(study: Study) -> Table | None:
    """Table 2 of Kramer & Ryan (2003), this machine first."""
    own = {code: found for code in CODES if (found := _of_code(study, code))}
    if not own:
        return None
    rows: list[list[Entry]] = []
    rows += _system_rows(
        "this machine",
        {code: _own_quantities(varied) for code, varied in own.items()},
    )
    for system in published_systems():
        there = {each.code: each for each in published_runs() if each.system == system.name}
        rows += _system_rows(
            system.name, {code: _published_quantities(each) for code, each in there.items()}
        )
    ran = "; ".join(
        f"{code}: {title_of(varied.cell)}, {placement_text(varied.cell.placement)}, "
        f"{varied.cell.toolchain}"
        for code, varied in own.items()
    )
    machines = "; ".join(
        f"{each.name} ({each.site}): {each.processor}, {counted(each.ppn, 'process')} a node, "
        f"{each.network}, load {each.load}"
        for each in published_systems()
    )
    return Table(
        id="variation-published",
        title="Variation beside published systems",
        columns=[
            Column("system", "System"),
            Column("quantity", ""),
            *(Column(code.lower(), code, numeric=True) for code in CODES),
        ],
        rows=rows,
        notes=[
            f"This machine, {study.when}: {ran}.",
            f"{SOURCE}, table 2: class {CLASS} on {RANKS} processes, all CPUs of dedicated nodes, "
            f"published in {YEAR}. {machines}.",
            "More processes meet more of what disturbs, and longer runs average over more of it: "
            "coefficients of other classes and process counts are near, and not like for like. "
            "The published ones have no intervals.",
        ],
    )


def _of_code(study: Study, code: str) -> Varied | None:
    """The cell of a code with the most ranks; of these the slowest, which is the largest class."""
    found = [each for each in study.varied if code_of(each.cell) == code and each.unit == "s"]
    return max(
        found,
        key=lambda each: (each.cell.placement.ranks, each.spread.median),
        default=None,
    )


Quantities = tuple[Entry, Entry, Entry, Entry]


def _own_quantities(varied: Varied) -> Quantities:
    spread = varied.spread
    return (
        Entry(str(spread.n), spread.n),
        _time(varied, spread.mean),
        _time(varied, spread.deviation),
        _share(spread.cov, spread.cov_ci95),
    )


def _published_quantities(found: PublishedRuns) -> Quantities:
    return (
        Entry(str(found.runs), found.runs),
        Entry(f"{found.mean:g} s", found.mean),
        Entry(f"{found.deviation:g} s", found.deviation),
        Entry(f"{100 * found.cov:.2f}%", found.cov),
    )


def _system_rows(system: str, by_code: dict[str, Quantities]) -> list[list[Entry]]:
    names = ("Number of runs", "Mean run time", "Standard deviation", "Coefficient of variation")
    nothing = Entry(MISSING, tone="quiet")
    return [
        [
            Entry(system, tone="" if place == 0 else "quiet"),
            Entry(name),
            *(by_code[code][place] if code in by_code else nothing for code in CODES),
        ]
        for place, name in enumerate(names)
    ]


def _components(study: Study) -> Table | None:
    """Where the variance of each cell arises."""
    from assay.stats.spread import variance_components

    rows: list[list[Entry]] = []
    untold: dict[str, list[str]] = {}
    for varied in study.varied:
        repeats = varied.repeats
        if len(repeats) > _COMPONENTS_OF:
            step = -(-len(repeats) // _COMPONENTS_OF)
            repeats = repeats.take(range(0, len(repeats), step))
        found = variance_components(repeats)
        by_level = {part.level: part for part in found.parts}
        rows.append(
            [Entry(varied.label), *(_component(by_level.get(level)) for level in _LEVELS)]  # type: ignore[call-overload]
        )
        for sentence in found.untold:
            untold.setdefault(sentence, []).append(varied.label)
    if not rows:
        return None
    return Table(
        id="variation-components",
        title="Where variation arises",
        columns=[
            Column("cell", "Cell"),
            *(Column(level, words, numeric=True) for level, words in _LEVELS.items()),
        ],
        rows=rows,
        caption="Share of the variance of a single sample, and the standard deviation of that "
        "source relative to the median. An estimate below nothing stands as 0.",
        notes=[
            sentence
            if len(labels) == len(study.varied)
            else f"{', '.join(labels[:3])}{' …' if len(labels) > 3 else ''}: {sentence}"
            for sentence, labels in untold.items()
        ],
    )


def _component(part: Component | None) -> Entry:
    if part is None:
        return Entry(MISSING, tone="quiet")
    return Entry(f"{part.share:.0%} ({format_share(part.deviation)})", part.share)


def _walltimes(asks: Sequence[Ask]) -> Table | None:
    """How much walltime to ask for, and what two sigma would cost."""
    if not asks:
        return None
    bases = list(dict.fromkeys(ask.walltime.why for ask in asks))
    return Table(
        id="variation-walltime",
        title="How much walltime to ask for",
        columns=[
            Column("cell", "Cell"),
            Column("median", "Median", numeric=True),
            Column("ask", f"Ask for, so that {SHARE:.0%} finish", numeric=True),
            Column("times", "Times the median", numeric=True),
            Column("sigma", "Median + 2σ, times the median", numeric=True),
            Column("killed", "2σ ends early [95% interval]", numeric=True),
            Column("lost", "2σ loses, h", numeric=True),
            Column("idle", "Idle: asked / 2σ, h", numeric=True),
            Column("basis", "Basis", numeric=True),
        ],
        rows=[_walltime_row(ask, bases) for ask in asks],
        caption=f"With {CONFIDENCE:.0%} confidence. Hours: in 100 jobs whose median takes an hour "
        "and that vary as these runs did. Lost: used by runs that are ended before they are done. "
        "Idle: asked for and not used.",
        notes=[f"{why[:1].upper()}{why[1:]}." for why in bases],
    )


def _walltime_row(ask: Ask, bases: Sequence[str]) -> list[Entry]:
    found, median = ask.walltime, ask.varied.spread.median
    sigma = found.two_sigma
    return [
        Entry(ask.varied.label),
        _time(ask.varied, median),
        _time(ask.varied, found.seconds),
        Entry(factor_text(ask.times), ask.times),
        Entry(factor_text(sigma.seconds / median), sigma.seconds / median),
        _share(sigma.killed_share, sigma.killed_ci95),
        Entry(f"{ask.in_hours(sigma.lost_hours):.1f}", ask.in_hours(sigma.lost_hours)),
        Entry(f"{idle_text(ask, found.asked)} / {idle_text(ask, sigma)}".replace(" h", "")),
        Entry(f"({bases.index(found.why) + 1})", tone="quiet"),
    ]
