"""A small exact simulator of MPI over a LogGP network: the brute-force reference of trace tests.

Discrete events in order of time, one adapter per host, no data. Of messages that are ready for an
adapter at the same time (to within 1 ps), that of the lower rank goes first, and of one rank the
one that it sent first. Collectives are the published
algorithms, message by message, or abstract ones that cost a constant.
"""

from __future__ import annotations

import heapq
import itertools
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from assay.trace.events import Communicator, Events, RankTrace, Trace
from assay.trace.model import ProfiledRun, SourcePlace

RUN = ProfiledRun(
    1, "0.1.0", ["mpirun", "-n", "4", "./app"], "/home/user", 1e9, 11.0, 0, "MPICH 5", "x"
)
WORLD = 0


@dataclass(frozen=True)
class LinkCost:
    """s, s/B, s."""

    latency: float = 0.0
    gap: float = 0.0
    overhead: float = 0.0


@dataclass(frozen=True)
class Net:
    """Links between and within hosts; messages above ``eager`` bytes use rendezvous.

    ``collective``: s that each abstract collective takes; None: the published algorithms.
    """

    between: LinkCost = LinkCost()
    within: LinkCost = LinkCost()
    eager: float = float("inf")
    collective: float | None = None

    def link(self, hosts: Sequence[str], one: int, other: int) -> LinkCost:
        return self.within if hosts[one] == hosts[other] else self.between


@dataclass
class Op:
    kind: str
    function: str = ""
    site: str = ""
    peer: int = -1
    size: int = 0
    tag: int = -1
    seconds: float = 0.0
    handle: int = -1
    handles: tuple[int, ...] = ()
    source: int = -1
    received: int = 0
    communicator: int = WORLD


@dataclass
class Script:
    """What one rank does. ``site`` names the place of a call; by default the function's name."""

    rank: int
    size: int
    ops: list[Op] = field(default_factory=list)
    _handles: Iterator[int] = field(default_factory=itertools.count)

    def compute(self, seconds: float) -> None:
        self.ops.append(Op("compute", seconds=seconds))

    def send(self, to: int, size: int, tag: int = 0, site: str = "") -> None:
        self.ops.append(Op("send", "Send", site, to, size, tag))

    def recv(self, source: int, size: int, tag: int = 0, site: str = "") -> None:
        self.ops.append(Op("recv", "Recv", site, source, size, tag))

    def isend(self, to: int, size: int, tag: int = 0, site: str = "") -> int:
        handle = next(self._handles)
        self.ops.append(Op("isend", "Isend", site, to, size, tag, handle=handle))
        return handle

    def irecv(self, source: int, size: int, tag: int = 0, site: str = "") -> int:
        handle = next(self._handles)
        self.ops.append(Op("irecv", "Irecv", site, source, size, tag, handle=handle))
        return handle

    def wait(self, *handles: int, site: str = "") -> None:
        name = "Wait" if len(handles) == 1 else "Waitall"
        self.ops.append(Op("wait", name, site, handles=handles))

    def sendrecv(self, to: int, source: int, size: int, tag: int = 0, site: str = "") -> None:
        self.ops.append(Op("sendrecv", "Sendrecv", site, to, size, tag, source=source))

    def collective(
        self, function: str, size: int = 0, root: int = -1, site: str = "", communicator: int = 0
    ) -> None:
        """``size``: the rank's own send buffer, of Alltoall to each other rank."""
        op = Op("collective", function, site, root, size, communicator=communicator)
        self.ops.append(op)

    def barrier(self, site: str = "") -> None:
        self.collective("Barrier", site=site)

    def allreduce(self, size: int = 8, site: str = "") -> None:
        self.collective("Allreduce", size, site=site)


class Signal:
    """A moment that processes wait for."""

    def __init__(self) -> None:
        self.time: float | None = None
        self.waiting: list[Callable[[], None]] = []


@dataclass
class Message:
    size: int
    link: LinkCost
    hosts: tuple[str, str]
    rendezvous: bool
    order: tuple[int, int] = (0, 0)  # sending rank, number of the message
    ready: float | None = None  # the sender is
    posted: float | None = None  # the receive is
    injected: Signal = field(default_factory=Signal)
    arrived: Signal = field(default_factory=Signal)


