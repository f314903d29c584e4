"""Messages that can't be distinguished, because their record is incomplete. They are left out.

The k-th send of a communicator, source, destination and tag is paired with the k-th receive. If one
of them isn't recorded, others get the wrong partner. Receives that end before their send begins,
and sizes that differ, show this: then all messages of the key are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.arrays import Ints
from assay.trace.calls import BOTH_WAYS
from assay.trace.events import UNKNOWN_BYTES
from assay.trace.partners.model import (
    NONE,
    FlatTrace,
    LeftOutMessages,
    MatchedMessages,
    ends_before,
)

# Seconds, and multiples of the clocks' error, by which a receive on its sender's host may end too
# early.
_LEAST, _ERRORS = 2e-6, 4.0


@dataclass(frozen=True)
class Pairs:
    """Sends and receives that may belong together, ordered by ``key`` and by their turn within
    it."""

    flat: FlatTrace
    send: Ints
    receive: Ints
    key: Ints

    def part(self, which: npt.NDArray[np.bool_]) -> Pairs:
        """A selection of the pairs."""
        return Pairs(self.flat, self.send[which], self.receive[which], self.key[which])

    def sizes(self) -> Ints:
        """Bytes sent; if they are unknown, the bytes received."""
        sent, received = self.flat.column("sent")[self.send], self._received()
        return np.asarray(np.maximum(np.where(sent >= 0, sent, received), 0), dtype=np.int64)

    def _received(self) -> Ints:
        return self.flat.column("received")[self.receive]

    def impossible(self) -> npt.NDArray[np.bool_]:
        """Pairs on one host whose receive ends before the send begins, and pairs whose sizes
        differ."""
        flat = self.flat
        done = flat.completed_in[self.receive]
        hosts = np.unique(np.array(flat.trace.hosts), return_inverse=True)[1]
        near = hosts[flat.rank[self.send]] == hosts[flat.rank[self.receive]]
        allowed = _LEAST + _ERRORS * flat.trace.clock_error
        early = near & (done != NONE) & (ends_before(flat, self.send, done) > allowed)
        sent, received = self.flat.column("sent")[self.send], self._received()
        known = (sent != UNKNOWN_BYTES) & (received != UNKNOWN_BYTES) & (done != NONE)
        # For most calls that also send, the receiving half has the bytes of its message.
        known &= ~flat.is_one_of(BOTH_WAYS)[self.receive]
        return np.asarray(early | (known & (sent != received)))


def paired_by_end(pairs: Pairs) -> Pairs:
    """The pairs. If threads received at the same time, receives are in the order of completion.

    The begins of the calls don't show which of two threads got the first message.
    """
    flat = pairs.flat
    wrong = np.isin(pairs.key, np.unique(pairs.key[pairs.impossible()]))
    if not wrong.any():
        return pairs
    thread = flat.column("thread").astype(np.int64)
    several = _keys_with_several(pairs.key, thread[pairs.receive])
    at = np.flatnonzero(wrong & np.isin(pairs.key, several))
    if not len(at):
        return pairs
    done = flat.completed_in[pairs.receive[at]]
    end = np.where(done == NONE, np.inf, flat.end[done])
    receive = pairs.receive.copy()
    receive[at] = pairs.receive[at][np.lexsort((end, pairs.key[at]))]
    return Pairs(flat, pairs.send, receive, pairs.key)


def _keys_with_several(key: Ints, of: Ints) -> Ints:
    """The keys with more than one value of ``of``."""
    pairs = np.unique(np.stack([key, of]), axis=1)
    keys, counts = np.unique(pairs[0], return_counts=True)
    return np.asarray(keys[counts > 1])


def doubtful_keys(pairs: Pairs, taken: Ints) -> Ints:
    """The keys of messages that can't be distinguished. ``taken``: keys that are already known."""
    return np.unique(np.concatenate([pairs.key[pairs.impossible()], taken]))


def left_out(pairs: Pairs) -> list[LeftOutMessages]:
    """The number of these messages, and their ranks, by communicator."""
    return _by_communicator(pairs.flat, pairs.send, pairs.receive)


def without_early(
    flat: FlatTrace, messages: MatchedMessages, least: float
) -> tuple[MatchedMessages, list[LeftOutMessages]]:
    """The messages without the keys in which a receive ends at least ``least`` s before its send
    begins, and the messages that are left out.
    """
    early = ends_before(flat, messages.send, messages.received_in) > least
    bad = np.isin(messages.key, np.unique(messages.key[early]))
    lost = messages.part(bad)
    return messages.part(~bad), _by_communicator(flat, lost.send, lost.receive)


def _by_communicator(flat: FlatTrace, send: Ints, receive: Ints) -> list[LeftOutMessages]:
    if not len(send):
        return []
    communicator = flat.column("communicator")[send]
    numbers = np.array([rank.rank for rank in flat.trace.ranks])
    names = {one.number: one.name for one in flat.trace.communicators}
    found = []
    for number in np.unique(communicator).tolist():
        here = communicator == number
        ranks = np.union1d(flat.rank[send[here]], flat.rank[receive[here]])
        of = tuple(numbers[ranks].tolist())
        found.append(LeftOutMessages(names[number], of, int(here.sum())))
    return found
