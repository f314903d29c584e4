"""Tables of promised availability and variation."""

from __future__ import annotations

from assay.questions.common.tables import NOTHING, Entry, Table, TableBuilder, Tone, count, share
from assay.subjects.acceptance.answer import label_of
from assay.subjects.acceptance.model import (
    AcceptanceFindings,
    JudgedAvailability,
    JudgedVariation,
    Promised,
)
from assay.units import format_limit, format_minute

TONES: dict[str, Tone] = {"accepted": "good", "rejected": "bad", "undecided": "warn"}


def outcome_entry(each: Promised) -> Entry:
    """The verdict with its colour."""
    return Entry(each.outcome, each.outcome, TONES[each.outcome])


def availability_table(found: AcceptanceFindings) -> Table:
    """A row for each promised availability."""

    def hours(value: float) -> Entry:
        return Entry(f"{value:,.1f}", value)

    def range_of(each: JudgedAvailability) -> Entry:
        if each.low is None or each.high is None:
            return NOTHING
        return share(each.value, None if each.low == each.high else (each.low, each.high))

    return (
        TableBuilder(found.availabilities)
        .text("name", "Availability", lambda each: each.name)
        .column("outcome", "Verdict", outcome_entry)
        .numbers("promised", "At least", lambda each: share(each.at_least))
        .numbers("value", "Available [whole period]", range_of)
        .column("begin", "From (UTC)", lambda each: Entry(format_minute(each.begin), each.begin))
        .counts("days", "Days", lambda each: each.period_days)
        .numbers("passed", "Node hours", lambda each: hours(each.passed_hours))
        .numbers("down", "Not available", lambda each: hours(each.down_hours))
        .numbers("planned", "Planned, not counted", lambda each: hours(each.planned_hours))
        .table("acceptance-availability", "Availability")
    )


def variation_table(found: AcceptanceFindings) -> Table:
    """A row for each promised variation and cell."""

    def limit(value: float | None) -> Entry:
        return NOTHING if value is None else share(value)

    def values(each: JudgedVariation) -> Entry:
        return count(each.used)

    return (
        TableBuilder(found.variations)
        .text("name", "Variation", lambda each: label_of(each, found))
        .column("outcome", "Verdict", outcome_entry)
        .text("between", "Between", lambda each: each.between)
        .numbers("promised", "At most", lambda each: share(each.at_most))
        .numbers("value", "Measured", lambda each: limit(each.value))
        .numbers("low", "From", lambda each: limit(each.decided_low))
        .numbers("high", "To", lambda each: limit(each.decided_high))
        .text("margin", "Margin", lambda each: format_limit(each.margin))
        .numbers("used", "Values", values)
        .table(
            "acceptance-variation",
            "Variation",
            caption="Coefficient of variation. From - to: one-sided limits at the supplier's and "
            "the buyer's risk.",
        )
    )