class Simulator:
    def __init__(
        self,
        scripts: Sequence[Script],
        net: Net,
        hosts: Sequence[str],
        communicators: Sequence[tuple[int, ...]],
    ) -> None:
        self.scripts, self.net, self.hosts = scripts, net, hosts
        self.communicators = communicators
        self.now = 0.0
        self.queue: list[tuple[int, tuple[int, int], int, float, Callable[[], None]]] = []
        self.number = itertools.count()
        self.sends = itertools.count()
        self.free: dict[tuple[str, str], float] = defaultdict(float)
        self.unmatched: dict[Any, deque[tuple[Message, bool]]] = defaultdict(deque)
        self.meetings: dict[Any, tuple[list[float], Signal, Signal]] = {}
        self.entered: dict[Any, int] = defaultdict(int)
        self.rows: list[list[tuple[Any, ...]]] = [[] for _ in scripts]
        self.ends = [0.0] * len(scripts)

    def at(self, time: float, do: Callable[[], None], order: tuple[int, int] = (-1, 0)) -> None:
        """``order``: of a message; at one time, all else comes before messages."""
        heapq.heappush(self.queue, (round(time * 1e12), order, next(self.number), time, do))

    def fire(self, signal: Signal, time: float) -> None:
        def do() -> None:
            signal.time = self.now
            for resume in signal.waiting:
                resume()

        self.at(time, do)

    def drive(self, process: Iterator[float | Signal]) -> None:
        """Let a process go on until it waits for a time or a signal."""
        for wanted in process:
            if isinstance(wanted, Signal):
                if wanted.time is None:
                    wanted.waiting.append(lambda: self.drive(process))
                    return
            elif wanted > self.now:
                self.at(wanted, lambda: self.drive(process))
                return

    def run(self) -> None:
        for script in self.scripts:
            process = self.rank(script)
            self.at(0.0, lambda process=process: self.drive(process))  # type: ignore[misc]
        done = 0
        while self.queue:
            *_, self.now, do = heapq.heappop(self.queue)
            do()
            done += 1
        stuck = [s.rank for s, rows in zip(self.scripts, self.rows, strict=True)
                 if len(rows) < sum(op.kind != "compute" for op in s.ops)]  # fmt: skip
        assert not stuck, f"deadlock of ranks {stuck}"

    # Messages

    def meet(self, key: Any, size: int, sending: bool, source: int, target: int) -> Message:
        """The message of a send or of a posted receive, in order per channel."""
        queue = self.unmatched[key]
        if queue and queue[0][1] != sending:
            return queue.popleft()[0]
        link = self.net.link(self.hosts, source, target)
        message = Message(
            size, link, (self.hosts[source], self.hosts[target]), size > self.net.eager
        )
        queue.append((message, sending))
        return message

    def sent(self, key: Any, size: int, source: int, target: int) -> Message:
        """A send begins; the sender is ready after its overhead."""
        message = self.meet(key, size, True, source, target)
        message.ready = self.now + message.link.overhead
        message.order = (source, next(self.sends))
        if message.rendezvous:
            self.shake(message)
        else:
            self.at(message.ready, lambda: self.inject(message), message.order)
        return message

    def posted(self, key: Any, size: int, source: int, target: int) -> Message:
        message = self.meet(key, size, False, source, target)
        message.posted = self.now
        if message.rendezvous:
            self.shake(message)
        return message

    def shake(self, message: Message) -> None:
        if message.ready is None or message.posted is None:
            return
        latency = message.link.latency
        self.at(max(message.ready + latency, message.posted) + latency,
                lambda: self.inject(message), message.order)  # fmt: skip

    def inject(self, message: Message) -> None:
        source, target = message.hosts
        link = message.link
        spent = link.gap * message.size
        if source == target:
            self.fire(message.injected, self.now + spent)
            self.fire(message.arrived, self.now + link.latency + spent)
            return
        begin = max(self.now, self.free[source, "out"])
        self.free[source, "out"] = begin + spent
        self.fire(message.injected, begin + spent)

        def head() -> None:
            first = max(self.now, self.free[target, "in"])
            self.free[target, "in"] = first + spent
            self.fire(message.arrived, first + spent)

        self.at(begin + link.latency, head, message.order)

    # Ranks

    def rank(self, script: Script) -> Iterator[float | Signal]:
        me = script.rank
        requests: dict[int, tuple[Message, bool]] = {}
        for op in script.ops:
            if op.kind == "compute":
                yield self.now + op.seconds
                continue
            begin = self.now
            yield from self.call(me, op, requests)
            self.rows[me].append((begin, self.now, op))
        self.ends[me] = self.now

    def call(
        self, me: int, op: Op, requests: dict[int, tuple[Message, bool]]
    ) -> Iterator[float | Signal]:
        if op.kind in ("send", "isend"):
            message = self.sent((me, op.peer, op.tag), op.size, me, op.peer)
            yield self.now + message.link.overhead
            if op.kind == "isend":
                requests[op.handle] = (message, True)
            elif message.rendezvous:
                yield message.injected
        elif op.kind == "recv":
            message = self.posted((op.peer, me, op.tag), op.size, op.peer, me)
            yield message.arrived
            yield self.now + message.link.overhead
        elif op.kind == "irecv":
            requests[op.handle] = (
                self.posted((op.peer, me, op.tag), op.size, op.peer, me),
                False,
            )
        elif op.kind == "wait":
            for handle in op.handles:
                yield from self.finish(*requests.pop(handle))
        elif op.kind == "sendrecv":
            yield from self.exchange(me, op.peer, op.source, op.size, op.size, op.tag)
        elif self.net.collective is not None:
            yield from self.abstract(me, op)
        else:
            yield from self.published(me, op)

    def finish(self, message: Message, sending: bool) -> Iterator[float | Signal]:
        if not sending:
            yield message.arrived
            yield self.now + message.link.overhead
        elif message.rendezvous:
            yield message.injected

    def exchange(
        self, me: int, to: int, source: int, out: int, into: int, tag: Any
    ) -> Iterator[float | Signal]:
        coming = self.posted((source, me, tag), into, source, me)
        going = self.sent((me, to, tag), out, me, to)
        yield self.now + going.link.overhead
        yield from self.finish(coming, False)
        yield from self.finish(going, True)

    # Collectives

    def abstract(self, me: int, op: Op) -> Iterator[float | Signal]:
        assert self.net.collective is not None
        members = self.communicators[op.communicator]
        ordinal = self.entered[me, op.communicator]
        self.entered[me, op.communicator] += 1
        begins, every, root = self.meetings.setdefault(
            (op.communicator, ordinal), ([], Signal(), Signal())
        )
        begins.append(self.now)
        if len(begins) == len(members):
            self.fire(every, self.now)
        if me == op.peer:
            self.fire(root, self.now)
        if op.peer < 0:
            yield every
        elif op.function in ("Reduce", "Gather"):
            if me == op.peer:
                yield every
        else:
            yield root
        yield self.now + self.net.collective

    def published(self, me: int, op: Op) -> Iterator[float | Signal]:
        members = self.communicators[op.communicator]
        ordinal = self.entered[me, op.communicator]
        self.entered[me, op.communicator] += 1
        size, place = len(members), members.index(me)
        root = members.index(op.peer) if op.peer >= 0 else 0

        def tag(round_: object) -> Any:
            return ("collective", op.communicator, ordinal, round_)

        def pair(to: int, source: int, out: int, into: int, round_: object) -> Any:
            return self.exchange(me, members[to], members[source], out, into, tag(round_))

        def send(to: int, payload: int, round_: object) -> Iterator[float | Signal]:
            key = (me, members[to], tag(round_))
            message = self.sent(key, payload, me, members[to])
            yield self.now + message.link.overhead
            if message.rendezvous:
                yield message.injected

        def recv(source: int, payload: int, round_: object) -> Iterator[float | Signal]:
            key = (members[source], me, tag(round_))
            yield from self.finish(self.posted(key, payload, members[source], me), False)

        if size == 1:
            return
        if op.function == "Barrier":  # dissemination
            step = 1
            while step < size:
                yield from pair((place + step) % size, (place - step) % size, 0, 0, step)
                step *= 2
        elif op.function == "Bcast":  # binomial tree
            relative = (place - root) % size
            mask = 1
            while mask < size:
                if relative & mask:
                    yield from recv((place - mask) % size, op.received, mask)
                    break
                mask *= 2
            mask //= 2
            while mask:
                if relative + mask < size:
                    yield from send((place + mask) % size, op.received, mask)
                mask //= 2
        elif op.function in ("Reduce", "Gather"):  # binomial tree
            relative = (place - root) % size
            mask = 1
            held = 1
            while mask < size:
                if relative & mask:
                    payload = op.size * (held if op.function == "Gather" else 1)
                    yield from send((place - mask) % size, payload, mask)
                    break
                if relative + mask < size:
                    theirs = min(mask, size - relative - mask)
                    payload = op.size * (theirs if op.function == "Gather" else 1)
                    yield from recv((place + mask) % size, payload, mask)
                    held += theirs
                mask *= 2
        elif op.function == "Allreduce":  # recursive doubling, the rest folded in
            power = 1
            while power * 2 <= size:
                power *= 2
            rest = size - power
            if place < 2 * rest:
                if place % 2 == 0:
                    yield from send(place + 1, op.size, "fold")
                    yield from recv(place + 1, op.size, "unfold")
                    return
                yield from recv(place - 1, op.size, "fold")
            mine = place // 2 if place < 2 * rest else place - rest
            mask = 1
            while mask < power:
                other = mine ^ mask
                partner = other * 2 + 1 if other < rest else other + rest
                yield from pair(partner, partner, op.size, op.size, mask)
                mask *= 2
            if place < 2 * rest:
                yield from send(place - 1, op.size, "unfold")
        elif op.function == "Allgather":  # ring
            for step in range(size - 1):
                yield from pair((place + 1) % size, (place - 1) % size, op.size, op.size, step)
        elif op.function == "Alltoall":  # pairwise exchange
            for step in range(1, size):
                to, source = (place + step) % size, (place - step) % size
                yield from pair(to, source, op.size, op.size, step)
        else:
            raise NotImplementedError(op.function)


