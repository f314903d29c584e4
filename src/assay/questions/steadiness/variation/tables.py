"""The tables of variation: published systems, walltimes, where variance arises, spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.questions.common.selection import quantity_text
from assay.questions.common.tables import Column, Entry, Table, Tone
from assay.questions.steadiness.variation.answer import time_text
from assay.questions.steadiness.variation.cells import CellVariation
from assay.questions.steadiness.variation.findings import VariationFindings
from assay.questions.steadiness.variation.published_table import published_table
from assay.questions.steadiness.variation.walltime import CONFIDENCE, SHARE, WalltimeRequest
from assay.questions.steadiness.variation.walltime_text import factor_text, idle_text
from assay.units import MISSING, format_share

if TYPE_CHECKING:
    from assay.stats.repeats.variance_components import VarianceComponent

# Headings of the sources of variance, by their names in the statistics.
_SOURCES = {
    "samples": "within a run",
    "launches": "between runs",
    "hosts": "between sets of hosts",
    "days": "between days",
}
_NOTHING = Entry(MISSING, tone="quiet")


def tables(found: VariationFindings) -> list[Table]:
    """Every table that there is data for, the widest interest first."""
    if not found.varied:
        return []
    drawn = [
        published_table(found),
        _walltime_table(found.walltimes),
        _components_table(found.varied),
        _spread_table(found.varied),
    ]
    return [table for table in drawn if table is not None]


def _share(value: float | None, interval: tuple[float, float] | None = None) -> Entry:
    return _NOTHING if value is None else Entry(format_share(value, interval), value)


def _signed(value: float | None, format_: str) -> Entry:
    return _NOTHING if value is None else Entry(format(value, format_), value)


def _time(value: float | None, unit: str) -> Entry:
    return _NOTHING if value is None else Entry(time_text(value, unit), value)


def _spread_table(varied: Sequence[CellVariation]) -> Table:
    """Every estimate of each cell's distribution."""
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
            Column("skew", "Skewness", numeric=True),
            Column("tail", "Far out, slow / fast", numeric=True),
            Column("p99", "99th percentile", numeric=True),
            Column("modes", "Modes", numeric=True),
            Column("dependence", "Autocorrelation", numeric=True),
            Column("trend", "Trend over all", numeric=True),
        ],
        rows=[_spread_row(each) for each in varied],
        caption="Far out: share of the runs more than three robust standard deviations from the "
        "median; a normal distribution has 0.13% on either side. Highlighted: significant with all "
        "cells taken together.",
        folded=True,
    )


def _spread_row(varied: CellVariation) -> list[Entry]:
    spread, tail, shape, unit = varied.spread, varied.spread.tail, varied.shape, varied.unit
    modes: Tone = "warn" if shape.modes else ""
    long: Tone = "warn" if shape.long_tail else ""
    drift: Tone = "warn" if shape.drifts else ""
    median = _time(spread.median, unit)
    if unit:
        median = Entry(quantity_text(spread.median, unit, spread.median_ci95), spread.median)
    change = spread.trend.change if spread.trend else None
    return [
        Entry(varied.label),
        Entry(str(spread.n), spread.n),
        _time(spread.minimum, unit),
        median,
        _time(spread.mean, unit),
        _time(spread.maximum, unit),
        _time(spread.deviation, unit),
        _share(spread.cov, spread.cov_ci95),
        _signed(spread.skew, "+.2f"),
        Entry(
            f"{format_share(tail.right_share)} / {format_share(tail.left_share)}",
            tail.right_share,
            long,
        ),
        _time(tail.p99, unit),
        Entry(str(len(shape.modes) or 1), len(shape.modes) or 1, modes),
        _signed(spread.autocorrelation, "+.2f"),
        _NOTHING if change is None else Entry(f"{change:+.2%}", change, drift),
    ]


def _components_table(varied: Sequence[CellVariation]) -> Table:
    """Where the variance of each cell arises."""
    unknown: dict[str, list[str]] = {}
    for each in varied:
        for sentence in each.components.untold:
            unknown.setdefault(sentence, []).append(each.label)
    return Table(
        id="variation-components",
        title="Where variation arises",
        columns=[
            Column("cell", "Cell"),
            *(Column(source, words, numeric=True) for source, words in _SOURCES.items()),
        ],
        rows=[_components_row(each) for each in varied],
        caption="Share of the variance of a single sample, and the standard deviation of that "
        "source relative to the median. A negative estimate counts as 0.",
        notes=[
            sentence
            if len(labels) == len(varied)
            else f"{', '.join(labels[:3])}{' …' if len(labels) > 3 else ''}: {sentence}"
            for sentence, labels in unknown.items()
        ],
    )


def _components_row(varied: CellVariation) -> list[Entry]:
    parts: dict[str, VarianceComponent] = {part.level: part for part in varied.components.parts}
    return [Entry(varied.label), *(_component(parts.get(source)) for source in _SOURCES)]


def _component(part: VarianceComponent | None) -> Entry:
    if part is None:
        return _NOTHING
    return Entry(f"{part.share:.0%} ({format_share(part.deviation)})", part.share)


def _walltime_table(requests: Sequence[WalltimeRequest]) -> Table | None:
    """How much walltime to request, and what a two-sigma rule would cost."""
    if not requests:
        return None
    bases = list(dict.fromkeys(request.walltime.why for request in requests))
    return Table(
        id="variation-walltime",
        title="How much walltime to request",
        columns=[
            Column("cell", "Cell"),
            Column("median", "Median", numeric=True),
            Column("ask", f"Request, so that {SHARE:.0%} finish", numeric=True),
            Column("times", "Times the median", numeric=True),
            Column("sigma", "Median + 2σ, times the median", numeric=True),
            Column("killed", "2σ ends early [95% interval]", numeric=True),
            Column("lost", "2σ loses, h", numeric=True),
            Column("idle", "Idle: requested / 2σ, h", numeric=True),
            Column("basis", "Basis", numeric=True),
        ],
        rows=[_walltime_row(request, bases) for request in requests],
        caption=f"With {CONFIDENCE:.0%} confidence. Hours: in 100 jobs whose median takes an hour "
        "and that vary as these runs did. Lost: used by runs that are ended before they finish. "
        "Idle: requested and not used.",
        notes=[f"{why[:1].upper()}{why[1:]}." for why in bases],
    )


def _walltime_row(request: WalltimeRequest, bases: Sequence[str]) -> list[Entry]:
    walltime, sigma = request.walltime, request.walltime.two_sigma
    lost = request.in_hours(sigma.lost_hours)
    return [
        Entry(request.label),
        _time(request.median, request.unit),
        _time(walltime.seconds, request.unit),
        Entry(factor_text(request.times), request.times),
        Entry(factor_text(request.sigma_times), request.sigma_times),
        _share(sigma.killed_share, sigma.killed_ci95),
        Entry(f"{lost:.1f}", lost),
        Entry(
            f"{idle_text(request, walltime.asked)} / {idle_text(request, sigma)}".replace(" h", "")
        ),
        Entry(f"({bases.index(walltime.why) + 1})", tone="quiet"),
    ]
