"""What a timeline shows in addition to calls: messages, waits, the critical path, functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.arrays import Floats, Ints


@dataclass(frozen=True)
class Arrows:
    """Messages, as arrays of equal length, in any order."""

    #: ``sender``, ``receiver``: ranks that send and receive.
    sender: Ints
    #: Index of the sending call among the sender's events.
    send: Ints
    receiver: Ints
    #: Index of the call that completed the receive among the receiver's events.
    receive: Ints

    def __len__(self) -> int:
        return len(self.sender)


@dataclass(frozen=True)
class WaitMark:
    """A wait within a call of ``rank`` from ``begin`` to ``end`` (s on the trace's clock).
    ``waited`` is the waiting time (s) in this call.
    """

    rank: int
    begin: float
    end: float
    waited: float
    function: str
    place: str
    #: Kind of the wait, in a few words.
    cause: str
    #: Rank that was late, or -1.
    origin: int = -1
    #: Number of calls that waited for the same late call, but for a shorter time.
    others: int = 0


@dataclass(frozen=True)
class PathPiece:
    """A part of the critical path: on ``rank`` from ``begin`` to ``end`` (s)."""

    rank: int
    begin: float
    end: float


@dataclass(frozen=True)
class ComputingSamples:
    """Samples of call stacks outside of MPI, as arrays of equal length in any order."""

    #: Names of functions.
    functions: Sequence[str]
    #: CPU time between two samples of a thread, s.
    period: float
    rank: Ints
    #: s on the trace's clock.
    time: Floats
    #: Index in ``functions``.
    function: Ints


@dataclass(frozen=True)
class Annotations:
    """What the analysis of a trace adds to its timeline."""

    arrows: Arrows | None = None
    #: Waits, the longest first.
    waits: Sequence[WaitMark] = ()
    path: Sequence[PathPiece] = ()
    samples: ComputingSamples | None = None
