"""Traces with every kind of call that exports translate."""

from __future__ import annotations

import functools

from assay.trace.events import Trace
from simulated_mpi import Net, Script, simulate
from traces import ETHERNET, FAST, ring, stencil


@functools.cache
def varied() -> Trace:
    """Blocking, non-blocking and both-way messages, collectives with roots, a communicator."""

    def program(rank: Script) -> None:
        rank.collective("Bcast", 64, 1, site="input")
        rank.compute(1e-3 * (1 + rank.rank))
        if rank.rank == 0:
            rank.send(1, 5000, 7, site="hand")
            handle = rank.irecv(3, 80, 9, site="far")
            rank.compute(2e-3)
            rank.wait(handle, site="done")
        elif rank.rank == 1:
            rank.recv(0, 5000, 7, site="take")
        elif rank.rank == 3:
            rank.wait(rank.isend(0, 80, 9, site="near"), site="done")
        rank.sendrecv((rank.rank + 1) % 4, (rank.rank - 1) % 4, 3000, 2, site="shift")
        rank.allreduce(8, site="norm")
        rank.barrier(site="end")

    return simulate(4, program, Net(ETHERNET, FAST, collective=1e-5), ["a", "a", "b", "b"])


def all_traces() -> dict[str, Trace]:
    return {"varied": varied(), "ring": ring(3), "stencil": stencil(4, 6)}
