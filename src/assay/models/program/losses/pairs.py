"""Hosts between which messages take longer than between the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats, Ints
from assay.trace.matching import MatchedTrace

# Messages of a pair are slow if their typical time is this multiple of the other pairs'. A pair
# with fewer messages isn't compared, and one slow pair must have more of them.
_SLOW, _LEAST, _SURE = 2.0, 3, 8
# A call waited for its message if it took at least this share of the message's time.
_WAITED = 0.5


@dataclass(frozen=True)
class SlowMessages:
    """Messages from one host to another that take longer than messages of the same size elsewhere.

    ``sender``, ``receiver``: hosts; "" if several. Both are the same host if its messages are slow
    in both directions. ``ratio``: of the typical times, at least; clocks may err.
    """

    sender: str
    receiver: str
    ratio: float

    @property
    def text(self) -> str:
        """The messages, such as "from n2 to n3"."""
        if self.sender == self.receiver:
            return f"from and to {self.sender}"
        sides = ((f"from {self.sender}", self.sender), (f"to {self.receiver}", self.receiver))
        return " ".join(text for text, host in sides if host)


def slow_pair(matched: MatchedTrace) -> SlowMessages | None:
    """The hosts whose messages are slow; None if there are none, or nothing to compare with.

    Only messages that their receiver waited for show how long they took.
    """
    hosts, place = np.unique(np.array(matched.trace.hosts), return_inverse=True)
    senders, receivers, ratios, errors = _ratios(matched, place)
    pair = senders * len(hosts) + receivers
    keys, counts = np.unique(pair, return_counts=True)
    known = keys[counts >= _LEAST]
    if len(known) < 2:
        return None
    least, most = {}, {}
    for key in known.tolist():
        of = pair == key
        least[key] = float(np.median(ratios[of] - errors[of]))
        most[key] = float(np.median(ratios[of] + errors[of]))
    # Up to half of the pairs may be slow: those of one of four hosts, in both directions.
    reference = float(np.median(sorted(most.values())[: (len(most) + 1) // 2]))
    slow = [key for key, value in least.items() if value >= _SLOW * reference > 0.0]
    number = dict(zip(keys.tolist(), counts.tolist(), strict=True))
    if max((number[key] for key in slow), default=0) < _SURE or 2 * len(slow) > len(known):
        return None
    ends = [divmod(key, len(hosts)) for key in slow]
    ratio = min(least[key] for key in slow) / reference
    sending, receiving = {one for one, _ in ends}, {other for _, other in ends}
    sender = str(hosts[sending.pop()]) if len(sending) == 1 else ""
    receiver = str(hosts[receiving.pop()]) if len(receiving) == 1 else ""
    if not sender and not receiver:
        common = sorted(set.intersection(*({*pair} for pair in ends)))
        sender, receiver = (str(hosts[common[k]]) if common else "" for k in (0, -1))
    return SlowMessages(sender, receiver, ratio) if sender or receiver else None


def _ratios(matched: MatchedTrace, place: Ints) -> tuple[Ints, Ints, Floats, Floats]:
    """Sending and receiving host of each message between hosts that was waited for, and didn't
    follow another on its way; its time, and the error of the clocks, as multiples of the median
    time of its size.
    """
    flat, of = matched.flat, matched.messages
    sender, receiver = place[flat.rank[of.send]], place[flat.rank[of.receive]]
    begin, end = flat.begin[of.send], flat.end[of.received_in]
    times, took = end - begin, end - flat.begin[of.received_in]
    use = (sender != receiver) & (times > 0.0) & (took >= _WAITED * times)
    far = np.flatnonzero(sender != receiver)
    for host in (sender, receiver):
        use[far[_behind(host[far], begin[far], end[far])]] = False
    seconds = times[use]
    sizes, which = np.unique(of.size[use], return_inverse=True)
    ends = np.cumsum(np.bincount(which, minlength=len(sizes)))[:-1]
    parts = np.split(seconds[np.argsort(which, kind="stable")], ends)
    middle = np.array([np.median(part) if len(part) else 0.0 for part in parts])
    unit = np.maximum(middle[which], 1e-12)
    return sender[use], receiver[use], seconds / unit, matched.trace.clock_error / unit


def _behind(host: Ints, begin: Floats, end: Floats) -> npt.NDArray[np.bool_]:
    """Whether an earlier message of the same host hadn't arrived when a message was sent. It may
    have kept the adapter busy.
    """
    found = np.zeros(len(host), dtype=np.bool_)
    order = np.lexsort((begin, host))
    for part in np.split(order, np.flatnonzero(np.diff(host[order])) + 1):
        if len(part):
            found[part[1:]] = begin[part[1:]] < np.maximum.accumulate(end[part])[:-1]
    return found
