"""Sessions: repetition over time, whose beginnings lie on a grid, and what belongs to which.

A session's replicates are numbered from a multiple of the most launches that a cell may have, so
that a measurement's session follows from its id and the plan, whatever clocks said meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from assay.model.replication import Replication

# A session is begun late by this share of the time between two at most: what has passed longer ago
# is missed, so that what slept does not measure twice at the same time of day.
LATEST = 0.5


def session_of(replicate: int, rule: Replication) -> int:
    """The session, from 0, that a replicate was measured in; 0 where there is but one."""
    return replicate // rule.max_launches if rule.repeated else 0


def first_replicate(session: int, rule: Replication) -> int:
    """The number of a session's first replicate."""
    return session * rule.max_launches if rule.repeated else 0


@dataclass(frozen=True)
class SessionState:
    """What has been of one session. Times are Unix times in seconds.

    ``due``: when it was to begin, ``utc``: when it did. ``over``: whether it has ended; ``counts``:
    whether it is one of those that were asked for.
    """

    number: int
    due: float
    utc: float
    over: bool
    counts: bool


@dataclass(frozen=True)
class NextSession:
    """The session that comes next, or goes on (``begun``). ``missed``: beginnings since the last
    one that passed without a session. ``set_back``: the clock was, so that ``due`` is the next
    beginning by what it says now.
    """

    number: int
    due: float
    begun: bool = False
    missed: int = 0
    set_back: bool = False


def next_session(rule: Replication, held: Iterable[SessionState], now: float) -> NextSession | None:
    """Which session comes next, seen from ``now`` (Unix time); None if there is no more to come.

    Sessions begin at the first one's time and at multiples of ``every`` after it. One that was cut
    short goes on until the next is due. Where a number of sessions was asked for, missed ones are
    made up for at the end, at a beginning of their own; where a duration was, they are not.
    """
    sessions = list(held)
    if not sessions:
        return NextSession(0, now)
    last = sessions[-1]
    if not rule.repeated:
        return None if last.over else NextSession(0, last.due, begun=True)
    assert rule.every is not None
    if not last.over and abs(now - last.due) < rule.every:
        return NextSession(last.number, last.due, begun=True)
    if rule.sessions is not None and sum(one.counts for one in sessions) >= rule.sessions:
        return None
    first = sessions[0].due
    due, missed, set_back = last.due + rule.every, 0, False
    if now < min(last.due, last.utc):
        set_back = True
        due = first + rule.every * math.floor((now - first) / rule.every + 1.0)
    elif now > due:
        missed = math.floor((now - due) / rule.every)
        due += missed * rule.every
        if now - due > LATEST * rule.every:
            missed, due = missed + 1, due + rule.every
    if rule.sessions is None and due >= first + rule.planned * rule.every * (1 - 1e-9):
        return None
    return NextSession(last.number + 1, due, missed=missed, set_back=set_back)
