"""Sessions: their due times, and the replicates that belong to each.

Sessions begin at regular times. A session's replicates are numbered from a multiple of the maximum
number of launches of a cell, so that a measurement's session follows from its id and the plan,
independent of clocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from assay.model.replication import Replication

# Share of ``every`` by which a session may begin late. A later session is missed, so that a program
# that was suspended doesn't measure two sessions at nearly the same time.
LATEST = 0.5


def session_of(replicate: int, rule: Replication) -> int:
    """The session (from 0) in which a replicate was measured; 0 if there is only one."""
    return replicate // rule.max_launches if rule.repeated else 0


def first_replicate(session: int, rule: Replication) -> int:
    """The number of a session's first replicate."""
    return session * rule.max_launches if rule.repeated else 0


@dataclass(frozen=True)
class SessionState:
    """State of one session that has begun. Times are Unix times in seconds."""

    number: int
    #: Time at which the session was due.
    due: float
    #: Time at which the session began.
    utc: float
    #: Whether the session has ended.
    over: bool
    #: Whether the session counts towards the requested number of sessions.
    counts: bool


@dataclass(frozen=True)
class NextSession:
    """The next session, or the present session if it continues (``begun``)."""

    number: int
    due: float
    begun: bool = False
    #: Number of due times since the last session at which none began.
    missed: int = 0
    #: Whether the clock was set back; ``due`` is then the next due time by the present clock.
    set_back: bool = False


def next_session(rule: Replication, held: Iterable[SessionState], now: float) -> NextSession | None:
    """The next session as seen at ``now`` (Unix time); None if there is none.

    Sessions are due at the first one's time and at multiples of ``every`` after it. An interrupted
    session continues until the next is due. If a number of sessions was requested, missed ones are
    appended at the end; if a duration was requested, they are not.
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
