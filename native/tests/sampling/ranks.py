"""Ranks of mpi4py: `advance` has three times the work of `diagnose`. Usage: ranks.py STEPS"""

import sys

from mpi4py import MPI


def work(number):
    x = 88172645463325252
    for _ in range(number):
        x ^= (x << 13) & 0xFFFFFFFFFFFFFFFF
        x ^= x >> 7
    return x


def advance(number):
    return work(3 * number)


def diagnose(number):
    return work(number)


def exchanged(value):
    return MPI.COMM_WORLD.allreduce(value)


for _ in range(int(sys.argv[1])):
    advance(2000)
    diagnose(2000)
print("sum", exchanged(1))
