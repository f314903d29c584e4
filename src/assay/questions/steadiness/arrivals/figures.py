"""Figure of barrier arrivals: the lateness of each rank behind the first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assay.charts.columns import DataColumn
from assay.charts.figure import Figure
from assay.charts.plot import Plot
from assay.questions.steadiness.arrivals.findings import ArrivalFindings
from assay.units import counted

_RANKS = 64  # maximum number of boxes side by side
_MICRO = (1e-6, "µs")


def figures(found: ArrivalFindings) -> list[Figure]:
    """The lateness of the ranks that arrive last most often."""
    latest = found.latest
    if latest is None:
        return []
    shown = sorted(found.ranks, key=lambda each: -each.last)[:_RANKS]
    factor, unit = _MICRO

    def lateness(name: str, meaning: str, title: str, of: Callable[[Any], float]) -> DataColumn:
        return DataColumn(name, meaning, "s", f"{title} ({unit})", ".3~g", factor=factor, of=of)

    columns = [
        DataColumn("rank", "rank", kind="rank", of=lambda each: each.rank),
        DataColumn("cpu", "its first CPU", title="CPU", of=lambda each: each.cpu),
        DataColumn("last", "share of barriers that it reached last", "1", "last at (share)", ".3~g",
                   of=lambda each: each.last),
        lateness("p05", "5% quantile of its lateness behind the first", "5%",
                 lambda each: each.level(0.05)),
        lateness("median", "median of its lateness", "median", lambda each: each.level(0.5)),
        lateness("p95", "95% quantile of its lateness", "95%", lambda each: each.level(0.95)),
        DataColumn("p99", "99% quantile of its lateness", "s", of=lambda each: each.level(0.99)),
        lateness("worst", "maximum lateness of all launches", "worst", lambda each: each.worst),
    ]  # fmt: skip
    plot = Plot.of(sorted(shown, key=lambda each: each.rank), columns, height=220)
    y = plot.axis(
        "p05",
        f"behind the first ({unit})",
        # Logarithmic, but linear below 0.1 µs: the first rank's lateness is 0.
        scale="symlog",
        constant=0.1,
        values=[0, 0.1, 1, 10, 100, 1e3, 1e4, 1e5, 1e6],
        format=",.6~g",
    )
    tips = ("rank", "cpu", "last", "median", "p95", "worst")
    plot.share(x=plot.axis("rank", label_angle=0), tips=tips)
    plot.rules(stroke_width=6, opacity=0.4, y=y, y2="p95")
    plot.ticks(thickness=2, size=24, y=plot.same(y, "median"))
    plot.dots(size=40, y=plot.same(y, "worst"))
    figure = plot.figure(
        "noise-lateness",
        "Barriers: lateness of each rank behind the first",
        caption="Bar: 5% to 95% of the barriers, medians over launches; tick: median; dot: maximum."
        + (f" Drawn: the {_RANKS} ranks that are last most often." if len(shown) == _RANKS else ""),
        alt=f"Lateness of {counted(len(shown), 'rank')}; {latest.place} arrives last most often.",
        width="half",
    )
    return [figure]
