"""What the hosts of a run recorded: the bytes sent over each adapter, and their clocks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from assay.records.model import Measurement, RunData
from assay.records.schema import RankRecord
from assay.records.traffic import sent_by_adapter
from assay.units import format_quantity

# Seconds by which times of day may differ before a note says so: enough to confuse the order of
# events on two hosts. Hosts that keep time by NTP stay within some milliseconds.
APART = 0.1


@dataclass(frozen=True)
class ClockSpread:
    """How far the times of day of two hosts were ``apart``, in seconds, and the error of that."""

    apart: float
    error: float
    ahead: str
    behind: str


def widest_spread(measurements: Iterable[Measurement]) -> ClockSpread | None:
    """The two hosts of one launch whose times of day differed most; None where none were compared.

    The sum of both hosts' errors bounds that of their difference.
    """
    launches = {m.launch: m.ranks for m in measurements}
    spreads = [spread for ranks in launches.values() if (spread := _spread(ranks)) is not None]
    return max(spreads, key=lambda spread: spread.apart, default=None)


def _spread(ranks: Iterable[RankRecord]) -> ClockSpread | None:
    clocks = [(rank.clocks.utc, rank.host) for rank in ranks if rank.clocks is not None]
    if len(clocks) < 2:
        return None
    last, behind = min(clocks, key=lambda clock: clock[0].offset)
    first, ahead = max(clocks, key=lambda clock: clock[0].offset)
    return ClockSpread(first.offset - last.offset, first.error + last.error, ahead, behind)


def clock_text(run: RunData) -> str:
    """The hosts' greatest difference in the time of day, in words; empty on one host."""
    spread = widest_spread(run.measurements)
    if spread is None:
        return ""
    apart, error = (format_quantity(value, "s") for value in (spread.apart, spread.error))
    return f"times of day differ by {apart} at most, known to ±{error}"


def clock_notes(run: RunData) -> list[str]:
    """A caveat and a recommendation where the times of day differ by more than ``APART``."""
    spread = widest_spread(run.measurements)
    if spread is None or spread.apart - spread.error <= APART:
        return []
    return [
        f"The time of day of {spread.ahead} is {format_quantity(spread.apart, 's')} ahead of that "
        f"of {spread.behind}: events in their logs cannot be put in order. Run an NTP client "
        "(chrony, ntpd) on every host. No number of this report is affected: samples are timed by "
        "monotonic clocks."
    ]


def network_text(run: RunData) -> str:
    """``12 GB over eth1``, the busiest first; empty where nothing was counted."""
    sent = sent_by_adapter(m.record for m in run.measurements)
    return ", ".join(f"{format_quantity(most, 'B')} over {name}" for name, most in sent.items())
