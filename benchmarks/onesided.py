"""One-sided communication and collectives with lists compared with the OSU micro-benchmarks.

    .venv/bin/python benchmarks/onesided.py --osu DIR

One launch of each in turn, one number per launch. Latencies of puts and gets with flush and with a
lock for each, bandwidths of windows of 64, as osu_put_latency, osu_get_latency, osu_put_bw and
osu_get_bw measure them (-w allocate -s flush or lock). Collectives are called in a loop. OSU prints
the mean over ranks of the means of a loop with a barrier between the calls, so collectives have no
goal. OSU 7.4 reads the clock before and after each operation of its timed loop, so latencies of a
few bytes have no goal either. Accumulates and atomic operations of OSU 7 are on characters, those
of the kernel on numbers of 64 bits, so they are compared without a goal, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path

from common import (
    Comparison,
    PeerError,
    Row,
    alternate,
    build,
    compare,
    embedded_mpirun,
    finish,
    load,
    parser,
    run,
    say,
)
from messages import AS_ROOT, RANKS, alternate_until_known, assay

GOAL = 0.05
KERNEL = "network.one_sided"
# OSU's program, the kernel's operation, synchronisations, sizes and window.
TRANSFERS = (
    ("osu_put_latency", "put", ("flush", "lock"), (8, 1 << 12, 1 << 20), 1),
    ("osu_get_latency", "get", ("flush", "lock"), (8, 1 << 12, 1 << 20), 1),
    ("osu_put_bw", "put", ("flush",), (8, 1 << 12, 1 << 16), 64),
    ("osu_get_bw", "get", ("flush",), (8, 1 << 12, 1 << 16), 64),
)
UPDATES = (
    ("osu_acc_latency", "accumulate", 8),
    ("osu_fop_latency", "fetch_and_op", 1),
    ("osu_cas_latency", "compare_and_swap", 1),
)
CHARACTERS = "no goal: OSU updates characters, the kernel numbers of 64 bits."
# Shorter operations take less time than some readings of the clock.
SHORT = 1 << 12
CLOCK = "no goal: OSU 7.4 reads the clock before and after each operation, and includes it."
COLLECTIVES = ("reduce_scatter", "allgatherv", "alltoallv", "allreduce_persistent")
COLLECTIVE_SIZES = (8, 1 << 12)
BARRIERS = "no goal: OSU calls a barrier after each call, and prints the mean over ranks."


def osu(mpirun: str, program: Path, size: int, *words: str) -> float:
    """The number that a program prints for a size, in s or B/s."""
    sized = [] if size == 1 else ["-m", f"{size}:{size}"]
    text, _ = run([mpirun, "-n", str(RANKS), "--bind-to", "core", program, *words, *sized], AS_ROOT)
    row = re.search(rf"^{size}\s+([\d.]+)\s*$", text, re.M)
    if row is None:
        raise PeerError(f"{program.name} printed no line for {size} B.")
    return float(row[1]) * (1e6 if program.name.endswith("_bw") else 1e-6)


def compare_one_sided(folder: Path | None, mpirun: str, *, quick: bool) -> Comparison:
    """Rows for one-sided communication and collectives, if OSU's programs are available."""
    comparison = Comparison()
    if folder is None:
        comparison.skipped.append(f"{KERNEL}: name OSU's programs with --osu.")
        return comparison
    for what, row in _rows(folder, mpirun, quick=quick):
        try:
            comparison.rows.append(row())
        except PeerError as error:  # OSU's atomic updates crash over some MPI libraries
            comparison.skipped.append(f"{what}: {error}")
    return comparison


def _rows(folder: Path, mpirun: str, *, quick: bool) -> Iterator[tuple[str, Callable[[], Row]]]:
    """The name of each row, and what measures it."""
    rounds = 3 if quick else 9
    few = slice(1) if quick else slice(None)
    for program, op, syncs, sizes, window in TRANSFERS:
        for sync, size in product(syncs, sizes[few]):
            row = partial(_transfer, mpirun, folder / program, op, sync, size, window, rounds)
            yield f"{program}, {size} B, {sync}", row
    for program, op, size in UPDATES:
        yield program, partial(_update, mpirun, folder / program, op, size, rounds)
    for name, size in product(COLLECTIVES, COLLECTIVE_SIZES[few]):
        program = f"osu_{name}"
        yield f"{program}, {size} B", partial(_collective, mpirun, folder / program, size, rounds)


def _update(mpirun: str, program: Path, op: str, size: int, rounds: int) -> Row:
    """An atomic update of 8 bytes."""
    say(op)
    now = load()
    ours, theirs = alternate(
        rounds,
        partial(assay, KERNEL, f"op={op}"),
        partial(osu, mpirun, program, size, "-w", "allocate", "-s", "flush"),
    )
    row = compare(KERNEL, f"{op}, 8 B, flush", "s", "less", ours, theirs, program.name, load=now)
    row.note = CHARACTERS
    return row


def _transfer(
    mpirun: str, program: Path, op: str, sync: str, size: int, window: int, rounds: int
) -> Row:
    """Puts or gets: the latency of one, or the bandwidth of a window."""
    several = window > 1
    what = f"{op}, {size} B, {f'{window} per ' if several else ''}{sync}"
    say(what)
    now = load()
    words = (f"op={op}", f"sync={sync}", f"bytes={size}", f"window={window}")
    ours, theirs = alternate_until_known(
        rounds,
        GOAL,
        partial(assay, KERNEL, *words, of=float(size).__truediv__ if several else float),
        partial(osu, mpirun, program, size, "-w", "allocate", "-s", sync),
    )
    unit, better = ("B/s", "more") if several else ("s", "less")
    row = compare(KERNEL, what, unit, better, ours, theirs, program.name, load=now)
    if not several and size < SHORT:
        row.note = CLOCK
        return row
    row.goal = f"within {GOAL:.0%}"
    row.met = row.paired is not None and abs(row.paired - 1.0) <= GOAL
    return row


def _collective(mpirun: str, program: Path, size: int, rounds: int) -> Row:
    """A collective in successive calls beside OSU's."""
    name = program.name.removeprefix("osu_")
    op = name.removesuffix("_persistent")
    call = "blocking" if op == name else "persistent"
    what = f"{op}, {size} B, {call}, {RANKS} ranks"
    say(what)
    now = load()
    ours, theirs = alternate(
        rounds,
        partial(
            assay, "network.collective", f"op={op}", f"bytes={size}", f"call={call}", "timing=loop"
        ),
        partial(osu, mpirun, program, size),
    )
    row = compare("network.collective", what, "s", "less", ours, theirs, program.name, load=now)
    row.note = BARRIERS
    return row


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--osu", type=Path, help="folder of osu_put_latency, … (the same MPI)")
    options.add_argument("--mpirun", default=embedded_mpirun(), help="its launcher")
    given = options.parse_args()
    build()
    finish(compare_one_sided(given.osu, given.mpirun, quick=given.quick))


if __name__ == "__main__":
    main()
