"""Figure of an acceptance: each commitment's distance from its promised value."""

from __future__ import annotations

from assay.charts.columns import DataColumn, in_percent
from assay.charts.figure import Figure
from assay.charts.marks import LABEL_LIMIT, Row
from assay.charts.plot import Plot, at
from assay.subjects.acceptance.answer import label_of
from assay.subjects.acceptance.model import AcceptanceFindings, JudgedCommitment
from assay.units import counted

_MOST, _STEP = 40, 26
_COLOURS = {"accepted": "#2a7f62", "rejected": "#b3392f", "undecided": "#8a8a8a"}
_GREY = "#8a8a8a"


def figures(found: AcceptanceFindings) -> list[Figure]:
    """The commitments that have a result."""
    shown = [each for each in found.commitments if each.value is not None][:_MOST]
    if not shown:
        return []
    rows = [_row(each, found) for each in shown]
    columns = [
        DataColumn("label", "commitment", title="commitment", kind="name"),
        in_percent("better", "median relative to the promise; above 0 is better",
                   "measured (%)"),
        in_percent("low", "lower end of the interval of the decision", "from (%)"),
        in_percent("high", "upper end of the interval of the decision", "to (%)"),
        in_percent("margin", "value that counts as worse", "margin (%)"),
        DataColumn("verdict", "accepted, rejected or undecided", kind="name"),
    ]  # fmt: skip
    plot = Plot(columns, rows, step=_STEP)
    x = plot.axis("better", "better than promised (%)", grid=True, tick_count=6, padding=12)
    y = plot.names("label", ticks=False, label_limit=LABEL_LIMIT, grid=False)
    verdicts = [verdict for verdict in _COLOURS if any(r["verdict"] == verdict for r in rows)]
    hue = plot.key(
        "verdict", {"title": "verdict"}, domain=verdicts, range=[_COLOURS[v] for v in verdicts]
    )
    plot.rules(data=[{}], color=_GREY, stroke_dash=[4, 3], x=at(0.0))
    plot.ticks(x=plot.same(x, "margin"), y=y, color=_GREY, thickness=2, size=14)
    plot.intervals("low", "high", x=x, y=y, colour=hue)
    plot.dots(
        size=70, opacity=1, x=x, y=y, colour=hue,
        tips=("label", "better", "low", "high", "margin", "verdict"),
    )  # fmt: skip
    left = sum(each.value is not None for each in found.commitments) - len(shown)
    worst = min(rows, key=lambda row: float(row["better"] or 0.0))
    return [
        plot.figure(
            "acceptance-commitments",
            "Commitments beside their promised values",
            caption="Dots: median relative to the promise (dashed line); right of it is better. "
            "Short lines: the value that counts as worse. A commitment is rejected if its interval "
            "is left of the dashed line, and accepted if it is right of the short line. Per node: "
            "the nodes' median, from the worst to the best node."
            + (f" {left} more commitments are in the table." if left else ""),
            alt=f"Distance of {counted(len(rows), 'commitment')} from the promised value; the "
            f"worst is {worst['label']}.",
            width="full",
        )
    ]


def _row(each: JudgedCommitment, found: AcceptanceFindings) -> Row:
    """Relative differences, positive is better; an open end of an interval stays open."""
    promised, value = each.promised or 1.0, each.value or 0.0
    sign = 1.0 if each.better == "more" else -1.0
    ends = [None if end is None else sign * (end / promised - 1.0)
            for end in each.node_range or (each.decided_low, each.decided_high)]  # fmt: skip
    low, high = ends if sign > 0 else ends[::-1]
    return {
        "label": label_of(each, found),
        "better": sign * (value / promised - 1.0),
        "low": low,
        "high": high,
        "margin": -each.margin,
        "verdict": each.outcome,
    }
