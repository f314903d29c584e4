"""The table of the best placements."""

from __future__ import annotations

from assay.questions.common.selection import Point, measured_text, quantity_text
from assay.questions.common.tables import Column, Entry, Table
from assay.questions.placement.best.findings import BestFindings
from assay.questions.placement.best.outcomes import PlacementOutcome
from assay.questions.placement.ratios.findings import PlacementRatio
from assay.questions.placement.works import layout_text, name_of
from assay.units import MISSING, format_probability


def tables(found: BestFindings) -> list[Table]:
    """The placement that each search chose."""
    rule = found.outcomes[0].rule
    return [
        Table(
            id="placement-best",
            title="The best placement",
            caption=f"Probability: that it is within {rule.within:.0%} of the best; required: "
            f"{rule.probability:.0%}. Launches: also as a share of an exhaustive search with "
            f"{rule.fewest} launches of each placement.",
            columns=[
                Column("work", "Work"),
                Column("nodes", "Nodes", numeric=True),
                Column("best", "Best placement"),
                Column("time", "Time [95% interval]", unit="s", numeric=True),
                Column("sure", "Probability", numeric=True),
                Column("tried", "Measured", numeric=True),
                Column("made", "Launches", numeric=True),
                Column("one", "Speed over 1 rank per node", numeric=True),
                Column("full", "Speed over one rank per core", numeric=True),
            ],
            rows=[_row(outcome) for outcome in found.outcomes],
        )
    ]


def _row(outcome: PlacementOutcome) -> list[Entry]:
    share = outcome.measurements / outcome.exhaustive
    return [
        Entry(name_of(outcome.work)),
        Entry(str(outcome.work.placement.nodes), outcome.work.placement.nodes),
        Entry(layout_text(outcome.best.placement) if outcome.best else "none could be measured"),
        Entry(measured_text(outcome.point), outcome.point.metric.median)
        if outcome.point
        else Entry(MISSING, tone="quiet"),
        Entry(
            format_probability(outcome.probability, 1),
            outcome.probability,
            tone="" if outcome.settled else "warn",
        ),
        Entry(f"{outcome.tried} of {outcome.candidates}", outcome.tried),
        Entry(f"{outcome.measurements} ({share:.0%})", outcome.measurements),
        _over(outcome, outcome.one, outcome.over_one),
        _over(outcome, outcome.full, outcome.over_full),
    ]


def _over(outcome: PlacementOutcome, other: Point | None, ratio: PlacementRatio | None) -> Entry:
    if other is None or outcome.point is None:
        return Entry(MISSING, tone="quiet")
    if ratio is None:
        return Entry("the same", tone="quiet")
    return Entry(quantity_text(ratio.value, "", ratio.interval), ratio.value)
