"""Samples of programs whose shares are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from assay.trace.events import Trace
from assay.trace.samples.model import Activity, Place, ProgramSamples, ThreadSamples

PERIOD = 0.01
SHARES = {"solve": 0.50, "assemble": 0.30, "exchange": 0.15, "report": 0.05}


def place(function: str, line: int = 0, module: str = "app", *, inlined: bool = False) -> Place:
    """A place in ``function.c``."""
    file = f"/src/{function}.c" if line else ""
    return Place(function, module, file=file, line=line, inlined=inlined)


def thread(
    rank: int,
    stacks: Sequence[int],
    activities: Sequence[int] | int = Activity.COMPUTING,
    times: Sequence[float] | None = None,
    *,
    number: int = 0,
    name: str = "app",
    lost: int = 0,
) -> ThreadSamples:
    """A thread with these samples; without ``times`` one per period."""
    count = len(stacks)
    kinds = [activities] * count if isinstance(activities, int) else list(activities)
    when = np.arange(count) * PERIOD if times is None else np.asarray(times, float)
    return ThreadSamples(
        rank=rank,
        host="n1",
        thread=number,
        name=name,
        times=when,
        stacks=np.array(stacks, np.int32),
        activities=np.array(kinds, np.int8),
        lost=lost,
    )


def program(
    ranks: Sequence[Mapping[str, int]], *, main: bool = True, period: float = PERIOD
) -> ProgramSamples:
    """Each rank's number of computing samples by function; ``main`` calls all of them."""
    names = list(dict.fromkeys(name for rank in ranks for name in rank))
    places = (*(place(name, 7) for name in names), place("main", 3))
    stacks = tuple((len(names), at) if main else (at,) for at in range(len(names)))
    threads = [
        thread(row, [names.index(name) for name, number in rank.items() for _ in range(number)])
        for row, rank in enumerate(ranks)
    ]
    return ProgramSamples(period, "cpu-clock", places, stacks, tuple(threads))


def drawn(
    generator: np.random.Generator,
    ranks: int = 4,
    samples: int = 1000,
    shares: Mapping[str, float] = SHARES,
    slow: tuple[int, str, float] | None = None,
) -> ProgramSamples:
    """Ranks that draw each sample's function. ``slow``: a rank whose time in a function is this
    many times as long.
    """
    names = list(shares)
    numbers = []
    for rank in range(ranks):
        means = {name: samples * share for name, share in shares.items()}
        if slow is not None and slow[0] == rank:
            means[slow[1]] *= slow[2]
        total = round(sum(means.values()))
        chances = np.array([means[name] for name in names]) / sum(means.values())
        numbers.append(
            dict(zip(names, generator.multinomial(total, chances).tolist(), strict=True))
        )
    return program(numbers)


def sampled_trace(
    trace: Trace,
    functions: Mapping[str, float],
    period: float,
    *,
    extra: tuple[int, str] | None = None,
    base: float = 0.0,
    off_cpu: float = 0.0,
) -> ProgramSamples:
    """Samples of a trace at equal steps of the time outside of calls.

    Each gap between calls begins with ``functions`` by share of ``base`` (s; 0: of the whole gap).
    What is longer is spent in ``extra``, a rank and its function. Of this, the share ``off_cpu`` is
    not sampled.
    """
    names = [*functions, *([extra[1]] if extra and extra[1] not in functions else [])]
    places = (*(place(name, 7) for name in names), place("main", 3))
    stacks = tuple((len(names), at) for at in range(len(names)))
    threads = []
    edges = np.cumsum(list(functions.values()))
    for rank in trace:
        times: list[float] = []
        chosen: list[int] = []
        ends = np.concatenate([[rank.begin], rank.events.end])
        begins = np.concatenate([rank.events.begin, [rank.end]])
        left = period / 2.0
        for begin, end in zip(ends, begins, strict=True):
            length = max(end - begin, 0.0)
            while left < length:
                usual = base or length
                if left < usual or extra is None:
                    at = int(np.searchsorted(edges, left / usual, side="right"))
                    times.append(begin + left)
                    chosen.append(min(at, len(functions) - 1))
                elif left < usual + (length - usual) * (1.0 - off_cpu):
                    times.append(begin + left)
                    chosen.append(names.index(extra[1]))
                left += period
            left -= length
        threads.append(thread(rank.rank, chosen, Activity.COMPUTING, times))
    return ProgramSamples(period, "cpu-clock", places, stacks, tuple(threads))


def solver(ranks: int = 4, threads: int = 2, samples: int = 1500, seed: int = 1) -> ProgramSamples:
    """A solver with callers and callees, inlined and recursive functions, lines, threads that wait
    and calls of MPI. The last rank takes twice as long in ``relax``.
    """
    places = (
        place("main", 12),
        place("solve", 40),
        place("relax", 88),
        Place("stencil<double, 3>", "app", file="/src/relax.hpp", line=21, inlined=True),
        place("sort_cells", 61),
        place("dgemm_", 0, "libopenblas.so.0"),
        Place("MPI_Allreduce", "libmpi.so.12"),
        Place("", "libmpi.so.12", address=0x4F210),
        Place("gomp_team_barrier_wait_end", "libgomp.so.1"),
        Place("step", "python", file="/src/drive.py", line=9),
    )
    stacks = (
        (0, 1, 2), (0, 1, 2, 3), (0, 4), (0, 4, 4), (0, 4, 4, 4), (0, 1, 5), (0, 1, 6, 7), (0, 8),
        (0, 9, 1, 5),
    )  # fmt: skip
    weights = np.array([18.0, 30.0, 3.0, 4.0, 3.0, 14.0, 10.0, 8.0, 10.0])
    kinds = np.array([Activity.COMPUTING] * 6 + [Activity.MPI, Activity.WAITING, 0], np.int8)
    generator = np.random.default_rng(seed)
    found = []
    for rank in range(ranks):
        for number in range(threads):
            own = weights.copy()
            if rank == ranks - 1:
                own[:2] *= 2.0
            if number:
                own[6], own[7] = 0.0, 30.0
            total = round(samples * own.sum() / weights.sum())
            chosen = generator.choice(len(stacks), total, p=own / own.sum())
            found.append(
                thread(rank, chosen.tolist(), kinds[chosen].tolist(), number=number,
                       name="app" if number == 0 else f"omp {number}")
            )  # fmt: skip
    return ProgramSamples(PERIOD, "cpu-clock", places, stacks, tuple(found), cost=0.2)
