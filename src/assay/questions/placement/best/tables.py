"""The table of the best placements."""

from __future__ import annotations

from assay.kernels.naming import cell_name, layout_text
from assay.questions.common.selection import Point
from assay.questions.common.tables import (
    NOTHING,
    Entry,
    Table,
    TableBuilder,
    Tone,
    measured,
    quantity,
)
from assay.questions.placement.best.findings import BestFindings
from assay.questions.placement.best.outcomes import PlacementOutcome
from assay.questions.placement.ratios.findings import PlacementRatio
from assay.units import format_probability


def tables(found: BestFindings) -> list[Table]:
    """The placement that each search chose."""
    rule = found.outcomes[0].rule
    return [
        TableBuilder(found.outcomes)
        .text("work", "Work", lambda each: cell_name(each.work))
        .counts("nodes", "Nodes", lambda each: each.work.placement.nodes)
        .text(
            "best",
            "Best placement",
            lambda each: (
                layout_text(each.best.placement) if each.best else "none could be measured"
            ),
        )
        .numbers("time", "Time [95% interval]", lambda each: measured(each.point), unit="s")
        .numbers("sure", "Probability", _probability)
        .numbers(
            "tried",
            "Measured",
            lambda each: Entry(f"{each.tried} of {each.candidates}", each.tried),
        )
        .numbers("made", "Launches", _launches)
        .numbers(
            "one",
            "Speed over 1 rank per node",
            lambda each: _over(each, each.one, each.over_one),
        )
        .numbers(
            "full",
            "Speed over one rank per core",
            lambda each: _over(each, each.full, each.over_full),
        )
        .table(
            "placement-best",
            "The best placement",
            caption=f"Probability: that it is within {rule.within:.0%} of the best; required: "
            f"{rule.probability:.0%}. Launches: also as a share of an exhaustive search with "
            f"{rule.fewest} launches of each placement.",
        )
    ]


def _probability(outcome: PlacementOutcome) -> Entry:
    tone: Tone = "" if outcome.settled else "warn"
    return Entry(format_probability(outcome.probability, 1), outcome.probability, tone)


def _launches(outcome: PlacementOutcome) -> Entry:
    share = outcome.measurements / outcome.exhaustive
    return Entry(f"{outcome.measurements} ({share:.0%})", outcome.measurements)


def _over(outcome: PlacementOutcome, other: Point | None, ratio: PlacementRatio | None) -> Entry:
    if other is None or outcome.point is None:
        return NOTHING
    if ratio is None:
        return Entry("the same", tone="quiet")
    return quantity(ratio.value, "", ratio.interval)
