"""A ring and a sum in Python, under any launcher."""

import array

from mpi4py import MPI

WORLD = MPI.COMM_WORLD


def exchange(number: int) -> "array.array[int]":
    """Send to the next rank, receive from the one before."""
    mine, got = array.array("i", [number] * 100), array.array("i", [0] * 100)
    after, before = (WORLD.rank + 1) % WORLD.size, (WORLD.rank - 1) % WORLD.size
    WORLD.Sendrecv(mine, after, 3, got, before, 3)
    return got


def total(of: "array.array[int]") -> int:
    """The sum over all ranks, as an object."""
    return int(WORLD.allreduce(sum(of)))


for step in range(10):
    total(exchange(step))
