"""Texts on records of the hosts of a run: bytes sent over each adapter, and clock differences."""

from __future__ import annotations

from assay.records.model import RunData
from assay.records.stream import sent_by_adapter
from assay.stats.fleet.clock_spread import widest_spread
from assay.units import format_quantity


def clock_text(run: RunData) -> str:
    """The greatest difference in the time of day between hosts, as text; empty on one host."""
    spread = widest_spread(run.measurements)
    if spread is None:
        return ""
    apart, error = (format_quantity(value, "s") for value in (spread.apart, spread.error))
    return f"times of day differ by {apart} at most, known to ±{error}"


def clock_notes(run: RunData) -> list[str]:
    """A caveat with a recommendation where the times of day differ by too much."""
    spread = widest_spread(run.measurements)
    if spread is None or not spread.confusing:
        return []
    return [
        f"The time of day of {spread.ahead} is {format_quantity(spread.apart, 's')} ahead of that "
        f"of {spread.behind}: events in their logs cannot be put in order. Run an NTP client "
        "(chrony, ntpd) on every host. No number of this report is affected: samples are timed by "
        "monotonic clocks."
    ]


def network_text(run: RunData) -> str:
    """``12 GB over eth1``, the most bytes first; empty where nothing was counted."""
    sent = sent_by_adapter(m.record for m in run.measurements)
    return ", ".join(f"{format_quantity(most, 'B')} over {name}" for name, most in sent.items())
