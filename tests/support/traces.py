"""Traces with planted patterns, whose waiting times and origins are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from assay.trace.events import Events, RankTrace, Trace
from simulated_mpi import LinkCost, Net, Script, simulate

MS = 1e-3
FAST = LinkCost(latency=2e-6, gap=1e-10, overhead=5e-7)
ETHERNET = LinkCost(latency=3e-5, gap=8e-9, overhead=2e-6)


def late_sender(delay: float = 5 * MS, times: int = 10, net: Net | None = None) -> Trace:
    """Rank 0 computes ``delay`` longer in "prepare" before each send to rank 1."""

    def program(rank: Script) -> None:
        for _ in range(times):
            rank.compute(20 * MS + (delay if rank.rank == 0 else 0.0))
            if rank.rank == 0:
                rank.send(1, 1000, site="hand_over")
            else:
                rank.recv(0, 1000, site="take")

    return simulate(2, program, net)


def late_receiver(delay: float = 5 * MS, times: int = 10) -> Trace:
    """Rank 1 posts its receives ``delay`` late; messages are sent by rendezvous."""

    def program(rank: Script) -> None:
        for _ in range(times):
            rank.compute(20 * MS + (delay if rank.rank == 1 else 0.0))
            if rank.rank == 0:
                rank.send(1, 100_000, site="hand_over")
            else:
                rank.recv(0, 100_000, site="take")

    return simulate(2, program, Net(eager=1000, collective=0.0))


def late_at(
    function: str, late: int = 2, delay: float = 5 * MS, ranks: int = 4, root: int = -1,
    times: int = 10,
) -> Trace:  # fmt: skip
    """Rank ``late`` enters each collective ``delay`` after the others."""

    def program(rank: Script) -> None:
        for _ in range(times):
            rank.compute(20 * MS + (delay if rank.rank == late else 0.0))
            rank.collective(function, 8, root, site="together")
            rank.compute(MS)
            rank.barrier(site="between")

    return simulate(ranks, program)


def imbalance(share: float = 0.2, ranks: int = 4, iterations: int = 50) -> Trace:
    """The last rank computes ``share`` longer than each other one, before an allreduce."""

    def program(rank: Script) -> None:
        extra = 1.0 + (share if rank.rank == ranks - 1 else 0.0)
        for _ in range(iterations):
            rank.compute(10 * MS * extra)
            rank.allreduce(8, site="norm")

    return simulate(ranks, program)


def allreduce_share(share: float = 0.3, ranks: int = 4, iterations: int = 50) -> Trace:
    """``share`` of the time is in allreduce, without anyone waiting for another."""
    each = 10 * MS

    def program(rank: Script) -> None:
        for _ in range(iterations):
            rank.compute(each * (1.0 - share))
            rank.allreduce(8, site="norm")

    return simulate(ranks, program, Net(collective=each * share))


def ring(ranks: int = 4, size: int = 127_000, rounds: int = 3, net: Net | None = None) -> Trace:
    """One message around all ranks."""

    def program(rank: Script) -> None:
        after, before = (rank.rank + 1) % ranks, (rank.rank - 1) % ranks
        for _ in range(rounds):
            if rank.rank == 0:
                rank.send(after, size, site="start")
                rank.recv(before, size, site="finish")
            else:
                rank.recv(before, size, site="hop")
                rank.send(after, size, site="pass_on")

    return simulate(ranks, program, net or Net(ETHERNET, FAST))


def stencil(
    ranks: int = 4, iterations: int = 100, net: Net | None = None, size: int = 8000,
    computing: float = MS, hosts: list[str] | None = None, periodic: bool = True,
) -> Trace:  # fmt: skip
    """Each iteration: receives and sends to two neighbours, a Waitall, a norm every iteration."""

    def program(rank: Script) -> None:
        rank.collective("Bcast", 64, 0, site="input")
        for _ in range(iterations):
            rank.compute(computing)
            near = [(rank.rank - 1) % ranks, (rank.rank + 1) % ranks]
            if not periodic:
                near = [n for n in (rank.rank - 1, rank.rank + 1) if 0 <= n < ranks]
            tags = {n: 1 if n == (rank.rank + 1) % ranks else 2 for n in near}
            ways = [(n, 3 - tags[n] if ranks > 2 else i + 1) for i, n in enumerate(near)]
            handles = [rank.irecv(n, size, tag, site="halo_in") for n, tag in ways]
            out = [(n, tags[n] if ranks > 2 else i + 1) for i, n in enumerate(near)]
            handles += [rank.isend(n, size, tag, site="halo_out") for n, tag in out]
            rank.wait(*handles, site="halo_wait")
            rank.compute(computing / 10)
            rank.allreduce(8, site="norm")
        rank.collective("Reduce", 64, 0, site="result")

    return simulate(ranks, program, net or Net(ETHERNET, FAST), hosts)


def travelling_delay(delay: float = 5 * MS, ranks: int = 6) -> Trace:
    """Rank 0 computes longer once; each rank waits for the one before it, a step later.

    The wait of rank r is that of rank r - 1 handed on: all of it goes back to rank 0's delay.
    """

    def program(rank: Script) -> None:
        rank.compute(10 * MS + (delay if rank.rank == 0 else 0.0))
        if rank.rank:
            rank.recv(rank.rank - 1, 100, site="take")
        rank.compute(MS)
        if rank.rank < ranks - 1:
            rank.send(rank.rank + 1, 100, site="hand_on")

    return simulate(ranks, program)


def repeated(trace: Trace, times: int) -> Trace:
    """The trace ``times`` over, one after the other: for measurements with many events."""
    span = trace.end - trace.begin
    return replace(trace, ranks=tuple(_repeated(rank, times, span) for rank in trace.ranks))


def _repeated(rank: RankTrace, times: int, span: float) -> RankTrace:
    events = rank.events
    number = len(events)
    shift = np.repeat(np.arange(times) * span, number)
    requests = int(max(events.request.max(initial=-1), -1)) + 1
    moved = np.repeat(np.arange(times, dtype=np.int64) * requests, number)
    request = np.tile(events.request, times)
    completed = np.tile(events.completed_request, times)
    completed += np.repeat(np.arange(times) * requests, len(events.completed_request))
    widths = np.tile(np.diff(events.completed_start), times)
    more = {
        name: np.tile(getattr(events, name), times)
        for name in ("function", "site", "communicator", "peer", "tag", "source", "source_tag",
                     "sent", "received", "count", "thread")
    }  # fmt: skip
    return replace(
        rank,
        end=rank.end + (times - 1) * span,
        events=Events(
            begin=np.tile(events.begin, times) + shift,
            end=np.tile(events.end, times) + shift,
            request=np.where(request >= 0, request + moved, request),
            completed_start=np.concatenate([[0], np.cumsum(widths)]).astype(np.int64),
            completed_request=completed,
            **more,
        ),
    )
