"""Victims and aggressors that share a trunk, packet by packet: what their queue makes of an impact.

Two switches with a victim and an aggressor each, and a trunk between them. Each link serves its
packets in order of arrival, at its rate. The aggressors keep a number of messages in flight, each
until its acknowledgement has arrived. The victims exchange two long messages each way (a halo of
two nodes), with a barrier before each operation. So an operation begins behind the packets that the
aggressors left in the trunk's queue while the one before it ended.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median

# Ethernet, IPv4 and TCP with time stamps: bytes of data in a frame, and of a frame around them.
_DATA, _HEADERS = 1448, 66
_CONTROL = 120  # bytes of a frame that carries a request, an answer or a barrier's message
_REACTION = 150e-6  # s from a message's arrival until its receiver answers
_PER_ACKNOWLEDGEMENT = 2  # frames that TCP acknowledges together
_BEGIN = 0.5  # s; the aggressors' traffic is steady by then
_VICTIMS, _AGGRESSORS = ("victim 0", "victim 1"), ("aggressor 0", "aggressor 1")

Action = Callable[[], None]


@dataclass(frozen=True)
class Trunk:
    """Rates in B/s of the hosts' adapters and of the trunk; what is sent, in bytes.

    ``in_flight``: messages of an aggressor. ``both``: whether both aggressors send (a permutation),
    or only the first (an incast).
    """

    adapter: float
    trunk: float
    halo: int
    load: int
    both: bool
    in_flight: int = 8


class _Network:
    """Links with queues, and the packets in them."""

    def __init__(self, terms: Trunk) -> None:
        self.now = 0.0
        self._terms = terms
        self._free: dict[tuple[str, str], float] = {}  # when a link has served its queue
        self._events: list[tuple[float, int, Action]] = []
        self._number = itertools.count()

    def after(self, seconds: float, action: Action) -> None:
        heapq.heappush(self._events, (self.now + seconds, next(self._number), action))

    def step(self) -> None:
        self.now, _, action = heapq.heappop(self._events)
        action()

    def _pass(self, link: tuple[str, str], size: float, then: Action) -> None:
        """A frame joins the queue of a link."""
        rate = self._terms.trunk if link[0] == "trunk" else self._terms.adapter
        self._free[link] = max(self.now, self._free.get(link, 0.0)) + size / rate
        self.after(self._free[link] - self.now, then)

    def _forward(self, links: Iterator[tuple[str, str]], size: float, then: Action) -> None:
        link = next(links, None)
        if link is None:
            then()
        else:
            self._pass(link, size, lambda: self._forward(links, size, then))

    def control(self, sender: str, receiver: str, then: Action, size: float = _CONTROL) -> None:
        """A single frame from host to host. Each direction of the trunk has a queue of its own."""
        links = [("from", sender), ("trunk", sender[-1]), ("to", receiver)]
        self._forward(iter(links), size, then)

    def message(self, sender: str, receiver: str, size: int, then: Action) -> None:
        """A message whose frames leave one after the other; TCP acknowledges them."""
        sizes = [_DATA] * (size // _DATA) + [size % _DATA] * (size % _DATA > 0)
        left = len(sizes)

        def arrive() -> None:
            nonlocal left
            left -= 1
            if left % _PER_ACKNOWLEDGEMENT == 0:
                self.control(receiver, sender, lambda: None, _HEADERS)
            if left == 0:
                self.after(_REACTION, then)

        def leave(rest: Iterator[int]) -> None:
            data = next(rest, None)
            if data is None:
                return
            frame = data + _HEADERS
            onward = iter([("trunk", sender[-1]), ("to", receiver)])

            def left_adapter() -> None:
                self._forward(onward, frame, arrive)
                leave(rest)

            self._pass(("from", sender), frame, left_adapter)

        leave(iter(sizes))


def _load(network: _Network, terms: Trunk, sender: str, receiver: str) -> None:
    """One of the messages that an aggressor keeps in flight, again and again."""

    def again() -> None:
        network.after(_REACTION, lambda: _load(network, terms, sender, receiver))

    network.message(sender, receiver, terms.load, lambda: network.control(receiver, sender, again))


def _times(terms: Trunk, count: int) -> list[float]:
    """Seconds of the first operations beside the traffic."""
    network = _Network(terms)
    times: list[float] = []
    begun, missing = 0.0, 0
    pairs = (_VICTIMS, _VICTIMS[::-1])

    def barrier() -> None:
        nonlocal missing
        missing = len(pairs)
        for one, other in pairs:
            network.control(one, other, meet)

    def meet() -> None:
        nonlocal missing
        missing -= 1
        if missing == 0:
            network.after(_REACTION, operate)

    def operate() -> None:
        nonlocal begun, missing
        begun, missing = network.now, 2 * len(pairs)
        for one, other in 2 * pairs:
            request(one, other)

    def request(one: str, other: str) -> None:
        """A long message is announced, asked for and confirmed."""

        def confirm() -> None:
            network.control(other, one, end)

        def send() -> None:
            network.after(_REACTION, lambda: network.message(one, other, terms.halo, confirm))

        def answer() -> None:
            network.after(_REACTION, lambda: network.control(other, one, send))

        network.control(one, other, answer)

    def end() -> None:
        nonlocal missing
        missing -= 1
        if missing == 0:
            times.append(network.now - begun)
            barrier()

    network.after(_BEGIN, barrier)
    for sender, receiver in (_AGGRESSORS, _AGGRESSORS[::-1])[: 1 + terms.both]:
        for _ in range(terms.in_flight):
            _load(network, terms, sender, receiver)
    while len(times) < count:
        network.step()
    return times


def impact(terms: Trunk, operations: int = 7) -> float:
    """Median time of an operation beside the traffic / median time without it.

    The first operation isn't timed, as in a block of the kernel.
    """
    quiet = Trunk(terms.adapter, terms.trunk, terms.halo, terms.load, terms.both, in_flight=0)
    return median(_times(terms, operations)[1:]) / median(_times(quiet, operations)[1:])


def first_impact(terms: Trunk) -> float:
    """The same of the first operation, before which the trunk's queue was empty."""
    quiet = Trunk(terms.adapter, terms.trunk, terms.halo, terms.load, terms.both, in_flight=0)
    return _times(terms, 1)[0] / _times(quiet, 1)[0]
