"""The figure on why a program isn't faster: what each reason costs."""

from __future__ import annotations

from assay.charts.columns import DataColumn
from assay.charts.figure import Figure
from assay.charts.marks import Row, scale_of
from assay.charts.plot import Plot
from assay.subjects.why.answer import cost_text
from assay.subjects.why.model import WhyFindings
from assay.units import capitalised


def figures(found: WhyFindings) -> list[Figure]:
    """The costs; none if no cost is known."""
    known = [one for one in found.reasons if one.seconds is not None]
    if not known:
        return []
    factor, prefix = scale_of([found.seconds])
    rows: list[Row] = [
        {
            "reason": capitalised(one.name), "order": place, "seconds": one.seconds or 0.0,
            "low": one.low or 0.0, "high": one.high or 0.0, "outcome": one.outcome,
        }
        for place, one in enumerate(known)
    ]  # fmt: skip
    columns = [
        DataColumn("reason", "reason", kind="name"),
        DataColumn("order", "order in which the reasons are asked"),
        DataColumn("seconds", "cost", "s", f"cost ({prefix}s)", ".3~g", factor=factor),
        DataColumn("low", "lower end of the 95% interval", "s", factor=factor),
        DataColumn("high", "upper end of the 95% interval", "s", factor=factor),
        DataColumn("outcome", "outcome", kind="name"),
    ]
    plot = Plot(columns, rows, height=24 * len(rows))
    names = plot.names("reason", "", sort=[row["reason"] for row in rows], label_limit=160)
    plot.bars(
        x=plot.axis("seconds", f"run time that it costs ({prefix}s)", tick_count=5),
        y=names,
        colour=plot.hue("outcome"),
        tips=("reason", "seconds", "low", "high", "outcome"),
    )
    most = max(known, key=lambda one: one.seconds or 0.0)
    return [
        plot.figure(
            "why-costs",
            "What each reason costs",
            caption="Run time that each reason costs, in the order in which the reasons are "
            "asked. Intervals are in the table.",
            alt=f"Bars of {len(known)} reasons; the longest is {most.name} with {cost_text(most)}.",
        )
    ]
