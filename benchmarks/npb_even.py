"""CPU time of assay's NPB on numbers of ranks that are not powers of two.

    .venv/bin/python benchmarks/npb_even.py

The same work on 1, 2, 3 and 4 ranks, all on one core, where a waiting rank yields to the others.
The core's total time is then the work's CPU time: no time is lost to waiting, no rank has an
advantage from a core and cache of its own, and the number of cores of the machine does not matter.
On three ranks it should be within 15% of the mean of two and four. There is no peer: the
reference's BT and SP don't run on three ranks.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from common import Comparison, Row, build, compare, environment, finish, load, parser, say
from direct import direct, executable

BENCHMARKS = ("ep", "cg", "mg", "ft", "is", "lu", "bt", "sp")
SIZE = "A"
RANKS = (1, 2, 3, 4)
ROUNDS = 3
# Limit of the CPU time on three ranks relative to the mean of that on two and on four.
EVEN = 1.15

# MPICH's collectives within a node wait without yielding, except those of this name.
_YIELDING = {
    f"MPIR_CVAR_{name}_POSIX_INTRA_ALGORITHM": "mpir"
    for name in ("ALLREDUCE", "BARRIER", "BCAST", "REDUCE")
}


@contextmanager
def in_turns() -> Iterator[None]:
    """All ranks on one core, where a waiting rank yields to the others."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        with environment(_YIELDING):
            yield
    finally:
        os.sched_setaffinity(0, allowed)


def even_row(kernels: Path, name: str, rounds: int) -> Row:
    """CPU time of the same work on three ranks compared with the mean of two and four."""
    now = load()
    seconds: dict[int, list[float]] = {ranks: [] for ranks in RANKS}
    for _ in range(rounds):
        for ranks in RANKS:
            say(f"{name.upper()} on {ranks}, in turns")
            with in_turns():
                record, _ = direct(kernels, f"npb.{name}", SIZE, ranks, 1)
            known = record["covariates"]
            taken = known["user_seconds"] + known["system_seconds"]
            seconds[ranks].append(taken / (record["batch"] or 1))
    medians = {ranks: statistics.median(values) for ranks, values in seconds.items()}
    text = ", ".join(f"{value / medians[1]:.3f}" for value in medians.values())
    return compare(
        "npb-even",
        f"{name.upper()} class {SIZE}, CPU time on 3 ranks",
        "s",
        "less",
        seconds[3],
        [(two + four) / 2 for two, four in zip(seconds[2], seconds[4], strict=True)],
        "mean of 2 and 4 ranks",
        at_least=1 / EVEN,
        goal=f"≥ {1 / EVEN:.2f}",
        load=now,
        note=f"all ranks' CPU time on 1, 2, 3 and 4 ranks over that on 1: {text}.",
        details={"seconds": {str(ranks): values for ranks, values in seconds.items()}},
    )


def compare_even(*, quick: bool) -> Comparison:
    """One row per benchmark."""
    kernels = executable()
    return Comparison([even_row(kernels, name, 1 if quick else ROUNDS) for name in BENCHMARKS])


def main() -> None:
    given = parser(__doc__).parse_args()
    build()
    finish(compare_even(quick=given.quick))


if __name__ == "__main__":
    main()
