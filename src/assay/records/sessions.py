"""The sessions of a run that is repeated over time: ``sessions.jsonl``, a line at each one's
beginning and at its end. A run of one session has none.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from assay.decoding import UNREADABLE
from assay.model.sessions import SessionState
from assay.records.files import append_line

SESSIONS = "sessions.jsonl"

# How a session ended: it was measured to its end; it was cut short, each cell having been measured;
# it was cut short before that, and doesn't count.
How = Literal["over", "cut", "void"]


class SessionEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line: a session begins or has ended.

    ``session``: from 0. ``utc``: when, ``due``: when it was to begin, Unix time in seconds.
    ``missed``: beginnings since the last one that passed without a session. ``how``: of an end.
    ``note``: what happened to the machine's clock while the session was waited for.
    """

    event: Literal["begun", "ended"]
    session: int
    utc: float
    due: float | None = None
    missed: int = 0
    how: How | None = None
    note: str = ""


def append_session(run: Path, event: SessionEvent) -> None:
    """Add a line. Raises AssayError where it can't be written."""
    append_line(run / SESSIONS, msgspec.json.encode(event))


def read_sessions(run: Path) -> list[SessionEvent]:
    """The lines that are whole, in the order written; none of a run of one session."""
    try:
        lines = (run / SESSIONS).read_bytes().split(b"\n")
    except OSError:
        return []
    events = []
    for line in lines:
        with contextlib.suppress(*UNREADABLE):
            events.append(msgspec.json.decode(line, type=SessionEvent))
    return events


def held_sessions(events: Iterable[SessionEvent]) -> list[SessionState]:
    """What has been of each session that has begun, by number."""
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