def scripts_of(size: int, program: Callable[[Script], None]) -> list[Script]:
    """The scripts of all ranks; ``program`` is called with each."""
    scripts = [Script(rank, size) for rank in range(size)]
    for script in scripts:
        program(script)
    return scripts


def simulate(
    size: int,
    program: Callable[[Script], None],
    net: Net | None = None,
    hosts: Sequence[str] | None = None,
    communicators: Sequence[tuple[int, ...]] = (),
) -> Trace:
    """The trace of a program; by default one rank per host, and an ideal network."""
    scripts = scripts_of(size, program)
    names = list(hosts or [f"n{rank}" for rank in range(size)])
    every = (tuple(range(size)), *communicators)
    scripts = [
        replace(script, ops=[_sized(op, script.rank, every) for op in script.ops])
        for script in scripts
    ]
    simulator = Simulator(scripts, net or Net(collective=0.0), names, every)
    simulator.run()
    return _trace(simulator, names, every)


def _sized(op: Op, rank: int, communicators: Sequence[tuple[int, ...]]) -> Op:
    """With the bytes of both buffers: of Bcast only the root sends."""
    if op.function == "Bcast":
        return replace(op, received=op.size, size=op.size if op.peer == rank else 0)
    return replace(op, received=op.size)


def _trace(simulator: Simulator, hosts: Sequence[str], every: Sequence[tuple[int, ...]]) -> Trace:
    functions: dict[str, int] = {}
    sites: dict[tuple[str, str], int] = {}
    ranks = []
    for script, rows in zip(simulator.scripts, simulator.rows, strict=True):
        columns = []
        done: list[list[int]] = []
        for begin, end, op in rows:
            name = functions.setdefault(op.function, len(functions))
            site = sites.setdefault((op.site or op.function.lower(), op.function), len(sites))
            sending = op.kind in ("send", "isend", "sendrecv", "collective")
            total = op.size
            if op.function == "Alltoall":
                total = op.size * (len(every[op.communicator]) - 1)
            receiving = op.kind in ("recv", "irecv", "sendrecv", "collective")
            columns.append(
                (
                    begin, end, name, site, op.communicator, op.peer, op.tag, op.source,
                    op.tag if op.kind == "sendrecv" else -1,
                    total if sending else 0, op.received if receiving else 0, op.handle,
                )
            )  # fmt: skip
            done.append(list(op.handles))
        ranks.append(
            RankTrace(
                script.rank, hosts[script.rank], 0.0, simulator.ends[script.rank], True,
                events_of(columns, done),
            )
        )  # fmt: skip
    places = tuple(
        SourcePlace("./app", number, name, "/src/app.c", number + 1)
        for number, (name, _) in enumerate(sites)
    )
    communicators = tuple(
        Communicator(number, members, 0 if number else None) for number, members in enumerate(every)
    )
    return Trace(RUN, tuple(ranks), tuple(functions), communicators, places, 0.0)


def events_of(rows: Sequence[tuple[Any, ...]], completed: Sequence[Sequence[int]]) -> Events:
    """Columns of rows (begin, end, function, site, communicator, peer, tag, source, source_tag,
    sent, received, request)."""
    kinds = (
        np.float64, np.float64, np.uint16, np.uint32, np.uint32, np.int32, np.int32, np.int32,
        np.int32, np.int64, np.int64, np.int64,
    )  # fmt: skip
    columns = [
        np.array([row[place] for row in rows], dtype=kind) for place, kind in enumerate(kinds)
    ]
    starts = np.cumsum([0, *(len(one) for one in completed)]).astype(np.int64)
    flat = np.array([one for each in completed for one in each], dtype=np.int64)
    number = len(rows)
    return Events(
        *columns, starts, flat, np.ones(number, dtype=np.uint32), np.zeros(number, dtype=np.uint16)
    )
