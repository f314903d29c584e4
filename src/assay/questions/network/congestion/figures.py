"""Figures of the network under load: tails of each victim, and impact by share of aggressors."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Literal

import msgspec

from assay.charts.builder import Chart, marked, numbers
from assay.charts.figure import Field, Figure
from assay.charts.levels import level
from assay.charts.marks import Row, Spec, ratio_fields
from assay.questions.common.figure_rows import intervals_text
from assay.questions.common.figure_rows import statistics as statistics_of
from assay.questions.network.congestion.findings import CongestionFindings
from assay.questions.network.congestion.impacts import Impact
from assay.units import counted, format_size, listed

QUIET = "quiet"
_TAILS = "Tails of quiet and loaded operations"
_RAMPS = "Impact by active aggressors"
_HEIGHT = 240
# Places of quantiles along x: the inverse of the share of longer operations.
_ODDS_LABEL = "format(100 * (1 - 1 / datum.value), '.6~g') + '%'"
_ODDS = (2.0, 10.0, 100.0, 1e3, 1e4)
_FEWEST_LEVELS = 3


def figures(found: CongestionFindings) -> list[Figure]:
    """For each victim its quantiles beside each aggressor, and its ramps."""
    strongest = [each.impact for each in found.judged]
    victims = list(dict.fromkeys(each.victim for each in strongest))
    tails = [_tail_figure([e for e in strongest if e.victim == victim]) for victim in victims]
    steps = [step for ramp in found.ramps for step in ramp.steps]
    ramps = [_ramp_figure([e for e in steps if e.victim == victim], found) for victim in victims]
    return [*_grouped(tails, _TAILS), *_grouped(ramps, _RAMPS)]


def _grouped(drawn: Sequence[Figure | None], title: str) -> list[Figure]:
    """The figures of the victims as panels of one group, if there are several."""
    known = [figure for figure in drawn if figure is not None]
    if len(known) < 2:
        return known
    # Panels of a group share a caption, of which the one with intervals says more.
    caption = known[0].caption
    return [
        msgspec.structs.replace(each, group=title, panel=each.title.partition(": ")[2],
                                caption=caption)
        for each in known
    ]  # fmt: skip


def _curve(impact: Impact) -> str:
    return f"{impact.aggressor}, {impact.setting}" if impact.setting else impact.aggressor


def _tail_figure(impacts: Sequence[Impact]) -> Figure | None:
    """Quantiles of one victim, quiet and beside each aggressor; None without several quantiles."""
    # The quiet network's dashed line is drawn over the others, which often coincide with it.
    rows = [*(row for each in impacts for row in _loaded_rows(each)), *_quiet_rows(impacts)]
    if len({row["odds"] for row in rows}) < _FEWEST_LEVELS:
        return None
    odds = sorted({float(row["odds"] or 0.0) for row in rows})
    ticks = [tick for tick in _ODDS if odds[0] <= tick * 1.001 and tick <= odds[-1] * 1.001]
    chart = Chart(
        rows,
        _odds_axis(ticks, odds[-1]),
        "time of an operation",
        "s",
        hue="load",
        names=[("load", "beside"), ("quantile", "quantile")],
        logarithmic=True,
        height=_HEIGHT,
    )
    curves = list(dict.fromkeys(str(row["load"]) for row in rows))
    dashes: list[list[int]] = [[4, 3] if name == QUIET else [1, 0] for name in curves]
    chart.bands().lines(30, strokeDash=marked("load", curves, dashes))
    victim, size = impacts[0].victim, format_size(impacts[0].bytes)
    top = max(float(row["quantile"] or 0.0) for row in rows)
    return chart.figure(
        f"congestion-tail-{victim}",
        f"{_TAILS}: {victim}, {size}",
        caption="Time that each share of the operations doesn't exceed, median over launches, all "
        "aggressors active; dashed: quiet. Both axes are logarithmic. Each point has at least 10 "
        f"longer operations per launch. {intervals_text(_loaded(rows), 'band')}",
        alt=f"Line chart of the quantiles of {victim} operations up to {top:.4%}, on the quiet "
        f"network and beside {listed(list(dict.fromkeys(map(_curve, impacts))))}.",
        fields=[
            Field("quantile", "1", "share of the operations that don't take longer"),
            Field("odds", "", "operations per operation that takes longer"),
            Field("load", "", "aggressor, or quiet network"),
        ],
    )


def _odds_axis(ticks: Sequence[float], most: float) -> Spec:
    return numbers(
        "odds",
        "share of operations",
        scale={"type": "log", "nice": False, "domainMin": 2, "domainMax": most, "padding": 8},
        axis={"values": list(ticks), "labelExpr": _ODDS_LABEL, "labelOverlap": "greedy"},
    )


def _loaded(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["load"] != QUIET]


def _quiet_rows(impacts: Sequence[Impact]) -> list[Row]:
    """The quiet network's quantiles: the median over the victim's cells."""
    levels: dict[float, list[tuple[float, int]]] = {}
    for each in impacts:
        for one in each.tail:
            if one.sure:
                levels.setdefault(one.level, []).append((one.quiet, one.launches))
    return [
        _row(QUIET, at, statistics.median(time for time, _ in known), None,
             sum(launches for _, launches in known))
        for at, known in sorted(levels.items())
    ]  # fmt: skip


def _loaded_rows(impact: Impact) -> list[Row]:
    return [
        _row(_curve(impact), one.level, one.loaded, one.loaded_ci95, one.launches)
        for one in impact.tail
        if one.sure
    ]


def _row(load: str, at: float, time: float, ends: tuple[float, float] | None, launches: int) -> Row:
    low, high = ends or (None, None)
    return {
        "load": load,
        "quantile": at,
        "odds": 1.0 / (1.0 - at),
        "median": time,
        "low": low,
        "high": high,
        "launches": launches,
    }


def _ramp_figure(steps: Sequence[Impact], found: CongestionFindings) -> Figure | None:
    """The ratios of one victim against the share of active aggressors; None for a single share."""
    if len({each.share for each in steps}) < 2:
        return None
    tail = all(each.p99 is not None for each in steps)
    rows: list[Row] = [
        {"share": each.share, "load": _curve(each),
         **statistics_of(each.worst if tail else each.median)}
        for each in steps
    ]  # fmt: skip
    of: Literal["99th percentiles", "medians"] = "99th percentiles" if tail else "medians"
    shares = sorted({each.share for each in steps})
    axis = {"values": shares, "format": ".0%", "labelOverlap": "greedy"}
    chart = Chart(
        rows,
        numbers("share", "active aggressors", scale={"zero": False, "padding": 16}, axis=axis),
        "loaded / quiet",
        "",
        hue="load",
        names=[("load", "beside"), ("share", "active")],
        scale=(1.0, ""),
        logarithmic=True,
        height=_HEIGHT,
    ).curves()
    if chart.y["scale"]["domain"][0] <= 1.0:
        chart.add(level(1.0))
    victim, size = steps[0].victim, format_size(steps[0].bytes)
    top = max(float(row["median"] or 0.0) for row in rows)
    return chart.figure(
        f"congestion-ramp-{victim}",
        f"{_RAMPS}: {victim}, {size}",
        caption=f"Ratio of loaded to quiet {of}, by the share of the aggressors' half of the nodes "
        f"that is active. Dashed: no impact. {intervals_text(rows, 'band')}",
        alt=f"Line chart of the ratio of {of} of {victim} against {counted(len(shares), 'share')} "
        f"of active aggressors; at most {top:.2f}.",
        fields=[
            Field("share", "1", "active share of the aggressors' half of the nodes"),
            Field("load", "", "aggressor"),
        ],
        statistics=ratio_fields(f"loaded over quiet {of}"),
    )
