"""The efficiencies of the POP Centre of Excellence, from a trace.

Parallel efficiency = load balance × communication efficiency, and communication efficiency =
serialisation × transfer (Wagner et al., "A structured approach to performance analysis", 2018). The
last two need the run time on an ideal network, where messages take no time: the longest path of the
execution graph without latency, gap and overhead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats
from assay.trace.events import Trace


@dataclass(frozen=True)
class TraceEfficiencies:
    """Efficiencies as shares of 1."""

    #: Mean computing time of the ranks ÷ run time.
    parallel: float
    #: Mean ÷ longest computing time.
    load_balance: float
    #: Longest computing time ÷ run time.
    communication: float
    #: Longest computing time ÷ run time on an ideal network.
    serialisation: float | None
    #: Run time on an ideal network ÷ run time.
    transfer: float | None
    #: The run time on an ideal network, s. The last three are None without an execution graph.
    ideal: float | None


def computing_times(trace: Trace) -> Floats:
    """Seconds of each rank outside of MPI. Simultaneous calls of several threads count once."""
    found = []
    for rank in trace.ranks:
        events = rank.events
        if not len(events):
            found.append(rank.wall)
            continue
        # The time in calls of any thread: the union of the intervals.
        reached = np.maximum.accumulate(np.concatenate([[rank.begin], events.end[:-1]]))
        inside = np.maximum(events.end - np.maximum(events.begin, reached), 0.0).sum()
        found.append(max(rank.wall - float(inside), 0.0))
    return np.array(found)


def efficiencies(trace: Trace, ideal: float | None) -> TraceEfficiencies:
    """The efficiencies of a run. ``ideal``: its run time on an ideal network, s, if known."""
    computing = computing_times(trace)
    wall = trace.end - trace.begin
    longest, mean = float(computing.max()), float(computing.mean())
    balance = mean / longest if longest > 0.0 else 1.0
    if ideal is not None:
        # Calls without a partner keep their time, so the model may be slightly longer.
        ideal = min(max(ideal, longest), wall)
    return TraceEfficiencies(
        parallel=mean / wall,
        load_balance=balance,
        communication=longest / wall,
        serialisation=longest / ideal if ideal else None,
        transfer=ideal / wall if ideal is not None else None,
        ideal=ideal,
    )
