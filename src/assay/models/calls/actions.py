"""Schedules of calls as actions of SimGrid's replay: computing, messages and collectives of ranks.

They follow SMPI's replay (SimGrid 3.32, "Offline simulation: trace replay"). Each message has its
own tag between its two ranks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from assay.models.program.schedules import ScheduleStep, schedule_of
from assay.trace.exports.simgrid import LIST, SPEED


class CallSchedule:
    """Actions of ``ranks``, in order, with the numbers of ``messages`` and bytes (``sent``) that
    they send.

    A collective counts as one message per rank, with the bytes that the rank contributes, as in the
    work of the catalogue's kernels. ``passed``: the messages between two ranks that result, by size
    in bytes.
    """

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self.messages = 0
        self.sent = 0.0
        self.passed: Counter[int] = Counter()
        self.lines: list[list[str]] = [[f"{rank} init"] for rank in range(ranks)]
        self._tags: Counter[tuple[int, int]] = Counter()
        self._taken: Counter[tuple[int, int]] = Counter()

    def compute(self, rank: int, seconds: float) -> None:
        """The rank computes, at speed 1."""
        if seconds > 0.0:
            self.lines[rank].append(f"{rank} compute {seconds * SPEED:.0f}")

    def send(self, rank: int, to: int, size: float) -> None:
        """A blocking send."""
        tag = self._next(self._tags, rank, to)
        self.lines[rank].append(f"{rank} send {to} {tag} {_whole(size)}")
        self._count(size)

    def receive(self, rank: int, sender: int, size: float) -> None:
        """A blocking receive of the next message of that sender."""
        tag = self._next(self._taken, sender, rank)
        self.lines[rank].append(f"{rank} recv {sender} {tag} {_whole(size)}")

    def start_send(self, rank: int, to: int, size: float) -> str:
        """A non-blocking send. Returns the argument of ``wait``."""
        self._count(size)
        return self._started_send(rank, to, _whole(size))

    def start_receive(self, rank: int, sender: int, size: float) -> str:
        """A non-blocking receive of that sender's next message. Returns the argument of
        ``wait``."""
        tag = self._next(self._taken, sender, rank)
        self.lines[rank].append(f"{rank} irecv {sender} {tag} {_whole(size)}")
        return f"{sender} {rank} {tag}"

    def wait(self, rank: int, started: str) -> None:
        """The rank waits until a message that it started to send or receive is complete."""
        self.lines[rank].append(f"{rank} wait {started}")

    def exchange(self, messages: Iterable[tuple[int, int, float]]) -> None:
        """Non-blocking messages (sender, receiver, bytes) that all of their ranks then wait for."""
        every = list(messages)
        received = [self.start_receive(receiver, sender, size) for sender, receiver, size in every]
        sent = [self.start_send(sender, receiver, size) for sender, receiver, size in every]
        for (sender, receiver, _), arriving, leaving in zip(every, received, sent, strict=True):
            self.wait(receiver, arriving)
            self.wait(sender, leaving)

    def exchange_in_turn(self, messages: Sequence[tuple[int, int, float]], calls: int) -> None:
        """A collective of ``calls`` ranks that exchange data in pairs: one partner at a time."""
        rounds: dict[int, list[tuple[int, int, float]]] = {}
        for one in messages:
            rounds.setdefault((one[1] - one[0]) % self.ranks, []).append(one)
        for _, together in sorted(rounds.items()):
            self.exchange(together)
        self.messages += calls - len(messages)

    def allreduce(self, size: float, among: Sequence[int] | None = None) -> None:
        """Each rank, or each rank in ``among``, contributes ``size`` bytes."""
        self._together("Allreduce", size, among)

    def allgather(self, size: float) -> None:
        """Each rank contributes ``size`` bytes and receives the bytes of all ranks."""
        self._together("Allgather", size)

    def alltoall(self, size: float) -> None:
        """Each rank sends ``size`` bytes to each other rank."""
        self._together("Alltoall", size * (self.ranks - 1))

    def write(self, folder: Path) -> None:
        """One file per rank, and ``trace.txt``, which lists the files."""
        names = []
        for rank, lines in enumerate(self.lines):
            names.append(f"rank-{rank}.txt")
            text = "\n".join((*lines, f"{rank} finalize", ""))
            (folder / names[-1]).write_text(text, encoding="ascii")
        (folder / LIST).write_text("".join(f"{name}\n" for name in names), encoding="ascii")

    def _together(self, function: str, size: float, among: Sequence[int] | None = None) -> None:
        """A collective as the messages of a published algorithm.

        SimGrid 3.32 has these algorithms too, but its replay ends with a fault in most of them.
        """
        members = range(self.ranks) if among is None else among
        schedule = schedule_of(function, len(members), 0)
        assert schedule is not None
        for rank, steps in zip(members, schedule.steps, strict=True):
            for step in steps:
                self._step(rank, step, _whole(step.share * size), members)
        self.messages += len(members)
        self.sent += len(members) * size

    def _step(self, rank: int, step: ScheduleStep, size: int, members: Sequence[int]) -> None:
        started = []
        if step.source is not None:
            started.append(self.start_receive(rank, members[step.source], size))
        if step.to is not None:
            self.passed[size] += 1
            started.append(self._started_send(rank, members[step.to], size))
        for one in started:
            self.wait(rank, one)

    def _started_send(self, rank: int, to: int, size: int) -> str:
        """Only the action, which isn't counted."""
        tag = self._next(self._tags, rank, to)
        self.lines[rank].append(f"{rank} isend {to} {tag} {size}")
        return f"{rank} {to} {tag}"

    def _count(self, size: float) -> None:
        self.messages += 1
        self.sent += size
        self.passed[_whole(size)] += 1

    @staticmethod
    def _next(tags: Counter[tuple[int, int]], sender: int, receiver: int) -> int:
        tag = tags[sender, receiver]
        tags[sender, receiver] += 1
        return tag


def _whole(size: float) -> int:
    # A receive of 0 bytes would make the replay probe for its size, and wait.
    return max(round(size), 1)


def even(seconds: float, shares: Sequence[float]) -> list[float]:
    """Computing of each rank: ``seconds`` of work, divided by the ranks' shares."""
    whole = sum(shares)
    return [seconds * share / whole for share in shares]
