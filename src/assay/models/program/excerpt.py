"""Some iterations of a trace as a separate trace, for models of long runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.models.program.repetition import IterationTimes, Repetition
from assay.trace.events import Events, RankTrace, Trace

# Columns of events with one entry per call.
_COLUMNS = (
    "begin", "end", "function", "site", "communicator", "peer", "tag", "source", "source_tag",
    "sent", "received", "request", "count", "thread",
)  # fmt: skip


@dataclass(frozen=True)
class TraceExcerpt:
    """Some iterations of a trace, as a trace."""

    #: The excerpt has ``times`` of the ``whole`` iterations of a run, beginning with number
    #: ``first``.
    trace: Trace
    first: int
    times: int
    whole: int

    @property
    def factor(self) -> float:
        """Number of iterations of the run per iteration of the excerpt."""
        return self.whole / self.times


def common_repetitions(
    trace: Trace, found: Sequence[IterationTimes | None]
) -> list[Repetition] | None:
    """The iterations of each rank; None if the ranks don't all have the same number of them."""
    repetitions = [one.repetition for one in found if one is not None]
    if len(repetitions) < len(trace.ranks) or len({one.times for one in repetitions}) != 1:
        return None
    return repetitions


def excerpt(
    trace: Trace, repetitions: Sequence[Repetition], enough: int, most: int
) -> TraceExcerpt | None:
    """Iterations from the middle of a run, of at most ``enough`` calls of all ranks.

    Long iterations may have up to ``most`` calls: three of them, or as many as possible. None if a
    single one has more. ``repetitions``: the iterations of each rank, equally many.
    """
    whole = repetitions[0].times
    calls = sum(one.period for one in repetitions)
    times = min(max(enough // calls, min(3, most // calls)), whole)
    if times == 0:
        return None
    first = (whole - times) // 2
    ranks = []
    for rank, one in zip(trace.ranks, repetitions, strict=True):
        low = one.first + first * one.period
        ranks.append(_part(rank, low, low + times * one.period))
    return TraceExcerpt(replace(trace, ranks=tuple(ranks)), first, times, whole)


def _part(rank: RankTrace, low: int, high: int) -> RankTrace:
    events = rank.events
    starts = events.completed_start[low : high + 1]
    columns = {name: getattr(events, name)[low:high] for name in _COLUMNS}
    return replace(
        rank,
        begin=float(events.end[low - 1]) if low else rank.begin,
        end=float(events.end[high - 1]),
        events=Events(
            completed_start=np.asarray(starts - starts[0]),
            completed_request=events.completed_request[starts[0] : starts[-1]],
            **columns,
        ),
    )
