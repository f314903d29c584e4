"""Table of the best placements."""

from __future__ import annotations

from assay.kernels.naming import cell_name, layout_text
from assay.questions.common.selection import Point
from assay.questions.common.tables import (
    NOTHING,
    Entry,
    Table,
    TableBuilder,
    Tone,
    quantity,
)
from assay.questions.placement.best.findings import BestFindings
from assay.questions.placement.best.outcomes import PlacementOutcome, relative_launches
from assay.questions.placement.ratios.findings import PlacementRatio
from assay.units import counted, format_probability


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
        .numbers("time", "Time [95% interval]", _time, unit="s")
        .numbers("sure", "Probability", _probability)
        .numbers(
            "tried",
            "Measured",
            lambda each: Entry(f"{each.tried} of {each.candidates}", each.tried),
        )
        .numbers("made", "Launches", _launches)
        .numbers(
            "one",
            "Speed over one rank per node",
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
            caption=f"Time: corrected for the choice among several placements. Probability: that "
            f"the placement is within {rule.within:.0%} of the best; {100 * rule.probability:g}% "
            "are required. Launches: their number, also relative to an exhaustive search with "
            f"{counted(rule.fewest, 'launch')} per placement.",
        )
    ]


def _time(outcome: PlacementOutcome) -> Entry:
    if outcome.time is None:
        return NOTHING
    return quantity(outcome.time.value, "s", outcome.time.interval)


def _probability(outcome: PlacementOutcome) -> Entry:
    tone: Tone = "" if outcome.decided else "warn"
    return Entry(format_probability(outcome.probability, 1), outcome.probability, tone)


def _launches(outcome: PlacementOutcome) -> Entry:
    return Entry(f"{outcome.measurements} ({relative_launches(outcome)})", outcome.measurements)


def _over(outcome: PlacementOutcome, other: Point | None, ratio: PlacementRatio | None) -> Entry:
    if other is None or outcome.point is None:
        return NOTHING
    if ratio is None:
        return Entry("the same", tone="quiet")
    return quantity(ratio.value, "", ratio.interval)
