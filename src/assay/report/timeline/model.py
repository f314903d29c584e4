"""What a timeline shows beside the calls: messages, waits, the critical path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.arrays import Ints


@dataclass(frozen=True)
class Arrows:
    """Messages, as arrays of equal length, in any order.

    ``sender``, ``receiver``: ranks. ``send``: index of the call that sent, among the sender's
    events. ``receive``: index of the call that completed the receive, among the receiver's.
    """

    sender: Ints
    send: Ints
    receiver: Ints
    receive: Ints

    def __len__(self) -> int:
        return len(self.sender)


@dataclass(frozen=True)
class WaitMark:
    """One wait: a call of ``rank`` from ``begin`` to ``end`` (s on the trace's clock), of which
    ``waited`` (s) were waiting. ``cause``: a few words. ``origin``: the rank that was late, or -1.
    ``others``: calls that waited for the same late call, but not as long.
    """

    rank: int
    begin: float
    end: float
    waited: float
    function: str
    place: str
    cause: str
    origin: int = -1
    others: int = 0


@dataclass(frozen=True)
class PathPiece:
    """A part of the critical path: on ``rank`` from ``begin`` to ``end`` (s)."""

    rank: int
    begin: float
    end: float


@dataclass(frozen=True)
class Annotations:
    """What the analysis of a trace adds to its timeline. ``waits``: the worst first."""

    arrows: Arrows | None = None
    waits: Sequence[WaitMark] = ()
    path: Sequence[PathPiece] = ()
