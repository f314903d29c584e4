"""Figures on profiles compared: shares against the number of ranks."""

from __future__ import annotations

from assay.charts.columns import DataColumn, in_percent
from assay.charts.figure import Figure
from assay.charts.marks import Row
from assay.charts.plot import Plot
from assay.subjects.profile.compared.model import ProfileComparison
from assay.subjects.profile.sampled.words import shortened
from assay.units import counted, format_share

# Functions with a line of their own.
_MOST = 6


def figures(found: ProfileComparison) -> list[Figure]:
    """Shares by number of ranks, if there are several sizes."""
    growth = found.growth
    if growth is None or not growth.functions:
        return []
    sizes = [*growth.sizes, growth.next_size]
    rows: list[Row] = [
        {"function": shortened(one.function, 40), "ranks": size, "share": share,
         "kind": "predicted" if size == growth.next_size else "measured"}
        for one in growth.functions[:_MOST]
        for size, share in zip(sizes, [*one.shares, one.next_share], strict=True)
    ]  # fmt: skip
    columns = [
        DataColumn("function", "function, or activity", kind="name"),
        DataColumn("ranks", "number of ranks"),
        in_percent("share", "share of the CPU time", "share of the CPU time (%)"),
        DataColumn("kind", "measured or predicted", kind="name"),
    ]
    plot = Plot(columns, rows, height=280)
    plot.share(
        x=plot.axis("ranks", "ranks", scale="log", base=2, values=sizes, grid=False),
        y=plot.axis("share", tick_count=5, domain_min=0),
        colour=plot.hue("function"),
    )
    plot.line()
    plot.rings(fill="white", size=50, only="datum.kind == 'predicted'",
               tips=("function", "ranks", "share", "kind"))  # fmt: skip
    plot.dots(size=50, only="datum.kind == 'measured'",
              tips=("function", "ranks", "share", "kind"))  # fmt: skip
    first = growth.functions[0]
    return [
        plot.figure(
            "profile-growth",
            "Shares by number of ranks",
            caption=f"Filled: measured. Open: predicted for {counted(growth.next_size, 'rank')}.",
            alt=f"Lines of shares over {counted(len(growth.sizes), 'size')}; the largest share at "
            f"{growth.next_size} ranks is {shortened(first.function)}, "
            f"{format_share(first.next_share)}.",
        )
    ]
