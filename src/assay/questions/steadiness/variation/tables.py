"""Tables of variation: published systems, walltimes, sources of variance, spread."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from assay.questions.common.tables import (
    NOTHING,
    Entry,
    Table,
    TableBuilder,
    Tone,
    quantity,
    share,
    written,
)
from assay.questions.steadiness.variation.answer import time_text
from assay.questions.steadiness.variation.cells import CellVariation
from assay.questions.steadiness.variation.findings import VariationFindings
from assay.questions.steadiness.variation.published_table import published_table
from assay.questions.steadiness.variation.walltime import CONFIDENCE, SHARE, WalltimeRequest
from assay.questions.steadiness.variation.walltime_text import factor_text, idle_text
from assay.units import capitalised, format_change, format_share

# Headings of the sources of variance, by their names in the statistics.
_SOURCES = {
    "samples": "within a run",
    "launches": "between runs",
    "hosts": "between sets of hosts",
    "days": "between days",
}


def tables(found: VariationFindings) -> list[Table]:
    """All tables with data, the tables of most general interest first."""
    if not found.varied:
        return []
    drawn = [
        published_table(found),
        _walltime_table(found.walltimes),
        _components_table(found.varied),
        _spread_table(found.varied),
    ]
    return [table for table in drawn if table is not None]


def _time(value: float | None, unit: str) -> Entry:
    return NOTHING if value is None else Entry(time_text(value, unit), value)


def _spread_table(varied: Sequence[CellVariation]) -> Table:
    """All estimates of each cell's distribution."""
    return (
        TableBuilder(varied)
        .text("cell", "Cell", lambda each: each.label)
        .counts("runs", "Runs", lambda each: each.spread.n)
        .numbers("minimum", "Minimum", lambda each: _time(each.spread.minimum, each.unit))
        .numbers("median", "Median [95% interval]", _median)
        .numbers("mean", "Mean", lambda each: _time(each.spread.mean, each.unit))
        .numbers("maximum", "Maximum", lambda each: _time(each.spread.maximum, each.unit))
        .numbers("deviation", "Std. dev.", lambda each: _time(each.spread.deviation, each.unit))
        .numbers(
            "cov", "CoV [95% interval]", lambda each: share(each.spread.cov, each.spread.cov_ci95)
        )
        .numbers("skew", "Skewness", lambda each: written(each.spread.skew, "{:+.2f}"))
        .numbers("tail", "Beyond 3σ, slow / fast", _tail)
        .numbers("p99", "99th percentile", lambda each: _time(each.spread.tail.p99, each.unit))
        .numbers("modes", "Modes", _modes)
        .numbers(
            "dependence",
            "Autocorrelation",
            lambda each: written(each.spread.autocorrelation, "{:+.2f}"),
        )
        .numbers("trend", "Trend over all", _trend)
        .table(
            "variation-spread",
            "Spread of run times",
            caption="Beyond 3σ: share of the runs more than three robust standard deviations from "
            "the median; a normal distribution has 0.13% on either side. Highlighted: significant "
            "values (tails and trends are corrected over all cells).",
            folded=True,
        )
    )


def _median(varied: CellVariation) -> Entry:
    spread, unit = varied.spread, varied.unit
    return quantity(spread.median, unit, spread.median_ci95) if unit else _time(spread.median, unit)


def _tail(varied: CellVariation) -> Entry:
    slow, fast = varied.spread.tail.right_share, varied.spread.tail.left_share
    tone: Tone = "warn" if varied.shape.long_tail else ""
    return Entry(f"{format_share(slow)} / {format_share(fast)}", slow, tone)


def _modes(varied: CellVariation) -> Entry:
    modes = len(varied.shape.modes) or 1
    return Entry(str(modes), modes, "warn" if varied.shape.modes else "")


def _trend(varied: CellVariation) -> Entry:
    trend = varied.spread.trend
    if trend is None or trend.change is None:
        return NOTHING
    text = format_change(trend.change, spec="+.2f")
    return Entry(text, trend.change, "warn" if varied.shape.drifts else "")


def _components_table(varied: Sequence[CellVariation]) -> Table:
    """The sources of each cell's variance."""
    unknown: dict[str, list[str]] = {}
    for each in varied:
        for sentence in each.components.untold:
            unknown.setdefault(sentence, []).append(each.label)
    table = TableBuilder(varied).text("cell", "Cell", lambda each: each.label)
    for source, words in _SOURCES.items():
        table.numbers(source, words, partial(_component, source))
    return table.table(
        "variation-components",
        "Sources of variation",
        caption="Share of the variance of a single sample; in brackets, the standard deviation of "
        "the source relative to the median. A negative estimate counts as 0.",
        notes=[
            sentence
            if len(labels) == len(varied)
            else f"{', '.join(labels[:3])}{' …' if len(labels) > 3 else ''}: {sentence}"
            for sentence, labels in unknown.items()
        ],
    )


def _component(source: str, varied: CellVariation) -> Entry:
    part = next((part for part in varied.components.parts if part.level == source), None)
    if part is None:
        return NOTHING
    return Entry(f"{part.share:.0%} ({format_share(part.deviation)})", part.share)


def _walltime_table(requests: Sequence[WalltimeRequest]) -> Table | None:
    """The walltime to request, and the cost of a two-sigma rule."""
    if not requests:
        return None
    bases = list(dict.fromkeys(request.walltime.why for request in requests))
    return (
        TableBuilder(requests)
        .text("cell", "Cell", lambda each: each.label)
        .numbers("median", "Median", lambda each: _time(each.median, each.unit))
        .numbers(
            "ask",
            f"Request, so that {SHARE:.0%} finish",
            lambda each: _time(each.walltime.seconds, each.unit),
        )
        .numbers(
            "times", "Times the median", lambda each: Entry(factor_text(each.times), each.times)
        )
        .numbers(
            "sigma",
            "Median + 2σ, times the median",
            lambda each: Entry(factor_text(each.sigma_times), each.sigma_times),
        )
        .numbers(
            "killed",
            "2σ ends early [95% interval]",
            lambda each: share(
                each.walltime.two_sigma.killed_share, each.walltime.two_sigma.killed_ci95
            ),
        )
        .numbers(
            "lost",
            "2σ loses, h",
            lambda each: written(each.in_hours(each.walltime.two_sigma.lost_hours), "{:.1f}"),
        )
        .numbers("idle", "Idle: requested / 2σ, h", _idle)
        .numbers(
            "basis",
            "Basis",
            lambda each: Entry(f"({bases.index(each.walltime.why) + 1})", tone="quiet"),
        )
        .table(
            "variation-walltime",
            "Walltime to request",
            caption=f"With {CONFIDENCE:.0%} confidence. Hours: total over 100 jobs with a median "
            "time of one hour and the variation of these runs. Lost: used by jobs that are ended "
            "before they finish. Idle: requested but not used.",
            notes=[f"{capitalised(why)}." for why in bases],
        )
    )


def _idle(request: WalltimeRequest) -> Entry:
    walltime = request.walltime
    asked, sigma = idle_text(request, walltime.asked), idle_text(request, walltime.two_sigma)
    return Entry(f"{asked} / {sigma}".replace(" h", ""))
