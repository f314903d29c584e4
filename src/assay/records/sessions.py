"""The sessions of a run that is repeated over time: ``sessions.jsonl`` has a line for the beginning
and a line for the end of each. A run of one session has no such file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from assay.decoding import UNREADABLE
from assay.model.sessions import SessionState
from assay.plain_files import read_plain
from assay.records.files import append_line

SESSIONS = "sessions.jsonl"

# How a session ended. over: completely measured; cut: interrupted after each cell was measured;
# void: interrupted before that, so that it doesn't count.
How = Literal["over", "cut", "void"]


class SessionEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line: a session begins or has ended."""

    event: Literal["begun", "ended"]
    #: Number of the session, from 0.
    session: int
    #: Time of this beginning or end.
    utc: float
    #: Time when it was due; both times are Unix times, s.
    due: float | None = None
    #: Number of due times since the last session at which no session began.
    missed: int = 0
    #: How the session ended; null for a beginning.
    how: How | None = None
    #: Changes of the machine's clock during the wait for the session.
    note: str = ""


def append_session(run: Path, event: SessionEvent) -> None:
    """Add a line. Raises AssayError if it can't be written."""
    append_line(run / SESSIONS, msgspec.json.encode(event))


def read_sessions(run: Path) -> list[SessionEvent]:
    """The complete lines, in the order written; none for a run of one session."""
    try:
        lines = read_plain(run / SESSIONS).split(b"\n")
    except OSError:
        return []
    events = []
    for line in lines:
        with contextlib.suppress(*UNREADABLE):
            events.append(msgspec.json.decode(line, type=SessionEvent))
    return events


def held_sessions(events: Iterable[SessionEvent]) -> list[SessionState]:
    """The state of each session that has begun, by number."""
    begun: dict[int, SessionEvent] = {}
    ended: dict[int, SessionEvent] = {}
    for event in events:
        (begun if event.event == "begun" else ended).setdefault(event.session, event)
    held = []
    for number in sorted(begun):
        first, last = begun[number], ended.get(number)
        due = first.utc if first.due is None else first.due
        counts = last is not None and last.how != "void"
        held.append(SessionState(number, due, first.utc, last is not None, counts))
    return held
