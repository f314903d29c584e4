"""The answer on collectives: time, growth with ranks, effects of rank order and timing method."""

from __future__ import annotations

from assay.questions.common.parts import Part
from assay.questions.common.ratios import Ratio, ratio_row
from assay.questions.common.selection import evidence, labeller, quantity_text
from assay.questions.network.collectives.findings import (
    ClockAgreement,
    CollectiveFindings,
    RankGrowth,
)
from assay.questions.network.collectives.points import name_of, operation, ranks, size
from assay.questions.network.collectives.variants import add_variants
from assay.units import capitalised, counted, format_quantity, format_size


def part(found: CollectiveFindings) -> Part:
    """The collectives' part of the network's answer."""
    label = labeller(found.points)
    collectives = Part(
        headline=[found.head],
        evidence=[evidence(name_of(p), p, "time", note=label(p)) for p in found.ends],
        remark=f"{name_of(found.head)} takes {format_quantity(found.head.metric.median, 's')}",
        method=[
            "Collectives: each call is timed separately, from a start time that all ranks agreed "
            "on by a common clock until the last rank finishes (Hunold & Carpen-Amarie)."
            if found.timing == "appointed"
            else "Collectives: each call is timed separately after a barrier, on the slowest rank."
        ],
    )
    for growth in found.growth:
        _add_growth(collectives, growth)
    _add_orders(collectives, found)
    _add_timings(collectives, found)
    add_variants(collectives, found.variants)
    if found.clocks:
        collectives.limits.append(_clock_sentence(found.clocks))
    return collectives


def _add_growth(part: Part, growth: RankGrowth) -> None:
    few, most = growth.points[0], growth.points[-1]
    of = "" if operation(few) == "barrier" else f" of {format_size(size(few))}"
    part.evidence.append(
        ratio_row(
            f"{operation(few)}{of}, {ranks(few)} → {ranks(most)} ranks",
            growth.times,
            metric="growth",
            note=f"grows with the {growth.law} of ranks" if growth.law else "",
        )
    )


def _add_orders(part: Part, found: CollectiveFindings) -> None:
    """Evidence and advice on rank orders whose times differ beyond the range of their ratio."""
    if not found.orders_compared:
        return
    part.method.append(
        "Rank orders are compared at the same operation, size and placement (Barczak et al. 2003, "
        "figures 5 and 6)."
    )
    for times in found.orders:
        name, slow, quick = name_of(times.above), _order(times, "above"), _order(times, "below")
        part.evidence.append(
            ratio_row(f"{name}, {slow} against {quick} order", times, above_first=True)
        )
        part.advice.append(
            f"{capitalised(name)} takes {quantity_text(times.value, '', times.ci95)} as "
            f"long in {slow} as in {quick} order: avoid {slow} order for codes that spend much of "
            "their time in this operation."
        )
    if not found.orders:
        part.limits.append("The times of the rank orders are not distinguishable.")


def _order(times: Ratio, side: str) -> str:
    point = times.above if side == "above" else times.below
    return point.summary.cell.placement.order


def _add_timings(part: Part, found: CollectiveFindings) -> None:
    """Caveats on the largest difference between the two timings of each operation."""
    if not found.timings_compared:
        return
    part.method.append(
        "The usual timing after a barrier agrees with the timing from a common start within the "
        f"intervals in {found.timings_agreeing} of {counted(found.timings_compared, 'case')}."
    )
    for timing in found.timings:
        times, skew = timing.times, timing.skew
        why = f"; the barrier releases its ranks {format_quantity(skew, 's')} apart" if skew else ""
        part.caveats.append(
            f"Timed after a barrier, {name_of(times.above)} appears to take "
            f"{quantity_text(times.value, '', times.ci95)} the time from a common start{why}."
            f"{_among(times.among)}"
        )


def _among(among: int) -> str:
    if among < 2:
        return ""
    return (
        f" This is the largest of {among} similar differences; its interval allows for the choice."
    )


def _clock_sentence(clocks: ClockAgreement) -> str:
    if clocks.domains < 2:
        return "All ranks read the same clock, so collectives have no synchronisation error."
    resolved = (
        f", as far as messages with a round trip of {format_quantity(clocks.round_trip, 's')} can "
        "resolve it"
        if clocks.round_trip
        else ""
    )
    return (
        f"The clocks of {clocks.domains:.0f} hosts differed by at most "
        f"{format_quantity(clocks.error, 's')} at the end of a measurement{resolved}."
    )
