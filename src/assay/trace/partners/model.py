"""The calls of a trace that belong together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats, Ints
from assay.trace.calls import chosen
from assay.trace.events import Trace

NONE = -1


@dataclass(frozen=True)
class FlatTrace:
    """The events of all ranks, one rank after the other, each in order of time."""

    trace: Trace
    #: Index of each rank's first event, and the total number of events.
    first: Ints
    #: ``begin``, ``end``: times in s.
    begin: npt.NDArray[np.float64]
    end: npt.NDArray[np.float64]
    #: ``function``, ``site``, ``rank`` of each event. ``rank`` is the position in ``trace.ranks``.
    function: npt.NDArray[np.uint16]
    site: npt.NDArray[np.uint32]
    rank: npt.NDArray[np.int32]
    #: The event that completed the request that the event began. It is the event itself if it began
    #: none, and -1 if the request was not completed.
    completed_in: Ints

    def is_one_of(self, names: frozenset[str]) -> npt.NDArray[np.bool_]:
        """Whether each event is a call of one of these functions."""
        return chosen(self.trace.functions, names)[self.function]

    def column(self, name: str) -> Ints:
        """Another column of all events."""
        return np.concatenate([getattr(rank.events, name) for rank in self.trace.ranks])


@dataclass(frozen=True)
class MatchedMessages:
    """Messages, as arrays of equal length; events are numbers in the `FlatTrace`."""

    #: ``send``, ``receive``: the calls that began them. For a partitioned send, the call that
    #: handed over its last part.
    send: Ints
    receive: Ints
    #: ``sent_in``, ``received_in``: the calls that completed them; the same calls if they block. -1
    #: if a send never completed.
    sent_in: Ints
    received_in: Ints
    #: Size in bytes.
    size: Ints
    #: Key of messages that MPI keeps in order: equal communicator, source, destination and tag.
    key: Ints

    def __len__(self) -> int:
        return len(self.send)

    def part(self, which: npt.NDArray[np.bool_]) -> MatchedMessages:
        """A selection of the messages."""
        return MatchedMessages(
            send=self.send[which],
            receive=self.receive[which],
            sent_in=self.sent_in[which],
            received_in=self.received_in[which],
            size=self.size[which],
            key=self.key[which],
        )


@dataclass(frozen=True)
class MatchedProbes:
    """Probes that found a message: ``probe``, and the ``send`` of that message."""

    probe: Ints
    send: Ints


@dataclass(frozen=True)
class MatchedCollectives:
    """The collectives on one communicator."""

    communicator: int
    #: Positions in ``trace.ranks``, in the communicator's order.
    members: Ints
    #: Indices in the `FlatTrace`: one row per collective and one column per member.
    events: Ints


@dataclass(frozen=True)
class Meetings:
    """Collective calls that usually, but not always, wait for all members (`calls.MEETINGS`)."""

    #: As in `MatchedCollectives`: events of the calls in which each member takes part.
    events: Ints
    #: The calls that may then wait for the others (-1: none).
    waiting: Ints


@dataclass(frozen=True)
class PairWaits:
    """Calls that may have waited for a call of another rank to begin: ``waiting``, ``late``."""

    #: Cause: "late post" or "late complete" for windows' epochs, or "lock contention".
    what: str
    waiting: Ints
    late: Ints


@dataclass(frozen=True)
class UnmatchedCalls:
    """``count`` calls without a partner."""

    #: The kind of calls, in words.
    what: str
    count: int


@dataclass(frozen=True)
class LeftOutMessages:
    """``count`` messages on a communicator between these ``ranks``, whose order is unknown."""

    communicator: str
    ranks: tuple[int, ...]
    count: int


@dataclass(frozen=True)
class MatchedTrace:
    """A trace, and the calls that belong together in it."""

    flat: FlatTrace
    messages: MatchedMessages
    collectives: tuple[MatchedCollectives, ...]
    #: Calls that have no partner.
    unmatched: tuple[UnmatchedCalls, ...]
    #: Messages that can't be distinguished.
    left_out: tuple[LeftOutMessages, ...]
    probes: MatchedProbes
    #: ``meetings``, ``pairs``: further calls that may have waited, in addition to messages and
    #: ``collectives``.
    meetings: tuple[Meetings, ...]
    pairs: tuple[PairWaits, ...]
    #: Calls that began the sends of messages.
    sent: Ints

    @property
    def trace(self) -> Trace:
        """The trace."""
        return self.flat.trace


def ends_before(flat: FlatTrace, send: Ints, receive: Ints) -> Floats:
    """Seconds by which the end of each receiving call precedes the begin of its send."""
    return np.asarray(flat.begin[send] - flat.end[receive])
