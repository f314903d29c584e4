"""What a timeline shows beside the calls: messages, waits, the critical path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.arrays import Ints


@dataclass(frozen=True)
class Arrows:
    """Messages, as arrays of equal length, in any order."""

    #: ``sender``, ``receiver``: ranks.
    sender: Ints
    #: Index of the call that sent, among the sender's events.
    send: Ints
    receiver: Ints
    #: Index of the call that completed the receive, among the receiver's.
    receive: Ints

    def __len__(self) -> int:
        return len(self.sender)


@dataclass(frozen=True)
class WaitMark:
    """One wait: a call of ``rank`` from ``begin`` to ``end`` (s on the trace's clock), of which
    ``waited`` (s) were waiting.
    """

    rank: int
    begin: float
    end: float
    waited: float
    function: str
    place: str
    #: A few words.
    cause: str
    #: The rank that was late, or -1.
    origin: int = -1
    #: Calls that waited for the same late call, but not as long.
    others: int = 0


@dataclass(frozen=True)
class PathPiece:
    """A part of the critical path: on ``rank`` from ``begin`` to ``end`` (s)."""

    rank: int
    begin: float
    end: float


@dataclass(frozen=True)
class Annotations:
    """What the analysis of a trace adds to its timeline."""

    arrows: Arrows | None = None
    #: The worst first.
    waits: Sequence[WaitMark] = ()
    path: Sequence[PathPiece] = ()
