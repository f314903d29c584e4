"""Figure of barrier arrivals: the lateness of each rank behind the first."""

from __future__ import annotations

from assay.charts.builder import numbers
from assay.charts.figure import Field, Figure
from assay.charts.layers import layer, shown_in, tips
from assay.charts.marks import Row
from assay.questions.steadiness.arrivals.findings import ArrivalFindings
from assay.units import counted

_RANKS = 64  # maximum number of boxes side by side
_MICRO = (1e-6, "µs")


def figures(found: ArrivalFindings) -> list[Figure]:
    """The lateness of the ranks that are last most often."""
    latest = found.latest
    if latest is None:
        return []
    shown = sorted(found.ranks, key=lambda each: -each.last)[:_RANKS]
    rows: list[Row] = [
        {
            "rank": each.rank,
            "cpu": each.cpu,
            "last": each.last,
            "p05": each.level(0.05),
            "median": each.level(0.5),
            "p95": each.level(0.95),
            "p99": each.level(0.99),
            "worst": each.worst,
        }
        for each in sorted(shown, key=lambda each: each.rank)
    ]
    factor, unit = _MICRO
    y = numbers(
        "shown_p05",
        f"behind the first ({unit})",
        # Logarithmic, but linear below 0.1 µs: the first rank's lateness is 0.
        scale={"type": "symlog", "constant": 0.1},
        axis={"values": [0, 0.1, 1, 10, 100, 1e3, 1e4, 1e5, 1e6], "format": ",.6~g"},
    )
    figure = Figure(
        id="noise-lateness",
        title="Barriers: lateness of each rank behind the first",
        caption="Bar: 5% to 95% of the barriers, medians over launches; tick: median; dot: worst."
        + (f" The {_RANKS} ranks that are last most often." if len(shown) == _RANKS else ""),
        alt=f"Lateness of {counted(len(shown), 'rank')}; {latest.place} is last most often.",
        fields=[
            Field("rank", "", "rank"),
            Field("cpu", "", "its first CPU"),
            Field("last", "1", "share of barriers that it reached last"),
            Field("p05", "s", "5% quantile of its lateness behind the first"),
            Field("median", "s", "median of its lateness"),
            Field("p95", "s", "95% quantile of its lateness"),
            Field("p99", "s", "99% quantile of its lateness"),
            Field("worst", "s", "maximum lateness of all launches"),
        ],
        rows=rows,
        spec={
            "height": 220,
            "transform": shown_in(dict.fromkeys(("p05", "median", "p95", "worst"), factor)),
            "encoding": {
                "x": {
                    "field": "rank",
                    "type": "ordinal",
                    "title": "rank",
                    "axis": {"labelAngle": 0},
                },
                "tooltip": tips(
                    ("rank", "rank"),
                    ("cpu", "CPU"),
                    ("last", "last at (share)", ".3~g"),
                    ("shown_median", f"median ({unit})", ".3~g"),
                    ("shown_p95", f"95% ({unit})", ".3~g"),
                    ("shown_worst", f"worst ({unit})", ".3~g"),
                ),
            },
            "layer": [
                layer(
                    {"type": "rule", "strokeWidth": 6, "opacity": 0.4},
                    {"y": y, "y2": {"field": "shown_p95"}},
                ),
                layer(
                    {"type": "tick", "thickness": 2, "size": 24},
                    {"y": {**y, "field": "shown_median"}},
                ),
                layer(
                    {"type": "point", "filled": True, "size": 40},
                    {"y": {**y, "field": "shown_worst"}},
                ),
            ],
        },
        width="half",
    )
    return [figure]
