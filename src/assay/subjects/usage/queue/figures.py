"""Figures of the scheduler's model: waits by policy and real waits, and what-ifs."""

from __future__ import annotations

from assay.charts.axes import duration_axis
from assay.charts.columns import DataColumn, in_percent
from assay.charts.figure import Figure
from assay.charts.marks import Row
from assay.charts.plot import Plot
from assay.subjects.usage.queue.model import QueueFindings
from assay.subjects.usage.queue.words import percent, seconds, wait_at
from assay.usage.analysis.model import LEVELS
from assay.usage.queue.model import QueueMeasure

REAL = "real"


def figures(found: QueueFindings) -> list[Figure]:
    """Waits by policy, and what-ifs if any of them has a change."""
    drawn = [waits_figure(found), what_ifs_figure(found)]
    return [figure for figure in drawn if figure is not None]


def waits_figure(found: QueueFindings) -> Figure:
    """The distribution of waits with each policy, and of the real waits."""
    measures: list[tuple[str, QueueMeasure]] = [
        (each.name, each.measure) for each in found.policies if each.measure.jobs
    ]
    if found.real is not None:
        measures.insert(0, (REAL, found.real))
    rows: list[Row] = [
        {"policy": name, "share": level, "wait": value}
        for name, measure in measures
        for level, value in zip(LEVELS, measure.wait_quantiles, strict=True)
    ]
    columns = [
        DataColumn("policy", "the policy, or real", kind="name"),
        in_percent("share", "share of the jobs", "share of the jobs (%)"),
        DataColumn("wait", "the quantile of the waits", "s", "wait at most (s)", ".4~g"),
        DataColumn("drawn", shown="max(datum.wait, 1)"),
    ]
    plot = Plot(columns, rows, height=240)
    plot.steps(
        x=duration_axis("drawn", "wait"),
        y=plot.axis("share", grid=True, tick_count=5),
        order="share",
        colour=plot.key("policy", {"symbol_type": "stroke"}),
        tips=("policy", "wait", "share"),
    )
    said = ", ".join(f"{name} {seconds(wait_at(measure, 0.5))}" for name, measure in measures)
    return plot.figure(
        "queue-waits",
        "Waits by policy",
        caption="Share of the jobs that wait at most this long when each policy schedules the same "
        "load; Real: waits in the log. Waits below 1 s are drawn at 1 s.",
        alt=f"Waits by policy: medians {said}.",
    )


def what_ifs_figure(found: QueueFindings) -> Figure | None:
    """The change of the mean wait for each what-if, with its interval."""
    known = [
        each for each in found.what_ifs if each.wait is not None and each.confidence is not None
    ]
    if not known:
        return None
    columns = [
        DataColumn(
            "what", "what is changed", title="what if", kind="name", of=lambda each: each.text
        ),
        in_percent(
            "change", "relative change of the mean wait", "change (%)", of=lambda each: each.wait
        ),
        in_percent(
            "low",
            "lower end of its 95% interval",
            "from (%)",
            of=lambda each: None if each.wait_ci95 is None else each.wait_ci95[0],
        ),
        in_percent(
            "high",
            "upper end of its 95% interval",
            "to (%)",
            of=lambda each: None if each.wait_ci95 is None else each.wait_ci95[1],
        ),
    ]
    plot = Plot.of(known, columns, height=40 + 26 * len(known))
    x = plot.axis("change", "change of the mean wait (%)", grid=True)
    plot.share(y=plot.names("what", ticks=False, domain_line=False, label_limit=260))
    plot.level(x=0).intervals("low", "high", x=x, width=2)
    plot.dots(size=70, opacity=1, x=x, tips=("what", "change", "low", "high"))
    said = "; ".join(
        f"{each.text} {percent(each.wait, each.wait_ci95)}"
        for each in known
        if each.wait is not None
    )
    return plot.figure(
        "queue-what-ifs",
        "What if: the mean wait",
        caption=f"Change of the mean wait relative to {found.model} on the same load. Lines are "
        "95% intervals over weeks of this kind.",
        alt=f"Change of the mean wait: {said}.",
    )
