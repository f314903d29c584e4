"""Differences of the system time between the hosts of a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from assay.records.model import Measurement
from assay.records.schema import RankRecord

# Minimum difference of system times, in seconds, that is reported: from this difference on, the
# order of events on two hosts is uncertain. Hosts synchronised by NTP stay within a few
# milliseconds.
_APART = 0.1


@dataclass(frozen=True)
class ClockSpread:
    """Difference of two hosts' system times (``apart``, s), and its error."""

    apart: float
    error: float
    ahead: str
    behind: str

    @property
    def confusing(self) -> bool:
        """Whether the order of events on two hosts can't be determined."""
        return self.apart - self.error > _APART


def widest_spread(measurements: Iterable[Measurement]) -> ClockSpread | None:
    """The two hosts of one launch whose system times differ most; None if none were compared.

    The sum of both hosts' errors bounds the error of their difference.
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
